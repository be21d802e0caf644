//! The pool laws by name: one row each.
//!
//! A row brings the name, static dispatch, parameters by text, the help page and the conformance
//! tests. To add a law: its file in this folder, its `mod` line in `mod.rs`, its row at the end of this file.

use super::PoolLaw;
use crate::by_name::registry;

/// Most bytes that a law may keep per connection.
pub const MAX_STATE: usize = 128;

registry! {
    PoolLaw PoolParams Pool(PoolStart, PoolAct, PoolSeen) { (), () } "connection";
    carc::Carc,
}
