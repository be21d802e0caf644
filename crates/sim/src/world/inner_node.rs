//! The node inside a wrapper: what a tap, a log of followed flows and a machine of several NICs need of it.

use crate::host::Host;
use forebay_engine::{InFlight, Node};
use forebay_net::{LinkLeftovers, Port, PortFault};
use forebay_units::Time;
use forebay_wire::Packet;

/// A node that another one wraps.
pub(crate) trait InnerNode: Node<Item = Packet> {
    /// Egress ports, in the fabric's order.
    fn ports(&self) -> &[Port];

    /// The host, if it is one.
    fn host(&self) -> Option<&Host>;

    /// The host, if it is one.
    fn host_mut(&mut self) -> Option<&mut Host>;

    /// Applies a fault to an egress port at a forced boundary; `flying` is what was on its link.
    fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers;
}
