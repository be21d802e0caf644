//! One sender, one receiver, and a pipe that loses every n-th data packet.

use forebay_laws::Start;
use forebay_laws::flow::FlowParams;
use forebay_transport::{FlowSpec, TcpConfig, TcpReceiver, TcpSender};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, HostAddr, Kind, Packet};
use std::collections::VecDeque;

/// An endless flow. Data leaves at 100 Gb/s; each direction takes half the RTT.
pub(crate) struct Pipe {
    cfg: TcpConfig,
    pub sender: TcpSender,
    receiver: TcpReceiver,
    pub now: Time,
    half: Span,
    nic_free: Time,
    data: VecDeque<(Time, Packet)>,
    acks: VecDeque<(Time, Packet)>,
    sent: u64,
    lose_every: u64,
    /// Data packets lost so far.
    pub lost: u64,
}

impl Pipe {
    pub fn new(law: &str, delayed_ack: bool, rtt: Span, lose_every: u64) -> Self {
        let law = FlowParams::new(law).unwrap_or_else(|error| panic!("law \"{law}\" {error}"));
        let cfg = TcpConfig { needs: law.needs(), ..TcpConfig::default() }
            .with(|of| of.delayed_ack = delayed_ack);
        let spec = FlowSpec {
            flow: FlowId(0),
            src: HostAddr::default(),
            dst: HostAddr::default(),
            size: Bytes::MAX,
            open: true,
            paths: 1,
            handshake: None,
        };
        let start = Start {
            mss: cfg.mss,
            initial_window: cfg.initial_window(),
            line_rate: BitsPerSec::from_gbps(100),
            base_rtt: None,
            seed: 1,
        };
        Self {
            sender: TcpSender::new(&cfg, spec, &law, start, Time::ZERO),
            receiver: TcpReceiver::new(&cfg, spec.flow, HostAddr::default()),
            cfg,
            now: Time::ZERO,
            half: rtt / 2,
            nic_free: Time::ZERO,
            data: VecDeque::new(),
            acks: VecDeque::new(),
            sent: 0,
            lose_every,
            lost: 0,
        }
    }

    /// Payload received in order so far, in full segments.
    pub fn segments(&self) -> f64 {
        self.receiver.delivered().get() as f64 / self.cfg.mss.get() as f64
    }

    /// Window in flight, in full segments.
    pub fn inflight(&self) -> f64 {
        self.sender.totals().inflight.get() as f64 / self.cfg.mss.get() as f64
    }

    /// Handles the next instant at which something happens.
    pub fn step(&mut self) {
        let head = |queue: &VecDeque<(Time, Packet)>| queue.front().map_or(Time::MAX, |f| f.0);
        let nic =
            if self.sender.ready(&self.cfg) { self.nic_free.max(self.now) } else { Time::MAX };
        let deadlines = self.sender.deadline().min(self.receiver.deadline());
        self.now = head(&self.data).min(head(&self.acks)).min(nic).min(deadlines).max(self.now);
        while let Some((_, packet)) = due(&mut self.data, self.now) {
            let acks = self.receiver.on_data(&self.cfg, self.now, &packet);
            self.acks.extend(acks.into_iter().flatten().map(|ack| (self.now + self.half, ack)));
        }
        while let Some((_, ack)) = due(&mut self.acks, self.now) {
            debug_assert!(ack.kind == Kind::Ack);
            self.sender.on_ack(&self.cfg, self.now, &ack);
        }
        if self.sender.deadline() <= self.now {
            self.sender.on_deadline(&self.cfg, self.now);
        }
        if self.receiver.deadline() <= self.now
            && let Some(ack) = self.receiver.on_deadline(&self.cfg, self.now)
        {
            self.acks.push_back((self.now + self.half, ack));
        }
        while self.nic_free <= self.now && self.sender.ready(&self.cfg) {
            let Some(packet) = self.sender.next_packet(&self.cfg, self.now) else { break };
            self.nic_free = self.now + Span::from_ps(u64::from(packet.size) * 80);
            self.sent += 1;
            if self.sent.is_multiple_of(self.lose_every) {
                self.lost += 1;
            } else {
                self.data.push_back((self.nic_free + self.half, packet));
            }
        }
    }
}

fn due(queue: &mut VecDeque<(Time, Packet)>, now: Time) -> Option<(Time, Packet)> {
    if queue.front()?.0 <= now { queue.pop_front() } else { None }
}
