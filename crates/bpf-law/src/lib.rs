//! BPF congestion controls as flow laws: the object file that Linux loads (`struct_ops`, `tcp_congestion_ops`) runs in the simulator.
//!
//! [`elf`] and [`btf`] read the object, `core` places fields by name in the kernel of [`mirror`], `load` joins code and data into an image, the
//! machine runs it, and [`BpfLaw`] is the law over the callbacks of [`forebay_laws::kernel`]. [`deployment`] links the same object for a kernel
//! that runs.
//!
//! Invariant: no `unsafe`, no host address in a program, no unchecked access, no panic on any object. What a program does depends on its
//! object, its parameters and the events alone.

mod address;
pub mod btf;
mod calls;
mod core;
pub mod deployment;
pub mod elf;
mod errno;
mod image;
mod instruction;
mod law;
mod load;
mod machine;
mod maps;
pub mod mirror;
mod operations;
mod sha256;
mod step;
mod stop;
mod trace;

pub use law::{BpfLaw, Object, OperationsReport, Report};
pub use load::MAX_INSTRUCTIONS;
pub use machine::MAX_STEPS;
pub use operations::Callback;

use std::fmt;

/// Why an object cannot be loaded: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(String);

impl LoadError {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}
