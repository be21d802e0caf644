//! What a port is made from.

use super::bucket::{Shaper, Share};
use forebay_engine::LinkId;
use forebay_settings::{EcnMarking, QueueLength};
use forebay_units::{BitsPerSec, Bytes, Span};
use forebay_wire::Rates;

/// Whether a queue of so many bytes and packets may take a packet of `wire` bytes more within this limit.
pub(super) fn holds(limit: QueueLength, queue: u64, packets: u64, wire: u64) -> bool {
    match limit {
        QueueLength::Bytes(limit) => queue + wire <= limit.get(),
        QueueLength::Packets(limit) => packets < u64::from(limit),
    }
}

/// A class that carries the credits of a transport, metered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditClass {
    /// The class, the highest of the port; packets of higher classes are of this one.
    pub class: u8,
    /// Part of the link's rate at which tokens come.
    pub share: Share,
    /// Size of the bucket: bytes of the wire that may leave at once after a rest.
    pub burst: Bytes,
    /// Most bytes of the wire that wait; a packet beyond it is dropped.
    pub limit: Bytes,
}

/// How a port keeps what it has accepted. Changes no result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Form {
    /// As is cheapest.
    #[default]
    Any,
    /// In explicit queues, even where one touch would do. So it has to be where a peer may pause it, where the one class has a policy, and
    /// where a port may lose packets or get an odd rate later.
    Queued,
    /// There, and each departure is an event of its own. For observers of departures, and as the slow twin of the other forms.
    Naive,
}

/// What a port is made from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortSettings {
    /// Rate.
    pub rate: BitsPerSec,
    /// From the last bit sent to the arrival at the peer.
    pub flight: Span,
    /// The engine's name of the cable.
    pub link: LinkId,
    /// Queue limit, the packet itself included; `None`: the shared buffer's only, or none.
    pub limit: Option<QueueLength>,
    /// Congestion marks, with thresholds for a port of this rate.
    pub marking: Option<EcnMarking>,
    /// Strict-priority classes.
    pub classes: u8,
    /// A packet stops counting as its transmission begins, rather than byte by byte.
    pub release_at_start: bool,
    /// Bytes that each packet adds on the wire.
    pub overhead: u16,
    /// Share of packets lost at random.
    pub loss: f64,
    /// Token bucket, if any. Such a port has explicit queues.
    pub shaper: Option<Shaper>,
    /// Metered class for the credits of a transport, if any. Such a port has explicit queues and no shaper.
    pub credits: Option<CreditClass>,
    /// Key of the random draws of this port.
    pub key: u64,
    /// How it keeps its queue.
    pub form: Form,
    /// Hold the queue while the link is dead, rather than drop it.
    pub hold: bool,
    /// Rates of all ports that append INT records, this one's among them; `None`: it appends none, and loses those of other ports.
    pub telemetry: Option<Rates>,
    /// Times of transmission are cut to whole nanoseconds. Such a port has explicit queues.
    pub truncate: bool,
}
