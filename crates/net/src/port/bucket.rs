//! A token bucket: what a port lets go at once, and how fast afterwards.
//!
//! Tokens are counted in the largest unit of which both a picosecond's refill and a byte are whole numbers, so any rate and any share of a
//! rate is exact for ever: after n bytes the bucket is where real arithmetic has it. The bucket knows when it was last touched and what was missing
//! then; each packet adds what it takes, and may leave once no more is missing than the burst.
//!
//! Source: virtual scheduling of the generic cell rate algorithm (ITU-T I.371, annex A), which is a token bucket; Linux `sch_tbf.c`. The rate of the
//! link is what tbf calls `peakrate`.

use forebay_settings::Fraction;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// A token bucket; full at first.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    refill: u128,  // units per picosecond
    byte: u128,    // units per byte
    depth: u128,   // units of a full bucket
    missing: u128, // of that at `at`; more than the depth after a packet that is larger than the burst
    at: Time,
}

impl Bucket {
    /// A bucket that fills at `share` of `rate`.
    ///
    /// # Panics
    /// If that is nothing.
    pub fn new(rate: BitsPerSec, share: Fraction, burst: Bytes) -> Self {
        let refill = u128::from(rate.get()) * u128::from(share.of);
        assert!(refill > 0, "tokens come at a rate above zero");
        let byte = PS_BITS_PER_BYTE * u128::from(share.whole);
        let unit = common_divisor(refill, byte);
        let byte = byte / unit;
        let depth = byte * u128::from(burst.get());
        Self { refill: refill / unit, byte, depth, missing: 0, at: Time::ZERO }
    }

    /// Keeps the tokens and from `now` on fills as `other` does; what is missing rounds up to its unit.
    pub fn continue_as(&mut self, now: Time, other: Self) {
        let missing = (self.missing_at(now) * other.byte).div_ceil(self.byte);
        *self = Self { missing, at: now, ..other };
    }

    fn missing_at(&self, now: Time) -> u128 {
        self.missing.saturating_sub(u128::from(now.since(self.at).as_ps()) * self.refill)
    }

    /// When there are tokens for a packet of so many bytes on the wire, if it is the next to leave; rounds up to a picosecond.
    pub fn ready(&self, wire: u64) -> Time {
        let short = (self.missing + u128::from(wire) * self.byte).saturating_sub(self.depth);
        let wait = match (u64::try_from(short), u64::try_from(self.refill)) {
            (Ok(short), Ok(refill)) => short.div_ceil(refill),
            _ => u64::try_from(short.div_ceil(self.refill)).unwrap_or(u64::MAX),
        };
        self.at.saturating_add(Span::from_ps(wait))
    }

    /// A packet that could leave at `start` takes its tokens; the answer is when it leaves.
    pub fn take(&mut self, start: Time, wire: u64) -> Time {
        let start = start.max(self.ready(wire));
        self.spend(start, wire);
        start
    }

    /// A packet leaves at `start`, when there are tokens for it.
    #[inline]
    pub fn spend(&mut self, start: Time, wire: u64) {
        self.missing = self.missing_at(start) + u128::from(wire) * self.byte;
        self.at = self.at.max(start);
    }
}

/// Picoseconds that a byte takes at 1 bit/s.
const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;

fn common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::random::{Purpose, Stream};

    fn bucket(bits: u64, burst: u64) -> Bucket {
        Bucket::new(BitsPerSec::new(bits), Fraction::WHOLE, Bytes::new(burst))
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

    /// Tokens counted one by one: in units of 1/8e12 of a byte over the denominator of the share, of which a picosecond brings as many as the
    /// rate has bit/s times the numerator.
    struct ExactTokens {
        rate: u128,
        byte: u128,
        most: u128,
        tokens: u128,
        at: u128,
    }

    impl ExactTokens {
        fn new(rate: u64, share: Fraction, burst: u64) -> Self {
            let byte = 8_000_000_000_000 * u128::from(share.whole);
            let most = u128::from(burst) * byte;
            Self { rate: u128::from(rate) * u128::from(share.of), byte, most, tokens: most, at: 0 }
        }

        fn take(&mut self, start: Time, wire: u64) -> Time {
            let start = u128::from(start.as_ps()).max(self.at);
            let price = u128::from(wire) * self.byte;
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
                for share in [Fraction::WHOLE, Fraction { of: 84, whole: 1_622 }] {
                    let mut bucket = Bucket::new(BitsPerSec::new(rate), share, Bytes::new(burst));
                    let mut counted = ExactTokens::new(rate, share, burst);
                    let mut rng = Stream::new(rate, burst, Purpose::Test);
                    let mut now = Time::ZERO;
                    for _ in 0..2_000 {
                        let wire = 64 + rng.below(1_475);
                        let packet = BitsPerSec::new(rate).time_for(Bytes::new(wire)).as_ps();
                        now += Span::from_ps(rng.below(2 * packet));
                        let left = bucket.take(now, wire);
                        assert_eq!(left, counted.take(now, wire), "{rate} b/s, {burst} B");
                        now = left;
                    }
                }
            }
        }
    }

    /// A million credits of ExpressPass at 10 Gb/s, of 84 B on the wire in the mean: as many as 84 of 1,622 parts of the link, and the burst.
    #[test]
    fn a_million_credits_take_their_share_of_the_link_to_the_picosecond() {
        let (rate, share) = (BitsPerSec::from_gbps(10), Fraction { of: 84, whole: 1_622 });
        let mut bucket = Bucket::new(rate, share, Bytes::new(168));
        let mut rng = Stream::new(1, 2, Purpose::Test);
        let mut bytes = 0u128;
        for _ in 0..1_000_000 {
            let wire = 76 + rng.below(17);
            bytes += u128::from(wire);
            let left = bucket.take(Time::ZERO, wire);
            // 800 ps a byte at 10 Gb/s; the first 168 B need not wait.
            let exact = (bytes.saturating_sub(168) * 800 * 1_622).div_ceil(84);
            assert_eq!(u128::from(left.as_ps()), exact, "after {bytes} B");
        }
    }

    #[test]
    fn tokens_outlast_a_change_of_rate() {
        let share = Fraction { of: 84, whole: 1_622 };
        let at = |gbps| Bucket::new(BitsPerSec::from_gbps(gbps), share, Bytes::new(168));
        let mut bucket = at(10);
        bucket.take(Time::ZERO, 168);
        // Half of the burst is there again after 84 B at 10 Gb/s; the other half takes a tenth of that at 100 Gb/s.
        let half = Time::ZERO + Span::from_ps(800 * 1_622);
        bucket.continue_as(half, at(100));
        assert_eq!(bucket.ready(84), half);
        assert_eq!(bucket.ready(168), half + Span::from_ps(80 * 1_622));
    }
}
