//! Any collective: the checker, bytes, the lower bound, and reading ahead.

use crate::checker::random;
use crate::clock::{Network, completion};
use bolero::TypeGenerator;
use forebay_fuzz::each;
use forebay_jobs::{Algorithm, Collective, Event, Meaning, Op, Operation, Schedule, check};
use forebay_units::{BitsPerSec, Bytes, Span};
use std::collections::BTreeSet;

#[derive(Clone, Debug, TypeGenerator)]
struct Case {
    operation: u8,
    algorithm: u8,
    ranks: u8,
    bytes: u8,
    size: u16,
    part: bool,
    channels: u8,
    message: u8,
    root: u8,
    delay: u8,
    seed: u64,
}

impl Case {
    fn collective(&self) -> Collective {
        let operation = Operation::ALL[usize::from(self.operation) % 5];
        let algorithm = Algorithm::ALL[usize::from(self.algorithm) % 3];
        let ranks = 1 + u32::from(self.ranks) % 40;
        let bytes = match self.bytes % 8 {
            0 => 0,
            1 => 1,
            2 => u64::from(ranks) - 1,
            3 => u64::from(ranks),
            _ => u64::from(self.size),
        };
        let mut one = Collective::new(operation, algorithm, ranks, Bytes::new(bytes));
        if self.part && operation != Operation::Broadcast {
            one.meaning = Meaning::Part;
        }
        one.channels = 1 + u32::from(self.channels) % 4;
        // Up to five messages of each piece.
        let whole = bytes * if one.meaning == Meaning::Part { u64::from(ranks) } else { 1 };
        let piece = if operation == Operation::Broadcast || algorithm == Algorithm::HalvingDoubling
        {
            whole
        } else {
            whole / u64::from(ranks)
        };
        let messages = u64::from(self.message) % 6;
        one.message =
            (messages > 0).then(|| Bytes::new((piece / u64::from(one.channels) / messages).max(1)));
        one.root = u32::from(self.root) % ranks;
        one.step_delay = Span::from_ns([0, 0, 1, 5_000][usize::from(self.delay) % 4]);
        one
    }
}

/// Collectives that a case makes, those apart that cannot be.
fn schedule(case: &Case) -> Option<Schedule> {
    let one = case.collective();
    let cannot = one.algorithm == Algorithm::HalvingDoubling
        && match one.operation {
            Operation::AllReduce => false,
            Operation::Broadcast | Operation::AllToAll => true,
            _ => !one.ranks.is_power_of_two(),
        };
    let schedule = one.schedule();
    assert_eq!(schedule.is_err(), cannot, "{one:?}");
    schedule.ok()
}

#[test]
fn each_part_is_reduced_exactly_once_by_each_rank() {
    // A third of the cases, and all of them in ./test --all.
    let cases = if std::env::var_os("FOREBAY_WHOLE").is_some() { 400 } else { 130 };
    let mut good = 0;
    each!(cases, Case, |case| {
        let Some(schedule) = schedule(case) else { return };
        let oldest = |_: &[Event]| 0;
        let newest = |events: &[Event]| events.len() - 1;
        // One rank hears of nothing as long as anything else can happen.
        let victim = case.seed as u32 % schedule.ranks();
        let starved = |events: &[Event]| {
            let other =
                |event: &Event| !matches!(event, Event::Deliver { to, .. } if *to == victim);
            events.iter().position(other).unwrap_or(0)
        };
        type Order<'a> = Box<dyn FnMut(&[Event]) -> usize + 'a>;
        let orders: [Order<'_>; 4] =
            [Box::new(oldest), Box::new(newest), Box::new(starved), Box::new(random(case.seed))];
        for order in orders {
            let found = check(&schedule, order);
            assert_eq!(found, Ok(()), "{schedule:?}");
        }
        good += 1;
    });
    assert!(good > cases / 2, "{good}");
}

#[test]
fn ranks_send_the_bytes_of_the_closed_form() {
    each!(400, Case, |case| {
        let Some(schedule) = schedule(case) else { return };
        let (mut all, mut used) = (0, BTreeSet::new());
        for rank in 0..schedule.ranks() {
            let mut sent = 0;
            for step in (0..schedule.channels()).flat_map(|channel| schedule.steps(rank, channel)) {
                if let Op::Send { to, channel, bytes, .. } = step.op {
                    sent += bytes.get();
                    assert!(
                        bytes.get() > 0
                            && case.collective().message.is_none_or(|most| bytes <= most)
                    );
                    let connection = schedule.connection(rank, to, channel).expect("a connection");
                    assert_eq!(schedule.ends(connection), Some((rank, to, channel)));
                    used.insert(connection);
                }
            }
            assert_eq!(schedule.sent(rank).get(), sent, "{schedule:?}: {rank}");
            all += sent;
        }
        assert_eq!(schedule.sent_by_all().get(), all, "{schedule:?}");
        // With a byte and more for each, no connection is without use.
        let connections = schedule.connections();
        assert!(used.len() as u64 <= connections);
        let least = u64::from(schedule.ranks() * schedule.channels());
        if schedule.size().get() >= least {
            assert_eq!(used.len() as u64, connections, "{schedule:?}");
        }
        assert_eq!(schedule.ends(connections), None);
        // 2 (n - 1) S of an all-reduce, (n - 1) S of the others, from the case and not from the schedule.
        let one = case.collective();
        if one.bytes > Bytes::ZERO {
            let n = u64::from(one.ranks);
            let whole = one.bytes.get() * if one.meaning == Meaning::Part { n } else { 1 };
            let times = if one.operation == Operation::AllReduce { 2 } else { 1 };
            assert_eq!(all, times * (n - 1) * whole);
        }
    });
}

#[test]
fn no_network_is_faster_than_the_lower_bound_and_reading_ahead_changes_no_time() {
    each!(200, Case, |case| {
        let Some(schedule) = schedule(case) else { return };
        let ranks = schedule.ranks();
        let mut numbers = random(case.seed);
        let mut below =
            |most: usize| numbers(&vec![Event::Finish { rank: 0, channel: 0 }; most]) as u64;
        let network = Network {
            byte: (0..ranks).map(|_| 80 + 80 * below(4)).collect(),
            alpha: (0..ranks).map(|_| 1_000 * below(40)).collect(),
        };
        let all = completion(&schedule, &network, u64::MAX);
        assert_eq!(completion(&schedule, &network, schedule.ahead()), all, "{schedule:?}");
        let least = schedule.least_time(BitsPerSec::from_gbps(100)).as_ps();
        assert!(all >= least, "{schedule:?}: {all} < {least}");
    });
}
