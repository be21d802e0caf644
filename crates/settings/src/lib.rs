//! Settings of transports, switches, ports and hosts: each has one type, one documentation, one default and one check.
//!
//! `scenario` reads these types from files and writes them to resolved files. `transport`, `net` and `host` work by them. So a new key is a field here and its
//! use there. Doc comments of fields are what users read; what only developers need is a plain comment.
//!
//! A check that looks at one table stands beside its type and speaks to [`SettingsTable`]. Checks across tables belong to `scenario`.
//!
//! Invariant: nothing here knows files, laws, packets or clocks.

mod credit_class;
mod ecn;
mod hierarchical;
mod host;
pub mod params;
mod pause;
mod quantity;
mod rdma;
mod receiver_driven;
mod routing;
mod shaper;
mod switch;
mod table;
mod tcp;
mod wire;

pub use credit_class::CreditClass;
pub use ecn::{ClassMarking, Ecn, EcnMarking, Ect, MarkAt, NotEct};
pub use hierarchical::{CreditFor, Hierarchical, QueueFor, Requests};
pub use host::{HostChange, HostProfile, HostSettings, NicOrder, Pacing, TxQueues};
pub use pause::{
    AlikePause, ClassPause, Headroom, IngressAccount, PAUSES_NOTHING, Pause, PauseSettings,
    ShortHeadroom, Threshold, Watchdog, WatchdogAction, Xoff,
};
pub use quantity::{Fraction, QueueLength};
pub use rdma::{BaseRtt, InflightCap, RdmaSettings, Recovery};
pub use receiver_driven::{LawDefaults, ReceiverDrivenSettings};
pub use routing::{HashSeed, NextHops, Routing};
pub use shaper::TokenBucket;
pub use switch::{
    Buffer, ClassLimit, ClassWeight, OverLimit, Policy, PoolThreshold, PortRules, Release,
    SharedBuffer, Switch, Trim, Turns,
};
pub use table::{DAY, SettingsTable};
pub use tcp::{Kernel, TcpSettings};
pub use wire::{Clock, DeadPort, WireSettings};

/// The least Ethernet frame: default size of what carries no data.
pub const LEAST_FRAME: forebay_units::Bytes = forebay_units::Bytes::new(64);
