//! HierCC's rate law against traces worked out by hand and a queue of its own.

mod first_hop;

use super::*;
use first_hop::Hop;
use proptest::prelude::*;
extern crate std;
use std::vec::Vec;

const AT: GroupStart =
    GroupStart { line_rate: BitsPerSec::from_gbps(25), hop_rtt: Span::from_us(2), seed: 1 };

/// As the paper has it, to the letter.
fn literal() -> HierCcParams {
    HierCcParams {
        n_estimate: Estimate::Ratio,
        resume: Resume::Previous,
        after_resume: AfterResume::Update,
        ..HierCcParams::default()
    }
}

/// The paper's rate law, with a resume that knows how many go on.
fn ratio() -> HierCcParams {
    HierCcParams { n_estimate: Estimate::Ratio, ..HierCcParams::default() }
}

struct Rig {
    law: HierCc,
    totals: GroupTotals,
}

impl Rig {
    /// An aggregate that has just got its first packets: `arrived` bytes at time 0.
    fn new(params: HierCcParams, arrived: u64) -> Self {
        let law = HierCc::start(&params, Time::ZERO, AT, &mut Acts::default());
        let mut rig = Self { law, totals: GroupTotals::default() };
        rig.totals.arrived = arrived;
        rig.notify(0, GroupEvent::Traffic);
        rig
    }

    fn notify(&mut self, us: u64, event: GroupEvent) -> Vec<GroupAct> {
        let mut acts = Acts::default();
        let now = Time::ZERO + Span::from_us(us);
        self.law.step(now, GroupSeen { totals: &self.totals, event }, &mut acts);
        acts.iter().collect()
    }

    /// A window of 10 us that ends at `us`, with so many bytes credited, sent and arrived, and this queue.
    fn window(&mut self, us: u64, credited: u64, arrived: u64, queue: u64) -> Vec<GroupAct> {
        self.totals.credited += credited;
        self.totals.sent += credited;
        self.totals.arrived += arrived;
        self.totals.queue = Bytes::new(queue);
        self.notify(us, GroupEvent::Wake)
    }
}

fn wake(us: u64) -> GroupAct {
    GroupAct::WakeAt(Time::ZERO + Span::from_us(us))
}

fn rate(mbps: u64) -> GroupAct {
    GroupAct::Rate(BitsPerSec::new(mbps * 1_000_000))
}

/// An aggregate begins at the rate of the link, watches its queue and waits for nothing.
#[test]
fn an_aggregate_begins_at_the_line_rate() {
    let mut acts = Acts::default();
    HierCc::start(&HierCcParams::default(), Time::ZERO, AT, &mut acts);
    let watch = GroupAct::Watch { low: Bytes::new(50_000), high: Bytes::new(70_000) };
    assert!(acts.iter().eq([rate(25_000), watch]));
}

/// Source: HierCC (APNet 2021), equation (1); window 10 us, beta 0.2, hop RTT 2 us, q0 20 KB.
///
/// Four flows at 25 Gb/s: arrived 4 * 31 250 = 125 000 B, so 100 Gb/s; credited 31 250 B, so 25 Gb/s.
/// Q = 30 KB: drain = 0.2 * 8 * 10 000 / 2 us = 8 Gb/s; R = 25 * (25 - 8) / 100 = 4.25 Gb/s.
/// Next, Q = 20 KB and arrived 4 * 4.25 = 17 Gb/s (21 250 B): R = 4.25 * 25 / 17 = 6.25 Gb/s = 25/4.
/// Q = 10 KB fills up: R = 6.25 * (25 + 8) / 25 = 8.25 Gb/s.
#[test]
fn a_window_gives_the_credit_share_less_the_excess() {
    let mut rig = Rig::new(ratio(), 0);
    assert_eq!(rig.notify(9, GroupEvent::Wake), [wake(10)], "too early");
    assert_eq!(rig.window(10, 31_250, 125_000, 30_000), [rate(4_250), wake(20)]);
    assert_eq!(rig.window(20, 31_250, 21_250, 20_000), [rate(6_250), wake(30)]);
    assert_eq!(rig.window(30, 31_250, 31_250, 10_000), [rate(8_250), wake(40)]);
    assert_eq!(rig.window(40, 31_250, 41_250, 20_000), [rate(6_250), wake(50)]);
    assert_eq!(rig.window(50, 31_250, 31_250, 20_000), [wake(60)], "at rest nothing is said");
}

