//! The assembler: from a checked scenario to a world before its first event.

mod base_rtt;
mod build;
pub(crate) mod messages;
pub(crate) mod path;
mod pools;
mod racks;
pub(crate) mod stacks;
mod symmetric;

pub(crate) use build::build;
#[cfg(feature = "reference")]
pub(crate) use build::build_with;
