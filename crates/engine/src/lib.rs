//! Virtual time: who runs when, and in what order.
//!
//! A *node* owns all its state. Directed *links* join nodes; each carries items in FIFO order and has a
//! *lookahead*: the least time between a push and the arrival it causes. Logical processes are on two sides that run by
//! turns, each as far as the other cannot affect it any more: within a window each active process merges the heads of its
//! in-links with its own timers and handles everything before the window's end.
//!
//! Invariants:
//! - Every node sees its events in the order `(time, class, in-port or timer order)`. In-ports are numbered by the
//!   canonical name of their source. Neither grouping, nor threads, nor build order change that order, and so
//!   nothing else either.
//! - A ring belongs to one shard and a shard to one thread at a time; between shards items travel in outboxes
//!   that change hands at the barrier.
//! - Words beside an item stay in a slab slot of its shard while it moves, and cross to another shard with it.
//! - There is no global state: several engines may run in one process.
//! - This crate knows nothing of packets, hosts or switches.
//!
//! # Two nodes and a link
//!
//! Two players return a ball. A link takes 1 us.
//!
//! ```
//! use forebay_engine::{Engine, LinkId, LinkSpec, Node, NodeId, Emitter, Tuning, Watch};
//! use forebay_units::{Span, Time};
//!
//! struct Player { serves: bool, to_other: LinkId, hits: u32 }
//!
//! impl Node for Player {
//!     type Item = u32; // how often the ball was hit
//!     fn next_timer(&self) -> Time { if self.serves { Time::ZERO } else { Time::MAX } }
//!     fn timer<O: Emitter<u32>>(&mut self, now: Time, out: &mut O) {
//!         self.serves = false;
//!         out.push(self.to_other, now, &1);
//!     }
//!     fn arrive<O: Emitter<u32>>(&mut self, now: Time, _port: u32, ball: &mut u32, out: &mut O) {
//!         self.hits += 1;
//!         out.push(self.to_other, now, &(*ball + 1));
//!     }
//! }
//!
//! let link = |from, to| LinkSpec { from: NodeId(from), to: NodeId(to), lookahead: Span::from_us(1), busy_rate: 1e6 };
//! let links = [link(1, 0), link(0, 1)]; // numbered by receiver
//! let players = vec![
//!     Player { serves: true, to_other: LinkId(1), hits: 0 },
//!     Player { serves: false, to_other: LinkId(0), hits: 0 },
//! ];
//! let mut engine = Engine::new(players, &links, &[0, 1], Tuning::default())?;
//! engine.advance(Time::ZERO + Span::from_us(10), None, &Watch::default());
//! let hits: Vec<u32> = engine.into_nodes().iter().map(|player| player.hits).collect();
//! assert_eq!(hits, [4, 5]); // the ball arrives after 1, 2, ... 9 us
//! # Ok::<(), forebay_engine::PlanError>(())
//! ```

mod agenda;
mod barrier;
mod digest;
mod engine;
mod link;
mod link_rings;
mod node;
mod plan;
mod prefetch;
mod rare;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod ring;
mod shard;
mod slab;
mod spread;

pub use digest::{Digest, combine};
pub use engine::{AdvanceEnd, Engine, EngineStats, Goal, Watch};
pub use link::{Emitter, InFlight, LinkId, LinkSpec, NodeId};
pub use link_rings::LinkRings;
pub use node::{EngineAccess, LAST_STAGE, Node, Visitor};
pub use plan::{Plan, PlanError, Tuning};
pub use prefetch::{prefetch, prefetch_all, prefetch_at};
pub use rare::rarely;
pub use slab::{Slab, SlotOf, SlotWords};
