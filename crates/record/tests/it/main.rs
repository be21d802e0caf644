//! Every test of this crate that is outside its source, in one program.

mod captures;
mod force;
mod report;
mod run_dir;
mod summary;
mod support;
