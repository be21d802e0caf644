//! Homa: the receiver lets the few messages that are nearest to their end send, each a round trip ahead.
//!
//! A message's first `rtt_bytes` come unasked. Of those that need more, the `overcommit` with the fewest bytes still to come are
//! active: whenever less than a round trip of one is on its way, it gets a packet more. More than one is active so that the link stays
//! busy where a sender answers late; what they send at once is what may queue, at most `overcommit` times `rtt_bytes`. Each active one has
//! a priority of its own, the shortest the highest of them, and they use the lowest there are.
//!
//! Source: Montazeri et al., SIGCOMM 2018, sections 3.3 to 3.5.
//! Needs: a first window unasked; as many priorities as are active, or fewer. State: 24 bytes. Integers only.
//! Deviation: priorities of unscheduled bytes are the transport's, as is the resending of what was lost.

use super::{First, GrantAct, GrantLaw, GrantNeeds, GrantSeen, GrantStart, Order};
use crate::params::{or_word, params, whole};
use crate::{Acts, Paths};
use forebay_units::{Bytes, Span, Time};

params! {
    /// What a scenario may set on Homa.
    pub struct HomaParams {
        /// Messages that may send at the same time; auto: as many as there are priorities for granted data.
        overcommit: Degree = Degree(None) => "SIGCOMM 2018, section 3.5",
    }
}

or_word! {
    /// A number of messages.
    pub struct Degree: "auto" or Active, "a whole number from 1 to 64" if |_| true;
}

whole! {
    /// A number of messages.
    pub struct Active: "whole number" from 1 to 64;
}

/// A receiving host under Homa.
#[derive(Clone, Debug)]
pub struct Homa {
    mss: Bytes,
    rtt_bytes: Bytes,
    overcommit: u8,
    priorities: u8,
}

impl GrantLaw for Homa {
    const NAME: &'static str = "homa";
    const ORDER: Order = Order::Shortest;
    const NEEDS: GrantNeeds = GrantNeeds {
        first: First::Window,
        paths: Paths::Spray,
        trims: false,
        acks: false,
        resend_after: Span::from_ms(2), // SIGCOMM 2018, section 3.7
        classes: 8,
    };
    type Params = HomaParams;

    fn active(params: &HomaParams) -> Option<u8> {
        params.overcommit.0.map(|n| n.get() as u8)
    }

    fn start(params: &HomaParams, _now: Time, at: GrantStart, _acts: &mut Acts<GrantAct>) -> Self {
        let priorities = at.priorities.max(1);
        let overcommit = Self::active(params).unwrap_or(priorities);
        Self { mss: at.mss, rtt_bytes: at.rtt_bytes, overcommit, priorities }
    }

    fn step(&mut self, _now: Time, seen: GrantSeen<'_>, acts: &mut Acts<GrantAct>) {
        let active = seen.open.len().min(usize::from(self.overcommit));
        let due = seen.open[..active].iter().enumerate().filter(|(_, open)| {
            open.under_way() < self.rtt_bytes && open.uncredited() > Bytes::ZERO
        });
        // A list of actions has room for four; the driver then comes again.
        for (rank, open) in due.take(4) {
            acts.push(GrantAct::Grant {
                message: open.message,
                credit: open.credited.saturating_add(self.mss.min(open.uncredited())),
                priority: (active - 1 - rank).min(usize::from(self.priorities) - 1) as u8,
            });
        }
    }
}

#[cfg(test)]
mod tests;
