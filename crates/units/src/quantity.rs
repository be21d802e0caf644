//! `Time`, `Span` and `Bytes`: integers with a meaning.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

/// An instant of virtual time, in picoseconds since the start of the run.
///
/// Range: 0 to about 213 days. `Time::MAX` means "never".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Never.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for display only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, stopping at [`Time::MAX`].
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The first multiple of `grain` that is not before `self`. A zero grain changes nothing.
    pub const fn round_up(self, grain: Span) -> Time {
        if grain.0 == 0 {
            return self;
        }
        Time(self.0.div_ceil(grain.0).saturating_mul(grain.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// Longer than any run.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A span of seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for display only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self - other`, stopping at zero.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// `self * times`, stopping at [`Span::MAX`].
    pub const fn saturating_mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// More than anything holds: "no limit".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// A size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - other`, stopping at zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// `self + other`, stopping at [`Bytes::MAX`].
    pub const fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

macro_rules! arithmetic {
    ($t:ident) => {
        impl Add for $t {
            type Output = $t;
            fn add(self, other: $t) -> $t {
                $t(self.0 + other.0)
            }
        }
        impl Sub for $t {
            type Output = $t;
            fn sub(self, other: $t) -> $t {
                $t(self.0 - other.0)
            }
        }
        impl AddAssign for $t {
            fn add_assign(&mut self, other: $t) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $t {
            fn sub_assign(&mut self, other: $t) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $t {
            type Output = $t;
            fn mul(self, times: u64) -> $t {
                $t(self.0 * times)
            }
        }
        /// Rounds down.
        impl Div<u64> for $t {
            type Output = $t;
            fn div(self, parts: u64) -> $t {
                $t(self.0 / parts)
            }
        }
        /// How many whole times `other` fits; rounds down.
        impl Div for $t {
            type Output = u64;
            fn div(self, other: $t) -> u64 {
                self.0 / other.0
            }
        }
        impl Rem for $t {
            type Output = $t;
            fn rem(self, other: $t) -> $t {
                $t(self.0 % other.0)
            }
        }
        impl Sum for $t {
            fn sum<I: Iterator<Item = $t>>(all: I) -> $t {
                all.fold($t(0), |a, b| a + b)
            }
        }
    };
}

arithmetic!(Span);
arithmetic!(Bytes);

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0 - span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::MAX { f.write_str("never") } else { fmt::Display::fmt(&Span(self.0), f) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Writes the value in the unit that takes fewest digits and keeps it exact, so that text reads back to the same value; of two
/// such units the decimal one: 65,536 B is `64KiB` and 16,000,000 B is `16MB`.
pub(crate) fn write_exact(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
) -> fmt::Result {
    let digits = |size: u64| (value / size).checked_ilog10().unwrap_or(0);
    let (size, name) = units
        .iter()
        .filter(|(size, _)| value != 0 && value.is_multiple_of(*size))
        .min_by_key(|(size, _)| (digits(*size), size.is_power_of_two()))
        .unwrap_or(&units[units.len() - 1]);
    write!(f, "{}{}", value / size, name)
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_exact(f, self.0, SPAN_UNITS)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_exact(f, self.0, BYTE_UNITS)
    }
}

pub(crate) const SPAN_UNITS: &[(u64, &str)] =
    &[(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];

pub(crate) const BYTE_UNITS: &[(u64, &str)] = &[
    (1 << 40, "TiB"),
    (1 << 30, "GiB"),
    (1 << 20, "MiB"),
    (1 << 10, "KiB"),
    (1_000_000_000_000, "TB"),
    (1_000_000_000, "GB"),
    (1_000_000, "MB"),
    (1_000, "KB"),
    (1, "B"),
];
