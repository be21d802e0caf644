//! Where the completion time of a flow went: a log of what packets and senders did, and parts that add up to the FCT exactly.
//!
//! [`Log`] is what a simulation writes of flows that it follows. [`explain`] walks it backward from the packet that completed a flow,
//! packet by packet and ACK by ACK, to the flow's start.
//!
//! Invariant: the pieces of a flow tile the time from its start to its completion, without gap or overlap.

mod chain;
mod index;
mod log;
mod part;
mod rows;
mod sums;

pub use chain::{Explained, Piece, explain};
pub use log::{
    Ahead, Arrived, FollowedFlow, HostStages, Left, LinkOf, Log, NodeLog, PacketId, Paused,
    Received, Role, SenderEvent, Waits,
};
pub use part::{Family, Part, Repair};
pub use rows::{WhyRow, is_explained, rows, share_of, slowest};
pub use sums::{By, Line, flows_of, lines, sentence, sentences, tier};
