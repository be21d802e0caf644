//! The responder: what is next, what is missing, and the answers.
//!
//! Source: the public HPCC simulator (go-back-N); Mittal et al., SIGCOMM 2018 (IRN); Zhu et al., SIGCOMM 2015 (DCQCN), section 3.2
//! (CNPs).

use super::RdmaConfig;
use crate::receiver::{Acks, Arrival, Ranges};
use forebay_laws::flow::Echo;
use forebay_settings::Recovery;
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet, SackBlock};

/// Responder half of a queue pair.
#[derive(Clone, Debug)]
pub struct QpReceiver {
    next: u64,        // every byte below it has been delivered in order
    most: u64,        // the highest that `next` was before a message began anew
    fin: u64,         // length of the flow, once its last byte was seen
    ranges: Ranges,   // what lies above `next`; selective repeat only
    nacked: u64,      // go-back-N: the gap reported last begins here; `u64::MAX`: none was
    nack_again: Time, // it may be reported again from then on
    cnp_again: Time,  // no CNP before
    flow: FlowId,
    dst: HostAddr,   // the requester
    unanswered: u32, // packets since the last ACK
}

impl QpReceiver {
    /// State before the first packet. `sender` is where answers go.
    pub fn new(flow: FlowId, sender: HostAddr) -> Self {
        Self {
            next: 0,
            most: 0,
            fin: u64::MAX,
            ranges: Ranges::new(),
            nacked: u64::MAX,
            nack_again: Time::ZERO,
            cnp_again: Time::ZERO,
            flow,
            dst: sender,
            unanswered: 0,
        }
    }

    /// Takes a data packet, which the host may have held: `newest` says since when. Answers leave in this order.
    pub fn on_data(
        &mut self,
        cfg: &RdmaConfig,
        now: Time,
        newest: Arrival,
        packet: &Packet,
    ) -> Acks {
        let cnp = self.notify(cfg, now, packet);
        let start = packet.seq;
        let end = start + u64::from(packet.size).saturating_sub(cfg.header.get());
        if packet.flags.has(Flags::FIN) {
            self.fin = end;
        }
        let gap = start > self.next;
        if start <= self.next && end > self.next {
            self.next = self.ranges.take_through(end);
        } else if gap && cfg.recovery == Recovery::Selective {
            self.ranges.insert(start, end);
        }
        let answer = match (gap, cfg.recovery) {
            (true, Recovery::GoBackN | Recovery::GoBackZero)
                if self.nacked == self.next && now < self.nack_again =>
            {
                None
            }
            (true, Recovery::GoBackN | Recovery::GoBackZero) => {
                if cfg.recovery == Recovery::GoBackZero {
                    (self.most, self.next) = (self.delivered().get(), 0);
                }
                (self.nacked, self.nack_again) = (self.next, now.saturating_add(cfg.nack_interval));
                Some(self.answer(cfg, now, newest, packet, Kind::Nack))
            }
            (true, Recovery::Selective) => {
                let nack = self.answer(cfg, now, newest, packet, Kind::Nack);
                Some(self.naming(nack, start, end))
            }
            (false, _) => {
                self.unanswered += 1;
                let due = self.unanswered >= cfg.ack_every()
                    || packet.flags.has(Flags::PSH)
                    || packet.flags.has(Flags::RETRANSMIT)
                    || self.next >= self.fin;
                due.then(|| self.answer(cfg, now, newest, packet, Kind::Ack))
            }
        };
        [cnp, answer]
    }

    /// Bytes delivered in order; those of a message that began anew count once.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.next.max(self.most))
    }

    /// Whether every byte up to the end of the flow has been delivered.
    #[inline]
    pub fn complete(&self) -> bool {
        self.next >= self.fin
    }

    /// A CNP, if this packet is marked and the last one is long enough ago.
    fn notify(&mut self, cfg: &RdmaConfig, now: Time, packet: &Packet) -> Option<Packet> {
        let wanted = cfg.needs.echo == Echo::Cnp && packet.ecn == Ecn::Ce;
        if !wanted || now < self.cnp_again {
            return None;
        }
        self.cnp_again = now.saturating_add(cfg.cnp_interval);
        Some(Packet {
            flow: self.flow,
            dst: self.dst,
            size: cfg.ack_size.get() as u16,
            kind: Kind::Cnp,
            class: cfg.cnp_class,
            ..Packet::default()
        })
    }

    /// An ACK or NACK of the state as it is, after `packet`.
    fn answer(
        &mut self,
        cfg: &RdmaConfig,
        now: Time,
        newest: Arrival,
        packet: &Packet,
        kind: Kind,
    ) -> Packet {
        self.unanswered = 0;
        let marked = packet.ecn == Ecn::Ce && cfg.needs.echo != Echo::Cnp;
        let telemetry =
            packet.flags.of(if kind == Kind::Ack { Flags::TELEMETRY } else { Flags::NONE });
        let mut answer = Packet {
            flow: self.flow,
            dst: self.dst,
            size: cfg.ack_size.get() as u16,
            kind,
            class: cfg.ack_class,
            flags: telemetry.with_if(marked, Flags::ECE),
            stamp: packet.stamp,
            word: u16::MAX,
            seq: self.next,
            ext: if telemetry == Flags::NONE { Default::default() } else { packet.ext },
            ..Packet::default()
        };
        if cfg.needs.stamps {
            answer.set_stamps(newest.stamps(now));
        }
        answer
    }

    /// A NACK that says what arrived.
    fn naming(&self, nack: Packet, start: u64, end: u64) -> Packet {
        let distance = |to: u64| (to - self.next) as u32;
        let mut ext = nack.ext;
        ext[0] = SackBlock { start: distance(start), end: distance(end) };
        Packet { ext, sacks: 1, ..nack }
    }
}
