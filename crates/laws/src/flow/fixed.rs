//! Fixed: line rate and a fixed window, without any reaction.
//!
//! A flow sends as fast as its NIC, with at most `window` bytes in flight. Marks, delays and losses change nothing. The
//! transport still sends lost data again. Large training clusters run RDMA in this way: PFC keeps the fabric lossless, and the
//! collective library bounds what is in flight. Without PFC full queues drop packets.
//!
//! Source: Gangidi et al., SIGCOMM 2024 (RoCE at Meta: DCQCN off, PFC on); NCCL 2.30 (`NCCL_STEPS`, `computeBuffSizes`): at most 8
//! buffers of 512 KiB in flight per connection.
//! Needs: nothing. State: 8 bytes. Integers only.

use super::{CaState, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Window};
use crate::params::{or_word, params};
use crate::{Acts, Start};
use forebay_units::{Bytes, Time};

params! {
    /// Parameters of Fixed.
    pub struct FixedParams {
        /// Most bytes in flight; a segment at least. "none": the NIC alone limits a flow.
        window: MostInFlight = MostInFlight(Some(Bytes::new(4 << 20))) => "NCCL 2.30: 8 buffers of 512 KiB per connection",
    }
}

or_word! {
    /// Most bytes in flight.
    pub struct MostInFlight: "none" or Bytes, "a size from 1B to 1TB, such as \"4MiB\"" if |size| (1..=1_000_000_000_000).contains(&size.get());
}

/// A flow with a window that never changes.
#[derive(Clone, Debug)]
pub struct Fixed {
    window: Window, // invariant: a segment at least
}

impl FlowLaw for Fixed {
    const NAME: &'static str = "fixed";
    const NEEDS: Needs = Needs::NONE;
    type Params = FixedParams;

    fn start(params: &FixedParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let bounded = |bytes: Bytes| Window::from_bytes(bytes.max(at.mss));
        let window = params.window.0.map_or(Window::UNBOUNDED, bounded);
        acts.push(FlowAct::Window(window));
        Self { window }
    }

    /// A threshold answers each loss, so that TCP's recovery aims at the same window.
    #[inline]
    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        if let FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) = seen.event {
            acts.push(FlowAct::Ssthresh(self.window.bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, Rig};
    extern crate std;

    #[test]
    fn no_event_changes_the_window() {
        let window = FlowAct::window(Bytes::new(4_194_304));
        let mut rig: Rig<Fixed> = Rig::new(&FixedParams::default(), 10);
        assert!(rig.last.iter().eq([window]), "4 MiB from the start");
        for _ in 0..3 {
            rig.ack(2 * MSS, false);
            assert!(rig.last.is_empty());
            rig.ack(2 * MSS, true);
            assert!(rig.last.is_empty());
            for event in [FlowEvent::Cnp, FlowEvent::Nack, FlowEvent::Undo, FlowEvent::Wake] {
                rig.event(event);
                assert!(rig.last.is_empty(), "{event:?}");
            }
            for state in [CaState::Cwr, CaState::Recovery, CaState::Loss] {
                rig.event(FlowEvent::Enter(state));
                assert!(rig.last.iter().eq([FlowAct::Ssthresh(Bytes::new(4_194_304))]));
                rig.event(FlowEvent::Leave(state));
                assert!(rig.last.is_empty(), "{state:?}");
            }
        }
    }

    #[test]
    fn a_window_is_a_segment_at_least_and_none_bounds_nothing() {
        let first = |window| {
            let rig: Rig<Fixed> = Rig::new(&FixedParams { window: MostInFlight(window) }, 10);
            rig.last
        };
        assert!(first(Some(Bytes::new(1))).iter().eq([FlowAct::window(Bytes::new(MSS))]));
        assert!(first(Some(Bytes::new(9_999))).iter().eq([FlowAct::window(Bytes::new(9_999))]));
        assert!(first(None).iter().eq([FlowAct::Window(Window::UNBOUNDED)]));
    }
}
