//! Laws of role `pool` as a scenario names them: one for each client of an `rpc` entry with `pool`.

use crate::host::Common;
use crate::law::law;
use crate::options::SimError;
use forebay_host::memory::settings::LINE;
use forebay_laws::pool::{PoolParams, PoolStart};
use forebay_laws::pool_driver::PoolDriver;
use forebay_scenario::model::{Rpc, Scenario};
use forebay_scenario::workload::Connection;
use forebay_units::Bytes;
use forebay_units::random::{Purpose, Stream};
use std::collections::BTreeMap;

/// What the pools of a run have in common.
pub(crate) struct Pools<'a> {
    scenario: &'a Scenario,
    names: &'a [String],
    common: &'a Common,
    connections: BTreeMap<u32, u32>, // with a pool, by server
}

impl<'a> Pools<'a> {
    /// Those of a scenario whose hosts have these names.
    pub fn new(scenario: &'a Scenario, names: &'a [String], common: &'a Common) -> Self {
        let mut connections = BTreeMap::new();
        for one in
            common.connections.iter().filter(|one| entry(common, one).acting_pool().is_some())
        {
            *connections.entry(one.server).or_default() += 1;
        }
        Self { scenario, names, common, connections }
    }

    /// Bytes whose credits the server of a connection returns together, an eighth of its share of the cache; none if responses return them.
    pub fn batch(&self, of: &Connection) -> Option<u64> {
        let in_messages = entry(self.common, of).returns_credits_in_messages();
        in_messages.then(|| self.cache(of).get() / (8 * u64::from(self.connections[&of.server])))
    }

    /// Cache of a connection's server.
    fn cache(&self, of: &Connection) -> Bytes {
        let server = self.scenario.host.memory_at(&self.names[of.server as usize]);
        let ddio = server.and_then(|memory| memory.settings.ddio);
        ddio.map_or(Bytes::ZERO, |ddio| ddio.cache)
    }

    /// The driver of a connection, if its entry has a pool.
    ///
    /// # Errors
    /// If there is no such law, or a parameter of it.
    pub fn driver(&self, number: u32, of: &Connection) -> Result<Option<PoolDriver>, SimError> {
        let Some(pool) = entry(self.common, of).acting_pool() else { return Ok(None) };
        let params = law(&pool.law, &pool.params, PoolParams::new, PoolParams::set)?;
        let profile = &self.common.profiles[usize::from(of.traffic)];
        let at = PoolStart {
            llc: self.cache(of),
            line: Bytes::new(LINE),
            connections: self.connections[&of.server],
            base_rtt: profile.base_rtt.of(of.requests),
            seed: Stream::new(self.common.seed, number.into(), Purpose::Law).key(),
        };
        Ok(Some(PoolDriver::new(&params, of.start, at)))
    }
}

/// The entry of a connection.
fn entry<'a>(common: &'a Common, of: &Connection) -> &'a Rpc {
    common.rpc(of.traffic)
}
