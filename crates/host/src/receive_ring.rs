//! The receive ring: packets wait in it until an interrupt, and segments of one flow are merged while they wait.
//!
//! An interrupt comes after `rx_frames` packets or `rx_usecs` after the first one, whichever is earlier, and takes everything that
//! waits (one NAPI poll). Merging is what GRO and LRO do: consecutive segments of one flow become one, at most
//! [`MOST_MERGED`] bytes, so that the transport sees fewer and larger segments and sends fewer ACKs.
//!
//! Source: Linux `net/core/gro.c`; `net/ipv4/tcp_offload.c` for what is never merged.
//! Deviation: time stamps do not keep segments apart (the kernel's tick is a millisecond, ours a nanosecond); a unit
//! echoes that of its first segment. Units are handed up in the order in which they began; the kernel hands up those
//! that it could not extend first. What brings telemetry is never merged.

use forebay_settings::HostSettings;
use forebay_units::random::Stream;
use forebay_units::{Span, Time};
use forebay_wire::{Flags, FlowId, Kind, Packet};

/// Most bytes of a merged segment, one header included: what a 16-bit length can say.
pub const MOST_MERGED: u64 = u16::MAX as u64;

/// What the transport gets in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The packet; of merged segments the first, with the size and the flags of all.
    pub packet: Packet,
    /// How many packets of the wire it stands for.
    pub segments: u32,
    /// When the last of them arrived over the cable.
    pub arrived: Time,
    /// The sender's clock when the last packet left.
    pub stamp: u32,
    end: u64,     // sequence number after its last byte
    full: u16,    // payload of its first segment; a longer one does not join
    closed: bool, // nothing joins any more
}

/// Packets that arrived and were not taken yet.
#[derive(Clone, Debug)]
pub struct ReceiveRing {
    settings: HostSettings,
    units: Vec<Unit>, // in the order in which they began
    frames: u32,
    due: Time,
    chance: Stream,
}

impl ReceiveRing {
    /// An empty ring that draws its jitter from `chance`.
    pub fn new(settings: HostSettings, chance: Stream) -> Self {
        Self { settings, units: Vec::new(), frames: 0, due: Time::MAX, chance }
    }

    /// When the interrupt comes at the latest; [`Time::MAX`] while nothing waits.
    pub fn due(&self) -> Time {
        self.due
    }

    /// A packet arrives, with a header of `header` bytes. True: the interrupt comes at once.
    pub fn arrive(&mut self, now: Time, packet: &Packet, header: u16) -> bool {
        self.join(now, now, packet, header)
    }

    /// A packet joins that had `arrived` over the cable before it got here.
    pub fn join(&mut self, now: Time, arrived: Time, packet: &Packet, header: u16) -> bool {
        let payload = packet.size.saturating_sub(header);
        if !(self.settings.gro
            && packet.kind == Kind::Data
            && !packet.flags.has(Flags::TELEMETRY)
            && self.merge(arrived, packet, payload))
        {
            let closed = packet.kind != Kind::Data || ends(packet);
            let end = packet.seq + u64::from(payload);
            self.units.push(Unit {
                packet: *packet,
                segments: 1,
                arrived,
                stamp: packet.stamp,
                end,
                full: payload,
                closed,
            });
        }
        if self.frames == 0 {
            self.due = now.saturating_add(self.settings.rx_usecs + self.jitter());
        }
        self.frames += 1;
        self.settings.rx_frames.is_some_and(|most| self.frames >= most) || self.due <= now
    }

    fn jitter(&mut self) -> Span {
        let most = self.settings.rx_jitter;
        if most == Span::ZERO {
            return most;
        }
        Span::from_ps((most.as_ps() as f64 * self.chance.unit()) as u64)
    }

    /// Whether the newest unit of the packet's flow took it in.
    fn merge(&mut self, arrived: Time, packet: &Packet, payload: u16) -> bool {
        let Some(unit) = self.newest_of(packet.flow) else { return false };
        let held = &mut unit.packet;
        let fits = u64::from(held.size) + u64::from(payload) <= MOST_MERGED;
        let alike = held.ecn == packet.ecn && held.class == packet.class;
        // The end of a reduction begins a unit; the end of the flow, or of a super-packet that says so, ends one.
        let first = packet.flags.has(Flags::CWR);
        if unit.closed || packet.seq != unit.end || !fits || !alike || first || payload > unit.full
        {
            unit.closed = true;
            return false;
        }
        held.size += payload;
        held.flags = held.flags.with(packet.flags.of(Flags::LAST));
        unit.segments += 1;
        (unit.arrived, unit.stamp) = (arrived, packet.stamp);
        unit.end += u64::from(payload);
        unit.closed = ends(packet) || payload < unit.full;
        true
    }

