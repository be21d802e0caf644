//! NIC buffer, PCIe link and IIO slots: packets from their arrival to their admission to memory.
//!
//! Models: a byte-limited buffer that drops what does not fit and is freed line by line; a serial link of constant payload rate; a limited number of
//! slots, each held by one line until the cache has taken it, or, for those that go to memory, until it has come to the memory
//! controller and the line of writes before it there has been served; delivery in order. A packet takes its lines, and two more for its completion entry and its
//! descriptor.
//! Leaves out: separate posted-header credits, transaction-packet granularity of credits (paper, footnote 1), the flight time
//! of the link (part of the cable's delay).

use super::chance::{self, Chance};
use super::curve::Curve;
use super::settings::{IioSettings, LINE, NicSettings, PcieSettings};
use super::{STEP, UNIT, float, lines, smaller, whole};
use forebay_units::{Span, Time};
use forebay_wire::Packet;
use std::collections::VecDeque;

/// Lines for completion and descriptor of a packet (note, section 2).
const EXTRA_LINES: u64 = 2;

/// A line of which less than this is ahead is as good as served, in lines.
const SERVED: f64 = 0.5;

/// What is in memory later than this, in ps, is not foreseen: the model looks again before.
const FORESEEN: f64 = STEP.as_ps() as f64;

/// Header of an Ethernet frame, which the packet's size leaves out.
const ETHERNET: u64 = 14;

/// A packet in memory.
#[derive(Clone, Copy, Debug)]
pub struct PacketInMemory {
    /// When it came over the cable.
    pub arrived: Time,
    /// When its last line had entered the slots.
    pub entered: Time,
    /// The packet.
    pub packet: Packet,
}

#[derive(Clone, Copy, Debug)]
struct SlotHolder {
    mark: u64, // units that have entered when it has
    frame: u32,
    landed: PacketInMemory,
}

/// A packet of which all lines have entered.
#[derive(Clone, Copy, Debug)]
struct EnteredPacket {
    reaches: u64, // when the last is at the line of writes, in ps
    place: f64,   // which it has there, if it is there
    landed: PacketInMemory,
}

/// What waits before the slots, what is in them, and what left.
#[derive(Clone, Debug)]
pub(super) struct Iio {
    buffer: u64,
    refuse_below: u64,
    descriptors: u32,
    slots: u64,     // units
    link_rate: u64, // 2^-32 units per ps
    on_link: f64,   // ps for a unit
    link_rest: u64, // of the last multiplication by it
    held: VecDeque<SlotHolder>,
    leaving: VecDeque<EnteredPacket>,
    in_place: usize,    // of those, whose last line has come to the line of writes
    reaching_next: u64, // when that of the next does, in ps
    served: f64,        // lines of that line
    serving: f64,       // of it, per ps
    waits: f64,         // how long the next will stand there, as things are, in ps
    next: Time,         // when the first of those that leave is in memory, as things are
    used: u64,          // bytes in the NIC buffer
    most_used: u64,
    offered: u64, // units that came, less what was dropped
    entered: u64,
    left: u64,
    to_cache: Curve,  // units that entered and hit the cache, by time in ps
    to_memory: Curve, // those that have to be admitted
    reached: u64,     // of those, at the memory controller
    reaching: f64,    // units x ps for which lines of a step are there in it
    waited: u64,      // units that stood in line before a step
    in_line: Curve,   // the same, by places in the line of writes
    admitted: u64,
    taken: u32,     // descriptors that the stack has not given back
    occupancy: f64, // lines x ns
    /// Frames, the last that wait, that have no receive buffer yet.
    pub without_buffers: usize,
    /// Frames that did not fit.
    pub dropped: u64,
    /// Frames that came.
    pub arrived: u64,
}

/// How long lines take, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldTimes {
    /// Lines that the cache takes: time to the cache.
    pub hit: f64,
    /// Lines that memory has to admit: time to the queue of writes.
    pub evicting: f64,
    /// Share of the latter among those that enter.
    pub miss: f64,
}

/// How the last line of a packet, or the slowest of its last, goes to memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteTiming {
    /// To the line of writes, in ns.
    pub reach: f64,
    /// Share of what stands in that line that it waits for.
    pub share: f64,
    /// What all of it takes, in ns.
    pub wait: f64,
}

/// The line of writes before memory, in lines since the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Had joined it when the step began.
    pub before: f64,
    /// Have joined it since, too.
    pub joined: f64,
    /// Of those, have been served.
    pub served: f64,
}

/// What a step moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepTotals {
    /// Lines that left the slots to memory.
    pub out: f64,
    /// Whether slots were what held the rest back.
    pub full: bool,
    /// Whether a frame stood behind another.
    pub queued: bool,
    /// Whether frames waited for descriptors.
    pub starved: bool,
}

