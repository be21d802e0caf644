//! What every registered host law must do, by iterating over the registry: a new row is tested by
//! being a row. Each law runs with its defaults and with every other value its parameters name.

use crate::common::{registered, replays};
use forebay_laws::Acts;
use forebay_laws::host::registry::MAX_STATE;
use forebay_laws::host::{
    Counters, Echo, Host, HostAct, HostEvent, HostParams, HostSeen, HostStart, LAWS, Reading,
    Signal,
};
use forebay_units::{BitsPerSec, Span, Time};
use proptest::prelude::*;

/// One line of a law log.
type Step = (Time, HostEvent);

/// Every law with its defaults, and with each word of each parameter's range that it takes.
fn variants() -> Vec<HostParams> {
    let mut all = Vec::new();
    for law in LAWS {
        let default = HostParams::new(law.name()).expect("a registered law has a name");
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

fn at(max_level: u8) -> HostStart {
    HostStart {
        write: Counters::WRITE,
        read: Counters::READ,
        max_level,
        period: Span::from_ns(650),
        seed: 7,
    }
}

fn start(params: &HostParams, at: HostStart) -> (Host, Acts<HostAct>) {
    let mut acts = Acts::default();
    (params.start(Time::ZERO, at, &mut acts), acts)
}

fn run(host: &mut Host, (now, event): Step) -> Acts<HostAct> {
    let mut acts = Acts::default();
    host.step(now, HostSeen { event }, &mut acts);
    acts
}

prop_compose! {
    /// Counters of any kind, also of kinds that no hardware has.
    fn counters()(
        clock_hz in prop_oneof![Just(500_000_000), any::<u64>()],
        occupancy_bits in any::<u8>(),
        insert_bits in any::<u8>(),
        insert_bytes in prop_oneof![Just(64), Just(4), any::<u64>()],
    ) -> Counters {
        Counters { clock_hz, occupancy_bits, insert_bits, insert_bytes }
    }
}

prop_compose! {
    fn starts()(
        write in counters(),
        read in counters(),
        max_level in any::<u8>(),
        period in prop_oneof![Just(650_000), any::<u64>()],
        seed in any::<u64>(),
    ) -> HostStart {
        HostStart { write, read, max_level, period: Span::from_ps(period), seed }
    }
}

prop_compose! {
    /// A reading of a plausible counter, or of none.
    fn reading()(time in any::<u64>(), raw in any::<u64>(), wild in 0..8, lines in 0u64..100) -> (bool, u64, u64) {
        (wild == 0, if wild == 0 { time } else { lines }, raw)
    }
}

/// Any events in any order; only time never runs backwards. Of eight readings seven are plausible.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = prop_oneof![
        12 => (0u8..7, reading()).prop_map(|(kind, reading)| (kind, reading)),
        3 => (Just(7u8), reading()),
        1 => (8u8..12, reading()),
    ];
    let gap = prop_oneof![4 => 0u64..2_000_000, 1 => 0u64..5_000_000_000];
    prop::collection::vec((gap, event), 1..200).prop_map(|steps| {
        let mut course = Course::default();
        steps.into_iter().map(|(gap, (kind, of))| course.step(gap, kind, of)).collect()
    })
}

/// Events one after the other, with the counters that their readings are of.
#[derive(Default)]
struct Course {
    now: u64, // in picoseconds
    sums: [u64; 7],
}

impl Course {
    /// The next event, so much later, of one of twelve kinds. A reading that is not plausible has any time and any value.
    fn step(&mut self, gap: u64, kind: u8, (wild, n, raw): (bool, u64, u64)) -> Step {
        self.now += gap;
        let now = Time::from_ps(self.now);
        // What a counter of lines at 500 MHz, or of entering lines at n Gb/s, rises by in the gap.
        // Drops and signs of slow cores come seldom; memory moves up to 800 Gb/s.
        let rise = || match kind {
            0 | 2 => gap * n / 2000,
            1 | 3 => gap * n / 512_000,
            4 => n / 50,
            5 => n / 98,
            _ => gap * n / 1000,
        };
        let mut reading = || {
            if wild {
                return Reading { at: Time::from_ps(n), raw };
            }
            let sum = &mut self.sums[usize::from(kind)];
            *sum = sum.wrapping_add(rise());
            Reading { at: now, raw: *sum }
        };
        let event = match kind {
            0 => HostEvent::WriteOccupancy(reading()),
            1 => HostEvent::WriteInserts(reading()),
            2 => HostEvent::ReadOccupancy(reading()),
            3 => HostEvent::ReadInserts(reading()),
            4 => HostEvent::NicDrops(reading()),
            5 => HostEvent::SlowCpu(reading()),
            6 => HostEvent::MemoryBytes(reading()),
            7 => HostEvent::LevelWritten((raw % 6) as u8),
            8 => HostEvent::LevelFailed,
            9 => HostEvent::Target(BitsPerSec::new(raw)),
            10 => HostEvent::Wake,
            _ => HostEvent::Disable,
        };
        (now, event)
    }
}

/// The driver's side of the bargain: one write at a time, answered before the next is requested.
#[derive(Default)]
struct Actuator {
    outstanding: bool,
    echo: Echo,
}