    fn newest_of(&mut self, flow: FlowId) -> Option<&mut Unit> {
        let data = |unit: &&mut Unit| unit.packet.flow == flow && unit.packet.kind == Kind::Data;
        self.units.iter_mut().rev().find(data)
    }

    /// Takes everything that waits. Hand the list back by [`ReceiveRing::reuse`].
    pub fn poll(&mut self) -> Vec<Unit> {
        (self.frames, self.due) = (0, Time::MAX);
        std::mem::take(&mut self.units)
    }

    /// Keeps the memory of a list that was taken.
    pub fn reuse(&mut self, mut units: Vec<Unit>) {
        units.clear();
        if self.units.is_empty() {
            self.units = units;
        }
    }
}

/// Whether nothing is merged behind this segment.
fn ends(packet: &Packet) -> bool {
    packet.flags.of(Flags::LAST.with(Flags::TELEMETRY)) != Flags::NONE
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::random::Purpose;
    use forebay_wire::Ecn;

    const HEADER: u16 = 52;

    #[test]
    fn chance_adds_to_the_wait_but_no_more_than_it_may() {
        let (wait, jitter) = (Span::from_us(5), Span::from_us(2));
        let settings = HostSettings { rx_usecs: wait, rx_jitter: jitter, ..HostSettings::IDEAL };
        let mut ring = ReceiveRing::new(settings, Stream::new(1, 0, Purpose::Test));
        let mut waits: Vec<Span> = (0..100)
            .map(|i| {
                let now = Time::ZERO + Span::from_us(100 * i);
                assert!(!ring.arrive(now, &data(0, 1448 * i, 1448), HEADER));
                let waited = ring.due().since(now);
                let units = ring.poll();
                ring.reuse(units);
                waited
            })
            .collect();
        waits.sort();
        assert!(waits[0] >= wait && waits[99] <= wait + jitter);
        assert!(waits[50] - waits[25] > jitter / 8 && waits[75] - waits[50] > jitter / 8);
    }

    fn data(flow: u32, seq: u64, payload: u16) -> Packet {
        Packet { flow: FlowId(flow), seq, size: payload + HEADER, ..Packet::default() }
    }

    fn ring(frames: Option<u32>, wait: Span, merge: bool) -> ReceiveRing {
        let chance = Stream::new(1, 0, Purpose::Test);
        let settings =
            HostSettings { rx_frames: frames, rx_usecs: wait, gro: merge, ..HostSettings::IDEAL };
        ReceiveRing::new(settings, chance)
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Flow, first byte, payload and segments of each unit that these packets become.
    fn merged(packets: &[Packet]) -> Vec<(u32, u64, u16, u32)> {
        let mut ring = ring(None, Span::from_us(8), true);
        packets.iter().for_each(|p| assert!(!ring.arrive(at(1), p, HEADER)));
        let show = |u: Unit| (u.packet.flow.0, u.packet.seq, u.packet.size - HEADER, u.segments);
        ring.poll().into_iter().map(show).collect()
    }

    #[test]
    fn frames_or_time_whichever_first() {
        let mut ring = ring(Some(3), Span::from_us(8), false);
        assert_eq!(ring.due(), Time::MAX);
        assert!(!ring.arrive(at(1), &data(1, 0, 100), HEADER));
        assert!(!ring.arrive(at(5), &data(1, 100, 100), HEADER));
        assert_eq!(ring.due(), at(9), "the first packet starts the clock");
        assert!(ring.arrive(at(6), &data(1, 200, 100), HEADER), "the third interrupts");
        assert_eq!(ring.poll().len(), 3);
        assert_eq!(ring.due(), Time::MAX);
        assert!(!ring.arrive(at(7), &data(1, 300, 100), HEADER), "the count begins anew");
        assert_eq!(ring.due(), at(15));
    }

    #[test]
    fn consecutive_segments_merge_across_those_of_other_flows() {
        let packets =
            [data(1, 0, 1448), data(2, 0, 1448), data(1, 1448, 1448), data(2, 1448, 1448)];
        assert_eq!(merged(&packets), [(1, 0, 2896, 2), (2, 0, 2896, 2)]);
    }

    #[test]
    fn gaps_and_repetitions_stay_apart() {
        let packets =
            [data(1, 0, 1000), data(1, 2000, 1000), data(1, 3000, 1000), data(1, 0, 1000)];
        assert_eq!(merged(&packets), [(1, 0, 1000, 1), (1, 2000, 2000, 2), (1, 0, 1000, 1)]);
    }

    #[test]
    fn a_change_of_mark_is_never_merged_over() {
        let ce = |seq| Packet { ecn: Ecn::Ce, ..data(1, seq, 1000) };
        let packets = [data(1, 0, 1000), ce(1000), ce(2000), data(1, 3000, 1000)];
        assert_eq!(merged(&packets), [(1, 0, 1000, 1), (1, 1000, 2000, 2), (1, 3000, 1000, 1)]);
    }

    #[test]
    fn the_end_of_a_reduction_begins_a_unit_and_the_end_of_a_flow_ends_one() {
        let flagged = |seq, flags| Packet { flags, ..data(1, seq, 1000) };
        let packets = [
            data(1, 0, 1000),
            flagged(1000, Flags::CWR),
            data(1, 2000, 1000),
            flagged(3000, Flags::FIN),
        ];
        let mut ring = ring(None, Span::from_us(8), true);
        packets.iter().for_each(|p| assert!(!ring.arrive(at(1), p, HEADER)));
        let units = ring.poll();
        assert_eq!(units.len(), 2);
        assert_eq!((units[1].segments, units[1].packet.seq), (3, 1000));
        assert!(units[1].packet.flags.has(Flags::CWR) && units[1].packet.flags.has(Flags::FIN));
    }

    #[test]
    fn a_short_segment_is_the_last_and_a_longer_one_does_not_join() {
        let packets =
            [data(1, 0, 1000), data(1, 1000, 400), data(1, 1400, 400), data(1, 1800, 500)];
        assert_eq!(merged(&packets), [(1, 0, 1400, 2), (1, 1400, 400, 1), (1, 1800, 500, 1)]);
    }

    #[test]
    fn a_unit_holds_45_segments_of_1448_bytes() {
        let packets: Vec<_> = (0..50).map(|i| data(1, i * 1448, 1448)).collect();
        assert_eq!(merged(&packets), [(1, 0, 45 * 1448, 45), (1, 45 * 1448, 5 * 1448, 5)]);
    }

    #[test]
    fn acks_wait_but_never_merge() {
        let ack = |seq| Packet { kind: Kind::Ack, ..data(1, seq, 12) };
        let mut ring = ring(None, Span::from_us(8), true);
        assert!(!ring.arrive(at(1), &ack(1000), HEADER));
        assert!(!ring.arrive(at(2), &ack(2000), HEADER));
        assert_eq!(ring.poll().len(), 2);
    }

    /// Linux `tcp_gro_receive`: PSH flushes.
    #[test]
    fn the_end_of_a_super_packet_ends_a_unit() {
        let push = |seq| Packet { flags: Flags::PSH, ..data(1, seq, 1000) };
        let packets = [data(1, 0, 1000), push(1000), data(1, 2000, 1000), push(3000)];
        assert_eq!(merged(&packets), [(1, 0, 2000, 2), (1, 2000, 2000, 2)]);
        let mut ring = ring(None, Span::from_us(8), true);
        packets[..2].iter().for_each(|p| assert!(!ring.arrive(at(1), p, HEADER)));
        assert!(ring.poll()[0].packet.flags.has(Flags::PSH));
    }

    #[test]
    fn a_unit_tells_of_its_last_segment() {
        let mut ring = ring(None, Span::from_us(8), true);
        for k in 0..3 {
            let packet = Packet { stamp: 700 + k as u32, ..data(1, 1000 * k, 1000) };
            assert!(!ring.arrive(at(k), &packet, HEADER));
        }
        let units = ring.poll();
        assert_eq!((units.len(), units[0].arrived, units[0].stamp), (1, at(2), 702));
        assert_eq!(units[0].packet.stamp, 700, "RFC 7323 echoes the first");
    }
}