/// With flows counted what arrived does not matter: R = (25 - 8) / 4 = 4.25 Gb/s.
#[test]
fn counted_flows_share_whatever_arrived() {
    for arrived in [1_000, 21_250, 500_000] {
        let mut rig = Rig::new(HierCcParams::default(), 0);
        rig.totals.flows = 4;
        assert_eq!(rig.window(10, 31_250, arrived, 30_000), [rate(4_250), wake(20)]);
    }
    let mut rig = Rig::new(HierCcParams::default(), 0);
    rig.totals.flows = 0;
    assert_eq!(rig.window(10, 12_500, 12_500, 20_000), [rate(10_000), wake(20)], "at least one");
}

/// The first branch of equation (1), in both readings; and a window in which nothing arrived.
#[test]
fn an_empty_queue_takes_the_line_rate() {
    let below = HierCcParams { empty: Empty::BelowQ0, ..ratio() };
    for (params, queue, mbps) in [
        (ratio(), 0, 25_000),
        (ratio(), 1, 20_999),
        (below, 19_999, 25_000),
        (below, 20_000, 5_000),
    ] {
        let mut rig = Rig::new(params, 0);
        rig.window(10, 6_250, 31_250, 20_000);
        let acts = rig.window(20, 6_250, 6_250, queue);
        assert_eq!(rig.law.rate as u64 / 1_000_000, mbps, "{queue}: {acts:?}");
    }
    let mut rig = Rig::new(ratio(), 0);
    rig.window(10, 6_250, 31_250, 20_000);
    assert_eq!(rig.window(20, 6_250, 0, 90_000), [wake(30)], "who sends is not known");
}

/// More excess than credits leaves the least rate, not a negative one; less than nothing beyond q0 leaves the link's.
#[test]
fn rates_keep_their_bounds() {
    let mut rig = Rig::new(ratio(), 0);
    assert_eq!(rig.window(10, 0, 125_000, 69_000), [rate(840), wake(20)]);
    assert_eq!(rig.window(20, 31_250, 4_200, 20_000), [rate(6_250), wake(30)], "and it comes back");
    let few = HierCcParams { r_min: BitsPerSec::from_gbps(40), ..ratio() };
    assert_eq!(Rig::new(few, 0).window(10, 0, 125_000, 69_000), [wake(20)], "never above the link");
}

/// A stop in the first window, at 7.5 us, when 4 flows at 25 Gb/s have brought 93 750 B. What leaves until the
/// resume at 25.5 us is 25 Gb/s: each of the four gets a quarter, or 25 Gb/s as before the stop.
#[test]
fn hosts_go_on_at_the_rate_before_or_at_their_share() {
    for (params, mbps) in [(literal(), 25_000), (ratio(), 6_250), (HierCcParams::default(), 6_250)]
    {
        let mut rig = Rig::new(params, 0);
        (rig.totals.arrived, rig.totals.sent, rig.totals.flows) = (100_000, 25_000, 4);
        rig.totals.queue = Bytes::new(75_000);
        assert_eq!(rig.notify(8, GroupEvent::Above), [GroupAct::Pause]);
        rig.totals.sent = 78_125;
        rig.totals.queue = Bytes::new(49_999);
        let resume = GroupAct::Resume(BitsPerSec::new(mbps * 1_000_000));
        assert_eq!(rig.notify(25, GroupEvent::Below), [resume, wake(35)]);
    }
}

