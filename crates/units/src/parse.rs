//! Text to quantities: a number and a unit, always both.

use crate::quantity::{BYTE_UNITS, SPAN_UNITS};
use crate::rate::RATE_UNITS;
use crate::{BitsPerSec, Bytes, Span, Time};
use core::fmt;
use core::str::FromStr;

/// Why a text is not a quantity. Its `Display` says what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// A number without a unit.
    NoUnit {
        /// What a right value looks like.
        example: &'static str,
    },
    /// The unit is not one of this quantity's.
    WrongUnit {
        /// The units that are.
        expected: &'static str,
        /// The unit that differs in capitals alone.
        meant: Option<&'static str>,
    },
    /// The part before the unit is not a finite non-negative decimal number.
    NotANumber {
        /// What a right value looks like.
        example: &'static str,
    },
    /// A rate in bytes per second, `GBps`, where bits are meant.
    BytesPerSecond {
        /// The units of rates.
        expected: &'static str,
    },
    /// A number with an exponent, `1e9`.
    Exponent {
        /// What a right value looks like.
        example: &'static str,
    },
    /// More than 64 bits hold in the base unit.
    TooLarge {
        /// The largest whole number of the largest unit.
        most: &'static str,
    },
    /// Finer than the base unit (1 ps, 1 byte, 1 bit/s).
    TooFine,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUnit { example } => write!(f, "has no unit; write for instance \"{example}\""),
            Self::WrongUnit { expected, meant: None } => {
                write!(f, "has a unit that does not fit here; use one of {expected}")
            }
            Self::WrongUnit { expected, meant: Some(meant) } => {
                write!(
                    f,
                    "has a unit that does not fit here; did you mean \"{meant}\"? use one of {expected}"
                )
            }
            Self::NotANumber { example } => {
                write!(
                    f,
                    "is not a non-negative decimal number with a unit; write for instance \"{example}\""
                )
            }
            Self::BytesPerSecond { expected } => {
                write!(
                    f,
                    "counts bytes (B), where rates count bits; write 8 times as many bits with one of {expected}"
                )
            }
            Self::Exponent { example } => {
                write!(
                    f,
                    "has an exponent; write the number out in digits, for instance \"{example}\""
                )
            }
            Self::TooLarge { most } => write!(f, "is too large; write at most \"{most}\""),
            Self::TooFine => f.write_str("is finer than the smallest unit"),
        }
    }
}

impl core::error::Error for ParseError {}

struct Grammar {
    units: &'static [(u64, &'static str)],
    aliases: &'static [(u64, &'static str)],
    expected: &'static str,
    example: &'static str,
    most: &'static str,
}

const SPAN: Grammar = Grammar {
    units: SPAN_UNITS,
    aliases: &[],
    expected: "ps, ns, us, ms, s",
    example: "1us",
    most: "18446744s",
};

const BYTES: Grammar = Grammar {
    units: BYTE_UNITS,
    aliases: &[(1_000, "kB")],
    expected: "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
    example: "64KiB",
    most: "16777215TiB",
};

const RATE: Grammar = Grammar {
    units: RATE_UNITS,
    aliases: &[(1_000, "kbps")],
    expected: "bps, Kbps, Mbps, Gbps, Tbps",
    example: "100Gbps",
    most: "18446744Tbps",
};

impl Grammar {
    /// Exact decimal parsing: no float is involved, so "0.1us" is 100,000 ps on every machine.
    fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let text = text.trim();
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = (text[..split].trim_end(), &text[split..]);
        let bad = ParseError::NotANumber { example: self.example };
        if number.is_empty() {
            return Err(bad);
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits_only = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
        if whole.is_empty()
            || !digits_only(whole)
            || !digits_only(fraction)
            || number.ends_with('.')
        {
            return Err(bad);
        }
        if unit.is_empty() {
            return Err(ParseError::NoUnit { example: self.example });
        }
        let &(size, _) = self
            .units
            .iter()
            .chain(self.aliases)
            .find(|(_, name)| *name == unit)
            .ok_or_else(|| self.wrong_unit(unit))?;
        scale(whole, fraction, size).map_err(|e| match e {
            ParseError::TooLarge { .. } => ParseError::TooLarge { most: self.most },
            e => e,
        })
    }
}

impl Grammar {
    /// Why `unit` is none of this grammar's, as exactly as can be said.
    fn wrong_unit(&self, unit: &str) -> ParseError {
        let exponent = unit.strip_prefix(['e', 'E']).is_some_and(|rest| {
            rest.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
        });
        if exponent {
            return ParseError::Exponent { example: self.example };
        }
        let known = |prefix: &str| ["", "K", "k", "M", "G", "T"].contains(&prefix);
        let rates = self.units.iter().any(|(_, name)| *name == "bps");
        match unit.strip_suffix("Bps").or_else(|| unit.strip_suffix("B/s")) {
            Some(prefix) if rates && known(prefix) => {
                ParseError::BytesPerSecond { expected: self.expected }
            }
            _ => {
                let mut close = self.units.iter().map(|(_, name)| *name);
                let meant = close.find(|name| name.eq_ignore_ascii_case(unit));
                ParseError::WrongUnit { expected: self.expected, meant }
            }
        }
    }
}

