//! Traffic that comes to nothing before the run ends, or that no link can carry.

use super::around::{CheckedScenario, neat, time};
use crate::program::{Incast, LongFlows, Poisson, Rpc, TrafficKind, Wait};
use crate::quantity::Measure;
use forebay_units::{Span, human};

/// A run that is over before the first answer.
pub(super) fn ends_before_an_answer(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let (left, trip) = (around.left(entry), entry.trip.shortest);
        (left < trip).then(|| {
            format!(
                "stop.time = \"{}\" leaves {} {} (start = \"{}\"), less than one round trip of its paths, {}, so no flow can end; write stop.time = \"{}\" or more",
                around.scenario.stop.time,
                entry.at,
                time(left),
                entry.traffic.start,
                time(trip),
                neat(entry.traffic.start.since(forebay_units::Time::ZERO) + trip * 10)
            )
        })
    })
}

/// Clients that think until the end of the run.
pub(super) fn thinks_to_the_end(around: &CheckedScenario<'_>) -> Option<String> {
    waits(
        around,
        "think",
        |rpc| (rpc.think, rpc.count != Some(1)),
        |n| format!("each connection makes its first {n} and no more"),
    )
}

/// Servers that work until the end of the run.
pub(super) fn serves_to_the_end(around: &CheckedScenario<'_>) -> Option<String> {
    waits(around, "service", |rpc| (rpc.service, true), |_| "no RPC is answered".into())
}

fn waits(
    around: &CheckedScenario<'_>,
    key: &str,
    of: fn(&Rpc) -> (Wait, bool),
    what: impl Fn(String) -> String,
) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let TrafficKind::Rpc(rpc) = &entry.traffic.kind else { return None };
        let (wait, matters) = of(rpc);
        let (shortest, left) = (wait.least(), around.left(entry));
        (matters && shortest >= left).then(|| {
            format!(
                "{}.{key} = \"{}\" is not before the end of the run, stop.time = \"{}\", so {}; write less, or a longer run",
                entry.at,
                shortest.text(),
                around.scenario.stop.time,
                what(human::counted(rpc.outstanding as usize, "RPC"))
            )
        })
    })
}

/// Arrivals so rare that a run has none.
pub(super) fn no_arrival(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let TrafficKind::Poisson(Poisson { sizes, load, load_ref }) = &entry.traffic.kind else {
            return None;
        };
        let end = entry.traffic.until.min(around.scenario.stop.time);
        let seconds = end.since(entry.traffic.start).as_secs_f64();
        let per_second = load * around.hosts.reference(*load_ref) / 8.0 / sizes.mean().max(1.0);
        let flows = per_second * seconds;
        (flows < 1.0).then(|| {
            format!(
                "{}.load = {load} makes {} flows of {} on average before the end, stop.time = \"{}\", so most runs have none; write a higher load, or a longer run of \"{}\"",
                entry.at,
                human::sig3(flows),
                human::bytes_f(sizes.mean()),
                around.scenario.stop.time,
                neat(Span::from_ps((1e13 / per_second.max(1e-3)).min(8e16) as u64))
            )
        })
    })
}

/// Rounds that come faster than their receiver's link carries them.
pub(super) fn incasts_above_the_link(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let TrafficKind::Incast(incast) = &entry.traffic.kind else { return None };
        let Incast { fan_in, size, to: Some(to), every: Some(every), rounds, .. } = incast else {
            return None;
        };
        let rate = around.hosts.rates[around.hosts.index(to)? as usize];
        let round = *size * u64::from(*fan_in);
        let needs = rate.time_for(round);
        (needs > *every && *rounds > 1).then(|| {
            format!(
                "{0}.every = \"{1}\" brings {2} senders of \"{3}\" to {to}, whose link \"{rate}\" needs {4} for them, so the queue grows from round to round; write every = \"{5}\" or more",
                entry.at,
                every.text(),
                fan_in,
                size.text(),
                time(needs),
                neat(needs)
            )
        })
    })
}

/// Endless flows of which the last begin after the end.
pub(super) fn staggered_past_the_end(around: &CheckedScenario<'_>) -> Option<String> {
    around.entries.iter().find_map(|entry| {
        let TrafficKind::Long(LongFlows { from, to, stagger }) = &entry.traffic.kind else { return None };
        let n = from.len().max(to.len()) as u64;
        let left = around.left(entry);
        (stagger.as_ps() > 0 && stagger.saturating_mul(n - 1) >= left).then(|| {
            let begin = (left.as_ps().saturating_sub(1) / stagger.as_ps()).saturating_add(1).min(n);
            format!(
                "{0}.stagger = \"{1}\" lets {begin} of {n} flows of {0} begin before the end, stop.time = \"{2}\"; write less, or a longer run",
                entry.at,
                stagger.text(),
                around.scenario.stop.time
            )
        })
    })
}