/// While stopped nothing moves, and with `hold` the first window after that moves nothing either.
#[test]
fn a_stop_freezes_the_law() {
    for (after_resume, held) in [(AfterResume::Hold, true), (AfterResume::Update, false)] {
        let mut rig = Rig::new(HierCcParams { after_resume, ..ratio() }, 0);
        rig.window(10, 31_250, 125_000, 20_000);
        assert_eq!(rig.law.rate, 6.25e9);
        assert_eq!(rig.notify(12, GroupEvent::Above), [GroupAct::Pause]);
        for us in [13, 20, 30, 40] {
            rig.totals.arrived += 5_000;
            for event in [GroupEvent::Wake, GroupEvent::Traffic, GroupEvent::Above] {
                assert_eq!(rig.notify(us, event), []);
            }
        }
        rig.notify(50, GroupEvent::Below);
        let before = rig.law.rate;
        rig.window(60, 31_250, 10_000, 20_000);
        assert_eq!(rig.law.rate == before, held);
    }
}

/// An aggregate that stood empty for a window requests no wake, is back at the rate of the link, and begins a window of its own
/// with its next packet.
#[test]
fn an_idle_aggregate_sleeps() {
    let mut rig = Rig::new(HierCcParams::default(), 0);
    rig.totals.flows = 4;
    assert_eq!(rig.window(10, 31_250, 125_000, 20_000), [rate(6_250), wake(20)]);
    assert_eq!(rig.window(20, 20_000, 0, 0), [rate(25_000)], "asleep");
    assert_eq!(rig.notify(30, GroupEvent::Wake), []);
    rig.totals.credited += 5_000;
    rig.totals.arrived += 1_000;
    assert_eq!(rig.notify(33, GroupEvent::Traffic), [wake(43)]);
    assert_eq!(rig.notify(34, GroupEvent::Traffic), [], "awake already");
    assert_eq!(
        rig.window(43, 31_250, 30_250, 20_000),
        [rate(6_250), wake(53)],
        "late credits are gone"
    );
}

/// A window of its own, and that of the text: RTT over beta.
#[test]
fn the_window_is_the_round_trip_over_beta() {
    for (beta, hop, window, expected) in [
        (0.2, Span::from_us(2), None, Span::from_us(10)),
        (0.05, Span::from_us(2), None, Span::from_us(40)),
        (0.5, Span::from_ns(1), None, Span::from_ns(100)),
        (0.05, Span::from_us(2), Some(Span::from_us(20)), Span::from_us(20)),
    ] {
        let params =
            HierCcParams { beta: Share::new(beta), window: Window(window), ..Default::default() };
        let at = GroupStart { hop_rtt: hop, ..AT };
        let law = HierCc::start(&params, Time::ZERO, at, &mut Acts::default());
        assert_eq!(law.window, expected);
    }
}

/// Without delay one update corrects the queue in full.
#[test]
fn without_delay_one_window_corrects_the_queue() {
    for (params, flows) in [(ratio(), 4), (HierCcParams::default(), 4), (ratio(), 10)] {
        let mut rig = Rig::new(params, 0);
        rig.totals.flows = flows;
        let arriving = |rig: &Rig| u64::from(flows) * (rig.law.rate * 10e-6 / 8.0) as u64;
        let mut queue = 40_000;
        for us in [10, 20, 30] {
            let arrived = arriving(&rig);
            rig.window(us, 31_250, arrived, queue);
            queue = queue + arriving(&rig) - 31_250;
            assert!(queue.abs_diff(20_000) <= u64::from(flows), "{flows} at {us} us: {queue}");
        }
    }
}

/// At rest: 20 KB and 25 Gb/s from four flows on, in turn or together.
#[test]
fn counted_flows_settle_at_q0() {
    for flows in [2, 4, 8, 16] {
        let hop = || Hop::new(HierCcParams::default(), flows);
        for seen in [hop().run(), hop().in_turn().run()] {
            assert!(seen.low > 19.5 && seen.high < 20.5 && seen.gbps > 24.99, "{flows}: {seen:?}");
        }
    }
}

/// A fluid model of its own: with the paper's beta, window and marks the ratio form rings. Mean and longest queue
/// in KB, and Gb/s.
#[test]
fn the_papers_rate_law_rings() {
    for (flows, mean, high, gbps) in
        [(4, 33.0, 87.0, 23.5), (8, 45.0, 118.0, 23.3), (16, 54.0, 134.0, 24.1)]
    {
        let seen = Hop::new(ratio(), flows).in_turn().run();
        let near = |a: f64, b: f64, share: f64| (a / b - 1.0).abs() < share;
        assert!(near(seen.mean, mean, 0.08) && near(seen.high, high, 0.08), "{flows}: {seen:?}");
        assert!(near(seen.gbps, gbps, 0.08) && seen.low < 1.0, "{flows}: {seen:?}");
    }
}

