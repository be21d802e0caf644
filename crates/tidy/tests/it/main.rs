//! Rules that a reader of ARCHITECTURE.md relies on.

mod architecture;
mod circles;
mod names;
mod parts;
