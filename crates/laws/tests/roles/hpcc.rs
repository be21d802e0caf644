//! HPCC: window from the most loaded hop, always computed from the same reference window.

use super::*;
use forebay_laws::flow::Needs;

const ETA: f64 = 0.95;
const W_AI: f64 = 80.0;
const MAX_STAGE: u32 = 5;

#[derive(Clone)]
struct Hpcc {
    bdp: f64,
    base: Span,
    reference: f64,
    u: f64,
    stage: u32,
    last_update_seq: u64,
    last: [IntHop; 8],
    hops: usize,
}

impl FlowLaw for Hpcc {
    const NAME: &'static str = "hpcc";
    const NEEDS: Needs = Needs { int: true, every_packet: true, ..Needs::NONE };
    type Params = ();

    fn start(_: &(), at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let base = at.base_rtt.expect("HPCC is given its base RTT");
        let window = at.line_rate.bytes_in(base);
        acts.push(FlowAct::window(window));
        acts.push(FlowAct::Rate(at.line_rate));
        let bdp = window.get() as f64;
        let (last, hops) = ([IntHop::default(); 8], 0);
        Self { bdp, base, reference: bdp, u: 0.0, stage: 0, last_update_seq: 0, last, hops }
    }

    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let FlowEvent::Ack { hops, .. } = seen.event else { return };
        if self.hops == hops.len() {
            let update = seen.totals.una > self.last_update_seq;
            self.measure(hops);
            let window = self.window(update);
            if update {
                self.last_update_seq = seen.totals.nxt;
            }
            acts.push(FlowAct::window(Bytes::new(window as u64)));
            let rate = window * 8.0 / self.base.as_secs_f64();
            acts.push(FlowAct::Rate(BitsPerSec::new(rate as u64)));
        } else {
            self.last_update_seq = seen.totals.nxt;
        }
        self.hops = hops.len();
        self.last[..hops.len()].copy_from_slice(hops);
    }
}

impl Hpcc {
    fn measure(&mut self, hops: &[IntHop]) {
        let base = self.base.as_secs_f64();
        let (mut most, mut tau) = (0.0, 0.0);
        for (hop, last) in hops.iter().zip(&self.last) {
            let gap = hop.at.since(last.at).as_secs_f64();
            let rate = hop.rate.get() as f64 / 8.0;
            let queue = hop.queue.min(last.queue).get() as f64;
            let u = queue / (rate * base) + (hop.tx_bytes - last.tx_bytes) as f64 / gap / rate;
            if u > most {
                (most, tau) = (u, gap.min(base));
            }
        }
        self.u = (1.0 - tau / base) * self.u + tau / base * most;
    }

    fn window(&mut self, update: bool) -> f64 {
        let (window, stage) = if self.u >= ETA || self.stage >= MAX_STAGE {
            (self.reference / (self.u / ETA) + W_AI, 0)
        } else {
            (self.reference + W_AI, self.stage + 1)
        };
        let window = window.min(self.bdp);
        if update {
            (self.reference, self.stage) = (window, stage);
        }
        window
    }
}

/// Source: sheet hpcc, section 7.5. 100 Gb/s, T = 13 us: BDP = 12.5 B/ns * 13 000 ns = 162 500 B.
///
/// Queue 146 250 B = 0.9 BDP, port busy all the time: u = 0.9 + 1 = 1.9, and 1.9 / 0.95 = 2.
/// Every ACK of the round trip: W = 162 500 / 2 + 80 = 81 330 B, since the reference stays put;
/// the ACK beyond it moves the reference once, to 81 330 B.
/// Rate = 81 330 * 8 / 13 us = 50 049 230 769 bit/s (rounded down).
#[test]
fn every_ack_of_a_round_trip_gives_the_same_window() {
    let t = Span::from_us(13);
    let line = BitsPerSec::from_gbps(100);
    let mut first = Acts::default();
    let mut law = Hpcc::start(&(), start(t, line), &mut first);
    assert_eq!(first.iter().next(), Some(FlowAct::window(Bytes::new(162_500))));

    let mut totals = Totals { nxt: 20_000, ..Totals::default() };
    let mut hop = IntHop { rate: line, queue: Bytes::new(146_250), ..IntHop::default() };
    let sample = AckSample::default();
    let mut run = |gap: Span, una| {
        hop.at += gap;
        hop.tx_bytes += line.bytes_in(gap).get();
        totals.una = una;
        step(&mut law, Time::ZERO, &totals, ack(1000, &sample, None, &[hop]))
    };
    assert_eq!(run(Span::ZERO, 1000), [], "the first ACK only stores");
    // One gap of T makes U = u at once; the others then keep it.
    let mut gap = t;
    for una in (2000..=20_000).step_by(1000) {
        let acts = run(gap, una);
        let [FlowAct::Window(window), FlowAct::Rate(rate)] = acts[..] else { panic!("{acts:?}") };
        assert!(window.bytes().get().abs_diff(81_330) <= 1, "{una}: {window:?}");
        assert!(rate.get().abs_diff(50_049_230_769) < 1000, "{rate}");
        gap = Span::from_ns(100);
    }
    run(gap, 21_000);
    assert!((law.reference - 81_330.0).abs() < 1e-3, "halved once: {}", law.reference);
}
