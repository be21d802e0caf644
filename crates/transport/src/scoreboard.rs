//! The segments in flight, oldest first, in a ring that never shrinks.
//!
//! Invariant: segments tile `[una, nxt)` without gaps; a segment starts where the one before it ends.
//! Sequence numbers here are the low 32 bits, which suffices since a receive window is 1 GiB at most.

use forebay_units::{Bytes, Span, Time};

/// One unacknowledged segment, as of its last transmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// When it last left.
    pub(crate) sent: Time,
    /// Low bits of the sequence number after its last byte.
    pub(crate) end: u32,
    /// Low bits of `delivered` when it left.
    pub(crate) delivered: u32,
    /// Bytes in flight just after it left.
    pub(crate) inflight: u32,
    /// Window when it left, in bytes.
    pub(crate) cwnd: u32,
    pub(crate) lag_low: u32, // two 24-bit counts, packed: see `lags`
    pub(crate) lag_high: u16,
    /// Transmissions so far, stopping at 255.
    pub(crate) sends: u8,
    /// Whether the application, not the window, limited sending.
    pub(crate) app_limited: bool,
}

const _: () = assert!(size_of::<Segment>() <= 32, "32 bytes per unacknowledged segment");

const LAG_SHIFT: u32 = 16; // units of 2^16 ps, 65.5 ns; 24 bits of them reach 1.09 s

impl Segment {
    /// Whether it left more than once.
    #[inline]
    pub(crate) fn retransmitted(&self) -> bool {
        self.sends > 1
    }

    /// Notes how long before `sent` the newest segment acknowledged by then had left, and how long
    /// before it the last delivery was learned of. Rounded down to 65.5 ns, at most 1.09 s.
    #[inline]
    pub(crate) fn set_lags(&mut self, since_send: Span, since_delivery: Span) {
        let pack = |span: Span| (span.as_ps() >> LAG_SHIFT).min((1 << 24) - 1);
        let both = pack(since_send) | pack(since_delivery) << 24;
        (self.lag_low, self.lag_high) = (both as u32, (both >> 32) as u16);
    }

    /// The two spans of [`Segment::set_lags`].
    #[inline]
    pub(crate) fn lags(&self) -> (Span, Span) {
        let both = u64::from(self.lag_low) | u64::from(self.lag_high) << 32;
        (Span::from_ps((both & 0xff_ffff) << LAG_SHIFT), Span::from_ps((both >> 24) << LAG_SHIFT))
    }

    /// Window when it left.
    #[inline]
    pub(crate) fn cwnd_at_send(&self) -> Bytes {
        Bytes::new(u64::from(self.cwnd))
    }
}

/// What one acknowledgement covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckCoverage {
    /// The segment with the highest sequence numbers.
    pub(crate) newest: Segment,
    /// When the one with the lowest left.
    pub(crate) oldest_sent: Time,
    /// Whether any of them left more than once.
    pub(crate) retransmitted: bool,
}

/// The ring.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    ring: Box<[Segment]>, // a power of two long
    head: u32,
    len: u32,
}

impl Scoreboard {
    /// Room for `segments` to begin with.
    pub(crate) fn new(segments: usize) -> Self {
        let size = segments.clamp(4, 1 << 16).next_power_of_two();
        Self { ring: vec![Segment::default(); size].into_boxed_slice(), head: 0, len: 0 }
    }

