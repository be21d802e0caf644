//! `why.csv`, in run directories of which somebody asked where completion times went.

use super::Value::{Maybe, Number, Text};
use super::columns;
use crate::dir::Of;
use crate::why::{Part, WhyRow};
use forebay_units::Span;

pub(crate) static WHY: Of<WhyRow> = Of {
    file: "why.csv",
    always: false,
    seeded: true,
    needed: &["flow", "part", "port", "part_ps"],
    blank: || WhyRow {
        flow: 0,
        part: Part::Unexplained,
        port: String::new(),
        behind: None,
        span: Span::ZERO,
    },
    any: |run| !run.why.is_empty(),
    each: |run, row| run.why.iter().try_for_each(row),
    take: |run, row| {
        run.why.push(row);
        Ok(())
    },
    columns: columns! { WhyRow:
        ["flow" "" "", = |w, _| Number(w.flow.into()) => |w, c| w.flow = c.small()?]
        ["part" "" "What a stretch of the flow's completion time went to, by the words of docs/why.md; the rows of a flow add up to its fct_ps.",
            = |w, _| Text(w.part.key()) => |w, c| w.part = c.part()?]
        ["port" "" "Port where that was: sending node, ->, next node; empty where a part has none.",
            = |w, _| Text(&w.port) => |w, c| w.port = c.text().into()]
        ["behind_flow" "" "Flow whose packets the port sent meanwhile, as an index into flows.csv; empty where nothing was sent or the part has none.",
            = |w, _| Maybe(w.behind.map(u64::from)) => |w, c| w.behind = c.maybe()?.map(|flow| flow as u32)]
        ["part_ps" "ps" "How long, in picoseconds.", counts span, No ""]
    },
};
