//! What a simulation logs of the flows that it follows.

use super::few::CursorMap;
use forebay_units::{Span, Time};

/// The log of one simulation.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// By node, in canonical order, hosts first.
    pub nodes: Vec<NodeLog>,
    /// By link.
    pub links: Vec<LinkOf>,
    /// Names of nodes.
    pub names: Vec<String>,
    /// The flows that were followed and are complete, ascending.
    pub flows: Vec<FollowedFlow>,
    /// The streams of connections that were followed, ascending; never complete.
    pub streams: Vec<FollowedFlow>,
}

impl Log {
    /// A stream that was followed.
    pub(super) fn stream(&self, number: u32) -> Option<&FollowedFlow> {
        let at = self.streams.binary_search_by_key(&number, |one| one.flow).ok()?;
        Some(&self.streams[at])
    }
}

/// A directed link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkOf {
    /// Sending node.
    pub from: u32,
    /// Receiving node.
    pub to: u32,
    /// From the end of a transmission to the arrival: propagation and ingress latency, less the gap.
    pub flight: Span,
    /// Gap at the end of each transmission, when the frame is under way already.
    pub gap: Span,
}

/// A flow that was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowedFlow {
    /// Number of the flow.
    pub flow: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload in bytes.
    pub size: u64,
    /// When the application handed it over.
    pub start: Time,
    /// When the receiver had all of it, and read it where readers are modelled.
    pub done: Time,
    /// FCT on the empty path.
    pub ideal: Span,
    /// Whether its receiver decides what it sends, by credits, grants or pulls.
    pub on_credit: bool,
    /// Whether a super-packet, or what a window allows, may stand in the NIC before it leaves.
    pub queued_in_nic: bool,
    /// What packets cross at the sending and at the receiving host.
    pub host: [HostStages; 2],
}

/// What a packet crosses between the cable and the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostStages {
    /// A receive ring with interrupts.
    pub ring: bool,
    /// NIC buffer, PCIe link, IIO and memory.
    pub memory: bool,
}

/// What happened at one node, in the order of events.
#[derive(Clone, Debug, Default)]
pub struct NodeLog {
    /// Packets of followed flows, by flow and number of the message, which is 0 where the flow is no stream of messages.
    pub packets: CursorMap<(u32, u32), Packets>,
    /// By link: packets that left while one of a followed flow waited, of whatever flow, by end of transmission.
    pub ahead: CursorMap<u32, Vec<OvertakenBy>>,
    /// At a switch, where details are logged: the queues that packets of followed flows found.
    pub found: Vec<SwitchArrival>,
    /// Pause frames that came.
    pub paused: Vec<PauseFrame>,
    /// Changes of senders.
    pub senders: Vec<SenderEvent>,
    /// Changes of receivers.
    pub receivers: Vec<ReceiverChange>,
    /// Packets that came to memory.
    pub landings: Vec<MemoryArrival>,
}

/// Packets of one flow, or of one message of a stream, at a node.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    /// Packets that came, by time.
    pub arrived: Vec<NodeArrival>,
    /// Packets that left, by link and end of transmission.
    pub left: CursorMap<u32, Vec<NodeDeparture>>,
}

impl NodeLog {
    /// Puts what was logged into the order of time.
    pub fn sort(&mut self) {
        for packets in self.packets.values_mut() {
            // Of two alike the later one counts: sorted in the order in which they were logged.
            packets.left.values_mut().for_each(|of| of.sort_by_key(|one| one.end));
        }
        // A port that took packets back to a fault has sent them twice.
        self.ahead.values_mut().for_each(|of| of.sort_unstable());
    }
}

/// What a packet is to the transport of its flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Data, whole or trimmed, and messages of the sender without payload.
    Data,
    /// An ACK.
    Ack,
    /// A negative ACK, or a trimmed packet that comes back.
    Nack,
    /// Credit, a grant or a pull.
    Credit,
    /// A request for bytes that are missing.
    Request,
    /// Another answer.
    Other,
}

