//! The one switch: routing, admission, marking, classes and pause, as stages that scenarios compose.

mod pause;

use crate::ingress::{IngressCounters, IngressPool, Ingresses, Place};
use crate::port::parts::{ACCOUNTS, ANY, EXTRAS, LIMITS, QUEUES, SHARED, TOKENS};
use crate::port::{
    CLASSES, ClassPolicy, LinkLeftovers, OverflowAction, Port, PortCounters, PortFault, PortMode,
    PortSettings, Verdict,
};
use crate::routing::Routes;
use crate::shared_buffer::SharedBuffer;
use forebay_engine::{Digest, Emitter, InFlight, Node, prefetch, prefetch_all, rarely};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{HostAddr, Kind, Packet};

/// Why a packet ended before its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Drop {
    /// Refused for lack of buffer, or not markable.
    Buffer = 2,
    /// Dead link, random loss.
    Fault = 3,
    /// No route.
    Route = 4,
    /// In a class that stayed paused for too long; of those that wait. Others are refused.
    Watchdog = 6,
}

/// A received pause frame, in a digest beside deliveries and drops.
const PAUSE: u8 = 5;

/// What a switch is made from.
#[derive(Clone, Debug)]
pub struct SwitchSettings {
    /// Routes of the switch.
    pub routes: Routes,
    /// Ports of the switch, in the fabric's order.
    pub ports: Vec<PortSettings>,
    /// Shared buffer of queues that drop, if any.
    pub shared: Option<SharedBuffer>,
    /// Shared buffer of ingress ports that pause their senders, instead of that. It takes explicit ports, and so does a
    /// switch at the other end of such a cable.
    pub ingress: Option<IngressPool>,
    /// Policies of the classes of each port; empty: no port has any. They take explicit ports.
    pub classes: Vec<[ClassPolicy; CLASSES]>,
    /// Ports to sample, and how often.
    pub samples: Option<(Vec<u16>, Span)>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    routes: Routes,
    ports: Vec<Port>,
    shared: Option<SharedBuffer>,
    ingress: Option<Box<Ingresses>>,
    routed: u64,
    unroutable: u64,
    digest: Digest,
    lost: Vec<Digest>, // by port, of packets lost at random as they depart: when those are served is not part of a result
    due: Vec<Time>,    // by port, the next deferred departure; empty if no port is scheduled
    next_departure: Time,
    departures_moved: bool, // since `next_departure` was computed; it is needed once a window, so not at each arrival
    sampler: Option<Box<Sampler>>,
}

/// Queue series of some ports.
#[derive(Clone, Debug)]
struct Sampler {
    ports: Vec<u16>,
    every: Span,
    next: Time,
    times: Vec<Time>,
    queues: Vec<u64>,   // one for each port at each time
    by_class: Vec<u64>, // likewise, of the classes of each port that has several, the lowest first
    paused: Vec<Span>, // likewise, time paused so far: from the first pause on; all of a port's values together
}

/// Takes one event of a packet into a digest.
#[inline]
pub fn trace(digest: &mut Digest, now: Time, event: u8, packet: &Packet) {
    debug_assert!(event < 1 << 6, "an event has six bits, beside the two of ECN");
    let what = u64::from(packet.flow.0) << 32
        | u64::from(event) << 26
        | (packet.ecn as u64) << 24
        | u64::from(packet.flags.0) << 8
        | packet.kind.number();
    digest.add(now.as_ps() ^ packet.seq.rotate_left(20), what);
}

impl Switch {
    /// An idle switch.
    ///
    /// # Panics
    /// If ingress ports that pause come with a port that is not explicit, or with another shared buffer; if a port trims and shares a buffer.
    pub fn new(settings: SwitchSettings) -> Self {
        let trims = |policy: &ClassPolicy| matches!(policy.over, OverflowAction::Trim { .. });
        assert!(
            (settings.ingress.is_none() && settings.shared.is_none())
                || !settings.classes.iter().flatten().any(trims),
            "a queue that trims shares its buffer with no other"
        );
        let mut ports: Vec<Port> = settings.ports.into_iter().map(Port::new).collect();
        let pauses = settings.ingress.is_some();
        assert!(
            !pauses || (ports.iter().all(Port::is_scheduled) && settings.shared.is_none()),
            "pause takes explicit ports and the whole buffer"
        );
        if pauses {
            ports.iter_mut().for_each(Port::observe_departures);
        }
        if let Some(shared) = &settings.shared {
            ports.iter_mut().for_each(Port::share_buffer);
            if shared.is_by_class() {
                ports.iter_mut().for_each(Port::count_classes);
            }
        }
        for (port, policies) in ports.iter_mut().zip(settings.classes) {
            port.separate_classes(policies);
        }
        let sampler =
            settings.samples.filter(|(ports, _)| !ports.is_empty()).map(|(ports, every)| {
                Box::new(Sampler {
                    ports,
                    every,
                    next: Time::ZERO,
                    times: Vec::new(),
                    queues: Vec::new(),
                    by_class: Vec::new(),
                    paused: Vec::new(),
                })
            });
        Self {
            routes: settings.routes,
            lost: vec![Digest::default(); ports.len()],
            due: vec![
                Time::MAX;
                if ports.iter().any(Port::is_scheduled) { ports.len() } else { 0 }
            ],
            ports,
            shared: settings.shared,
            ingress: settings.ingress.as_ref().map(|pool| Box::new(Ingresses::new(pool))),
            routed: 0,
            unroutable: 0,
            digest: Digest::default(),
            next_departure: Time::MAX,
            departures_moved: false,
            sampler,
        }
    }

