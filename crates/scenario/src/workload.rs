//! From traffic entries to a table of flows.
//!
//! Every entry draws from streams of its own, keyed by (seed, index of the entry, purpose), so a new entry
//! disturbs no other. Floats use `+ - * /` and `units::math::ln` alone, in a fixed order.
//!
//! Load counts payload, as the public HPCC traffic generator does: headers come on top.

pub use crate::program::{
    Connection, DPORT, Error, FIRST_SPORT, FlowSpec, Hosts, MOST_FLOWS, Table, Tier, pairs,
};

use crate::plan::Plan;
use crate::program::{Entries, Source, bits};
use crate::scenario::Scenario;
use crate::traffic::Traffic;
use crate::transport::Transport;
use forebay_units::{Bytes, Time};
use std::sync::Arc;

fn full_packet(transport: &Transport) -> Bytes {
    transport.mss.saturating_add(transport.header)
}

/// When an entry begins and ends, and when the run does.
fn times(scenario: &Scenario, entry: &Traffic) -> (Time, Time, Time) {
    (entry.start, entry.until, scenario.stop.time)
}

/// The flows of one seed.
///
/// # Errors
/// A host that `hosts` lacks, or more than [`MOST_FLOWS`] flows.
pub fn flows(scenario: &Scenario, hosts: &Hosts, seed: u64) -> Result<Table, Error> {
    Ok(flows_while(scenario, hosts, seed, &|| true)?.expect("wanted to the end"))
}

/// The flows of one seed; `None` as soon as they are no longer `wanted`, which is checked every few thousand flows.
///
/// # Errors
/// See [`flows`].
pub fn flows_while(
    scenario: &Scenario,
    hosts: &Hosts,
    seed: u64,
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Table>, Error> {
    flows_of(scenario, hosts, seed, &[], wanted)
}

/// The flows of one seed, where each of `sources` lays out those of an entry in place of its kind; `None` as soon as they are no longer
/// `wanted`.
///
/// # Errors
/// See [`flows`].
pub fn flows_of(
    scenario: &Scenario,
    hosts: &Hosts,
    seed: u64,
    sources: &[(usize, Arc<dyn Source>)],
    wanted: &dyn Fn() -> bool,
) -> Result<Option<Table>, Error> {
    let mut entries = Entries::new(hosts, seed, wanted);
    for (i, traffic) in scenario.traffic.iter().enumerate() {
        let packet = full_packet(scenario.transport_of(traffic));
        if let Some((_, source)) = sources.iter().find(|one| one.0 == i) {
            let before = entries.laid_out();
            source.lay_out(&mut entries.layout(i, times(scenario, traffic), packet))?;
            entries.count(i, entries.laid_out() - before)?;
            if !wanted() {
                return Ok(None);
            }
            continue;
        }
        let forecast = traffic.kind.forecast(&entries.layout(i, times(scenario, traffic), packet));
        entries.count(i, forecast)?;
        traffic.kind.lay_out(&mut entries.layout(i, times(scenario, traffic), packet))?;
        if !wanted() {
            return Ok(None);
        }
    }
    let table = entries.table().map(|mut table| {
        table.warnings.splice(..0, hosts.overloads(scenario));
        table
    });
    Ok(table)
}

/// How many flows each entry will make: exact for closed forms, expected for Poisson arrivals.
pub fn forecast(scenario: &Scenario, hosts: &Hosts) -> Vec<u128> {
    let mut entries = Entries::new(hosts, 0, &|| true);
    let all = scenario.traffic.iter().enumerate();
    all.map(|(i, traffic)| {
        let layout = entries.layout(i, times(scenario, traffic), Bytes::ZERO);
        traffic.kind.forecast(&layout)
    })
    .collect()
}

impl Hosts {
    /// The hosts of a checked scenario.
    pub fn of(scenario: &Scenario) -> Self {
        Self::of_plan(&Plan::of(&scenario.fabric), &scenario.fabric.topology)
    }

    /// A sentence for each tier that Poisson traffic offers more than it carries.
    fn overloads(&self, scenario: &Scenario) -> Vec<String> {
        let offered: f64 = scenario.traffic.iter().map(|entry| entry.kind.offered(self)).sum();
        let slowest = self.rates.iter().copied().map(bits).fold(f64::INFINITY, f64::min);
        let hosts = ("of the hosts' links".to_string(), slowest * self.names.len() as f64);
        let tiers = self.tiers.iter().map(|t| (t.name.clone(), self.full_at(t)));
        std::iter::once(hosts)
            .chain(tiers)
            .filter(|(_, full)| offered > full * (1.0 + 1e-9))
            .map(|(name, full)| {
                format!(
                    "Poisson traffic offers {:.0} % of what the tier {name} carries, so its queues grow for as long as the run lasts",
                    100.0 * offered / full
                )
            })
            .collect()
    }
}
