//! Writing back `[fabric.switch.hierarchical]`.

use crate::model::{Hierarchical, QueueFor};
use crate::quantity::Qty;
use crate::raw;

pub(super) fn hierarchical(h: &Hierarchical) -> raw::Hierarchical {
    raw::Hierarchical {
        law: h.law.clone(),
        params: h.params.clone(),
        asks: Some(h.asks),
        queue_for: Some(match h.queue_for {
            QueueFor::Host => raw::QueueFor::Host,
            QueueFor::Rack => raw::QueueFor::Rack,
            QueueFor::Pod(_) => raw::QueueFor::Pod,
        }),
        pod_advance: match h.queue_for {
            QueueFor::Pod(advance) => Some(Qty(advance)),
            QueueFor::Host | QueueFor::Rack => None,
        },
        advance: Some(Qty(h.advance)),
        credit: Some(Qty(h.credit)),
        seen_for: Some(Qty(h.seen_for)),
        ask_again: Some(Qty(h.ask_again)),
        hop_rtt: h.hop_rtt.map(Qty),
        round_trip: h.round_trip.map(Qty),
    }
}
