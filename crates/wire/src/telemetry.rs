//! In-band network telemetry (INT): the record that a port appends to a packet, 64 bits for each hop. Where a packet keeps its records
//! is in `int.rs`.
//!
//! A record holds, from its lowest bit on: a code of the port's rate (3 bits), the time in ns (24), what the port had sent
//! (20, in units of 128 B * m) and its queue (17, in units of 80 B * m), where m is the port's rate over 25 Gb/s. So the units are
//! those of wire time, 40.96 ns and 25.6 ns whatever the rate, and so they are computed here. Time and bytes sent wrap after
//! 16.8 ms and 42.9 ms; a queue of 3.4 ms or more is written as that. Otherwise m is one number for all ports ([`Rates::with_multi`]).
//!
//! Source: Li et al., "HPCC", SIGCOMM 2019, section 4; the widths, units and first five codes are those of its public simulator, where
//! m is one number for a whole simulation (`INT_MULTI`).

use forebay_units::{BitsPerSec, Bytes, Span, Time};

/// The rates that records of one network can encode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    by_code: [BitsPerSec; 8], // zero where there is none
    multi: u16,               // m of all ports; 0: of each port by its rate
}

/// 25, 50, 100, 200 and 400 Gb/s have the first codes.
const USUAL: usize = 5;

impl Rates {
    /// 25, 50, 100, 200 and 400 Gb/s, and up to three others that a network has; `None` if it has more.
    pub fn covering(rates: impl IntoIterator<Item = BitsPerSec>) -> Option<Self> {
        let by_code = [25, 50, 100, 200, 400, 0, 0, 0].map(BitsPerSec::from_gbps);
        let mut all = Self { by_code, multi: 0 };
        for rate in rates {
            if all.code(rate).is_none() {
                *all.by_code.iter_mut().find(|other| other.get() == 0)? = rate;
            }
        }
        Some(all)
    }

    /// These rates, with units of 128 B and 80 B times `multi` at all ports; 0: by their rates.
    #[must_use]
    pub fn with_multi(self, multi: u16) -> Self {
        Self { multi, ..self }
    }

    /// What multiplies units at all ports; 0: each port's rate does.
    #[inline]
    pub fn multi(&self) -> u16 {
        self.multi
    }

    /// What [`Hop::new`] takes for so many bytes where units are 128 B and 80 B times `multi`.
    #[inline]
    pub fn time_of(bytes: u64, multi: u16) -> Span {
        // A byte takes 320 ps at 25 Gb/s, and floors of quotients compose.
        Span::from_ps(bytes * 320 / u64::from(multi.max(1)))
    }

    /// What a port of a code takes to send one unit of bytes sent.
    #[inline]
    pub fn sent_unit(&self, code: u8) -> Span {
        match self.multi {
            0 => Hop::SENT_UNIT,
            m => self.rate(code).time_for(Bytes::new(128 * u64::from(m))),
        }
    }

    /// The code of a rate that was covered.
    pub fn code(&self, rate: BitsPerSec) -> Option<u8> {
        let at = self.by_code.iter().position(|known| *known == rate && rate.get() > 0);
        at.map(|at| at as u8)
    }

    /// The rate of a code; zero if there is none.
    #[inline]
    pub fn rate(&self, code: u8) -> BitsPerSec {
        self.by_code[usize::from(code) % 8]
    }

    /// Bytes that a port of a code has sent when it has sent so many [`Hop::SENT_UNIT`]; rounds down.
    #[inline]
    pub fn sent(&self, code: u8, units: u64) -> Bytes {
        self.bytes(code, units, 128, Hop::SENT_UNIT)
    }

    /// Bytes of a queue of so many [`Hop::QUEUE_UNIT`]; rounds down.
    #[inline]
    pub fn queue(&self, code: u8, units: u64) -> Bytes {
        self.bytes(code, units, 80, Hop::QUEUE_UNIT)
    }

    /// Bytes of so many units, of which each is as long as `of_25` bytes at 25 Gb/s.
    #[inline]
    fn bytes(&self, code: u8, units: u64, of_25: u64, unit: Span) -> Bytes {
        if self.multi > 0 {
            return Bytes::new(units * of_25 * u64::from(self.multi));
        }
        match usize::from(code) < USUAL {
            true => Bytes::new((units * of_25) << code), // each is twice as fast as the one before
            false => self.rate(code).bytes_in(unit * units),
        }
    }
}

/// One INT record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hop {
    /// See [`Rates`].
    pub code: u8,
    /// When the packet's transmission began, in ns, modulo 2^24.
    pub at_ns: u32,
    /// What the port had sent before, in [`Hop::SENT_UNIT`], modulo 2^20.
    pub sent: u32,
    /// The queue that the packet left behind, in [`Hop::QUEUE_UNIT`]; 2^17 - 1 stands for more as well.
    pub queue: u32,
}

impl Hop {
    /// Wire time of 128 B at 25 Gb/s.
    pub const SENT_UNIT: Span = Span::from_ps(40_960);
    /// Wire time of 80 B at 25 Gb/s.
    pub const QUEUE_UNIT: Span = Span::from_ps(25_600);
    /// Bits of the time.
    pub const AT_BITS: u32 = 24;
    /// Bits of what was sent.
    pub const SENT_BITS: u32 = 20;
    const CODE_BITS: u32 = 3;
    const QUEUE_BITS: u32 = 17;

