//! A token bucket: what a shaper lets go at once, and how fast afterwards.
//!
//! Tokens are time at the shaper's rate. All that the bucket knows is when it is full again; each packet moves that time by what the packet
//! takes at the rate, and may leave once it is no more than the burst ahead. Exact: a rate of no whole number of picoseconds per byte
//! carries its remainder from packet to packet.
//!
//! Source: virtual scheduling of the generic cell rate algorithm (ITU-T I.371, annex A), which is a token bucket; Linux `sch_tbf.c`, whose tokens are
//! time too. The rate of the link is what tbf calls `peakrate`.

use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};

/// What a shaper lets go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shaper {
    /// Rate of the tokens.
    pub rate: BitsPerSec,
    /// Size of the bucket: bytes of the wire that may leave at once after a rest. No less than the largest packet.
    pub burst: Bytes,
}

/// A token bucket; full at first.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    cost: Serializer,
    depth: Span,
    full_at: Time,
}

impl Bucket {
    pub fn new(shaper: Shaper) -> Self {
        let depth = shaper.rate.time_for(shaper.burst);
        Self { cost: Serializer::new(shaper.rate), depth, full_at: Time::ZERO }
    }

    /// When there are tokens for a packet of so many bytes on the wire, if it is the next to leave.
    pub fn ready(&self, wire: u64) -> Time {
        let mut cost = self.cost;
        let empty = self.full_at.saturating_add(cost.take(wire));
        Time::ZERO + empty.since(Time::ZERO + self.depth)
    }

    /// A packet that could leave at `start` takes its tokens; the answer is when it leaves.
    pub fn take(&mut self, start: Time, wire: u64) -> Time {
        let start = start.max(self.ready(wire));
        self.full_at = self.full_at.max(start).saturating_add(self.cost.take(wire));
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::random::{Purpose, Stream};

    fn bucket(bits: u64, burst: u64) -> Bucket {
        Bucket::new(Shaper { rate: BitsPerSec::new(bits), burst: Bytes::new(burst) })
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        // 8 Mb/s: a microsecond per byte.
        let mut bucket = bucket(8_000_000, 3_000);
        let left = [(); 5].map(|()| bucket.take(Time::ZERO, 1_000).as_ps() / 1_000_000);
        assert_eq!(left, [0, 0, 0, 1_000, 2_000]);
        // After 2.5 ms more the bucket has 2500 bytes: the time passed since it was empty.
        let now = Time::ZERO + Span::from_us(4_500);
        let left = [(); 3].map(|()| bucket.take(now, 1_000).as_ps() / 1_000_000);
        assert_eq!(left, [4_500, 4_500, 5_000]);
        // A long rest brings no more than a burst.
        let now = Time::ZERO + Span::from_secs(1);
        let left = [(); 4].map(|()| bucket.take(now, 1_000).since(now));
        assert_eq!(left, [0, 0, 0, 1_000].map(Span::from_us));
    }

    #[test]
    fn a_packet_that_is_asked_for_takes_nothing() {
        let mut bucket = bucket(8_000_000, 1_000);
        bucket.take(Time::ZERO, 1_000);
        assert_eq!(bucket.ready(400), bucket.ready(400));
        assert_eq!(bucket.ready(400), Time::ZERO + Span::from_us(400));
        assert_eq!(bucket.ready(1_000), Time::ZERO + Span::from_us(1_000));
    }

    /// Tokens counted one by one: in units of 1/8e12 of a byte, of which a picosecond brings as many as the rate has bit/s.
    struct Counted {
        rate: u128,
        most: u128,
        tokens: u128,
        at: u128,
    }

    impl Counted {
        const BYTE: u128 = 8_000_000_000_000;

        fn take(&mut self, start: Time, wire: u64) -> Time {
            let start = u128::from(start.as_ps()).max(self.at);
            let price = u128::from(wire) * Self::BYTE;
            let now = self.most.min(self.tokens + (start - self.at) * self.rate);
            let wait = price.saturating_sub(now).div_ceil(self.rate);
            self.tokens = self.most.min(now + wait * self.rate) - price;
            self.at = start + wait;
            Time::from_ps(self.at as u64)
        }
    }

    #[test]
    fn packets_leave_as_if_tokens_were_counted() {
        for rate in [50_000_000, 8_000_000_000, 999_999_937, 123_456_789_123] {
            for burst in [1_538, 5_000, 16_384] {
                let mut bucket = bucket(rate, burst);
                let most = u128::from(burst) * Counted::BYTE;
                let mut counted = Counted { rate: rate.into(), most, tokens: most, at: 0 };
                let mut rng = Stream::new(rate, burst, Purpose::Test);
                let mut now = Time::ZERO;
                for _ in 0..2_000 {
                    let wire = 64 + rng.below(1_475);
                    let packet = BitsPerSec::new(rate).time_for(Bytes::new(wire)).as_ps();
                    now += Span::from_ps(rng.below(2 * packet));
                    let (one, other) = (bucket.take(now, wire), counted.take(now, wire));
                    let off = one.as_ps().abs_diff(other.as_ps());
                    assert!(off <= 2, "{rate} b/s, {burst} B: {one} and {other}");
                    now = other;
                }
            }
        }
    }
}
