//! The header, and the C functions as Rust calls them.

mod calls;
mod header;