/// `whole.fraction` times `size`, exactly or not at all.
fn scale(whole: &str, fraction: &str, size: u64) -> Result<u64, ParseError> {
    let digits = |text: &str| {
        text.bytes().filter(|b| *b != b'_').try_fold(0u128, |value, b| {
            let next = value * 10 + u128::from(b - b'0');
            (next <= u128::from(u64::MAX)).then_some(next)
        })
    };
    let fraction = fraction.trim_end_matches(['0', '_']);
    let places = fraction.bytes().filter(|b| *b != b'_').count() as u32;
    let parts =
        digits(fraction).filter(|_| places <= 18).ok_or(ParseError::TooFine)? * u128::from(size);
    let unit = 10u128.pow(places);
    if !parts.is_multiple_of(unit) {
        return Err(ParseError::TooFine);
    }
    let too_large = ParseError::TooLarge { most: "" }; // the grammar says how much
    let value = digits(whole).ok_or(too_large)? * u128::from(size) + parts / unit;
    u64::try_from(value).map_err(|_| too_large)
}

macro_rules! from_str {
    ($t:ty, $grammar:ident, $make:expr) => {
        impl FromStr for $t {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                $grammar.parse(text).map($make)
            }
        }
    };
}

from_str!(Span, SPAN, Span::from_ps);
from_str!(Time, SPAN, Time::from_ps);
from_str!(Bytes, BYTES, Bytes::new);
from_str!(BitsPerSec, RATE, BitsPerSec::new);

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn decimal_values_are_exact() {
        assert_eq!("0.1us".parse(), Ok(Span::from_ns(100)));
        assert_eq!("600 ns".parse(), Ok(Span::from_ns(600)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes::new(1536)));
        assert_eq!("100Gbps".parse(), Ok(BitsPerSec::from_gbps(100)));
        assert_eq!("1_000.000_000B".parse(), Ok(Bytes::new(1000)));
    }

    #[test]
    fn each_kind_of_wrong_is_told_apart() {
        assert!(matches!("12".parse::<Span>(), Err(ParseError::NoUnit { .. })));
        assert!(matches!("12Gbps".parse::<Span>(), Err(ParseError::WrongUnit { meant: None, .. })));
        let lower = "32kb".parse::<Bytes>();
        assert!(matches!(lower, Err(ParseError::WrongUnit { meant: Some("KB"), .. })), "{lower:?}");
        assert!(matches!("-1us".parse::<Span>(), Err(ParseError::NotANumber { .. })));
        assert!(matches!("NaN".parse::<Span>(), Err(ParseError::NotANumber { .. })));
        assert!(matches!(".5us".parse::<Span>(), Err(ParseError::NotANumber { .. })));
        assert_eq!("0.1ps".parse::<Span>(), Err(ParseError::TooFine));
        assert_eq!("0.1KiB".parse::<Bytes>(), Err(ParseError::TooFine));
        let said = |e: ParseError| e.to_string();
        let span = said("99999999999999999999s".parse::<Span>().unwrap_err());
        assert_eq!(span, "is too large; write at most \"18446744s\"");
        assert!(matches!(
            "18446744073709551616B".parse::<Bytes>(),
            Err(ParseError::TooLarge { .. })
        ));
        let exponent = said("1e30bps".parse::<BitsPerSec>().unwrap_err());
        assert!(exponent.starts_with("has an exponent; write the number out"), "{exponent}");
        for bytes in ["100GBps", "100GB/s", "1Bps"] {
            let why = said(bytes.parse::<BitsPerSec>().unwrap_err());
            assert!(why.starts_with("counts bytes (B), where rates count bits"), "{why}");
        }
    }

    #[test]
    fn what_is_too_large_is_told_what_fits() {
        let fits = |text: &str| text.parse::<Span>().is_ok();
        assert!(fits(SPAN.most) && !fits("18446745s"));
        assert!(BYTES.most.parse::<Bytes>().is_ok() && RATE.most.parse::<BitsPerSec>().is_ok());
    }

    #[test]
    fn display_reads_back_to_the_same_value() {
        for ps in [0, 1, 999, 1_000, 1_500_000, 123_456_789_012, 5_000_000_000_000] {
            let span = Span::from_ps(ps);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        for b in [0, 1, 1024, 1000, 1 << 20, 300_000, 123_457] {
            let bytes = Bytes::new(b);
            assert_eq!(bytes.to_string().parse(), Ok(bytes));
        }
        for (b, text) in [
            (16_000_000, "16MB"),
            (65_536, "64KiB"),
            (128_000, "128KB"),
            (1 << 24, "16MiB"),
            (1_538, "1538B"),
        ] {
            assert_eq!(Bytes::new(b).to_string(), text);
        }
    }
}
