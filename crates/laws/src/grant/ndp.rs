//! NDP: the receiver pulls one packet for each packet or header that arrives, and serves senders in turn.
//!
//! A message's first window comes unasked. Every packet that arrives, or whose header does since a switch cut its payload off, lets the
//! sender send one more: first what was cut off, then what is new. Pulls leave at the pace at which the data that they request fills
//! the receiver's link, one message after another.
//!
//! Source: Handley et al., SIGCOMM 2017, section 3; pace: 0.99 of the link, as in runs of the public simulator (htsim) with pulls at 0.99. The 64 B
//! that htsim adds to the payload of a packet for the interval are the header of data, not a pull: the interval is that of the packet on
//! the wire.
//! Needs: switches that trim and forward headers first, spraying. State: 72 bytes. Integers only; the pace has no drift.
//! Deviation: unless `known_size` is false, a receiver sends no pull that its sender has no packet for; the paper's receivers send them until
//! the last packet has come. A message that was silent for long gets a packet's credit, since in this model the receiver knows its length; the
//! paper's sender has a timer.

use super::{
    GrantAct, GrantEvent, GrantLaw, GrantNeeds, GrantSeen, GrantStart, Order, UnscheduledBytes,
};
use crate::params::{decimal, params, whole};
use crate::{Acts, Paths};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};

params! {
    /// What a scenario may set on NDP.
    pub struct NdpParams {
        /// Whether a receiver knows the size of a message, and pulls nothing beyond it.
        known_size: bool = true => "this model; SIGCOMM 2017, section 3.2: false",
        /// Part of the receiver's link that pulled data fills; below 1 queues drain, above 1 they stay full and the switch trims what is too much.
        pace: Pace = Pace::new(0.99) => "Broadcom/csg-htsim; the simulator of SIGCOMM 2017: payload's time on the link, 1.0071 for 9,000 B in 9,064",
        /// Whether a payload that was cut off on the way to a switch makes a message's window a packet smaller, down to two packets. A packet comes back in each round trip.
        core_backoff: bool = false => "Broadcom/csg-htsim, oversubscribed_cc: false",
        /// Whether a sender leaves out paths whose packets are cut off more often than those of others. It needs routing = "source" and messages of some hundred packets a path.
        path_penalty: bool = false => "Broadcom/csg-htsim: false, but for its strategy PULL_BASED; NDP itself: true",
        /// How many numbers a sender has for its paths, each of which stands for a path that is drawn once; 0: each path has one number. Some paths then have more than others, as where switches hash a number of the packet. It needs routing = "source".
        path_numbers: PathNumbers = PathNumbers(0) => "Broadcom/csg-htsim: its strategies ECMP_FIB and ECMP_RANDOM_HOST, with -paths",
    }
}

whole! {
    /// How many numbers stand for paths.
    pub struct PathNumbers: "whole number" from 0 to 32768;
}

decimal! {
    /// Part of a link, to a millionth.
    pub struct Pace: "share" from 0.5 to 1.1;
}

/// A receiving host under NDP.
#[derive(Clone, Debug)]
pub struct Ndp {
    mss: Bytes,
    packet: Bytes,    // on the wire
    pace: Serializer, // of these
    next: Time,       // no pull before this
}

impl GrantLaw for Ndp {
    const NAME: &'static str = "ndp";
    const ORDER: Order = Order::Turns;
    const NEEDS: GrantNeeds = GrantNeeds {
        first: UnscheduledBytes::Window,
        paths: Paths::Spray,
        trims: true,
        acks: true,
        resend_after: Span::from_ms(1), // SIGCOMM 2017: its RTO
        tries: 0,
        busy: false,
        classes: 1,
    };
    type Params = NdpParams;

    fn knows_size(params: &NdpParams) -> bool {
        params.known_size
    }

    fn backs_off(params: &NdpParams) -> bool {
        params.core_backoff
    }

    fn scores_paths(params: &NdpParams) -> bool {
        params.path_penalty
    }

    fn path_numbers(params: &NdpParams) -> u16 {
        params.path_numbers.get() as u16
    }

    fn start(params: &NdpParams, now: Time, at: GrantStart, _acts: &mut Acts<GrantAct>) -> Self {
        let millionths = (params.pace.get() * 1e6 + 0.5) as u128;
        let pace = u128::from(at.line_rate.get()) * millionths / 1_000_000;
        let pace = BitsPerSec::new(u64::try_from(pace).unwrap_or(u64::MAX).max(1));
        Self { mss: at.mss, packet: at.packet, pace: Serializer::new(pace), next: now }
    }

    #[inline]
    fn waits_until(&self) -> Time {
        self.next
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
        if now > self.next {
            self.pace = Serializer::new(self.pace.rate()); // idle: the fraction of a picosecond that it still owed is over
        }
        self.next = now.saturating_add(self.pace.take(self.packet.get()));
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
