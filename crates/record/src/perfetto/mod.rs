//! A results directory as a Perfetto trace: flows and RPCs as slices by sending host, queues, windows and rates as counters,
//! faults as slices of their own. <https://ui.perfetto.dev> opens it, and so does that page without a network.
//!
//! Source: the public protocol of Perfetto, messages `TracePacket`, `TrackDescriptor` and `TrackEvent` (synthetic track events).
//! Deviation: Perfetto counts nanoseconds, so times are rounded down to them.
//!
//! Invariant: slices of one track do not overlap; hosts with several flows at once have several tracks.

mod wire;

use crate::about::RunStart;
use crate::memory_series::{MemorySample, MemorySeries};
use crate::rows::{FlowRow, RpcRow, RunRecord, Series};
use forebay_units::{Time, human};
use std::collections::{BTreeMap, BTreeSet};
use wire::Packets;

/// Name of the trace in a run directory.
pub const FILE: &str = "trace.pftrace";

/// The trace of all runs, the bytes of one file.
pub fn trace(about: &RunStart, runs: &[RunRecord]) -> Vec<u8> {
    let mut out = Packets::default();
    for (number, run) in runs.iter().enumerate() {
        let process = out.track(|track| {
            track.message(3, |process| {
                process.number(1, number as u64 + 1);
                process.text(6, &format!("{}, seed {}", about.scenario, run.seed));
            });
        });
        faults(&mut out, process, about, run.end);
        slices(&mut out, process, run);
        for series in &run.series {
            sampled(&mut out, process, series);
        }
        for series in &run.memory_series {
            memory(&mut out, process, series);
        }
    }
    out.bytes()
}

