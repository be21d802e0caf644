//! The fabric: cables, egress ports, switches and routes.
//!
//! A switch is made of stages that scenarios compose: routing, admission, marking, classes, pause. No stage names a law,
//! and there is one switch.
//!
//! Invariants:
//! - Offered = arrived + on the wire + queued + dropped + lost, per port and always.
//! - A port whose queue never has to be looked at again is touched once per packet: its departure is known on arrival.
//! - Nothing here knows hosts or transports, nor a law's name: one stage lends its queues to a law of role `group`.

mod credit;
mod fabric;
mod ingress;
mod port;
mod routing;
mod shared_buffer;
mod switch;
mod tor;
mod voq;

pub use credit::{Credit, CreditSettings, Credits, FULL_RATE, RackDemand};
pub use fabric::{Cable, Direction, Fabric};
pub use ingress::{IngressCounters, IngressPool};
pub use port::{
    CLASSES, ClassCounters, ClassPolicy, DropRule, Form, LinkLeftovers, OverflowAction,
    PauseCounters, Port, PortCounters, PortFault, PortSettings,
};
pub use routing::{
    Numbering, Path, PathCounts, Paths, Routes, RoutingPolicy, Tuple, murmur3_paths, pin,
};
pub use shared_buffer::SharedBuffer;
pub use switch::{Drop, Switch, SwitchSettings, trace};
pub use tor::{Peer, Tor, TorCounters, TorSettings};
pub use voq::{Arrival, BoundCrossing, Demand, Voq, VoqSettings, VoqTotals};
