//! Where the completion time of a flow went: a log of what packets and senders did, and parts that add up to the FCT exactly.
//!
//! [`Log`] is what a simulation writes of flows that it follows. [`explain`] walks it backward from the packet that completed a flow,
//! packet by packet and ACK by ACK, to the flow's start.
//!
//! Invariant: the pieces of a flow tile the time from its start to its completion, without gap or overlap.

mod chain;
mod few;
mod index;
mod log;
mod marks;
mod open;
mod path;
mod rows;
mod sums;
mod trace;

pub use crate::part::{Family, Part, Repair};
pub use crate::rows::{Subject, WhyRow};
pub use chain::{Call, Piece, TimeParts, explain, explain_calls};
pub use few::CursorMap;
pub use log::{
    FollowedFlow, HostStages, LinkOf, Log, MemoryArrival, NodeArrival, NodeDeparture, NodeLog,
    OvertakenBy, PacketId, Packets, PauseFrame, ReceiverChange, Role, SenderEvent, SwitchArrival,
    Waits,
};
pub use marks::{Marker, RateCut};
pub use open::{OpenFlow, open_flows, open_lines, open_sentence};
pub use path::{Path, PathHop, PathPiece, path};
pub use rows::{calls, is_explained, rows, rows_of, share_of, slowest, slowest_rpcs};
pub use sums::{Line, PortGrouping, count, lines, number_of, sentence, sentences, tier};
pub use trace::{Hop, Trace, Trip, packets, trace};
