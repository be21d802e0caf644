//! Pairs of settings that cannot work end badly, and their near neighbours do not.

use crate::common::run;
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_sim::Options;
use forebay_units::Time;

#[path = "../../../scenario/tests/data/pitfalls.rs"]
mod cases;

use cases::{CASES, Case, Ends};

fn scenario(case: &Case, sets: &[(&str, &str)]) -> Scenario {
    let sets = [case.both, sets].concat();
    let loaded = forebay_scenario::text_with("pair.toml", case.base, &sets);
    loaded.unwrap_or_else(|e| panic!("{}: {e}", case.pair)).scenario
}

/// What is seen of one run.
#[derive(Debug)]
struct Seen {
    repeats: u64,
    hops: u64,
    pauses: u64,
    dropped: u64,
    marked: u64,
    delivered: u64,
    complete: (usize, usize),
    rows: usize,
    digest: u64,
}

fn seen(scenario: &Scenario) -> Seen {
    let record = run(scenario, 1, Options::default()).record;
    let ports = |of: fn(&forebay_record::PortRow) -> u64| record.ports.iter().map(of).sum();
    let done = record.flows.iter().filter(|flow| flow.delivered.is_some()).count();
    Seen {
        repeats: record.flows.iter().map(|flow| u64::from(flow.retransmits)).sum(),
        hops: record.totals.packet_hops,
        pauses: ports(|port| port.pause_frames_sent),
        dropped: ports(|port| port.dropped_packets)
            + record.memory.iter().map(|host| host.dropped).sum::<u64>(),
        marked: ports(|port| port.marked_packets),
        delivered: goodput(&record),
        complete: (done, record.flows.len() + record.not_started as usize),
        rows: record.series.iter().map(|series| series.values.len()).sum(),
        digest: record.digest,
    }
}

/// Payload delivered per millisecond, and of RPCs how many ended.
fn goodput(record: &RunRecord) -> u64 {
    let rpcs = record.rpcs.iter().filter(|rpc| rpc.completed != Time::MAX).count() as u64;
    let all = if record.rpcs.is_empty() { record.totals.delivered_bytes } else { rpcs };
    ((u128::from(all) * 1_000_000_000_000) / u128::from(record.end.as_ps().max(1))) as u64
}

#[test]
fn each_pair_ends_badly_and_its_near_neighbour_does_not() {
    let mut wrong = Vec::new();
    for case in CASES {
        let (bad, good) = (seen(&scenario(case, case.bad)), seen(&scenario(case, case.good)));
        let right = match case.ends {
            Ends::Repeats => bad.repeats > 2 * good.repeats.max(1),
            Ends::Hops => bad.hops * good.delivered > 2 * good.hops * bad.delivered,
            Ends::Pauses => bad.pauses > 3 * good.pauses.max(1),
            Ends::Slow => bad.delivered * 2 < good.delivered,
            Ends::NoMark => bad.marked == 0 && good.marked > 0,
            Ends::Drops => bad.dropped > 0 && good.dropped == 0,
            Ends::Unfinished => {
                bad.complete.0 * 2 <= bad.complete.1
                    && good.complete.0 == good.complete.1
                    && good.complete.0 > 0
            }
            Ends::As(sets) => {
                let other = seen(&scenario(case, sets));
                bad.digest == other.digest && bad.digest != good.digest
            }
            Ends::AsNeighbour => bad.digest == good.digest,
            Ends::FewRows => bad.rows * 20 < good.rows,
            Ends::ManyRows => bad.rows > 50 * good.rows,
            Ends::Records => continue,
        };
        if !right {
            wrong.push(format!("{}: {bad:?}\n  and {good:?}", case.pair));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
