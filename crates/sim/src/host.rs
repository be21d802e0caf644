//! A host: flows on top, a NIC that pulls below, and the glue between the sans-I/O steps.

mod armed;
mod control;
mod memory;
mod memory_samples;
mod parked;
mod push;
mod ring;
mod rpc;
mod sender_waits;
mod told;

pub(crate) use memory::{Memory, Snapshot};
pub(crate) use rpc::Ends;
pub(crate) use sender_waits::SenderWaits;

use crate::flow_map::{DONE, FlowMap};
use crate::flow_samples::FlowSamples;
use armed::Armed;
use forebay_engine::{Digest, Flying, LinkId, Out, prefetch_all};
use forebay_host::{Moderation, PullOrder, ReadyList, Segmenter};
use forebay_laws::Start;
use forebay_laws::flow::{FlowParams, Told};
use forebay_net::{Port, PortFault, PortSettings, Recalled, trace};
use forebay_scenario::model::Rpc;
use forebay_scenario::workload::{Connection, FlowSpec};
use forebay_transport::{
    Arrival, Config, FlowSpec as SenderSpec, Receiver, Sender, Telemetry, Wait,
};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet, Rates};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A transport with its law, as one traffic entry uses it.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub transport: Config,
    pub law: FlowParams,
    pub base_rtt: BaseRtt,
}

/// What a transport takes for the round-trip time of an empty path.
#[derive(Clone, Debug)]
pub(crate) enum BaseRtt {
    Unknown,
    /// The same for all flows.
    Common(Span),
    /// By flow.
    Each(Arc<[Span]>),
}

impl BaseRtt {
    fn of(&self, flow: u32) -> Option<Span> {
        match self {
            BaseRtt::Unknown => None,
            BaseRtt::Common(span) => Some(*span),
            BaseRtt::Each(spans) => Some(spans[flow as usize]),
        }
    }
}

/// What hosts read and nobody writes: one for all of a simulation, or one for all with equal settings.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub flows: Arc<Vec<FlowSpec>>,
    pub profiles: Vec<Profile>, // by traffic entry
    pub addrs: Vec<HostAddr>,   // by host
    pub seed: u64,
    pub loops: Arc<Vec<Round>>,
    pub connections: Arc<Vec<Connection>>,
    pub rpcs: Arc<[Option<Rpc>]>, // by traffic entry
    pub warmup: Time,
    pub telemetry: Option<Rates>, // that switches tell of, if a law wants to know
}

impl Common {
    /// What an entry of kind `rpc` asks for.
    pub fn rpc(&self, traffic: u16) -> &Rpc {
        self.rpcs[usize::from(traffic)].as_ref().expect("a connection belongs to such an entry")
    }

    /// The stream the other way on the same connection: the two stand side by side, requests first.
    pub fn opposite(&self, stream: u32) -> u32 {
        let first = self.connections.first().map_or(0, |c| c.requests);
        first + ((stream - first) ^ 1)
    }
}

/// Deliveries that one host counts, and what follows the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    /// How many flows have to be delivered, or how many rounds of other hosts have to be over.
    pub count: u32,
    /// What follows does so only if this is over before.
    pub until: Time,
    /// What follows.
    pub next: Vec<Next>,
}

/// What follows a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// A flow that starts, or a round that is told.
    pub what: u32,
    /// Whether it is a round.
    pub tells: bool,
    /// Control link to its host.
    pub link: LinkId,
    /// How long that host waits when it has been told.
    pub wait: Span,
}

/// How a finished, or unfinished, flow stands at its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub flow: u32,
    pub started: Time,
    pub acked: Option<Time>,
    pub retransmits: u32,
    pub timeouts: u32,
}

#[derive(Clone, Debug)]
struct Sending {
    sender: Sender,
    flow: u32,
    profile: u16,
    ready: bool, // in the ready list
    armed: Armed,
    started: Time,
    telemetry: Option<Box<Telemetry>>, // where its law wants that
}

#[derive(Clone, Debug)]
struct Receiving {
    receiver: Receiver,
    profile: u16,
    armed: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Ring,
    Start,
    Sender,
    Receiver,
    Rpc,
}

