//! Halve: adds segments per window of unmarked ACKs, halves on the first mark or loss of a window.
//!
//! A law for teaching.
//!
//! Source: none.
//! Needs: the exact ECN echo. State: 32 bytes.
//! Deviation: no slow start.

use forebay_laws::flow::{CaState, Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs};
use forebay_laws::params::SomePackets;
use forebay_laws::{Acts, Start, params};
use forebay_units::{Bytes, Time};

params! {
    /// Parameters of Halve.
    pub struct HalveParams {
        /// Segments by which the window grows per round trip.
        growth: SomePackets = SomePackets::new(1) => "none, a law for teaching",
    }
}

/// A flow under Halve.
#[derive(Clone, Debug)]
pub struct Halve {
    mss: Bytes,
    growth: Bytes,
    cwnd: Bytes,   // never below `mss`
    credit: Bytes, // bytes acknowledged since the last increase
}

impl FlowLaw for Halve {
    const NAME: &'static str = "halve";
    const NEEDS: Needs = Needs { echo: Echo::Exact, own_cwr: true, ..Needs::NONE };
    type Params = HalveParams;

    fn start(params: &HalveParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let cwnd = at.initial_window.max(at.mss);
        acts.push(FlowAct::window(cwnd));
        let growth = Bytes::new(at.mss.get().saturating_mul(params.growth.get()));
        Self { mss: at.mss, growth, cwnd, credit: Bytes::ZERO }
    }

    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { acked, ece: false, .. }
                if seen.totals.state == CaState::Open && seen.totals.cwnd_limited =>
            {
                self.credit = self.credit.saturating_add(acked);
                if self.credit < self.cwnd {
                    return;
                }
                self.credit -= self.cwnd;
                self.cwnd = self.cwnd.saturating_add(self.growth);
            }
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery) => {
                self.cwnd = self.mss.max(self.cwnd / 2);
                acts.push(FlowAct::Ssthresh(self.cwnd));
            }
            FlowEvent::Enter(CaState::Loss) => {
                self.cwnd = self.mss;
                acts.push(FlowAct::Ssthresh(self.cwnd));
            }
            _ => return,
        }
        acts.push(FlowAct::window(self.cwnd));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_laws::flow::{AckSample, Totals};
    use forebay_units::BitsPerSec;

    /// The last answer of a flow with a window of ten segments of 1,000 bytes.
    fn answer(params: HalveParams, events: &[FlowEvent<'_>]) -> Vec<FlowAct> {
        let (mss, initial_window) = (Bytes::new(1_000), Bytes::new(10_000));
        let line_rate = BitsPerSec::from_gbps(100);
        let start = Start { mss, initial_window, line_rate, base_rtt: None, seed: 1 };
        let mut acts = Acts::default();
        let mut flow = Halve::start(&params, start, &mut acts);
        let totals = Totals { cwnd_limited: true, ..Totals::default() };
        for event in events {
            acts.clear();
            flow.step(Time::ZERO, FlowSeen { totals: &totals, event: *event }, &mut acts);
        }
        acts.iter().collect()
    }

    #[test]
    fn the_window_grows_by_a_segment_per_window_and_halves_on_a_mark() {
        let (usual, fast) = (HalveParams::default(), HalveParams { growth: SomePackets::new(4) });
        let (sample, acked) = (AckSample::default(), Bytes::new(10_000));
        let ack = FlowEvent::Ack { acked, ece: false, sample: &sample, delay: None, hops: &[] };
        let window = |bytes| FlowAct::window(Bytes::new(bytes));
        assert_eq!(answer(usual, &[ack]), [window(11_000)]);
        assert_eq!(answer(fast, &[ack]), [window(14_000)]);
        let halved = [FlowAct::Ssthresh(Bytes::new(5_500)), window(5_500)];
        assert_eq!(answer(usual, &[ack, FlowEvent::Enter(CaState::Cwr)]), halved);
    }
}
