//! Every test of this crate that is outside its source, in one program.

mod checker;
mod clock;
mod errors;
mod known;
mod page;
mod properties;
