//! The receiving half of a flow: in-order delivery, SACK, delayed ACKs and the echo of congestion.
//!
//! Source: tcp-baseline sections 9 and 10; dctcp section 3 for the exact echo; RFC 2018 and 2883 for
//! SACK and DSACK.
//! Deviation: the delayed-ACK timer is a constant (Linux adapts it between 40 and 200 ms); SACK
//! compression and GRO are the host's business, not modelled here.

mod autotune;
mod ranges;
mod unread;

use crate::TcpConfig;
use crate::config::field_of;
use autotune::Autotune;
use forebay_laws::flow::Echo;
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet, SackBlock};
use ranges::Ranges;
use unread::Unread;

/// Receiver half of one flow.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    next: u64,  // every byte below it has been delivered in order
    acked: u64, // what the last ACK said; never above `next`
    fin: u64,   // length of the flow, once its last byte was seen
    deadline: Time,
    ranges: Ranges, // what lies above `next`
    tuning: Option<Box<Autotune>>,
    unread: Option<Box<Unread>>, // where the application takes its time
    flow: FlowId,
    dst: HostAddr, // the sender
    stamp: u32,    // to echo (RFC 7323 section 4.3)
    quick: u16,    // ACKs still to be sent at once
    ece: bool,     // what ACKs say: classic, until CWR; exact, the last mark
}

const _: () = assert!(size_of::<TcpReceiver>() <= 112, "receiver state per flow");

/// Up to two ACKs, in the order in which they leave.
pub type Acks = [Option<Packet>; 2];

impl TcpReceiver {
    /// State before the first packet. `sender` is where ACKs go.
    pub fn new(cfg: &TcpConfig, flow: FlowId, sender: HostAddr) -> Self {
        Self {
            next: 0,
            acked: 0,
            fin: u64::MAX,
            deadline: Time::MAX,
            ranges: Ranges::new(),
            tuning: Autotune::new(cfg),
            unread: cfg.reads_late.then(Box::default),
            flow,
            dst: sender,
            stamp: 0,
            quick: cfg.quick_acks,
            ece: false,
        }
    }

    /// Takes a data packet. The first ACK, if any, speaks of the time before it.
    #[inline]
    pub fn on_data(&mut self, cfg: &TcpConfig, now: Time, packet: &Packet) -> Acks {
        let start = packet.seq;
        let end = start + u64::from(packet.size).saturating_sub(cfg.header.get());
        let flush = self.echo(cfg, packet);
        if packet.flags.has(Flags::FIN) {
            self.fin = end;
        }
        if start <= self.acked {
            self.stamp = packet.stamp;
        }
        let before = self.next;
        let duplicate = if start == self.next && self.ranges.is_empty() {
            self.next = end;
            None
        } else {
            self.out_of_order(start, end)
        };
        if let Some(unread) = &mut self.unread {
            unread.add(self.next - before);
        }
        if let Some(duplicate) = duplicate {
            self.quick = self.quick.max(cfg.quick_acks.min(DUPLICATE_QUICK));
            return [flush, Some(self.ack(cfg, Some(duplicate)))];
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.delivered(cfg, now, self.next);
        }
        let now_or_later = flush.is_some()
            || self.quick > 0
            || self.next - self.acked > cfg.mss()
            || !cfg.delayed_ack
            || cfg.needs.every_packet
            || !self.ranges.is_empty()
            || self.next >= self.fin;
        if now_or_later {
            return [flush, Some(self.ack(cfg, None))];
        }
        if self.deadline == Time::MAX {
            self.deadline = now.saturating_add(cfg.delayed_ack_timeout);
        }
        [flush, None]
    }

    /// When the delayed ACK is due; [`Time::MAX`] if there is none.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The delayed ACK, if it is due.
    pub fn on_deadline(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        (now >= self.deadline).then(|| self.ack(cfg, None))
    }

    /// The application read `bytes` of what was delivered. An ACK, if the sender should hear of the room.
    pub fn on_read(&mut self, cfg: &TcpConfig, bytes: u64) -> Option<Packet> {
        let buffer = self.buffer(cfg);
        let next = self.next;
        let opened = self.unread.as_mut().is_some_and(|unread| unread.read(bytes, next, buffer));
        // Reading also sends the ACK that waits for company, if there is more than a segment to acknowledge.
        let owed = self.deadline != Time::MAX && next - self.acked > cfg.mss();
        (opened || owed).then(|| self.ack(cfg, None))
    }

