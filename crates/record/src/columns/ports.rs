//! `ports.csv`: one row for each egress port. A new counter of a port is a field and a column here.

use super::RowTable;
use super::{Total, columns};
use crate::csv::Value::{Maybe, Number, Ratio, Text};
use crate::rows::{PortRow, RunRecord};
use crate::tiers::utilisation;
use forebay_units::{BitsPerSec, Span};
use std::collections::BTreeMap;

impl PortRow {
    /// How the counter with this name is set; `None`: there is none.
    pub fn put(name: &str) -> Option<fn(&mut Self, u64)> {
        Some(PORTS.columns.iter().find(|column| column.name == name)?.counter?.1)
    }

    /// Counters with a heading of their own, each with that and its value here.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let shown = PORTS.columns.iter().filter(|column| !column.heading.is_empty());
        shown.map(|column| (column.heading, column.count(self)))
    }

    /// Adds up all counters of the same port in another simulation.
    pub(crate) fn add(&mut self, other: &Self) {
        for column in PORTS.columns {
            let Some((get, put)) = column.counter else { continue };
            put(self, column.total.of(get(self), get(other)));
        }
    }
}

/// Totals of all counters over ports and simulations.
pub(crate) fn totals(runs: &[RunRecord]) -> BTreeMap<String, u64> {
    let ports = || runs.iter().flat_map(|run| &run.ports);
    let summed = PORTS.columns.iter().filter(|column| column.total != Total::No);
    let total = |column: &super::Column<PortRow>| {
        let values = ports().map(|port| column.count(port));
        (column.name.to_string(), values.fold(0, |sum, value| column.total.of(sum, value)))
    };
    summed.map(total).collect()
}

pub(super) static PORTS: RowTable<PortRow> = RowTable {
    file: "ports.csv",
    always: true,
    seeded: true,
    needed: &["node", "peer", "rate_bps"],
    blank: PortRow::default,
    any: |_| true,
    each: |run, row| run.ports.iter().try_for_each(row),
    take: |run, row| {
        run.ports.push(row);
        Ok(())
    },
    columns: columns! { PortRow:
        ["node" "" "Name of the node that sends on this port.",
            = |p, _| Text(&p.node) => |p, c| p.node = c.text().into()]
        ["peer" "" "Name of the node at the other end of the cable.",
            = |p, _| Text(&p.peer) => |p, c| p.peer = c.text().into()]
        ["rate_bps" "bit/s" "Rate of the port at the end of the run, in bits per second.",
            = |p, _| Number(p.rate.get()) => |p, c| p.rate = BitsPerSec::new(c.number()?)]
        ["tx_packets" "packets" "Packets whose transmission began, over the whole simulation, warm-up included.",
            counts tx_packets, Sum ""]
        ["tx_bytes" "bytes" "Bytes of the sent packets, headers included.",
            counts tx_bytes, Sum ""]
        ["dropped_packets" "packets" "Packets refused for lack of buffer.",
            counts dropped_packets, Sum ""]
        ["dropped_bytes" "bytes" "Bytes of the dropped packets.",
            counts dropped_bytes, Sum ""]
        ["dropped_credits" "packets" "Credits refused by their own queue (fabric.switch.credits), and not among dropped_packets: how a receiver learns of congestion.",
            counts dropped_credits, Sum "Credits dropped"]
        ["lost_packets" "packets" "Packets lost to a fault: random loss, or a dead link.",
            counts lost_packets, Sum ""]
        ["marked_packets" "packets" "Packets that got a congestion mark (CE) here.",
            counts marked_packets, Sum ""]
        ["trimmed_packets" "packets" "Data packets that were trimmed here because their queue was full.",
            counts trimmed_packets, Sum "Trimmed"]
        ["trimmed_bytes" "bytes" "Payload bytes that trimming removed.",
            counts trimmed_bytes, Sum ""]
        ["returned_packets" "packets" "Trimmed packets that also found a full queue and went back to their source. They count as neither sent nor dropped here.",
            counts returned_packets, Sum "Returned"]
        ["dropped_headers" "packets" "Trimmed packets that were dropped, returned ones included. Part of dropped_packets.",
            counts dropped_headers, Sum "Headers dropped"]
        ["dropped_unscheduled" "packets" "Packets that a marking rule with not_ect = \"drop\" dropped since they were not ECN-capable; among dropped_packets.",
            counts dropped_unscheduled, Sum "Not ECT, dropped"]
        ["max_queue_bytes" "bytes" "Largest queue in bytes, exact. In summary.json: of any switch port in any seed, or in a tier of any of its ports.",
            counts max_queue, Max ""]
        ["busy_ps" "ps" "Time for which the port transmitted by the end of the run, in picoseconds: headers and wire overhead included, at its rate at the end.",
            = |p, _| Maybe(p.busy.map(Span::as_ps)) => |p, c| p.busy = c.maybe()?.map(Span::from_ps)]
        ["utilisation" "" "busy_ps / end_ps of one link direction, a fraction of 1 over the whole simulation, warm-up included; empty for a dead link. In summary.json: by kind of link.",
            = |p, of| Ratio(utilisation(p, of.run.end))]
        ["pause_frames_sent" "frames" "Pause frames (IEEE 802.3x, 802.1Qbb) sent to the peer, resume frames included. \
                                       Not part of tx_packets. In class_pauses.csv: frames that paused or resumed this \
                                       class.",
            counts pause_frames_sent, Sum ""]
        ["pause_frames_received" "frames" "Pause frames received from the peer, resume frames included.",
            counts pause_frames_received, Sum ""]
        ["paused_ps" "ps" "Time for which the peer paused this port, or this class of the port, in picoseconds.",
            counts paused, Sum ""]
        ["headroom_peak_bytes" "bytes" "Largest use of the headroom kept for packets from the peer, in bytes. In summary.json: of any ingress port in any seed.",
            counts headroom_peak, Max ""]
        ["lossless_drops" "packets" "Packets from the peer refused although their ingress port pauses: 0 if its headroom is large enough.",
            counts lossless_drops, Sum ""]
    },
};
