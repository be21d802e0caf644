//! A host: flows on top, a NIC that pulls below, and the glue between the sans-I/O steps.
//!
//! Here is what a host consists of and which event goes where. The way up is in `receiving`, the way down in `sending`
//! (flows) and `pulling` (the NIC).

mod app;
pub(crate) mod class_queues;
mod common;
mod control;
#[cfg(feature = "reference")]
mod departures;
pub(crate) mod flow_map;
mod look;
mod memory;
mod observers;
mod paused;
mod paused_destinations;
mod prefetch;
#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod pulled_tests;
mod pulling;
pub(crate) mod push;
mod receiving;
mod ring;
mod rpc;
pub(crate) mod rpc_ends;
mod sending;
mod super_packets;
mod switch_messages;
pub(crate) mod telemetry;
pub(crate) mod timer_dedup;
mod timers;

pub(crate) use app::{Apps, LoggedOp, MessageUnderWay};
pub(crate) use class_queues::ClassQueues;
pub(crate) use common::{BaseRtt, Common, Profile};
pub(crate) use control::LawHost;
pub(crate) use look::SenderLook;
pub use memory::MemoryState;
pub(crate) use memory::{Memory, NicSide, Snapshot};
pub(crate) use observers::Observer;
pub(crate) use paused_destinations::{PAUSED_FOR, ResumeRequests};
pub(crate) use receiving::Delivered;
pub(crate) use rpc::{Credits, Ends, Shares};
pub(crate) use sending::SenderEnd;

use forebay_engine::{Digest, Emitter, InFlight};
use forebay_laws::kernel::ProgramTrace;
use forebay_net::{CLASSES, LinkLeftovers, Port, PortFault, PortSettings, trace};
use forebay_scenario::model::HostSettings;
use forebay_transport::{Arrival, ClassPayload};
use forebay_units::Time;
use forebay_units::random::{Purpose, Stream};
use forebay_wire::{Kind, Packet};
use observers::Observers;
use pulling::Egress;
use receiving::Receivers;
use ring::Ring;
use sending::Senders;
use std::sync::Arc;
use timers::{Due, Timers};

/// How a NIC sends and receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nic {
    pub settings: HostSettings,
    /// Size of the largest packet.
    pub packet: u32,
}

/// A host. What every event reads besides the NIC is one cache line, and what each arrival reads of receivers or senders is another.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Host {
    timers: Timers,
    pub digest: Digest,
    memory: Option<Box<Memory>>, // the path to memory, where it is modelled
    arrived: u64,                // packets for the stack, over its cable
    nic: Egress,
    receive: Receivers,
    send: Senders,
    ring: Option<Box<Ring>>, // what arrives waits here for an interrupt
    rpc: Option<Box<Ends>>,  // ends of connections that carry RPCs
    starts: Vec<u32>, // own flows with a time of their own, latest first: a program of `At` and `Send`
    common: Arc<Common>,
    observers: Observers,
    apps: Option<Box<Apps>>, // all other programs
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    std::mem::offset_of!(Host, nic) == 64
        && std::mem::offset_of!(Host, receive).is_multiple_of(64)
        && std::mem::offset_of!(Host, send).is_multiple_of(64)
);

impl Host {
    /// An idle host. `starts` are its own flows with a start, in its order.
    pub fn new(common: Arc<Common>, port: PortSettings, nic: Nic, mut starts: Vec<u32>) -> Self {
        starts.reverse();
        let jitter = Stream::new(common.seed, port.key, Purpose::Interrupt);
        let ring = nic.settings.interrupts_late().then(|| Ring::new(nic.settings, jitter));
        let mut host = Self {
            nic: Egress::new(port, nic, common.seed),
            send: Senders::default(),
            timers: Timers::default(),
            receive: Receivers::default(),
            digest: Digest::default(),
            arrived: 0,
            ring,
            starts,
            observers: Observers::default(),
            apps: None,
            rpc: None,
            memory: None,
            common,
        };
        host.nic.extended = host.ring.is_some();
        host.plan_next();
        host.settle_next();
        host
    }

    /// Packets that have arrived over its cable.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Data segments that its flows' receivers took.
    pub fn delivered_segments(&self) -> u64 {
        self.receive.segments
    }

    /// Payload handed to its applications.
    pub fn delivered_bytes(&self) -> u64 {
        self.receive.bytes
    }