    /// Ports of the switch.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// The port by which the first packet of a flow would leave.
    pub fn route(&self, to: HostAddr, flow: u32, reverse: bool) -> Option<u16> {
        let empty =
            || self.routes.shortest(to.tor, 0, |_| 0).filter(|_| self.routes.is_adaptive(flow));
        self.routes.port(to.tor, to.port, flow, reverse, || 0, || None).or_else(empty)
    }

    /// Counters of a port.
    pub fn counters(&self, port: usize) -> PortCounters {
        self.ports[port].counters()
    }

    /// Packets that have arrived.
    pub fn routed(&self) -> u64 {
        self.routed
    }

    /// Packets without a route.
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// The shared buffer, if there is one.
    pub fn shared(&self) -> Option<&SharedBuffer> {
        self.shared.as_ref()
    }

    /// Bytes in ingress accounting, an upper bound; 0 if no ingress port pauses.
    pub fn held(&self) -> Bytes {
        self.ingress.as_ref().map_or(Bytes::ZERO, |ingress| ingress.held())
    }

    /// Whether a port's queue has packets that came in by an ingress port, and are of one of these classes: a bit each.
    pub fn holds(&self, port: usize, ingress_port: usize, classes: u8) -> bool {
        let from = |packet: Packet| usize::from(packet.ingress) == ingress_port;
        self.ports[port].queued().any(|p| classes & 1 << p.class.min(7) != 0 && from(p))
    }

    /// What an ingress port has counted; it is the other direction of the port of the same number.
    pub fn ingress(&self, ingress_port: usize) -> IngressCounters {
        self.ingress.as_ref().map_or_else(IngressCounters::default, |i| i.counters(ingress_port))
    }

    /// What one class of an ingress port has counted; `None` if classes have no accounts of their own.
    pub fn class_ingress(&self, ingress_port: usize, class: usize) -> Option<IngressCounters> {
        self.ingress.as_ref().and_then(|i| i.class_counters(ingress_port, class))
    }

    /// Hash of every drop and loss here, and of every pause frame received.
    pub fn digest(&self) -> Digest {
        let mut all = self.digest;
        for (port, lost) in (0u64..).zip(&self.lost).filter(|(_, lost)| **lost != Digest::default())
        {
            all.add(port, lost.value());
        }
        all
    }

    /// Sampled queues: ports, times, and for each time one queue per port.
    pub fn samples(&self) -> Option<(&[u16], &[Time], &[u64])> {
        self.sampler.as_ref().map(|s| (&s.ports[..], &s.times[..], &s.queues[..]))
    }

    /// Queues of classes at the sampled times: of each sampled port that has several, as [`Port::class_queues`] gives them.
    pub fn sampled_classes(&self) -> &[u64] {
        self.sampler.as_ref().map_or(&[], |s| &s.by_class)
    }

    /// Time for which each sampled port had been paused, at the last of the sampled times: from the first pause on. Each port has
    /// [`Port::paused_values`] of them.
    pub fn sampled_paused(&self) -> &[Span] {
        self.sampler.as_ref().map_or(&[], |s| &s.paused)
    }

