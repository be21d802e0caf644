//! What can be read of a machine while it runs: counters of its processor, of its network, and of its kernel.

pub mod drops;
pub mod inputs;
pub mod signals;
