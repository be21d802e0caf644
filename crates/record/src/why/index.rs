//! A log in the order in which a walk backward looks things up.

use super::few::CursorMap;
use super::log::{
    Log, MemoryArrival, NodeArrival, NodeDeparture, PacketId, Packets, ReceiverChange, Role,
    SenderEvent,
};
use forebay_units::Time;

/// What one flow did, or one message of a stream.
#[derive(Default)]
pub(super) struct OfFlow {
    bytes: (u64, u64), // of a message, where it begins and ends in its stream
    pub answers: Vec<NodeArrival>, // at the sending host, by time
    acks: Vec<(u64, PacketId)>, // of those the ACKs: by sequence number, then by time
    pub data: Vec<NodeArrival>, // at the receiving host, by time
    pub sent: Vec<NodeDeparture>, // data at the sending host, by time
    pub events: Vec<SenderEvent>,
    pub received: Vec<ReceiverChange>, // counted from its first byte on
}

impl OfFlow {
    /// Takes the packets that came to its hosts and left them.
    fn take(&mut self, source: Option<&Packets>, destination: Option<&Packets>) {
        let nothing = Packets::default();
        let (source, destination) = (source.unwrap_or(&nothing), destination.unwrap_or(&nothing));
        let is_data = |one: &&NodeArrival| one.role == Role::Data;
        self.answers.extend(source.arrived.iter().filter(|one| !is_data(one)));
        self.data.extend(destination.arrived.iter().filter(is_data));
        let acks = self.answers.iter().filter(|one| one.role == Role::Ack);
        self.acks.extend(acks.map(|one| (one.id.seq, one.id)));
        self.acks.sort_by_key(|one| one.0);
        let left = source.left.values().flatten();
        self.sent.extend(left.filter(|one| one.role == Role::Data));
        self.sent.sort_by_key(|one| one.end);
    }

    /// Of the ACKs with a sequence number the one that came first.
    pub fn first_ack(&self, seq: u64) -> Option<PacketId> {
        let at = self.acks.partition_point(|one| one.0 < seq);
        self.acks.get(at).filter(|one| one.0 == seq).map(|one| one.1)
    }
}

/// A message of a stream.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// The stream.
    pub stream: u32,
    /// Number in the stream, from 1 on.
    pub number: u32,
    /// Where it begins and ends in the stream, in bytes.
    pub bytes: (u64, u64),
}

/// All of a log.
pub(super) struct Index<'a> {
    log: &'a Log,
    flows: CursorMap<(u32, u32), OfFlow>, // by flow and message: 0 where it is no stream of messages
    landings: CursorMap<u32, Vec<(u32, MemoryArrival)>>, // by flow: with the host, by host and arrival
    pauses: CursorMap<u32, Vec<(Time, u8)>>,             // by link
}

impl<'a> Index<'a> {
    /// Of its flows and of streams of bytes, and of these messages of streams of messages.
    pub fn of(log: &'a Log, messages: &[Message]) -> Self {
        let whole = log.flows.iter().chain(log.streams.iter().filter(|one| !one.on_credit));
        let whole = whole.map(|one| (one, 0, (0, u64::MAX)));
        let messages = messages
            .iter()
            .filter_map(|one| Some((log.stream(one.stream)?, one.number, one.bytes)));
        let mut flows: CursorMap<(u32, u32), OfFlow> = CursorMap::default();
        for (flow, message, bytes) in whole.chain(messages) {
            let key = (flow.flow, message);
            let at = |node: u32| log.nodes[node as usize].packets.get(key);
            let of = flows.entry(key);
            of.bytes = bytes;
            of.take(at(flow.src), at(flow.dst));
        }
        let mut landings: CursorMap<u32, Vec<(u32, MemoryArrival)>> = CursorMap::default();
        let mut pauses: CursorMap<u32, Vec<(Time, u8)>> = CursorMap::default();
        for (node, seen) in (0u32..).zip(&log.nodes) {
            for one in &seen.senders {
                if let Some(flow) = flows.get_mut((one.flow, one.message)) {
                    flow.events.push(*one);
                }
            }
            for one in &seen.receivers {
                let mut of = flows.from_mut((one.flow, 0)).take_while(|(key, _)| key.0 == one.flow);
                let Some((_, of)) = of.find(|(_, of)| one.upto <= of.bytes.1) else { continue };
                if let Some(upto) = one.upto.checked_sub(of.bytes.0).filter(|upto| *upto > 0) {
                    of.received.push(ReceiverChange { upto, ..*one });
                }
            }
            for one in &seen.landings {
                landings.entry(one.flow).push((node, *one));
            }
            for one in &seen.paused {
                pauses.entry(one.link).push((one.at, one.classes));
            }
        }
        for of in landings.values_mut() {
            of.sort_by_key(|(host, one)| (*host, one.came));
        }
        Self { log, flows, landings, pauses }
    }

