//! Features of the whole workspace, for builds of a part of it.
//!
//! Cargo turns on a feature of a crate when some package of the same build asks for it. So a package alone gets other features than
//! among all, and cargo compiles nearly everything again. Builds of single crates name this package too: they then share what
//! `--workspace` has compiled. It has no library, so that cargo compiles none of its dependencies for it.

fn main() {}