    /// When the next sample is due.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.sampler.as_ref().map_or(Time::MAX, |s| s.next)
    }

    /// When the next deferred departure starts.
    #[inline]
    pub fn next_departure(&self) -> Time {
        if self.departures_moved { self.earliest_departure() } else { self.next_departure }
    }

    /// Prefetches the cache lines of its ports' explicit queues.
    pub fn prefetch_queues(&self) {
        if !self.due.is_empty() {
            self.ports.iter().for_each(Port::prefetch_queues);
        }
    }

    /// Prefetches the cache lines that packets will be queued in.
    pub fn prefetch_heads(&self) {
        if !self.due.is_empty() {
            self.ports.iter().for_each(Port::prefetch_heads);
        }
    }

    /// Prefetches the cache lines of its routes.
    pub fn prefetch_routes(&self) {
        self.routes.prefetch();
    }

    /// Prefetches the cache lines of its ports.
    #[inline]
    pub fn prefetch(&self) {
        if self.due.is_empty() {
            self.ports.iter().for_each(prefetch);
        } else {
            self.ports.iter().for_each(prefetch_all);
            self.due.iter().step_by(64 / size_of::<Time>()).for_each(prefetch);
        }
    }

    /// Routes a packet to its port and offers it there.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now: Time,
        ingress_port: u32,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let reverse = packet.kind.is_answer();
        let (to, nth) = (packet.dst, || self.routed + 1);
        let port = self.routes.port(to.tor, to.port, packet.flow.0, reverse, nth, || packet.path());
        self.routed += 1;
        match port {
            Some(port) => self.forward(now, ingress_port, usize::from(port), packet, out),
            None => self.arrive_unrouted(now, ingress_port, packet, out),
        }
    }

    /// Hands a packet to the pipeline of its port. Nothing but a jump unless the port is of one touch: what is in one function with other parts pays for
    /// their registers.
    #[inline(always)]
    fn forward(
        &mut self,
        now: Time,
        ingress_port: u32,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let target = self.ports.get_mut(port).expect("routes name ports that there are");
        let (mode, from) = (target.mode(), ingress_port as u16);
        if mode == PortMode::FifoUnshared {
            let (verdict, _) = target.offer::<0>(now, from, packet, out);
            if verdict != Verdict::Accepted {
                self.refuse(now, port, packet, verdict, out);
            }
            return;
        }
        if self.ingress.is_some() {
            return self.arrive_by::<{ QUEUES | EXTRAS | ACCOUNTS }>(now, from, port, packet, out);
        }
        match mode {
            PortMode::StrictPriority => self.arrive_by::<QUEUES>(now, from, port, packet, out),
            PortMode::StrictLimits => {
                self.arrive_by::<{ QUEUES | LIMITS }>(now, from, port, packet, out)
            }
            PortMode::Metered => {
                self.arrive_by::<{ QUEUES | TOKENS }>(now, from, port, packet, out)
            }
            _ => self.forward_apart(now, from, port, packet, out),
        }
    }

    /// The rest of [`Switch::forward`]. A `match` over all modes there would become a jump through a table in the engine's loop.
    #[inline(never)]
    fn forward_apart(
        &mut self,
        now: Time,
        from: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let (mode, shared) = (self.ports[port].mode(), self.shared.is_some());
        match mode {
            PortMode::WorkConserving if shared => {
                self.arrive_by::<{ QUEUES | EXTRAS | SHARED }>(now, from, port, packet, out)
            }
            PortMode::WorkConserving => {
                self.arrive_by::<{ QUEUES | EXTRAS }>(now, from, port, packet, out)
            }
            PortMode::Fifo => self.arrive_by::<SHARED>(now, from, port, packet, out),
            _ => self.arrive_by::<ANY>(now, from, port, packet, out),
        }
    }

    /// The pipeline of a packet at a port with these parts: the switch's admission, the port's admission and marks, its place, departures.
    #[inline(never)]
    fn arrive_by<const PARTS: u8>(
        &mut self,
        now: Time,
        ingress_port: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let has = |part: u8| PARTS & part != 0;
        if has(ACCOUNTS) && !self.passes_accounts(now, ingress_port, port, packet, out) {
            rarely();
            return self.arrive_by::<ANY>(now, ingress_port, port, packet, out);
        }

        // Admission by what all ports share.
        let (mut size, mut place) = (0, Place::Held);
        if has(SHARED | ANY) {
            let served = has(QUEUES) || self.ports[port].is_scheduled();
            if (has(QUEUES) || has(ANY)) && served && !self.ports[port].is_lazy() {
                self.serve(now, port, out);
            }
            size = self.ports[port].wire(packet);
            place = match has(ANY) && self.ingress.is_some() {
                true => self.place(now, (ingress_port, port), packet, size, out),
                false if self.admits(now, port, (packet.class, size), out) => Place::Held,
                false => Place::Refused,
            };
            if place == Place::Refused {
                self.refuse(now, port, packet, Verdict::Dropped, out);
                if has(ANY) {
                    self.refused_by_accounts(now, ingress_port, packet.class, size);
                }
                return;
            }
        }

        // Admission by the port, marks, and a place in its queue or on the wire.
        let target = &mut self.ports[port];
        let (verdict, moved) = match () {
            () if has(ANY) => {
                (target.offer_any(now, ingress_port, packet, out), target.is_scheduled())
            }
            () if has(TOKENS) => {
                let verdict = target.offer_metered(now, ingress_port, packet, out);
                let next = target.next_metered();
                self.departures_moved |= self.due[port] != next;
                self.due[port] = next;
                (verdict, false)
            }
            () => target.offer::<PARTS>(now, ingress_port, packet, out),
        };
        if has(SHARED | ANY)
            && let (Some(shared), Verdict::Accepted) = (&mut self.shared, verdict)
        {
            shared.admit(&mut target.counted, size);
        }

        // What was refused may have found departures that were due.
        if moved {
            self.due[port] =
                if has(ANY) { target.next_departure() } else { target.next_in_order() };
            self.departures_moved = true;
        }
        let waits = has(ACCOUNTS) && target.enqueued() > 0;
        if verdict != Verdict::Accepted {
            return self.refuse(now, port, packet, verdict, out);
        }
        if waits {
            self.hold(ingress_port, port, packet);
        }
        if has(ANY) {
            self.charge(now, ingress_port, packet.class, size, place);
        }
    }

    /// A packet whose port is not known from its routes alone: a pause frame ends here, queues decide about others, the rest is lost.
    #[cold]
    fn arrive_unrouted(
        &mut self,
        now: Time,
        ingress_port: u32,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        if packet.kind == Kind::Pause {
            self.on_pause_frame(now, ingress_port, packet, out);
            return;
        }
        if self.routes.is_adaptive(packet.flow.0)
            && let Some(port) = self.shortest(now, packet.dst.tor, out)
        {
            return self.forward(now, ingress_port, port.into(), packet, out);
        }
        self.unroutable += 1;
        trace(&mut self.digest, now, Drop::Route as u8, packet);
        out.slab().release(packet.int_slot());
    }

    /// The port towards a rack with the shortest queue. All departures up to `now` are served, so that each queue is what it is then, whenever it was
    /// served last.
    fn shortest(&mut self, now: Time, tor: u16, out: &mut impl Emitter<Packet>) -> Option<u16> {
        self.depart(now, out);
        let queue = |port: u16| {
            let port = &self.ports[usize::from(port)];
            if port.alive() { port.queue(now) } else { u64::MAX }
        };
        self.routes.shortest(tor, self.routed, queue)
    }

    /// Admission of a packet of this class and size by the shared buffer: on bounds first, then on the exact occupancy.
    #[inline(always)]
    fn admits(
        &mut self,
        now: Time,
        port: usize,
        (class, size): (u8, u64),
        out: &mut impl Emitter<Packet>,
    ) -> bool {
        let Some(shared) = &mut self.shared else { return true };
        let target = &mut self.ports[port];
        let mut queue = target.queue(now);
        shared.recount(&mut target.counted, queue);
        let by_class = shared.is_by_class();
        let most = if by_class { target.class_queue_at_most(queue, class) } else { queue };
        if shared.fits(most, size) {
            return true;
        }
        self.settle(now, out);
        if by_class {
            queue = self.ports[port].class_queue(now, class).0;
        }
        self.shared.as_ref().is_some_and(|shared| shared.fits(queue, size))
    }

    /// Serves all ports up to `now` and counts what they hold.
    fn settle(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        self.depart(now, out);
        if let Some(shared) = &mut self.shared {
            for port in &mut self.ports {
                let queue = port.queue(now);
                shared.recount(&mut port.counted, queue);
            }
        }
    }

    /// Stores when a scheduled port has its next departure.
    #[inline]
    fn update_departure(&mut self, port: usize) {
        self.due[port] = self.ports[port].next_departure();
        self.departures_moved = true;
    }

    /// Serves the departures of a scheduled port that start by `now`.
    #[inline]
    fn serve(&mut self, now: Time, port: usize, out: &mut impl Emitter<Packet>) {
        debug_assert_eq!(self.due[port], self.ports[port].next_departure());
        if self.due[port] <= now {
            self.serve_due(now, port, out);
        }
    }

    #[inline(never)]
    fn serve_due(&mut self, now: Time, port: usize, out: &mut impl Emitter<Packet>) {
        let Self { ports, lost, ingress, .. } = self;
        let (target, lost) = (&mut ports[port], &mut lost[port]);
        match ingress {
            None => target.serve(now, out, &mut |at, packet, verdict| {
                trace_end(lost, at, packet, verdict);
            }),
            Some(ingress) => {
                let overhead = target.overhead();
                target.serve(now, out, &mut |at, packet, verdict| {
                    trace_end(lost, at, packet, verdict);
                    ingress.release_quietly(packet, packet.on_wire(overhead));
                });
            }
        }
        self.update_departure(port);
    }

    #[inline]
    fn earliest_departure(&self) -> Time {
        self.due.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Serves every departure with start <= `now`.
    pub fn depart(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        if self.next_departure() > now {
            return;
        }
        if self.has_paused() {
            self.depart_in_order(now, out);
            return;
        }
        for port in 0..self.due.len() {
            self.serve(now, port, out);
        }
        (self.next_departure, self.departures_moved) = (self.earliest_departure(), false);
    }

    /// Takes the sample that is due.
    pub fn timer(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        self.depart(now, out);
        if let Some(sampler) = &mut self.sampler {
            sampler.times.push(now);
            sampler
                .queues
                .extend(sampler.ports.iter().map(|p| self.ports[usize::from(*p)].queue(now)));
            let sampled = || sampler.ports.iter().map(|p| &self.ports[usize::from(*p)]);
            let several = sampled().filter(|port| port.classes() > 1);
            sampler.by_class.extend(several.flat_map(|port| port.class_queues(now)));
            let begun = |port: &Port| port.pauses(now).received > 0;
            if !sampler.paused.is_empty() || sampled().any(begun) {
                sampled().for_each(|port| port.paused_so_far(now, &mut sampler.paused));
            }
            sampler.next = now + sampler.every;
        }
    }

    #[cold]
    fn refuse(
        &mut self,
        now: Time,
        port: usize,
        packet: &mut Packet,
        verdict: Verdict,
        out: &mut impl Emitter<Packet>,
    ) {
        let cause = match verdict {
            Verdict::Dropped => {
                self.ports[port].count_drop(packet);
                Drop::Buffer
            }
            Verdict::Returned => {
                self.ports[port].count_return();
                self.routed -= 1; // it arrives once
                return self.arrive(now, port as u32, packet, out);
            }
            Verdict::Accepted | Verdict::Lost => Drop::Fault,
        };
        trace(&mut self.digest, now, cause as u8, packet);
        out.slab().release(packet.int_slot());
    }

    /// Replaces the routes, after a failure or a return.
    pub fn reroute(&mut self, routes: Routes) {
        self.routes = routes;
    }

    /// Applies a fault to a port at a forced boundary. `flying` is what was on its link; the answer says what goes back, and what is lost.
    pub fn fault(
        &mut self,
        now: Time,
        port: usize,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        self.release_queue(now, port, change);
        let target = &mut self.ports[port];
        let recalled = target.apply(now, change, flying);
        for packet in &recalled.lost {
            trace(&mut self.digest, now, Drop::Fault as u8, packet);
        }
        if let Some(shared) = &mut self.shared {
            let queue = self.ports[port].queue(now);
            shared.recount(&mut self.ports[port].counted, queue);
        }
        if !self.due.is_empty() {
            // A fault of a port that is owed pause frames moves departures of others as well.
            (0..self.due.len()).for_each(|port| self.update_departure(port));
        }
        recalled
    }
}

impl Node for Switch {
    type Item = Packet;

    const ARRIVALS_SET_TIMERS: bool = false; // they are samples

    #[inline]
    fn next_timer(&self) -> Time {
        self.next_timer()
    }

    #[inline]
    fn next_departure(&self) -> Time {
        self.next_departure()
    }

    #[inline(always)]
    fn arrive<O: Emitter<Packet>>(
        &mut self,
        now: Time,
        port: u32,
        packet: &mut Packet,
        out: &mut O,
    ) {
        self.arrive(now, port, packet, out);
    }

    fn timer<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.timer(now, out);
    }

    fn depart<O: Emitter<Packet>>(&mut self, now: Time, out: &mut O) {
        self.depart(now, out);
    }
}

/// Takes a packet that was not sent after all, or was lost, into a digest.
#[inline]
fn trace_end(digest: &mut Digest, at: Time, packet: &Packet, verdict: Verdict) {
    match verdict {
        Verdict::Accepted | Verdict::Returned => {}
        Verdict::Lost => trace(digest, at, Drop::Fault as u8, packet),
        Verdict::Dropped => trace(digest, at, Drop::Watchdog as u8, packet),
    }
}
