//! Explicit queues, one for each class, served lazily: whenever the port is touched, and at the end of each window.
//!
//! A port is *work-conserving* ([`PortMode`]) while it has one rate of whole picoseconds per byte, is up, loses nothing at random, is not paused, and
//! everything about it is in bytes. Whatever the order in which its packets go, its wire then works without a gap until all that was
//! accepted has been sent. So limits and marks follow from that one time, as on a one-touch port, and what waits is served when
//! the result is needed: at the end of the window, or before a packet joins that could overtake what should have left before it.
//! A work-conserving port that marks at dequeue, appends INT records or weighs classes is served up to `now` before it is touched, since all three
//! depend on what waits as a packet leaves; and so is one of a switch with ingress accounting. A port in mode `PerPacket` is served so as well, one departure at a time.
//!
//! Nothing overtakes the highest class. So at a port that no pause can reach, a packet of that class goes to the link as it is accepted, behind
//! the packets on the wire and ahead of all that wait. A fault takes it back if its transmission has not begun (`fault.rs`).

use super::class::NOTHING;
use super::packet_queue::{ExtSlots, PacketQueue};
use super::{ColdState, Form, Port, PortMode, PortSettings, Verdict};
use forebay_engine::{Emitter, prefetch, prefetch_all};
use forebay_settings::{EcnMarking, QueueLength};
use forebay_units::{Span, Time};
use forebay_wire::{Ecn, Packet};

/// The explicit queues of a port; none for a one-touch port.
#[derive(Clone, Debug)]
pub(super) struct ScheduledQueues {
    queues: Box<[PacketQueue]>, // by class
    rests: ExtSlots,
    pub bytes: u64, // of the wire, waiting: without the packet in transmission
    pub packets: u32,
    pub overhead: u16,  // bytes that each packet adds on the wire
    pub filled: u8,     // bit per class: its queue is not empty
    top: u8,            // number of the last queue
    sent_early: u8, // number of the queue whose packets go to the link as they are accepted; `NOTHING` if there is none
    pub sending: u8, // class of what was transmitted last; `NOTHING` if that was a pause frame
    pub code: u8,   // of the rate in INT records; `NOTHING` if the port writes none
    pub picks: bool, // what it marks, as a packet's transmission begins
    pub marks: bool, // or as a packet joins
    pub apart: bool, // classes, from each other: each has a policy of its own
    pub by_class: bool, // a reader needs the queue of a class, with what is in transmission of it
    pub weighs: bool, // classes against each other, if some of those that are apart are not strict
}

impl ScheduledQueues {
    /// Queues for a port that needs them.
    pub fn new(settings: &PortSettings, needed: bool) -> Self {
        let classes = if needed { usize::from(settings.classes.clamp(1, 8)) } else { 0 };
        Self {
            queues: vec![PacketQueue::default(); classes].into(),
            rests: ExtSlots::default(),
            bytes: 0,
            packets: 0,
            overhead: settings.wire.overhead.get() as u16,
            filled: 0,
            top: classes.saturating_sub(1) as u8,
            sent_early: if settings.form == Form::Any && classes > 1 {
                classes as u8 - 1
            } else {
                NOTHING
            },
            sending: NOTHING,
            code: NOTHING,
            picks: false,
            marks: false,
            apart: false,
            by_class: false,
            weighs: false,
        }
    }

    /// Whether there are queues.
    #[inline]
    pub fn exists(&self) -> bool {
        !self.queues.is_empty()
    }

    #[inline]
    pub fn class_of(&self, packet: &Packet) -> usize {
        self.lane(packet.class)
    }

    /// Whether a packet of this queue goes to the link as it is accepted: nothing overtakes it, and none of its class waits.
    #[inline]
    pub fn sends_early(&self, lane: usize) -> bool {
        lane == usize::from(self.sent_early) && u32::from(self.filled) < 1 << lane
    }

    /// Whether packets of some queue go to the link as they are accepted.
    pub fn sends_some_early(&self) -> bool {
        self.sent_early != NOTHING
    }

    /// Number of the last queue.
    pub fn top(&self) -> u8 {
        self.top
    }

    /// Whether this is the last queue.
    pub fn is_top(&self, lane: u8) -> bool {
        lane == self.top
    }

    /// Whether there are several queues.
    pub fn has_classes(&self) -> bool {
        self.top > 0
    }

    /// Whether packets wait in another queue than the last.
    #[inline]
    pub fn lower_wait(&self) -> bool {
        u32::from(self.filled) & ((1 << self.top) - 1) != 0
    }

