//! Parameters of a law by name and text: what a scenario may set, and what a wrong value gets.
//!
//! A law lists its parameters once, in [`params!`](crate::params!); struct, defaults, table, parser and printer follow.
//! A value that its type cannot hold cannot be set.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use forebay_units::{BitsPerSec, Bytes, Span};

/// What the help page and the scenario reader know about one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// Which values it takes, with the unit, as the end of "takes ...".
    pub range: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

/// Name, parameters and help page of a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawInfo {
    name: Cow<'static, str>,
    params: &'static [ParamInfo],
    file: Cow<'static, str>,
    object: Option<Arc<str>>,
}

impl LawInfo {
    /// A law whose help page is the `//!` charter at the head of `file`, or all of `file` if that has no charter.
    pub const fn new(name: &'static str, params: &'static [ParamInfo], file: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), params, file: Cow::Borrowed(file), object: None }
    }

    /// A law without parameters whose name and help page are only known at run time.
    pub fn of_program(name: String, page: String) -> Self {
        Self { name: Cow::Owned(name), params: &[], file: Cow::Owned(page), object: None }
    }

    /// Name in scenarios.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parameters of the law, in the order of the help page. Empty for most.
    pub fn params(&self) -> &'static [ParamInfo] {
        self.params
    }

    /// The same law with these parameters.
    #[must_use]
    pub fn with_params(self, params: &'static [ParamInfo]) -> Self {
        Self { params, ..self }
    }

    /// The same law, read from an object file with this SHA-256 in hexadecimal digits.
    #[must_use]
    pub fn with_object(self, sha256: &str) -> Self {
        Self { object: Some(sha256.into()), ..self }
    }

    /// SHA-256 of the object file that the law was read from, if it was.
    pub fn object(&self) -> Option<&str> {
        self.object.as_deref()
    }

    /// Text of the law's file, which tells its versions apart.
    pub fn text(&self) -> &str {
        &self.file
    }

    /// The help page, line by line.
    pub fn help(&self) -> impl Iterator<Item = &str> {
        let charter = self.file.starts_with("//!");
        self.file.lines().map_while(move |line| {
            let text = if charter { line.strip_prefix("//!")? } else { line };
            Some(text.strip_prefix(' ').unwrap_or(text))
        })
    }

    /// The first line of the help page.
    pub fn summary(&self) -> &str {
        self.help().next().unwrap_or("")
    }
}

/// A law by name with its parameters, whatever its role.
pub trait NamedLaw {
    /// Name, parameters and help page of the law.
    fn info(&self) -> &LawInfo;

    /// Sets one parameter from its text.
    ///
    /// # Errors
    /// If the law has no such parameter, or the text is not one of its values; nothing changes then.
    fn set(&mut self, name: &str, text: &str) -> Result<(), ParamError>;

    /// Values of all parameters, in the order of the help page.
    fn texts(&self) -> Vec<String>;
}

/// Why a law or a parameter could not be set.
///
/// `Display` is a full sentence that names the remedy; the caller adds the path and the value, which it
/// knows better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamError {
    /// No law has this name.
    UnknownLaw {
        /// The laws that exist.
        known: Vec<String>,
    },
    /// The law has no parameter of this name.
    UnknownParam {
        /// The law.
        law: String,
        /// Its parameters.
        params: &'static [ParamInfo],
    },
    /// The text is not a value of this parameter.
    BadValue {
        /// The law.
        law: String,
        /// The parameter, whose `range` says what would do.
        param: &'static ParamInfo,
    },
}

impl ParamError {
    /// No law has this name; these exist.
    pub fn unknown_law<'a>(known: impl IntoIterator<Item = &'a LawInfo>) -> Self {
        let known = known.into_iter().map(|law| law.name().to_string()).collect();
        Self::UnknownLaw { known }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownLaw { known } => {
                f.write_str("there is no law of this name; use ")?;
                list(f, known.iter().map(String::as_str))
            }
            Self::UnknownParam { law, params: [] } => write!(f, "{law} has no parameters"),
            Self::UnknownParam { law, params } => {
                write!(f, "{law} has no parameter of this name; use ")?;
                list(f, params.iter().map(|param| param.name))
            }
            Self::BadValue { law, param } => {
                write!(f, "{law}.{} takes {}", param.name, param.range)
            }
        }
    }
}

impl core::error::Error for ParamError {}

