//! Quantities: time, bytes and rates as integers that cannot be mixed up.
//!
//! Time is integer picoseconds, so every standard Ethernet rate (10 Gb/s to 1.6 Tb/s) is a whole
//! number of picoseconds per byte. Other rates go through [`Serializer`], which carries the
//! remainder: N packets of L bytes at R bit/s take exactly `floor(8 * N * L * 10^12 / R)` ps.
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
