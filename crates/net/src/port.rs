//! An egress port: a queue, a serializer and the cable behind it.
//!
//! Two forms, one behaviour:
//! - *one touch*: a FIFO whose queue is a number. When a packet is accepted its departure is known at once
//!   (`max(now, busy) + size / rate`), so it goes straight to the link, and the queue at any time is
//!   `(busy - now) * rate`. Drop, mark and forward are one visit.
//! - *scheduled*: an explicit queue per class, for what one touch cannot do: strict priorities, limits or thresholds in
//!   packets, marking at dequeue, telemetry, pause, release at the start of transmission, losses, shapers, rates of no whole number of
//!   picoseconds per byte (a queue that is a span of time would be off by a byte now and then). Served lazily, as far as
//!   that can be: see `scheduled.rs`.
//!
//! Lengths are wire bytes: packet size plus the wire overhead of the scenario.

mod bucket;
mod class;
mod classes;
mod counters;
mod credit_class;
mod fault;
mod marking;
mod metered;
mod packet_queue;
mod pause;
mod pipeline;
mod scheduled;
mod settings;
mod shares;
mod strict_limits;
mod telemetry;
mod trim;
mod turns;

pub use class::CLASSES;
pub(crate) use classes::MOST_IN_TRANSMISSION;
pub use classes::{ClassCounters, ClassPolicy};
pub use counters::PortCounters;
pub use fault::{DropRule, LinkLeftovers, PortFault};
pub use pause::PauseCounters;
pub(crate) use pipeline::parts;
pub use settings::{Form, PortSettings};
pub use trim::OverflowAction;

use class::NOTHING;
use credit_class::Meter;
use forebay_engine::{Emitter, LinkId, prefetch_all};
use forebay_settings::{EcnMarking, Ect, MarkAt, QueueLength};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{Kind, Packet};
use parts::{EXTRAS, LIMITS, OBSERVER, QUEUES};
use scheduled::ScheduledQueues;
use std::collections::VecDeque;

/// What became of a packet that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// In the queue, or on the wire.
    Accepted,
    /// No room, or not markable.
    Dropped,
    /// No room for a trimmed packet, which goes back to its source.
    Returned,
    /// The link is dead, or lost it at random after it was sent.
    Lost,
}

/// An egress port.
#[derive(Clone, Debug)]
pub struct Port {
    hot: Hot,
    pub(crate) counted: u64, // what the shared buffer counts for this port
    scheduled: ScheduledQueues,
    cold: Box<ColdState>,
}

const _: () = assert!(size_of::<Port>() == 128);

/// What is looked at now and then only. Kept apart so that the ports of a switch lie close together.
#[derive(Clone, Debug)]
struct ColdState {
    bounds: Bounds,
    highest: u64, // largest queue at earlier rates and of explicit queues, bytes
    counters: PortCounters, // but for transmissions, which are in `Hot`, and marks, in `Bounds`
    serializer: Serializer,
    whole: u64, // ps per byte; 0 if that is no whole number
    settings: PortSettings,
    alive: bool,
    since: Time, // explicit queues, mode `PerPacket`: when they were last empty and got a packet, or the link came back
    old_rate: BitsPerSec, // before the last change of rate
    old_until: Time, // what was in transmission then is sent by then, at that rate; zero: it has been
    held: VecDeque<Packet>, // one touch: the queue while the link is dead
    held_bytes: u64,
    drops: Vec<DropRule>, // packets to lose
    meter: Option<Box<Meter>>,
    pause: pause::Pause,
    classes: Option<Box<classes::Classes>>, // where classes have queues
    observed: bool,                         // an observer has to see each departure as it is served
    shares: bool,                           // its switch's buffer has a say about what it accepts
}

impl ColdState {
    /// Whether packets may be lost on a link that is up: at random, or one that a fault names.
    #[inline]
    fn may_lose(&self) -> bool {
        self.settings.loss > 0.0 || !self.drops.is_empty()
    }
}

