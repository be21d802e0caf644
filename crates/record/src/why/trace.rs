//! One packet followed forward: each copy that its sender sent, hop by hop.

use super::log::{Log, NodeArrival, NodeDeparture, NodeLog, Packets, Role, SwitchArrival};
use forebay_units::{Span, Time};

/// A packet of data, by the byte that it begins with, and all its copies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Where its payload begins in the flow.
    pub seq: u64,
    /// Copies of the packet, in the order in which they left; one, unless the packet was sent again.
    pub copies: Vec<Trip>,
}

/// The way of one copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trip {
    /// From its sender on.
    pub hops: Vec<Hop>,
    /// Which host it came to, and when; `None` where it was dropped or lost, or the run ended before.
    pub arrived: Option<(u32, Time)>,
}

/// A copy at one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The node.
    pub node: u32,
    /// When it came, its last bit and the latency of a switch included; `None` at its sender.
    pub came: Option<Time>,
    /// Queue of its port that it found, in wire bytes; `None` at its sender, and where the port is not known.
    pub found: Option<u64>,
    /// Link of the port.
    pub link: Option<u32>,
    /// Transmission of the copy; `None` if the copy has not left.
    pub left: Option<NodeDeparture>,
    /// Whether the node has marked it.
    pub marked: bool,
    /// Whether the node has cut off its payload.
    pub trimmed: bool,
    /// Whether the node dropped it.
    pub dropped: bool,
}

impl Hop {
    /// From its coming to the begin of its transmission.
    pub fn waited(&self) -> Option<Span> {
        Some(self.left?.start().since(self.came?))
    }
}

/// How many packets of data a sender has sent, repairs not counted.
pub fn packets(log: &Log, flow: u32, src: u32) -> usize {
    firsts(log, flow, src).len()
}

/// Where the packets of a flow begin, in the order in which they first left.
fn firsts(log: &Log, flow: u32, src: u32) -> Vec<u64> {
    let mut all: Vec<u64> = sent(log, flow, src).map(|one| one.id.seq).collect();
    // A repair may be cut anew; what was sent first counts.
    let mut above = 0;
    all.retain(|seq| {
        let new = *seq >= above;
        above = above.max(seq + 1);
        new
    });
    all
}

fn sent(log: &Log, flow: u32, src: u32) -> impl Iterator<Item = &NodeDeparture> {
    let at = log.nodes.get(src as usize).and_then(|node| node.packets.get((flow, 0)));
    let all = at.into_iter().flat_map(|packets| packets.left.values().flatten());
    all.filter(move |one| one.payload && one.role == Role::Data)
}

/// The `nth` packet of data of a flow from a host, from 1 on. `None` where there is no such packet.
pub fn trace(log: &Log, flow: u32, src: u32, nth: usize) -> Option<Trace> {
    let seq = *firsts(log, flow, src).get(nth.checked_sub(1)?)?;
    let copies = sent(log, flow, src).filter(|one| one.id.seq == seq);
    let copies = copies.map(|one| trip(log, (flow, src), *one)).collect();
    Some(Trace { seq, copies })
}

/// The way of a copy that left its sender.
fn trip(log: &Log, (flow, src): (u32, u32), first: NodeDeparture) -> Trip {
    let (mut hops, mut left) = (vec![at_sender(src, first)], first);
    loop {
        let link = log.links[left.link as usize];
        let at = left.end + link.flight;
        let Some(node) = log.nodes.get(link.to as usize) else {
            return Trip { hops, arrived: None };
        };
        let came = node.packets.get((flow, 0)).filter(|packets| {
            let is_it = |one: &NodeArrival| (one.id, one.at, one.link) == (left.id, at, left.link);
            packets.arrived.iter().any(is_it)
        });
        let Some(packets) = came else { return Trip { hops, arrived: None } };
        let Some(hop) = at_switch((node, packets), (link.to, flow), &left, at) else {
            return Trip { hops, arrived: Some((link.to, at)) };
        };
        let next = hop.left;
        hops.push(hop);
        match next {
            Some(next) => left = next,
            None => return Trip { hops, arrived: None },
        }
    }
}

fn at_sender(node: u32, left: NodeDeparture) -> Hop {
    Hop {
        node,
        came: None,
        found: None,
        link: Some(left.link),
        marked: false,
        trimmed: false,
        dropped: false,
        left: Some(left),
    }
}

/// What became of a copy at a switch; `None` if the node is a host.
fn at_switch(
    (node, packets): (&NodeLog, &Packets),
    (number, flow): (u32, u32),
    before: &NodeDeparture,
    at: Time,
) -> Option<Hop> {
    let is_it = |one: &&SwitchArrival| (one.at, one.flow, one.id) == (at, flow, before.id);
    let found = node.found.iter().find(is_it)?;
    let all = packets.left.values().flatten();
    let left = all.filter(|one| one.start() >= at && one.id == before.id).min_by_key(|one| one.end);
    let left = left.copied();
    // What was dropped has not left: the next one of this name is another copy.
    let left = left.filter(|_| found.dropped.is_none());
    let link = left.map(|one| one.link).or(found.dropped);
    let queue = link.and_then(|link| found.queues.iter().find(|one| one.0 == link));
    Some(Hop {
        node: number,
        came: Some(at),
        found: queue.map(|one| one.1),
        link,
        left,
        marked: left.is_some_and(|one| one.ce && !before.ce),
        trimmed: left.is_some_and(|one| one.trimmed && !before.trimmed),
        dropped: found.dropped.is_some(),
    })
}