    /// What a flow or stream of the log did, or a message of a stream; 0 where it is no stream of messages.
    pub fn flow(&self, flow: u32, message: u32) -> &OfFlow {
        self.flows.get((flow, message)).expect("the log has it")
    }

    /// The packet of a flow and message whose transmission on a link ended at `end`.
    pub fn left(&self, flow: (u32, u32), link: u32, end: Time) -> Option<&NodeDeparture> {
        let node = self.log.links[link as usize].from;
        let of = self.log.nodes[node as usize].packets.get(flow)?.left.get(link)?;
        let upto = of.partition_point(|one| one.end <= end);
        of[..upto].last().filter(|one| one.end == end)
    }

    /// When and over which link a packet of a flow and message came last to a node by `until`.
    pub fn arrived(
        &self,
        flow: (u32, u32),
        node: u32,
        id: PacketId,
        until: Time,
    ) -> Option<(Time, u32)> {
        let of = &self.log.nodes[node as usize].packets.get(flow)?.arrived;
        let upto = of.partition_point(|one| one.at <= until);
        // It is one of the last: those that came later wait behind it.
        let last = of[..upto].iter().rfind(|one| one.id == id)?;
        Some((last.at, last.link))
    }

    /// How a packet of a flow came to memory that had come over the cable of a host at `came`.
    pub fn landing(&self, flow: u32, host: u32, came: Time) -> Option<&MemoryArrival> {
        let of = self.landings.get(flow)?;
        let at = of.binary_search_by_key(&(host, came), |one| (one.0, one.1.came)).ok()?;
        Some(&of[at].1)
    }

    /// The flow whose packet was sent on a link just before `at`, and since when. The end of its transmission is `latest` at most.
    pub fn sent_before(&self, link: u32, at: Time, latest: Time) -> (Time, Option<u32>) {
        let node = self.log.links[link as usize].from;
        let of = self.log.nodes.get(node as usize).and_then(|node| node.ahead.get(link));
        let Some(all) = of else { return (Time::ZERO, None) };
        let below = all.partition_point(|one| one.end < at);
        let since = below.checked_sub(1).map_or(Time::ZERO, |i| all[i].end);
        (since, all.get(below).filter(|one| one.end <= latest).map(|one| one.flow))
    }

    /// Stretches of `[from, to)` in which a class of a link was paused, the last first.
    pub fn paused(&self, link: u32, class: u8, from: Time, to: Time) -> Vec<(Time, Time)> {
        let Some(frames) = self.pauses.get(link) else { return Vec::new() };
        let bit = 1u8 << class.min(7);
        let mut found: Vec<(Time, Time)> = Vec::new();
        let first = frames.partition_point(|one| one.0 <= from).saturating_sub(1);
        for (i, (at, classes)) in frames.iter().enumerate().skip(first) {
            if *at >= to {
                break;
            }
            let until = frames.get(i + 1).map_or(Time::MAX, |next| next.0).min(to);
            let begins = (*at).max(from);
            if classes & bit != 0 && until > begins {
                found.push((begins, until));
            }
        }
        found.reverse();
        found
    }
}
