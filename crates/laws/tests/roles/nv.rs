//! TCP-NV, mainline form: the decision of section B.3, without growth, resets and the adaptive floor.

use super::*;

#[derive(Clone)]
struct Nv {
    mss: u64,
    cwnd: u64, // packets
    base_us: u64,
    last_rtt: u64,
    min_rtt: u64,
    max_rate: u64, // 100 bit/s
    rtt_start_seq: u64,
    calls: u64,
    rtts: u64,
}

impl FlowLaw for Nv {
    const NAME: &'static str = "nv";
    const NEEDS: forebay_laws::flow::Needs = forebay_laws::flow::Needs::NONE;
    type Params = ();

    fn start(_: &(), at: Start, acts: &mut Acts<FlowAct>) -> Self {
        acts.push(FlowAct::window(at.initial_window));
        let mss = at.mss.get();
        Self {
            mss,
            cwnd: at.initial_window.get() / mss,
            base_us: at.base_rtt.map_or(0, Span::as_us),
            last_rtt: 0,
            min_rtt: u64::MAX,
            max_rate: 0,
            rtt_start_seq: 0,
            calls: 0,
            rtts: 0,
        }
    }

    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let FlowEvent::Ack { sample, .. } = seen.event else { return };
        let Some(rtt) = sample.rtt.map(Span::as_us) else { return };
        // In flight as Linux has measured it since 5.16: delivered during the sample's flight.
        let in_flight = seen.totals.delivered - sample.delivered_at_send;
        let average = if self.last_rtt > 0 { (rtt * 128 + self.last_rtt * 128) / 256 } else { rtt };
        self.last_rtt = average;
        self.max_rate = self.max_rate.max(in_flight * 80_000 / average);
        self.calls += 1;
        let (low, high) = (self.base_us * 205 / 256, self.base_us);
        self.min_rtt = self.min_rtt.min(average.clamp(low, high));
        if self.rtt_start_seq >= seen.totals.una {
            return;
        }
        self.rtt_start_seq = seen.totals.nxt;
        self.rtts += 1;
        let target = self.max_rate * self.min_rtt / (80_000 * self.mss);
        let max_win = target + 10;
        if self.cwnd > max_win && self.rtts >= 2 && self.calls >= 60 {
            self.cwnd -= ((self.cwnd - max_win) * 38 / 128).max(2);
            acts.push(FlowAct::Ssthresh(Bytes::new(max_win * self.mss)));
            acts.push(FlowAct::window(Bytes::new(self.cwnd * self.mss)));
        }
    }
}

/// Source: sheet tcp-nv, section D.4. cwnd 100, 100 packets in flight, rtt 200 us, base 100 us.
///
/// rate = 100 * 1448 * 80000 / 200 = 57 920 000 (units of 100 bit/s);
/// target = 57 920 000 * 100 / (80 000 * 1448) = 50 packets; max_win = 50 + 10 = 60;
/// excess = 100 - 60 = 40; 40 * 38 / 128 = 11 (11.875 rounded down); cwnd = 100 - 11 = 89; ssthresh = 60.
/// The first round trip ends at the first ACK, the second when `una` has passed the `nxt` of then, 101
/// ACKs later: 102 samples, above 60.
#[test]
fn decreases_from_100_to_89_after_60_samples() {
    let mut at = start(Span::from_us(100), BitsPerSec::from_gbps(10));
    at.initial_window = Bytes::new(100 * MSS);
    let mut nv = Nv::start(&(), at, &mut Acts::default());
    // The middle of a long transfer: 100 segments delivered before, 100 in flight.
    let mut totals = Totals { una: 100 * MSS, delivered: 100 * MSS, ..Totals::default() };
    let mut decided = Vec::new();
    for n in 1..=101 {
        totals.una += MSS;
        totals.delivered += MSS;
        totals.nxt = totals.una + 100 * MSS;
        let sample = AckSample {
            rtt: Some(Span::from_us(200)),
            delivered_at_send: totals.delivered - 100 * MSS,
            inflight_at_send: Bytes::new(100 * MSS),
            ..AckSample::default()
        };
        let acts = step(&mut nv, Time::ZERO, &totals, ack(MSS, &sample, None, &[]));
        decided.extend(acts.into_iter().map(|act| (n, act)));
    }
    assert_eq!(decided, []);
    totals.una += MSS;
    totals.delivered += MSS;
    let sample = AckSample {
        rtt: Some(Span::from_us(200)),
        delivered_at_send: totals.delivered - 100 * MSS,
        ..AckSample::default()
    };
    assert_eq!(
        step(&mut nv, Time::ZERO, &totals, ack(MSS, &sample, None, &[])),
        [FlowAct::Ssthresh(Bytes::new(60 * MSS)), FlowAct::window(Bytes::new(89 * MSS)),]
    );
}