/// What does not change of a packet on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PacketId {
    /// Kind on the wire; one number for data, trimmed or not.
    pub kind: u8,
    /// Sequence number.
    pub seq: u64,
    /// Sender's clock.
    pub stamp: u32,
    /// Path, window or priority.
    pub word: u16,
}

/// A packet came to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeArrival {
    /// Over this link.
    pub link: u32,
    /// When the node got it.
    pub at: Time,
    /// Which packet.
    pub id: PacketId,
    /// What it is.
    pub role: Role,
    /// ECN: congestion experienced.
    pub ce: bool,
}

/// What a packet of a followed flow found when it came to a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchArrival {
    /// Flow of the packet.
    pub flow: u32,
    /// Which packet.
    pub id: PacketId,
    /// When.
    pub at: Time,
    /// Queue of each port in wire bytes, with what is left of the packet in transmission, by link.
    pub queues: Vec<(u32, u64)>,
    /// Link of the port that dropped it.
    pub dropped: Option<u32>,
}

/// A packet left a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeDeparture {
    /// Over this link.
    pub link: u32,
    /// End of its transmission.
    pub end: Time,
    /// How long the transmission took.
    pub tx: Span,
    /// Which packet.
    pub id: PacketId,
    /// What it is.
    pub role: Role,
    /// Traffic class.
    pub class: u8,
    /// Data that was sent before.
    pub resent: bool,
    /// ECN: congestion experienced.
    pub ce: bool,
    /// The packet carries payload, or did until a switch trimmed it.
    pub payload: bool,
    /// A switch has cut off its payload.
    pub trimmed: bool,
    /// Bytes that it occupied on the link, wire overhead not.
    pub size: u16,
}

impl NodeDeparture {
    /// Begin of its transmission.
    pub fn start(&self) -> Time {
        Time::ZERO + self.end.since(Time::ZERO).saturating_sub(self.tx)
    }
}

/// A packet of any flow left while another one waited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OvertakenBy {
    /// End of its transmission.
    pub end: Time,
    /// Flow of the packet that left.
    pub flow: u32,
}

/// A pause frame came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseFrame {
    /// When.
    pub at: Time,
    /// Link that it pauses.
    pub link: u32,
    /// Classes that are paused from then on, one bit each.
    pub classes: u8,
}

/// What a sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// A turn at the NIC.
    Nic,
    /// All that was written has left.
    Application,
    /// Congestion window.
    Congestion,
    /// Receive window, or credit.
    Receiver,
    /// Pacing.
    Pacing,
}

/// An event changed a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderEvent {
    /// Flow of the sender.
    pub flow: u32,
    /// When.
    pub at: Time,
    /// What it waited for before.
    pub before: Waits,
    /// What it waits for from then on.
    pub after: Waits,
    /// Payload that has left it, without repairs.
    pub sent: u64,
    /// Payload that its application had written.
    pub written: u64,
    /// Number of the message under way, or of the last one, in a stream of messages; else 0.
    pub message: u32,
    /// Packets that it has sent again.
    pub resent: u64,
    /// Whether its retransmission timer expired.
    pub timeout: bool,
    /// Whether it was about to send a tail loss probe.
    pub probe: bool,
}

/// A packet came to memory, at a host whose path there is modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryArrival {
    /// Flow of the packet.
    pub flow: u32,
    /// When it had come over the cable.
    pub came: Time,
    /// When its first byte could cross PCIe: what the NIC buffer held before it had.
    pub first: Time,
    /// When its last line had entered the IIO slots.
    pub entered: Time,
    /// When it was in memory.
    pub landed: Time,
}

/// An event changed a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverChange {
    /// Flow of the receiver.
    pub flow: u32,
    /// When.
    pub at: Time,
    /// Bytes in order.
    pub upto: u64,
}
