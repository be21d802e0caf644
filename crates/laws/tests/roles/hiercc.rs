//! HierCC first-hop loop: one rate for all flows of a virtual output queue.

use forebay_laws::Acts;
use forebay_laws::group::{GroupAct, GroupEvent, GroupLaw, GroupSeen, GroupStart, GroupTotals};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

const WINDOW: Span = Span::from_us(10);
const BETA_PERCENT: i64 = 20;
const Q0: i64 = 20_000;
const R_MIN: i64 = 10_000_000;

#[derive(Clone)]
struct HierCc {
    line: i64,
    hop_ns: i64,
    rate: i64,
    due: Time,
    credited: u64,
    arrived: u64,
    stopped: bool,
    saved: i64,
}

impl GroupLaw for HierCc {
    const NAME: &'static str = "hiercc";
    type Params = ();

    fn start(_: &(), now: Time, at: GroupStart, acts: &mut Acts<GroupAct>) -> Self {
        acts.push(GroupAct::Rate(at.line_rate));
        acts.push(GroupAct::Watch { low: Bytes::new(50_000), high: Bytes::new(70_000) });
        acts.push(GroupAct::WakeAt(now + WINDOW));
        let line = at.line_rate.get() as i64;
        Self {
            line,
            hop_ns: (at.hop_rtt.as_ps() / 1000) as i64,
            rate: line,
            due: now + WINDOW,
            credited: 0,
            arrived: 0,
            stopped: false,
            saved: line,
        }
    }

    fn step(&mut self, now: Time, seen: GroupSeen<'_>, acts: &mut Acts<GroupAct>) {
        let totals = seen.totals;
        match seen.event {
            GroupEvent::Above => {
                let window_ns = (WINDOW.as_ps() / 1000) as i64;
                let credited = (totals.credited - self.credited) as i64 * 8_000_000_000 / window_ns;
                self.saved = credited / i64::from(totals.flows.max(1));
                self.stopped = true;
                acts.push(GroupAct::Stop);
            }
            GroupEvent::Below => {
                self.stopped = false;
                self.rate = self.saved;
                acts.push(GroupAct::Resume(BitsPerSec::new(self.saved as u64)));
            }
            GroupEvent::Wake if now >= self.due => {
                let window_ns = (WINDOW.as_ps() / 1000) as i64;
                let credit = (totals.credited - self.credited) as i64 * 8_000_000_000 / window_ns;
                let arrive = (totals.arrived - self.arrived) as i64 * 8_000_000_000 / window_ns;
                (self.credited, self.arrived) = (totals.credited, totals.arrived);
                let queue = totals.queue.get() as i64;
                if !self.stopped && queue == 0 {
                    self.rate = self.line;
                } else if !self.stopped && arrive > 0 {
                    let drain = (queue - Q0) * 8 * BETA_PERCENT / 100 * 1_000_000_000 / self.hop_ns;
                    // In Mb/s, so that the product of two rates fits.
                    let rate = (self.rate / 1_000_000) * ((credit - drain) / 1_000_000)
                        / (arrive / 1_000_000)
                        * 1_000_000;
                    self.rate = rate.clamp(R_MIN, self.line);
                }
                acts.push(GroupAct::Rate(BitsPerSec::new(self.rate as u64)));
                self.due = now + WINDOW;
                acts.push(GroupAct::WakeAt(self.due));
            }
            GroupEvent::Wake => {}
        }
    }
}

/// Source: sheet hiercc, section 6, equation (1); window 10 us, beta 0.2, hop RTT 2 us, q0 20 KB.
///
/// Four flows at 25 Gb/s: arrived 4 * 31 250 = 125 000 B, so 100 Gb/s; credited 31 250 B, so 25 Gb/s.
/// Q = 30 KB: drain = 0.2 * 8 * 10 000 / 2 us = 8 Gb/s; R = 25 * (25 - 8) / 100 = 4.25 Gb/s.
/// Next, Q = 20 KB and arrived 4 * 4.25 = 17 Gb/s (21 250 B): R = 4.25 * 25 / 17 = 6.25 Gb/s = 25/4.
/// Q = 71 KB crosses 70: stop; the saved rate is 25 Gb/s / 4 = 6.25 Gb/s from the credits so far.
#[test]
fn rate_settles_at_the_credit_share() {
    let at =
        GroupStart { line_rate: BitsPerSec::from_gbps(25), hop_rtt: Span::from_us(2), seed: 1 };
    let mut first = Acts::default();
    let mut law = HierCc::start(&(), Time::ZERO, at, &mut first);
    assert_eq!(first.iter().next(), Some(GroupAct::Rate(at.line_rate)));
    let mut run = |us, totals: &GroupTotals, event| -> Vec<GroupAct> {
        let mut acts = Acts::default();
        law.step(Time::ZERO + Span::from_us(us), GroupSeen { totals, event }, &mut acts);
        acts.iter().collect()
    };
    let wake = |us| GroupAct::WakeAt(Time::ZERO + Span::from_us(us));
    let rate = |mbps: u64| GroupAct::Rate(BitsPerSec::new(mbps * 1_000_000));

    let mut totals = GroupTotals {
        credited: 31_250,
        arrived: 125_000,
        sent: 31_250,
        queue: Bytes::new(30_000),
        flows: 4,
    };
    assert_eq!(run(9, &totals, GroupEvent::Wake), [], "spurious");
    assert_eq!(run(10, &totals, GroupEvent::Wake), [rate(4_250), wake(20)]);
    totals.credited += 31_250;
    totals.arrived += 21_250;
    totals.queue = Bytes::new(20_000);
    assert_eq!(run(20, &totals, GroupEvent::Wake), [rate(6_250), wake(30)]);
    totals.credited += 31_250;
    totals.queue = Bytes::new(71_000);
    assert_eq!(run(29, &totals, GroupEvent::Above), [GroupAct::Stop]);
    assert_eq!(
        run(29, &totals, GroupEvent::Below),
        [GroupAct::Resume(BitsPerSec::new(6_250_000_000))]
    );
}
