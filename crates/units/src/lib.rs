//! Quantities: time, bytes and rates as integers that cannot be mixed up.
//!
//! Time is integer picoseconds, so every standard Ethernet rate (10 Gb/s to 1.6 Tb/s) is a whole
//! number of picoseconds per byte. Other rates go through [`Serializer`], which carries the
//! remainder: N packets of L bytes at R bit/s take exactly `floor(8 * N * L * 10^12 / R)` ps.
//!
//! ```
//! use forebay_units::{BitsPerSec, Bytes, Serializer, Span};
//!
//! let rate: BitsPerSec = "100Gbps".parse()?;
//! assert_eq!(rate.time_for(Bytes::new(1_500)), Span::from_ns(120));
//! assert_eq!("1.5KB".parse(), Ok(Bytes::new(1_500)));
//! let mut third = Serializer::new(BitsPerSec::new(3)); // a byte takes 8/3 s
//! let spent: u64 = (0..3).map(|_| third.take(1).as_ps()).sum();
//! assert_eq!(spent, 8_000_000_000_000, "no remainder is lost");
//! # Ok::<(), forebay_units::ParseError>(())
//! ```
//!
//! Invariant: nothing here knows clocks, packets or I/O, and nothing rounds without saying how.
#![no_std]

#[cfg(any(feature = "human", feature = "text"))]
extern crate alloc;

mod one_line;
mod parse;
mod quantity;
mod rate;

pub use one_line::OneLine;
pub use parse::ParseError;
pub use quantity::{Bytes, Span, Time};
pub use rate::{BitsPerSec, Serializer};

#[cfg(feature = "human")]
pub mod human;
pub mod math;
pub mod random;
#[cfg(feature = "text")]
pub mod text;
