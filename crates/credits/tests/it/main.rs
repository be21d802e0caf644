//! Tests of both sides together, from outside.

mod allocations;
mod bounds;
mod channel;
mod codec;
mod forged;
mod limits;