/// A round of rounds.
#[derive(Clone, Copy, Debug)]
struct Join {
    round: u32,
    missing: u32,
    over: Time, // when the latest of those that are over was
}

/// Control packet: `flow` is a round that its receiver counts for, not a flow to start.
const TELLS: Flags = Flags(1);

/// How a NIC sends and receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nic {
    pub order: PullOrder,
    /// `None`: every packet is taken as it arrives.
    pub moderation: Option<Moderation>,
    /// Flows hand down what they may send at once.
    pub pushes: bool,
    /// Flows hand down super-packets, and it cuts them.
    pub segments: bool,
}

/// A host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    common: Arc<Common>,
    port: Port,
    ready: ReadyList,
    ring: Option<Box<ring::Ring>>, // what arrives waits here for an interrupt
    burst: Option<Box<Segmenter>>, // the super-packet that goes out, where the NIC cuts them
    acks: VecDeque<Packet>,        // and data, where flows push it
    parked: Option<Box<parked::Parked>>, // what waits because its class is stopped
    pushes: bool,
    since: Time, // when the NIC last got something to send after having nothing
    next_event: Time,
    next_planned: Time, // earliest start or sample
    senders: Vec<Sending>,
    free_senders: Vec<u32>,
    sender_of: FlowMap,
    receivers: Vec<Receiving>,
    free_receivers: Vec<u32>,
    receiver_of: FlowMap,
    timers: BinaryHeap<Reverse<(Time, Due, u32)>>,
    starts: Vec<u32>, // own flows with a start time, latest first
    pub digest: Digest,
    pub delivered_bytes: u64,
    pub delivered_segments: u64,
    pub arrived: u64, // packets over its cable
    pub sent: Vec<Sent>,
    pub delivered: Vec<(u32, Time)>,
    rounds: Vec<(u32, u32)>, // rounds of flows received here: index, flows still missing
    round_of: Vec<(u32, u32)>, // flow to index in `rounds`, sorted
    joins: Vec<Join>,        // rounds of rounds, sorted
    samples: Option<(Span, Time)>,
    pub sampled: Vec<u64>, // delivered bytes at each sampling instant
    flow_samples: Option<FlowSamples>,
    sender_waits: Option<Box<SenderWaits>>, // where flows go to hosts with a path to memory
    rpc: Option<Box<Ends>>,                 // ends of connections that carry RPCs
    memory: Option<Box<Memory>>,            // the path to memory, where it is modelled
    told: Option<Box<told::Told>>,          // words of packets in the host
    pub sampled_paused: Vec<Span>, // time paused by then, at the last of these instants: from the first pause on
}

impl Host {
    /// An idle host. `starts` are its own flows, in order of start; `round_of` pairs flows received here with the rounds that
    /// they count for.
    pub fn new(
        common: Arc<Common>,
        port: PortSettings,
        nic: Nic,
        mut starts: Vec<u32>,
        mut round_of: Vec<(u32, u32)>,
        sample_every: Option<Span>,
        flow_samples: Option<FlowSamples>,
    ) -> Self {
        starts.reverse();
        round_of.sort_unstable();
        let mut ids: Vec<u32> = round_of.iter().map(|r| r.1).collect();
        ids.sort_unstable();
        ids.dedup();
        for (_, round) in &mut round_of {
            *round = ids.binary_search(round).expect("every round was collected") as u32;
        }
        let rounds = ids.iter().map(|r| (*r, common.loops[*r as usize].count)).collect();
        let jitter = Stream::new(common.seed, port.key, Purpose::Interrupt);
        let mut host = Self {
            common,
            port: Port::new(port),
            ready: ReadyList::new(nic.order),
            ring: nic.moderation.map(|moderation| ring::Ring::new(moderation, jitter)),
            burst: nic.segments.then(Box::default),
            pushes: nic.pushes,
            acks: VecDeque::new(),
            parked: None,
            since: Time::ZERO,
            next_event: Time::MAX,
            next_planned: Time::MAX,
            senders: Vec::new(),
            free_senders: Vec::new(),
            sender_of: FlowMap::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            receiver_of: FlowMap::new(),
            timers: BinaryHeap::new(),
            starts,
            digest: Digest::default(),
            delivered_bytes: 0,
            delivered_segments: 0,
            arrived: 0,
            sent: Vec::new(),
            delivered: Vec::new(),
            rounds,
            round_of,
            joins: Vec::new(),
            samples: sample_every.map(|every| (every, Time::ZERO)),
            sampled: Vec::new(),
            flow_samples,
            sender_waits: None,
            rpc: None,
            memory: None,
            told: None,
            sampled_paused: Vec::new(),
        };
        host.plan_next();
        host.settle_next();
        host
    }

