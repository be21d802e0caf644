//! Rows of the paths to memory.

use crate::host::Snapshot;
use crate::observe::sender_waits::Seen;
use crate::observe::{MemorySamples, PoolSamples, SenderWaits};
use crate::world::{AnyNode, World};
use forebay_host::memory::QueueTotals;
use forebay_record::{MemoryRow, MemorySeries};
use forebay_scenario::model::{self, Scenario};
use forebay_transport::Wait;
use forebay_units::{Bytes, Time};

/// One row for each host that has such a path, from the end of the warm-up to `end`.
pub(super) fn memory(
    scenario: &Scenario,
    world: &World,
    nodes: &[AnyNode],
    end: Time,
) -> Vec<MemoryRow> {
    let waits = sender_waits(nodes, world.plan.hosts);
    let hosts = (0u32..).zip(nodes).zip(&world.plan.names);
    let rows = hosts.filter_map(|((id, node), name)| {
        let host = node.host()?;
        let [from, to] = host.memory_totals(end)?;
        let mut row = row(name, &from, &to);
        sizes(&mut row, scenario.host.memory_at(name)?);
        row.sender_waits = shares(waits[id as usize]);
        let watched = host.memory().and_then(|memory| memory.watched());
        row.targets =
            watched.map(|w| [w.lines_threshold as f64, w.rate_target.get() as f64 * 1e-9]);
        Some(row)
    });
    rows.collect()
}

/// Samples of those that were to be sampled.
pub(super) fn series(world: &World, nodes: &[AnyNode]) -> Vec<MemorySeries> {
    let hosts = (0u32..).zip(nodes).zip(&world.plan.names);
    let sampled = hosts.filter_map(|((id, node), name)| {
        let mut series = node.host()?.observer::<MemorySamples>()?.series(name);
        let clients = nodes.iter().filter_map(|node| node.host()?.observer::<PoolSamples>());
        for taken in clients.map(|samples| samples.of_server(id)) {
            for (sample, credits) in series.samples.iter_mut().zip(taken) {
                sample.credits = Some(sample.credits.unwrap_or_default().and(credits));
            }
        }
        Some(series)
    });
    sampled.collect()
}

/// How often each wait was seen of senders of flows to each host.
fn sender_waits(nodes: &[AnyNode], hosts: usize) -> Vec<Seen> {
    let mut sums = vec![Seen::default(); hosts];
    let senders = nodes.iter().filter_map(|node| node.host()?.observer::<SenderWaits>());
    for (host, seen) in senders.flat_map(SenderWaits::seen) {
        let sum = &mut sums[*host as usize];
        *sum = std::array::from_fn(|i| sum[i] + seen[i]);
    }
    sums
}

/// The share of each wait.
fn shares(seen: Seen) -> [f64; Wait::ALL.len()] {
    let all = seen.iter().sum::<u64>().max(1) as f64;
    seen.map(|seen| seen as f64 / all)
}

/// What the stages can hold and carry.
fn sizes(row: &mut MemoryRow, memory: &model::Memory) {
    let settings = &memory.settings;
    row.nic_buffer = settings.nic.buffer;
    row.pcie_limit_gbps = settings.pcie.payload_rate().get() as f64 * 1e-9;
    row.iio_slots = settings.iio.slots;
    row.memory_limit_gigabytes = settings.controller.bytes_per_sec as f64 * 1e-9;
}

/// What happened between two instants.
fn row(name: &str, from: &Snapshot, to: &Snapshot) -> MemoryRow {
    let span = to.at.since(from.at);
    let ns = (span.as_ps() as f64 * 1e-3).max(1.0);
    let (a, b) = (&from.path, &to.path);
    // Before the first event there are no totals to take away.
    let before = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
    let antagonists = (0..b.antagonist_read.len()).map(|i| b.served(i) - a.served(i));
    let levels = b.levels.iter().enumerate().map(|(i, time)| (time - before(&a.levels, i)) / ns);
    let mut row = MemoryRow {
        host: name.into(),
        span,
        arrived: b.arrived - a.arrived,
        dropped: b.dropped - a.dropped,
        read_bytes: Bytes::new(to.read_bytes - from.read_bytes),
        marked: to.marked - from.marked,
        level_writes: to.level_writes - from.level_writes,
        entered: b.entered - a.entered,
        occupancy: (b.occupancy - a.occupancy) / ns,
        dma: b.dma - a.dma,
        copied: b.copied - a.copied,
        sent: b.sent - a.sent,
        other_nics: b.others.unwrap_or(0.0) - a.others.unwrap_or(0.0),
        antagonists: antagonists.collect(),
        wait_ns: (b.wait - a.wait) / ns,
        backlog: (b.backlog - a.backlog) / ns,
        full: (b.full - a.full) / ns,
        reading: (b.reading - a.reading) / ns,
        levels: levels.collect(),
        limits: std::array::from_fn(|i| (b.limits[i] - a.limits[i]) / ns),
        most_buffered: Bytes::new(b.most_buffered),
        dropped_in_all: b.dropped,
        marked_in_all: to.marked,
        ..MemoryRow::default()
    };
    if let Some(queue) = &b.queue {
        cache(&mut row, &a.queue.unwrap_or_default(), queue, ns);
        let of = |which: usize| {
            let before = |i: usize| a.reads_of.get(i).map_or(0, |of| of[which]);
            b.reads_of.iter().enumerate().map(|(i, of)| (of[which] - before(i)) as f64).collect()
        };
        (row.cache_reads_of, row.cache_misses_of) = (of(0), of(1));
    }
    row
}

/// What the receive queue and the cache did in `ns`.
fn cache(row: &mut MemoryRow, from: &QueueTotals, to: &QueueTotals, ns: f64) {
    let (a, b) = (&from.counts, &to.counts);
    row.cache_states = from.states.iter().zip(to.states).map(|(a, b)| (b - a) / ns).collect();
    row.cache_reads = b.reads - a.reads;
    let missed = a.missed_by_cause().into_iter().zip(b.missed_by_cause());
    row.cache_misses = missed.map(|(a, b)| (b - a) as f64).collect();
    row.cache_writes = b.writes - a.writes;
    row.cache_in_place = b.in_place - a.in_place;
    row.rnr_waited = to.waited - from.waited;
    row.rnr_refused = to.refused - from.refused;
    row.cache_bounds = to.bounds.iter().map(|bytes| *bytes as f64).collect();
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use forebay_host::memory::Limit;
    use forebay_transport::Wait;

    pub fn a_record_names_limits_as_the_path_does() {
        assert_eq!(Limit::ALL.map(Limit::word), forebay_record::LIMITS);
    }

    pub fn a_record_names_waits_as_the_transport_does() {
        assert_eq!(Wait::ALL.map(Wait::word), forebay_record::WAITS);
    }
}