    /// The highest queue that has packets, the last only if it `may` go or no other has any.
    #[inline]
    pub fn first_class(&self, may: bool) -> usize {
        let lower = u32::from(self.filled) & ((1 << self.top) - 1);
        let all = if may || lower == 0 { self.filled.into() } else { lower };
        all.ilog2() as usize
    }

    /// The queue of a class.
    #[inline]
    pub fn lane(&self, class: u8) -> usize {
        class.min(self.top).into()
    }

    /// Packets that wait in one queue.
    pub fn packets_of(&self, lane: usize) -> u64 {
        self.queues[lane].len()
    }

    /// Bytes of the wire that wait in one queue.
    #[inline]
    pub fn bytes_of(&self, lane: usize) -> u64 {
        self.queues[lane].bytes
    }

    /// Queues a packet in a queue.
    #[inline(always)]
    pub fn add(&mut self, lane: usize, ingress_port: u16, packet: &Packet) {
        let wire = packet.on_wire(self.overhead.into());
        let queue = &mut self.queues[lane];
        queue.push(packet, ingress_port, &mut self.rests, lane);
        queue.bytes += wire;
        self.filled |= 1 << lane;
        self.packets += 1;
        self.bytes += wire;
    }

    /// Takes the first packet of a class that has one.
    #[inline(always)]
    pub fn take_into(&mut self, class: usize, packet: &mut Packet) {
        let queue = &mut self.queues[class];
        queue.pop(packet, &mut self.rests, class);
        let wire = packet.on_wire(self.overhead.into());
        queue.bytes -= wire;
        self.filled &= !(u8::from(queue.is_empty()) << class);
        self.packets -= 1;
        self.bytes -= wire;
    }

    /// Takes and returns the first packet of a class that has one.
    fn take(&mut self, class: usize) -> Packet {
        let mut packet = Packet::default();
        self.take_into(class, &mut packet);
        packet
    }

    /// Classes that have packets, but for some.
    #[inline]
    pub fn waiting_but(&self, paused: u8) -> u8 {
        self.filled & !paused
    }

    /// Puts packets back into the highest queue, which is empty: they were sent early, and a fault takes them back.
    pub fn put_back(&mut self, packets: impl IntoIterator<Item = Packet>) {
        let top = usize::from(self.top);
        debug_assert!(self.queues[top].is_empty(), "nobody is sent early while others wait");
        packets.into_iter().for_each(|packet| self.add(top, packet.ingress, &packet));
    }

    /// Takes everything, the highest class first.
    pub fn drain(&mut self) -> Vec<Packet> {
        (0..self.packets).map(|_| self.take(self.filled.ilog2() as usize)).collect()
    }

    /// All packets, in the order of classes and then of arrival, without their SACK blocks.
    pub fn iter(&self) -> impl Iterator<Item = Packet> {
        self.queues.iter().flat_map(PacketQueue::iter)
    }

    /// Bytes on the wire of the first packet of a queue; `None` if none waits.
    pub fn first_wire_of(&self, lane: usize) -> Option<u64> {
        self.queues[lane].first_size().map(|size| u64::from(size) + u64::from(self.overhead))
    }

    /// The newest packet of a queue, without its `ext`.
    pub fn last_of(&self, lane: usize) -> Option<Packet> {
        self.queues[lane].back()
    }

    /// Takes the newest packet of a queue that has one.
    pub fn take_last(&mut self, lane: usize) -> Packet {
        let queue = &mut self.queues[lane];
        let packet = queue.pop_back(&self.rests, lane);
        let wire = packet.on_wire(self.overhead.into());
        queue.bytes -= wire;
        self.filled &= !(u8::from(queue.is_empty()) << lane);
        self.packets -= 1;
        self.bytes -= wire;
        packet
    }

    /// Takes the first packet of a class.
    pub fn take_of(&mut self, class: usize) -> Option<Packet> {
        if self.filled & 1 << class == 0 {
            return None;
        }
        Some(self.take(class))
    }

    /// Whether more happens as a transmission begins than that.
    #[inline]
    pub fn is_special(&self) -> bool {
        self.has_int() || self.picks || self.by_class
    }

    /// Whether INT, marks at dequeue or the turns of weighted classes follow from what waits as a transmission begins.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.has_int() || self.picks || self.weighs
    }

    /// Whether the port appends INT records.
    #[inline]
    pub fn has_int(&self) -> bool {
        self.code != NOTHING
    }
}

