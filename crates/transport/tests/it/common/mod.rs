//! Two ends and a pipe: a deterministic harness for one flow.
//!
//! Data leaves at the NIC's rate, waits in front of a bottleneck, and arrives `delay` later; ACKs come
//! back after `delay` as well. `fate` decides what happens to each packet on the way.

#![allow(dead_code)]

use forebay_laws::Start;
use forebay_laws::flow::FlowParams;
use forebay_transport::{Burst, FlowSpec, TcpConfig, TcpReceiver, TcpSender};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{Ecn, Flags, FlowId, HostAddr, Kind, Packet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens to a packet between the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Pass,
    Drop,
    Mark,
    /// Arrives that much later than it should.
    Late(Span),
    /// Arrives, and once more that much later.
    Twice(Span),
}

/// A packet that left the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub seq: u64,
    pub len: u64,
    pub retransmission: bool,
    pub ecn: Ecn,
    pub flags: Flags,
}

type Decide = Box<dyn FnMut(&Packet, u64) -> Fate>;

pub struct Pipe {
    pub cfg: TcpConfig,
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
    pub now: Time,
    pub delay: Span,
    pub nic_ps_per_byte: u64,
    pub link_ps_per_byte: u64,
    /// Marks ECN-capable data that finds this much in the queue.
    pub mark_at: Bytes,
    /// By packet and its count in its direction, from 0.
    pub data_fate: Decide,
    pub ack_fate: Decide,
    pub sent: Vec<Sent>,
    /// When each super-packet left, and its payload.
    pub bursts: Vec<(Time, u64)>,
    pub acks: Vec<(Time, Packet)>,
    /// Every packet that reached the receiver.
    pub arrived: Vec<(Time, Packet)>,
    /// What left after each ACK, until the next.
    pub sends_per_ack: Vec<u32>,
    nic_free: Time,
    link_free: Time,
    acks_sent: u64,
    order: u64,
    flying: BinaryHeap<Reverse<(Time, u64, Flight)>>,
}

#[derive(Clone, Copy, Debug)]
struct Flight(Packet);

