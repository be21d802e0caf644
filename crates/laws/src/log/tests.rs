//! A log of three events by hand, and what is said when it does not fit.

extern crate std;

use super::*;
use crate::Start;
use crate::flow::{CaState, FlowEvent, FlowParams, FlowSeen, Totals};
use forebay_units::{BitsPerSec, Bytes, Span};
use std::sync::Mutex;

#[derive(Debug, Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
    }
}

/// Reno: a loss at 20 us, its end at 30 us, a wake at 30 us.
fn log() -> Vec<u8> {
    let memory = Arc::new(Memory::default());
    let params = FlowParams::new("reno").expect("registered").with_log(Tap::new(memory.clone()));
    let at = Start {
        mss: Bytes::new(1000),
        initial_window: Bytes::new(10_000),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 1,
    };
    let mut flow = params.start(at, &mut Acts::default());
    let mut totals = Totals { nxt: 10_000, inflight: Bytes::new(10_000), ..Totals::default() };
    for (us, state, event) in [
        (20, CaState::Recovery, FlowEvent::Enter(CaState::Recovery)),
        (30, CaState::Open, FlowEvent::Leave(CaState::Recovery)),
        (30, CaState::Open, FlowEvent::Wake),
    ] {
        totals.state = state;
        let now = Time::ZERO + Span::from_us(us);
        flow.step(now, FlowSeen { totals: &totals, event }, &mut Acts::default());
    }
    memory.0.lock().expect("no writer").clone()
}

#[test]
fn a_whole_log_replays() {
    let us = |n| Time::ZERO + Span::from_us(n);
    let expected =
        ReplayedLog { role: "flow", law: "reno".into(), events: 3, first: us(0), last: us(30) };
    assert_eq!(replay(&log()), Ok(expected));
}

/// A law that starts again under its tap, as for another message, goes on in the same log; without its last byte that start is cut.
#[test]
fn a_law_that_starts_again_goes_on_in_its_log() {
    let memory = Arc::new(Memory::default());
    let params = FlowParams::new("reno").expect("registered").with_log(Tap::new(memory.clone()));
    let at = Start {
        mss: Bytes::new(1000),
        initial_window: Bytes::new(10_000),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 1,
    };
    let mut lengths = Vec::new();
    for window in [10_000, 20_000] {
        let at = Start { initial_window: Bytes::new(window), ..at };
        let mut flow = params.start(at, &mut Acts::default());
        lengths.push(memory.0.lock().expect("no writer").len());
        let totals = Totals { state: CaState::Recovery, ..Totals::default() };
        let seen = FlowSeen { totals: &totals, event: FlowEvent::Enter(CaState::Recovery) };
        flow.step(Time::ZERO + Span::from_us(20), seen, &mut Acts::default());
    }
    let log = memory.0.lock().expect("no writer").clone();
    let replayed = replay(&log).expect("it answers as before");
    assert_eq!((replayed.events, log.starts_with(&MAGIC)), (2, true));
    assert_eq!(log.windows(4).filter(|four| *four == MAGIC).count(), 1, "one head");
    let cut = Err(ReplayError::Cut { events: Some(1) });
    assert_eq!(replay(&log[..lengths[1] - 1]), cut);
    assert_eq!(replay(&log[..lengths[1]]).map(|replayed| replayed.events), Ok(1));
    // Another first window is another start.
    let mut other = log.clone();
    let mut window = Vec::new();
    20_000u64.put(&mut window);
    let places = lengths[0]..other.len() - window.len();
    let at = places.into_iter().find(|at| other[*at..].starts_with(&window)).expect("its window");
    other[at] ^= 1;
    let Err(ReplayError::Differs(of)) = replay(&other) else { panic!("it does not differ") };
    assert_eq!((of.event, of.seen.as_str()), (1, "another start"));
}

/// The last line is a gap of none, no change of totals, the wake's number, no action: four bytes.
#[test]
fn an_event_that_changes_nothing_takes_four_bytes() {
    assert!(log().ends_with(&[0, 0, 9, 0]), "{:?}", log());
}

/// The window after the loss is 5,000 B, in 1/256 byte; another one is a difference of that event.
#[test]
fn another_answer_is_named_with_its_event() {
    let mut log = log();
    let mut window = Vec::new();
    (5_000u64 * 256).put(&mut window);
    let places: Vec<usize> =
        (0..log.len() - 3).filter(|at| log[*at..].starts_with(&window)).collect();
    log[places[0]] ^= 1;
    let Err(ReplayError::Differs(of)) = replay(&log) else { panic!("it does not differ") };
    assert_eq!((of.law.as_str(), of.now), ("reno", Time::ZERO + Span::from_us(of.event * 10 + 10)));
    assert!(of.seen.contains("Recovery") && of.logged != of.acts, "{of:?}");
    let text = ReplayError::Differs(of).to_string();
    assert!(text.starts_with("reno answers event ") && text.contains("the log has ["), "{text}");
}

#[test]
fn what_is_no_log_says_so() {
    let log = log();
    let text = |log: &[u8]| replay(log).expect_err("damaged").to_string();
    assert_eq!(text(b""), "this is not a law log: it does not begin with \"FBLL\"");
    let mut other = log.clone();
    other[4] = 9;
    assert_eq!(text(&other), "a law log of version 9; this program reads version 3");
    other = log.clone();
    other[5] = 77;
    assert_eq!(text(&other), "a law log of role 77, which is not known here");
    other = log.clone();
    other[7] = b'R';
    let unknown = text(&other);
    assert!(
        unknown.starts_with("law \"Reno\" of the log cannot start: there is no law"),
        "{unknown}"
    );
    assert_eq!(text(&log[..20]), "the log ends within its head");
    assert_eq!(text(&log[..log.len() - 1]), "the log ends within event 3, or is damaged there");
}

/// The law answers the loss and the end of recovery; with another answer to each in the log, both differ, and a cut log is read up to the cut.
#[test]
fn all_that_differs_is_counted_up_to_the_cut() {
    let mut log = log();
    let whole = compare(&log, &[]).expect("whole");
    assert_eq!((whole.replayed.events, whole.differing, whole.cut), (3, 0, false));
    let mut window = Vec::new();
    (5_000u64 * 256).put(&mut window);
    let places: Vec<usize> =
        (0..log.len() - 3).filter(|at| log[*at..].starts_with(&window)).collect();
    places.iter().for_each(|at| log[*at] ^= 1);
    log.pop();
    let cut = compare(&log, &[]).expect("its head is whole");
    assert_eq!((cut.replayed.events, cut.cut), (2, true));
    assert_eq!(cut.differing as usize, places.len().min(2));
    assert!(cut.differing >= 1 && cut.difference.is_some());
    let unknown = compare(&log, &[("gain".into(), "2".into())]).expect_err("reno has none");
    assert!(unknown.to_string().contains("no parameter of this name"), "{unknown}");
}
