//! The receiving half of a flow: in-order delivery, SACK, delayed ACKs and the echo of congestion.
//!
//! Source: Linux `net/ipv4/tcp_input.c` (`tcp_data_queue`, `__tcp_ack_snd_check`); RFC 8257 section 3.2 for the exact echo; RFC 2018 and 2883 for
//! SACK and DSACK.
//! Not here: GRO, which is the host's business.

mod arrival;
mod autotune;
mod compression;
mod delayed_ack;
mod ranges;
mod unread;

use crate::TcpConfig;
use crate::config::MOST_WINDOW;
use crate::half::PacketSink;
pub use arrival::Arrival;
use autotune::Autotune;
use compression::Compression;
use delayed_ack::DelayedAck;
use forebay_laws::flow::Echo;
use forebay_units::{Bytes, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet, SackBlock};
pub(crate) use ranges::Ranges;
use unread::UnreadBytes;

/// Receiver half of one flow.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    next: u64,  // every byte below it has been delivered in order
    acked: u64, // what the last ACK said; never above `next`
    fin: u64,   // length of the flow, once its last byte was seen
    deadline: Time,
    ranges: Ranges, // what lies above `next`
    extras: Option<Box<Extras>>,
    flow: FlowId,
    dst: HostAddr, // the sender
    stamp: u32,    // to echo (RFC 7323 section 4.3)
    quick: u16,    // ACKs still to be sent at once
    ece: bool,     // what ACKs say: classic, until CWR; exact, the last mark
}

const _: () = assert!(size_of::<TcpReceiver>() <= 112, "receiver state per flow");

/// State that only some settings need.
#[derive(Clone, Debug)]
struct Extras {
    tuning: Option<Autotune>,
    arrival: Option<Arrival>, // of the newest data, for laws that look at delays
    compression: Option<Compression>,
    delayed: Option<DelayedAck>, // where the timer adapts
    unread: Option<UnreadBytes>, // where the application takes its time
}

impl Extras {
    fn new(cfg: &TcpConfig) -> Option<Box<Self>> {
        let tuning = Autotune::new(cfg);
        let arrival = cfg.needs.stamps.then(Arrival::default);
        let compression = (cfg.sack && cfg.host.sack_compression).then_some(Compression::NEW);
        let unread = cfg.reads_late.then(UnreadBytes::default);
        let delayed = (cfg.delayed_ack && cfg.adaptive_delayed_ack).then_some(DelayedAck::NEW);
        let delays = arrival.is_some() || compression.is_some() || delayed.is_some();
        let any = delays || tuning.is_some() || unread.is_some();
        any.then(|| Box::new(Self { tuning, arrival, compression, delayed, unread }))
    }

    /// Bytes that the socket may hold.
    fn buffer(&self, cfg: &TcpConfig) -> u64 {
        let fixed = || cfg.receive_window.map_or(MOST_WINDOW, Bytes::get);
        self.tuning.as_ref().map_or_else(fixed, Autotune::window)
    }

    /// A segment arrived. True: after a gap so long that ACKs leave at once again.
    fn arrived(&mut self, cfg: &TcpConfig, newest: Arrival) -> bool {
        if let Some(arrival) = &mut self.arrival {
            *arrival = newest;
        }
        if let Some(compression) = &mut self.compression {
            compression.arrived(newest);
        }
        self.delayed.as_mut().is_some_and(|delayed| delayed.arrived(cfg, newest))
    }

    /// Receive window in an ACK that expects the byte `next`; `None`: nothing limits it.
    fn window(&mut self, cfg: &TcpConfig, next: u64) -> Option<u64> {
        let buffer = self.buffer(cfg);
        match &mut self.unread {
            Some(unread) => Some(unread.window(next, buffer)),
            None => (self.tuning.is_some() || cfg.receive_window.is_some()).then_some(buffer),
        }
    }

