//! `hosts.csv`, `runs.csv` and `series.csv`: what there is, one row for each simulation, and samples.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Exact, Number, Owned, Text};
use crate::rows::{Quantity, RunRecord, Series};
use crate::stats::hex;
use forebay_units::Time;

/// A host, as an index and a name.
#[derive(Default)]
pub struct Host {
    pub(crate) index: u64,
    pub(crate) name: String,
}

/// Hosts are the same in all simulations, so the table is written with the first.
pub(crate) static HOSTS: RowTable<Host> = RowTable {
    file: "hosts.csv",
    always: true,
    seeded: false,
    needed: &["host", "name"],
    blank: Host::default,
    any: |_| true,
    each: |run, row| {
        (0..).zip(&run.hosts).try_for_each(|(index, name)| row(&Host { index, name: name.clone() }))
    },
    take: |_, _| Ok(()),
    columns: columns! { Host:
        ["host" "" "In hosts.csv: index of the host in canonical order. In volatile.json: name of the machine that ran it. For paths to memory: name of the host.",
            = |h, _| Number(h.index) => |h, c| h.index = c.number()?]
        ["name" "" "Name of what the row or object describes.",
            = |h, _| Text(&h.name) => |h, c| h.name = c.text().into()]
    },
};

pub(crate) static RUNS: RowTable<RunRecord> = RowTable {
    file: "runs.csv",
    always: true,
    seeded: false,
    needed: &["seed", "digest", "end_ps", "interrupted"],
    blank: RunRecord::default,
    any: |_| true,
    each: |run, row| row(run),
    take: |_, _| Ok(()),
    columns: columns! { RunRecord:
        ["seed" "" "", = |r, _| Number(r.seed) => |r, c| r.seed = c.number()?]
        ["digest" "" "Running hash of every delivery and drop (time, kind, flow, sequence, ECN), 16 hex digits; equal digests mean equal simulations. Of several seeds: all mixed in order.",
            = |r, _| Owned(hex(r.digest)) => |r, c| r.digest = c.hexadecimal()?]
        ["end_ps" "ps" "Virtual time at which the simulation stopped, in picoseconds.",
            = |r, _| Number(r.end.as_ps()) => |r, c| r.end = Time::from_ps(c.number()?)]
        ["interrupted" "" "Whether the simulation was cut short before its own end (true, false).",
            = |r, _| yes(r.interrupted) => |r, c| r.interrupted = c.yes()?]
        ["stalled" "" "Whether the simulation ended because no packet moved while flows were unfinished (true, false).",
            = |r, _| yes(r.stalled) => |r, c| r.stalled = c.yes()?]
        ["not_started" "flows" "Flows of the flow table that had not started by the end.",
            = |r, _| Number(r.not_started) => |r, c| r.not_started = c.number()?]
        ["packet_hops" "packets" "Packets whose transmission began, summed over links, including packets that were \
                                  lost or in flight at the end. The unit of work of the simulator.",
            = |r, _| Number(r.totals.packet_hops) => |r, c| r.totals.packet_hops = c.number()?]
        ["delivered_bytes" "bytes" "Payload bytes handed to receiving applications.",
            = |r, _| Number(r.totals.delivered_bytes) => |r, c| r.totals.delivered_bytes = c.number()?]
        ["delivered_segments" "segments" "Segments that reached receivers, duplicates included.",
            = |r, _| Number(r.totals.delivered_segments) => |r, c| r.totals.delivered_segments = c.number()?]
    },
};

fn yes(value: bool) -> super::Value<'static> {
    Text(if value { "true" } else { "false" })
}

/// One sample: where it stands in a record, or as it is read.
#[derive(Default)]
pub struct SeriesPoint {
    series: usize,
    at: usize,
    name: String,
    quantity: String,
    unit: String,
    time: Time,
    value: f64,
}

pub(super) static SERIES: RowTable<SeriesPoint> = RowTable {
    file: "series.csv",
    always: true,
    seeded: true,
    needed: &["series", "quantity", "unit", "at_ps", "value"],
    blank: SeriesPoint::default,
    any: |_| true,
    each: |run, row| {
        (0..).zip(&run.series).try_for_each(|(series, one)| {
            (0..one.at.len())
                .try_for_each(|at| row(&SeriesPoint { series, at, ..SeriesPoint::default() }))
        })
    },
    take: |run, point| {
        if run.series.last().is_none_or(|s| s.name != point.name || s.unit != point.unit) {
            let known =
                Quantity::ALL.into_iter().find(|quantity| quantity.word() == point.quantity);
            run.series.push(Series {
                name: point.name,
                quantity: known.unwrap_or(Quantity::Other),
                unit: unit(&point.unit),
                at: Vec::new(),
                values: Vec::new(),
            });
        }
        if let Some(series) = run.series.last_mut() {
            series.at.push(point.time);
            series.values.push(point.value);
        }
        Ok(())
    },
    columns: columns! { SeriesPoint:
        ["series" "" "Name of the sampled quantity.",
            = |p, of| Text(&of.run.series[p.series].name) => |p, c| p.name = c.text().into()]
        ["quantity" "" "Kind of the series: queue, class-queue, goodput, window, in-flight, round-trip, flow-rate, law-rate, paused, credited, awaits-credit, beyond-gaps, credit-rate or other.",
            = |p, of| Text(of.run.series[p.series].quantity.word()) => |p, c| p.quantity = c.text().into()]
        ["unit" "" "Unit of the values.",
            = |p, of| Text(of.run.series[p.series].unit) => |p, c| p.unit = c.text().into()]
        ["at_ps" "ps" "Sampling instant in picoseconds of virtual time. In memory_series.csv rates, means and counts are of the interval that ends here.",
            = |p, of| Number(of.run.series[p.series].at[p.at].as_ps()) => |p, c| p.time = Time::from_ps(c.number()?)]
        ["value" "" "Value at the sampling instant, in the unit of the row. Of a setting: the value of the key.",
            = |p, of| Exact(of.run.series[p.series].values[p.at]) => |p, c| p.value = c.float()?]
    },
};

/// A unit is a constant of the program that wrote it; an unknown one is kept for good.
fn unit(text: &str) -> &'static str {
    let known = ["bytes", "gbps", "packets", "fraction", "us", "flows", "per_us"];
    known.into_iter().find(|unit| *unit == text).unwrap_or_else(|| text.to_string().leak())
}