    /// The record of a port at `at` that has sent for `sent` all in all, with a queue that takes `queue` to send; all rounded down.
    #[inline]
    pub fn new(code: u8, at: Time, sent: Span, queue: Span) -> Self {
        let most = low_bits(Self::QUEUE_BITS);
        Self {
            code,
            at_ns: ((at.as_ps() / 1_000) & low_bits(Self::AT_BITS)) as u32,
            sent: ((sent / Self::SENT_UNIT) & low_bits(Self::SENT_BITS)) as u32,
            queue: (queue / Self::QUEUE_UNIT).min(most) as u32,
        }
    }

    /// The record as 64 bits.
    #[inline]
    pub fn word(self) -> u64 {
        let Self { code, at_ns, sent, queue } = self;
        let above = u64::from(queue) << Self::SENT_BITS | u64::from(sent);
        (above << Self::AT_BITS | u64::from(at_ns)) << Self::CODE_BITS | u64::from(code)
    }

    /// The record of 64 bits.
    #[inline]
    pub fn of(word: u64) -> Self {
        let at_ns = word >> Self::CODE_BITS;
        let sent = at_ns >> Self::AT_BITS;
        let queue = sent >> Self::SENT_BITS;
        Self {
            code: (word & low_bits(Self::CODE_BITS)) as u8,
            at_ns: (at_ns & low_bits(Self::AT_BITS)) as u32,
            sent: (sent & low_bits(Self::SENT_BITS)) as u32,
            queue: queue as u32,
        }
    }
}

const fn low_bits(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_rate_has_its_published_code_and_units() {
        let rates = Rates::covering([]).unwrap();
        for (code, gbps, m) in [(0, 25, 1), (1, 50, 2), (2, 100, 4), (3, 200, 8), (4, 400, 16)] {
            let rate = BitsPerSec::from_gbps(gbps);
            assert_eq!((rates.code(rate), rates.rate(code)), (Some(code), rate));
            for units in [0, 1, 77, (1 << 20) - 1] {
                assert_eq!(rates.sent(code, units), rate.bytes_in(Hop::SENT_UNIT * units));
                assert_eq!(rates.queue(code, units), rate.bytes_in(Hop::QUEUE_UNIT * units));
            }
            let span = |bytes: u64| Span::from_ps(bytes * rate.whole_ps_per_byte().unwrap());
            let written = |sent, queue| {
                let hop = Hop::new(code, Time::ZERO, span(sent), span(queue));
                (hop.sent, hop.queue)
            };
            assert_eq!(written(128 * m - 1, 80 * m - 1), (0, 0));
            assert_eq!(written(128 * m, 80 * m), (1, 1));
            assert_eq!(written((128 * m) << 20, (80 * m) << 17), (0, (1 << 17) - 1));
        }
    }

    #[test]
    fn one_factor_for_all_ports_counts_bytes_whatever_their_rate() {
        // A queue of 9,999 B and 123,456 B sent, in units of 4 * 80 B and 4 * 128 B.
        let rates = Rates::covering([BitsPerSec::from_gbps(10)]).unwrap().with_multi(4);
        for gbps in [10, 25, 100, 400] {
            let code = rates.code(BitsPerSec::from_gbps(gbps)).unwrap();
            let at_25 = |bytes: u64| Rates::time_of(bytes, 4);
            let hop = Hop::new(code, Time::ZERO, at_25(123_456), at_25(9_999));
            assert_eq!((hop.sent, hop.queue), (123_456 / 512, 9_999 / 320));
            assert_eq!(rates.sent(code, hop.sent.into()), Bytes::new(241 * 512));
            assert_eq!(rates.queue(code, hop.queue.into()), Bytes::new(31 * 320));
            assert_eq!(
                rates.sent_unit(code),
                BitsPerSec::from_gbps(gbps).time_for(Bytes::new(512))
            );
        }
        for multi in [1, 3, 7, 1_000] {
            for bytes in [0, 1, 127, 128, 129, 384, 896, 128_000, 999_999_999] {
                let hop = Hop::new(0, Time::ZERO, Rates::time_of(bytes, multi), Span::ZERO);
                assert_eq!(u64::from(hop.sent), (bytes / (128 * u64::from(multi))) % (1 << 20));
            }
        }
    }

    #[test]
    fn three_other_rates_fit_and_a_fourth_does_not() {
        let others = [10, 40, 100, 10, 800].map(BitsPerSec::from_gbps);
        let rates = Rates::covering(others).unwrap();
        for rate in others {
            let code = rates.code(rate).unwrap();
            assert_eq!(rates.rate(code), rate);
            assert_eq!(rates.sent(code, 99_999), rate.bytes_in(Hop::SENT_UNIT * 99_999));
        }
        assert_eq!(rates.code(BitsPerSec::from_gbps(1)), None);
        assert_eq!(Rates::covering([]).unwrap().rate(7), BitsPerSec::new(0));
        assert_eq!(Rates::covering([1, 2, 10, 40].map(BitsPerSec::from_gbps)), None);
    }

    #[test]
    fn a_record_keeps_its_fields_and_wraps_where_it_should() {
        for n in 0..200u64 {
            let word = |nth| forebay_units::math::mix(n * 8 + nth);
            let hop = Hop {
                code: (word(0) % 8) as u8,
                at_ns: (word(1) % (1 << 24)) as u32,
                sent: (word(2) % (1 << 20)) as u32,
                queue: (word(3) % (1 << 17)) as u32,
            };
            assert_eq!(Hop::of(hop.word()), hop);
        }
        assert_eq!(Hop::of(u64::MAX).word(), u64::MAX, "no bit is unused");
        let late = Hop::new(0, Time::from_ps((1 << 24) * 1_000 + 7_999), Span::ZERO, Span::ZERO);
        assert_eq!(late.at_ns, 7);
    }
}
