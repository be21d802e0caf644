//! An egress port: a queue, a serializer and the cable behind it.
//!
//! Two forms, one behaviour:
//! - *one touch*: a FIFO whose queue is a number. When a packet is accepted its departure is known at once
//!   (`max(now, busy) + size / rate`), so it goes straight to the link, and the queue at any time is
//!   `(busy - now) * rate`. Drop, mark and forward are one visit.
//! - *scheduled*: an explicit queue per class, served lazily: whenever the port is touched it first serves every
//!   departure with start <= now. For what one touch cannot do: strict priorities, limits or thresholds in
//!   packets, marking at dequeue, release at the start of transmission, random loss, rates of no whole number of
//!   picoseconds per byte (a queue that is a span of time would be off by a byte now and then).
//!
//! Lengths are wire bytes: packet size plus the wire overhead of the scenario.

mod fault;
mod marking;
mod pause;
mod settings;

pub use fault::{PortFault, Recalled};
pub use pause::PauseCounters;
pub use settings::{Length, Marking, PortCounters, PortSettings};

use forebay_engine::{LinkId, Out, prefetch_all};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{Ecn, Packet};
use marking::draw;
use std::collections::VecDeque;

/// What became of a packet that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// In the queue, or on the wire.
    Accepted,
    /// No room, or not markable.
    Dropped,
    /// The link is dead, or lost it at random after it was sent.
    Lost,
}

/// An egress port.
#[derive(Clone, Debug)]
pub struct Port {
    hot: Hot,
    pub(crate) counted: u64, // what the shared buffer counts for this port
    scheduled: Option<Box<Scheduled>>,
    cold: Box<Cold>,
}

/// What is looked at now and then only. Kept apart so that the ports of a switch lie close together.
#[derive(Clone, Debug)]
struct Cold {
    highest: u64,           // largest queue at earlier rates and of explicit queues, bytes
    counters: PortCounters, // but for transmissions, which are in `Hot`
    serializer: Serializer,
    settings: PortSettings,
    alive: bool,
    old_rate: BitsPerSec,   // before the last change of rate
    old_until: Time, // what was in transmission then is sent by then, at that rate; zero: it has been
    held: VecDeque<Packet>, // one touch: the queue while the link is dead
    held_bytes: u64,
    pause: pause::Pause,
    heard: bool, // somebody has to hear of each departure as it is served
}

/// What one touch reads and writes: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Hot {
    busy: Time, // one touch: when all that was accepted has been sent; scheduled: the packet in transmission
    limit: Span, // queue limit as time
    mark_from: Span, // kmin as time
    highest: Span, // largest queue as time at the present rate
    tx_packets: u64,
    tx_bytes: u64,
    whole: u32,    // ps per byte; 0 for a port that is not plain
    overhead: u32, // ps that wire overhead adds to each packet
    link: LinkId,
}

const _: () = assert!(size_of::<Hot>() == 64);

impl Hot {
    /// Time that a packet takes on the wire of a plain port.
    #[inline(always)]
    fn time_of(&self, packet: &Packet) -> Span {
        Span::from_ps(u64::from(packet.size) * u64::from(self.whole) + u64::from(self.overhead))
    }
}

/// The explicit queue of a scheduled port.
#[derive(Clone, Debug)]
struct Scheduled {
    queues: Vec<VecDeque<Packet>>, // by class
    filled: u32,                   // bit per class: its queue is not empty
    packets: u32,
    bytes: u64,  // waiting, without the packet in transmission
    since: Time, // when the queue was last empty and got a packet, or the link came back
}

impl Scheduled {
    /// Queues a packet of `size` wire bytes in its class. `anew`: a departure may have been possible all along, but not of this packet.
    #[inline]
    fn add(&mut self, now: Time, packet: &Packet, size: u64, anew: bool) {
        if self.packets == 0 || anew {
            self.since = now;
        }
        let class = usize::from(packet.class).min(self.queues.len() - 1);
        self.queues[class].push_back(*packet);
        self.filled |= 1 << class;
        self.packets += 1;
        self.bytes += size;
    }

