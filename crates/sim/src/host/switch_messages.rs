//! What comes over the cable and is for no transport: words of the switch, and of who plans flows.

use super::Host;
use super::sending::RETIRED;
use forebay_engine::Out;
use forebay_laws::flow::Told;
use forebay_units::{BitsPerSec, Time};
use forebay_wire::{FlowId, HostAddr, Kind, Packet};

impl Host {
    /// The NIC, or who plans flows, takes what is for no transport.
    #[cold]
    pub(super) fn on_control_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        out: &mut impl Out<Packet>,
    ) {
        match packet.kind {
            Kind::Control => self.on_dependency(now, packet, out),
            Kind::RackRate => self.on_rate(now, packet),
            Kind::Pause => self.pause(now, packet.seq as u8),
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Cnp => {} // for transports
            Kind::RackCredit | Kind::RackRequest => {}            // end at switches
        }
    }

    /// The switch tells one flow, or all to one host, at which rate to send.
    #[cold]
    fn on_rate(&mut self, now: Time, packet: &Packet) {
        let (rate, all) = (BitsPerSec::new(packet.seq), packet.flow == FlowId::ALL);
        let told = match packet.seq {
            0 => Told::Stop,
            _ if all => Told::GoOn(rate),
            _ => Told::Rate(rate),
        };
        let to = HostAddr::of_word(packet.stamp);
        if all || told == Told::Stop {
            self.note_pause(now, to, told == Told::Stop);
        }
        if !all {
            if let Some(slot) = self.send.slot(packet.flow) {
                self.tell(now, slot, told);
            }
            return;
        }
        for slot in 0..self.send.slots.len() {
            let flow = self.send.slots[slot].flow;
            if flow != RETIRED && self.goes_to(flow, to) {
                self.tell(now, slot as u32, told);
            }
        }
    }

    fn tell(&mut self, now: Time, slot: u32, told: Told) {
        self.send.slots[slot as usize].sender.on_told(now, told);
        self.wake_sender(now, slot);
    }
}
