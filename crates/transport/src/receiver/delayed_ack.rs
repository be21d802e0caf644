//! The delayed-ACK timer that adapts to the time between segments.
//!
//! It begins at the least wait. While segments come closer together than half of that, it stays there; where they come further apart,
//! it grows to twice the time between them, and it doubles whenever it has run out. It never exceeds the round trip, nor 500 ms, so that
//! it adapts only where the round trip is longer than the least wait. A gap longer than the retransmission timeout makes the next ACKs
//! leave at once.
//!
//! Source: Linux `tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_delack_timer_handler`.
//! Deviation: times between segments are exact, where Linux counts jiffies. The receiver has no sample of the handshake: twice the
//! least time that data was under way stands for it, and its timeout is the sender's least one above that.
//! Receivers send nothing but ACKs, so no connection is interactive (`pingpong`).

use super::arrival::Arrival;
use crate::TcpConfig;
use forebay_units::{Span, Time};

/// State of one flow.
#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    wait: Span,     // `ato`; zero before the first segment
    last: Time,     // arrival of the newest segment
    under_way: u32, // ns, the least so far
}

/// Longest wait (`HZ / 2`).
const LONGEST: Span = Span::from_ms(500);

impl DelayedAck {
    pub(super) const NEW: Self = Self { wait: Span::ZERO, last: Time::ZERO, under_way: u32::MAX };

    fn round_trip(&self) -> Span {
        Span::from_ns(2 * u64::from(self.under_way))
    }

    fn timeout(&self, cfg: &TcpConfig) -> Span {
        self.round_trip() + cfg.rto_min
    }

    /// A segment arrived. True: after a gap so long that ACKs leave at once again.
    pub(super) fn arrived(&mut self, cfg: &TcpConfig, newest: Arrival) -> bool {
        self.under_way = self.under_way.min(newest.under_way());
        let gap = newest.at.since(self.last);
        self.last = newest.at;
        let least = cfg.delayed_ack_timeout;
        if self.wait == Span::ZERO {
            self.wait = least;
        } else if gap <= least / 2 {
            self.wait = self.wait / 2 + least / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(self.timeout(cfg));
        } else {
            return gap > self.timeout(cfg);
        }
        false
    }

    /// How long the next ACK may wait.
    pub(super) fn wait(&self, cfg: &TcpConfig) -> Span {
        let least = cfg.delayed_ack_timeout;
        if self.wait > least {
            self.wait.min(self.round_trip().max(least)).min(LONGEST)
        } else {
            self.wait
        }
    }

    /// An ACK left because it had waited long enough.
    pub(super) fn expired(&mut self, cfg: &TcpConfig) {
        self.wait = (self.wait * 2).min(self.timeout(cfg));
    }
}
