//! NIC buffer, PCIe link and IIO slots: packets from their arrival to their admission to memory.
//!
//! Models: a byte-limited buffer that drops what does not fit and is freed line by line; a serial link of constant payload rate; a limited number of
//! slots, each held by one line for a latency that the stages behind it set, one for lines that the cache takes and one for
//! those that wait for memory; delivery in order. A packet takes its lines, and two more for its completion entry and its
//! descriptor.
//! Leaves out: separate posted-header credits, transaction-packet granularity of credits (paper, footnote 1), the flight time
//! of the link (part of the cable's delay), IOMMU.

use super::settings::{IioSettings, LINE, NicSettings, PcieSettings};
use super::{UNIT, lines};
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// Lines for completion and descriptor of a packet (note, section 2).
const EXTRA_LINES: u64 = 2;

/// Header of an Ethernet frame, which the packet's size leaves out.
const ETHERNET: u64 = 14;

/// A packet in memory.
#[derive(Clone, Copy, Debug)]
pub struct Landed {
    /// When it came over the cable.
    pub arrived: Time,
    /// The packet.
    pub packet: Packet,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    mark: u64, // units that have entered when it has
    frame: u32,
    landed: Landed,
}

/// What waits before the slots, what is in them, and what left.
#[derive(Clone, Debug)]
pub(super) struct Iio {
    buffer: u64,
    descriptors: u32,
    slots: u64,     // units
    link_rate: u64, // 2^-32 units per ps
    link_rest: u64, // of the last multiplication by it
    held: VecDeque<Held>,
    leaving: VecDeque<(Time, Landed)>,
    used: u64, // bytes in the NIC buffer
    most_used: u64,
    offered: u64, // units that came, less what was dropped
    entered: u64,
    left: u64,
    evicting: u64,  // of those inside, what has to wait for memory
    taken: u32,     // descriptors that the stack has not given back
    occupancy: f64, // lines x ns
    /// Frames that did not fit.
    pub dropped: u64,
    /// Frames that came.
    pub arrived: u64,
}

/// For how long lines hold their slots, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    /// Those that the cache takes.
    pub hit: f64,
    /// Those that have to be admitted to memory.
    pub evicting: f64,
    /// Share of the latter among those that enter.
    pub miss: f64,
}

/// What a step moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
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
            descriptors: nic.descriptors,
            slots: u64::from(iio.slots) * UNIT,
            link_rate: link_rate as u64,
            link_rest: 0,
            held: VecDeque::new(),
            leaving: VecDeque::new(),
            used: 0,
            most_used: 0,
            offered: 0,
            entered: 0,
            left: 0,
            evicting: 0,
            taken: 0,
            occupancy: 0.0,
            dropped: 0,
            arrived: 0,
        }
    }

    /// A packet comes from the cable at `now`. False: it was dropped.
    pub(super) fn offer(&mut self, now: Time, packet: &Packet) -> bool {
        let frame = u64::from(packet.size) + ETHERNET;
        self.arrived += 1;
        if self.buffered() + frame > self.buffer {
            self.dropped += 1;
            return false;
        }
        self.used += frame;
        self.most_used = self.most_used.max(self.buffered());
        self.offered += (frame.div_ceil(LINE) + EXTRA_LINES) * UNIT;
        let landed = Landed { arrived: now, packet: *packet };
        self.held.push_back(Held { mark: self.offered, frame: frame as u32, landed });
        true
    }

    /// Releases and admits lines for `dt` ps from `at`. Lines are of two kinds, as `holds` says, and a packet is in memory
    /// `landing` ns after its last line entered.
    #[inline]
    pub(super) fn step(&mut self, at: Time, dt: u64, holds: Holds, landing: f64) -> Moved {
        let inside = self.entered - self.left;
        let ns = dt as f64 * 1e-3;
        let leave = |inside: u64, latency: f64| {
            let share = (ns / latency).min(1.0);
            // The last crumbs would never leave.
            if inside < UNIT / 64 { inside } else { (inside as f64 * share) as u64 }
        };
        let to_memory = leave(self.evicting, holds.evicting);
        let out = to_memory + leave(inside - self.evicting, holds.hit);
        self.evicting -= to_memory;
        self.left += out;
        let free = self.slots - (inside - out);
        let backlog = self.offered - self.entered;
        let starved = backlog > 0 && self.taken >= self.descriptors;
        let queued = self.held.len() > 1;
        let mut moved = Moved { out: lines(to_memory), full: false, queued, starved };
        if backlog > 0 && !starved {
            let product = dt * self.link_rate + self.link_rest;
            let link = product >> 32;
            self.link_rest = product & 0xffff_ffff;
            let entering = link.min(backlog).min(free);
            moved.full = free < link.min(backlog);
            self.evicting += (entering as f64 * holds.miss) as u64;
            self.enter(at, dt, entering, moved.full, landing);
        } else {
            self.link_rest = 0;
        }
        // As much as `out` was reckoned from, so that Little's law holds in every step.
        self.occupancy += lines(inside) * dt as f64 * 1e-3;
        moved
    }

    /// `units` enter in order, at the link's rate or, where slots hold them back, evenly.
    #[inline]
    fn enter(&mut self, at: Time, dt: u64, units: u64, evenly: bool, landing: f64) {
        let before = self.entered;
        self.entered += units;
        while let Some(first) = self.held.front().filter(|h| h.mark <= self.entered) {
            let ahead = (first.mark - before) as f64;
            let per_unit = if evenly {
                dt as f64 / units as f64
            } else {
                4_294_967_296.0 / self.link_rate as f64
            };
            let leaves = at.as_ps() + (ahead * per_unit + landing * 1e3) as u64;
            let leaves = self.leaving.back().map_or(leaves, |last| last.0.as_ps().max(leaves));
            self.leaving.push_back((Time::from_ps(leaves), first.landed));
            self.used -= u64::from(first.frame);
            self.taken += 1;
            self.held.pop_front();
        }
    }

    /// When the next packet is in memory.
    pub(super) fn next_delivery(&self) -> Time {
        self.leaving.front().map_or(Time::MAX, |first| first.0)
    }

    /// A packet that is in memory by `now`.
    pub(super) fn deliver(&mut self, now: Time) -> Option<Landed> {
        let due = self.next_delivery() <= now;
        if due { self.leaving.pop_front().map(|first| first.1) } else { None }
    }

    /// The stack took this many packets and gave their descriptors back.
    pub(super) fn replenish(&mut self, packets: u32) {
        self.taken = self.taken.saturating_sub(packets);
    }

    /// Whether lines wait or are on their way.
    pub(super) fn is_idle(&self) -> bool {
        self.offered == self.left
    }

    /// Whether slots that are held for `latency` ns take what the link brings.
    pub(super) fn keeps_up(&self, latency: f64) -> bool {
        let link = self.link_rate as f64 / 4_294_967_296.0 * 1e3;
        self.slots as f64 / latency >= link
    }

    /// Lines in slots that wait for memory.
    pub(super) fn evicting(&self) -> f64 {
        lines(self.evicting)
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
        iio.step(Time::ZERO, 46_600, Holds { hit: 323.0, evicting: 323.0, miss: 1.0 }, 323.0);
        assert_eq!(iio.buffered(), 8028 - 10 * 64);
        assert!(iio.offer(Time::ZERO, &packet(600)), "712 are");
        assert!(!iio.offer(Time::ZERO, &packet(100)));
        assert_eq!((iio.arrived, iio.dropped), (5, 2));
    }
}
