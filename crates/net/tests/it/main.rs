//! Every test of this crate that is outside its source, in one program.

mod classes;
mod common;
mod credit_class;
mod credits;
mod pause;
mod ports;
mod routes;
mod switches;
mod telemetry;
mod tor;
mod trimming;
