//! Credits over verbs: reliable connections whose requests wait until the receiver's cache has room.
//!
//! A [`Link`] has two queue pairs. Requests travel on the first, each with a counter of credits as immediate data. Credit messages
//! travel on the second, as small inline SENDs, so that they never wait behind requests.
//!
//! libibverbs is loaded at run time: this crate builds without its headers, and says at run time what is missing.
//!
//! Invariant: no `unsafe` outside `sys`; nothing is allocated after [`Link::connect`].

mod link;
mod sys;

pub use link::{ADDRESS_BYTES, Address, EndReason, Event, Link, Settings};
pub use sys::{Device, VerbsUnavailable, devices};