    /// What they add to an ACK that leaves at `now`.
    fn complete(&mut self, cfg: &TcpConfig, now: Time, ack: &mut Packet) {
        if let Some(window) = self.window(cfg, ack.seq) {
            *ack = ack.with_window(window.min(MOST_WINDOW));
        }
        if let Some(arrival) = &self.arrival {
            ack.set_stamps(arrival.stamps(now));
        }
        if let Some(compression) = &mut self.compression {
            compression.acknowledged();
        }
    }
}

/// Up to two ACKs, in the order in which they leave.
pub type Acks = [Option<Packet>; 2];

/// Sends ACKs. Spelled out, since an iterator over both is not inlined and every data packet comes here.
#[inline(always)]
pub(crate) fn send_acks([first, second]: &Acks, sink: &mut impl PacketSink) {
    if let Some(ack) = first {
        sink.send(ack);
    }
    if let Some(ack) = second {
        sink.send(ack);
    }
}

impl TcpReceiver {
    /// State before the first packet. `sender` is where ACKs go.
    pub fn new(cfg: &TcpConfig, flow: FlowId, sender: HostAddr) -> Self {
        Self {
            next: 0,
            acked: 0,
            fin: u64::MAX,
            deadline: Time::MAX,
            ranges: Ranges::new(),
            extras: Extras::new(cfg),
            flow,
            dst: sender,
            stamp: 0,
            quick: cfg.quick_acks,
            ece: false,
        }
    }

    /// Takes a data packet at the moment of its arrival. The first ACK, if any, speaks of the time before it.
    #[inline]
    pub fn on_data(&mut self, cfg: &TcpConfig, now: Time, packet: &Packet) -> Acks {
        self.on_held_data(cfg, now, Arrival { at: now, stamp: packet.stamp }, packet)
    }

    /// Takes a data packet that the host held. The packet may stand for several segments: `newest` is the last of them.
    #[inline]
    pub fn on_held_data(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        newest: Arrival,
        packet: &Packet,
    ) -> Acks {
        let start = packet.seq;
        let end = start + u64::from(packet.size).saturating_sub(cfg.header.get());
        let flush = self.echo(cfg, now, packet);
        if self.extras.as_mut().is_some_and(|extras| extras.arrived(cfg, newest)) {
            self.quick = self.quick.max(cfg.quick_acks.min(MOST_QUICK));
        }
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
        if let Some(unread) = self.extras.as_mut().and_then(|extras| extras.unread.as_mut()) {
            unread.add(self.next - before);
        }
        if let Some(duplicate) = duplicate {
            self.quick = self.quick.max(cfg.quick_acks.min(MOST_QUICK));
            return [flush, Some(self.ack(cfg, now, Some(duplicate)))];
        }
        if let Some(tuning) = self.extras.as_mut().and_then(|extras| extras.tuning.as_mut()) {
            tuning.delivered(cfg, now, self.next);
        }
        let now_or_later = flush.is_some()
            || self.quick > 0
            || self.next - self.acked > cfg.mss()
            || !cfg.delayed_ack
            || cfg.needs.every_packet
            || (packet.flags.has(Flags::PSH) && self.ranges.is_empty() && !cfg.reads_late)
            || self.next >= self.fin;
        let due = match (now_or_later, self.ranges.is_empty()) {
            (true, _) => None,
            (false, true) => self.delay(cfg, now),
            (false, false) => self.compress(now),
        };
        let Some(due) = due else { return [flush, Some(self.ack(cfg, now, None))] };
        self.deadline = self.deadline.min(due);
        [flush, None]
    }

    /// Until when an ACK may wait for a second segment; `None`: not at all.
    fn delay(&self, cfg: &TcpConfig, now: Time) -> Option<Time> {
        let Some(delayed) = self.extras.as_ref().and_then(|extras| extras.delayed.as_ref()) else {
            return Some(cfg.tick().expiry(now, cfg.delayed_ack_timeout));
        };
        let wait = delayed.wait(cfg);
        let soon = self.deadline <= cfg.tick().expiry(now, wait / 4);
        (!soon).then(|| cfg.tick().expiry(now, wait))
    }

