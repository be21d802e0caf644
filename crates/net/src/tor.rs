//! The switch of a rack that queues by destination host: a [`Switch`] with virtual output queues before it.
//!
//! Data of its own hosts waits in the queue of the destination until credits let it go, then takes its way through the switch
//! like any packet, tagged with the credit that the queue requests. Tagged data for its own hosts brings their ports the requests of other
//! racks; these ports send credits, spaced by the port's rate. A law of role `group` gives the flows of each queue their rate: a host that
//! requests it gets a rate message at once, and all hosts that feed the queue get stop and resume messages. What is no data passes by.
//!
//! Credits carry all that was given, so the next one makes up for one that was lost. Where no request comes any more, since all that was let
//! go has arrived or was lost, no next one comes: a queue that waits and is credited nothing for a while repeats its request, and gets
//! what it has been given. Likewise a host that was stopped, in case the resume message was lost: it gets the rate that holds.
//!
//! Credits and pace are timers of this node: it has an event for each credit, unlike any other stage.
//!
//! Source: HierCC (APNet 2021), sections 3 and 4.
//! Invariants: those of [`Voq`] and [`Credits`]; nothing is dropped here; a queue without traffic sets no timer.

use crate::credit::{Credit, CreditSettings, Credits, RackDemand};
use crate::port::{LinkLeftovers, PortFault};
use crate::switch::{Switch, trace};
use crate::voq::{BoundCrossing, Voq, VoqSettings};
use forebay_engine::{Digest, Emitter, InFlight, Node};
use forebay_laws::Acts;
use forebay_laws::group::{
    Group, GroupAct, GroupEvent, GroupParams, GroupSeen, GroupStart, GroupTotals,
};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, Packet, RackTag};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A credit message, in a digest.
const CREDIT: u8 = 7;

/// A repeated request, in a digest.
const REQUEST: u8 = 8;

/// What queues by destination are made from.
#[derive(Clone, Debug)]
pub struct TorSettings {
    /// Index of this rack.
    pub rack: u16,
    /// By port, what its host takes credits for; `None`: it leads to no host.
    pub hosts: Vec<Option<CreditSettings>>,
    /// Every queue, but for what it may send in advance.
    pub voq: VoqSettings,
    /// By rack, how this one queues for its hosts, and it for those of this one.
    pub peers: Vec<Peer>,
    /// Gives flows their rates.
    pub law: GroupParams,
    /// What the law of each queue starts from.
    pub at: GroupStart,
    /// A queue that waits repeats its request if it is credited nothing for so long; above zero.
    pub request_timeout: Span,
    /// Size of credit messages, rate messages and requests.
    pub message_size: u16,
}

/// How two racks queue for each other's hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Hosts that share a queue. `None`: every host has its own queue; otherwise all hosts of all racks that name the same one here.
    pub shared: Option<u16>,
    /// Bytes that each queue may send before its first credit.
    pub advance: Bytes,
}

/// What happened in all, over all queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TorCounters {
    /// Credits sent to other racks.
    pub credits: u64,
    /// Requests repeated by queues, and by hosts that were stopped.
    pub requests: u64,
    /// Rate messages to flows that requested one, stops included.
    pub rates: u64,
    /// Queues that something was ever sent to.
    pub queues: u64,
    /// Times that all hosts of a queue were stopped.
    pub stops: u64,
    /// Times that they were resumed.
    pub resumes: u64,
    /// Longest queue.
    pub longest: Bytes,
    /// Most that a queue had sent beyond its credits.
    pub ahead: Bytes,
}

/// The flows of this rack to one host, or to those that share its queue.
#[derive(Clone, Debug)]
struct Aggregate {
    voq: Voq,
    law: Group,
    rate: BitsPerSec,
    stopped: bool,
    due: Time,        // the law's wake
    armed: Time,      // earliest entry of this one among the timers
    request_at: Time, // when it repeats its request; invariant: some time, if something waits for credits of another switch
    request_armed: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Wake(HostAddr),
    Credit(u16),
    Request(HostAddr),
}

/// A switch of a rack with queues by destination.
#[derive(Clone, Debug)]
pub struct Tor {
    switch: Switch,
    settings: TorSettings,
    aggregates: Vec<Vec<Option<Box<Aggregate>>>>, // by rack and port of the queue
    credits: Vec<Option<(Credits, Time)>>, // by port, with the earliest entry of this one among the timers
    timers: BinaryHeap<Reverse<(Time, Due)>>,
    counters: TorCounters,
    digest: Digest,
}

