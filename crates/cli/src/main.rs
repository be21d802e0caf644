//! The `forebay` program.

use std::process::ExitCode;

/// Large runs live in main memory, and this one lays their state out better: docs/adr/0011-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(forebay_cli::command(forebay_cli::OwnCommand::of_this_process()))
}
