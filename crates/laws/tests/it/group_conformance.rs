//! What every registered group law must do, by iterating over the registry: a new row is tested by
//! being a row. Each law runs with its defaults and with every other value its parameters name.

use crate::common::{registered, replays};
use forebay_laws::Acts;
use forebay_laws::group::registry::MAX_STATE;
use forebay_laws::group::{
    Group, GroupAct, GroupEvent, GroupParams, GroupSeen, GroupStart, GroupTotals, LAWS,
};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use proptest::prelude::*;

/// One line of a law log.
type Step = (Time, GroupTotals, GroupEvent);

/// Every law with its defaults, and with each word of each parameter's range that it takes.
fn variants() -> Vec<GroupParams> {
    let mut all = Vec::new();
    for law in LAWS {
        let default = GroupParams::new(law.name()).expect("a registered law has a name");
        for param in law.params() {
            for word in param.range.split([' ', '"', ',']).filter(|word| !word.is_empty()) {
                let mut other = default.clone();
                if other.set(param.name, word).is_ok() {
                    all.push(other);
                }
            }
        }
        all.push(default);
    }
    all
}

fn at() -> GroupStart {
    GroupStart { line_rate: BitsPerSec::from_gbps(25), hop_rtt: Span::from_us(2), seed: 7 }
}

fn start(params: &GroupParams, at: GroupStart) -> (Group, Acts<GroupAct>) {
    let mut acts = Acts::default();
    (params.start(Time::ZERO, at, &mut acts), acts)
}

fn run(group: &mut Group, (now, totals, event): &Step) -> Acts<GroupAct> {
    let mut acts = Acts::default();
    group.step(*now, GroupSeen { totals, event: *event }, &mut acts);
    acts
}

/// Any events in any order, over totals that only rise.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = prop_oneof![
        1 => Just(GroupEvent::Traffic),
        1 => Just(GroupEvent::Above),
        1 => Just(GroupEvent::Below),
        3 => Just(GroupEvent::Wake),
    ];
    let gap = prop_oneof![4 => 0u64..20_000_000, 1 => 0u64..5_000_000_000];
    let bytes = || prop_oneof![4 => 0u64..200_000, 1 => Just(0), 1 => 0..1u64 << 40];
    let queue = prop_oneof![Just(0), 0u64..200_000, any::<u32>().prop_map(u64::from)];
    let one = (gap, event, (bytes(), bytes(), bytes()), queue, any::<u16>());
    prop::collection::vec(one, 1..200).prop_map(|steps| {
        let (mut now, mut totals) = (Time::ZERO, GroupTotals::default());
        let mut build =
            |(gap, event, (credited, arrived, sent), queue, flows): (u64, _, _, _, _)| {
                now += Span::from_ps(gap);
                totals.credited += credited;
                totals.arrived += arrived;
                totals.sent += sent;
                totals.queue = Bytes::new(queue);
                totals.flows = u32::from(flows);
                (now, totals, event)
            };
        steps.into_iter().map(&mut build).collect()
    })
}

/// The driver's side of the bargain.
struct Driver {
    line: BitsPerSec,
    stopped: bool,
}

impl Driver {
    /// Whether the driver would report this now.
    fn notifies(&self, event: GroupEvent) -> bool {
        match event {
            GroupEvent::Above => !self.stopped,
            GroupEvent::Below => self.stopped,
            _ => true,
        }
    }