/// What admission reads for a packet that finds a long queue: in one cache line, since such packets come often and wait for little else there.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Bounds {
    limit: Span,         // of the queue, as time
    class_limit: Span, // the least limit of a class, as time; no class has a longer queue than the port
    mark_from: Span,   // kmin as time
    mark_all_from: Span, // kmax as time, where the rule is at enqueue, in bytes and for all classes; from there on marks need no draw
    marked: u64,         // packets, by `Bounds::mark`
}

/// How a port handles a packet, from the state that it is in: chosen anew whenever settings, pauses or faults change. Changes no result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum PortMode {
    /// One departure at a time: the link is down, lossy, shaped, paused or between two rates; lengths are in packets; or [`Form::Naive`].
    PerPacket,
    /// One departure at a time, but nothing beside strict order and the limits and marks of the port counts, and the tokens of credits.
    Metered,
    /// Explicit queues, whose wire never idles while a packet waits: limits and marks follow from the time at which all will have been
    /// sent. Something else happens on departures too, or decides on arrivals: marks at dequeue, INT, policies of classes, ingress accounting,
    /// a shared buffer.
    WorkConserving,
    /// Work-conserving: nothing but priority order and the limits of the port and of its classes counts; that of the highest is in bytes. What
    /// becomes of a packet beyond its limit is for [`OverflowAction`] to say.
    StrictLimits,
    /// Work-conserving: nothing but priority order and the limits and marks of the port counts.
    StrictPriority,
    /// One queue, a number: a packet goes to the link as it is accepted. A shared buffer decides on arrivals too.
    Fifo,
    /// One queue without a shared buffer.
    FifoUnshared,
}

impl PortMode {
    #[inline(always)]
    pub fn is_fifo(self) -> bool {
        self >= Self::Fifo
    }

    #[inline(always)]
    pub fn is_work_conserving(self) -> bool {
        matches!(self, Self::WorkConserving | Self::StrictLimits | Self::StrictPriority)
    }
}

/// What one touch reads and writes, and the first half of what a work-conserving port does: one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Hot {
    busy: Time, // when all that was accepted has been sent; in modes `PerPacket` and `Metered`: the packet in transmission
    free_below: Span, // of queues shorter than this neither limit nor mark can come about; mode `StrictLimits`: see `free_up_to`
    tx_packets: u64,
    highest: Span, // largest queue as time at the present rate
    tx_bytes: u64,
    pace: u32,     // ps per byte; 0 in mode `PerPacket`
    overhead: u32, // ps that wire overhead adds to each packet
    link: LinkId,
    mode: PortMode,
    free_packets: u16, // mode `StrictLimits`: with no more packets in the port, no limit in packets is reached
    top_from: Time, // the highest class goes from then on: in mode `StrictLimits` behind what was sent last of lower ones, in `Metered` with tokens
}

const _: () = assert!(size_of::<Hot>() == 64);

impl Hot {
    /// Time that a packet takes on the wire of a port in any mode but `PerPacket`.
    #[inline(always)]
    fn time_of(&self, packet: &Packet) -> Span {
        Span::from_ps(u64::from(packet.size) * u64::from(self.pace) + u64::from(self.overhead))
    }
}