    /// Segments in the ring.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Places in the ring.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.ring.len()
    }

    /// Place of segment `i` in the ring.
    #[inline]
    pub(crate) fn place(&self, i: usize) -> usize {
        (self.head as usize).wrapping_add(i) & (self.ring.len() - 1)
    }

    /// Segment `i` from the oldest.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &Segment {
        &self.ring[self.place(i)]
    }

    /// Segment `i` from the oldest.
    #[inline]
    pub(crate) fn get_mut(&mut self, i: usize) -> &mut Segment {
        let place = self.place(i);
        &mut self.ring[place]
    }

    /// Appends the newest segment. Returns whether the ring grew, which moves every place.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) -> bool {
        let grew = self.len() == self.ring.len();
        if grew {
            self.grow();
        }
        let place = self.place(self.len());
        self.ring[place] = segment;
        self.len += 1;
        grew
    }

    /// How many segments may be appended before the ring grows.
    pub(crate) fn room(&self) -> usize {
        self.ring.len() - self.len()
    }

    /// Doubles the ring. Segment 0 is at place 0 afterwards.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let mut next = vec![Segment::default(); self.ring.len() * 2].into_boxed_slice();
        for (i, to) in next.iter_mut().enumerate().take(self.len()) {
            *to = *self.get(i);
        }
        self.ring = next;
        self.head = 0;
    }

    /// The oldest segment.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Segment> {
        (self.len > 0).then(|| &self.ring[self.head as usize])
    }

    /// Removes the segments that end within `covered` bytes of `una`. Returns the last of them.
    #[inline]
    pub(crate) fn pop_through(&mut self, una: u32, covered: u32) -> Option<AckCoverage> {
        let mut n = 0;
        let mut retransmitted = false;
        while n < self.len() && self.get(n).end.wrapping_sub(una) <= covered {
            retransmitted |= self.get(n).retransmitted();
            n += 1;
        }
        let newest = *self.get(n.checked_sub(1)?);
        let oldest_sent = self.get(0).sent;
        self.head = self.place(n) as u32;
        self.len -= n as u32;
        Some(AckCoverage { newest, oldest_sent, retransmitted })
    }

    /// Forgets all segments.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the oldest segment.
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.len > 0);
        self.head = (self.head + 1) & (self.ring.len() as u32 - 1);
        self.len -= 1;
    }

    /// Low bits of the first byte of segment `i`, if the oldest starts at `una`.
    #[inline]
    pub(crate) fn start(&self, una: u32, i: usize) -> u32 {
        if i == 0 { una } else { self.get(i - 1).end }
    }

    /// The first segment that starts `offset` bytes or more after `una`; `len()` if there is none.
    ///
    /// Segments hold at most `mss` bytes, so the quotient is a lower bound and, without short
    /// segments, the answer.
    pub(crate) fn index_at(&self, una: u32, offset: u32, mss: u32) -> usize {
        let guess = offset.div_ceil(mss) as usize;
        let at = |i: usize| self.start(una, i).wrapping_sub(una);
        if guess >= self.len() {
            return self.len();
        }
        if at(guess) >= offset {
            return guess;
        }
        let (mut low, mut high) = (guess + 1, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if at(middle) >= offset { high = middle } else { low = middle + 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(una: u32, sizes: &[u32]) -> Scoreboard {
        let mut board = Scoreboard::new(4);
        let mut end = una;
        for size in sizes {
            end = end.wrapping_add(*size);
            board.push(Segment { end, ..Segment::default() });
        }
        board
    }

    #[test]
    fn ring_grows_and_keeps_its_order() {
        let mut board = board(0, &[10; 3]);
        board.pop();
        board.pop();
        for i in 0..40 {
            board.push(Segment { end: 40 + i * 10, ..Segment::default() });
        }
        assert_eq!(board.len(), 41);
        assert!((0..41).all(|i| board.get(i).end == 30 + 10 * i as u32));
    }

    #[test]
    fn index_is_found_with_and_without_short_segments_across_the_wrap() {
        let una = u32::MAX - 15;
        for sizes in [vec![10; 20], vec![10, 3, 10, 10, 1, 1, 1, 10, 10]] {
            let board = board(una, &sizes);
            let mut start = 0;
            for (i, size) in sizes.iter().enumerate() {
                assert_eq!(board.index_at(una, start, 10), i);
                assert_eq!(board.index_at(una, start + 1, 10), i + 1);
                start += size;
            }
            assert_eq!(board.index_at(una, start + 100, 10), sizes.len());
        }
    }

    #[test]
    fn lags_keep_their_unit() {
        let mut segment = Segment::default();
        let unit = Span::from_ps(1 << 16);
        segment.set_lags(unit * 1_000, unit * 10_000_000 + Span::from_ps(65_535));
        assert_eq!(segment.lags(), (unit * 1_000, unit * 10_000_000));
        segment.set_lags(Span::from_secs(9), Span::ZERO);
        assert!(segment.lags().0 > Span::from_ms(1090));
    }
}