    /// Bytes that the socket may hold.
    #[inline]
    fn buffer(&self, cfg: &TcpConfig) -> u64 {
        let fixed = || cfg.receive_window.map_or(1 << 30, Bytes::get);
        self.tuning.as_ref().map_or_else(fixed, |tuning| tuning.window())
    }

    /// The window field of an ACK.
    #[inline]
    fn window_field(&mut self, cfg: &TcpConfig) -> u16 {
        let (next, buffer) = (self.next, self.buffer(cfg));
        match &mut self.unread {
            None if self.tuning.is_none() => cfg.window_field(),
            None => field_of(buffer),
            Some(unread) => field_of(unread.window(next, buffer)),
        }
    }

    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.next)
    }

    /// Bytes of these that [`TcpReceiver::on_read`] has not heard of; none unless the application reads late.
    pub fn unread(&self) -> Bytes {
        Bytes::new(self.unread.as_ref().map_or(0, |unread| unread.bytes()))
    }

    /// Whether every byte up to the end of the flow has been delivered.
    #[inline]
    pub fn complete(&self) -> bool {
        self.next >= self.fin
    }

    /// The congestion mark of `packet`, taken in. In exact mode a change of mark makes an immediate
    /// ACK due; what it owes for earlier packets is returned, in the old state.
    #[inline]
    fn echo(&mut self, cfg: &TcpConfig, packet: &Packet) -> Option<Packet> {
        let ce = packet.ecn == Ecn::Ce;
        match cfg.needs.echo {
            Echo::Exact if ce != self.ece => self.change(cfg, ce),
            Echo::Classic if ce || packet.flags.has(Flags::CWR) => {
                if ce && !self.ece {
                    self.quick = self.quick.max(CLASSIC_QUICK);
                }
                self.ece = ce;
                None
            }
            _ => None,
        }
    }

    #[cold]
    fn change(&mut self, cfg: &TcpConfig, ce: bool) -> Option<Packet> {
        let flush = (self.deadline != Time::MAX).then(|| self.ack(cfg, None));
        self.ece = ce;
        self.quick = self.quick.max(1);
        flush
    }

    /// Takes a segment that is not simply the next one. Returns what of it was here already.
    #[cold]
    fn out_of_order(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        if end <= self.next {
            return Some((start, end));
        }
        if start > self.next {
            return self.ranges.insert(start, end);
        }
        self.next = self.ranges.take_through(end);
        None
    }

    /// An ACK of the state as it is.
    #[inline]
    fn ack(&mut self, cfg: &TcpConfig, duplicate: Option<(u64, u64)>) -> Packet {
        self.deadline = Time::MAX;
        self.acked = self.next;
        self.quick = self.quick.saturating_sub(1);
        let mut packet = Packet {
            flow: self.flow,
            dst: self.dst,
            size: cfg.ack_size.get() as u16,
            kind: Kind::Ack,
            class: cfg.ack_class,
            flags: Flags::NONE.with_if(self.ece, Flags::ECE),
            stamp: self.stamp,
            window: self.window_field(cfg),
            seq: self.next,
            ..Packet::default()
        };
        if cfg.sack && (!self.ranges.is_empty() || duplicate.is_some()) {
            self.add_blocks(&mut packet, duplicate);
        }
        packet
    }

    #[cold]
    fn add_blocks(&self, packet: &mut Packet, duplicate: Option<(u64, u64)>) {
        let next = self.next;
        let mut put = |start: u32, end: u32| {
            packet.ext[usize::from(packet.sacks)] = SackBlock { start, end };
            packet.sacks += 1;
        };
        if let Some((start, end)) = duplicate {
            put(next.wrapping_sub(start) as u32, next.wrapping_sub(end) as u32);
        }
        let room = if duplicate.is_some() { 2 } else { 3 };
        for (start, end) in self.ranges.recent().take(room) {
            put((start - next) as u32, (end - next) as u32);
        }
        packet.flags = packet.flags.with_if(duplicate.is_some(), Flags::DSACK);
    }
}

/// ACKs sent at once after the first mark of a classic episode.
const CLASSIC_QUICK: u16 = 2;

/// ACKs sent at once after something that was here already. Source: Linux `TCP_MAX_QUICKACKS`.
const DUPLICATE_QUICK: u16 = 16;
