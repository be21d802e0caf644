//! RPCs in the summary: latency, goodput each way, and how evenly connections share.

use super::is_censored;
use crate::about::RunStart;
use crate::human::{count, micros, percent};
use crate::rows::{ConnectionRow, CreditPool, RpcRow, RunRecord};
use crate::stats::{Estimate, jain, mean, quantile, quantile_per_mille};
use serde::{Deserialize, Serialize};

/// How latency is defined; copied into every summary that has RPCs.
pub const RPC_DEFINITION: &str = "from the instant the client handed over the request to the instant it had the \
whole response in order (one-way: the last acknowledgement of the request), for RPCs issued after the warm-up; \
goodput: payload in order at the receiver after the warm-up; fairness: Jain's index of the goodput of connections, \
both ways together";

/// Below this many completed RPCs in a seed its 99.9th percentile is its largest value.
const FEW_RPCS: u64 = 1000;

/// All RPCs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RpcSummary {
    /// What latency, goodput and fairness mean.
    pub rpc_definition: String,
    /// RPCs issued, summed over seeds.
    pub issued: u64,
    /// Of these, not completed by the end.
    pub not_completed: u64,
    /// Issued before the warm-up ended: in no statistic of latency.
    pub in_warmup: u64,
    /// All measured RPCs together.
    pub overall: RpcClass,
    /// By `[[traffic]]` entry; empty if one entry alone makes RPCs.
    pub traffic_classes: Vec<RpcClass>,
}

/// Statistics of the RPCs of a set of connections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RpcClass {
    /// Name for people: `all`, `traffic[1] rpc of 1MB`.
    pub name: String,
    /// Connections, per seed.
    pub connections: u64,
    /// Hosts that answer, of the seed that has most.
    #[serde(default)]
    pub servers: u64,
    /// Hosts that request, likewise.
    #[serde(default)]
    pub clients: u64,
    /// Completed measured RPCs, summed over seeds.
    pub count: u64,
    /// Of the seed that has fewest.
    pub fewest_per_seed: u64,
    /// Measured and not completed by the end: the statistics are too good by what these would have added.
    pub not_finished: u64,
    /// Whether more than 1 % of the RPCs of some seed had not completed, so that no percentile is that of all RPCs.
    #[serde(default)]
    pub censored: bool,
    /// Latency in microseconds.
    pub latency_us: Latency,
    /// Latency over ideal latency.
    pub latency_over_ideal: Latency,
    /// RPCs completed after the warm-up per second of virtual time.
    pub rpcs_per_s: Estimate,
    /// Payload of requests delivered to servers, Gb/s.
    pub request_goodput_gbps: Estimate,
    /// Payload of responses delivered to clients, Gb/s.
    pub response_goodput_gbps: Estimate,
    /// Goodput of a connection, both ways, Gb/s.
    pub connection_goodput_gbps: Latency,
    /// Jain's index of that: 1 if all have the same, 1/n if one has all.
    pub jain_fairness: Estimate,
    /// Mean of the credits that a connection may hold at the end; absent without pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credit_limit: Option<Estimate>,
    /// Share of the requests that had to wait for credits, warm-up included; absent without pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_share: Option<Estimate>,
    /// Mean wait of those, in microseconds; absent without pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_us: Option<Estimate>,
    /// What to beware of.
    pub note: Option<String>,
}

impl RpcClass {
    /// How credits of servers' caches held requests back, in a sentence; `None` without a pool.
    pub(crate) fn credits(&self) -> Option<String> {
        let limit = self.credit_limit.as_ref()?.mean?;
        let share = self.blocked_share.as_ref()?.mean?;
        let wait = self.blocked_us.as_ref().and_then(|us| us.mean);
        let wait = wait.map_or(String::new(), |us| format!(", for {} on average", micros(us)));
        Some(format!(
            "{} credits per connection; {} of requests waited for some{wait}",
            count(limit.round() as u64),
            percent(share)
        ))
    }
}

/// A distribution with its tail, each number across seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: Estimate,
    /// Smallest value.
    pub min: Estimate,
    /// Median.
    pub p50: Estimate,
    /// 90th percentile.
    pub p90: Estimate,
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
    /// 99.9th percentile.
    pub p999: Estimate,
    /// Largest value.
    pub max: Estimate,
}

/// The RPCs of a run; `None` if it has no connection that carries them.
pub(super) fn summary(about: &RunStart, runs: &[RunRecord]) -> Option<RpcSummary> {
    let mut entries: Vec<u16> = runs
        .iter()
        .flat_map(|r| &r.connections)
        .filter(|c| c.carries_rpcs())
        .map(|c| c.traffic)
        .collect();
    entries.sort_unstable();
    entries.dedup();
    if entries.is_empty() {
        return None;
    }
    let rpcs = || runs.iter().flat_map(|run| &run.rpcs);
    let classes = entries.iter().map(|entry| {
        class(about.traffic_name(*entry), about, runs, |connection| connection.traffic == *entry)
    });
    Some(RpcSummary {
        rpc_definition: RPC_DEFINITION.into(),
        issued: rpcs().count() as u64,
        not_completed: rpcs().filter(|rpc| rpc.latency().is_none()).count() as u64,
        in_warmup: rpcs().filter(|rpc| rpc.issued < about.warmup).count() as u64,
        overall: class("all".into(), about, runs, ConnectionRow::carries_rpcs),
        traffic_classes: if entries.len() > 1 { classes.collect() } else { Vec::new() },
    })
}