    /// Until when an ACK may wait while segments are missing; `None`: not at all.
    #[cold]
    fn compress(&mut self, now: Time) -> Option<Time> {
        let wait = self.extras.as_mut()?.compression.as_mut()?.wait(self.next)?;
        Some(now.saturating_add(wait))
    }

    /// When an ACK that waits is due; [`Time::MAX`] if there is none.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The ACK that waits, if it is due.
    pub fn on_deadline(&mut self, cfg: &TcpConfig, now: Time) -> Option<Packet> {
        if now < self.deadline {
            return None;
        }
        let delayed = self.extras.as_mut().and_then(|extras| extras.delayed.as_mut());
        if let Some(delayed) = delayed.filter(|_| self.ranges.is_empty()) {
            delayed.expired(cfg);
        }
        Some(self.ack(cfg, now, None))
    }

    /// The application read `bytes` of what was delivered. An ACK, if the sender should hear of the room.
    pub fn on_read(&mut self, cfg: &TcpConfig, now: Time, bytes: u64) -> Option<Packet> {
        let next = self.next;
        let opened = self.extras.as_mut().is_some_and(|extras| {
            let buffer = extras.buffer(cfg);
            extras.unread.as_mut().is_some_and(|unread| unread.read(bytes, next, buffer))
        });
        // Reading also sends the ACK that waits for company, if there is more than a segment to acknowledge.
        let owed = self.deadline != Time::MAX && next - self.acked > cfg.mss();
        (opened || owed).then(|| self.ack(cfg, now, None))
    }

    /// Bytes delivered in order.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.next)
    }

    /// Whether every byte up to the end of the flow has been delivered.
    #[inline]
    pub fn complete(&self) -> bool {
        self.next >= self.fin
    }

    /// The congestion mark of `packet`, taken in. In exact mode a change of mark makes an immediate
    /// ACK due; what it owes for earlier packets is returned, in the old state.
    #[inline]
    fn echo(&mut self, cfg: &TcpConfig, now: Time, packet: &Packet) -> Option<Packet> {
        let ce = packet.ecn == Ecn::Ce;
        match cfg.needs.echo {
            Echo::Exact if ce != self.ece => self.change(cfg, now, ce),
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
    fn change(&mut self, cfg: &TcpConfig, now: Time, ce: bool) -> Option<Packet> {
        let flush = (self.deadline != Time::MAX).then(|| self.ack(cfg, now, None));
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
    fn ack(&mut self, cfg: &TcpConfig, now: Time, duplicate: Option<(u64, u64)>) -> Packet {
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
            word: u16::MAX,
            seq: self.next,
            ..Packet::default()
        };
        if cfg.sack && (!self.ranges.is_empty() || duplicate.is_some()) {
            self.add_blocks(&mut packet, duplicate);
        }
        if let Some(extras) = &mut self.extras {
            extras.complete(cfg, now, &mut packet);
        } else if let Some(window) = cfg.receive_window {
            packet = packet.with_window(window.get().min(MOST_WINDOW));
        }
        packet
    }

    #[cold]
    fn add_blocks(&self, packet: &mut Packet, duplicate: Option<(u64, u64)>) {
        let stamped = self.extras.as_ref().is_some_and(|extras| extras.arrival.is_some());
        let next = self.next;
        let mut put = |start: u32, end: u32| {
            packet.ext[usize::from(packet.sacks)] = SackBlock { start, end };
            packet.sacks += 1;
        };
        if let Some((start, end)) = duplicate {
            put(next.wrapping_sub(start) as u32, next.wrapping_sub(end) as u32);
        }
        let room = 3 - usize::from(duplicate.is_some()) - usize::from(stamped);
        for (start, end) in self.ranges.recent().take(room) {
            put((start - next) as u32, (end - next) as u32);
        }
        packet.flags = packet.flags.with_if(duplicate.is_some(), Flags::DSACK);
    }
}

/// ACKs sent at once after the first mark of a classic episode.
const CLASSIC_QUICK: u16 = 2;

/// ACKs sent at once after something that was here already, or after a long gap. Source: Linux `TCP_MAX_QUICKACKS`.
const MOST_QUICK: u16 = 16;