impl Iio {
    pub(super) fn new(nic: &NicSettings, pcie: &PcieSettings, iio: &IioSettings) -> Self {
        let bits = u128::from(pcie.payload_rate().get());
        // Units of 2^-20 line in a picosecond, times 2^32.
        let link_rate = (bits << 52) / (u128::from(LINE * 8) * 1_000_000_000_000);
        Self {
            buffer: nic.buffer.get(),
            refuse_below: nic.refuse_below.get(),
            descriptors: nic.descriptors,
            slots: u64::from(iio.slots) * UNIT,
            link_rate: link_rate as u64,
            on_link: 4_294_967_296.0 / link_rate as f64,
            link_rest: 0,
            held: VecDeque::new(),
            leaving: VecDeque::new(),
            in_place: 0,
            reaching_next: u64::MAX,
            served: 0.0,
            serving: 0.0,
            waits: 0.0,
            next: Time::MAX,
            used: 0,
            most_used: 0,
            offered: 0,
            entered: 0,
            left: 0,
            to_cache: Curve::new(),
            to_memory: Curve::new(),
            reached: 0,
            reaching: 0.0,
            waited: 0,
            in_line: Curve::new(),
            admitted: 0,
            taken: 0,
            occupancy: 0.0,
            without_buffers: 0,
            dropped: 0,
            arrived: 0,
        }
    }

    /// A packet comes from the cable at `now`. False: it was dropped.
    pub(super) fn offer(&mut self, now: Time, packet: &Packet) -> bool {
        let frame = u64::from(packet.size) + ETHERNET;
        self.arrived += 1;
        if self.buffered() + frame.max(self.refuse_below) > self.buffer {
            self.dropped += 1;
            return false;
        }
        self.used += frame;
        self.most_used = self.most_used.max(self.buffered());
        self.offered += (frame.div_ceil(LINE) + EXTRA_LINES) * UNIT;
        let landed = PacketInMemory { arrived: now, entered: now, packet: *packet };
        self.held.push_back(SlotHolder { mark: self.offered, frame: frame as u32, landed });
        true
    }

    /// Brings lines that have entered to the line of writes before memory, by `now`. Returns how many more there are.
    #[inline]
    pub(super) fn reach(&mut self, now: Time, holds: HoldTimes) -> f64 {
        let before = self.reached;
        self.waited = before - self.admitted;
        (self.reached, self.reaching) =
            self.to_memory.sweep(float(now.as_ps()) - holds.evicting * 1e3);
        lines(self.reached - before)
    }

    /// Releases and admits lines for `dt` ps from `at`, after [`Iio::reach`]. Lines are of two kinds, as `holds` says; those of one
    /// leave as `line` is served. A packet is in memory as its last line is.
    #[inline]
    pub(super) fn step(
        &mut self,
        at: Time,
        dt: u64,
        holds: HoldTimes,
        landing: WriteTiming,
        line: Line,
        chance: Chance,
    ) -> StepTotals {
        let begin = float(at.as_ps());
        let end = begin + float(dt);
        let inside = self.entered - self.left;
        let on_the_way = inside - self.waited;
        self.in_line.rise(line.before, line.joined, self.reached);
        let admitted = self.in_line.at(line.served);
        let to_memory = admitted - self.admitted;
        self.admitted = admitted;
        let (cached, caching) = match self.to_cache.top() {
            0 => (0, 0.0),
            _ => self.to_cache.sweep(end - holds.hit * 1e3),
        };
        self.left = admitted + cached;
        // Units x ps in slots: on the way, and, evenly more or less in a step, in the line of writes.
        let in_line = float(self.waited + self.reached - admitted) * 0.5;
        let mut held = (float(on_the_way) + in_line) * float(dt) - self.reaching - caching;
        let free = self.slots - (self.entered - self.left);
        let backlog = self.may_enter() - self.entered;
        let starved = match backlog {
            0 => self.has_backlog(), // frames without buffers
            _ => self.taken >= self.descriptors,
        };
        let queued = self.held.len() > 1;
        let mut moved = StepTotals { out: lines(to_memory), full: false, queued, starved };
        if backlog > 0 && !starved {
            let product = dt * self.link_rate + self.link_rest;
            let link = product >> 32;
            self.link_rest = product & 0xffff_ffff;
            let empty = self.free_left(line, self.slots - inside, free, link, chance);
            let entering = link.min(backlog).min(free - empty);
            moved.full = free - empty < link.min(backlog);
            let evicting = whole(float(entering) * holds.miss);
            let last = if moved.full { end } else { begin + float(entering) * self.on_link };
            held = if moved.full {
                // The link fills what was empty while lines leave, and keeps it as full as chance lets it.
                let before = self.slots - inside;
                let over = float(before) - float(empty);
                let until = if over > 0.0 { over / float(link + before - free) } else { 1.0 };
                (float(self.slots - empty) - 0.5 * over * until) * float(dt)
            } else {
                held + float(entering) * (end - 0.5 * (begin + last))
            };
            self.to_memory.rise(begin, last, self.to_memory.top() + evicting);
            self.to_cache.rise(begin, last, self.to_cache.top() + (entering - evicting));
            self.enter(at, dt, entering, moved.full, landing.reach);
        } else {
            self.link_rest = 0;
        }
        self.occupancy += smaller(held, float(self.slots) * float(dt)) * (1e-3 / UNIT as f64);
        self.land(at, dt, line, landing);
        moved
    }