impl PartialEq for Flight {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Flight {}
impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flight {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

pub const MSS: u64 = 1448;

pub fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

pub fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

/// A configuration for `law`, with per-packet ACKs.
pub fn config(law: &str) -> TcpConfig {
    TcpConfig { needs: FlowParams::new(law).unwrap().needs(), ..TcpConfig::default() }
}

pub fn start(cfg: &TcpConfig) -> Start {
    Start {
        mss: cfg.mss,
        initial_window: cfg.initial_window(),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 1,
    }
}

impl Pipe {
    /// A flow of `size` bytes ([`Bytes::MAX`]: endless) over a pipe of round-trip time `rtt`.
    pub fn new(cfg: TcpConfig, law: &str, size: Bytes, rtt: Span) -> Self {
        Self::with_spec(cfg, &FlowParams::new(law).unwrap(), size, false, rtt)
    }

    pub fn with_spec(cfg: TcpConfig, law: &FlowParams, size: Bytes, open: bool, rtt: Span) -> Self {
        let (flow, dst) = (FlowId(7), HostAddr { tor: 1, port: 2 });
        let spec =
            FlowSpec { flow, src: HostAddr::default(), dst, size, open, paths: 1, handshake: None };
        let sender = TcpSender::new(&cfg, spec, law, start(&cfg), Time::ZERO);
        let receiver = TcpReceiver::new(&cfg, flow, HostAddr { tor: 0, port: 1 });
        Self {
            cfg,
            sender,
            receiver,
            now: Time::ZERO,
            delay: rtt / 2,
            nic_ps_per_byte: 0,
            link_ps_per_byte: 0,
            mark_at: Bytes::MAX,
            data_fate: Box::new(|_, _| Fate::Pass),
            ack_fate: Box::new(|_, _| Fate::Pass),
            sent: Vec::new(),
            bursts: Vec::new(),
            acks: Vec::new(),
            arrived: Vec::new(),
            sends_per_ack: Vec::new(),
            nic_free: Time::ZERO,
            link_free: Time::ZERO,
            acks_sent: 0,
            order: 0,
            flying: BinaryHeap::new(),
        }
    }

    /// A flow of a warm connection, whose handshake took `rtt`, before anything has left.
    pub fn warm(mut self, law: &str, size: Bytes, rtt: Span) -> Self {
        let (src, dst) = (HostAddr::default(), HostAddr { tor: 1, port: 2 });
        let (flow, handshake) = (FlowId(7), Some(rtt));
        let spec = FlowSpec { flow, src, dst, size, open: false, paths: 1, handshake };
        let law = FlowParams::new(law).unwrap();
        self.sender = TcpSender::new(&self.cfg, spec, &law, start(&self.cfg), Time::ZERO);
        self
    }

    /// Drops the data packets with these counts.
    pub fn drop_data(mut self, which: &[u64]) -> Self {
        let which = which.to_vec();
        self.data_fate =
            Box::new(move |_, n| if which.contains(&n) { Fate::Drop } else { Fate::Pass });
        self
    }

    /// Sets the fate of data packets.
    pub fn data(mut self, fate: impl FnMut(&Packet, u64) -> Fate + 'static) -> Self {
        self.data_fate = Box::new(fate);
        self
    }

    /// Sets the fate of ACKs.
    pub fn ack(mut self, fate: impl FnMut(&Packet, u64) -> Fate + 'static) -> Self {
        self.ack_fate = Box::new(fate);
        self
    }

    /// Sets the NIC's rate.
    pub fn nic(mut self, gbps: u64) -> Self {
        self.nic_ps_per_byte = BitsPerSec::from_gbps(gbps).whole_ps_per_byte().unwrap();
        self
    }

    /// Sets the bottleneck's rate.
    pub fn link(mut self, gbps: u64) -> Self {
        self.link_ps_per_byte = BitsPerSec::from_gbps(gbps).whole_ps_per_byte().unwrap();
        self
    }

    fn fly(&mut self, at: Time, packet: Packet) {
        self.order += 1;
        self.flying.push(Reverse((at, self.order, Flight(packet))));
    }

    fn launch(&mut self, packet: Packet, leaves: Time, fate: Fate) {
        let arrives = leaves + self.delay;
        match fate {
            Fate::Pass | Fate::Mark => self.fly(arrives, packet),
            Fate::Drop => {}
            Fate::Late(span) => self.fly(arrives + span, packet),
            Fate::Twice(span) => {
                self.fly(arrives, packet);
                self.fly(arrives + span, packet);
            }
        }
    }

    fn send_data(&mut self, mut packet: Packet) {
        self.sent.push(Sent {
            at: self.now,
            seq: packet.seq,
            len: u64::from(packet.size) - self.cfg.header.get(),
            retransmission: packet.flags.has(Flags::RETRANSMIT),
            ecn: packet.ecn,
            flags: packet.flags,
        });
        if let Some(last) = self.sends_per_ack.last_mut() {
            *last += 1;
        }
        let size = u64::from(packet.size);
        self.nic_free = self.nic_free.max(self.now) + Span::from_ps(size * self.nic_ps_per_byte);
        let n = self.sent.len() as u64 - 1;
        let fate = (self.data_fate)(&packet, n);
        if fate == Fate::Drop {
            return;
        }
        let begin = self.link_free.max(self.nic_free);
        let queue = begin.since(self.nic_free).as_ps();
        let full = self.link_ps_per_byte > 0 && queue / self.link_ps_per_byte >= self.mark_at.get();
        if packet.ecn == Ecn::Ect && (full || fate == Fate::Mark) {
            packet.ecn = Ecn::Ce;
        }
        self.link_free = begin + Span::from_ps(size * self.link_ps_per_byte);
        self.launch(packet, self.link_free, fate);
    }

    fn send_ack(&mut self, packet: Packet) {
        let fate = (self.ack_fate)(&packet, self.acks_sent);
        self.acks_sent += 1;
        self.launch(packet, self.now, fate);
    }

    /// Sends what may leave now.
    pub fn pump(&mut self) {
        while self.nic_free <= self.now && self.sender.ready(&self.cfg) {
            if self.cfg.host.tso {
                let burst = self.sender.next_burst(&self.cfg, self.now);
                self.send_burst(burst.expect("ready says that a packet may leave"));
            } else {
                let packet = self.sender.next_packet(&self.cfg, self.now);
                self.send_data(packet.expect("ready says that a packet may leave"));
            }
        }
    }

    /// The NIC cuts a super-packet; its segments leave back to back.
    fn send_burst(&mut self, burst: Burst) {
        self.bursts.push((self.now, burst.payload));
        let Burst { first, mut payload } = burst;
        let mss = self.cfg.mss.get();
        let mut packet = first;
        while payload > 0 {
            let len = payload.min(mss);
            payload -= len;
            packet.size = (len + self.cfg.header.get()) as u16;
            let last = if payload == 0 { first.flags.of(Flags::LAST) } else { Flags::NONE };
            packet.flags = packet.flags.without(Flags::LAST).with(last);
            self.send_data(packet);
            packet.seq += len;
            packet.flags = packet.flags.without(Flags::CWR);
        }
    }

    fn next_time(&self) -> Time {
        let flight = self.flying.peek().map_or(Time::MAX, |Reverse((at, ..))| *at);
        let nic = if self.sender.ready(&self.cfg) { self.nic_free } else { Time::MAX };
        flight.min(nic).min(self.sender.deadline()).min(self.receiver.deadline())
    }

    fn deliver(&mut self, packet: Packet) {
        if packet.kind == Kind::Data {
            self.arrived.push((self.now, packet));
            let acks = self.receiver.on_data(&self.cfg, self.now, &packet);
            for ack in acks.into_iter().flatten() {
                self.send_ack(ack);
            }
        } else {
            self.acks.push((self.now, packet));
            self.sends_per_ack.push(0);
            self.sender.on_ack(&self.cfg, self.now, &packet);
        }
    }

    /// One step; false if nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        self.pump();
        let next = self.next_time();
        if next == Time::MAX {
            return false;
        }
        self.now = self.now.max(next);
        while let Some(Reverse((at, ..))) = self.flying.peek() {
            if *at > self.now {
                break;
            }
            let Some(Reverse((_, _, Flight(packet)))) = self.flying.pop() else { break };
            self.deliver(packet);
            self.pump();
        }
        if self.sender.deadline() <= self.now {
            self.sender.on_deadline(&self.cfg, self.now);
        }
        if self.receiver.deadline() <= self.now
            && let Some(ack) = self.receiver.on_deadline(&self.cfg, self.now)
        {
            self.send_ack(ack);
        }
        true
    }

    /// Runs until `until`, or until nothing happens any more.
    pub fn run_until(&mut self, until: Time) {
        loop {
            self.pump();
            if self.next_time() > until {
                self.now = until;
                return;
            }
            self.step();
        }
    }

    /// Runs until the sender has finished; returns when.
    pub fn finish(&mut self) -> Time {
        for _ in 0..20_000_000u64 {
            if self.sender.finished() {
                return self.now;
            }
            assert!(self.step(), "the flow is stuck at {}: {:?}", self.now, self.sender);
        }
        panic!("the flow does not end: {:?}", self.sender);
    }

    /// Sends of the byte at `seq`.
    pub fn sends_of(&self, seq: u64) -> Vec<Sent> {
        self.sent.iter().filter(|s| s.seq == seq).copied().collect()
    }
}
