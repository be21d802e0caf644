//! Settings of transports: each has one type, one documentation, one default and one check.
//!
//! `scenario` reads these types from files and writes them to resolved files. `transport` works by them. So a new key is a field here and its
//! use there. Doc comments of fields are what users read; what only developers need is a plain comment.
//!
//! A check that looks at one table stands beside its type and speaks to [`SettingsTable`]. Checks across tables belong to `scenario`.
//!
//! Invariant: nothing here knows files, laws, packets or clocks.

mod ecn;
mod quantity;
mod rdma;
mod receiver_driven;
mod table;
mod tcp;

pub use ecn::{ClassMarking, Ecn, EcnMarking, Ect, MarkAt, NotEct};
pub use quantity::{Fraction, QueueLength};
pub use rdma::{BaseRtt, InflightCap, RdmaSettings, Recovery};
pub use receiver_driven::{LawDefaults, ReceiverDrivenSettings};
pub use table::{DAY, SettingsTable};
pub use tcp::{Kernel, TcpSettings};

/// The least Ethernet frame: default size of what carries no data.
pub const LEAST_FRAME: forebay_units::Bytes = forebay_units::Bytes::new(64);
