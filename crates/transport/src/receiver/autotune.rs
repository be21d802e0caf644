//! Receive-window autotuning: the window follows what the application read in the last round trip.
//!
//! Each round trip the window becomes at least twice what was read in it, plus 16 segments, up to a limit; it never
//! shrinks. The application reads at once, so what is read is what is delivered in order.
//!
//! Source: Linux `tcp_rcv_space_adjust` and `tcp_rcv_rtt_measure` (dynamic right-sizing; Fisk and Feng, 2001).
//! Deviation: the receiver's round trip is the least time in which a whole window arrived, as Linux measures it without
//! time stamps; the window is bytes of payload, and the memory that segments take beyond them is not counted.

use crate::TcpConfig;
use forebay_units::{Span, Time};

/// State of one flow.
#[derive(Clone, Debug)]
pub(super) struct Autotune {
    window: u64,     // bytes
    rtt: Span,       // least so far; `Span::MAX`: none yet
    rtt_since: Time, // when the byte `rtt_end` came within the window
    rtt_end: u64,
    round_since: Time,
    round_start: u64, // delivered by then
}

impl Autotune {
    /// A window of `cfg.receive_window`, before the first byte.
    pub(super) fn new(cfg: &TcpConfig) -> Option<Self> {
        let window = cfg.receive_window?.get();
        cfg.receive_window_max.map(|_| {
            let (rtt, zero) = (Span::MAX, Time::ZERO);
            let (rtt_since, round_since) = (zero, zero);
            Self { window, rtt, rtt_since, rtt_end: 0, round_since, round_start: 0 }
        })
    }

    /// Bytes beyond the acknowledged one that the sender may use.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Every byte below `next` was delivered in order by `now`.
    pub(super) fn delivered(&mut self, cfg: &TcpConfig, now: Time, next: u64) {
        if self.rtt_end == 0 {
            (self.rtt_since, self.round_since) = (now, now);
            self.rtt_end = next + self.window;
            return;
        }
        if next >= self.rtt_end {
            self.rtt = self.rtt.min(now.since(self.rtt_since));
            self.rtt_since = now;
            self.rtt_end = next + self.window;
        }
        if self.rtt != Span::MAX && now.since(self.round_since) >= self.rtt {
            let read = next - self.round_start;
            let most = cfg.receive_window_max.map_or(self.window, |most| most.get());
            let wanted = (2 * read + 16 * cfg.mss()).min(most);
            self.window = self.window.max(wanted);
            (self.round_since, self.round_start) = (now, next);
        }
    }
}