impl Port {
    /// Whether departures have to be served.
    #[inline]
    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled.exists()
    }

    /// Whether limits and marks follow from the time at which all will have been sent.
    #[inline]
    pub(crate) fn is_work_conserving(&self) -> bool {
        self.hot.mode.is_work_conserving()
    }

    /// Whether it need not be served before it is touched.
    #[inline]
    pub(crate) fn is_lazy(&self) -> bool {
        self.is_work_conserving() && !self.scheduled.is_watched()
    }

    /// The mode at so many picoseconds per byte, of which there are none while the link is not one of one whole rate.
    pub(super) fn mode_at(&self, whole: u32) -> PortMode {
        let ColdState { settings, classes, observed, shares, .. } = &*self.cold;
        if whole == 0 {
            return PortMode::PerPacket;
        }
        if !self.is_scheduled() {
            return if *shares { PortMode::Fifo } else { PortMode::FifoUnshared };
        }
        let is_bytes = |length| matches!(length, QueueLength::Bytes(_));
        let in_bytes = |marking: &EcnMarking| is_bytes(marking.kmin);
        let plain = settings.form != Form::Naive
            && !self.cold.may_lose()
            && !settings.releases_at_start()
            && settings.limit.is_none_or(is_bytes)
            && settings.marking.iter().all(in_bytes)
            && classes.as_ref().is_none_or(|c| c.rules().all(in_bytes));
        match plain && self.cold.meter.is_none() {
            false if plain && !*observed && !*shares && self.meters_credits_alone() => {
                PortMode::Metered
            }
            false => PortMode::PerPacket,
            true if !*observed && !*shares && self.has_strict_limits() => PortMode::StrictLimits,
            true if self.scheduled.is_special() || *observed || *shares => PortMode::WorkConserving,
            true => PortMode::StrictPriority,
        }
    }

    /// The wire begins to be described by the time at which all will have been sent.
    pub(super) fn enter_work_conserving(&mut self) {
        if self.scheduled.packets > 0 {
            self.hot.busy = self.hot.busy.max(self.cold.since) + self.waiting_time();
        }
    }

    /// The wire begins to be described by the packet in transmission.
    pub(super) fn leave_work_conserving(&mut self) {
        if self.is_work_conserving() {
            self.hot.busy = self.hot.busy - self.waiting_time();
            self.leave_strict_limits();
            self.cold.since = self.hot.busy;
            (self.hot.mode, self.hot.pace) = (PortMode::PerPacket, 0);
        }
    }

    /// Time for which what waits will be on the wire; zero in mode `PerPacket`.
    #[inline]
    pub(super) fn waiting_time(&self) -> Span {
        Span::from_ps(self.scheduled.bytes * u64::from(self.hot.pace))
    }

    /// Serves every departure of a work-conserving port that starts at or before `now`, without an observer.
    #[inline(never)]
    pub(super) fn serve_unobserved(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        self.serve_work_conserving(now, out, &mut |_, _, _| {});
    }

    /// Serves every departure of a work-conserving port that starts at or before `now`.
    #[inline(always)]
    fn serve_work_conserving(
        &mut self,
        now: Time,
        out: &mut impl Emitter<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) {
        let mut start = self.hot.busy - self.waiting_time();
        let mut packet = Packet::default();
        if self.hot.mode == PortMode::WorkConserving && self.scheduled.is_special() {
            while self.scheduled.packets > 0 && start <= now {
                let class = self.next_class(0);
                self.scheduled.take_into(class, &mut packet);
                let end = self.send_special(start, &mut packet, out);
                departed(start, &packet, Verdict::Accepted);
                start = end;
            }
            return;
        }
        let Self { hot, scheduled, .. } = self;
        while scheduled.packets > 0 && start <= now {
            scheduled.take_into(scheduled.filled.ilog2() as usize, &mut packet);
            let end = start + hot.time_of(&packet);
            hot.tx_packets += 1;
            hot.tx_bytes += u64::from(packet.size);
            out.push(hot.link, end, &packet);
            departed(start, &packet, Verdict::Accepted);
            start = end;
        }
        if self.hot.mode == PortMode::StrictLimits {
            self.sent_in_order(start, &packet);
        }
    }

    /// Sends a packet of a work-conserving port where more happens than that; the answer is when its transmission ends.
    #[inline(always)]
    pub(super) fn send_special(
        &mut self,
        start: Time,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Time {
        self.leave(start, packet, out);
        let end = start + self.hot.time_of(packet);
        self.hot.tx_packets += 1;
        self.hot.tx_bytes += u64::from(packet.size);
        out.push(self.hot.link, end, packet);
        end
    }

    /// Queues a packet at a port in mode `PerPacket`. `anew`: a departure may have been possible all along, but not of this packet.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Time, ingress_port: u16, packet: &Packet, anew: bool) {
        if self.scheduled.packets == 0 || anew {
            self.cold.since = now;
        }
        let lane = self.scheduled.class_of(packet);
        self.scheduled.add(lane, ingress_port, packet);
    }

    /// When the next deferred departure starts; `Time::MAX` if none.
    #[inline]
    pub fn next_departure(&self) -> Time {
        let s = &self.scheduled;
        if self.is_work_conserving() {
            return self.next_in_order();
        }
        if s.exists() && self.cold.pause.concerns() {
            self.next_departure_in_pause()
        } else if s.packets > 0 && self.cold.alive {
            self.next_start(0)
        } else {
            Time::MAX
        }
    }

    /// Next departure of a work-conserving port.
    #[inline(always)]
    pub(crate) fn next_in_order(&self) -> Time {
        let start = || self.hot.busy - self.waiting_time();
        if self.scheduled.packets > 0 { start() } else { Time::MAX }
    }

    /// When the packet that goes next may start, if some wait that are not of `paused` classes: the wire is free, and there are tokens.
    #[inline]
    pub(super) fn next_start(&self, paused: u8) -> Time {
        let wire = self.hot.busy.max(self.cold.since);
        if self.cold.meter.is_some() { self.start_of_metered(wire, paused) } else { wire }
    }

    /// From now on an observer sees each departure as it is served.
    pub(crate) fn observe_departures(&mut self) {
        self.cold.observed = true;
        self.derive_mode();
    }

    /// Whether a packet that joins now would be the next event of a scheduled port: nothing comes between. Not where an observer
    /// has to see departures as they are served: of losses, or for an account. Nor where it waits for tokens.
    #[inline]
    pub(super) fn departs_at_once(&self, now: Time, packet: &Packet) -> bool {
        self.is_scheduled()
            && self.scheduled.packets == 0
            && self.hot.busy <= now
            && self.cold.alive
            && !self.cold.observed
            && !self.cold.pause.concerns()
            && !self.cold.may_lose()
            && self
                .cold
                .meter
                .as_ref()
                .is_none_or(|meter| meter.lets(now, packet, self.wire(packet)))
    }

    /// A packet has left the queue of a scheduled port, which holds what is left behind, and its transmission begins: the marking rule
    /// at dequeue, and its INT record, if the port appends them.
    #[inline(always)]
    fn leave(&mut self, start: Time, packet: &mut Packet, out: &mut impl Emitter<Packet>) {
        if self.scheduled.picks && packet.ecn == Ecn::Ect {
            self.mark_leaving(packet);
        }
        let class = self.scheduled.class_of(packet);
        self.scheduled.sending = class as u8;
        if self.scheduled.weighs {
            self.weigh(class, self.wire(packet));
        }
        self.stamp_int(start, packet, out);
    }

    /// A packet leaves the queue and goes onto the wire.
    #[inline]
    pub(super) fn depart(
        &mut self,
        start: Time,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        self.leave(start, packet, out);
        self.transmit(start, packet, out)
    }

    /// Serves every departure that starts at or before `now`; `departed` hears of each packet.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        now: Time,
        out: &mut impl Emitter<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) {
        if self.is_work_conserving() {
            return self.serve_work_conserving(now, out, departed);
        }
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
        out: &mut impl Emitter<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) {
        if self.is_work_conserving() {
            return self.serve_work_conserving(start, out, departed); // any other starts later
        }
        if self.hot.mode == PortMode::Metered {
            return self.serve_metered(start, out); // no observer has to see departures
        }
        if self.cold.pause.concerns()
            && (self.fire_watchdog(start, out, departed) || self.send_pause_frame(start, out))
        {
            return;
        }
        let class = self.next_class(self.held_back() | self.lacks_tokens(start));
        let mut packet = self.scheduled.take(class);
        let verdict = self.depart(start, &mut packet, out);
        departed(start, &packet, verdict);
        if verdict == Verdict::Lost {
            out.slab().release(packet.int_slot());
        }
    }

    /// Prefetches the cache lines of its explicit queues.
    #[inline]
    pub(crate) fn prefetch_queues(&self) {
        self.scheduled.queues.iter().for_each(prefetch);
        if self.hot.mode == PortMode::Metered {
            prefetch(&self.cold.meter);
        }
    }

    /// Prefetches the cache lines that packets will be queued in and taken from.
    #[inline]
    pub(crate) fn prefetch_heads(&self) {
        self.scheduled.queues.iter().for_each(PacketQueue::prefetch);
        if self.hot.mode == PortMode::Metered {
            self.cold.meter.as_deref().iter().for_each(prefetch_all);
        }
    }
}
