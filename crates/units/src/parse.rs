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
    /// Finer than the base unit.
    TooFine {
        /// One of the base unit.
        least: &'static str,
    },
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
            Self::TooFine { least } => write!(f, "is finer than the smallest unit, \"{least}\""),
        }
    }
}

impl core::error::Error for ParseError {}

struct Grammar {
    units: &'static [(u64, &'static str)],
    aliases: &'static [(u64, &'static str)],
    expected: &'static str,
    example: &'static str,
    least: &'static str,
    most: &'static str,
    meant: &'static [(&'static str, &'static str)], // units of others, and ours for them
}

const SPAN: Grammar = Grammar {
    units: SPAN_UNITS,
    // The micro sign, and the Greek letter that some keyboards write for it.
    aliases: &[(1_000_000, "\u{b5}s"), (1_000_000, "\u{3bc}s")],
    expected: "ps, ns, us, ms, s",
    example: "1us",
    least: "1ps",
    most: "18446744s",
    meant: &[
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("usec", "us"),
        ("nsec", "ns"),
        ("psec", "ps"),
    ],
};

const BYTES: Grammar = Grammar {
    units: BYTE_UNITS,
    aliases: &[(1_000, "kB")],
    expected: "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB",
    example: "64KiB",
    least: "1B",
    most: "16777215TiB",
    meant: &[
        ("byte", "B"),
        ("bytes", "B"),
        ("k", "KB"),
        ("ki", "KiB"),
        ("m", "MB"),
        ("mi", "MiB"),
        ("g", "GB"),
        ("gi", "GiB"),
        ("t", "TB"),
        ("ti", "TiB"),
    ],
};

const RATE: Grammar = Grammar {
    units: RATE_UNITS,
    aliases: &[(1_000, "kbps")],
    expected: "bps, Kbps, Mbps, Gbps, Tbps",
    example: "100Gbps",
    least: "1bps",
    most: "18446744Tbps",
    meant: &[
        ("b", "bps"),
        ("bit", "bps"),
        ("k", "Kbps"),
        ("m", "Mbps"),
        ("g", "Gbps"),
        ("t", "Tbps"),
    ],
};

impl Grammar {
    /// Exact decimal parsing: no float is involved, so "0.1us" is 100,000 ps on every machine.
    fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let text = text.trim();
        let split = text.find(char::is_alphabetic).unwrap_or(text.len());
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
            NumberError::TooLarge => ParseError::TooLarge { most: self.most },
            NumberError::TooFine => ParseError::TooFine { least: self.least },
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
                let meant = meant.or_else(|| self.meant(unit));
                ParseError::WrongUnit { expected: self.expected, meant }
            }
        }
    }

    /// Unit of Forebay for one that other tools write: `Gb`, `Gbit/s` and `G` are `Gbps`.
    fn meant(&self, unit: &str) -> Option<&'static str> {
        let rates = self.units.iter().any(|(_, name)| *name == "bps");
        let endings = ["bits/s", "bit/s", "b/s", "bits", "bit", "b"];
        let ending = endings.iter().filter(|_| rates).find_map(|ending| {
            let at = unit.len().checked_sub(ending.len()).filter(|at| *at > 0)?;
            let (stem, end) = (unit.get(..at)?, unit.get(at..)?);
            end.eq_ignore_ascii_case(ending).then_some(stem)
        });
        let stem = ending.unwrap_or(unit);
        let known = self.meant.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(stem));
        known.map(|(_, ours)| *ours)
    }
}

/// Why a number does not fit.
#[derive(Clone, Copy)]
enum NumberError {
    TooLarge,
    TooFine,
}

/// `whole.fraction` times `size`, exactly or not at all.
fn scale(whole: &str, fraction: &str, size: u64) -> Result<u64, NumberError> {
    let digits = |text: &str| {
        text.bytes().filter(|b| *b != b'_').try_fold(0u128, |value, b| {
            let next = value * 10 + u128::from(b - b'0');
            (next <= u128::from(u64::MAX)).then_some(next)
        })
    };
    let fraction = fraction.trim_end_matches(['0', '_']);
    let places = fraction.bytes().filter(|b| *b != b'_').count() as u32;
    let parts =
        digits(fraction).filter(|_| places <= 18).ok_or(NumberError::TooFine)? * u128::from(size);
    let unit = 10u128.pow(places);
    if !parts.is_multiple_of(unit) {
        return Err(NumberError::TooFine);
    }
    let value = digits(whole).ok_or(NumberError::TooLarge)? * u128::from(size) + parts / unit;
    u64::try_from(value).map_err(|_| NumberError::TooLarge)
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
    use std::{format, string::ToString};

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
        let said = |e: ParseError| e.to_string();
        for (why, least) in [
            ("0.1ps".parse::<Span>().map(drop), "1ps"),
            ("0.1KiB".parse::<Bytes>().map(drop), "1B"),
            ("0.3bps".parse::<BitsPerSec>().map(drop), "1bps"),
        ] {
            let expected = format!("is finer than the smallest unit, \"{least}\"");
            assert_eq!(said(why.unwrap_err()), expected);
        }
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

    /// What reports print is what scenarios read.
    #[test]
    fn the_micro_sign_is_a_u() {
        for text in ["1.5us", "1.5\u{b5}s", "1.5 \u{3bc}s"] {
            assert_eq!(text.parse(), Ok(Span::from_ns(1500)), "{text}");
        }
    }

    #[test]
    fn the_units_of_other_programs_are_told_ours() {
        let meant = |why: Result<(), ParseError>| match why {
            Err(ParseError::WrongUnit { meant, .. }) => meant,
            other => panic!("{other:?}"),
        };
        type Parse = fn(&str) -> Result<(), ParseError>;
        let cases: [(&str, &str, Parse); 3] = [
            ("1sec 1seconds 1Sec", "s", |text| text.parse::<Span>().map(drop)),
            ("64k 64K", "KB", |text| text.parse::<Bytes>().map(drop)),
            ("100Gb 100gbit 100Gbit/s 100g 100Gb/s 100gbps", "Gbps", |text| {
                text.parse::<BitsPerSec>().map(drop)
            }),
        ];
        for (texts, ours, parse) in cases {
            for text in texts.split(' ') {
                assert_eq!(meant(parse(text)), Some(ours), "{text}");
            }
        }
        assert_eq!(meant("5parsec".parse::<Span>().map(drop)), None);
        assert_eq!(meant("5\u{df}b".parse::<BitsPerSec>().map(drop)), None);
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
