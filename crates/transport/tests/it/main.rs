//! Every test of this crate that is outside its source, in one program.

mod basics;
mod bursts;
mod chaos;
mod common;
mod compression;
mod delays;
mod limits;
mod marks;
mod module;
mod rdma;
mod recovery;
mod timers;
mod window_law;
