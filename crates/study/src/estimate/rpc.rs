//! What closed loops of RPCs will carry.
//!
//! A connection has `outstanding` RPCs under way, each taking its bytes at its host's rate, two crossings of the fabric
//! and the pauses; all connections of an entry together carry no more than the links of its clients or of its servers.

use forebay_scenario::model::Rpc;
use forebay_scenario::plan::Plan;
use forebay_scenario::workload::{Hosts, pairs};
use std::collections::BTreeSet;

/// The forecast for one entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rpcs {
    /// RPCs that will complete.
    pub count: f64,
    /// Payload of an RPC, both ways, on average.
    pub payload: f64,
}

/// Forecasts one entry that is active for so many seconds. `hops`: mean links of a path; `goodput`: payload over packet.
pub fn of(rpc: &Rpc, plan: &Plan, hosts: &Hosts, active: f64, hops: f64, goodput: f64) -> Rpcs {
    let (request, response) =
        (rpc.request.mean(), rpc.response.as_ref().map_or(0.0, |sizes| sizes.mean()));
    let rates = |names: &[String]| -> f64 {
        let hosts_of = names.iter().filter_map(|name| hosts.index(name));
        let distinct: BTreeSet<u32> = hosts_of.collect();
        distinct.iter().map(|h| hosts.rates[*h as usize].get() as f64 / 8.0).sum()
    };
    let (clients, servers) = (rates(&rpc.from), rates(&rpc.to));
    let shared = clients.min(servers) * goodput;
    let connections = pairs(rpc) as f64 * f64::from(rpc.connections);
    let flight = plan.cables.iter().map(|c| c.link.delay.as_secs_f64()).sum::<f64>()
        / (plan.cables.len() as f64).max(1.0);
    let line = hosts.rates.iter().map(|rate| rate.get() as f64 / 8.0).fold(f64::INFINITY, f64::min);
    let pauses = rpc.think.mean().as_secs_f64() + rpc.service.mean().as_secs_f64();
    let alone = 2.0 * hops * flight + (request + response) / line + pauses;
    let by_loops = connections * f64::from(rpc.outstanding) * active / alone;
    let by_links = shared * active / request.max(response);
    let most = rpc.count.map_or(f64::INFINITY, |count| count as f64 * connections);
    Rpcs { count: by_loops.min(by_links).min(most), payload: request + response }
}