impl Port {
    /// An idle port.
    pub fn new(settings: PortSettings) -> Self {
        let in_bytes = |l: QueueLength| matches!(l, QueueLength::Bytes(_));
        let marking = settings.marking;
        let one_touch = settings.classes <= 1
            && settings.form == Form::Any
            && settings.telemetry.is_none()
            && settings.loss == 0.0
            && settings.shaper.is_none()
            && settings.credits.is_none()
            && settings.rate.whole_ps_per_byte().is_some()
            && !settings.truncates()
            && !settings.releases_at_start()
            && settings.limit.is_none_or(in_bytes)
            && marking
                .is_none_or(|m| m.at == MarkAt::Enqueue && in_bytes(m.kmin) && in_bytes(m.kmax));
        let mut port = Self {
            hot: Hot {
                busy: Time::ZERO,
                free_below: Span::MAX,
                highest: Span::ZERO,
                tx_packets: 0,
                tx_bytes: 0,
                pace: 0,
                overhead: 0,
                link: settings.link,
                mode: PortMode::PerPacket,
                free_packets: 0,
                top_from: Time::ZERO,
            },
            counted: 0,
            scheduled: ScheduledQueues::new(&settings, !one_touch),
            cold: Box::new(ColdState {
                bounds: Bounds {
                    limit: Span::MAX,
                    class_limit: Span::MAX,
                    mark_from: Span::MAX,
                    mark_all_from: Span::MAX,
                    marked: 0,
                },
                highest: 0,
                counters: PortCounters::default(),
                serializer: serializer(&settings),
                whole: 0,
                settings,
                alive: true,
                since: Time::ZERO,
                old_rate: settings.rate,
                old_until: Time::ZERO,
                held: VecDeque::new(),
                held_bytes: 0,
                drops: Vec::new(),
                meter: Meter::of(&settings).map(Box::new),
                pause: pause::Pause::default(),
                classes: None,
                observed: false,
                shares: false,
            }),
        };
        port.derive();
        port
    }

    /// Recomputes what follows from settings.
    fn derive(&mut self) {
        let settings = &self.cold.settings;
        let whole = settings.rate.whole_ps_per_byte().filter(|_| !settings.truncates());
        let time = |bytes: Bytes| settings.rate.time_for(bytes);
        // A queue counts its whole bytes, so less than one more is within the limit.
        let part = whole.map_or(0, |whole| whole - 1);
        self.cold.bounds.limit = match settings.limit {
            Some(QueueLength::Bytes(bytes)) => time(bytes) + Span::from_ps(part),
            _ => Span::MAX,
        };
        // No class has a longer queue than all together.
        let from = |rule: &EcnMarking| match rule.kmin {
            QueueLength::Bytes(bytes) if rule.at == MarkAt::Enqueue => time(bytes),
            _ => Span::MAX,
        };
        let mark_from = self.rules().map(from).min().unwrap_or(Span::MAX);
        let picks = self.rules().any(|rule| rule.at == MarkAt::Dequeue);
        let marks = self.rules().any(|rule| rule.at == MarkAt::Enqueue);
        let classes = self.cold.classes.iter().flat_map(|classes| classes.limits());
        let bytes = |limit| match limit {
            QueueLength::Bytes(bytes) => time(bytes),
            QueueLength::Packets(_) => Span::ZERO, // of any size
        };
        self.cold.bounds.class_limit = classes.map(bytes).min().unwrap_or(Span::MAX);
        self.cold.bounds.mark_from = mark_from;
        (self.scheduled.picks, self.scheduled.marks) = (picks, marks);
        let all_from = |rule: EcnMarking| match rule.kmax {
            QueueLength::Bytes(bytes) if rule.at == MarkAt::Enqueue && rule.ect == Ect::Mark => {
                time(bytes)
            }
            _ => Span::MAX,
        };
        let rule = settings.marking.filter(|_| !self.scheduled.apart);
        self.cold.bounds.mark_all_from = rule.map_or(Span::MAX, all_from);
        let settings = &self.cold.settings;
        self.cold.serializer = serializer(settings);
        self.cold.whole = whole.unwrap_or(0);
        let code = settings.telemetry.and_then(|rates| {
            let one_unit = if rates.multi() > 0 { telemetry::ONE_UNIT } else { 0 };
            Some(rates.code(settings.rate)? | one_unit)
        });
        self.scheduled.code = code.unwrap_or(NOTHING);
        self.derive_mode();
    }