/// In the same fluid model, marks every 2 us, or beta 0.05 with a window of 20 us, calm the ratio form.
#[test]
fn more_marks_or_a_smaller_beta_calm_it() {
    let window = Window(Some(Span::from_us(20)));
    let slow = HierCcParams { beta: Share::new(0.05), window, ..ratio() };
    for flows in [2, 4, 8, 16] {
        let often = Hop::new(ratio(), flows).mark_every(2e-6).in_turn().run();
        let slow = Hop::new(slow, flows).in_turn().run();
        for seen in [often, slow] {
            assert!(seen.low > 19.0 && seen.high < 21.0 && seen.gbps > 24.9, "{flows}: {seen:?}");
        }
    }
}

/// A resume at the rate before the stop is the burst again, between 43 and 170 KB for ever.
#[test]
fn a_burst_that_resumes_at_the_line_rate_never_ends() {
    let seen = Hop::new(literal(), 16).run();
    assert!((42.0..46.0).contains(&seen.low) && (155.0..170.0).contains(&seen.high), "{seen:?}");
    let seen = Hop::new(HierCcParams { resume: Resume::Share, ..literal() }, 16).run();
    assert!(seen.high < 134.0, "{seen:?}");
}

/// What is under way when the queue crosses `v_high` still comes: (n R - C) RTT / 8, so 88.75, 113.75 and 163.75 KB; never
/// more than 70 KB + n R RTT / 8.
#[test]
fn a_stop_bounds_the_queue() {
    for params in [literal(), ratio(), HierCcParams::default()] {
        for (flows, peak) in [(4, 88.75), (8, 113.75), (16, 163.75)] {
            let seen = Hop::new(params, flows).run();
            let bound = 70.0 + flows as f64 * 6.25;
            assert!((seen.peak - peak).abs() < 2.5 && seen.peak < bound, "{flows}: {seen:?}");
        }
    }
}

proptest! {
    /// After any events the rate stays from `r_min` to the link's, and no rate is sent while stopped.
    #[test]
    fn rates_stay_within_bounds_and_stops_hold(
        steps in proptest::collection::vec((0u64..30, 0u8..4, 0u64..200_000, 0u64..200_000, 0u64..200_000, 0u32..40), 1..100),
        form in 0usize..3,
    ) {
        let mut rig = Rig::new([literal(), ratio(), HierCcParams::default()][form], 1_000);
        let (mut us, mut stopped) = (0, false);
        for (gap, event, credited, arrived, queue, flows) in steps {
            us += gap;
            rig.totals.credited += credited;
            rig.totals.sent += credited;
            rig.totals.arrived += arrived;
            rig.totals.queue = Bytes::new(queue);
            rig.totals.flows = flows;
            let event = match event {
                0 => GroupEvent::Traffic,
                1 => GroupEvent::Above,
                2 => GroupEvent::Below,
                _ => GroupEvent::Wake,
            };
            for act in rig.notify(us, event) {
                match act {
                    GroupAct::Rate(rate) => {
                        prop_assert!(!stopped);
                        prop_assert!((840_000_000..=25_000_000_000).contains(&rate.get()));
                    }
                    GroupAct::Pause => {
                        prop_assert!(!stopped && event == GroupEvent::Above);
                        stopped = true;
                    }
                    GroupAct::Resume(rate) => {
                        prop_assert!(stopped && event == GroupEvent::Below);
                        prop_assert!((840_000_000..=25_000_000_000).contains(&rate.get()));
                        stopped = false;
                    }
                    GroupAct::WakeAt(at) => {
                        prop_assert!(!stopped && at >= Time::ZERO + Span::from_us(us));
                    }
                    GroupAct::Watch { .. } => prop_assert!(false, "only at the start"),
                }
            }
        }
    }
}
