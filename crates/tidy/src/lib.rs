//! What rules about the code itself need: source files, and which of them import which.
//!
//! The rules are the tests of this crate. They need no other crate, so `cargo test -p forebay-tidy` takes seconds.

pub mod imports;
pub mod source;
