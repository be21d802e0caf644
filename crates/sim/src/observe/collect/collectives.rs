//! Collectives, by the times that the programs of their ranks noted.

use crate::host::{Host, LoggedOp};
use crate::world::AnyNode;
use forebay_record::{CollectiveRow, ConnectionRow, FlowRow, StepCause, StepKind, StepRow};
use forebay_scenario::model::{Scenario, TrafficKind};
use forebay_scenario::program::{Collective, Op, Program, Step};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::FlowId;
use std::collections::BTreeMap;

/// What hosts noted of one collective.
#[derive(Default)]
struct Noted {
    begun: BTreeMap<u32, Time>,
    ended: BTreeMap<u32, (u32, Time)>, // of so many channels, the last one then
}

fn collective(scenario: &Scenario, traffic: u16) -> Option<&Collective> {
    match &scenario.traffic.get(usize::from(traffic))?.kind {
        TrafficKind::Collective(collective) => Some(collective),
        _ => None,
    }
}

/// All collectives of which some rank had begun.
pub(super) fn collectives(scenario: &Scenario, nodes: &[AnyNode]) -> Vec<CollectiveRow> {
    let mut all: BTreeMap<(u16, u32, u32), Noted> = BTreeMap::new();
    let hosts = (0u32..).zip(nodes).filter_map(|(id, node)| Some((id, node.host()?.apps()?)));
    for (host, apps) in hosts {
        for one in &apps.marks {
            let noted = all.entry((one.traffic, one.mark.group, one.mark.number)).or_default();
            if one.mark.is_end {
                let (channels, last) = noted.ended.entry(host).or_default();
                (*channels, *last) = (*channels + 1, one.at.max(*last));
            } else {
                let first = noted.begun.entry(host).or_insert(one.at);
                *first = one.at.min(*first);
            }
        }
    }
    all.into_iter().filter_map(|(of, noted)| row(scenario, of, &noted)).collect()
}

fn row(
    scenario: &Scenario,
    (traffic, group, number): (u16, u32, u32),
    noted: &Noted,
) -> Option<CollectiveRow> {
    let of = collective(scenario, traffic)?;
    let schedule = of.schedule(group as usize)?.ok()?;
    let ranks = schedule.ranks() as usize;
    let done = || noted.ended.iter().filter(|of| of.1.0 == schedule.channels());
    let all_done = done().count() == ranks;
    let end = done().map(|of| of.1.1).max().filter(|_| all_done);
    let last = end.and_then(|end| done().find(|of| of.1.1 == end)).map(|of| *of.0);
    let wait = end.map(|end| {
        let waits = done().map(|of| u128::from(end.since(of.1.1).as_ps())).sum::<u128>();
        Span::from_ps((waits / ranks as u128) as u64) // a mean of spans
    });
    Some(CollectiveRow {
        traffic,
        group,
        number,
        operation: of.op,
        algorithm: of.algorithm,
        ranks: schedule.ranks(),
        bytes: schedule.size(),
        start: noted.begun.values().copied().min()?,
        all_begun: noted.begun.values().copied().max().filter(|_| noted.begun.len() == ranks),
        end,
        done: done().count() as u32,
        last,
        wait,
    })
}

/// Connections of collectives on which something was sent.
pub(super) fn connections(
    scenario: &Scenario,
    nodes: &[AnyNode],
    flows: &[FlowRow],
    collectives: &[CollectiveRow],
) -> Vec<ConnectionRow> {
    if collectives.is_empty() {
        return Vec::new();
    }
    let done = |traffic: u16| {
        let of = collective(scenario, traffic)?;
        let rows = || collectives.iter().filter(|row| row.traffic == traffic);
        let all = of.ranks.len() * of.repeat as usize;
        (rows().filter(|row| row.end.is_some()).count() == all)
            .then(|| rows().filter_map(|row| row.end).max())?
    };
    let mut by_entry: BTreeMap<u16, Option<Time>> = BTreeMap::new();
    for row in collectives {
        by_entry.entry(row.traffic).or_insert_with_key(|traffic| done(*traffic));
    }
    let row = |flow: &FlowRow| {
        let done = *by_entry.get(&flow.traffic)?;
        let received = |host: &Host| host.received(FlowId(flow.flow));
        let bytes = nodes[flow.dst as usize].host().map_or(0, received);
        Some(ConnectionRow {
            traffic: flow.traffic,
            client: flow.src,
            server: flow.dst,
            requests: flow.flow,
            responses: None,
            start: flow.start,
            done,
            request_bytes: Bytes::new(bytes),
            response_bytes: Bytes::ZERO,
            credits: None,
        })
    };
    flows.iter().filter_map(row).collect()
}

/// Operations of all programs, where they were logged.
pub(super) fn steps(nodes: &[AnyNode]) -> Vec<StepRow> {
    let apps = nodes.iter().filter_map(AnyNode::host).filter_map(Host::apps);
    let programs = apps.flat_map(|apps| (0u32..).zip(apps.logs()));
    let rows = |(nth, (program, log)): (u32, (&Program, &[LoggedOp]))| -> Vec<StepRow> {
        (0u32..).zip(log).map(|(number, one)| step((nth, program), (number, one))).collect()
    };
    programs.flat_map(rows).collect()
}

fn step((nth, program): (u32, &Program), (number, one): (u32, &LoggedOp)) -> StepRow {
    let Step { op, after } = one.step;
    let (kind, on, bytes) = match op {
        Op::Send { on, bytes } => (StepKind::Send, Some(on), bytes),
        Op::Recv { on, bytes } => (StepKind::Recv, Some(on), bytes),
        Op::Compute(_) => (StepKind::Compute, None, Bytes::ZERO),
        Op::At(_) => (StepKind::At, None, Bytes::ZERO),
        Op::Signal(_) => (StepKind::Signal, None, Bytes::ZERO),
        Op::Mark(mark) if mark.is_end => (StepKind::End, None, Bytes::ZERO),
        Op::Mark(_) => (StepKind::Begin, None, Bytes::ZERO),
    };
    let signal = match op {
        Op::Signal(signal) => Some((signal.to, signal.tag, signal.delay)),
        _ if after.count > 0 => Some((program.host, after.tag, Span::ZERO)),
        _ => None,
    };
    let collective = match op {
        Op::Mark(mark) => Some((mark.group, mark.number)),
        _ => None,
    };
    StepRow {
        collective,
        traffic: program.traffic,
        host: program.host,
        program: nth,
        number,
        kind,
        flow: on.map(|on| program.first + on),
        bytes,
        begun: (one.begun != Time::MAX).then_some(one.begun),
        over: (one.over != Time::MAX).then_some(one.over),
        cause: match one.by {
            LoggedOp::NOTHING => StepCause::Nothing,
            LoggedOp::SIGNAL => StepCause::Signal,
            number => StepCause::Step(number),
        },
        stripes: program.stripes,
        last: (one.last != u32::MAX).then_some(one.last),
        signal,
        count: after.count,
    }
}
