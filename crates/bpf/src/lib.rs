//! Programs for the kernel, as object files that are part of the agent: a build needs no clang.
//!
//! The sources are in `c/`, the objects in `obj/`. `tests/objects.rs` makes them again where there is a clang and compares;
//! `FOREBAY_WRITE=1 cargo test -p forebay-bpf` writes them.
//!
//! Invariant: an object has no type information but what the kernel needs to place fields of its own structures.

/// Marks arriving packets while a lease lasts: `echo.bpf.c`, whose maps are those of `forebay_abi`. Sections `tc` and `cgroup`.
pub const ECHO: &[u8] = include_bytes!("../obj/echo.bpf.o");

/// TCP-NV as a congestion control of the kernel: `nv.bpf.c` over `nv.h`.
pub const NV: &[u8] = include_bytes!("../obj/nv.bpf.o");

/// Reno: `reno.bpf.c`.
pub const RENO: &[u8] = include_bytes!("../obj/reno.bpf.o");

/// CUBIC: `cubic.bpf.c`.
pub const CUBIC: &[u8] = include_bytes!("../obj/cubic.bpf.o");

/// DCTCP: `dctcp.bpf.c`.
pub const DCTCP: &[u8] = include_bytes!("../obj/dctcp.bpf.o");

/// A first idea of a law, with a parameter: `halve.bpf.c`.
pub const HALVE: &[u8] = include_bytes!("../obj/halve.bpf.o");