    /// Units that came and have receive buffers, where they need any.
    #[inline]
    fn may_enter(&self) -> u64 {
        if self.without_buffers == 0 {
            return self.offered;
        }
        let with_buffers = self.held.len() - self.without_buffers;
        with_buffers.checked_sub(1).map_or(self.entered, |last| self.held[last].mark)
    }

    /// How many of `free` slots are empty still when the link has filled what it could in a step, of `before` when it began: memory serves the
    /// NIC's share of the line of writes as that comes up, so slots come free by chance, and the link is idle now and then for want of one.
    /// Where it is idle half of the time, less than half a slot would be left: none is.
    #[inline]
    fn free_left(&self, line: Line, before: u64, free: u64, link: u64, chance: Chance) -> u64 {
        let standing = line.joined - line.served;
        if 2 * free < link || standing <= 0.0 {
            return free - link.min(free);
        }
        let share = smaller(self.waiting() / standing, 1.0);
        let of = chance.of_share(share);
        let alone = of.share(lines(before)) * of.beta(self.on_link * UNIT as f64 * 1e-3);
        whole(chance::left(lines(free), lines(link), alone) * UNIT as f64)
    }

    /// `units` enter in order, at the link's rate or, where slots hold them back, evenly.
    #[inline]
    fn enter(&mut self, at: Time, dt: u64, units: u64, evenly: bool, reach: f64) {
        let before = self.entered;
        self.entered += units;
        while let Some(first) = self.held.front().filter(|h| h.mark <= self.entered) {
            let ahead = (first.mark - before) as f64;
            let per_unit = if evenly { dt as f64 / units as f64 } else { self.on_link };
            let entered = Time::from_ps(at.as_ps() + (ahead * per_unit) as u64);
            let landed = PacketInMemory { entered, ..first.landed };
            let reaches = at.as_ps() + (ahead * per_unit + reach * 1e3) as u64;
            let reaches = self.leaving.back().map_or(reaches, |last| last.reaches.max(reaches));
            self.leaving.push_back(EnteredPacket { reaches, place: 0.0, landed });
            self.reaching_next = self.reaching_next.min(reaches);
            self.used -= u64::from(first.frame);
            self.taken += 1;
            self.held.pop_front();
        }
    }

    /// Follows packets to memory for `dt` ps from `at`.
    #[inline]
    fn land(&mut self, at: Time, dt: u64, line: Line, landing: WriteTiming) {
        let end = at.as_ps() + dt;
        let before = std::mem::replace(&mut self.served, line.served);
        self.waits = landing.share * landing.wait * 1e3;
        if self.reaching_next <= end {
            self.take_places(at.as_ps(), dt, line, landing.share);
        }
        if self.in_place > 0 {
            self.serving = (line.served - before) / float(dt);
        }
        self.expect(end);
    }

    /// Packets whose last line comes to the line of writes in a step have a place there.
    #[inline]
    fn take_places(&mut self, begin: u64, dt: u64, line: Line, share: f64) {
        let per = (line.joined - line.before) / float(dt);
        while let Some(packet) = self.leaving.get_mut(self.in_place) {
            if packet.reaches > begin + dt {
                self.reaching_next = packet.reaches;
                return;
            }
            let last = line.before + float(packet.reaches.max(begin) - begin) * per;
            packet.place = line.served + share * (last - line.served);
            self.in_place += 1;
        }
        self.reaching_next = u64::MAX;
    }

    /// Sets when the next packet is in memory, as things stand at `now`.
    #[inline]
    fn expect(&mut self, now: u64) {
        self.next = if self.in_place > 0 {
            let ahead = self.leaving[0].place - self.served;
            let takes = if ahead < SERVED { 0.0 } else { ahead / self.serving };
            let foreseen = (0.0..FORESEEN).contains(&takes);
            if foreseen { Time::from_ps(now + whole(takes)) } else { Time::MAX }
        } else if self.reaching_next < u64::MAX {
            Time::from_ps(self.reaching_next + whole(self.waits))
        } else {
            Time::MAX
        };
    }

