//! `memory.csv` and `memory_series.csv`, in run directories of scenarios with modelled paths to memory and in no others.

use super::{Cell, RowTable};
use super::{Place, columns};
use crate::csv::Value::{Exact, List, Maybe, Number, Owned, Ratio, Single, Singles, Text};
use crate::error::RecordError;
use crate::memory_series::{CacheSample, CreditsSample, MemorySample, MemorySeries};
use crate::rows::{MemoryRow, RunRecord};
use forebay_units::{Bytes, Span, Time};

pub(super) static MEMORY: RowTable<MemoryRow> = RowTable {
    file: "memory.csv",
    always: false,
    seeded: true,
    needed: &["host", "span_ps"],
    blank: MemoryRow::default,
    any: |run| !run.memory.is_empty(),
    each: |run, row| run.memory.iter().try_for_each(row),
    take: |run, row| {
        run.memory.push(row);
        Ok(())
    },
    columns: columns! { MemoryRow:
        ["host" "" "In hosts.csv: index of the host in canonical order. In volatile.json: name of the machine that ran it. For paths to memory: name of the host.",
            = |m, _| Text(&m.host) => |m, c| m.host = c.known_host()?]
        ["span_ps" "ps" "Time that the row covers, from the end of the warm-up to the end of the run, in picoseconds.",
            = |m, _| Number(m.span.as_ps()) => |m, c| m.span = Span::from_ps(c.number()?)]
        ["nic_arrived_packets" "packets" "Packets for the stack that came over the host's cable after the warm-up.",
            = |m, _| Number(m.arrived) => |m, c| m.arrived = c.number()?]
        ["nic_dropped_packets" "packets" "Of these, packets dropped for want of room in the NIC buffer. In summary.json's network: of all hosts, warm-up included.",
            = |m, _| Number(m.dropped) => |m, c| m.dropped = c.number()?]
        ["nic_drop_share" "" "nic_dropped_packets / nic_arrived_packets, a fraction of 1. In CSV rounded to 6 decimals.",
            = |m, _| Ratio(Some(m.drop_share()))]
        ["goodput_bytes" "bytes" "Payload that applications of the host read after the warm-up, in bytes.",
            = |m, _| Number(m.read_bytes.get()) => |m, c| m.read_bytes = Bytes::new(c.number()?)]
        ["goodput_gbps" "Gb/s" "Payload handed to applications over virtual time, all hosts together, in Gb/s (10^9 bit/s). For paths to memory: of that host's applications, after the warm-up.",
            = |m, _| Ratio(Some(m.goodput_gbps()))]
        ["pcie_lines" "lines" "Lines of 64 bytes that crossed PCIe into IIO slots, packets' completions and descriptors included.",
            = |m, _| Exact(m.entered) => |m, c| m.entered = c.float()?]
        ["pcie_gbps" "Gb/s" "pcie_lines per time, in Gb/s.",
            = |m, _| Ratio(Some(m.pcie_gbps()))]
        ["iio_occupancy_lines" "lines" "Mean lines in IIO slots.",
            = |m, _| Exact(m.occupancy) => |m, c| m.occupancy = c.float()?]
        ["slots_full_share" "" "Share of the time in which full IIO slots held the NIC back, a fraction of 1.",
            = |m, _| Exact(m.full) => |m, c| m.full = c.float()?]
        ["write_wait_ns" "ns" "Mean time that a write waits for admission by the memory controller, in nanoseconds.",
            = |m, _| Exact(m.wait_ns) => |m, c| m.wait_ns = c.float()?]
        ["nic_backlog_share" "" "Share of the time with packets in the NIC buffer, a fraction of 1.",
            = |m, _| Exact(m.backlog) => |m, c| m.backlog = c.float()?]
        ["nic_buffer_peak_bytes" "bytes" "Most bytes that the NIC buffer held, warm-up included.",
            = |m, _| Number(m.most_buffered.get()) => |m, c| m.most_buffered = Bytes::new(c.number()?)]
        ["dma_lines" "lines" "Lines of 64 bytes that the NIC wrote to memory.",
            = |m, _| Exact(m.dma) => |m, c| m.dma = c.float()?]
        ["copied_lines" "lines" "Lines of 64 bytes that copying to applications read from memory.",
            = |m, _| Exact(m.copied) => |m, c| m.copied = c.float()?]
        ["sent_lines" "lines" "Lines of 64 bytes that the NIC read from memory to send.",
            = |m, _| Exact(m.sent) => |m, c| m.sent = c.float()?]
        ["network_gigabytes_per_s" "GB/s" "Memory traffic of the network, dma_lines, copied_lines and sent_lines, in 10^9 bytes per second.",
            = |m, _| Ratio(Some(m.network_gigabytes()))]
        ["antagonist_lines" "lines" "Lines of 64 bytes that each antagonist read and wrote, in the order of the scenario, parted by semicolons.",
            = |m, _| List(&m.antagonists) => |m, c| m.antagonists = c.floats()?]
        ["antagonist_gigabytes_per_s" "GB/s" "Memory traffic of all antagonists, in 10^9 bytes per second.",
            = |m, _| Ratio(Some(m.antagonist_gigabytes()))]
        ["reader_cores" "cores" "Cores that ran the stack and copied to applications, on average.",
            = |m, _| Exact(m.reading) => |m, c| m.reading = c.float()?]
        ["level_writes" "" "Throttle levels that the control wrote. In summary.json: summed over seeds.",
            = |m, _| Number(m.level_writes) => |m, c| m.level_writes = c.number()?]
        ["level_shares" "" "Share of the time at each throttle level, from 0 (no throttle) to the strongest, each a fraction of 1. In CSV parted by semicolons.",
            = |m, _| List(&m.levels) => |m, c| m.levels = c.floats()?]
        ["host_marked_packets" "packets" "Data packets that got a congestion mark (CE) at the host; merged ones count once. In summary.json's network: of all hosts, warm-up included.",
            = |m, _| Number(m.marked) => |m, c| m.marked = c.number()?]
        ["limited_by_shares" "" "Share of the time for which each stage was the bottleneck, each a fraction of 1: senders (nothing queued in the host), copying, pcie, slots, memory, descriptors. In CSV parted by semicolons, in that order.",
            = |m, _| List(&m.limits) => |m, c| m.limits = c.shares()?]
        ["nic_drops_with_warmup" "packets" "nic_dropped_packets of the whole run.",
            = |m, _| Number(m.dropped_in_all) => |m, c| m.dropped_in_all = c.number()?]
        ["host_marks_with_warmup" "packets" "host_marked_packets of the whole run.",
            = |m, _| Number(m.marked_in_all) => |m, c| m.marked_in_all = c.number()?]
        ["nic_buffer_bytes" "bytes" "Size of the NIC buffer in bytes.",
            = |m, _| Number(m.nic_buffer.get()) => |m, c| m.nic_buffer = Bytes::new(c.number()?)]
        ["pcie_limit_gbps" "Gb/s" "Payload that the PCIe link carries at most, in Gb/s.",
            = |m, _| Exact(m.pcie_limit_gbps) => |m, c| m.pcie_limit_gbps = c.float()?]
        ["iio_slots" "" "IIO slots of the host.",
            = |m, _| Number(m.iio_slots.into()) => |m, c| m.iio_slots = c.small()?]
        ["memory_limit_gigabytes_per_s" "GB/s" "Limit of the memory controller, in 10^9 bytes per second.",
            = |m, _| Exact(m.memory_limit_gigabytes) => |m, c| m.memory_limit_gigabytes = c.float()?]
        ["iio_target_lines" "lines" "Occupancy above which the control counts the host as congested (I_T); empty without such a control.",
            = |m, _| Owned(target(m, 0)) => |m, c| set_target(m, 0, c)?]
        ["pcie_target_gbps" "Gb/s" "PCIe bandwidth that the control grants the network (B_T), in Gb/s; empty without such a control.",
            = |m, _| Owned(target(m, 1)) => |m, c| set_target(m, 1, c)?]
        ["sender_wait_shares" "" "Waits of senders of flows to the host, each a fraction of 1 of their flows' time: \
                                  application, congestion_window, receive_window, pacing, nic, pause. In CSV parted by \
                                  semicolons, in that order; all zero if none was in progress. Without the last, in \
                                  older files: nic includes it.",
            = |m, _| List(&m.sender_waits) => |m, c| m.sender_waits = c.waits()?]
        ["other_nics_lines" "lines" "Lines of 64 bytes that other NICs of the same machine wrote to memory and read from it, and that were copied of what they received.",
            = |m, _| Exact(m.other_nics) => |m, c| m.other_nics = c.float()?]
        ["cache_state_shares" "" "Share of the time with unread buffers up to what the DDIO ways hold (S1), up to what the cache holds (S2), above that (S3), and with no buffer of the receive queue left (S4), each a fraction of 1. In CSV parted by semicolons, empty without cache_model = buffers.",
            = |m, _| List(&m.cache_states) => |m, c| m.cache_states = c.floats()?]
        ["cache_reads" "" "Receive buffers that cores read; 0 without cache_model = buffers.",
            = |m, _| Number(m.cache_reads) => |m, c| m.cache_reads = c.number()?]
        ["cache_bounds_bytes" "bytes" "Bytes of receive buffers that the NIC's ways of the cache, the whole cache and the receive queue hold (D, S and Q of CARC). Parted by semicolons, empty without cache_model = buffers.",
            = |m, _| List(&m.cache_bounds) => |m, c| m.cache_bounds = c.floats()?]
        ["cache_misses" "" "Of cache_reads, buffers that were not in the cache: evicted by a write of the NIC, evicted \
                            by a core, never there before. Parted by semicolons, empty without cache_model = buffers.",
            = |m, _| List(&m.cache_misses) => |m, c| m.cache_misses = c.floats()?]
        ["cache_reads_by_traffic" "" "cache_reads of each [[traffic]] entry, in their order, up to the last one that has some. Parted by semicolons, empty without cache_model = buffers.",
            = |m, _| List(&m.cache_reads_of) => |m, c| m.cache_reads_of = c.floats()?]
        ["cache_misses_by_traffic" "" "Of cache_reads_by_traffic, buffers that were not in the cache, with the same three causes.",
            = |m, _| List(&m.cache_misses_of) => |m, c| m.cache_misses_of = c.floats()?]
        ["cache_writes" "" "Receive buffers that the NIC wrote; 0 without cache_model = buffers.",
            = |m, _| Number(m.cache_writes) => |m, c| m.cache_writes = c.number()?]
        ["cache_writes_in_place" "" "Of cache_writes, buffers that were in the cache, so that nothing was evicted.",
            = |m, _| Number(m.cache_in_place) => |m, c| m.cache_in_place = c.number()?]
        ["rnr_waited_frames" "packets" "Frames that found no receive buffer and waited in the NIC for one, with rq = { rnr = \"wait\" }. In summary.json: summed over seeds.",
            = |m, _| Number(m.rnr_waited) => |m, c| m.rnr_waited = c.number()?]
        ["rnr_refused_frames" "packets" "Frames that found no receive buffer and were refused, with rq = { rnr = \
                                         \"nak\" }, and the frames of their flows behind them. In summary.json: summed \
                                         over seeds.",
            = |m, _| Number(m.rnr_refused) => |m, c| m.rnr_refused = c.number()?]
    },
};