impl Actuator {
    /// Whether an event may come: answers only to a write that is outstanding.
    fn allows(&self, event: HostEvent) -> bool {
        let answer = matches!(event, HostEvent::LevelWritten(_) | HostEvent::LevelFailed);
        !answer || self.outstanding
    }

    fn take(&mut self, step: Step, acts: &Acts<HostAct>, max_level: u8) -> Result<(), String> {
        if matches!(step.1, HostEvent::LevelWritten(_) | HostEvent::LevelFailed) {
            self.outstanding = false;
        }
        for act in acts.iter() {
            match act {
                HostAct::Level(level) if level > max_level => return Err(format!("level {level}")),
                HostAct::Level(_) if self.outstanding && step.1 != HostEvent::Disable => {
                    return Err("two writes".into());
                }
                HostAct::Level(_) => self.outstanding = true,
                HostAct::Echo(echo) if echo == self.echo && step.1 != HostEvent::Disable => {
                    return Err(format!("{echo:?} again"));
                }
                HostAct::Echo(echo) => self.echo = echo,
                HostAct::WakeAt(at) if at < step.0 => return Err(format!("a wake at {at}")),
                HostAct::WakeAt(_) => {}
                _ => return Err(format!("{act:?} has no rule here")),
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A law that writes a log answers as one that does not, and its log replays.
    #[test]
    fn a_log_of_it_replays(at in starts(), steps in steps(), damage in prop::collection::vec(any::<(usize, u8)>(), 8)) {
        for law in LAWS {
            let params = HostParams::new(law.name()).expect("registered");
            replays("host", law.name(), steps.len(), &damage, |tap| {
                let (mut host, first) = start(&params, at);
                let (mut logged, again) = start(&params.clone().with_log(tap), at);
                assert_eq!((first, host.side()), (again, logged.side()));
                for step in &steps {
                    assert_eq!(run(&mut logged, *step), run(&mut host, *step));
                }
                assert_eq!((logged.name(), logged.watched()), (host.name(), host.watched()));
            });
        }
    }
}

/// A million events of all laws together, with levels in force as they are asked for, through the log and back.
#[test]
fn a_million_random_events_replay() {
    let each = 1_000_000 / LAWS.len();
    for law in LAWS {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let params = HostParams::new(law.name()).expect("registered");
        let mut answers = 0;
        replays("host", law.name(), each, &[], |tap| {
            let (mut host, _) = start(&params.clone().with_log(tap), at(4));
            let (mut course, mut asked) = (Course::default(), None);
            for nth in 0..each {
                let gap = next() % 2_000_000;
                let kind = if next() % 16 == 0 { 9 + next() % 2 } else { next() % 7 };
                // Many lines at a low rate and few at a high one in turn, around targets that move.
                let congested = nth / 2000 % 2 == 0;
                let least = if matches!(kind, 1 | 3) == congested { 50 } else { 125 };
                let least = if matches!(kind, 0 | 2) && !congested { 0 } else { least };
                // A counter is read at every eighth event or so, and its rise is of the time since the event before.
                let calm = kind == 5 || (kind == 4 && !congested); // no drop, no sign of slow cores
                let n = if calm { 0 } else { 8 * (least + next() % 25) };
                let step = match asked.take() {
                    Some(level) => course.step(gap, 7, (false, 0, level)),
                    None if kind == 9 => {
                        course.step(gap, 9, (false, 0, 80_000_000_000 + next() % 40_000_000_000))
                    }
                    None => course.step(gap, kind as u8, (false, n, next())),
                };
                for act in run(&mut host, step).iter() {
                    answers += 1;
                    if let HostAct::Level(level) = act {
                        asked = Some(u64::from(level));
                    }
                }
            }
        });
        assert!(answers > 50, "{}: {answers} answers", law.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No sequence of events and no counters panic, no level is out of range, one write is outstanding at most, no wake is in
    /// the past, and marks change when they are said to.
    #[test]
    fn keeps_its_side_of_the_bargain(at in starts(), steps in steps()) {
        for params in variants() {
            let (mut host, acts) = start(&params, at);
            let mut actuator = Actuator::default();
            let first = actuator.take((Time::ZERO, HostEvent::Wake), &acts, at.max_level);
            prop_assert_eq!(first, Ok(()), "{:?} starts", params);
            for step in steps.iter().filter(|(_, event)| *event != HostEvent::Disable) {
                if actuator.allows(step.1) {
                    let acts = run(&mut host, *step);
                    let kept = actuator.take(*step, &acts, at.max_level);
                    prop_assert_eq!(kept, Ok(()), "{:?} {:?}", params, step);
                }
            }
        }
    }

    /// Events that no driver would send do not panic either.
    #[test]
    fn survives_anything(at in starts(), steps in steps()) {
        for params in variants() {
            let (mut host, _) = start(&params, at);
            for step in &steps {
                let levels = run(&mut host, *step);
                let over = levels.iter().any(|act| matches!(act, HostAct::Level(l) if l > at.max_level));
                prop_assert!(!over, "{:?} {:?}", params, step);
            }
        }
    }

    /// The log of `(now, seen, acts)` is complete: a second run gives the same actions.
    #[test]
    fn replays_from_its_log(steps in steps()) {
        for params in variants() {
            let (mut host, first) = start(&params, at(4));
            let log: Vec<_> = steps.iter().map(|step| (*step, run(&mut host, *step))).collect();
            let (mut replay, again) = start(&params, at(4));
            prop_assert_eq!(first, again);
            for (step, acts) in log {
                prop_assert_eq!(run(&mut replay, step), acts, "{:?} {:?}", params, step);
            }
        }
    }

    /// Readings of a signal that the law does not need change nothing: an agent may leave them out.
    #[test]
    fn takes_no_notice_of_what_it_does_not_need(steps in steps()) {
        for params in variants() {
            let wanted = |event: HostEvent| match event {
                HostEvent::WriteOccupancy(_) => params.needs().contains(&Signal::WriteOccupancy),
                HostEvent::WriteInserts(_) => params.needs().contains(&Signal::WriteInserts),
                HostEvent::ReadOccupancy(_) => params.needs().contains(&Signal::ReadOccupancy),
                HostEvent::ReadInserts(_) => params.needs().contains(&Signal::ReadInserts),
                HostEvent::NicDrops(_) => params.needs().contains(&Signal::NicDrops),
                HostEvent::SlowCpu(_) => params.needs().contains(&Signal::SlowCpu),
                HostEvent::MemoryBytes(_) => params.needs().contains(&Signal::MemoryBytes),
                _ => true,
            };
            let (mut all, _) = start(&params, at(4));
            let mut fewer = all.clone();
            for step in &steps {
                let acts = run(&mut all, *step);
                let left = if wanted(step.1) { run(&mut fewer, *step) } else { Acts::default() };
                prop_assert_eq!(acts, left, "{:?} {:?}", params, step);
            }
        }
    }

    /// A wake that was not requested does nothing and leaves no trace.
    #[test]
    fn a_spurious_wake_changes_nothing(steps in steps(), wakes in any::<u64>()) {
        for params in variants() {
            let (mut calm, acts) = start(&params, at(4));
            let mut woken = calm.clone();
            let mut due = wake_at(&acts, Time::MAX);
            for (i, step) in steps.iter().enumerate() {
                if wakes >> (i % 64) & 1 == 1 && step.0 < due {
                    let acts = run(&mut woken, (step.0, HostEvent::Wake));
                    let only_timers = acts.iter().all(|act| matches!(act, HostAct::WakeAt(_)));
                    prop_assert!(only_timers, "{:?} {:?}", params, acts);
                }
                let acts = run(&mut calm, *step);
                prop_assert_eq!(run(&mut woken, *step), acts, "{:?} {:?}", params, step);
                let came = step.1 == HostEvent::Wake && step.0 >= due;
                due = wake_at(&acts, if came { Time::MAX } else { due });
            }
        }
    }

    /// `Disable` lifts in the same step, and afterwards there is nothing but the level's return to 0.
    #[test]
    fn the_end_of_control_is_the_end(steps in steps(), more in steps()) {
        for params in variants() {
            let (mut host, _) = start(&params, at(4));
            for step in steps.iter().filter(|(_, event)| *event != HostEvent::Disable) {
                run(&mut host, *step);
            }
            let end = steps.last().map_or(Time::ZERO, |(now, _)| *now);
            let acts = run(&mut host, (end, HostEvent::Disable));
            let lifted = [HostAct::Level(0), HostAct::Echo(Echo::Off)];
            prop_assert!(lifted.iter().all(|lift| acts.iter().any(|act| act == *lift)), "{:?}", params);
            for (now, event) in &more {
                let acts = run(&mut host, (end + now.since(Time::ZERO), *event));
                let lifting = |act| matches!(act, HostAct::Level(0) | HostAct::WakeAt(_));
                prop_assert!(acts.iter().all(lifting), "{:?} {:?} {:?}", params, event, acts);
            }
        }
    }
}

fn wake_at(acts: &Acts<HostAct>, due: Time) -> Time {
    acts.iter().fold(due, |due, act| match act {
        HostAct::WakeAt(at) => due.min(at),
        _ => due,
    })
}

/// Help pages and parameter lists are complete, and a printed value reads back.
#[test]
fn can_be_listed_and_set() {
    listed_and_set!(LAWS, HostParams, |law, params| {
        let (host, _) = start(&params, at(4));
        assert_eq!(host.name(), law.name());
    });
    assert!(size_of::<Host>() <= MAX_STATE + 8, "the tag takes one word at most");
}

/// No two laws have one name, whatever their roles.
#[test]
fn names_are_unique() {
    let laws = forebay_laws::Laws::built_in();
    let all = || laws.all().map(|(_, law)| law.name());
    for name in all() {
        assert_eq!(all().filter(|other| *other == name).count(), 1, "{name}");
    }
}

/// A file in the folder of the role is a law in the registry.
#[test]
fn every_file_is_registered() {
    let files = registered("host", include_str!("../../src/host/registry.rs"));
    assert_eq!(files, LAWS.len());
}