fn list<'a>(
    f: &mut fmt::Formatter<'_>,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> fmt::Result {
    let last = names.len().saturating_sub(1);
    for (i, name) in names.enumerate() {
        let comma = match i {
            0 => "",
            _ if i == last => " or ",
            _ => ", ",
        };
        write!(f, "{comma}{name}")?;
    }
    Ok(())
}

/// A type that a parameter may have. `Display` writes what `parse` reads.
pub trait ParamType: Copy + fmt::Display {
    /// Which texts `parse` takes, as the end of "takes ...".
    const RANGE: &'static str;

    /// The value of a text, if it is one of this type.
    fn parse(text: &str) -> Option<Self>;
}

impl ParamType for bool {
    const RANGE: &'static str = "true or false";

    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
}

/// A gain that is a power of one half, from 1 down to 1/1024, so that integer laws can shift by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain(u8); // invariant: at most `Gain::MAX_SHIFT`

impl Gain {
    /// Of the least gain there is.
    pub(crate) const MAX_SHIFT: u8 = 10;

    /// One half to the power of `shift`.
    ///
    /// # Panics
    /// If `shift` is above 10.
    pub const fn from_shift(shift: u8) -> Self {
        assert!(shift <= Self::MAX_SHIFT, "a gain is at least 1/1024");
        Self(shift)
    }

    /// The power of one half.
    pub const fn shift(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", 1u32 << self.0)
    }
}

impl ParamType for Gain {
    const RANGE: &'static str =
        "a power of one half from 1/1024 to 1, written as \"1/16\" or \"0.0625\"";

    /// Exact, without floats: 0.0625 is 625 / 10^4, and 625 * 2^4 is 10^4.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (part, whole) = match text.split_once('/') {
            Some((part, whole)) => (digits(part)?, digits(whole)?),
            None => {
                let (units, tail) = text.split_once('.').unwrap_or((text, ""));
                let tail = tail.trim_end_matches('0');
                let scale = 10u64.checked_pow(u32::try_from(tail.len()).ok()?)?;
                let tail = if tail.is_empty() { 0 } else { digits(tail)? };
                (digits(units)?.checked_mul(scale)?.checked_add(tail)?, scale)
            }
        };
        (0..=Self::MAX_SHIFT)
            .find(|&shift| part > 0 && part.checked_mul(1 << shift) == Some(whole))
            .map(Self)
    }
}

/// Decimal digits only: no sign, no blank, not empty.
#[doc(hidden)]
pub fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

