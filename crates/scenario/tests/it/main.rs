//! Every test of this crate that is outside its source, in one program.

mod bounds;
mod cdf;
mod collectives;
mod edit;
mod errors;
mod fuzz;
mod identity;
mod import;
mod import_forks;
mod import_words;
mod meaning;
mod objects;
mod pitfalls;
mod programs;
mod round_trip;
mod schema;
mod shipped;
mod words;
mod workload;