impl Tor {
    /// Puts queues before a switch.
    pub fn new(switch: Switch, settings: TorSettings) -> Self {
        let credits = |host: &Option<CreditSettings>| host.map(|h| (Credits::new(h), Time::MAX));
        Self {
            switch,
            credits: settings.hosts.iter().map(credits).collect(),
            settings,
            aggregates: Vec::new(),
            timers: BinaryHeap::new(),
            counters: TorCounters::default(),
            digest: Digest::default(),
        }
    }

    /// The switch behind the queues.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// A fault of a cable, as [`Switch::fault`]. Credits for the host at its end follow the rate that is left, and stop while there is none.
    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        if let Some(Some((credits, _))) = self.credits.get_mut(port) {
            match change {
                PortFault::Rate(rate) => credits.set_rate(now, rate),
                PortFault::Down => credits.halt(now),
                PortFault::Up => credits.resume(now),
                PortFault::Loss(_) | PortFault::Drop(_) => {}
            }
            self.arm_credits(now, port as u16);
        }
        self.switch.fault(now, port, change, flying)
    }

    /// The switch, for changes of its routes.
    pub fn switch_mut(&mut self) -> &mut Switch {
        &mut self.switch
    }

    /// Counters so far.
    pub fn counters(&self) -> TorCounters {
        self.counters
    }

    /// The queue for a host, once something was sent to it or to another that shares it.
    pub fn voq(&self, to: HostAddr) -> Option<&Voq> {
        self.aggregate(self.queue_of(to)).map(|aggregate| &aggregate.voq)
    }

    /// Where the queue for a host is found: at its address, or port 0 of the rack that those who share it name.
    fn queue_of(&self, to: HostAddr) -> HostAddr {
        let shared = self.settings.peers.get(usize::from(to.tor)).and_then(|peer| peer.shared);
        shared.map_or(to, |tor| HostAddr { tor, port: 0 })
    }

    /// Every queue that something was ever sent to, in order of the addresses that they are found at.
    pub fn voqs(&self) -> impl Iterator<Item = (HostAddr, &Voq)> {
        (0u16..).zip(&self.aggregates).flat_map(|(tor, ports)| {
            (0u16..).zip(ports).filter_map(move |(port, aggregate)| {
                aggregate.as_ref().map(|aggregate| (HostAddr { tor, port }, &aggregate.voq))
            })
        })
    }

    /// The credits of a port that leads to a host.
    pub fn credits(&self, port: u16) -> Option<&Credits> {
        self.credits.get(usize::from(port))?.as_ref().map(|(credits, _)| credits)
    }

    /// Hash of what happened at the switch, and of every credit taken in.
    pub fn digest(&self) -> Digest {
        let mut all = self.switch.digest();
        all.add(0, self.digest.value());
        all
    }

    fn aggregate(&self, at: HostAddr) -> Option<&Aggregate> {
        self.aggregates.get(usize::from(at.tor))?.get(usize::from(at.port))?.as_deref()
    }

    fn aggregate_mut(&mut self, at: HostAddr) -> Option<&mut Aggregate> {
        self.aggregates.get_mut(usize::from(at.tor))?.get_mut(usize::from(at.port))?.as_deref_mut()
    }

    /// Data of one of its hosts.
    fn collect(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let to = packet.dst;
        let at = self.queue_of(to);
        if self.aggregate(at).is_none() {
            self.begin(now, at, out);
        }
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        let held = Packet { ingress: ingress_port, ..*packet };
        let arrival = aggregate.voq.arrive(now, ingress_port, &held);
        let (asleep, stopped) = (aggregate.due == Time::MAX, aggregate.stopped);
        let queue = aggregate.voq.queue();
        self.counters.longest = self.counters.longest.max(queue);
        if asleep {
            self.notify_law(now, at, GroupEvent::Traffic, out);
        }
        if arrival.crossed == Some(BoundCrossing::Above) {
            self.notify_law(now, at, GroupEvent::Above, out);
        }
        if stopped && arrival.new_feeder {
            self.send_rate(now, ingress_port, FlowId::ALL, to, 0, out);
        }
        if packet.flags.has(Flags::RATE_REQUEST) {
            let rate = self.aggregate(at).filter(|a| !a.stopped).map_or(0, |a| a.rate.get());
            self.counters.rates += 1;
            self.send_rate(now, ingress_port, packet.flow, to, rate, out);
        }
        self.release(now, at, out);
    }

    #[cold]
    fn begin(&mut self, now: Time, at: HostAddr, out: &mut impl Emitter<Packet>) {
        let (rack, port) = (usize::from(at.tor), usize::from(at.port));
        let needed = self.aggregates.len().max(rack + 1);
        self.aggregates.resize_with(needed, Vec::new);
        let needed = self.aggregates[rack].len().max(port + 1);
        self.aggregates[rack].resize_with(needed, || None);
        let mut acts = Acts::default();
        let start = self.settings.at;
        let law = self.settings.law.start(now, start, &mut acts);
        let advance = self.advance(at.tor);
        self.aggregates[rack][port] = Some(Box::new(Aggregate {
            voq: Voq::new(VoqSettings { advance, ..self.settings.voq }),
            law,
            rate: start.line_rate,
            stopped: false,
            due: Time::MAX,
            armed: Time::MAX,
            request_at: Time::MAX,
            request_armed: Time::MAX,
        }));
        self.counters.queues += 1;
        self.apply(now, at, &acts, out);
    }

    /// What a queue between that rack and this one may send in advance.
    fn advance(&self, rack: u16) -> Bytes {
        let peer = self.settings.peers.get(usize::from(rack));
        peer.map_or(self.settings.voq.advance, |peer| peer.advance)
    }

    /// Sends on what has credit.
    fn release(&mut self, now: Time, at: HostAddr, out: &mut impl Emitter<Packet>) {
        while let Some(aggregate) = self.aggregate_mut(at)
            && let Some((mut packet, demand, crossed)) = aggregate.voq.next(now)
        {
            let ahead = aggregate.voq.ahead();
            self.counters.ahead = self.counters.ahead.max(ahead);
            let rack = self.settings.rack;
            let tag = RackTag { rack, requested: demand.requested, flows: demand.flows };
            if packet.dst.tor == rack {
                self.on_tagged_data(now, tag, &packet);
            } else {
                packet.tag(tag);
            }
            self.switch.arrive(now, packet.ingress.into(), &mut packet, out);
            if crossed == Some(BoundCrossing::Below) {
                self.notify_law(now, at, GroupEvent::Below, out);
            }
        }
        self.plan_request(now, at);
    }

    /// What still waits, waits for credits.
    fn plan_request(&mut self, now: Time, at: HostAddr) {
        let (own, again) = (self.settings.rack, self.settings.request_timeout);
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        match aggregate.voq.waits_for() {
            Some(to) if to.tor != own => {
                aggregate.request_at = aggregate.request_at.min(now + again)
            }
            _ => aggregate.request_at = Time::MAX,
        }
        let due = aggregate.request_at;
        if due < aggregate.request_armed {
            aggregate.request_armed = due;
            self.timers.push(Reverse((due, Due::Request(at))));
        }
    }

    /// Requests again, if nothing came meanwhile.
    fn request_again(&mut self, now: Time, at: HostAddr, out: &mut impl Emitter<Packet>) {
        let (rack, size) = (self.settings.rack, self.settings.message_size);
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        if aggregate.request_at <= now
            && let Some(to) = aggregate.voq.waits_for()
        {
            aggregate.request_at = Time::MAX;
            let demand = aggregate.voq.demand(now, to);
            let tag = RackTag { rack, requested: demand.requested, flows: demand.flows };
            self.counters.requests += 1;
            // As a flow of its own, so that where there are several ways the next one does not take the same.
            let flow = FlowId(self.counters.requests as u32);
            let mut packet = Packet { flow, ..Packet::rack_request(to, tag, size) };
            self.switch.arrive(now, 0, &mut packet, out);
        }
        self.plan_request(now, at);
    }

    /// A rack repeats its request: it gets a credit message at once, with what it has been given.
    fn on_rack_request(
        &mut self,
        now: Time,
        port: u16,
        tag: RackTag,
        out: &mut impl Emitter<Packet>,
    ) {
        let demand = self.demand_of(tag);
        let Some(Some((credits, _))) = self.credits.get_mut(usize::from(port)) else { return };
        let credit = credits.on_request(now, demand);
        self.send_credit(now, port, credit, out);
        self.arm_credits(now, port);
    }

    fn send_credit(
        &mut self,
        now: Time,
        port: u16,
        credit: Credit,
        out: &mut impl Emitter<Packet>,
    ) {
        self.counters.credits += 1;
        let host = HostAddr { tor: self.settings.rack, port };
        let mut packet =
            Packet::rack_credit(credit.rack, host, credit.given, self.settings.message_size);
        self.switch.arrive(now, port.into(), &mut packet, out);
    }

    /// Data for a host of this rack: credits let it go, but not what it has on the wire beyond it.
    fn on_tagged_data(&mut self, now: Time, tag: RackTag, packet: &Packet) {
        let (port, demand) = (packet.dst.port, self.demand_of(tag));
        if let Some((credits, _)) = &mut self.credits[usize::from(port)] {
            let taken = self.settings.voq.taken(packet.size);
            let free = packet.on_wire(overhead(&self.switch, port)) - taken;
            credits.arrive(now, demand, taken, free);
            self.arm_credits(now, port);
        }
    }

    fn demand_of(&self, tag: RackTag) -> RackDemand {
        let advance = self.advance(tag.rack).get();
        RackDemand { rack: tag.rack, requested: tag.requested, flows: tag.flows, advance }
    }

    /// What no credit let go takes its way; those of the port to its host, if it is one of these, wait for it.
    fn pass(
        &mut self,
        now: Time,
        ingress_port: u32,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let HostAddr { tor, port } = packet.dst;
        if tor == self.settings.rack
            && let Some(Some((credits, _))) = self.credits.get_mut(usize::from(port))
        {
            credits.yield_to(now, packet.on_wire(overhead(&self.switch, port)));
        }
        self.switch.arrive(now, ingress_port, packet, out);
    }

    fn arm_credits(&mut self, now: Time, port: u16) {
        let Some((credits, armed)) = &mut self.credits[usize::from(port)] else { return };
        let due = credits.due().max(now);
        if due < *armed {
            *armed = due;
            self.timers.push(Reverse((due, Due::Credit(port))));
        }
    }

    /// Sends the credit that is due at a port.
    fn credit(&mut self, now: Time, port: u16, out: &mut impl Emitter<Packet>) {
        let Some((credits, _)) = &mut self.credits[usize::from(port)] else { return };
        let due = credits.next(now);
        let rack = self.settings.rack;
        let to = HostAddr { tor: rack, port };
        match due {
            Some(credit) if credit.rack == rack => self.take_credit(now, to, credit.given, out),
            Some(credit) => self.send_credit(now, port, credit, out),
            None => {}
        }
        self.arm_credits(now, port);
    }

    fn take_credit(&mut self, now: Time, to: HostAddr, given: u64, out: &mut impl Emitter<Packet>) {
        let at = self.queue_of(to);
        if let Some(aggregate) = self.aggregate_mut(at) {
            if aggregate.voq.credit(to, given) {
                aggregate.request_at = Time::MAX;
            }
            self.release(now, at, out);
        }
    }

    /// Notifies the law of a queue, and applies its actions.
    fn notify_law(
        &mut self,
        now: Time,
        at: HostAddr,
        event: GroupEvent,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        let flows = aggregate.voq.flows(now);
        let voq = &aggregate.voq;
        let totals = GroupTotals {
            credited: voq.credited(),
            arrived: voq.arrived(),
            sent: voq.sent(),
            queue: voq.queue(),
            flows,
        };
        let mut acts = Acts::default();
        aggregate.law.step(now, GroupSeen { totals: &totals, event }, &mut acts);
        if !acts.is_empty() {
            self.apply(now, at, &acts, out);
        }
    }

    fn apply(
        &mut self,
        now: Time,
        at: HostAddr,
        acts: &Acts<GroupAct>,
        out: &mut impl Emitter<Packet>,
    ) {
        for act in acts.iter() {
            let Some(aggregate) = self.aggregate_mut(at) else { return };
            match act {
                GroupAct::Rate(rate) => aggregate.rate = rate,
                GroupAct::Pause => {
                    aggregate.stopped = true;
                    self.counters.stops += 1;
                    self.send_rate_to_feeders(now, at, 0, out);
                }
                GroupAct::Resume(rate) => {
                    (aggregate.stopped, aggregate.rate) = (false, rate);
                    self.counters.resumes += 1;
                    self.send_rate_to_feeders(now, at, rate.get(), out);
                }
                GroupAct::Watch { low, high } => aggregate.voq.watch(low, high),
                GroupAct::WakeAt(due) => {
                    aggregate.due = aggregate.due.min(due);
                    self.arm_wake(at);
                }
                _ => unreachable!("the actions of this version are above"),
            }
        }
    }

    /// Sends a rate message to every host that feeds a queue, once for each host that it sends to.
    fn send_rate_to_feeders(
        &mut self,
        now: Time,
        at: HostAddr,
        rate: u64,
        out: &mut impl Emitter<Packet>,
    ) {
        let feeders: Vec<_> =
            self.aggregate(at).map_or_else(Vec::new, |of| of.voq.feeders().collect());
        for (port, to) in feeders {
            self.send_rate(now, port, FlowId::ALL, to, rate, out);
        }
    }

    /// A host requests the rate that holds for what it sends to `to`, in case a resume message was lost.
    #[cold]
    fn on_resume_request(
        &mut self,
        now: Time,
        port: u16,
        to: HostAddr,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(aggregate) = self.aggregate(self.queue_of(to)) else { return };
        let rate = if aggregate.stopped { 0 } else { aggregate.rate.get() };
        self.counters.requests += 1;
        self.send_rate(now, port, FlowId::ALL, to, rate, out);
    }

    /// Sends a rate message to a flow of the host at `port`, or to all of its flows to `to`.
    fn send_rate(
        &mut self,
        now: Time,
        port: u16,
        flow: FlowId,
        to: HostAddr,
        rate: u64,
        out: &mut impl Emitter<Packet>,
    ) {
        let host = HostAddr { tor: self.settings.rack, port };
        let mut packet = Packet::rack_rate(host, flow, to, rate, self.settings.message_size);
        self.pass(now, port.into(), &mut packet, out);
    }

    fn wake(&mut self, now: Time, at: HostAddr, out: &mut impl Emitter<Packet>) {
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        if aggregate.due <= now {
            aggregate.due = Time::MAX;
            self.notify_law(now, at, GroupEvent::Wake, out);
        }
        self.arm_wake(at);
    }

    /// Whether this entry is still the one that counts of those that wait for the same; then none does any more.
    fn disarm(&mut self, due: Due, at: Time) -> bool {
        let armed = match due {
            Due::Wake(queue) => self.aggregate_mut(queue).map(|of| &mut of.armed),
            Due::Request(queue) => self.aggregate_mut(queue).map(|of| &mut of.request_armed),
            Due::Credit(port) => self.credits[usize::from(port)].as_mut().map(|of| &mut of.1),
        };
        let Some(armed) = armed.filter(|armed| **armed == at) else { return false };
        *armed = Time::MAX;
        true
    }

    fn arm_wake(&mut self, at: HostAddr) {
        let Some(aggregate) = self.aggregate_mut(at) else { return };
        let due = aggregate.due;
        if due < aggregate.armed {
            aggregate.armed = due;
            self.timers.push(Reverse((due, Due::Wake(at))));
        }
    }
}