/// What happened from one time to another.
struct Slice {
    from: Time,
    to: Time,
    name: String,
    notes: Vec<(&'static str, Note)>,
}

/// A value that a slice shows when it is selected.
enum Note {
    Text(String),
    Whole(u64),
    Part(f64),
}

/// Flows and RPCs, by the host that begins them.
fn slices(out: &mut Packets, process: u64, run: &RunRecord) {
    let host = |index: u32| run.hosts[index as usize].as_str();
    let streams: BTreeSet<u32> = run.connections.iter().flat_map(|c| c.streams()).collect();
    let mut by_host: BTreeMap<u32, Vec<Slice>> = BTreeMap::new();
    for row in run.flows.iter().filter(|row| !streams.contains(&row.flow)) {
        by_host.entry(row.src).or_default().push(flow(row, host(row.dst), run.end));
    }
    for row in &run.rpcs {
        let connection = &run.connections[row.connection as usize];
        let slice = rpc(row, host(connection.server), run.end);
        by_host.entry(connection.client).or_default().push(slice);
    }
    for (index, mut slices) in by_host {
        slices.sort_by_key(|slice| (slice.from, slice.to));
        for (lane, slices) in lanes(slices).into_iter().enumerate() {
            let name = match lane {
                0 => host(index).to_owned(),
                _ => format!("{} ({})", host(index), lane + 1),
            };
            let track = out.child(process, &name);
            draw(out, track, &slices);
        }
    }
}

/// Slices in order, spread over as few rows as possible so that none overlap.
fn lanes(slices: Vec<Slice>) -> Vec<Vec<Slice>> {
    let mut lanes: Vec<Vec<Slice>> = Vec::new();
    for slice in slices {
        let free = |lane: &&mut Vec<Slice>| lane.last().is_none_or(|last| last.to <= slice.from);
        match lanes.iter_mut().find(free) {
            Some(lane) => lane.push(slice),
            None => lanes.push(vec![slice]),
        }
    }
    lanes
}

fn flow(row: &FlowRow, to: &str, end: Time) -> Slice {
    let size = match row.is_endless() {
        true => "endless".to_owned(),
        false => human::bytes(row.size.get()),
    };
    let state = match row.delivered {
        None if !row.is_endless() => ", unfinished",
        _ => "",
    };
    let mut notes = vec![
        ("to", Note::Text(to.to_owned())),
        ("flow", Note::Whole(u64::from(row.flow))),
        ("traffic", Note::Whole(u64::from(row.traffic))),
        ("segments sent again", Note::Whole(u64::from(row.retransmits))),
        ("timeouts", Note::Whole(u64::from(row.timeouts))),
        ("ideal_fct_us", Note::Part(row.ideal.as_ps() as f64 / 1e6)),
    ];
    notes.extend(row.slowdown().map(|slowdown| ("slowdown", Note::Part(slowdown))));
    let to_time = row.delivered.or(row.gave_up).unwrap_or(end);
    Slice {
        from: row.start,
        to: to_time,
        name: format!("flow {} to {to}, {size}{state}", row.flow),
        notes,
    }
}

fn rpc(row: &RpcRow, server: &str, end: Time) -> Slice {
    let done = (row.completed != Time::MAX).then_some(row.completed);
    let sizes = row.sizes();
    let state = if done.is_none() { ", unfinished" } else { "" };
    let mut notes = vec![
        ("server", Note::Text(server.to_owned())),
        ("connection", Note::Whole(u64::from(row.connection))),
        ("ideal_us", Note::Part(row.ideal.as_ps() as f64 / 1e6)),
    ];
    notes.extend(row.slowdown().map(|slowdown| ("slowdown", Note::Part(slowdown))));
    Slice {
        from: row.issued,
        to: done.unwrap_or(end),
        name: format!("RPC to {server}, {sizes}{state}"),
        notes,
    }
}

fn faults(out: &mut Packets, process: u64, about: &RunStart, end: Time) {
    let slices = about.faults.iter().map(|fault| Slice {
        from: fault.from,
        to: fault.to.unwrap_or(end),
        name: fault.what.clone(),
        notes: Vec::new(),
    });
    let mut slices: Vec<Slice> = slices.filter(|slice| slice.from <= end).collect();
    slices.sort_by_key(|slice| (slice.from, slice.to));
    for (lane, slices) in lanes(slices).iter().enumerate() {
        let track = out.child(process, &format!("fault {}", lane + 1));
        draw(out, track, slices);
    }
}

fn draw(out: &mut Packets, track: u64, slices: &[Slice]) {
    for slice in slices {
        out.begin(track, slice.from, &slice.name, |event| {
            for (name, note) in &slice.notes {
                event.message(4, |annotation| {
                    annotation.text(10, name);
                    match note {
                        Note::Text(text) => annotation.text(6, text),
                        Note::Whole(number) => annotation.number(3, *number),
                        Note::Part(number) => annotation.double(5, *number),
                    }
                });
            }
        });
        out.end(track, slice.to.max(slice.from));
    }
}

fn sampled(out: &mut Packets, process: u64, series: &Series) {
    let track = out.counter(process, &series.name, series.unit);
    for (at, value) in series.at.iter().zip(&series.values) {
        out.value(track, *at, *value);
    }
}

/// What is drawn of a path to memory: name, unit, value.
type Gauge = (&'static str, &'static str, fn(&MemorySample) -> f64);

const GAUGES: [Gauge; 6] = [
    ("NIC buffer", "bytes", |sample| f64::from(sample.buffered)),
    ("IIO occupancy", "lines", |sample| f64::from(sample.occupancy)),
    ("PCIe", "Gb/s", |sample| f64::from(sample.pcie_gbps)),
    ("read by applications", "Gb/s", |sample| f64::from(sample.goodput_gbps)),
    ("memory traffic of the network", "GB/s", |sample| f64::from(sample.network)),
    ("throttle level", "", |sample| f64::from(sample.level)),
];

fn memory(out: &mut Packets, process: u64, series: &MemorySeries) {
    for (name, unit, value) in GAUGES {
        let track = out.counter(process, &format!("{} {name}", series.host), unit);
        for sample in &series.samples {
            out.value(track, sample.at, value(sample));
        }
    }
}

#[cfg(test)]
mod tests;
