//! Destinations that the switch has paused: when a pause has been in force for a while the host requests to resume, since the message
//! that ends it can be lost on the cable. A pause that is lost needs nothing: flows that go on request their rate.
//!
//! Source: none, HierCC (APNet 2021) has no losses. Assumption: [`ASKS_AFTER`] times as long as a queue waits for a credit that may be lost, since
//! a queue that drains slowly may well stop its hosts for that long.

use super::Host;
use super::timers::Due;
use forebay_units::{Span, Time};
use forebay_wire::{HostAddr, Packet};

/// How a host asks whether it is still stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    /// When it has heard nothing for so long.
    pub after: Span,
    /// Size of the packet.
    pub size: u16,
}

/// In terms of `fabric.switch.hierarchical.ask_again`.
pub(crate) const ASKS_AFTER: u64 = 10;

/// Hosts that the switch has stopped flows to, with the time at which to ask.
#[derive(Clone, Debug, Default)]
pub(super) struct PausedDestinations {
    to: Vec<(HostAddr, Time)>,
    armed: bool,
}

impl Host {
    /// The switch has said whether flows to a host are stopped.
    pub(super) fn note_pause(&mut self, now: Time, to: HostAddr, stopped: bool) {
        let Some(Asking { after, .. }) = self.common.asking else { return };
        if stopped {
            let stops = &mut self.send.paused.get_or_insert_default().to;
            match stops.iter_mut().find(|stop| stop.0 == to) {
                Some(stop) => stop.1 = now + after,
                None => stops.push((to, now + after)),
            }
            self.arm_resume_requests();
        } else if let Some(stops) = &mut self.send.paused {
            stops.to.retain(|stop| stop.0 != to);
        }
    }

    fn arm_resume_requests(&mut self) {
        let Some(stops) = self.send.paused.as_mut().filter(|stops| !stops.armed) else { return };
        if let Some(at) = stops.to.iter().map(|stop| stop.1).min() {
            stops.armed = true;
            self.timers.push(at, Due::ResumeRequest, 0);
        }
    }

    /// Asks about stops that have been in force for long, as far as there is somebody to go on.
    #[cold]
    pub(super) fn resume_request_due(&mut self, now: Time) {
        let (Some(mut stops), Some(asking)) = (self.send.paused.take(), self.common.asking) else {
            return;
        };
        stops.armed = false;
        stops.to.retain(|(to, at)| *at > now || self.sends_to(*to));
        for (to, at) in stops.to.iter_mut().filter(|stop| stop.1 <= now) {
            *at = now + asking.after;
            self.nic.enqueue(now, &Packet::resume_request(*to, asking.size));
        }
        self.send.paused = Some(stops);
        self.arm_resume_requests();
    }

    fn sends_to(&self, to: HostAddr) -> bool {
        self.unfinished().any(|(sent, _)| self.goes_to(sent.flow, to))
    }

    /// Whether a flow goes to a host.
    pub(super) fn goes_to(&self, flow: u32, to: HostAddr) -> bool {
        self.common.addrs[self.common.flows[flow as usize].dst as usize] == to
    }
}
