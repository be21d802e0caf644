//! Destinations that the switch has paused: when a pause has been in force for a while the host requests to resume, since the message
//! that ends it can be lost on the cable. A pause that is lost needs nothing: flows that go on request their rate.
//!
//! Source: none, HierCC (APNet 2021) has no losses. Assumption: [`PAUSED_FOR`] times as long as a queue waits for a credit that may be lost, since
//! a queue that drains slowly may well stop its hosts for that long.

use super::Host;
use super::timers::Due;
use forebay_units::{Span, Time};
use forebay_wire::{HostAddr, Packet};

/// How a host requests to resume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResumeRequests {
    /// Time without a message of the switch before each request.
    pub after: Span,
    /// Size of the packet.
    pub size: u16,
}

/// In terms of `fabric.switch.hierarchical.request_timeout`.
pub(crate) const PAUSED_FOR: u64 = 10;

/// Hosts that the switch has paused flows to, with the time of the next request.
#[derive(Clone, Debug, Default)]
pub(super) struct PausedDestinations {
    to: Vec<(HostAddr, Time)>,
    armed: bool,
}

impl Host {
    /// The switch has paused or resumed the flows to a host.
    pub(super) fn note_pause(&mut self, now: Time, to: HostAddr, paused: bool) {
        let Some(ResumeRequests { after, .. }) = self.common.resume_requests else { return };
        if paused {
            let pauses = &mut self.send.paused.get_or_insert_default().to;
            match pauses.iter_mut().find(|pause| pause.0 == to) {
                Some(pause) => pause.1 = now + after,
                None => pauses.push((to, now + after)),
            }
            self.arm_resume_requests();
        } else if let Some(pauses) = &mut self.send.paused {
            pauses.to.retain(|pause| pause.0 != to);
        }
    }

    fn arm_resume_requests(&mut self) {
        let Some(pauses) = self.send.paused.as_mut().filter(|pauses| !pauses.armed) else { return };
        if let Some(at) = pauses.to.iter().map(|pause| pause.1).min() {
            pauses.armed = true;
            self.timers.push(at, Due::ResumeRequest, 0);
        }
    }

    /// Requests to resume where a pause has been in force for long and a flow waits.
    #[cold]
    pub(super) fn resume_request_due(&mut self, now: Time) {
        let (Some(mut pauses), Some(requests)) =
            (self.send.paused.take(), self.common.resume_requests)
        else {
            return;
        };
        pauses.armed = false;
        pauses.to.retain(|(to, at)| *at > now || self.sends_to(*to));
        for (to, at) in pauses.to.iter_mut().filter(|pause| pause.1 <= now) {
            *at = now + requests.after;
            self.nic.enqueue(now, &Packet::resume_request(*to, requests.size));
        }
        self.send.paused = Some(pauses);
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