impl ParamType for Span {
    const RANGE: &'static str = "a time with its unit, such as \"5s\" or \"250us\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl ParamType for BitsPerSec {
    const RANGE: &'static str = "a rate with its unit, such as \"84Gbps\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl ParamType for Bytes {
    const RANGE: &'static str = "a size with its unit, such as \"64KB\"";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Defines a parameter type that is a decimal number between two bounds, both included.
#[macro_export]
macro_rules! decimal {
    ($(#[doc = $about:literal])* pub struct $name:ident: $what:literal from $min:literal to $max:literal;) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $name(f64);

        impl $name {
            /// A value within the bounds.
            ///
            /// # Panics
            /// If it is out of bounds.
            pub const fn new(x: f64) -> Self {
                assert!($min <= x && x <= $max, "out of the bounds of this parameter");
                Self(x)
            }

            /// The number.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::params::ParamType for $name {
            const RANGE: &'static str =
                concat!("a ", $what, " from ", $min, " to ", $max);

            fn parse(text: &str) -> Option<Self> {
                let x = $crate::params::plain_decimal(text.trim())?;
                ($min..=$max).contains(&x).then_some(Self(x))
            }
        }
    };
}
pub(crate) use decimal;

/// Digits, with or without a fraction after a point: no sign, no exponent, no blank.
#[doc(hidden)]
pub fn plain_decimal(text: &str) -> Option<f64> {
    let (units, tail) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    (digits(units) && digits(tail)).then(|| text.parse().ok())?
}

/// Defines a parameter type that is a word, or a value of another type that passes a test.
#[macro_export]
macro_rules! or_word {
    ($(#[doc = $about:literal])* pub struct $name:ident: $word:literal or $inner:ty, $range:literal if $fits:expr;) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $name(pub Option<$inner>);

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match &self.0 {
                    Some(value) => core::fmt::Display::fmt(value, f),
                    None => f.write_str($word),
                }
            }
        }

        impl $crate::params::ParamType for $name {
            const RANGE: &'static str = concat!("\"", $word, "\" or ", $range);

            fn parse(text: &str) -> Option<Self> {
                let fits: fn(&$inner) -> bool = $fits;
                match text.trim() {
                    $word => Some(Self(None)),
                    text => $crate::params::ParamType::parse(text).filter(fits).map(|x| Self(Some(x))),
                }
            }
        }
    };
}
pub(crate) use or_word;

/// Defines a parameter type that is a whole number between two bounds, both included.
#[macro_export]
macro_rules! whole {
    ($(#[doc = $about:literal])* pub struct $name:ident: $what:literal from $min:literal to $max:literal;) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(u32);

        impl $name {
            /// A value within the bounds.
            ///
            /// # Panics
            /// If it is out of bounds.
            pub const fn new(n: u32) -> Self {
                assert!(matches!(n, $min..=$max), "out of the bounds of this parameter");
                Self(n)
            }

            /// The number.
            pub const fn get(self) -> u64 {
                self.0 as u64
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::params::ParamType for $name {
            const RANGE: &'static str =
                concat!("a ", $what, " from ", $min, " to ", $max);

            fn parse(text: &str) -> Option<Self> {
                let n = $crate::params::digits(text.trim())?;
                ($min..=$max).contains(&n).then_some(Self(n as u32))
            }
        }
    };
}
pub(crate) use whole;

whole! {
    /// A number of packets, or none.
    pub struct Packets: "whole number of packets" from 0 to 65535;
}

whole! {
    /// A number of packets, at least one.
    pub struct SomePackets: "whole number of packets" from 1 to 65535;
}

whole! {
    /// A share in units of 1/1024, neither none nor all.
    pub struct Of1024: "whole number of 1024ths" from 1 to 1023;
}

/// What `params!` makes of a law's list.
pub trait ParamTable: Clone + Default + PartialEq + fmt::Debug {
    /// The list.
    const TABLE: &'static [ParamInfo];

    /// Sets parameter `name`. `None`: no such name. `Some(false)`: not a value of its type, and nothing changed.
    fn set(&mut self, name: &str, text: &str) -> Option<bool>;

    /// Writes the value of parameter `name` as `set` reads it; nothing if there is no such name.
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A law without parameters.
impl ParamTable for () {
    const TABLE: &'static [ParamInfo] = &[];

    fn set(&mut self, _name: &str, _text: &str) -> Option<bool> {
        None
    }

    fn write(&self, _name: &str, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Parameters that flows share, where a flow has no room for a copy.
impl<T: ParamTable> ParamTable for Arc<T> {
    const TABLE: &'static [ParamInfo] = T::TABLE;

    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        ParamTable::set(Arc::make_mut(self), name, text)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ParamTable::write(&**self, name, f)
    }
}

/// The part of [`ParamTable`] that does not depend on the type; used off the hot path only.
pub(crate) trait Table {
    /// As [`ParamTable::set`].
    fn set(&mut self, name: &str, text: &str) -> Option<bool>;
    /// As [`ParamTable::write`].
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: ParamTable> Table for T {
    fn set(&mut self, name: &str, text: &str) -> Option<bool> {
        ParamTable::set(self, name, text)
    }

    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ParamTable::write(self, name, f)
    }
}

/// Sets one parameter of a law from its text; the error names the remedy, and nothing changes then.
pub(crate) fn set(
    (law, params): (String, &'static [ParamInfo]),
    table: &mut dyn Table,
    name: &str,
    text: &str,
) -> Result<(), ParamError> {
    match table.set(name, text) {
        Some(true) => Ok(()),
        done => Err(match params.iter().find(|param| param.name == name) {
            Some(param) if done.is_some() => ParamError::BadValue { law, param },
            _ => ParamError::UnknownParam { law, params },
        }),
    }
}

/// Every parameter of a law with its value now, in the order of the help page; the text reads back through [`set`].
pub(crate) fn values<'a>(
    law: &LawInfo,
    table: &'a dyn Table,
) -> impl Iterator<Item = (&'static ParamInfo, impl fmt::Display + use<'a>)> + use<'a> {
    law.params().iter().map(move |param| (param, Value { table, name: param.name }))
}

struct Value<'a> {
    table: &'a dyn Table,
    name: &'static str,
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.write(self.name, f)
    }
}

/// Defines the parameters of a law: `name: Type = default => "source of the default",` after a doc line.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])*
        pub struct $params:ident {
            $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr => $source:literal,)+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $params {
            $($(#[doc = $doc])+
            #[doc = concat!("\n\nSource: ", $source)]
            pub $name: $type,)+
        }

        impl Default for $params {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl $crate::params::ParamTable for $params {
            const TABLE: &'static [$crate::params::ParamInfo] = &[$($crate::params::ParamInfo {
                name: stringify!($name),
                doc: concat!($($doc),+).trim_ascii(),
                range: <$type as $crate::params::ParamType>::RANGE,
                source: $source,
            },)+];

            fn set(&mut self, name: &str, text: &str) -> Option<bool> {
                $(if name == stringify!($name) {
                    let value = $crate::params::ParamType::parse(text);
                    self.$name = value.unwrap_or(self.$name);
                    return Some(value.is_some());
                })+
                None
            }

            fn write(&self, name: &str, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $(if name == stringify!($name) {
                    return core::fmt::Display::fmt(&self.$name, f);
                })+
                Ok(())
            }
        }
    };
}
pub(crate) use params;

