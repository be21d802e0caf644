//! Reno as Linux does it: one segment more per window, half on loss.
//!
//! Slow start doubles the window each round trip up to `ssthresh`; after that every window of
//! delivered bytes adds one segment. Loss, and a congestion mark where `ecn` is on, halves it, at least
//! to two segments. A timeout starts over from what is in flight plus one segment. Idleness halves the
//! window once per RTO, down to the initial window.
//!
//! Source: RFC 5681 section 3.1; Linux `tcp_reno_cong_avoid`, `tcp_reno_ssthresh`, `tcp_cwnd_restart`.
//! Needs: nothing, or the classic echo with `ecn`. State: 64 bytes. Integers only.
//! Deviation: counts bytes, grows in whole segments, so short segments count for what they carry.

use super::{Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs};
use crate::linux_window::LinuxWindow;
use crate::params::params;
use crate::{Acts, Start};
use forebay_units::Time;

params! {
    /// What a scenario may set on Reno.
    pub struct RenoParams {
        /// Whether packets are sent ECN-capable, so that a mark halves the window instead of a loss.
        ecn: bool = false => "Linux tcp_ecn = 2: ECN only where the peer asks",
    }
}

/// A flow under Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    window: LinuxWindow,
    ecn: bool,
}

impl FlowLaw for Reno {
    const NAME: &'static str = "reno";
    const NEEDS: Needs = Needs::NONE;
    type Params = RenoParams;

    fn start(params: &RenoParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        Self { window: LinuxWindow::new(&at, acts), ecn: params.ecn }
    }

    fn needs(&self) -> Needs {
        Needs { echo: if self.ecn { Echo::Classic } else { Echo::None }, ..Self::NEEDS }
    }

    #[inline]
    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { acked, ece, sample, .. } => {
                let newly = self.window.growth(seen.totals, acked, ece, sample);
                self.window.grow_reno(newly, acts);
            }
            FlowEvent::Enter(state) => {
                self.window.enter(state, seen.totals, self.window.half(), acts);
            }
            FlowEvent::Leave(state) => self.window.leave(state, acts),
            FlowEvent::Undo => self.window.undo(acts),
            FlowEvent::TxStart { idle, rto } => self.window.restart(idle, rto, acts),
            FlowEvent::Sent { .. } | FlowEvent::Cnp | FlowEvent::Nack | FlowEvent::Wake => {}
        }
    }
}
