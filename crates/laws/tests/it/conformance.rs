//! What every registered flow law must do, by iterating over the registry: a new row is tested by
//! being a row. Each law runs with its defaults and with every other value its parameters name.

use crate::common::{registered, replays};
use forebay_laws::flow::registry::MAX_STATE;
use forebay_laws::flow::{
    AckSample, CaState, DelaySplit, Echo, Flow, FlowAct, FlowEvent, FlowParams, FlowSeen, IntHop,
    LAWS, SwitchMessage, Totals, Window,
};
use forebay_laws::{Acts, Start};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use proptest::prelude::*;

/// One line of a law log: what the law saw, owned.
#[derive(Clone, Debug)]
struct Step {
    now: Time,
    totals: Totals,
    event: Event,
}

#[derive(Clone, Debug)]
enum Event {
    Ack { acked: Bytes, ece: bool, sample: AckSample, delay: Option<DelaySplit>, hops: Vec<IntHop> },
    Other(FlowEvent<'static>),
}

impl Step {
    fn run(&self, flow: &mut Flow) -> Acts<FlowAct> {
        let event = match &self.event {
            Event::Ack { acked, ece, sample, delay, hops } => {
                FlowEvent::Ack { acked: *acked, ece: *ece, sample, delay: delay.as_ref(), hops }
            }
            Event::Other(event) => *event,
        };
        let mut acts = Acts::default();
        flow.step(self.now, FlowSeen { totals: &self.totals, event }, &mut acts);
        acts
    }
}

/// Every law with its defaults, and with each word of each parameter's range that it takes.
fn variants() -> Vec<FlowParams> {
    variants_by(|_| true)
}

/// Variants without the bounds of numbers, at which a law may mean to stand still.
fn moderate_variants() -> Vec<FlowParams> {
    variants_by(|word| !word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

fn variants_by(wanted: impl Fn(&str) -> bool) -> Vec<FlowParams> {
    let mut all = Vec::new();
    for law in LAWS {
        let default = FlowParams::new(law.name()).expect("a registered law has a name");
        for param in law.params() {
            for word in
                param.range.split([' ', '"', ',']).filter(|word| !word.is_empty() && wanted(word))
            {
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

fn start(params: &FlowParams, at: Start) -> (Flow, Acts<FlowAct>) {
    let mut acts = Acts::default();
    let flow = params.start(at, &mut acts);
    (flow, acts)
}

fn at(mss: u64, initial_window: u64) -> Start {
    Start {
        mss: Bytes::new(mss),
        initial_window: Bytes::new(initial_window),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 7,
    }
}

prop_compose! {
    /// Anything that fits the types, small numbers and round ones more often than not.
    fn number()(class in 0..4, small in 0u64..5_000, large in 0u64..1 << 32, any in any::<u64>()) -> u64 {
        match class { 0 => small, 1 => large, 2 => any, _ => if any % 2 == 0 { u64::MAX } else { 0 } }
    }
}

fn ca_state() -> impl Strategy<Value = CaState> {
    prop_oneof![
        Just(CaState::Open),
        Just(CaState::Disorder),
        Just(CaState::Cwr),
        Just(CaState::Recovery),
        Just(CaState::Loss),
    ]
}

prop_compose! {
    fn totals()(
        n in prop::array::uniform8(number()),
        state in ca_state(),
        [cwnd_limited, only_full_grows] in any::<[bool; 2]>(),
        most_out in any::<u32>(),
    ) -> Totals {
        Totals {
            una: n[0], nxt: n[1], sent: n[2], delivered: n[3], delivered_ce: n[4],
            inflight: Bytes::new(n[5]),
            srtt: Span::from_ps(n[6]), min_rtt: Span::from_ps(n[7]),
            state, cwnd_limited, only_full_grows, most_out,
        }
    }
}

prop_compose! {
    fn ack()(
        n in prop::array::uniform5(number()),
        rtt in prop::option::of(number()),
        ece in any::<bool>(),
        app_limited in any::<bool>(),
        state in ca_state(),
        delay in prop::option::of(prop::array::uniform4(number())),
        hops in prop::collection::vec(prop::array::uniform5(number()), 0..4),
    ) -> Event {
        Event::Ack {
            acked: Bytes::new(n[0]),
            ece,
            sample: AckSample {
                rtt: rtt.map(Span::from_ps),
                inflight_at_send: Bytes::new(n[1]),
                delivered_at_send: n[2],
                cwnd_at_send: Bytes::new(n[3]),
                interval: Span::from_ps(n[4]),
                app_limited,
                state,
            },
            delay: delay.map(|d| DelaySplit {
                forward: Span::from_ps(d[0]),
                backward: Span::from_ps(d[1]),
                remote_host: Span::from_ps(d[2]),
                local_host: Span::from_ps(d[3]),
                hops: (d[0] % 256) as u8,
            }),
            hops: hops.into_iter().map(|h| IntHop {
                passed: Span::from_ps(h[0]),
                sent: Bytes::new(h[1]),
                queue: [h[2], h[3]].map(Bytes::new),
                rate: BitsPerSec::new(h[4]),
            }).collect(),
        }
    }
}

fn event() -> impl Strategy<Value = Event> {
    let idle = (number(), number()).prop_map(|(idle, rto)| FlowEvent::TxStart {
        idle: Span::from_ps(idle),
        rto: Span::from_ps(rto),
    });
    prop_oneof![
        4 => ack(),
        2 => ca_state().prop_map(|state| Event::Other(FlowEvent::Enter(state))),
        2 => ca_state().prop_map(|state| Event::Other(FlowEvent::Leave(state))),
        1 => Just(Event::Other(FlowEvent::Undo)),
        1 => idle.prop_map(Event::Other),
        1 => number().prop_map(|n| Event::Other(FlowEvent::Sent { bytes: Bytes::new(n) })),
        1 => Just(Event::Other(FlowEvent::Cnp)),
        1 => Just(Event::Other(FlowEvent::Nack)),
        1 => message().prop_map(|message| Event::Other(FlowEvent::Switch(message))),
        1 => Just(Event::Other(FlowEvent::Wake)),
    ]
}

fn message() -> impl Strategy<Value = SwitchMessage> {
    let rate = || number().prop_map(|n| BitsPerSec::new(n.max(1)));
    prop_oneof![
        rate().prop_map(SwitchMessage::Rate),
        Just(SwitchMessage::Pause),
        rate().prop_map(SwitchMessage::Resume)
    ]
}

/// Any events in any order; only time never runs backwards.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u64..10_000_000_000, totals(), event());
    prop::collection::vec(step, 1..60).prop_map(|steps| {
        let mut now = Time::ZERO;
        let step = |(gap, totals, event)| {
            now += Span::from_ps(gap);
            Step { now, totals, event }
        };
        steps.into_iter().map(step).collect()
    })
}

fn starts() -> impl Strategy<Value = Start> {
    (1u64..10_000, number(), prop::option::of(number()), any::<u64>()).prop_map(
        |(mss, window, base_rtt, seed)| Start {
            base_rtt: base_rtt.map(Span::from_ps),
            seed,
            ..at(mss, window)
        },
    )
}

/// Windows below what the law states as its least, in 1/256 byte.
fn below_floor(flow: &Flow, mss: Bytes, acts: &Acts<FlowAct>) -> Option<FlowAct> {
    let floor = mss.get() * 256 * u64::from(flow.floor_milli_mss()) / 1000;
    acts.iter().find(|act| matches!(act, FlowAct::Window(w) if w.raw() < floor))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No sequence of events panics, and no window is below the stated floor.
    #[test]
    fn survives_anything_above_its_floor(at in starts(), steps in steps()) {
        for params in variants() {
            let (mut flow, acts) = start(&params, at);
            prop_assert_eq!(below_floor(&flow, at.mss, &acts), None, "{:?} starts", params);
            for step in &steps {
                let acts = step.run(&mut flow);
                prop_assert_eq!(below_floor(&flow, at.mss, &acts), None, "{:?} {:?}", params, step);
            }
        }
    }

    /// The log of `(now, seen, acts)` is complete: a second run gives the same actions.
    #[test]
    fn replays_from_its_log(at in starts(), steps in steps()) {
        for params in variants() {
            let (mut flow, first) = start(&params, at);
            let log: Vec<_> = steps.iter().map(|step| (step, step.run(&mut flow))).collect();
            let (mut replay, again) = start(&params, at);
            prop_assert_eq!(first, again);
            for (step, acts) in log {
                prop_assert_eq!(step.run(&mut replay), acts, "{:?} {:?}", params, step);
            }
        }
    }

    /// A law that writes a log answers as one that does not, and its log replays.
    #[test]
    fn a_log_of_it_replays(at in starts(), steps in steps(), damage in prop::collection::vec(any::<(usize, u8)>(), 8)) {
        for law in LAWS {
            let params = FlowParams::new(law.name()).expect("registered");
            replays("flow", law.name(), steps.len(), &damage, |tap| {
                let (mut flow, first) = start(&params, at);
                let (mut logged, again) = start(&params.clone().with_log(tap), at);
                assert_eq!(first, again);
                assert_eq!((logged.name(), logged.needs()), (flow.name(), flow.needs()));
                for step in &steps {
                    assert_eq!(step.run(&mut logged), step.run(&mut flow));
                }
            });
        }
    }

    /// A wake that was not requested sets no window, threshold or rate, and leaves no trace.
    #[test]
    fn a_spurious_wake_changes_nothing(at in starts(), steps in steps(), wakes in any::<u64>()) {
        for params in variants() {
            let (mut calm, acts) = start(&params, at);
            let mut woken = calm.clone();
            let mut due = wake_at(&acts, Time::MAX);
            for (i, step) in steps.iter().enumerate() {
                if wakes >> (i % 64) & 1 == 1 && step.now < due {
                    let wake = Step { event: Event::Other(FlowEvent::Wake), ..step.clone() };
                    let acts = wake.run(&mut woken);
                    let only_timers = acts.iter().all(|act| matches!(act, FlowAct::WakeAt(_)));
                    prop_assert!(only_timers, "{:?} {:?}", params, acts);
                }
                let acts = step.run(&mut calm);
                prop_assert_eq!(step.run(&mut woken), acts, "{:?} {:?}", params, step);
                due = wake_at(&acts, if step.now < due { due } else { Time::MAX });
            }
        }
    }
}

fn wake_at(acts: &Acts<FlowAct>, due: Time) -> Time {
    acts.iter().fold(due, |due, act| match act {
        FlowAct::WakeAt(at) => due.min(at),
        _ => due,
    })
}

fn window_of(acts: &Acts<FlowAct>) -> Option<u64> {
    acts.iter().fold(None, |last, act| match act {
        FlowAct::Window(w) => Some(w.raw()),
        _ => last,
    })
}

/// Transports do not report to a law what it does not need.
#[test]
fn who_acts_on_what_leaves_says_so() {
    for params in variants() {
        let (mut flow, _) = start(&params, at(1000, 20_000));
        let heard = |flow: &mut Flow, bytes| {
            let before = format!("{flow:?}");
            let event = Event::Other(FlowEvent::Sent { bytes: Bytes::new(bytes) });
            let step = Step { now: Time::from_ps(5_000_000), totals: Totals::default(), event };
            !step.run(flow).is_empty() || format!("{flow:?}") != before
        };
        // A cut first, after which those that count bytes do so.
        let cut = Event::Other(FlowEvent::Cnp);
        Step { now: Time::from_ps(4_000_000), totals: Totals::default(), event: cut }
            .run(&mut flow);
        let acts = [1_000, 100_000_000].map(|bytes| heard(&mut flow, bytes));
        assert!(flow.needs().sent || acts == [false; 2], "{params:?}: its NEEDS have no `sent`");
    }
}

/// One segment in 10 MB is a hundred thousandth: growth by rounded fractions would stop there.
#[test]
fn still_grows_at_ten_megabytes() {
    const MSS: u64 = 1000;
    for params in moderate_variants() {
        // A host's link that can fill such a window, for laws that stop at that.
        let line_rate = BitsPerSec::from_gbps(10_000);
        let (mut flow, acts) = start(&params, Start { line_rate, ..at(MSS, 20_000_000) });
        let Some(start) = window_of(&acts) else { continue };
        let mut window = start;
        if window == Window::UNBOUNDED.raw() {
            continue; // a law of rates alone
        }
        if flow.needs().int || flow.needs().echo == Echo::Cnp {
            continue; // such windows begin as large as they ever are
        }
        if params.name() == "fixed" {
            continue; // does not react, by its definition
        }
        let rtt = Span::from_us(100);
        let mut now = Time::ZERO + rtt;
        let mut totals = Totals { srtt: rtt, min_rtt: rtt, ..Totals::default() };
        let mut run = |flow: &mut Flow, totals: &Totals, event| {
            now += Span::from_us(1);
            let acts = Step { now, totals: *totals, event }.run(flow);
            window = window_of(&acts).unwrap_or(window);
            window / 256
        };
        // A loss takes it out of slow start, to somewhere about 10 MB.
        totals.state = CaState::Recovery;
        run(&mut flow, &totals, Event::Other(FlowEvent::Enter(CaState::Recovery)));
        totals.state = CaState::Open;
        let mut before = run(&mut flow, &totals, Event::Other(FlowEvent::Leave(CaState::Recovery)));
        if before == start / 256 && flow.needs().echo == Echo::Exact {
            // A law of marks alone, which begins at the host's link: a mark makes room to grow.
            totals.nxt = before;
            let (acked, sample) = (Bytes::new(2 * MSS), AckSample::default());
            let mark = Event::Ack { acked, ece: true, sample, delay: None, hops: Vec::new() };
            let acts = Step { now: Time::ZERO + rtt, totals, event: mark }.run(&mut flow);
            let slower = |act| matches!(act, FlowAct::Rate(rate) if rate < line_rate);
            assert!(acts.iter().any(slower), "{params:?}: a mark changes nothing");
            let Some(cut) = window_of(&acts) else { continue }; // its rate is what grows
            before = cut / 256;
        }
        // Three windows acknowledged two segments at a time.
        totals.cwnd_limited = true;
        totals.inflight = Bytes::new(before);
        let mut after = before;
        for _ in 0..3 * before / (2 * MSS) {
            totals.una += 2 * MSS;
            totals.nxt = totals.una + before;
            totals.sent = totals.nxt;
            totals.delivered = totals.una;
            let sample = AckSample {
                rtt: Some(rtt),
                inflight_at_send: Bytes::new(before),
                delivered_at_send: totals.delivered.saturating_sub(before),
                cwnd_at_send: Bytes::new(before),
                interval: rtt,
                app_limited: false,
                state: totals.state,
            };
            let acked = Bytes::new(2 * MSS);
            let forward = rtt / 10;
            let delay = DelaySplit { forward, remote_host: rtt - forward, ..DelaySplit::default() };
            let delay = Some(delay);
            let event = Event::Ack { acked, ece: false, sample, delay, hops: Vec::new() };
            after = run(&mut flow, &totals, event);
        }
        assert!(after >= before + MSS, "{params:?}: {before} to {after} bytes");
    }
}

/// Help pages and parameter lists are complete, and a printed value reads back.
#[test]
fn can_be_listed_and_set() {
    listed_and_set!(LAWS, FlowParams, |law, params| {
        let (flow, _) = start(&params, at(1000, 10_000));
        assert_eq!((flow.name(), flow.needs()), (law.name(), params.needs()));
    });
    assert!(size_of::<Flow>() <= MAX_STATE + 8, "the tag takes one word at most");
}

/// A file in the folder of the role is a law in the registry.
#[test]
fn every_file_is_registered() {
    let files = registered("flow", include_str!("../../src/flow/registry.rs"));
    assert_eq!(files, LAWS.len());
}
