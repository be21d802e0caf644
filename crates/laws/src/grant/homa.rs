//! Homa: the receiver grants the messages with the fewest remaining bytes, each one round trip ahead.
//!
//! A message's first `rtt_bytes` come unasked. Of those that need more, the `overcommit` with the fewest bytes still to come are
//! active: whenever less than a round trip of one is on its way, it gets a packet more. More than one is active so that the link stays
//! busy where a sender answers late; what they send at once is what may queue, at most `overcommit` times `rtt_bytes`. Each active one has
//! a priority of its own, the shortest the highest of them, and they use the lowest there are.
//!
//! With `oldest_share` that part of all granted bytes goes to the oldest message of which less than a round trip is on its way, at the highest priority
//! of granted data, so that a long message ends although shorter ones keep coming.
//!
//! Source: Montazeri et al., SIGCOMM 2018, sections 3.3 to 3.5; `tail_boost`: the authors' simulator (PlatformLab/HomaSimulation); `oldest_share`:
//! Ousterhout, USENIX ATC 2021, and its kernel module.
//! Needs: a first window unasked; as many priorities as are active, or fewer. State: 32 bytes. Integers only, but for `oldest_share` at the start.
//! Deviation: priorities of unscheduled bytes are the transport's, as is the resending of what was lost.

use super::{
    GrantAct, GrantLaw, GrantNeeds, GrantSeen, GrantStart, IncomingMessage, Order, TailBoost,
    UnscheduledBytes,
};
use crate::params::{decimal, or_word, params, whole};
use crate::{Acts, Paths};
use forebay_units::{Bytes, Span, Time};

params! {
    /// What a scenario may set on Homa.
    pub struct HomaParams {
        /// Messages that may send at the same time; auto: as many as there are priorities for granted data.
        overcommit: Degree = Degree(None) => "SIGCOMM 2018, section 3.5",
        /// Last bytes of a message that ride in the class of what it sends unasked; true: as many as the window.
        tail_boost: TailBoost = TailBoost::Off => "PlatformLab/HomaSimulation: its run configuration has it on",
        /// Part of all granted bytes that goes to the oldest message.
        oldest_share: OldestShare = OldestShare::new(0.0) => "SIGCOMM 2018; the kernel module: 0.05",
    }
}

decimal! {
    /// A share of granted bytes.
    pub struct OldestShare: "share" from 0.0 to 0.5;
}

or_word! {
    /// A number of messages.
    pub struct Degree: "auto" or ActiveMessages, "a whole number from 1 to 64" if |_| true;
}

whole! {
    /// A number of messages.
    pub struct ActiveMessages: "whole number" from 1 to 64;
}

/// A receiving host under Homa.
#[derive(Clone, Debug)]
pub struct Homa {
    mss: Bytes,
    rtt_bytes: Bytes,
    oldest_share: u32, // in thousandths
    owed: u64, // to the oldest message, in thousandths of a byte; invariant: at most what a full list of actions adds
    overcommit: u8,
    priorities: u8,
}

impl GrantLaw for Homa {
    const NAME: &'static str = "homa";
    const ORDER: Order = Order::Shortest;
    const NEEDS: GrantNeeds = GrantNeeds {
        first: UnscheduledBytes::Window,
        paths: Paths::Spray,
        trims: false,
        acks: false,
        resend_after: Span::from_ms(2), // SIGCOMM 2018, section 3.7, as is BUSY
        tries: 5,                       // its kernel module
        busy: true,
        classes: 8,
    };
    type Params = HomaParams;

    fn active(params: &HomaParams) -> Option<u8> {
        params.overcommit.0.map(|n| n.get() as u8)
    }

    fn tail_boost(params: &HomaParams) -> TailBoost {
        params.tail_boost
    }

    fn start(params: &HomaParams, _now: Time, at: GrantStart, _acts: &mut Acts<GrantAct>) -> Self {
        let priorities = at.priorities.max(1);
        Self {
            mss: at.mss,
            rtt_bytes: at.rtt_bytes,
            oldest_share: (params.oldest_share.get() * THOUSAND as f64 + 0.5) as u32,
            owed: 0,
            overcommit: Self::active(params).unwrap_or(priorities),
            priorities,
        }
    }

    #[inline]
    fn serves_oldest(&self) -> bool {
        self.oldest_share > 0 && self.owed >= self.mss.get().saturating_mul(THOUSAND)
    }

    fn step(&mut self, _now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>) {
        let oldest = seen.oldest.filter(|_| self.serves_oldest());
        let oldest = oldest.filter(|oldest| self.has_room(oldest));
        if let Some(oldest) = oldest {
            self.owed -= self.mss.get() * THOUSAND;
            self.grant(&oldest, self.priorities - 1, acts);
        }
        let active = seen.open.len().min(usize::from(self.overcommit));
        for (rank, open) in seen.open[..active].iter().enumerate() {
            let served = oldest.is_some_and(|oldest| oldest.message == open.message);
            if acts.is_full() {
                return; // the driver comes again
            }
            if self.has_room(open) && !served {
                let priority = (active - 1 - rank).min(usize::from(self.priorities) - 1);
                self.grant(open, priority as u8, acts);
            }
        }
    }
}

impl Homa {
    /// Whether less than a round trip of a message is on its way, which needs more credit.
    fn has_room(&self, open: &IncomingMessage) -> bool {
        open.under_way() < self.rtt_bytes && open.uncredited() > Bytes::ZERO
    }

    /// A packet more of a message.
    fn grant(&mut self, open: &IncomingMessage, priority: u8, acts: &mut Acts<GrantAct>) {
        let bytes = self.mss.min(open.uncredited());
        let credit = open.credited.saturating_add(bytes);
        acts.push(GrantAct::Grant { message: open.message, credit, priority });
        let most = self.mss.get().saturating_mul(4 * THOUSAND);
        self.owed = (self.owed + bytes.get() * u64::from(self.oldest_share)).min(most);
    }
}

/// Parts of a byte in which the share of the oldest message is counted.
const THOUSAND: u64 = 1_000;

#[cfg(test)]
mod tests;