    /// Has it count rounds of other hosts.
    pub fn add_join(&mut self, round: u32) {
        let missing = self.common.loops[round as usize].count;
        self.joins.push(Join { round, missing, over: Time::ZERO });
        self.joins.sort_by_key(|join| join.round);
    }

    /// Samples of its flows, if any were asked for.
    pub fn flow_samples(&self) -> Option<&FlowSamples> {
        self.flow_samples.as_ref()
    }

    /// Looks from now on at what its senders wait for.
    pub fn with_sender_waits(&mut self, waits: Option<Box<SenderWaits>>) {
        self.sender_waits = waits;
        self.plan_next();
        self.settle_next();
    }

    /// What its senders waited for, if somebody asked.
    pub fn sender_waits(&self) -> Option<&SenderWaits> {
        self.sender_waits.as_deref()
    }

    /// Its NIC port.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// The earliest timer, start, sample or pull.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.next_event
    }

    /// Asks for the state of its flows: of the first ones, which are all that most hosts have.
    pub fn prefetch(&self) {
        self.senders.first().into_iter().for_each(prefetch_all);
        self.receivers.first().into_iter().for_each(prefetch_all);
        self.port.prefetch();
        self.sender_of.prefetch();
        self.receiver_of.prefetch();
    }

    fn settle_next(&mut self) {
        self.settle(self.next_pull());
    }

    /// Takes down when it has something to do next; `pull` is when the NIC pulls next.
    #[inline]
    fn settle(&mut self, pull: Time) {
        let timer = self.timers.peek().map_or(Time::MAX, |t| t.0.0);
        let memory = self.memory.as_ref().map_or(Time::MAX, |memory| memory.due());
        self.next_event = pull.min(timer).min(self.next_planned).min(memory);
    }

    /// Starts and samples move in [`Host::timer`] only.
    fn plan_next(&mut self) {
        let start = self.starts.last().map_or(Time::MAX, |f| self.common.flows[*f as usize].start);
        let sample = self.samples.map_or(Time::MAX, |s| s.1);
        let flows = self.flow_samples.as_ref().map_or(Time::MAX, FlowSamples::next);
        let memory = self.memory.as_ref().map_or(Time::MAX, |memory| memory.next_sample());
        let waits = self.sender_waits.as_ref().map_or(Time::MAX, |waits| waits.next());
        self.next_planned = start.min(sample).min(flows).min(memory).min(waits);
    }

    /// When the NIC pulls next.
    #[inline]
    fn next_pull(&self) -> Time {
        let idle = self.acks.is_empty() && self.ready.is_empty() && !self.is_cutting();
        if idle || !self.port.open() {
            return Time::MAX;
        }
        let read = self.memory.as_ref().map_or(Time::ZERO, |memory| memory.path.send_free());
        self.port.busy().max(self.since).max(read)
    }

    /// Whether part of a super-packet has not gone out.
    #[inline]
    fn is_cutting(&self) -> bool {
        self.burst.as_ref().is_some_and(|burst| !burst.is_empty())
    }

    /// Sends whatever leaves at or before `now`; `start` is when the NIC pulls next, and the answer is when it then does.
    #[inline(never)]
    fn pull(&mut self, mut start: Time, now: Time, out: &mut impl Out<Packet>) -> Time {
        while start <= now {
            // ACKs go first: `fq` serves flows that send little before those with a backlog.
            if let Some(packet) = self.next_packet(start) {
                self.send(start, packet, out);
            }
            start = self.next_pull();
        }
        start
    }

    #[inline]
    fn send(&mut self, start: Time, mut packet: Packet, out: &mut impl Out<Packet>) {
        if self.memory.is_some() {
            self.fetch(start, &mut packet);
        }
        let sent = match packet.hops() {
            0 => self.port.send_pulled(start, &packet, out),
            _ => self.send_told(start, &packet, out),
        };
        if !sent {
            trace(&mut self.digest, start, LOST, &packet);
        }
    }

    /// What goes out next: the rest of a super-packet, an ACK, data.
    #[inline]
    fn next_packet(&mut self, start: Time) -> Option<Packet> {
        let at_hand = if self.port.stopped() != 0 {
            self.next_unstopped()
        } else {
            let segment = self.burst.as_mut().and_then(|burst| burst.take());
            segment.or_else(|| self.acks.pop_front())
        };
        at_hand.or_else(|| self.pull_data(start))
    }

    /// The next packet of the flow whose turn it is, if it still has one.
    #[inline]
    fn pull_data(&mut self, start: Time) -> Option<Packet> {
        let Self { ready, senders, .. } = self;
        let left = |slot: u32| senders[slot as usize].sender.unsent();
        let slot = ready.take(left)?;
        if self.senders[slot as usize].flow == RETIRED {
            self.senders[slot as usize].ready = false;
            self.free_senders.push(slot);
            return None;
        }
        if self.port.stopped() != 0 && self.park(slot) {
            return None;
        }
        let profile = &self.common.profiles[usize::from(self.senders[slot as usize].profile)];
        let sending = &mut self.senders[slot as usize];
        let packet = match &mut self.burst {
            None => sending.sender.next_packet(&profile.transport, start),
            Some(nic) => sending.sender.next_burst(&profile.transport, start).and_then(|burst| {
                nic.load(&burst.first, burst.payload, profile.transport.mss().get());
                nic.take()
            }),
        };
        sending.ready = sending.sender.ready(&profile.transport);
        if sending.ready {
            self.ready.put_back(slot);
        }
        self.arm_sender(slot);
        if let Some(packet) = &packet {
            let rest = || self.burst.as_ref().map_or(0, |burst| burst.left());
            self.ready.charge(slot, || u64::from(packet.size) + rest());
        }
        packet
    }

    /// A packet arrives.
    #[inline(never)]
    pub fn arrive(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        if packet.flags.has(Flags::TELEMETRY) {
            self.hear(now, packet, out.words());
        }
        // Nothing has changed since the host settled.
        debug_assert!(self.next_event <= self.next_pull());
        if self.next_event <= now {
            self.pull(self.next_pull(), now, out);
        }
        trace(&mut self.digest, now, DELIVERED, packet);
        let for_the_stack = packet.kind.is_end_to_end();
        self.arrived += u64::from(for_the_stack);
        if self.memory.is_some() && for_the_stack {
            self.offer(now, packet, out);
        } else if for_the_stack && self.interrupts(packet.flow) {
            self.hold(now, now, packet, out);
        } else {
            self.take(now, Arrival { at: now, stamp: packet.stamp }, packet, out);
        }
        self.depart_and_settle(now, out);
    }

    /// The stack takes a packet, which may stand for several: `newest` is the last of them.
    #[inline]
    fn take(&mut self, now: Time, newest: Arrival, packet: &Packet, out: &mut impl Out<Packet>) {
        if packet.kind == Kind::Data {
            self.receive(now, newest, packet, out);
        } else if packet.kind.is_answer() {
            self.acknowledge(now, newest.at, packet, out);
        } else {
            self.take_order(now, packet, out);
        }
    }

    /// The NIC, or who plans flows, takes what is for no transport.
    #[cold]
    fn take_order(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        match packet.kind {
            Kind::Control => self.told(now, packet, out),
            Kind::Rate => self.obey(now, packet),
            Kind::Pause => self.pause(now, packet.seq as u8),
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Cnp => {} // for transports
            Kind::Credit => {}                                    // ends at a switch
        }
    }

    /// The switch tells one flow, or all to one host, at which rate to send.
    #[cold]
    fn obey(&mut self, now: Time, packet: &Packet) {
        let (rate, all) = (BitsPerSec::new(packet.seq), packet.flow == FlowId::ALL);
        let told = match packet.seq {
            0 => Told::Stop,
            _ if all => Told::GoOn(rate),
            _ => Told::Rate(rate),
        };
        if !all {
            if let Some(slot) = self.sender_of.get(packet.flow).filter(|slot| *slot != DONE) {
                self.tell(now, slot, told);
            }
            return;
        }
        let to = HostAddr::of_word(packet.stamp);
        for slot in 0..self.senders.len() {
            let flow = self.senders[slot].flow;
            let goes_there =
                |flow: u32| self.common.addrs[self.common.flows[flow as usize].dst as usize] == to;
            if flow != RETIRED && goes_there(flow) {
                self.tell(now, slot as u32, told);
            }
        }
    }

    fn tell(&mut self, now: Time, slot: u32, told: Told) {
        self.senders[slot as usize].sender.on_told(now, told);
        self.wake_sender(now, slot);
    }

    /// What an event made ready departs before anything else that happens at the same instant.
    #[inline]
    fn depart_and_settle(&mut self, now: Time, out: &mut impl Out<Packet>) {
        let mut pull = self.next_pull();
        if pull <= now {
            pull = self.pull(pull, now, out);
        }
        self.settle(pull);
    }

    fn receive(&mut self, now: Time, newest: Arrival, packet: &Packet, out: &mut impl Out<Packet>) {
        self.delivered_segments += 1;
        let slot = match self.receiver_of.get(packet.flow) {
            Some(DONE) => return self.acknowledge_again(now, packet),
            Some(slot) => slot,
            None => self.accept(packet.flow),
        };
        let receiving = &mut self.receivers[slot as usize];
        let profile = receiving.profile;
        let cfg = &self.common.profiles[usize::from(profile)].transport;
        let before = receiving.receiver.delivered().get();
        let acks = receiving.receiver.on_data(cfg, now, newest, packet);
        let delivered = receiving.receiver.delivered().get();
        let complete = receiving.receiver.complete();
        let deadline = receiving.receiver.deadline();
        let copied = self.memory.is_some() && cfg.copies();
        if deadline < receiving.armed {
            receiving.armed = deadline;
            self.timers.push(Reverse((deadline, Due::Receiver, slot)));
        }
        for ack in acks.iter().flatten() {
            self.queue_ack(now, ack);
        }
        if copied {
            let mss = self.common.profiles[usize::from(profile)].transport.mss().get();
            return self.await_reading(now, packet.flow, delivered - before, mss);
        }
        self.delivered_bytes += delivered - before;
        if complete {
            self.complete(now, packet.flow, slot, out);
        } else if self.rpc.is_some() && delivered > before {
            self.stream_delivered(now, packet.flow, delivered, out);
        }
    }

    /// Whether the packets of a flow wait for interrupts. What RDMA NICs do needs none.
    #[inline]
    fn interrupts(&self, flow: FlowId) -> bool {
        self.ring.is_some() && {
            let traffic = self.common.flows[flow.0 as usize].traffic;
            self.common.profiles[usize::from(traffic)].transport.copies()
        }
    }

    #[inline]
    fn queue_ack(&mut self, now: Time, ack: &Packet) {
        if self.acks.is_empty() && self.ready.is_empty() {
            self.since = now;
        }
        if ack.hops() > 0 {
            self.pass_on(ack);
        }
        self.acks.push_back(*ack);
    }

    #[cold]
    fn accept(&mut self, flow: FlowId) -> u32 {
        let spec = &self.common.flows[flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let receiver = cfg.receiver(flow, self.common.addrs[spec.src as usize]);
        let receiving = Receiving { receiver, profile: spec.traffic, armed: Time::MAX };
        let slot = match self.free_receivers.pop() {
            // A freed slot keeps its heap entry, which then comes early for the new flow and does nothing.
            Some(slot) => {
                let armed = self.receivers[slot as usize].armed;
                self.receivers[slot as usize] = Receiving { armed, ..receiving };
                slot
            }
            None => {
                self.receivers.push(receiving);
                self.receivers.len() as u32 - 1
            }
        };
        self.receiver_of.set(flow, slot);
        slot
    }

    #[cold]
    fn complete(&mut self, now: Time, flow: FlowId, slot: u32, out: &mut impl Out<Packet>) {
        self.receiver_of.set(flow, DONE);
        self.free_receivers.push(slot);
        self.delivered.push((flow.0, now));
        let first = self.round_of.partition_point(|r| r.0 < flow.0);
        for at in first..self.round_of.len() {
            let (of, round) = self.round_of[at];
            if of != flow.0 {
                return;
            }
            let (round, missing) = &mut self.rounds[round as usize];
            *missing -= 1;
            if *missing == 0 {
                let round = *round;
                self.follow(now, round, now, out);
            }
        }
    }

    /// Something elsewhere is over: a flow of this host begins, or a round that counts here is nearer to its end.
    #[cold]
    fn told(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        let at = now + Span::from_ps(packet.seq);
        if !packet.flags.has(TELLS) {
            self.timers.push(Reverse((at, Due::Start, packet.flow.0)));
            return;
        }
        let found = self.joins.binary_search_by_key(&packet.flow.0, |join| join.round);
        let join = &mut self.joins[found.expect("a host is told of its own rounds")];
        join.over = join.over.max(at);
        join.missing -= 1;
        if join.missing == 0 {
            let Join { round, over, .. } = *join;
            self.follow(now, round, over, out);
        }
    }

    /// Says to all that follows a round that it was over at `over`, now or soon.
    fn follow(&mut self, now: Time, round: u32, over: Time, out: &mut impl Out<Packet>) {
        let common = Arc::clone(&self.common);
        let round = &common.loops[round as usize];
        let next = if over < round.until { &round.next[..] } else { &[] };
        for one in next {
            // The wait is the receiver's: links are FIFO, and others may have shorter ones.
            let seq = (one.wait + over.since(now)).as_ps();
            let flags = Flags::NONE.with_if(one.tells, TELLS);
            let flow = FlowId(one.what);
            let go = Packet { flow, seq, flags, kind: Kind::Control, ..Packet::default() };
            out.push(one.link, now, &go);
        }
    }

    /// Data of a flow that is complete here: its last ACK was lost.
    #[cold]
    fn acknowledge_again(&mut self, now: Time, packet: &Packet) {
        let spec = self.common.flows[packet.flow.0 as usize];
        let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
        let ack = Packet {
            flow: packet.flow,
            dst: self.common.addrs[spec.src as usize],
            size: cfg.ack_size().get() as u16,
            kind: Kind::Ack,
            class: cfg.ack_class(),
            flags: Flags::NONE,
            stamp: packet.stamp,
            window: u16::MAX,
            seq: spec.size.get(),
            ..Packet::default()
        };
        self.queue_ack(now, &ack);
    }

    fn acknowledge(
        &mut self,
        now: Time,
        arrived: Time,
        packet: &Packet,
        out: &mut impl Out<Packet>,
    ) {
        let Some(slot) = self.sender_of.get(packet.flow).filter(|slot| *slot != DONE) else {
            return;
        };
        let sending = &mut self.senders[slot as usize];
        let cfg = &self.common.profiles[usize::from(sending.profile)].transport;
        let hops = match (packet.hops(), &self.told) {
            (1.., Some(told)) => match &mut sending.telemetry {
                Some(flow) => flow.hear(arrived, told.at_hand(packet)),
                None => &[],
            },
            _ => &[],
        };
        sending.sender.on_answer(cfg, now, arrived, packet, hops);
        let acked = sending.sender.acked().get();
        if sending.sender.finished() {
            self.finish(now, slot, out);
        } else {
            if self.rpc.is_some() {
                self.stream_acked(now, packet.flow, acked, out);
            }
            self.wake_sender(now, slot);
        }
    }

    /// After anything that may let a sender send, or moved its deadline.
    #[inline]
    fn wake_sender(&mut self, now: Time, slot: u32) {
        let sending = &mut self.senders[slot as usize];
        let cfg = &self.common.profiles[usize::from(sending.profile)].transport;
        if self.pushes {
            self.push(now, slot);
        } else if !sending.ready && sending.sender.ready(cfg) {
            sending.ready = true;
            if self.acks.is_empty() && self.ready.is_empty() {
                self.since = now;
            }
            self.ready.add(slot);
        }
        self.arm_sender(slot);
    }

    #[inline]
    fn arm_sender(&mut self, slot: u32) {
        let sending = &mut self.senders[slot as usize];
        let deadline = sending.sender.deadline();
        if sending.armed.needs(deadline) {
            self.timers.push(Reverse((deadline, Due::Sender, slot)));
        }
    }

    #[cold]
    fn finish(&mut self, now: Time, slot: u32, out: &mut impl Out<Packet>) {
        let sending = &self.senders[slot as usize];
        let flow = sending.flow;
        self.sent.push(standing(sending, Some(now)));
        self.sender_of.set(FlowId(flow), DONE);
        if self.senders[slot as usize].ready {
            // Rare: everything was acknowledged while a retransmission stood ready. It pulls nothing and leaves then.
            self.senders[slot as usize].flow = RETIRED;
        } else {
            self.free_senders.push(slot);
        }
        out.done();
    }

    #[cold]
    fn start(&mut self, now: Time, flow: u32) {
        let spec = self.common.flows[flow as usize];
        let profile = &self.common.profiles[usize::from(spec.traffic)];
        let at = Start {
            mss: profile.transport.mss(),
            initial_window: profile.transport.initial_window(),
            line_rate: self.port.settings().rate,
            base_rtt: profile.base_rtt.of(flow),
            seed: Stream::new(self.common.seed, u64::from(flow), Purpose::Law).key(),
        };
        let dst = self.common.addrs[spec.dst as usize];
        let open = spec.size == Bytes::MAX || spec.size == Bytes::ZERO;
        let flow_spec = SenderSpec { flow: FlowId(flow), dst, size: spec.size, open };
        let sender = profile.transport.sender(flow_spec, &profile.law, at, now);
        let rates = self.common.telemetry.filter(|_| profile.transport.needs().int);
        let sending = Sending {
            sender,
            flow,
            profile: spec.traffic,
            ready: false,
            armed: Armed::NONE,
            started: now,
            telemetry: rates.map(|rates| Box::new(Telemetry::new(rates))),
        };
        let slot = match self.free_senders.pop() {
            Some(slot) => {
                let armed = self.senders[slot as usize].armed;
                self.senders[slot as usize] = Sending { armed, ..sending };
                slot
            }
            None => {
                self.senders.push(sending);
                self.senders.len() as u32 - 1
            }
        };
        self.ready.renew(slot);
        self.sender_of.set(FlowId(flow), slot);
        self.wake_sender(now, slot);
    }

    /// Handles everything due at `now`.
    pub fn timer(&mut self, now: Time, out: &mut impl Out<Packet>) {
        self.pull(self.next_pull(), now, out);
        while let Some(&Reverse((at, due, which))) = self.timers.peek().filter(|t| t.0.0 <= now) {
            debug_assert!(at == now, "{due:?} was due at {at}, and it is {now}");
            self.timers.pop();
            match due {
                Due::Ring => self.ring_due(now, out),
                Due::Start => self.start(now, which),
                Due::Sender => self.sender_due(now, which),
                Due::Receiver => self.receiver_due(now, which),
                Due::Rpc => self.rpc_due(now, which),
            }
        }
        if self.memory.is_some() {
            self.memory_due(now, out);
        }
        if self.next_planned <= now {
            self.planned(now);
        }
        self.depart_and_settle(now, out);
    }

    /// Starts what is to start by `now`, and takes the sample that is due.
    #[cold]
    fn planned(&mut self, now: Time) {
        while let Some(flow) =
            self.starts.last().copied().filter(|f| self.common.flows[*f as usize].start <= now)
        {
            self.starts.pop();
            self.start(now, flow);
        }
        if let Some((every, next)) = &mut self.samples
            && *next <= now
        {
            *next = now + *every;
            self.sampled.push(self.delivered_bytes);
            if self.port.pauses(now).received > 0 {
                self.port.paused_so_far(now, &mut self.sampled_paused);
            }
        }
        if self.flow_samples.as_ref().is_some_and(|s| s.next() <= now) {
            let mut samples = self.flow_samples.take();
            if let Some(samples) = &mut samples {
                let live = self.unfinished().map(|(sent, tcp)| (sent.flow, tcp));
                samples.take(now, live);
            }
            self.flow_samples = samples;
        }
        if self.sender_waits.as_ref().is_some_and(|waits| waits.next() <= now) {
            let mut waits = self.sender_waits.take();
            if let Some(waits) = &mut waits {
                waits.look(now, self.waits());
            }
            self.sender_waits = waits;
        }
        if let Some(memory) = &mut self.memory {
            memory.sample(now, self.delivered_bytes);
        }
        self.plan_next();
    }

    fn sender_due(&mut self, now: Time, slot: u32) {
        let sending = &mut self.senders[slot as usize];
        if !sending.armed.fires(now) {
            return;
        }
        let cfg = &self.common.profiles[usize::from(sending.profile)].transport;
        if sending.sender.deadline() <= now {
            sending.sender.on_deadline(cfg, now);
        }
        self.wake_sender(now, slot);
    }

    fn receiver_due(&mut self, now: Time, slot: u32) {
        let receiving = &mut self.receivers[slot as usize];
        receiving.armed = Time::MAX;
        let cfg = &self.common.profiles[usize::from(receiving.profile)].transport;
        let ack = receiving.receiver.on_deadline(cfg, now);
        let deadline = receiving.receiver.deadline();
        if deadline != Time::MAX {
            receiving.armed = deadline;
            self.timers.push(Reverse((deadline, Due::Receiver, slot)));
        }
        if let Some(ack) = ack {
            self.queue_ack(now, &ack);
        }
    }

    /// A fault of its own cable.
    pub fn fault(
        &mut self,
        now: Time,
        change: PortFault,
        flying: Vec<Flying<Packet>>,
    ) -> Vec<Flying<Packet>> {
        let Recalled { back, lost } = self.port.apply(now, change, flying);
        for packet in &lost {
            trace(&mut self.digest, now, LOST, packet);
        }
        self.since = self.since.max(now);
        self.unpark();
        self.settle_next();
        back
    }

    /// Where the flows in progress go to, and what each waits for.
    fn waits(&self) -> impl Iterator<Item = (u32, Wait)> {
        self.unfinished().map(|(sent, sender)| {
            let spec = &self.common.flows[sent.flow as usize];
            let cfg = &self.common.profiles[usize::from(spec.traffic)].transport;
            (spec.dst, sender.waits_for(cfg))
        })
    }

    /// Flows that have started here and are not finished, as they stand, with what each waits for.
    pub fn unfinished(&self) -> impl Iterator<Item = (Sent, &Sender)> {
        let live =
            |s: &&Sending| self.sender_of.get(FlowId(s.flow)).is_some_and(|slot| slot != DONE);
        self.senders.iter().filter(live).map(|s| (standing(s, None), &s.sender))
    }
}

fn standing(sending: &Sending, acked: Option<Time>) -> Sent {
    Sent {
        flow: sending.flow,
        started: sending.started,
        acked,
        retransmits: sending.sender.retransmits() as u32,
        timeouts: sending.sender.timeouts() as u32,
    }
}

/// Events in the digest, beside those of switches.
const DELIVERED: u8 = 1;
const LOST: u8 = forebay_net::Drop::Fault as u8;

/// Flow of a slot that was finished while in the ready list.
const RETIRED: u32 = u32::MAX;
