//! INT: the record that a port appends to packets which collect such records.
//!
//! It is written as a packet's transmission begins, on the state of the port at that time: every class counts in the queue, and wire
//! overhead in bytes. A port with INT is served up to each arrival, so its queue is that of the departure and not of the visit.
//!
//! Source: Li et al., "HPCC", SIGCOMM 2019, section 3.1; its public simulator for the sum over classes.

use super::Port;
use forebay_engine::{Emitter, Slab, SlotWords};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, Hop, Kind, Packet, Rates, SLOT_RECORDS};

const _: () = assert!(size_of::<SlotWords>() == SLOT_RECORDS * size_of::<u64>());

/// Bit of a port's code: units are not those of its rate.
pub(super) const ONE_UNIT: u8 = 1 << 3;

impl Port {
    /// Appends an INT record to a packet that collects them. The packet has left the queue, which holds what is left behind, and is about
    /// to be counted.
    #[inline(always)]
    pub(super) fn stamp_int(
        &self,
        start: Time,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let collects = packet.kind == Kind::Data && packet.flags.has(Flags::TELEMETRY);
        if collects && self.scheduled.has_int() {
            let record = self.int_record(start);
            if !packet.push_int(record) && packet.int_slot() == 0 {
                spill(record, packet, out.slab());
            }
        }
    }

    #[inline(never)]
    fn int_record(&self, start: Time) -> u64 {
        if self.scheduled.code & ONE_UNIT != 0 {
            return self.int_record_of_one_unit(start);
        }
        match u64::from(self.hot.pace) {
            0 => self.int_record_per_packet(start),
            pace => self.int_record_by(start, |bytes| Span::from_ps(bytes * pace)),
        }
    }

    /// The record where one factor of units holds for all ports.
    #[inline(never)]
    fn int_record_of_one_unit(&self, start: Time) -> u64 {
        let multi = self.cold.settings.telemetry.map_or(0, |rates| rates.multi());
        self.int_record_by(start, |bytes| Rates::time_of(bytes, multi))
    }

    #[inline(never)]
    fn int_record_per_packet(&self, start: Time) -> u64 {
        let rate = self.cold.settings.rate;
        self.int_record_by(start, |bytes| match self.cold.whole {
            0 => rate.time_for(Bytes::new(bytes)),
            whole => Span::from_ps(bytes * whole),
        })
    }

    /// The record at `start`, where `time` is how long so many bytes are on the wire.
    #[inline(always)]
    fn int_record_by(&self, start: Time, time: impl Fn(u64) -> Span) -> u64 {
        let sent = self.hot.tx_bytes + self.hot.tx_packets * self.overhead();
        Hop::new(self.scheduled.code & !ONE_UNIT, start, time(sent), time(self.scheduled.bytes))
            .word()
    }
}

/// Spills the inline records of a full packet, and this one, into a new slot.
#[inline(never)]
fn spill(record: u64, packet: &mut Packet, slab: &mut Slab) {
    let number = slab.allocate();
    packet.spill_int(record, number, slab.get_mut(number));
}
