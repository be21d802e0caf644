//! Every test of this crate that is outside its source, in one program.

mod memory;
mod nics;
mod oracle;
