//! Swift, fabric window with a fixed target: cuts by the excess of the delay, less than a packet allowed.

use super::*;
use forebay_laws::flow::{CaState, Needs, Window};

const TARGET: Span = Span::from_us(50);

#[derive(Clone)]
struct Swift {
    mss: f64,
    cwnd: f64, // packets
    decreased: Time,
}

impl FlowLaw for Swift {
    const NAME: &'static str = "swift";
    const NEEDS: Needs = Needs { stamps: true, own_cwr: true, ..Needs::NONE };
    const FLOOR_MILLI_MSS: u32 = 1;
    type Params = ();

    fn start(_: &(), at: Start, acts: &mut Acts<FlowAct>) -> Self {
        acts.push(FlowAct::window(at.initial_window));
        let mss = at.mss.get() as f64;
        Self { mss, cwnd: at.initial_window.get() as f64 / mss, decreased: Time::ZERO }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let rtt = seen.totals.srtt;
        let may_cut = now.since(self.decreased) >= rtt;
        let before = self.cwnd;
        match seen.event {
            FlowEvent::Ack { acked, delay: Some(delay), .. } => {
                let acked = acked.get() as f64 / self.mss;
                if delay.fabric() < TARGET {
                    self.cwnd += if self.cwnd >= 1.0 { acked / self.cwnd } else { acked };
                } else if may_cut {
                    let excess = delay.fabric().saturating_sub(TARGET).as_secs_f64();
                    self.cwnd *= (1.0 - 0.8 * excess / delay.fabric().as_secs_f64()).max(0.5);
                }
            }
            FlowEvent::Enter(CaState::Recovery | CaState::Loss) if may_cut => self.cwnd *= 0.5,
            _ => return,
        }
        self.cwnd = self.cwnd.clamp(0.001, 1000.0);
        if self.cwnd < before {
            self.decreased = now;
        }
        acts.push(FlowAct::Window(Window::from_raw((self.cwnd * self.mss * 256.0) as u64)));
        let gap = if self.cwnd < 1.0 { rtt.as_ps() as f64 / self.cwnd } else { 0.0 };
        acts.push(FlowAct::Gap(Span::from_ps(gap as u64)));
    }
}

/// Source: sheet swift, section 7.3, with beta 0.8 and a target of 50 us.
///
/// Delay 100 us: 1 - 0.8 * (100-50)/100 = 0.6, so 10 packets become 6; at once again: nothing, it is
/// within one round trip. Delay 250 us: 1 - 0.8 * 200/250 = 0.36, limited to 0.5: 3 packets.
/// From 0.25 packets, 100 us: 0.15 packets, and a gap of 60 us / 0.15 = 400 us.
#[test]
fn cuts_follow_the_delay_down_to_parts_of_a_packet() {
    let at = start(Span::from_us(20), BitsPerSec::from_gbps(100));
    let mut law = Swift::start(&(), at, &mut Acts::default());
    let totals = Totals { srtt: Span::from_us(60), ..Totals::default() };
    let sample = AckSample::default();
    let mut now = Time::ZERO;
    let mut run = |law: &mut Swift, wait, delay| {
        now += Span::from_us(wait);
        let split = DelaySplit { forward: Span::from_us(delay), hops: 3, ..DelaySplit::default() };
        let acts = step(law, now, &totals, ack(MSS, &sample, Some(&split), &[]));
        let [FlowAct::Window(window), FlowAct::Gap(gap)] = acts[..] else { panic!("{acts:?}") };
        let packets = window.raw() as f64 / 256.0 / MSS as f64;
        ((packets * 1000.0).round() as u64, gap.as_us())
    };
    assert_eq!(run(&mut law, 60, 100), (6000, 0));
    assert_eq!(run(&mut law, 1, 100), (6000, 0), "one cut per round trip");
    assert_eq!(run(&mut law, 60, 250), (3000, 0));
    law.cwnd = 0.25;
    let (milli_packets, gap) = run(&mut law, 60, 100);
    assert_eq!(milli_packets, 150);
    assert!(gap.abs_diff(400) <= 1, "{gap} us");
    // Below one packet an ACK of one packet adds a whole one: 0.15 + 1.
    assert_eq!(run(&mut law, 1, 40), (1150, 0));
}
