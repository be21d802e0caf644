//! Every test of this crate that is outside its source, in one program.

#[macro_use]
mod common;
mod conformance;
mod group_conformance;
mod host_conformance;
mod outside;
mod params;
mod receiver_conformance;