/// Bytes that each packet takes on the wire of a port beyond its own.
fn overhead(switch: &Switch, port: u16) -> u64 {
    switch.ports()[usize::from(port)].overhead()
}

impl Node for Tor {
    type Item = Packet;

    fn next_timer(&self) -> Time {
        let own = self.timers.peek().map_or(Time::MAX, |Reverse((at, _))| *at);
        own.min(self.switch.next_timer())
    }

    fn next_departure(&self) -> Time {
        self.switch.next_departure()
    }

    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        let of_a_host = matches!(self.settings.hosts.get(port as usize), Some(Some(_)));
        match packet.kind {
            Kind::Data if of_a_host => return self.collect(now, port as u16, packet, out),
            Kind::Data if packet.dst.tor == self.settings.rack => {
                if let Some(tag) = packet.untag() {
                    self.on_tagged_data(now, tag, packet);
                    return self.switch.arrive(now, port, packet, out);
                }
            }
            Kind::RackCredit if packet.dst.tor == self.settings.rack => {
                trace(&mut self.digest, now, CREDIT, packet);
                return self.take_credit(now, HostAddr::of_word(packet.stamp), packet.seq, out);
            }
            Kind::RackRequest if of_a_host => {
                trace(&mut self.digest, now, REQUEST, packet);
                return self.on_resume_request(now, port as u16, packet.dst, out);
            }
            Kind::RackRequest if packet.dst.tor == self.settings.rack => {
                trace(&mut self.digest, now, REQUEST, packet);
                if let Some(tag) = packet.untag() {
                    self.on_rack_request(now, packet.dst.port, tag, out);
                }
                return;
            }
            _ => {}
        }
        self.pass(now, port, packet, out);
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        while let Some(Reverse((at, due))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            if !self.disarm(due, at) {
                continue; // an earlier one took its place
            }
            match due {
                Due::Wake(queue) => self.wake(now, queue, out),
                Due::Credit(port) => self.credit(now, port, out),
                Due::Request(queue) => self.request_again(now, queue, out),
            }
        }
        if self.switch.next_timer() <= now {
            self.switch.timer(now, out);
        }
    }

    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.switch.depart(now, out);
    }
}
