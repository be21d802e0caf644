//! How long a flow would take alone on the empty path.

use forebay_net::{Direction, Fabric, Routes};
use forebay_transport::Config;
use forebay_units::{BitsPerSec, Bytes, Span};

/// One link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop {
    pub rate: BitsPerSec,
    pub flight: Span,
    /// Rate of all links at this distance that packets of the flow may take; `rate` on a path of its own.
    pub together: BitsPerSec,
}

impl Hop {
    pub fn new(fabric: &Fabric, direction: &Direction) -> Self {
        let rate = fabric.cable(direction.cable).rate;
        Self { rate, flight: direction.flight, together: rate }
    }

    /// The best of two links that carry a flow together.
    pub fn beside(self, other: Hop) -> Self {
        let together = BitsPerSec::new(self.together.get().saturating_add(other.together.get()));
        Self { rate: self.rate.max(other.rate), flight: self.flight.min(other.flight), together }
    }
}

/// Links from one host to another, the first of equal-cost ones at each switch; `None` if there is no route.
pub(crate) fn path(fabric: &Fabric, routes: &[Routes], src: u32, dst: u32) -> Option<Vec<Hop>> {
    let mut hops = Vec::with_capacity(6);
    let to = fabric.addr(dst);
    let mut at = forebay_engine::NodeId(src);
    while at.0 != dst {
        let port = if fabric.is_host(at) {
            0
        } else {
            let routes = &routes[(at.0 - fabric.hosts()) as usize];
            let local = routes.tor() == Some(to.tor);
            if local { to.port } else { *routes.choices(to.tor).first()? }
        };
        let direction = fabric.ports_of(at)[usize::from(port)];
        hops.push(Hop::new(fabric, &direction));
        at = direction.peer;
    }
    Some(hops)
}

/// First byte handed over to last byte delivered, with no other traffic and a window that never binds: packets back to
/// back, store and forward, headers and wire overhead included.
///
/// Exact for links that are whole picoseconds per byte: the last of n packets leaves link i no earlier than the first one
/// got there and all n were serialised, so the answer is the largest of these over i.
pub(crate) fn fct(size: Bytes, cfg: &Config, overhead: u64, path: &[Hop]) -> Span {
    let (count, full, last) = packets_of(size, cfg, overhead);
    let first = if count > 1 { full } else { last };
    slowest(path, (count - 1) * full + last, last, |i| serialized(&path[..i], first))
}

/// No more than the same where packets go apart and may overtake: a short last one may be the first at any link but the sender's.
pub(crate) fn fct_apart(size: Bytes, cfg: &Config, overhead: u64, path: &[Hop]) -> Span {
    let (count, full, last) = packets_of(size, cfg, overhead);
    let first = if count > 1 { full } else { last };
    let sender = path.len().min(1);
    slowest(path, (count - 1) * full + last, last, |i| {
        let (own, rest) = path[..i].split_at(sender.min(i));
        let overtakes = serialized(own, last) + serialized(rest, last);
        serialized(own, first) + serialized(rest, first).min(overtakes)
    })
}

/// The largest over all links of a path: until something gets there (`before`), all bytes, and the way on of a packet of `last` bytes.
fn slowest(path: &[Hop], all: u64, last: u64, before: impl Fn(usize) -> Span) -> Span {
    let flight: Span = path.iter().map(|h| h.flight).sum();
    let through = |i: usize| {
        before(i) + path[i].together.time_for(Bytes::new(all)) + serialized(&path[i + 1..], last)
    };
    flight + (0..path.len()).map(through).max().unwrap_or(Span::ZERO)
}

fn serialized(path: &[Hop], bytes: u64) -> Span {
    path.iter().map(|hop| hop.rate.time_for(Bytes::new(bytes))).sum()
}

/// One ACK on the empty path.
pub(crate) fn ack(cfg: &Config, overhead: u64, path: &[Hop]) -> Span {
    let size = Bytes::new(cfg.ack_size().get() + overhead);
    path.iter().map(|hop| hop.rate.time_for(size) + hop.flight).sum()
}

/// A full packet there and its ACK back, on the empty path.
pub(crate) fn round_trip(cfg: &Config, overhead: u64, there: &[Hop], back: &[Hop]) -> Span {
    fct(cfg.mss(), cfg, overhead, there) + ack(cfg, overhead, back)
}

/// Wire bytes of a flow's packets: full ones, and the last.
fn packets_of(size: Bytes, cfg: &Config, overhead: u64) -> (u64, u64, u64) {
    let mss = cfg.mss().get();
    let count = size.get().div_ceil(mss).max(1);
    let last = size.get() - (count - 1) * mss;
    let around = cfg.header().get() + overhead;
    (count, mss + around, last + around)
}
