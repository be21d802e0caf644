//! Receiver half of a message, or of a stream of messages.

use super::message::Message;
use super::{GrantedConfig, Grantor, LIVES};
use crate::half::{CreditState, PacketSink, ReceiverHalf, Transport};
use crate::receiver::Arrival;
use forebay_laws::grant::MessageId;
use forebay_units::{Bytes, Time};
use forebay_wire::{Flags, FlowId, HostAddr, Kind, MessageTag, Packet};

/// Receiver half of a message, or of a stream: of one message after another. What is there, its host's [`Grantor`] knows.
#[derive(Clone, Debug)]
pub struct GrantedReceiver {
    flow: FlowId,
    sender: HostAddr,
    size: Bytes,             // of a stream: of the message under way
    tag: Option<MessageTag>, // of that
    id: Option<MessageId>,   // once something has arrived; of a stream, until it is complete
    before: u64,             // delivered of complete messages of a stream
    delivered: u64,
    complete: bool,
    grants: u32, // of what is complete
}

impl GrantedReceiver {
    /// A message of which nothing has arrived.
    pub(super) fn new(flow: FlowId, sender: HostAddr, size: Bytes) -> Self {
        Self {
            flow,
            sender,
            size,
            tag: None,
            id: None,
            before: 0,
            delivered: 0,
            complete: false,
            grants: 0,
        }
    }

    /// Whether a packet is of the message under way, or begins the next. Of one that is complete, the last ACK was lost.
    fn is_of_this(
        &mut self,
        cfg: &GrantedConfig,
        tag: MessageTag,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) -> bool {
        if self.tag.is_none_or(|last| tag.number > last.number) {
            (self.tag, self.size) = (Some(tag), Bytes::new(tag.size.into()));
            return true;
        }
        let under_way = self.tag == Some(tag) && self.id.is_some();
        if !under_way {
            let ack = cfg.ack_again(packet, self.sender, Bytes::new(tag.size.into()));
            sink.send(&ack.about(Some(tag)));
        }
        under_way
    }
}

impl ReceiverHalf<GrantedConfig> for GrantedReceiver {
    fn on_data(
        &mut self,
        cfg: &GrantedConfig,
        host: &mut Grantor,
        now: Time,
        _newest: Arrival,
        packet: &Packet,
        sink: &mut impl PacketSink,
    ) {
        if let Some(tag) = packet.message()
            && !self.is_of_this(cfg, tag, packet, sink)
        {
            return;
        }
        if self.complete {
            // All of it arrived, and it waits for its reader. The last ACK was lost.
            return sink.send(&cfg.ack_again(packet, self.sender, self.size));
        }
        let id = *self.id.get_or_insert_with(|| {
            let unscheduled = cfg.unscheduled(self.size);
            let mut message = Message::new(self.flow, self.sender, self.size, unscheduled, now);
            message.tag = self.tag;
            if !cfg.law.knows_size() {
                message.seen.size = Bytes::MAX;
            }
            host.open(cfg, now, message, sink)
        });
        if packet.kind == Kind::Want && packet.flags.has(LIVES) {
            return host.on_sign_of_life(id);
        }
        if packet.kind == Kind::Want && packet.flags.has(Flags::RESEND) {
            return host.on_busy(cfg, now, id);
        }
        if packet.kind == Kind::Want {
            return host.on_probe(cfg, now, id, packet.seq);
        }
        self.delivered = host.on_packet(cfg, now, id, packet, sink);
        if self.delivered < self.size.get() {
            return;
        }
        self.grants += host.grants_of(id);
        match self.tag {
            None => self.complete = true,
            Some(_) => {
                self.before += std::mem::take(&mut self.delivered);
                self.id = None;
            }
        }
    }

    fn delivered(&self) -> Bytes {
        Bytes::new(self.before + self.delivered)
    }

    fn complete(&self) -> bool {
        self.complete
    }

    fn credits_sent(&self, host: Option<&Grantor>) -> u64 {
        let open = host.zip(self.id).filter(|_| !self.complete);
        (self.grants + open.map_or(0, |(host, id)| host.grants_of(id))).into()
    }

    fn credit_state(&self, cfg: &GrantedConfig, host: Option<&Grantor>) -> CreditState {
        let open = host.zip(self.id).filter(|_| !self.complete);
        open.map(|(host, id)| host.state_of(cfg, id)).unwrap_or_default()
    }
}