/// Columns of `memory.csv` that hold numbers, by name.
pub fn memory_columns() -> impl Iterator<Item = &'static str> {
    MEMORY.columns.iter().map(|column| column.name).filter(|name| *name != "host")
}

/// What a row of `memory.csv` holds in a column: several numbers if that is a list, none if it is empty or there is no such column.
pub fn memory_numbers(name: &str, run: &RunRecord, row: &MemoryRow) -> Vec<f64> {
    let Some(column) = MEMORY.columns.iter().find(|column| column.name == name) else {
        return Vec::new();
    };
    match (column.get)(row, &Place { run, warmup: Time::ZERO }) {
        Number(number) => vec![number as f64],
        Maybe(number) => number.map(|number| number as f64).into_iter().collect(),
        Ratio(number) => number.into_iter().collect(),
        Exact(number) => vec![number],
        Single(number) => number.map(f64::from).into_iter().collect(),
        List(list) => list.to_vec(),
        Singles(list) => list.iter().copied().map(f64::from).collect(),
        Text(_) => Vec::new(),
        Owned(text) => text.parse().into_iter().collect(),
    }
}

/// What the control compares with, or nothing.
fn target(row: &MemoryRow, which: usize) -> String {
    row.targets.map_or(String::new(), |targets| targets[which].to_string())
}

