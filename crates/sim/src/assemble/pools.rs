//! Laws of role `pool` as a scenario names them: one for each client of an `rpc` entry with `pool`.

use crate::host::{Common, Shares};
use crate::law::law;
use crate::options::SimError;
use forebay_credits::Account;
use forebay_host::memory::settings::LINE;
use forebay_laws::pool::PoolStart;
use forebay_scenario::model::{Rpc, Scenario};
use forebay_scenario::workload::Connection;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span};
use std::collections::BTreeMap;

/// What the pools of a run have in common.
pub(crate) struct Pools<'a> {
    scenario: &'a Scenario,
    names: &'a [String],
    common: &'a Common,
    connections: BTreeMap<u32, [u32; 2]>, // with a pool, by server: all, and those that share its cache while they are active
}

impl<'a> Pools<'a> {
    /// Pools of a scenario whose hosts have these names.
    pub fn new(scenario: &'a Scenario, names: &'a [String], common: &'a Common) -> Self {
        let mut connections = BTreeMap::new();
        for one in common.connections.iter() {
            let Some(pool) = entry(common, one).acting_pool() else { continue };
            let [all, active_only] = connections.entry(one.server).or_insert([0; 2]);
            *all += 1;
            *active_only += u32::from(pool.active_only);
        }
        Self { scenario, names, common, connections }
    }

    /// Shares of the cache of a connection's server, where it returns credits in messages; none if responses return them.
    pub fn shares(&self, of: &Connection) -> Option<Shares> {
        let entry = entry(self.common, of);
        let active_only = entry.acting_pool()?.active_only;
        entry.returns_credits_in_messages().then(|| {
            let [all, varying] = self.connections[&of.server];
            let connections = if active_only { all - varying } else { all };
            Shares { cache: self.cache(of).get(), connections, active_only }
        })
    }

    /// Hosts whose clients have pools of servers that are sampled, how often, and which these servers are.
    pub fn sampled(
        &self,
        every: impl Fn(u32) -> Option<Span>,
    ) -> impl Iterator<Item = (u32, Span, Vec<u32>)> {
        let mut found: BTreeMap<u32, (Span, Vec<u32>)> = BTreeMap::new();
        let pooled = |one: &&Connection| entry(self.common, one).acting_pool().is_some();
        for one in self.common.connections.iter().filter(pooled) {
            let Some(every) = every(one.server) else { continue };
            let (_, servers) = found.entry(one.client).or_insert((every, Vec::new()));
            if !servers.contains(&one.server) {
                servers.push(one.server);
            }
        }
        found.into_iter().map(|(client, (every, servers))| (client, every, servers))
    }

    /// Cache of a connection's server, or the part of it that is to be shared.
    fn cache(&self, of: &Connection) -> Bytes {
        if let Some(part) = entry(self.common, of).acting_pool().and_then(|pool| pool.cache) {
            return part;
        }
        let server = self.scenario.host.memory_at(&self.names[of.server as usize]);
        let ddio = server.and_then(|memory| memory.settings.ddio);
        ddio.map_or(Bytes::ZERO, |ddio| ddio.cache)
    }

    /// The credits of a connection, if its entry has a pool.
    ///
    /// # Errors
    /// If there is no such law, or a parameter of it.
    pub fn account(&self, number: u32, of: &Connection) -> Result<Option<Account>, SimError> {
        let Some(pool) = entry(self.common, of).acting_pool() else { return Ok(None) };
        let mut params = law(&pool.law, &pool.params, |name| self.scenario.laws.pool(name))?;
        if let Some(log) = self.common.law_taps.as_ref().and_then(|taps| taps.pool(number)) {
            params = params.with_log(log);
        }
        let profile = &self.common.profiles[usize::from(of.traffic)];
        let at = PoolStart {
            llc: self.cache(of),
            line: Bytes::new(LINE),
            connections: self.connections[&of.server][0],
            base_rtt: profile.base_rtt.of(of.requests),
            seed: Stream::new(
                self.common.seed,
                u64::from(of.traffic) << 32 | u64::from(of.number),
                Purpose::Law,
            )
            .key(),
        };
        let account = Account::new(&params, of.start, at);
        Ok(Some(if pool.active_only { account.counts_active() } else { account }))
    }
}

/// The entry of a connection.
fn entry<'a>(common: &'a Common, of: &Connection) -> &'a Rpc {
    common.rpc(of.traffic)
}
