//! Explicit: sends at the rate that its switch sets, and decides nothing.
//!
//! A flow starts at the rate of its link. Its first packet, and then one in every `request_interval` of sending, requests the
//! flow's rate from the switch; the answer holds from its arrival. A paused flow sends nothing, whatever rate arrives meanwhile, until a
//! message resumes it. What is under way is not bounded; losses and marks change nothing.
//!
//! Where no switch answers, flows stay at the rate of their links.
//!
//! Source: HierCC (APNet 2021), section 4: what hosts do under it.
//! Needs: switches that answer (`fabric.switch.hierarchical`). State: one word, parameters apart.

use super::{FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, SwitchMessage, Window};
use crate::params::{or_word, params};
use crate::{Acts, Start};
use forebay_units::{Span, Time};

params! {
    /// What a scenario may set on flows whose rate a switch sets.
    pub struct ExplicitParams {
        /// Time of sending after which the next packet requests the rate again; never: only the first does.
        request_interval: Period = Period(Some(Span::from_us(10))) => "APNet 2021, section 4",
    }
}

or_word! {
    /// How often something happens.
    pub struct Period: "never" or Span, "a time from 100ns to 1s, such as \"10us\"" if |t| (Span::from_ns(100)..=Span::from_secs(1)).contains(t);
}

/// A flow whose rate a switch sets.
#[derive(Clone, Debug)]
pub struct Explicit {
    request_interval: Span,
    paused: bool,
}

impl FlowLaw for Explicit {
    const NAME: &'static str = "explicit";
    const NEEDS: Needs = Needs { rate_request: Some(Span::from_us(10)), ..Needs::NONE };
    type Params = ExplicitParams;

    fn start(params: &ExplicitParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        acts.push(FlowAct::Window(Window::UNBOUNDED));
        acts.push(FlowAct::Rate(at.line_rate));
        Self { request_interval: params.request_interval.0.unwrap_or(Span::MAX), paused: false }
    }

    fn needs(&self) -> Needs {
        Needs { rate_request: Some(self.request_interval), ..Self::NEEDS }
    }

    #[inline]
    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let FlowEvent::Switch(message) = seen.event else { return };
        match message {
            SwitchMessage::Rate(_) if self.paused => {}
            SwitchMessage::Rate(rate) => acts.push(FlowAct::Rate(rate)),
            SwitchMessage::Pause => {
                self.paused = true;
                acts.push(FlowAct::Hold);
            }
            SwitchMessage::Resume(rate) => {
                self.paused = false;
                acts.push(FlowAct::Rate(rate));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rig;
    use forebay_units::BitsPerSec;
    extern crate std;

    #[test]
    fn the_rate_is_that_of_the_last_message_unless_paused() {
        let mut rig: Rig<Explicit> = Rig::new(&ExplicitParams::default(), 10);
        let gbps = BitsPerSec::from_gbps;
        let start = [FlowAct::Window(Window::UNBOUNDED), FlowAct::Rate(gbps(100))];
        assert!(rig.last.iter().eq(start));
        for (message, act) in [
            (SwitchMessage::Rate(gbps(3)), Some(FlowAct::Rate(gbps(3)))),
            (SwitchMessage::Pause, Some(FlowAct::Hold)),
            (SwitchMessage::Rate(gbps(4)), None),
            (SwitchMessage::Resume(gbps(2)), Some(FlowAct::Rate(gbps(2)))),
            (SwitchMessage::Rate(gbps(5)), Some(FlowAct::Rate(gbps(5)))),
            (SwitchMessage::Resume(gbps(6)), Some(FlowAct::Rate(gbps(6)))),
        ] {
            rig.event(FlowEvent::Switch(message));
            assert!(rig.last.iter().eq(act), "{message:?}");
        }
        rig.event(FlowEvent::Cnp);
        assert!(rig.last.is_empty());
    }

    #[test]
    fn never_requests_but_at_the_start() {
        let params = ExplicitParams { request_interval: Period(None) };
        let rig: Rig<Explicit> = Rig::new(&params, 10);
        assert_eq!(rig.law.needs().rate_request, Some(Span::MAX));
    }
}