    /// Payload of receiver-driven transports that came, by traffic class.
    pub fn class_arrivals(&self) -> [ClassPayload; CLASSES] {
        self.receive.halves.arrived()
    }

    /// Flows that end here and are complete.
    pub fn delivered(&self) -> &[Delivered] {
        &self.receive.finished
    }

    /// What modules of laws have printed here.
    pub fn traces(&self) -> impl Iterator<Item = ProgramTrace> {
        self.send.traces()
    }

    /// Flows that started here and are finished.
    pub fn sent(&self) -> &[SenderEnd] {
        &self.send.finished
    }

    /// What all hosts of its stack share.
    pub fn common(&self) -> &Common {
        &self.common
    }

    /// NIC port of the host.
    pub fn port(&self) -> &Port {
        &self.nic.port
    }

    /// The earliest timer, start, sample or pull.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timers.next
    }

    fn settle_next(&mut self) {
        self.settle(self.next_pull());
    }

    /// Takes down when it has something to do next; `pull` is when the NIC pulls next.
    #[inline]
    fn settle(&mut self, pull: Time) {
        let timer = self.timers.first().map_or(Time::MAX, |first| first.0);
        let memory = self.memory.as_mut().map_or(Time::MAX, |memory| memory.due());
        self.timers.next = pull.min(timer).min(self.timers.planned).min(memory);
    }

    /// A packet arrives.
    #[inline(never)]
    pub fn arrive(&mut self, now: Time, packet: &Packet, out: &mut impl Emitter<Packet>) {
        if packet.has_int_records() {
            self.on_int_records(now, packet, out);
        }
        // Nothing has changed since the host settled.
        debug_assert!(self.timers.next <= self.next_pull());
        if self.timers.next <= now {
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
    fn take(
        &mut self,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        if packet.kind == Kind::Data {
            self.receive(now, newest, packet, out);
        } else if packet.kind.is_answer() {
            self.acknowledge(now, newest.at, packet, out);
            out.slab().release(packet.int_slot());
        } else if packet.kind.is_for_receiver() && self.takes_headers(packet.flow) {
            self.receive(now, newest, packet, out);
        } else {
            self.on_control_packet(now, packet, out);
        }
    }

    /// What an event made ready departs before anything else that happens at the same instant.
    #[inline]
    fn depart_and_settle(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let mut pull = self.next_pull();
        if pull <= now {
            pull = self.pull(pull, now, out);
        }
        self.settle(pull);
    }

    /// Handles everything due at `now`: most of the time the NIC's next packet, and nothing else.
    pub fn timer(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let mut pull = self.next_pull();
        if self.memory.is_none() {
            pull = self.pull(pull, now, out);
            self.settle(pull);
            if self.timers.next > now {
                return;
            }
        } else if pull <= now {
            self.pull(pull, now, out);
        }
        self.due(now, out);
    }

    /// Handles what is due besides the NIC's next packet.
    fn due(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        while let Some((due, which)) = self.timers.take(now) {
            self.prefetch_due();
            match due {
                Due::Ring => self.ring_due(now, out),
                Due::App => self.app_due(now, which, out),
                Due::Sender => self.sender_due(now, which, out),
                Due::Receiver => self.receiver_due(now, which),
                Due::Rpc => self.rpc_due(now, which, out),
                Due::Pool => self.pool_due(now, which),
                Due::ResumeRequest => self.resume_request_due(now),
            }
        }
        if self.timers.planned <= now && self.receive.halves.deadline() <= now {
            self.receive.halves.on_deadline(now, &mut self.nic.at(now));
            self.plan_next();
        }
        if self.memory.is_some() {
            self.memory_due(now, out);
        }
        if self.timers.planned <= now {
            self.planned(now, out);
        }
        self.depart_and_settle(now, out);
    }

    /// A fault of its own cable.
    pub fn fault(
        &mut self,
        now: Time,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        let recalled = self.nic.port.apply(now, change, flying);
        for packet in &recalled.lost {
            trace(&mut self.digest, now, LOST, packet);
        }
        self.nic.since = self.nic.since.max(now);
        self.release_resumed(now);
        self.settle_next();
        recalled
    }
}

/// Events in the digest, beside those of switches.
const DELIVERED: u8 = 1;
const LOST: u8 = forebay_net::Drop::Fault as u8;
const REFUSED: u8 = forebay_net::Drop::Buffer as u8;
