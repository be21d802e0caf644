//! Actions of laws of role `flow`, done by the senders that obey them.

use forebay_laws::Acts;
use forebay_laws::flow::{FlowAct, Window};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// A sender that does what a law says.
pub(crate) trait ControlledSender {
    fn set_window(&mut self, window: Window);
    fn set_ssthresh(&mut self, bytes: Bytes);
    /// Another rate, which ends a hold.
    fn set_rate(&mut self, now: Time, rate: BitsPerSec);
    fn set_gap(&mut self, now: Time, gap: Span);
    /// Nothing leaves before the next rate.
    fn hold(&mut self);
    fn wake_at(&mut self, at: Time);

    /// Does all actions in order: of a kind, the last one holds.
    #[inline]
    fn apply(&mut self, now: Time, acts: &Acts<FlowAct>) {
        for act in acts.iter() {
            match act {
                FlowAct::Window(window) => self.set_window(window),
                FlowAct::Ssthresh(bytes) => self.set_ssthresh(bytes),
                FlowAct::Rate(rate) => self.set_rate(now, rate),
                FlowAct::Gap(gap) => self.set_gap(now, gap),
                FlowAct::Hold => self.hold(),
                FlowAct::WakeAt(at) => self.wake_at(at),
                _ => unreachable!("the actions of this version are above"),
            }
        }
    }
}
