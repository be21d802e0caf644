//! Arrivals that wait in the receive ring for an interrupt, where a host has one.

use super::Host;
use super::timers::Due;
use forebay_engine::Emitter;
use forebay_host::ReceiveRing;
use forebay_scenario::model::HostSettings;
use forebay_transport::Arrival;
use forebay_units::Time;
use forebay_units::random::Stream;
use forebay_wire::{Kind, Packet};

/// The ring, and when its timer fires.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    held: ReceiveRing,
    armed: Time, // earliest entry in the heap
}

impl Ring {
    pub(super) fn new(settings: HostSettings, jitter: Stream) -> Box<Self> {
        Box::new(Self { held: ReceiveRing::new(settings, jitter), armed: Time::MAX })
    }
}

impl Host {
    /// A packet joins the ring, which had `arrived` over the cable.
    #[inline(never)]
    pub(super) fn hold(
        &mut self,
        now: Time,
        arrived: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(ring) = &mut self.ring else { return };
        let traffic = self.common.flows[packet.flow.0 as usize].traffic;
        let header = self.common.profiles[usize::from(traffic)].transport.header().get() as u16;
        if ring.held.join(now, arrived, packet, header) {
            return self.poll(now, out);
        }
        self.arm_ring();
    }

    fn arm_ring(&mut self) {
        let Some(ring) = &mut self.ring else { return };
        let due = ring.held.due();
        if due < ring.armed {
            ring.armed = due;
            self.timers.push(due, Due::Ring, 0);
        }
    }

    /// The ring's timer fired, for what waits or for what an earlier interrupt took.
    pub(super) fn ring_due(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let Some(ring) = &mut self.ring else { return };
        ring.armed = Time::MAX;
        if ring.held.due() <= now {
            self.poll(now, out);
        }
        self.arm_ring();
    }

    /// The interrupt: everything that waits goes up.
    fn poll(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        let Some(ring) = &mut self.ring else { return };
        let units = ring.held.poll();
        for unit in &units {
            if unit.packet.kind == Kind::Data {
                self.receive.segments += u64::from(unit.segments) - 1; // one more below
            }
            let newest = Arrival { at: unit.arrived, stamp: unit.stamp };
            self.climb(now, newest, unit.packet, unit.segments, out);
        }
        if let Some(ring) = &mut self.ring {
            ring.held.reuse(units);
        }
    }
}
