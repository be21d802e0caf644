//! `why.csv` and `why_rpcs.csv`, in run directories in which completion times were explained: of flows, and of RPCs.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Maybe, Number, Text};
use crate::part::Part;
use crate::rows::RunRecord;
use crate::rows::{Subject, WhyRow};
use forebay_units::Span;

fn blank() -> WhyRow {
    let (part, span) = (Part::Unexplained, Span::ZERO);
    WhyRow { of: Subject::Flow(0), part, port: String::new(), behind: None, span }
}

fn of_flows(run: &RunRecord) -> impl Iterator<Item = &WhyRow> {
    run.why.iter().filter(|row| row.of.flow().is_some())
}

fn of_rpcs(run: &RunRecord) -> impl Iterator<Item = &WhyRow> {
    run.why.iter().filter(|row| row.of.rpc().is_some())
}

pub(crate) static WHY: RowTable<WhyRow> = RowTable {
    file: "why.csv",
    always: false,
    seeded: true,
    needed: &["flow", "part", "port", "part_ps"],
    blank,
    any: |run| of_flows(run).next().is_some(),
    each: |run, row| of_flows(run).try_for_each(row),
    take: |run, row| {
        run.why.push(row);
        Ok(())
    },
    columns: columns! { WhyRow:
        ["flow" "" "", = |w, _| Number(w.of.number().into()) => |w, c| w.of = Subject::Flow(c.small()?)]
        ["part" "" "Part of the completion time, in the words of docs/why.md; the rows of a flow add up to its fct_ps, \
                    the rows of an RPC to its latency_ps.",
            = |w, _| Text(w.part.key()) => |w, c| w.part = c.part()?]
        ["port" "" "Port of the part: sending node, ->, next node. Empty if the part has no port.",
            = |w, _| Text(&w.port) => |w, c| w.port = c.text().into()]
        ["behind_flow" "" "Flow whose packets the port sent meanwhile, as an index into flows.csv; empty if nothing was sent.",
            = |w, _| Maybe(w.behind.map(u64::from)) => |w, c| w.behind = c.maybe()?.map(|flow| flow as u32)]
        ["part_ps" "ps" "Length of the part, in picoseconds.", counts span, No ""]
    },
};

pub(crate) static WHY_RPCS: RowTable<WhyRow> = RowTable {
    file: "why_rpcs.csv",
    always: false,
    seeded: true,
    needed: &["rpc", "part", "port", "part_ps"],
    blank,
    any: |run| of_rpcs(run).next().is_some(),
    each: |run, row| of_rpcs(run).try_for_each(row),
    take: |run, row| {
        run.why.push(row);
        Ok(())
    },
    columns: columns! { WhyRow:
        ["rpc" "" "RPC, by its row in rpcs.csv among those of its seed, from 0 on.",
            = |w, _| Number(w.of.number().into()) => |w, c| w.of = Subject::Rpc(c.small()?)]
        ["part" "" "", = |w, _| Text(w.part.key()) => |w, c| w.part = c.part()?]
        ["port" "" "", = |w, _| Text(&w.port) => |w, c| w.port = c.text().into()]
        ["behind_flow" "" "", = |w, _| Maybe(w.behind.map(u64::from)) => |w, c| w.behind = c.maybe()?.map(|flow| flow as u32)]
        ["part_ps" "ps" "", counts span, No ""]
    },
};