    /// Chooses the mode from now on.
    fn derive_mode(&mut self) {
        self.leave_work_conserving();
        let ColdState { alive, old_until, pause, .. } = &*self.cold;
        let even = *alive && *old_until == Time::ZERO && !pause.concerns();
        let whole = u32::try_from(self.cold.whole).ok().filter(|_| even).unwrap_or(0);
        self.hot.overhead = whole * u32::from(self.scheduled.overhead);
        self.hot.pace = whole;
        let longest = self.hot.time_of(&Packet { size: u16::MAX, ..Packet::default() });
        let Bounds { limit, class_limit, mark_from, .. } = self.cold.bounds;
        let limit = limit.min(class_limit);
        self.hot.free_below = mark_from.min(limit.saturating_sub(longest));
        self.hot.mode = self.mode_at(whole);
        match self.hot.mode {
            PortMode::PerPacket => self.hot.pace = 0,
            PortMode::WorkConserving | PortMode::StrictPriority => {
                self.enter_work_conserving();
            }
            PortMode::StrictLimits => self.enter_strict_limits(),
            PortMode::Metered => self.enter_metered(),
            PortMode::Fifo | PortMode::FifoUnshared => {}
        }
    }

    /// Bytes that `span` of this port's time sends; rounds down.
    #[inline]
    fn bytes_in(&self, span: Span) -> u64 {
        match self.cold.whole {
            0 => self.cold.settings.rate.bytes_in(span).get(),
            whole => span.as_ps() / whole,
        }
    }

