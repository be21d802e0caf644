//! Writing back `[fabric.switch.hierarchical]`.

use crate::model::{Asks, Hierarchical};
use crate::quantity::Qty;
use crate::raw;

pub(super) fn hierarchical(h: &Hierarchical) -> raw::Hierarchical {
    raw::Hierarchical {
        law: h.law.clone(),
        params: super::params(&h.params),
        asks: Some(match h.asks {
            Asks::Demand => raw::Asks::Demand,
            Asks::Sent => raw::Asks::Sent,
        }),
        advance: Some(Qty(h.advance)),
        credit: Some(Qty(h.credit)),
        seen_for: Some(Qty(h.seen_for)),
        ask_again: Some(Qty(h.ask_again)),
        hop_rtt: h.hop_rtt.map(Qty),
        round_trip: h.round_trip.map(Qty),
    }
}