fn class(
    name: String,
    about: &RunStart,
    runs: &[RunRecord],
    member: impl Fn(&ConnectionRow) -> bool,
) -> RpcClass {
    let (mut latency, mut slowdown, mut goodput) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rate, mut request, mut response, mut fairness) = (vec![], vec![], vec![], vec![]);
    let mut class = RpcClass { name, fewest_per_seed: u64::MAX, ..RpcClass::default() };
    for run in runs {
        let connections = || run.connections.iter().filter(|c| member(c));
        let of_class = |rpc: &&RpcRow| member(&run.connections[rpc.connection as usize]);
        let measured = || run.rpcs.iter().filter(of_class).filter(|rpc| rpc.issued >= about.warmup);
        latency
            .push(sorted(measured().filter_map(RpcRow::latency).map(|l| l.as_ps() as f64 / 1e6)));
        slowdown.push(sorted(measured().filter_map(RpcRow::slowdown)));
        let completed = latency.last().map_or(0, Vec::len) as u64;
        class.connections = class.connections.max(connections().count() as u64);
        let hosts = |of: fn(&ConnectionRow) -> u32| {
            connections().map(of).collect::<std::collections::BTreeSet<u32>>().len() as u64
        };
        class.servers = class.servers.max(hosts(|c| c.server));
        class.clients = class.clients.max(hosts(|c| c.client));
        class.count += completed;
        class.fewest_per_seed = class.fewest_per_seed.min(completed);
        let late = measured().count() as u64 - completed;
        class.not_finished += late;
        class.censored |= is_censored(completed, late);

        let each: Vec<f64> =
            connections().filter_map(|c| c.goodput_gbps(about.warmup, run.end)).collect();
        fairness.push(jain(&each));
        goodput.push(sorted(each.into_iter()));
        let span = run.end.max(about.warmup).since(about.warmup).as_secs_f64();
        let per_second = |amount: f64| (span > 0.0).then(|| amount / span);
        let done = |rpc: &&RpcRow| rpc.latency().is_some() && rpc.completed >= about.warmup;
        rate.push(per_second(run.rpcs.iter().filter(of_class).filter(done).count() as f64));
        let gbps = |bytes: u64| per_second(bytes as f64 * 8.0 / 1e9);
        request.push(gbps(connections().map(|c| c.request_bytes.get()).sum()));
        response.push(gbps(connections().map(|c| c.response_bytes.get()).sum()));
    }
    class.latency_us = distribution(&latency);
    class.latency_over_ideal = distribution(&slowdown);
    class.connection_goodput_gbps = distribution(&goodput);
    class.rpcs_per_s = Estimate::new(rate);
    class.request_goodput_gbps = Estimate::new(request);
    class.response_goodput_gbps = Estimate::new(response);
    class.jain_fairness = Estimate::new(fairness);
    class.note = note(&class);
    credits(&mut class, runs, member);
    class
}

/// What held requests to credits, where something did.
fn credits(class: &mut RpcClass, runs: &[RunRecord], member: impl Fn(&ConnectionRow) -> bool) {
    let (mut limits, mut shares, mut waits) = (vec![], vec![], vec![]);
    for run in runs {
        let pools = run.connections.iter().filter(|c| member(c)).filter_map(|c| c.credits);
        let pools: Vec<CreditPool> = pools.collect();
        if pools.is_empty() {
            return;
        }
        let sum = |of: fn(&CreditPool) -> u64| pools.iter().map(of).sum::<u64>() as f64;
        let [requests, blocked] = [sum(|of| of.requests), sum(|of| of.blocked)];
        limits.push(Some(sum(|of| of.limit) / pools.len() as f64));
        shares.push(Some(blocked / requests.max(1.0)));
        waits.push((blocked > 0.0).then(|| sum(|of| of.waited.as_ps()) * 1e-6 / blocked));
    }
    class.credit_limit = Some(Estimate::new(limits));
    class.blocked_share = Some(Estimate::new(shares));
    class.blocked_us = Some(Estimate::new(waits));
}

fn note(class: &RpcClass) -> Option<String> {
    let mut notes = Vec::new();
    let issued = class.count + class.not_finished;
    if class.censored {
        notes.push(format!(
            "{} of {} RPCs had not completed; the percentiles leave them out and are too good",
            count(class.not_finished),
            count(issued)
        ));
    }
    if class.count > 0 && class.fewest_per_seed < FEW_RPCS {
        notes.push(format!(
            "a seed has only {} completed RPCs: with fewer than {FEW_RPCS} the 99.9th percentile is the largest",
            class.fewest_per_seed
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values, one list for each seed.
fn distribution(seeds: &[Vec<f64>]) -> Latency {
    let across = |f: &dyn Fn(&[f64]) -> Option<f64>| {
        Estimate::new(seeds.iter().map(|values| f(values)).collect())
    };
    Latency {
        mean: across(&mean),
        min: across(&|values| values.first().copied()),
        p50: across(&|values| quantile(values, 50)),
        p90: across(&|values| quantile(values, 90)),
        p95: across(&|values| quantile(values, 95)),
        p99: across(&|values| quantile(values, 99)),
        p999: across(&|values| quantile_per_mille(values, 999)),
        max: across(&|values| values.last().copied()),
    }
}