fn set_target(row: &mut MemoryRow, which: usize, cell: &Cell<'_>) -> Result<(), RecordError> {
    if let Some(value) = cell.some()? {
        row.targets.get_or_insert([0.0; 2])[which] = value;
    }
    Ok(())
}

/// One sample: where it stands in a record, or as it is read.
#[derive(Default)]
pub struct MemoryPoint {
    series: usize,
    at: usize,
    host: String,
    sample: MemorySample,
    antagonists: Vec<f32>,
}

impl MemoryPoint {
    fn series<'a>(&self, of: &Place<'a>) -> &'a MemorySeries {
        &of.run.memory_series[self.series]
    }

    fn of<'a>(&self, of: &Place<'a>) -> &'a MemorySample {
        &self.series(of).samples[self.at]
    }

    fn antagonists<'a>(&self, of: &Place<'a>) -> &'a [f32] {
        let series = self.series(of);
        &series.by_antagonist[self.at * series.antagonists..(self.at + 1) * series.antagonists]
    }

    fn cache<T>(&mut self, value: Option<T>, enter: impl FnOnce(&mut CacheSample, T)) {
        if let Some(value) = value {
            enter(self.sample.cache.get_or_insert_default(), value);
        }
    }

    fn credits<T>(&mut self, value: Option<T>, enter: impl FnOnce(&mut CreditsSample, T)) {
        if let Some(value) = value {
            enter(self.sample.credits.get_or_insert_default(), value);
        }
    }

    fn see(&mut self, which: usize, value: Option<f32>) {
        if let Some(value) = value {
            self.sample.seen.get_or_insert([0.0; 2])[which] = value;
        }
    }
}

