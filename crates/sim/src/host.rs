//! A host: flows on top, a NIC that pulls below, and the glue between the sans-I/O steps.
//!
//! Here is what a host consists of and which event goes where. The way up is in `receiving`, the way down in `sending`
//! (flows) and `pulling` (the NIC).

mod common;
mod control;
mod dependencies;
mod lanes;
mod memory;
mod memory_samples;
mod parked;
mod paused_destinations;
mod planned;
mod prefetch;
mod pulling;
mod push;
mod receiving;
mod ring;
mod rpc;
mod sender_waits;
mod sending;
mod switch_messages;
mod telemetry;
mod timer_dedup;

pub(crate) use common::{BaseRtt, Common, Profile};
pub(crate) use dependencies::{Next, Round};
pub(crate) use lanes::Lanes;
pub(crate) use memory::{Memory, NicSide, Snapshot};
pub(crate) use paused_destinations::{ASKS_AFTER, Asking};
pub(crate) use rpc::Ends;
pub(crate) use sender_waits::SenderWaits;
pub(crate) use sending::Sent;

use crate::flow_map::FlowMap;
use crate::flow_samples::FlowSamples;
use dependencies::Join;
use forebay_engine::{Digest, Flying, Out};
use forebay_host::{Moderation, PullOrder, ReadyList, Segmenter};
use forebay_net::{Port, PortFault, PortSettings, Recalled, trace};
use forebay_transport::{Arrival, HostHalves};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Span, Time};
use forebay_wire::{Kind, Packet};
use pulling::ToNic;
use receiving::Receiving;
use sending::Sending;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Whose timer it is. At one instant they come up in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Ring,
    Start,
    Sender,
    Receiver,
    Rpc,
    Stops,
}

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
    lanes: Option<Box<Lanes>>,     // what waits, class by class, where data is of several
    by_class: bool, // it has to look at classes: there are lanes, or some class is stopped
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
    halves: HostHalves, // what its receivers have in common, by kind of flow
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
    stops: Option<Box<paused_destinations::Stops>>, // that the switch has told
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
            lanes: None,
            by_class: false,
            since: Time::ZERO,
            next_event: Time::MAX,
            next_planned: Time::MAX,
            senders: Vec::new(),
            free_senders: Vec::new(),
            sender_of: FlowMap::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            receiver_of: FlowMap::new(),
            halves: HostHalves::default(),
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
            stops: None,
            sampled_paused: Vec::new(),
        };
        host.plan_next();
        host.settle_next();
        host
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

    fn settle_next(&mut self) {
        self.settle(self.next_pull());
    }

    /// Takes down when it has something to do next; `pull` is when the NIC pulls next.
    #[inline]
    fn settle(&mut self, pull: Time) {
        let timer = self.timers.peek().map_or(Time::MAX, |t| t.0.0);
        let memory = self.memory.as_ref().map_or(Time::MAX, |memory| memory.due());
        let halves = self.halves.deadline();
        self.next_event = pull.min(timer).min(self.next_planned).min(memory).min(halves);
    }

    /// A packet arrives.
    #[inline(never)]
    pub fn arrive(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        if packet.has_int_records() {
            self.hear(now, packet, out);
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
    #[inline(always)]
    fn take(&mut self, now: Time, newest: Arrival, packet: &Packet, out: &mut impl Out<Packet>) {
        if packet.kind == Kind::Data {
            self.receive(now, newest, packet, out);
        } else if packet.kind.is_answer() {
            self.acknowledge(now, newest.at, packet, out);
            out.slab().release(packet.int_slot());
        } else {
            self.take_order(now, packet, out);
        }
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

    /// Handles everything due at `now`.
    pub fn timer(&mut self, now: Time, out: &mut impl Out<Packet>) {
        self.pull(self.next_pull(), now, out);
        while let Some(&Reverse((at, due, which))) = self.timers.peek().filter(|t| t.0.0 <= now) {
            debug_assert!(at == now, "{due:?} was due at {at}, and it is {now}");
            self.timers.pop();
            self.ask_for_due();
            match due {
                Due::Ring => self.ring_due(now, out),
                Due::Start => self.begin(now, which, out),
                Due::Sender => self.sender_due(now, which),
                Due::Receiver => self.receiver_due(now, which),
                Due::Rpc => self.rpc_due(now, which, out),
                Due::Stops => self.stops_due(now),
            }
        }
        if self.halves.deadline() <= now {
            let mut nic = ToNic::new(&mut self.acks, &mut self.since, &self.ready, now);
            self.halves.on_deadline(now, &mut nic);
        }
        if self.memory.is_some() {
            self.memory_due(now, out);
        }
        if self.next_planned <= now {
            self.planned(now, out);
        }
        self.depart_and_settle(now, out);
    }

    /// A fault of its own cable.
    pub fn fault(&mut self, now: Time, change: PortFault, flying: Vec<Flying<Packet>>) -> Recalled {
        let recalled = self.port.apply(now, change, flying);
        for packet in &recalled.lost {
            trace(&mut self.digest, now, LOST, packet);
        }
        self.since = self.since.max(now);
        self.unpark();
        self.settle_next();
        recalled
    }
}

/// Events in the digest, beside those of switches.
const DELIVERED: u8 = 1;
const LOST: u8 = forebay_net::Drop::Fault as u8;