    /// Takes the first packet of the highest class that has one and is not stopped.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    fn take(&mut self, stopped: u8, overhead: u64) -> Packet {
        let highest = (self.filled & !u32::from(stopped)).ilog2();
        let queue = &mut self.queues[highest as usize];
        let packet = queue.pop_front().expect("the queue was not empty");
        if queue.is_empty() {
            queue.clear(); // it starts at its first place again, which is still in cache
            self.filled &= !(1 << highest);
        }
        self.packets -= 1;
        self.bytes -= u64::from(packet.size) + overhead;
        packet
    }
}

impl Port {
    /// An idle port.
    pub fn new(settings: PortSettings) -> Self {
        let in_bytes = |l: Length| matches!(l, Length::Bytes(_));
        let marking = settings.marking;
        let one_touch = settings.classes <= 1
            && !settings.explicit
            && settings.loss == 0.0
            && settings.rate.whole_ps_per_byte().is_some()
            && !settings.release_at_start
            && settings.limit.is_none_or(in_bytes)
            && marking.is_none_or(|m| !m.at_dequeue && in_bytes(m.kmin) && in_bytes(m.kmax));
        let scheduled = (!one_touch).then(|| {
            Box::new(Scheduled {
                queues: vec![VecDeque::new(); usize::from(settings.classes.max(1))],
                filled: 0,
                packets: 0,
                bytes: 0,
                since: Time::ZERO,
            })
        });
        let mut port = Self {
            hot: Hot {
                busy: Time::ZERO,
                limit: Span::MAX,
                mark_from: Span::MAX,
                highest: Span::ZERO,
                tx_packets: 0,
                tx_bytes: 0,
                whole: 0,
                overhead: 0,
                link: settings.link,
            },
            counted: 0,
            scheduled,
            cold: Box::new(Cold {
                highest: 0,
                counters: PortCounters::default(),
                serializer: Serializer::new(settings.rate),
                settings,
                alive: true,
                old_rate: settings.rate,
                old_until: Time::ZERO,
                held: VecDeque::new(),
                held_bytes: 0,
                pause: pause::Pause::default(),
                heard: false,
            }),
        };
        port.derive();
        port
    }

    /// Recomputes what follows from settings.
    fn derive(&mut self) {
        self.cold.serializer = Serializer::new(self.cold.settings.rate);
        self.derive_plain();
        let time = |bytes: u64| self.cold.settings.rate.time_for(Bytes::new(bytes));
        // A queue counts its whole bytes, so less than one more is within the limit.
        let part = self.cold.settings.rate.whole_ps_per_byte().map_or(0, |whole| whole - 1);
        self.hot.limit = match self.cold.settings.limit {
            Some(Length::Bytes(bytes)) => time(bytes) + Span::from_ps(part),
            _ => Span::MAX,
        };
        self.hot.mark_from = match self.cold.settings.marking {
            Some(Marking { kmin: Length::Bytes(bytes), .. }) => time(bytes),
            _ => Span::MAX,
        };
    }

    /// Whether one touch will do, from now on.
    fn derive_plain(&mut self) {
        let whole =
            self.cold.settings.rate.whole_ps_per_byte().and_then(|ps| u32::try_from(ps).ok());
        let one_rate = self.cold.old_until == Time::ZERO;
        let plain = self.scheduled.is_none()
            && self.cold.alive
            && one_rate
            && self.cold.pause.stopped() == 0;
        self.hot.whole = whole.filter(|_| plain).unwrap_or(0);
        self.hot.overhead = self.hot.whole * u32::from(self.cold.settings.overhead);
    }

    /// Bytes that `span` of this port's time sends; rounds down.
    #[inline]
    fn bytes_in(&self, span: Span) -> u64 {
        match self.hot.whole {
            0 => self.cold.settings.rate.bytes_in(span).get(),
            whole => span.as_ps() / u64::from(whole),
        }
    }

    /// Bytes that leave from `now` until the wire is free.
    #[inline]
    fn backlog(&self, now: Time) -> u64 {
        match self.hot.whole {
            0 => self.backlog_of_two_rates(now),
            whole => self.hot.busy.since(now).as_ps() / u64::from(whole),
        }
    }

    fn backlog_of_two_rates(&self, now: Time) -> u64 {
        let turn = now.max(self.cold.old_until.min(self.hot.busy));
        let old = self.cold.old_rate.bytes_in(turn.since(now));
        (old + self.cold.settings.rate.bytes_in(self.hot.busy.since(turn))).get()
    }

    /// Wire bytes of a packet.
    #[inline]
    fn wire(&self, packet: &Packet) -> u64 {
        u64::from(packet.size) + u64::from(self.cold.settings.overhead)
    }