/// The first sample of a host ends the first interval.
pub(super) static MEMORY_SERIES: RowTable<MemoryPoint> = RowTable {
    file: "memory_series.csv",
    always: false,
    seeded: true,
    needed: &["host", "at_ps"],
    blank: MemoryPoint::default,
    any: |run| !run.memory_series.is_empty(),
    each: |run, row| {
        (0..).zip(&run.memory_series).try_for_each(|(series, one)| {
            (0..one.samples.len())
                .try_for_each(|at| row(&MemoryPoint { series, at, ..MemoryPoint::default() }))
        })
    },
    take: |run, point| {
        if run.memory_series.last().is_none_or(|series| series.host != point.host) {
            run.memory_series.push(MemorySeries {
                host: point.host,
                every: point.sample.at.since(Time::ZERO),
                antagonists: point.antagonists.len(),
                ..MemorySeries::default()
            });
        }
        if let Some(series) = run.memory_series.last_mut() {
            if point.antagonists.len() != series.antagonists {
                return Err("antagonists_gigabytes_per_s has another number of values than before");
            }
            series.samples.push(point.sample);
            series.by_antagonist.extend(point.antagonists);
        }
        Ok(())
    },
    columns: columns! { MemoryPoint:
        ["host" "" "",
            = |p, of| Text(&p.series(of).host) => |p, c| p.host = c.known_host()?]
        ["at_ps" "ps" "Sampling instant in picoseconds of virtual time. In memory_series.csv rates, means and counts are of the interval that ends here.",
            = |p, of| Number(p.of(of).at.as_ps()) => |p, c| p.sample.at = Time::from_ps(c.number()?)]
        ["iio_occupancy_lines" "lines" "",
            = |p, of| Single(Some(p.of(of).occupancy)) => |p, c| p.sample.occupancy = c.float()?]
        ["pcie_gbps" "Gb/s" "",
            = |p, of| Single(Some(p.of(of).pcie_gbps)) => |p, c| p.sample.pcie_gbps = c.float()?]
        ["nic_buffered_bytes" "bytes" "Bytes in the NIC buffer at that instant.",
            = |p, of| Number(p.of(of).buffered.into()) => |p, c| p.sample.buffered = c.small()?]
        ["nic_dropped_packets" "packets" "",
            = |p, of| Number(p.of(of).dropped.into()) => |p, c| p.sample.dropped = c.small()?]
        ["goodput_gbps" "Gb/s" "",
            = |p, of| Single(Some(p.of(of).goodput_gbps)) => |p, c| p.sample.goodput_gbps = c.float()?]
        ["network_gigabytes_per_s" "GB/s" "",
            = |p, of| Single(Some(p.of(of).network)) => |p, c| p.sample.network = c.float()?]
        ["antagonists_gigabytes_per_s" "GB/s" "Memory traffic of each antagonist, in the order of the scenario, in 10^9 bytes per second. In CSV parted by semicolons.",
            = |p, of| Singles(p.antagonists(of)) => |p, c| p.antagonists = c.floats()?]
        ["host_marked_packets" "packets" "",
            = |p, of| Number(p.of(of).marked.into()) => |p, c| p.sample.marked = c.small()?]
        ["level" "" "Throttle level in force at that instant; 0: none.",
            = |p, of| Number(p.of(of).level.into()) => |p, c| p.sample.level = c.small()?]
        ["law_iio_occupancy_lines" "lines" "Smoothed occupancy as the control's law had it at that instant (I_S), in lines; empty without such a law.",
            = |p, of| Single(p.of(of).seen.map(|seen| seen[0])) => |p, c| p.see(0, c.some()?)]
        ["law_pcie_gbps" "Gb/s" "Smoothed PCIe bandwidth as the control's law had it at that instant (B_S), in Gb/s; empty without such a law.",
            = |p, of| Single(p.of(of).seen.map(|seen| seen[1])) => |p, c| p.see(1, c.some()?)]
        ["unread_bytes" "bytes" "Bytes of receive buffers with data that no core has read, at that instant (U of CARC); empty without cache_model = buffers, as the next four.",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.unread)) => |p, c| p.cache(c.some()?, |cache, n| cache.unread = n)]
        ["cache_reads" "" "",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.reads.into())) => |p, c| p.cache(c.some()?, |cache, n| cache.reads = n)]
        ["cache_misses_after_nic" "" "Of cache_reads, buffers that a write of the NIC had evicted.",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.misses[0].into())) => |p, c| p.cache(c.some()?, |cache, n| cache.misses[0] = n)]
        ["cache_misses_after_cpu" "" "Of cache_reads, buffers that a core had evicted.",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.misses[1].into())) => |p, c| p.cache(c.some()?, |cache, n| cache.misses[1] = n)]
        ["cache_misses_cold" "" "Of cache_reads, buffers that had never been in the cache.",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.misses[2].into())) => |p, c| p.cache(c.some()?, |cache, n| cache.misses[2] = n)]
        ["other_nics_gigabytes_per_s" "GB/s" "Memory traffic of other NICs of the same machine, in 10^9 bytes per second. In CSV empty where there are none.",
            = |p, of| Single(p.of(of).other_nics) => |p, c| p.sample.other_nics = c.some()?]
        ["rnr_waited_frames" "packets" "",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.waited.into())) => |p, c| p.cache(c.some()?, |cache, n| cache.waited = n)]
        ["rnr_refused_frames" "packets" "",
            = |p, of| Maybe(p.of(of).cache.map(|cache| cache.refused.into())) => |p, c| p.cache(c.some()?, |cache, n| cache.refused = n)]
        ["credits_outstanding" "lines" "Lines of 64 bytes of requests that are posted and whose credits have not come back, at that instant, of all connections with a pool to this host; empty without one, as the next four.",
            = |p, of| Maybe(p.of(of).credits.map(|credits| credits.outstanding)) => |p, c| p.credits(c.some()?, |credits, n| credits.outstanding = n)]
        ["credits_limit" "lines" "Limit of credits_outstanding, except for requests larger than a connection's limit.",
            = |p, of| Maybe(p.of(of).credits.map(|credits| credits.limit)) => |p, c| p.credits(c.some()?, |credits, n| credits.limit = n)]
        ["credits_delta" "lines" "Delta of CARC summed over all connections: what the laws added to the connections' shares of the cache, or took off.",
            = |p, of| Owned(p.of(of).credits.map_or(String::new(), |credits| credits.delta.to_string())) => |p, c| p.credits(c.some()?, |credits, n| credits.delta = n)]
        ["blocked_requests" "" "",
            = |p, of| Maybe(p.of(of).credits.map(|credits| credits.blocked)) => |p, c| p.credits(c.some()?, |credits, n| credits.blocked = n)]
        ["longest_blocked_ps" "ps" "Longest time that a request of blocked_requests has waited, in picoseconds; 0 if none waits.",
            = |p, of| Maybe(p.of(of).credits.map(|credits| credits.longest.as_ps())) => |p, c| p.credits(c.some()?, |credits, n| credits.longest = Span::from_ps(n))]
    },
};