/// Defines a parameter type that is one of a few words.
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident {
            $(#[doc = $doc0:literal])+ $variant0:ident = $word0:literal,
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $choice {
            $(#[doc = $doc0])+ $variant0,
            $($(#[doc = $doc])+ $variant,)+
        }

        impl core::fmt::Display for $choice {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    Self::$variant0 => $word0,
                    $(Self::$variant => $word,)+
                })
            }
        }

        impl $crate::params::ParamType for $choice {
            const RANGE: &'static str = concat!("\"", $word0, "\"" $(, " or \"", $word, "\"")+);

            fn parse(text: &str) -> Option<Self> {
                match text.trim() {
                    $word0 => Some(Self::$variant0),
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use choice;

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn a_gain_reads_fractions_and_decimals_exactly() {
        for (text, shift) in
            [("0.0625", 4), ("1/16", 4), ("1", 0), ("1.0", 0), ("0.5", 1), ("0.0009765625", 10)]
        {
            assert_eq!(Gain::parse(text), Some(Gain::from_shift(shift)), "{text}");
        }
        for text in
            ["0.06", "0", "0/0", "2", "1/2048", "1/15", "-1", "", ".5", "1/", "x", "1e-1", "+1"]
        {
            assert_eq!(Gain::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_whole_number_keeps_its_bounds() {
        assert_eq!(SomePackets::parse(" 10 "), Some(SomePackets::new(10)));
        for text in ["0", "65536", "-1", "+1", "1.0", "1e1", "", "ten"] {
            assert_eq!(SomePackets::parse(text), None, "{text}");
        }
        assert_eq!(SomePackets::RANGE, "a whole number of packets from 1 to 65535");
    }

    decimal! {
        /// For the tests below.
        pub struct Part: "share" from 0.001 to 1.5;
    }

    or_word! {
        /// For the tests below.
        pub struct Wait: "none" or Span, "a time above 0" if |span| *span > Span::ZERO;
    }

    #[test]
    fn a_decimal_keeps_its_bounds_and_prints_what_it_reads() {
        for (text, value) in [("0.001", 0.001), ("1", 1.0), ("1.50", 1.5), (" 0.8 ", 0.8)] {
            let part = Part::parse(text).map(Part::get);
            assert_eq!(part, Some(value), "{text}");
            assert_eq!(Part::parse(&Part::new(value).to_string()).map(Part::get), Some(value));
        }
        for text in
            ["0", "0.0009", "1.6", "-1", "+1", "1.", ".5", "1e-1", "", "inf", "nan", "1.0.0"]
        {
            assert_eq!(Part::parse(text), None, "{text}");
        }
        assert_eq!(Part::RANGE, "a share from 0.001 to 1.5");
    }

    #[test]
    fn a_word_stands_for_no_value() {
        assert_eq!(Wait::parse("none"), Some(Wait(None)));
        assert_eq!(Wait::parse("5us"), Some(Wait(Some(Span::from_us(5)))));
        assert_eq!(Wait::parse("0us"), None);
        assert_eq!(Wait(None).to_string(), "none");
        assert_eq!(Wait::RANGE, "\"none\" or a time above 0");
    }

    #[test]
    fn a_gain_prints_what_it_reads() {
        for shift in 0..=10 {
            let gain = Gain::from_shift(shift);
            assert_eq!(Gain::parse(&gain.to_string()), Some(gain));
        }
    }
}