    /// Bytes that leave from `now` until `busy`.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        match u64::from(self.hot.pace) {
            0 if self.cold.old_until == Time::ZERO => self.bytes_in(self.hot.busy.since(now)),
            0 => self.backlog_of_two_rates(now),
            whole => self.hot.busy.since(now).as_ps() / whole,
        }
    }

    /// Bytes left of what is in transmission at a scheduled port that has been served up to `now`.
    fn in_transmission(&self, now: Time) -> u64 {
        match u64::from(self.hot.pace) {
            whole if self.is_work_conserving() => {
                (self.hot.busy - self.waiting_time()).since(now).as_ps() / whole
            }
            _ => self.backlog(now),
        }
    }

    fn backlog_of_two_rates(&self, now: Time) -> u64 {
        let turn = now.max(self.cold.old_until.min(self.hot.busy));
        let old = self.cold.old_rate.bytes_in(turn.since(now));
        (old + self.cold.settings.rate.bytes_in(self.hot.busy.since(turn))).get()
    }

    /// Wire bytes of a packet.
    #[inline]
    pub(crate) fn wire(&self, packet: &Packet) -> u64 {
        packet.on_wire(self.overhead())
    }

    /// Bytes that each packet adds on the wire.
    #[inline]
    pub fn overhead(&self) -> u64 {
        self.scheduled.overhead.into()
    }

    /// The queue at `now`: all that waits, and (unless released at start) what is left of the packet in transmission.
    /// A scheduled port in mode `PerPacket` must have been served up to `now`.
    #[inline]
    pub fn queue(&self, now: Time) -> u64 {
        if self.is_work_conserving() {
            self.backlog(now)
        } else if !self.is_scheduled() {
            self.backlog(now) + self.cold.held_bytes
        } else if self.cold.settings.releases_at_start() {
            self.scheduled.bytes
        } else {
            self.scheduled.bytes + self.backlog(now)
        }
    }

    /// Bytes that have gone onto the wire by `now`, overhead of packets included and pause frames not. Served as for [`Port::queue`].
    pub fn sent(&self, now: Time) -> u64 {
        let counted = self.hot.tx_bytes + self.hot.tx_packets * self.overhead();
        let waiting = if self.is_work_conserving() { self.scheduled.bytes } else { 0 };
        (counted + waiting).saturating_sub(self.backlog(now))
    }

    /// Number of its queues; 0 for a one-touch port.
    pub fn classes(&self) -> usize {
        if self.scheduled.exists() { usize::from(self.scheduled.top()) + 1 } else { 0 }
    }

    /// Queues of the classes at `now`, the lowest first, served as for [`Port::queue`], which is their sum. The packet in transmission, of
    /// whatever class, counts for the highest, whose packets may be on the link already.
    pub fn class_queues(&self, now: Time) -> impl Iterator<Item = u64> {
        let lower = self.classes().saturating_sub(1);
        let waits: u64 = (0..lower).map(|class| self.scheduled.bytes_of(class)).sum();
        let highest = self.queue(now) - waits;
        (0..lower).map(|class| self.scheduled.bytes_of(class)).chain([highest])
    }

    /// Largest queue so far, exact: it grows only when a packet is accepted.
    pub fn highest(&self) -> u64 {
        self.cold.highest.max(self.bytes_in(self.hot.highest))
    }

    /// Settings in force.
    pub fn settings(&self) -> &PortSettings {
        &self.cold.settings
    }

    /// Whether the link is up.
    #[inline]
    pub fn alive(&self) -> bool {
        self.is_fifo() || self.is_work_conserving() || self.cold.alive
    }

    /// Packets in explicit queues.
    #[inline]
    pub(crate) fn enqueued(&self) -> u32 {
        self.scheduled.packets
    }

    /// Packets waiting, there or for a cable that is dead: they are not counted as sent.
    pub fn waiting(&self) -> u64 {
        u64::from(self.scheduled.packets) + self.cold.held.len() as u64
    }

    /// Bytes of the waiting packets, without wire overhead.
    pub fn waiting_bytes(&self) -> u64 {
        let wire = self.scheduled.bytes + self.cold.held_bytes;
        wire - self.waiting() * self.overhead()
    }

    /// Whether the port's own limit, which is not about credits, lets a packet in. `queue` is [`Port::queue`].
    #[inline]
    fn has_room(&self, queue: u64, size: u64) -> bool {
        let Some(limit) = self.cold.settings.limit else { return true };
        let (bytes, packets) = self.credits_waiting();
        match limit {
            QueueLength::Bytes(limit) => queue - bytes + size <= limit.get(),
            QueueLength::Packets(limit) => {
                let sending =
                    !self.cold.settings.releases_at_start() && queue > self.scheduled.bytes;
                self.waiting() - packets + u64::from(sending) < u64::from(limit)
            }
        }
    }

    /// How it handles the next packet.
    #[inline(always)]
    pub(crate) fn mode(&self) -> PortMode {
        self.hot.mode
    }

    /// One touch, nothing special: what it takes goes to its link at once. So it stays unless a pause or a fault comes.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        self.hot.mode.is_fifo()
    }

    /// From now on a shared buffer decides on arrivals too.
    pub(crate) fn share_buffer(&mut self) {
        self.cold.shares = true;
        self.derive_mode();
    }

    /// Offers a packet that came in by `ingress_port` to any port. A scheduled port has been served up to `now`. Limits and marks of a port in mode
    /// `PerPacket` are looked up here, since they may be in packets, and it may be paused or down.
    #[inline(never)]
    pub(crate) fn offer_any(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        if self.cold.old_until != Time::ZERO && self.cold.old_until <= now {
            self.cold.old_until = Time::ZERO;
            self.derive_mode();
        }
        match self.hot.mode {
            PortMode::Metered => return self.offer_metered(now, ingress_port, packet, out),
            PortMode::StrictLimits => {
                return self.offer::<{ QUEUES | LIMITS }>(now, ingress_port, packet, out).0;
            }
            _ if !self.is_work_conserving() => {}
            _ if self.cold.observed => {
                return self
                    .offer::<{ QUEUES | EXTRAS | OBSERVER }>(now, ingress_port, packet, out)
                    .0;
            }
            _ => return self.offer::<{ QUEUES | EXTRAS }>(now, ingress_port, packet, out).0,
        }
        if !self.cold.alive && !self.cold.settings.holds() {
            self.cold.counters.lost_packets += 1;
            return Verdict::Lost;
        }
        if self.cold.classes.is_some() && self.discard(packet) {
            return Verdict::Dropped;
        }
        let queue = self.queue(now);
        let size = self.wire(packet);
        let verdict = match () {
            () if self.is_credit(packet) => self.admit_credit(packet),
            () if !self.has_room(queue, size) => Verdict::Dropped,
            () => self.admit_to_class(now, self.scheduled.marks, ingress_port, packet, out),
        };
        if verdict != Verdict::Accepted {
            return verdict;
        }
        let queue = if packet.kind == Kind::Trimmed { self.queue(now) } else { queue };
        let size = self.wire(packet);
        self.cold.highest = self.cold.highest.max(queue + size);
        if self.departs_at_once(now, packet) {
            self.depart(now, packet, out)
        } else if self.is_scheduled() {
            let anew = self.cold.pause.concerns() || self.cold.meter.is_some();
            self.enqueue(now, ingress_port, packet, anew);
            Verdict::Accepted
        } else if !self.cold.alive {
            self.cold.held.push_back(*packet);
            self.cold.held_bytes += size;
            Verdict::Accepted
        } else {
            self.transmit(self.hot.busy.max(now), packet, out)
        }
    }

    /// Sends a packet at `start`: it occupies the wire, then arrives, or is lost on the way. A shaper without tokens holds it back, though not
    /// at a port with queues, whose departures wait for tokens.
    #[inline]
    fn transmit(
        &mut self,
        start: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        let wire = self.wire(packet);
        let start = self.cold.meter.as_mut().map_or(start, |meter| meter.take(start, packet, wire));
        self.hot.busy = start + self.cold.serializer.take(wire);
        let nth = self.hot.tx_packets;
        self.hot.tx_packets += 1;
        self.hot.tx_bytes += u64::from(packet.size);
        if self.cold.may_lose() && self.loses(nth, packet) {
            self.cold.counters.lost_packets += 1;
            out.vanish(self.hot.link, self.hot.busy, packet);
            return Verdict::Lost;
        }
        out.push(self.hot.link, self.hot.busy, packet);
        Verdict::Accepted
    }

    /// Prefetches what few packets need, but each packet of a NIC.
    pub fn prefetch(&self) {
        prefetch_all(&*self.cold);
    }

    /// The engine's name of the cable.
    #[inline]
    pub fn link(&self) -> LinkId {
        self.hot.link
    }

    /// When the wire is free.
    #[inline]
    pub fn busy(&self) -> Time {
        self.hot.busy
    }

    /// Counters so far.
    pub fn counters(&self) -> PortCounters {
        PortCounters {
            tx_packets: self.hot.tx_packets,
            tx_bytes: self.hot.tx_bytes,
            marked_packets: self.cold.bounds.marked,
            ..self.cold.counters
        }
    }

    /// Counts a packet that was refused: by this port, or by the queue of a NIC that this is the port of.
    pub fn count_drop(&mut self, packet: &Packet) {
        if self.is_credit(packet) {
            self.cold.counters.dropped_credits += 1;
        } else {
            self.cold.counters.drop(packet);
        }
    }

    /// Counts a trimmed packet that goes back to its source.
    pub(crate) fn count_return(&mut self) {
        self.cold.counters.returned_packets += 1;
    }

    /// Sends a packet of a NIC that pulls only when the wire is free: no queue, so no admission. False: lost.
    ///
    /// # Panics
    /// If the wire is busy at `start` or dead.
    #[inline]
    pub fn send_pulled(
        &mut self,
        start: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) -> bool {
        debug_assert!(
            self.cold.alive && self.hot.busy <= start,
            "a NIC pulls only when the wire is free"
        );
        let hot = &mut self.hot;
        if hot.mode.is_fifo() {
            hot.busy = start + hot.time_of(packet);
            hot.tx_packets += 1;
            hot.tx_bytes += u64::from(packet.size);
            out.push(hot.link, hot.busy, packet);
            return true;
        }
        if hot.mode == PortMode::Metered {
            let class = self.scheduled.class_of(packet);
            self.begin(start, class, packet, out);
            return true;
        }
        self.transmit(start, packet, out) == Verdict::Accepted
    }
}

fn serializer(settings: &PortSettings) -> Serializer {
    match settings.truncates() {
        true => Serializer::truncating(settings.rate),
        false => Serializer::new(settings.rate),
    }
}
