//! DCQCN, reaction point in the paper's form: rate law with timers and a byte counter.

use super::*;
use forebay_laws::flow::{Echo, Needs};

const K: Span = Span::from_us(55);
const T: Span = Span::from_us(55);
const B: u64 = 10_000_000;
const F: u64 = 5;
const R_AI: f64 = 40e6;

#[derive(Clone)]
struct Dcqcn {
    line: f64,
    current: f64,
    target: f64,
    alpha: f64,
    alpha_due: Time,
    increase_due: Time,
    time_stage: u64,
    byte_stage: u64,
    bytes: u64,
}

impl FlowLaw for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const NEEDS: Needs = Needs { echo: Echo::Cnp, ..Needs::NONE };
    type Params = ();

    fn start(_: &(), at: Start, acts: &mut Acts<FlowAct>) -> Self {
        acts.push(FlowAct::Rate(at.line_rate));
        let line = at.line_rate.get() as f64;
        let (alpha_due, increase_due) = (Time::MAX, Time::MAX);
        let (time_stage, byte_stage, bytes) = (0, 0, 0);
        Self {
            line,
            current: line,
            target: line,
            alpha: 1.0,
            alpha_due,
            increase_due,
            time_stage,
            byte_stage,
            bytes,
        }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let before = self.current;
        match seen.event {
            FlowEvent::Cnp => {
                self.target = self.current;
                self.current *= 1.0 - self.alpha / 2.0;
                self.alpha = (1.0 - 1.0 / 256.0) * self.alpha + 1.0 / 256.0;
                (self.time_stage, self.byte_stage, self.bytes) = (0, 0, 0);
                (self.alpha_due, self.increase_due) = (now + K, now + T);
            }
            FlowEvent::Sent { bytes } if self.increase_due != Time::MAX => {
                self.bytes += bytes.get();
                if self.bytes >= B {
                    self.bytes -= B;
                    self.byte_stage += 1;
                    self.increase();
                }
            }
            FlowEvent::Wake => {
                if now >= self.alpha_due {
                    self.alpha *= 1.0 - 1.0 / 256.0;
                    self.alpha_due = now + K;
                }
                if now >= self.increase_due {
                    self.time_stage += 1;
                    self.increase();
                    self.increase_due = now + T;
                }
            }
            _ => return,
        }
        if self.current != before {
            acts.push(FlowAct::Rate(BitsPerSec::new(self.current as u64)));
        }
        acts.push(FlowAct::WakeAt(self.alpha_due.min(self.increase_due)));
    }
}

impl Dcqcn {
    fn increase(&mut self) {
        if self.time_stage.max(self.byte_stage) >= F {
            self.target = self.line.min(self.target + R_AI);
        }
        self.current = (self.target + self.current) / 2.0;
    }
}

/// Source: sheet dcqcn, section 7.3. Line 40 Gb/s, one CNP with alpha 1, then silence:
/// 40 * (1 - 1/2) = 20; (40+20)/2 = 30; 35; 37.5; 38.75; the fifth is additive with the target capped
/// at line: (40 + 38.75)/2 = 39.375.
#[test]
fn one_cnp_halves_and_five_timers_recover() {
    let line = BitsPerSec::from_gbps(40);
    let mut law = Dcqcn::start(&(), start(Span::from_us(10), line), &mut Acts::default());
    let totals = Totals::default();
    let mut now = Time::ZERO + Span::from_us(1);
    let mut acts = step(&mut law, now, &totals, FlowEvent::Cnp);
    let mut rates = Vec::new();
    for _ in 0..6 {
        let [FlowAct::Rate(rate), FlowAct::WakeAt(at)] = acts[..] else { panic!("{acts:?}") };
        rates.push(rate.get() / 1_000_000);
        let early = now + Span::from_us(1);
        let spurious = step(&mut law, early, &totals, FlowEvent::Wake);
        assert_eq!(spurious, [FlowAct::WakeAt(at)]);
        now = at;
        acts = step(&mut law, now, &totals, FlowEvent::Wake);
    }
    assert_eq!(rates, [20_000, 30_000, 35_000, 37_500, 38_750, 39_375]);
    // Six timers, each (1 - 1/256), from alpha = 1.
    assert!((law.alpha - (255.0f64 / 256.0).powi(6)).abs() < 1e-12);
}

/// 10 MB sent is a step of its own: from 20 Gb/s, (40 + 20)/2 = 30.
#[test]
fn bytes_sent_raise_the_rate_too() {
    let line = BitsPerSec::from_gbps(40);
    let mut law = Dcqcn::start(&(), start(Span::from_us(10), line), &mut Acts::default());
    let totals = Totals::default();
    step(&mut law, Time::ZERO, &totals, FlowEvent::Cnp);
    let sent = FlowEvent::Sent { bytes: Bytes::new(10_000_000) };
    let acts = step(&mut law, Time::ZERO, &totals, sent);
    assert_eq!(acts[0], FlowAct::Rate(BitsPerSec::from_gbps(30)));
}
