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

pub use chain::{Explained, Piece, explain};
pub use log::{
    Arrived, FollowedFlow, HostStages, Left, LinkOf, Log, NodeLog, PacketId, Paused, Received,
    Role, SenderEvent, Waits,
};
pub use part::{Family, Part, Repair};

/// Columns of `why.csv`, a row for each part and port of each flow that was followed.
pub const COLUMNS: [&str; 5] = ["seed", "flow", "part", "port", "part_ps"];
