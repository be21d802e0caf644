//! Every test of this crate that is outside its source, in one program.

mod common;
mod docs;
mod known_answers;
mod objects;
mod parts;
mod wrong;
