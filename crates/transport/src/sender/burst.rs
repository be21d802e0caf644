//! Super-packets: how much new data leaves in one go, and when it pays to wait for more.
//!
//! Source: Linux `tcp_tso_autosize`, `tcp_cwnd_test` and `tcp_tso_should_defer`.
//! All segments of a super-packet left when it did: they share the time, the flight and the window that the scoreboard
//! notes, as the one `skb` does in Linux.
//! Deviation: retransmissions leave one segment at a time. What the application has written is never held back for
//! what it may write yet. Nothing waits before the first round-trip sample.

use super::{DEFERRED, TcpSender};
use crate::TcpConfig;
use forebay_laws::flow::CaState;
use forebay_units::{Span, Time};
use forebay_wire::{Flags, Packet};

/// What leaves in one go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// First segment, with the flags of all.
    pub first: Packet,
    /// Payload of all its segments, of which only the last may be short.
    pub payload: u64,
}

/// Least segments of a super-packet (`tcp_min_tso_segs`).
const LEAST: u64 = 2;

/// A super-packet is about this part of a second at the pacing rate (`sk_pacing_shift`).
const SHARE_OF_SECOND: u32 = 10;

/// Each time `min_rtt` grows by 2^9 us, the part of the largest size that is added halves (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;

/// A window with this part free is used as it is (`tcp_tso_win_divisor`).
pub(super) const WINDOW_SHARE: u64 = 3;

/// A flow that has not sent for this long does not wait.
const RECENT: Span = Span::from_ms(1);

const US: u64 = 1_000_000;

impl TcpSender {
    /// As [`TcpSender::next_packet`], but new data may be a super-packet, where the settings allow it.
    pub fn next_burst(&mut self, cfg: &TcpConfig, now: Time) -> Option<Burst> {
        let first = if !self.calm {
            self.next_slow(cfg, now)
        } else if self.shut != 0 || !self.new_fits(cfg) {
            None
        } else {
            let len = self.burst_len_now(cfg, now);
            Some(self.send_data::<false>(cfg, now, len))
        };
        self.settle_deferral(cfg, now);
        let first = first?;
        let payload = match first.flags.has(Flags::RETRANSMIT) {
            true => u64::from(first.size) - cfg.header.get(),
            false => self.totals.nxt - first.seq,
        };
        Some(Burst { first, payload })
    }

    /// Payload of the next super-packet, or segment, of new data, given that a segment may leave.
    pub(super) fn burst_len_now(&mut self, cfg: &TcpConfig, now: Time) -> u64 {
        if self.board.is_empty() {
            self.resume(cfg, now);
        }
        if !cfg.host.tso {
            return self.new_len(cfg);
        }
        self.ask_min_tso(cfg, now);
        let mss = cfg.mss();
        let room = self.window_room(cfg);
        // Two super-packets per window at least, so that one can be acknowledged while the other is under way.
        let half = (self.cwnd / 2).max(mss);
        let most = room.min(half).min(self.burst_size(cfg)).min(self.rwnd_end - self.totals.nxt);
        let available = self.written - self.totals.nxt;
        let whole = if available <= most { available } else { most / mss * mss };
        whole.max(self.new_len(cfg))
    }

    /// Most bytes of a super-packet now: a millisecond at the pacing rate, more on short paths.
    fn burst_size(&self, cfg: &TcpConfig) -> u64 {
        let most = cfg.host.super_packet().map_or(0, |most| most.get());
        let halvings = (self.totals.min_rtt.as_ps() / US) >> RTT_LOG;
        let bonus = if halvings < 32 { most >> halvings } else { 0 };
        let by_rate = self.pacing_rate().map_or(most, |rate| (rate >> SHARE_OF_SECOND) + bonus);
        let least = self.module.as_ref().map_or(LEAST, |m| m.min_tso());
        let segments = (by_rate.min(most) / cfg.mss()).max(least);
        segments.min(most / cfg.mss()).max(1) * cfg.mss()
    }

    /// Bytes per second at which the stack would pace: the law's rate, or what Linux derives from the window. `None`
    /// before the first round-trip sample.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        if let Some(rate) = self.pace.as_ref().and_then(|pace| pace.rate.as_ref()) {
            return Some(rate.rate().get() / 8);
        }
        if let Some(rate) = self.module_rate() {
            return Some(rate);
        }
        let srtt = u128::from(self.totals.srtt.as_ps());
        let (window, tenths) = self.paced_window();
        let per_second = u128::from(window) * u128::from(tenths) * 100_000_000_000;
        per_second.checked_div(srtt).map(|rate| u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// The window that one round-trip time of pacing covers, and by how many tenths it is stretched.
    ///
    /// Source: Linux `tcp_update_pacing_rate`.
    pub(super) fn paced_window(&self) -> (u64, u64) {
        let tenths = if self.cwnd < self.ssthresh / 2 { 20 } else { 12 };
        (self.cwnd.max(self.totals.nxt - self.totals.una), tenths)
    }

    /// Looks anew whether to wait for a larger super-packet: after each event and each transmission.
    pub(super) fn settle_deferral(&mut self, cfg: &TcpConfig, now: Time) {
        if !cfg.host.tso {
            return;
        }
        self.shut &= !DEFERRED;
        if self.defers(cfg, now) {
            self.shut |= DEFERRED;
        }
    }

    fn defers(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let t = &self.totals;
        let available = self.written - t.nxt;
        let Some(head) = self.board.front() else { return false };
        let newest = self.board.get(self.board.len() - 1);
        let room = self.window_room(cfg);
        let window = self.rwnd_end.saturating_sub(t.nxt);
        let limit = room.min(window);
        let share = self.cwnd.min(self.rwnd_end - t.una) / WINDOW_SHARE;
        let at_once = matches!(t.state, CaState::Recovery | CaState::Loss)
            || available <= cfg.mss()
            || limit < cfg.mss() // the window holds it back, nothing else has to
            || limit >= available
            || limit >= share
            || now.since(newest.sent) > RECENT
            || t.srtt == Span::ZERO
            || now.since(head.sent) < t.srtt / 2 // the next ACK is far away
            || limit >= self.burst_size(cfg);
        if !at_once && room < window && cfg.gentle_growth {
            self.note_full_window();
        }
        !at_once
    }
}
