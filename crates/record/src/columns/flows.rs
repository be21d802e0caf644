//! `flows.csv`: one row for each flow that started.

use super::RowTable;
use super::{IDEAL_FCT_DEFINITION, columns};
use crate::csv::Value::{Maybe, Number, Ratio};
use crate::rows::FlowRow;
use forebay_units::{Bytes, Span, Time};

pub(super) static FLOWS: RowTable<FlowRow> = RowTable {
    file: "flows.csv",
    always: true,
    seeded: true,
    needed: &[
        "flow",
        "traffic",
        "src",
        "dst",
        "size_bytes",
        "start_ps",
        "delivered_ps",
        "ideal_fct_ps",
    ],
    blank: || FlowRow {
        flow: 0,
        traffic: 0,
        src: 0,
        dst: 0,
        size: Bytes::MAX,
        start: Time::ZERO,
        delivered: None,
        acked: None,
        gave_up: None,
        ideal: Span::ZERO,
        retransmits: 0,
        timeouts: 0,
    },
    any: |_| true,
    each: |run, row| run.flows.iter().try_for_each(row),
    take: |run, row| {
        for (at, before) in [
            (row.delivered, "delivered_ps is before start_ps"),
            (row.acked, "acked_ps is before start_ps"),
            (row.gave_up, "gave_up_ps is before start_ps"),
        ] {
            if at.is_some_and(|at| at < row.start) {
                return Err(before);
            }
        }
        run.flows.push(row);
        Ok(())
    },
    columns: columns! { FlowRow:
        ["flow" "" "Index of the flow in the run's flow table.",
            = |f, _| Number(f.flow.into()) => |f, c| f.flow = c.small()?]
        ["traffic" "" "In tables: index of the [[traffic]] entry that the flow or connection came from. In manifest.json: the entries, one line each.",
            = |f, _| Number(f.traffic.into()) => |f, c| f.traffic = c.small()?]
        ["src" "" "Name of the sending host.", = |f, of| of.host(f.src) => |f, c| f.src = c.host()?]
        ["dst" "" "Name of the receiving host.", = |f, of| of.host(f.dst) => |f, c| f.dst = c.host()?]
        ["size_bytes" "bytes" "Payload of the flow in bytes; empty for a flow without an end.",
            = |f, _| Maybe((!f.is_endless()).then_some(f.size.get())) => |f, c| f.size = c.maybe()?.map_or(Bytes::MAX, Bytes::new)]
        ["start_ps" "ps" "Virtual time at which the application handed the flow over, in picoseconds.",
            = |f, _| Number(f.start.as_ps()) => |f, c| f.start = Time::from_ps(c.number()?)]
        ["delivered_ps" "ps" "Virtual time at which the receiver had every byte in order, in picoseconds; empty if bytes were missing at the end.",
            = |f, _| Maybe(f.delivered.map(Time::as_ps)) => |f, c| f.delivered = c.maybe()?.map(Time::from_ps)]
        ["acked_ps" "ps" "Virtual time at which the sender had the ACK of the last byte, in picoseconds; empty if the ACK was missing at the end.",
            = |f, _| Maybe(f.acked.map(Time::as_ps)) => |f, c| f.acked = c.maybe()?.map(Time::from_ps)]
        ["gave_up_ps" "ps" "Virtual time at which the sender gave the flow up, in picoseconds; empty if the sender did not give up.",
            = |f, _| Maybe(f.gave_up.map(Time::as_ps)) => |f, c| f.gave_up = c.maybe()?.map(Time::from_ps)]
        ["fct_ps" "ps" "Flow completion time, receiver-delivered: delivered_ps - start_ps; empty if not completed.",
            = |f, _| Maybe(f.fct().map(Span::as_ps))]
        ["ideal_fct_ps" "ps" IDEAL_FCT_DEFINITION,
            = |f, _| Number(f.ideal.as_ps()) => |f, c| f.ideal = Span::from_ps(c.number()?)]
        ["slowdown" "" "fct_ps / ideal_fct_ps, 1 at best, receiver-delivered; empty if not completed. In CSV rounded to 6 decimals.",
            = |f, _| Ratio(f.slowdown())]
        ["retransmits" "segments" "Retransmitted segments of the flow.",
            = |f, _| Number(f.retransmits.into()) => |f, c| f.retransmits = c.small()?]
        ["timeouts" "" "Retransmission timeouts.", = |f, _| Number(f.timeouts.into()) => |f, c| f.timeouts = c.small()?]
    },
};
