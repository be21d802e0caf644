//! Sentences about quantities of every kind.

pub use forebay_settings::{Fraction, QueueLength};
pub(crate) use forebay_units::text::Measure;
use forebay_units::{BitsPerSec, Bytes, ParseError, Span};

/// Why `text` is not a quantity of this name; `None` if it is one.
pub(crate) fn why_not(name: &str, text: &str) -> Option<String> {
    // At most what the checker allows, which is far less than 64 bits hold.
    let said = |most, e| match e {
        ParseError::TooLarge { .. } => ParseError::TooLarge { most }.to_string(),
        e => e.to_string(),
    };
    match name {
        "duration" => text.parse::<Span>().err().map(|e| said("86400s", e)),
        "size" => text.parse::<Bytes>().err().map(|e| said("1000TB", e)),
        "rate" => text.parse::<BitsPerSec>().err().map(|e| said("1000Tbps", e)),
        "length" => text.parse::<QueueLength>().err(),
        "fraction" => text.parse::<Fraction>().err(),
        _ => unreachable!("the schema names five quantities"),
    }
}

/// What a right value of this name looks like.
pub(crate) fn example(name: &str) -> &'static str {
    match name {
        "duration" => Span::EXAMPLE,
        "size" => Bytes::EXAMPLE,
        "rate" => BitsPerSec::EXAMPLE,
        "fraction" => Fraction::EXAMPLE,
        _ => QueueLength::EXAMPLE,
    }
}
