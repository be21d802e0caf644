//! NDP: the receiver pulls a packet for each that came, whole or as a header, and all senders in turns.
//!
//! A message's first window comes unasked. Every packet that arrives, or whose header does since a switch cut its payload off, lets the
//! sender send one more: first what was cut off, then what is new. Pulls leave at the pace at which the data that they request fills
//! the receiver's link, one message after another.
//!
//! Source: Handley et al., SIGCOMM 2017, section 3; pace: the public simulator (htsim), a packet and its pull's 64 B per interval.
//! Needs: switches that trim and forward headers first, spraying. State: 48 bytes. Integers only.
//! Deviation: a message that was silent for long gets a packet's credit, since in this model the receiver knows its length; the
//! paper's sender has a timer.

use super::{First, GrantAct, GrantEvent, GrantLaw, GrantNeeds, GrantSeen, GrantStart, Order};
use crate::{Acts, Paths};
use forebay_units::{Bytes, Span, Time};

/// Bytes of a pull on the wire. Source: htsim.
const PULL: Bytes = Bytes::new(64);

/// A receiving host under NDP.
#[derive(Clone, Debug)]
pub struct Ndp {
    mss: Bytes,
    gap: Span,  // from pull to pull
    next: Time, // no pull before this
}

impl GrantLaw for Ndp {
    const NAME: &'static str = "ndp";
    const ORDER: Order = Order::Turns;
    const NEEDS: GrantNeeds =
        GrantNeeds { first: First::Window, paths: Paths::Spray, trims: true, classes: 2 };
    type Params = ();

    fn start(_: &(), now: Time, at: GrantStart, _acts: &mut Acts<GrantAct>) -> Self {
        let gap = at.line_rate.time_for(at.packet.saturating_add(PULL));
        Self { mss: at.mss, gap, next: now }
    }

    fn step(&mut self, now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>) {
        let silent = match seen.event {
            GrantEvent::Silent { message } => Some(message),
            _ => None,
        };
        let mut due = seen.open.iter().filter(|open| {
            let room = open.under_way() < open.unscheduled || silent == Some(open.message);
            room && open.uncredited() > Bytes::ZERO
        });
        let Some(open) = due.next() else { return };
        if now < self.next {
            acts.push(GrantAct::WakeAt(self.next));
            return;
        }
        self.next = now.saturating_add(self.gap);
        acts.push(GrantAct::Grant {
            message: open.message,
            credit: open.credited.saturating_add(self.mss.min(open.uncredited())),
            priority: 0,
        });
        acts.push(GrantAct::WakeAt(self.next));
    }
}

#[cfg(test)]
mod tests;
