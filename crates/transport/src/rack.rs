//! RACK: time-based loss detection.
//!
//! Source: RFC 8985 as Linux has it (`net/ipv4/tcp_recovery.c`).

use crate::scoreboard::Segment;
use forebay_laws::flow::Totals;
use forebay_units::{Span, Time};

/// The newest delivered segment, by time of transmission, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// When the newest delivered segment was sent.
    pub(crate) mstamp: Time,
    /// Round-trip time of that segment.
    pub(crate) rtt: Span,
    end: u32,
    /// Reordering window in quarters of `min_rtt`.
    pub(crate) steps: u8,
    /// Recoveries for which `steps` is held.
    pub(crate) persist: u8,
    /// Whether a delivery since the last look moved the clock.
    pub(crate) advanced: bool,
}

/// Recoveries for which a widened reordering window is held.
pub(crate) const PERSIST: u8 = 16;

impl Rack {
    pub(crate) const NEW: Rack =
        Rack { mstamp: Time::ZERO, rtt: Span::ZERO, end: 0, steps: 1, persist: 0, advanced: false };

    /// A segment was newly (s)acked.
    #[inline]
    pub(crate) fn advance(&mut self, totals: &Totals, now: Time, segment: &Segment) {
        let rtt = now.since(segment.sent);
        if segment.retransmitted() && rtt < totals.min_rtt {
            return; // most likely the ACK of the first transmission
        }
        self.rtt = rtt;
        self.advanced = true;
        if later(segment.sent, segment.end, self.mstamp, self.end) {
            self.mstamp = segment.sent;
            self.end = segment.end;
        }
    }

    /// Whether `segment` left before the newest delivered one.
    #[inline]
    pub(crate) fn is_after(&self, segment: &Segment) -> bool {
        later(self.mstamp, self.end, segment.sent, segment.end)
    }

    /// How long a segment may stay behind the newest delivered one.
    ///
    /// `certain` says that no reordering was ever seen and that the segment's loss is evident anyway
    /// (recovery runs, or enough segments after it arrived).
    pub(crate) fn window(&self, totals: &Totals, certain: bool) -> Span {
        if certain || totals.min_rtt == Span::MAX {
            return Span::ZERO;
        }
        let window = (totals.min_rtt / 4).saturating_mul(u64::from(self.steps));
        window.min(totals.srtt)
    }
}

/// Whether (time, end) `a` is later than `b`.
#[inline]
fn later(a: Time, a_end: u32, b: Time, b_end: u32) -> bool {
    a > b || (a == b && a_end.wrapping_sub(b_end) as i32 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals() -> Totals {
        Totals { min_rtt: Span::from_us(100), srtt: Span::from_us(120), ..Totals::default() }
    }

    fn segment(sent_us: u64, end: u32, sends: u8) -> Segment {
        Segment { sent: Time::ZERO + Span::from_us(sent_us), end, sends, ..Segment::default() }
    }

    #[test]
    fn clock_moves_forward_by_time_then_sequence() {
        let mut rack = Rack::NEW;
        let now = Time::ZERO + Span::from_us(300);
        rack.advance(&totals(), now, &segment(100, 2000, 1));
        rack.advance(&totals(), now, &segment(90, 9000, 1));
        assert_eq!(rack.mstamp, Time::ZERO + Span::from_us(100));
        assert!(rack.is_after(&segment(100, 1000, 1)));
        assert!(!rack.is_after(&segment(100, 3000, 1)));
    }

    #[test]
    fn too_quick_an_ack_of_a_retransmission_is_ignored() {
        let mut rack = Rack::NEW;
        rack.advance(&totals(), Time::ZERO + Span::from_us(150), &segment(100, 2000, 2));
        assert!(!rack.advanced);
        rack.advance(&totals(), Time::ZERO + Span::from_us(200), &segment(100, 2000, 2));
        assert!(rack.advanced);
    }

    #[test]
    fn window_is_a_quarter_per_step_up_to_srtt() {
        let mut rack = Rack::NEW;
        assert_eq!(rack.window(&totals(), true), Span::ZERO);
        assert_eq!(rack.window(&totals(), false), Span::from_us(25));
        rack.steps = 200;
        assert_eq!(rack.window(&totals(), false), Span::from_us(120));
    }
}