    /// When the next packet is in memory, as far as is known.
    #[inline]
    pub(super) fn next_delivery(&self) -> Time {
        self.next
    }

    /// A packet that is in memory by `now`.
    pub(super) fn deliver(&mut self, now: Time) -> Option<PacketInMemory> {
        if self.next > now {
            return None;
        }
        let first = self.leaving.pop_front()?;
        match self.in_place {
            0 => self.reaching_next = self.leaving.front().map_or(u64::MAX, |next| next.reaches),
            _ => self.in_place -= 1,
        }
        self.expect(now.as_ps());
        Some(first.landed)
    }

    /// How long the lines of a packet take to cross the link.
    pub(super) fn crossing(&self, packet: &Packet) -> Span {
        let lines = (u64::from(packet.size) + ETHERNET).div_ceil(LINE) + EXTRA_LINES;
        Span::from_ps(whole(float(lines * UNIT) * self.on_link))
    }

    /// The stack took this many packets and gave their descriptors back.
    pub(super) fn replenish(&mut self, packets: u32) {
        self.taken = self.taken.saturating_sub(packets);
    }

    /// Whether lines wait or are on their way.
    pub(super) fn is_idle(&self) -> bool {
        self.offered == self.left && self.leaving.is_empty()
    }

    /// Whether slots that are held for `latency` ns take what the link brings.
    pub(super) fn keeps_up(&self, latency: f64) -> bool {
        float(self.slots) * self.on_link >= 1e3 * latency
    }

    /// Lines in slots that stand in the line of writes.
    pub(super) fn waiting(&self) -> f64 {
        lines(self.reached - self.admitted)
    }

    /// Lines in slots that go to memory.
    pub(super) fn to_memory(&self) -> f64 {
        lines(self.to_memory.top() - self.admitted)
    }

    /// Lines in slots.
    pub(super) fn inside(&self) -> f64 {
        lines(self.entered - self.left)
    }

    /// Bytes in the NIC buffer: of the first frame what has not entered yet.
    pub(super) fn buffered(&self) -> u64 {
        let Some(first) = self.held.front() else { return 0 };
        let frame = u64::from(first.frame);
        let ahead = (first.mark - self.entered).div_ceil(UNIT);
        let gone = (frame.div_ceil(LINE) + EXTRA_LINES - ahead) * LINE;
        self.used - gone.min(frame)
    }

    /// The most there ever were.
    pub(super) fn most_buffered(&self) -> u64 {
        self.most_used
    }

    /// Whether the NIC buffer holds anything.
    pub(super) fn has_backlog(&self) -> bool {
        self.offered > self.entered
    }

    /// Units that were offered, entered and left.
    pub(super) fn units(&self) -> [u64; 3] {
        [self.offered, self.entered, self.left]
    }

    /// Lines in slots, summed over nanoseconds.
    pub(super) fn occupancy(&self) -> f64 {
        self.occupancy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Bytes;

    #[test]
    fn room_comes_back_line_by_line() {
        let nic = NicSettings { buffer: Bytes::new(8_100), ..NicSettings::default() };
        let mut iio = Iio::new(&nic, &PcieSettings::default(), &IioSettings::default());
        let packet = |size| Packet { size, ..Packet::default() };
        assert!(iio.offer(Time::ZERO, &packet(4000)) && iio.offer(Time::ZERO, &packet(4000)));
        assert!(!iio.offer(Time::ZERO, &packet(100)), "72 of 8,100 bytes are left");
        // 110 Gb/s bring ten lines over in 46.5 ns.
        let holds = HoldTimes { hit: 323.0, evicting: 323.0, miss: 1.0 };
        let line = Line { before: 0.0, joined: 0.0, served: 0.0 };
        let chance = Chance { variance: 0.0, round: 0.0 };
        iio.step(Time::ZERO, 46_600, holds, WriteTiming::default(), line, chance);
        assert_eq!(iio.buffered(), 8028 - 10 * 64);
        assert!(iio.offer(Time::ZERO, &packet(600)), "712 are");
        assert!(!iio.offer(Time::ZERO, &packet(100)));
        assert_eq!((iio.arrived, iio.dropped), (5, 2));
    }

    #[test]
    fn below_its_threshold_a_nic_refuses_short_frames_too() {
        let nic = NicSettings {
            buffer: Bytes::new(8_100),
            refuse_below: Bytes::new(4_014),
            ..NicSettings::default()
        };
        let mut iio = Iio::new(&nic, &PcieSettings::default(), &IioSettings::default());
        let mut offer = |size| iio.offer(Time::ZERO, &Packet { size, ..Packet::default() });
        assert!(offer(4000), "8,100 bytes are free");
        assert!(offer(58), "4,086 are");
        assert!(offer(50), "4,014 are");
        assert!(!offer(50), "3,950 are");
    }
}
