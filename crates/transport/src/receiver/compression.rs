//! SACK compression: while segments are missing, an ACK for some milliseconds' worth of arrivals instead of one for each.
//!
//! The first three ACKs after data was last delivered in order leave at once, so that the sender sees the loss as early
//! as without. After them one ACK speaks for at most 44 arrivals and 5 % of the round trip, at most 1 ms.
//!
//! Source: Linux `__tcp_ack_snd_check` (since 4.18), `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`.
//! Deviation: Linux takes the lesser of the round trips that the handshake and later data measured at the receiver.
//! There is no handshake here: twice the least time that data was under way stands for it. Its timer's slack of 100 us
//! is not taken.

use super::arrival::Arrival;
use forebay_units::Span;

/// State of one flow.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    under_way: u32, // ns, the least so far
    next: u64,      // delivered in order when `at_once` began to count
    at_once: u8,
    held: u8, // arrivals that wait for their ACK
}

/// Arrivals that one ACK speaks for at most (`tcp_comp_sack_nr`).
const MOST: u8 = 44;

/// ACKs at once after each advance (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;

/// Longest wait (`tcp_comp_sack_delay_ns`).
const LONGEST: Span = Span::from_ms(1);

impl Compression {
    pub(super) const NEW: Self = Self { under_way: u32::MAX, next: 0, at_once: 0, held: 0 };

    /// Data arrived.
    pub(super) fn arrived(&mut self, newest: Arrival) {
        self.under_way = self.under_way.min(newest.under_way());
    }

    /// How long the ACK of an arrival beyond `next` may wait; `None`: not at all.
    pub(super) fn wait(&mut self, next: u64) -> Option<Span> {
        if self.held >= MOST {
            return None;
        }
        if self.next != next {
            (self.next, self.at_once) = (next, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.held += 1;
        let rtt = Span::from_ns(2 * u64::from(self.under_way));
        Some((rtt / 20).min(LONGEST))
    }

    /// An ACK left.
    pub(super) fn acknowledged(&mut self) {
        self.held = 0;
    }
}
