//! Packets that are for no transport: messages of the switch, and signals of programs.

use super::Host;
use super::flow_map::RETIRED;
use forebay_engine::Emitter;
use forebay_laws::flow::SwitchMessage;
use forebay_units::{BitsPerSec, Time};
use forebay_wire::{FlowId, HostAddr, Kind, Packet};

impl Host {
    /// Dispatches a packet that is for no transport.
    #[cold]
    pub(super) fn on_control_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        match packet.kind {
            Kind::Control => self.on_signal(now, packet, out),
            Kind::RackRate => self.on_rate(now, packet),
            Kind::Pause => self.pause(now, packet.seq as u8),
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Cnp | Kind::Returned | Kind::Grant => {} // for transports
            Kind::Trimmed | Kind::Want => {} // as good as lost to a transport that does not repair by it
            Kind::RackCredit | Kind::RackRequest => {} // end at switches
        }
    }

    /// The switch sets the rate of one flow, or of all to one host.
    #[cold]
    fn on_rate(&mut self, now: Time, packet: &Packet) {
        let (rate, all) = (BitsPerSec::new(packet.seq), packet.flow == FlowId::ALL);
        let message = match packet.seq {
            0 => SwitchMessage::Pause,
            _ if all => SwitchMessage::Resume(rate),
            _ => SwitchMessage::Rate(rate),
        };
        let to = HostAddr::of_word(packet.stamp);
        if all || message == SwitchMessage::Pause {
            self.note_pause(now, to, message == SwitchMessage::Pause);
        }
        if !all {
            if let Some(slot) = self.send.slot(packet.flow) {
                self.notify(now, slot, message);
            }
            return;
        }
        for slot in 0..self.send.slots.len() {
            let flow = self.send.slots[slot].flow;
            if flow != RETIRED && self.goes_to(flow, to) {
                self.notify(now, slot as u32, message);
            }
        }
    }

    fn notify(&mut self, now: Time, slot: u32, message: SwitchMessage) {
        self.send.slots[slot as usize].sender.on_switch_message(now, message);
        self.wake_sender(now, slot);
    }
}
