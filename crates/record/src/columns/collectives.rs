//! `collectives.csv`, in run folders of scenarios that have such traffic and in no others, and `steps.csv`, where a scenario asks for it.

use super::RowTable;
use super::columns;
use crate::csv::Value::{Maybe, Number, Owned, Ratio, Text};
use crate::rows::{CollectiveRow, StepCause, StepKind, StepRow};
use forebay_jobs::{Algorithm, Operation};
use forebay_units::{Bytes, Span, Time};

pub(super) static COLLECTIVES: RowTable<CollectiveRow> = RowTable {
    file: "collectives.csv",
    always: false,
    seeded: true,
    needed: &[
        "traffic",
        "group",
        "number",
        "op",
        "ranks",
        "collective_bytes",
        "begun_ps",
        "ended_ps",
    ],
    blank: CollectiveRow::default,
    any: |run| !run.collectives.is_empty(),
    each: |run, row| run.collectives.iter().try_for_each(row),
    take: |run, row| {
        if row.end.is_some_and(|end| end < row.start) {
            return Err("ended_ps is before begun_ps");
        }
        run.collectives.push(row);
        Ok(())
    },
    columns: columns! { CollectiveRow:
        ["traffic" "" "", = |c, _| Number(c.traffic.into()) => |c, cell| c.traffic = cell.small()?]
        ["group" "" "Group of ranks within the traffic entry, from 0.",
            = |c, _| Number(c.group.into()) => |c, cell| c.group = cell.small()?]
        ["number" "" "How many collectives the group of ranks had begun before this one.",
            = |c, _| Number(c.number.into()) => |c, cell| c.number = cell.small()?]
        ["op" "" "Operation of a collective: all-reduce, reduce-scatter, all-gather, broadcast or all-to-all.",
            = |c, _| Text(c.operation.name()) => |c, cell| c.operation = cell.word(Operation::named)?]
        ["algorithm" "" "Algorithm of a collective: ring, direct or halving-doubling.",
            = |c, _| Text(c.algorithm.name()) => |c, cell| c.algorithm = cell.word(Algorithm::named)?]
        ["ranks" "" "Number of ranks of a collective.",
            = |c, _| Number(c.ranks.into()) => |c, cell| c.ranks = cell.small()?]
        ["collective_bytes" "bytes" "Size of a collective in bytes, as nccl-tests counts it (S).",
            = |c, _| Number(c.bytes.get()) => |c, cell| c.bytes = Bytes::new(cell.number()?)]
        ["begun_ps" "ps" "Virtual time at which the first rank began, in picoseconds.",
            = |c, _| Number(c.start.as_ps()) => |c, cell| c.start = Time::from_ps(cell.number()?)]
        ["all_begun_ps" "ps" "Virtual time at which the last rank began, in picoseconds; empty if some rank had not by the end of the run.",
            = |c, _| Maybe(c.all_begun.map(Time::as_ps)) => |c, cell| c.all_begun = cell.maybe()?.map(Time::from_ps)]
        ["ended_ps" "ps" "Virtual time at which every rank had all of its data, in picoseconds; empty if not by the end of the run.",
            = |c, _| Maybe(c.end.map(Time::as_ps)) => |c, cell| c.end = cell.maybe()?.map(Time::from_ps)]
        ["ranks_done" "" "Ranks that had all of their data by the end of the run.",
            = |c, _| Number(c.done.into()) => |c, cell| c.done = cell.small()?]
        ["last_rank" "" "Name of the host that was last to have all of its data; empty if the collective had not ended.",
            = |c, of| c.last.map_or(Text(""), |host| of.host(host)) => |c, cell| c.last = if cell.text().is_empty() { None } else { Some(cell.host()?) }]
        ["wait_ps" "ps" "Mean over ranks of the time from having all data to ended_ps, in picoseconds; empty if the collective had not ended.",
            = |c, _| Maybe(c.wait.map(Span::as_ps)) => |c, cell| c.wait = cell.maybe()?.map(Span::from_ps)]
        ["algbw_gbps" "Gb/s" "Size of a collective over its completion time (ended_ps - begun_ps), in Gb/s; empty if it had not ended.",
            = |c, _| Ratio(c.algbw_gbps())]
        ["busbw_gbps" "Gb/s" "Bus bandwidth of a collective: algbw_gbps times the factor of nccl-tests (all-reduce 2(n-1)/n, broadcast 1, others (n-1)/n), in Gb/s. The rate of a link if the collective is perfect.",
            = |c, _| Ratio(c.busbw_gbps())]
    },
};

pub(super) static STEPS: RowTable<StepRow> = RowTable {
    file: "steps.csv",
    always: false,
    seeded: true,
    needed: &["traffic", "rank", "program", "step", "operation", "step_begun_ps", "step_over_ps"],
    blank: StepRow::default,
    any: |run| !run.steps.is_empty(),
    each: |run, row| run.steps.iter().try_for_each(row),
    take: |run, row| {
        run.steps.push(row);
        Ok(())
    },
    columns: columns! { StepRow:
        ["traffic" "" "", = |s, _| Number(s.traffic.into()) => |s, cell| s.traffic = cell.small()?]
        ["rank" "" "Name of the host that does an operation.",
            = |s, of| of.host(s.host) => |s, cell| s.host = cell.host()?]
        ["program" "" "Program of the operation, counted at its host: a channel of a collective.",
            = |s, _| Number(s.program.into()) => |s, cell| s.program = cell.small()?]
        ["step" "" "Place of an operation in its program, from 0.",
            = |s, _| Number(s.number.into()) => |s, cell| s.number = cell.small()?]
        ["operation" "" "What a rank does: send, recv, compute, at (wait for a time), signal, begin (of a collective) or end (all data is there).",
            = |s, _| Text(s.kind.word()) => |s, cell| s.kind = cell.word(StepKind::named)?]
        ["step_flow" "" "Connection of a message, as an index into the flow table; empty without a message.",
            = |s, _| Maybe(s.flow.map(u64::from)) => |s, cell| s.flow = cell.small_or_none()?]
        ["step_bytes" "bytes" "Payload of a message in bytes; 0 without one.",
            = |s, _| Number(s.bytes.get()) => |s, cell| s.bytes = Bytes::new(cell.number()?)]
        ["step_begun_ps" "ps" "Virtual time at which an operation began, in picoseconds; empty if not by the end of the run.",
            = |s, _| Maybe(s.begun.map(Time::as_ps)) => |s, cell| s.begun = cell.maybe()?.map(Time::from_ps)]
        ["step_over_ps" "ps" "Virtual time at which an operation was over, in picoseconds: a send when it was acknowledged, a receipt when the application had all bytes; empty if not by the end of the run.",
            = |s, _| Maybe(s.over.map(Time::as_ps)) => |s, cell| s.over = cell.maybe()?.map(Time::from_ps)]
        ["after_step" "" "The last operation of the same program that an operation waited for, by its place; signal, if that was a signal; empty if there was none.",
            = |s, _| match s.cause {
                StepCause::Nothing => Text(""),
                StepCause::Step(number) => Owned(number.to_string()),
                StepCause::Signal => Text("signal"),
            } => |s, cell| s.cause = match cell.text() {
                "" => StepCause::Nothing,
                "signal" => StepCause::Signal,
                _ => StepCause::Step(cell.small()?),
            }]
    },
};
