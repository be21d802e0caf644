//! Message rings in memory that two processes of one machine share, with credits for the reader's cache.
//!
//! Both ends meet at a Unix socket ([`meet`]). One makes a file in memory and sends its descriptor. Each direction has a ring of
//! descriptors, one line each, and a ring of payload ([`queue`]). A [`Host`] holds many ends, and the credits of all of them.
//!
//! The other process is not trusted: what it writes is read by atomics and checked, and what cannot be ends the connection.
//!
//! Invariants: no `unsafe`, no lock; nothing is allocated after a connection is made.

pub mod host;
pub mod meet;
pub mod queue;

pub use host::{EndReason, Event, Host, Settings};
pub use meet::{End, Listener, connect, pair};
pub use queue::Size;