    fn take(&mut self, now: Time, acts: &Acts<GroupAct>) -> Result<(), String> {
        let fits = |rate: BitsPerSec| rate.get() > 0 && rate <= self.line;
        for act in acts.iter() {
            match act {
                GroupAct::Rate(rate) if !fits(rate) => return Err(format!("{act:?}")),
                GroupAct::Resume(rate) if !fits(rate) => return Err(format!("{act:?}")),
                GroupAct::Resume(_) if !self.stopped => return Err("nobody was stopped".into()),
                GroupAct::Resume(_) => self.stopped = false,
                GroupAct::Pause if self.stopped => return Err("two stops".into()),
                GroupAct::Pause => self.stopped = true,
                GroupAct::Watch { low, high } if low > high => return Err(format!("{act:?}")),
                GroupAct::WakeAt(at) if at < now => return Err(format!("{act:?}")),
                GroupAct::Rate(_) | GroupAct::Watch { .. } | GroupAct::WakeAt(_) => {}
                _ => return Err(format!("{act:?} has no rule here")),
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No sequence of events and no link panics; rates are above zero and at most the link's, who is stopped is resumed before the
    /// next stop, no wake is in the past.
    #[test]
    fn keeps_its_side_of_the_bargain(
        gbps in 1u64..2_000, hop in prop_oneof![Just(0), Just(2_000_000), any::<u64>()], steps in steps(),
    ) {
        let line = BitsPerSec::new(gbps * 123_456_789);
        for params in variants() {
            let start_at = GroupStart { line_rate: line, hop_rtt: Span::from_ps(hop), seed: 7 };
            let (mut group, acts) = start(&params, start_at);
            let mut driver = Driver { line, stopped: false };
            prop_assert_eq!(driver.take(Time::ZERO, &acts), Ok(()), "{:?} starts", params);
            prop_assert!(acts.iter().any(|act| matches!(act, GroupAct::Rate(_))), "a first rate");
            for step in &steps {
                if driver.notifies(step.2) {
                    let acts = run(&mut group, step);
                    prop_assert_eq!(driver.take(step.0, &acts), Ok(()), "{:?} {:?}", params, step);
                }
            }
        }
    }

    /// The log of `(now, seen, acts)` is complete: a second run gives the same actions. Events that no driver would report do not
    /// panic either.
    #[test]
    fn replays_from_its_log(steps in steps()) {
        for params in variants() {
            let (mut group, first) = start(&params, at());
            let log: Vec<_> = steps.iter().map(|step| (step, run(&mut group, step))).collect();
            let (mut replay, again) = start(&params, at());
            prop_assert_eq!(first, again);
            for (step, acts) in log {
                prop_assert_eq!(run(&mut replay, step), acts, "{:?} {:?}", params, step);
            }
        }
    }

    /// A law that writes a log answers as one that does not, and its log replays.
    #[test]
    fn a_log_of_it_replays(steps in steps(), damage in prop::collection::vec(any::<(usize, u8)>(), 8)) {
        for law in LAWS {
            let params = GroupParams::new(law.name()).expect("registered");
            replays("group", law.name(), steps.len(), &damage, |tap| {
                let (mut group, first) = start(&params, at());
                let (mut logged, again) = start(&params.clone().with_log(tap), at());
                assert_eq!((first, group.name()), (again, logged.name()));
                for step in &steps {
                    assert_eq!(run(&mut logged, step), run(&mut group, step));
                }
            });
        }
    }

    /// A wake that was not requested does nothing and leaves no trace.
    #[test]
    fn a_spurious_wake_changes_nothing(steps in steps(), wakes in any::<u64>()) {
        for params in variants() {
            let (mut calm, acts) = start(&params, at());
            let mut woken = calm.clone();
            let mut due = wake_at(&acts, Time::MAX);
            for (i, step) in steps.iter().enumerate() {
                if wakes >> (i % 64) & 1 == 1 && step.0 < due {
                    let acts = run(&mut woken, &(step.0, step.1, GroupEvent::Wake));
                    let only_timers = acts.iter().all(|act| matches!(act, GroupAct::WakeAt(_)));
                    prop_assert!(only_timers, "{:?} {:?}", params, acts);
                }
                let acts = run(&mut calm, step);
                prop_assert_eq!(run(&mut woken, step), acts, "{:?} {:?}", params, step);
                let came = step.2 == GroupEvent::Wake && step.0 >= due;
                due = wake_at(&acts, if came { Time::MAX } else { due });
            }
        }
    }

    /// An aggregate that is no longer used requests no wake in the end.
    #[test]
    fn an_idle_aggregate_falls_asleep(steps in steps()) {
        for params in variants() {
            let (mut group, acts) = start(&params, at());
            let mut driver = Driver { line: at().line_rate, stopped: false };
            let mut due = wake_at(&acts, Time::MAX);
            for step in &steps {
                if driver.notifies(step.2) {
                    let acts = run(&mut group, step);
                    prop_assert_eq!(driver.take(step.0, &acts), Ok(()));
                    due = wake_at(&acts, due);
                }
            }
            let (mut now, mut totals, _) = *steps.last().expect("one at least");
            totals.queue = Bytes::ZERO;
            let mut acts = Acts::default();
            if driver.stopped {
                acts = run(&mut group, &(now, totals, GroupEvent::Below));
            }
            for _ in 0..8 {
                let Some(next) = Some(wake_at(&acts, due)).filter(|due| *due != Time::MAX) else { break };
                (now, due) = (now.max(next), Time::MAX);
                acts = run(&mut group, &(now, totals, GroupEvent::Wake));
            }
            prop_assert_eq!(wake_at(&acts, due), Time::MAX, "{:?}", params);
        }
    }
}

fn wake_at(acts: &Acts<GroupAct>, due: Time) -> Time {
    acts.iter().fold(due, |due, act| match act {
        GroupAct::WakeAt(at) => due.min(at),
        _ => due,
    })
}

/// Help pages and parameter lists are complete, and a printed value reads back.
#[test]
fn can_be_listed_and_set() {
    listed_and_set!(LAWS, GroupParams, |law, params| {
        let (group, _) = start(&params, at());
        assert_eq!(group.name(), law.name());
    });
    assert!(size_of::<Group>() <= MAX_STATE + 8, "the tag takes one word at most");
}

/// A file in the folder of the role is a law in the registry.
#[test]
fn every_file_is_registered() {
    let files = registered("group", include_str!("../../src/group/registry.rs"));
    assert_eq!(files, LAWS.len());
}
