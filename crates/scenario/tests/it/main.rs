//! Every test of this crate that is outside its source, in one program.

mod cdf;
mod errors;
mod fuzz;
mod import;
mod import_forks;
mod meaning;
mod pitfalls;
mod round_trip;
mod schema;
mod shipped;
mod workload;
