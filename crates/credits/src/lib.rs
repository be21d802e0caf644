//! Credits that keep unread data inside a receiver's cache: both sides of a connection as state machines.
//!
//! A sender posts a request only while it has credits, one for each line of the receiver's cache. The receiver returns them as its
//! application consumes. Nothing here knows a clock, a socket or a queue pair: the caller passes the time, and carries messages.
//!
//! ```
//! use forebay_credits::{Limit, Post, Receiver, Sender, law};
//! use forebay_units::Time;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = Time::ZERO;
//! let mut receiver = Receiver::new(Limit::of_bytes(64 << 10, 64)?, 1); // 1,024 lines, one connection
//! let mut sender = Sender::new(&law()?, 1, 128); // one connection, 128 requests
//! let (there, hello) = receiver.connect().expect("a number is free");
//! let here = sender.connect(now, Some(&hello))?.expect("a number is free");
//! for token in 0..17 {
//!     let post = sender.post(now, here, 4096, token); // 64 lines each
//!     assert_eq!(post, if token < 16 { Post::Go } else { Post::Wait });
//! }
//! receiver.completed(now, there, 4096); // the application has read the first
//! let message = receiver.credit_message(now, there);
//! sender.message(now, here, &message)?;
//! assert_eq!(sender.poll(now).expect("the last may go").token, 16);
//! # Ok(())
//! # }
//! ```
//!
//! Source: CARC (APNet 2025), sections 4 and 5. The law that sets the limit of a connection is one of role `pool` of `forebay-laws`;
//! the simulator's RPC hosts run the same law over the same [`Account`].
//! Invariants: `no_std`; nothing is allocated after the start; no message makes anything panic.
#![no_std]

extern crate alloc;

mod absurd;
mod account;
mod fifo;
mod limit;
mod message;
mod receiver;
mod requests;
mod returns;
mod sender;

pub use absurd::ProtocolError;
pub use account::{ACCOUNT_STATE, ACTIVE, Account, Post};
pub use limit::{Cache, Limit, NoLimit, OTHERS_PERCENT, parse_size};
pub use message::{Garbage, MESSAGE_BYTES, MOST_LINES, Message, Shares, VERSION};
pub use receiver::{HEAL, KEEP, RECEIVER_STATE, Receiver, ReceiverCounts, SCAN};
pub use requests::{Counts, Request, Requests};
pub use returns::{Returns, Timing};
pub use sender::{ReleasedRequest, SENDER_STATE, Sender};

use forebay_laws::params::ParamError;
use forebay_laws::pool::PoolParams;

/// The law of the paper with its published defaults.
///
/// # Errors
/// Never, as long as the law is registered.
pub fn law() -> Result<PoolParams, ParamError> {
    PoolParams::new("carc")
}

/// The Rust of the page runs as well.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/credits.md")]
struct Page;
