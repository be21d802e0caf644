//! Every test of this crate that is outside its source, in one program.

mod bpf_law;
mod credits;
mod imports;
mod linux;
mod run_folder;
mod scenario;