    /// The queue at `now`: all that waits, and (unless released at start) what is left of the packet in transmission.
    /// A scheduled port must have been served up to `now`.
    #[inline]
    pub fn queue(&self, now: Time) -> u64 {
        match &self.scheduled {
            None => self.backlog(now) + self.cold.held_bytes,
            Some(s) if self.cold.settings.release_at_start => s.bytes,
            Some(s) => s.bytes + self.backlog(now),
        }
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
        self.is_plain() || self.cold.alive
    }

    /// When the next deferred departure starts; `Time::MAX` if none.
    #[inline]
    pub fn next_departure(&self) -> Time {
        match &self.scheduled {
            Some(_) if self.cold.pause.concerns() => self.next_departure_in_pause(),
            Some(s) if s.packets > 0 && self.cold.alive => self.hot.busy.max(s.since),
            _ => Time::MAX,
        }
    }

    /// From now on somebody has to hear of each departure as it is served.
    pub(crate) fn hear_departures(&mut self) {
        self.cold.heard = true;
    }

    /// Whether departures have to be served.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled.is_some()
    }

    /// Packets waiting, that are not counted as sent.
    pub fn waiting(&self) -> u64 {
        self.scheduled.as_ref().map_or(self.cold.held.len() as u64, |s| u64::from(s.packets))
    }

    /// Their sizes, without wire overhead.
    pub fn waiting_bytes(&self) -> u64 {
        let wire = self.scheduled.as_ref().map_or(self.cold.held_bytes, |s| s.bytes);
        wire - self.waiting() * u64::from(self.cold.settings.overhead)
    }

    /// Whether the port's own limit lets a packet in. `queue` is [`Port::queue`].
    #[inline]
    fn has_room(&self, queue: u64, size: u64) -> bool {
        match self.cold.settings.limit {
            None => true,
            Some(Length::Bytes(limit)) => queue + size <= limit,
            Some(Length::Packets(limit)) => {
                let sending = !self.cold.settings.release_at_start
                    && self.scheduled.as_ref().is_some_and(|s| queue > s.bytes);
                self.waiting() + u64::from(sending) < u64::from(limit)
            }
        }
    }

    /// One touch, nothing special: the common case in one visit.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.hot.whole != 0
    }

    /// Offers a packet to a plain port.
    #[inline(always)]
    pub(crate) fn offer_plain(
        &mut self,
        now: Time,
        packet: &mut Packet,
        out: &mut impl Out<Packet>,
    ) -> Verdict {
        let hot = &mut self.hot;
        let backlog = hot.busy.since(now);
        let after = backlog + hot.time_of(packet);
        if after > hot.limit {
            return Verdict::Dropped;
        }
        if backlog >= hot.mark_from {
            match self.mark_enqueued(backlog, packet) {
                Verdict::Accepted => {}
                refused => return refused,
            }
        }
        let hot = &mut self.hot;
        hot.busy = now + after;
        hot.highest = hot.highest.max(after);
        hot.tx_packets += 1;
        hot.tx_bytes += u64::from(packet.size);
        out.push(hot.link, hot.busy, packet);
        Verdict::Accepted
    }

    /// Offers a packet to any port. A scheduled port has been served up to `now`.
    #[inline(never)]
    pub(crate) fn offer(
        &mut self,
        now: Time,
        packet: &mut Packet,
        out: &mut impl Out<Packet>,
    ) -> Verdict {
        if self.cold.old_until != Time::ZERO && self.cold.old_until <= now {
            self.cold.old_until = Time::ZERO;
            self.derive_plain();
        }
        if !self.cold.alive && !self.cold.settings.hold {
            self.cold.counters.lost_packets += 1;
            return Verdict::Lost;
        }
        let queue = self.queue(now);
        let size = self.wire(packet);
        if !self.has_room(queue, size) {
            return Verdict::Dropped;
        }
        let sending = self.scheduled.as_ref().is_some_and(|s| queue > s.bytes);
        let packets = self.waiting() + u64::from(sending);
        // Draws are numbered by packets accepted: those sent, and those waiting.
        let nth = self.hot.tx_packets + self.waiting();
        match self.mark(queue, packets, nth, packet) {
            Verdict::Accepted => {}
            refused => return refused,
        }
        self.cold.highest = self.cold.highest.max(queue + size);
        if self.departs_at_once(now) {
            return self.depart(now, packet, out);
        }
        match &mut self.scheduled {
            Some(s) => {
                s.add(now, packet, size, self.cold.pause.concerns());
                Verdict::Accepted
            }
            None if !self.cold.alive => {
                self.cold.held.push_back(*packet);
                self.cold.held_bytes += size;
                Verdict::Accepted
            }
            None => self.transmit(self.hot.busy.max(now), packet, out),
        }
    }

    /// Whether a packet that joins now would be the next event of a scheduled port: nothing comes between. Not where somebody
    /// has to hear of departures as they are served: of random losses, or for an account.
    #[inline]
    fn departs_at_once(&self, now: Time) -> bool {
        self.scheduled.as_ref().is_some_and(|s| s.packets == 0)
            && self.hot.busy <= now
            && self.cold.alive
            && !self.cold.heard
            && !self.cold.pause.concerns()
            && self.cold.settings.loss == 0.0
    }

    /// A packet has left the queue of a scheduled port, which holds what is left behind: the marking rule at dequeue, then the wire.
    #[inline]
    fn depart(&mut self, start: Time, packet: &mut Packet, out: &mut impl Out<Packet>) -> Verdict {
        if let Some(marking) = self.cold.settings.marking
            && marking.at_dequeue
            && packet.ecn == Ecn::Ect
        {
            let (bytes, packets) =
                self.scheduled.as_ref().map_or((0, 0), |s| (s.bytes, u64::from(s.packets)));
            if self.picks(&marking, bytes, packets, self.hot.tx_packets) {
                packet.ecn = Ecn::Ce;
                self.cold.counters.marked_packets += 1;
            }
        }
        self.transmit(start, packet, out)
    }

    /// Sends a packet at `start`: it occupies the wire, then arrives, or is lost at random on the way.
    #[inline]
    fn transmit(&mut self, start: Time, packet: &Packet, out: &mut impl Out<Packet>) -> Verdict {
        self.hot.busy = start + self.cold.serializer.take(self.wire(packet));
        let nth = self.hot.tx_packets;
        self.hot.tx_packets += 1;
        self.hot.tx_bytes += u64::from(packet.size);
        if self.cold.settings.loss > 0.0
            && draw(!self.cold.settings.key, nth) < self.cold.settings.loss
        {
            self.cold.counters.lost_packets += 1;
            out.vanish(self.hot.link, self.hot.busy, packet);
            return Verdict::Lost;
        }
        out.push(self.hot.link, self.hot.busy, packet);
        Verdict::Accepted
    }

    /// Asks for what is looked at now and then only, but by a NIC always.
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
            ..self.cold.counters
        }
    }

    /// Counts a packet that was refused.
    pub(crate) fn count_drop(&mut self, packet: &Packet) {
        self.cold.counters.dropped_packets += 1;
        self.cold.counters.dropped_bytes += u64::from(packet.size);
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
        out: &mut impl Out<Packet>,
    ) -> bool {
        debug_assert!(
            self.cold.alive && self.hot.busy <= start,
            "a NIC pulls only when the wire is free"
        );
        let hot = &mut self.hot;
        if hot.whole != 0 {
            hot.busy = start + hot.time_of(packet);
            hot.tx_packets += 1;
            hot.tx_bytes += u64::from(packet.size);
            out.push(hot.link, hot.busy, packet);
            return true;
        }
        self.transmit(start, packet, out) == Verdict::Accepted
    }

    /// Serves every departure that starts at or before `now`; `departed` hears of each packet.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        now: Time,
        out: &mut impl Out<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) {
        loop {
            let start = self.next_departure();
            if start > now {
                return;
            }
            self.serve_one(start, out, departed);
        }
    }

    /// Serves the next departure, which starts at `start`.
    pub(crate) fn serve_one(
        &mut self,
        start: Time,
        out: &mut impl Out<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) {
        let stopped = self.cold.pause.stopped();
        if self.cold.pause.concerns() && self.tell(start, out) {
            return;
        }
        let s = self.scheduled.as_mut().expect("only scheduled ports defer departures");
        let mut packet = s.take(stopped, u64::from(self.cold.settings.overhead));
        let verdict = self.depart(start, &mut packet, out);
        departed(start, &packet, verdict);
    }
}
