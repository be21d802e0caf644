//! Flows of any laws through one queue without end: no loss, no hosts, an ACK per packet.

extern crate alloc;
use super::{MSS, at};
use crate::Acts;
use crate::flow::{AckSample, Flow, FlowAct, FlowEvent, FlowParams, FlowSeen, Totals};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_units::{Bytes, Span, Time};

struct Sender {
    flow: Flow,
    totals: Totals,
    cwnd: u64,
}

#[derive(Clone, Copy)]
struct InFlight {
    sender: usize,
    acked_at: Time,
    sent_at: Time,
    inflight: Bytes,
    delivered: u64,
}

pub(crate) struct Bottleneck {
    senders: Vec<Sender>,
    flying: VecDeque<InFlight>, // in the order of their ACKs, since all share queue and base RTT
    pub now: Time,
    free_at: Time,
    base: Span,
    per_packet: Span,
    queued: f64, // packet seconds
    since: Time,
}

impl Bottleneck {
    /// A path whose round trip takes `base` and whose queue sends one packet each `per_packet`.
    pub fn new(base: Span, per_packet: Span) -> Self {
        Self {
            senders: Vec::new(),
            flying: VecDeque::new(),
            now: Time::ZERO,
            free_at: Time::ZERO,
            base,
            per_packet,
            queued: 0.0,
            since: Time::ZERO,
        }
    }

    /// Starts a flow with ten segments.
    pub fn join(&mut self, params: &FlowParams) {
        let mut acts = Acts::default();
        let flow = params.start(at(10), &mut acts);
        let totals = Totals { cwnd_limited: true, ..Totals::default() };
        self.senders.push(Sender { flow, totals, cwnd: 0 });
        let sender = self.senders.len() - 1;
        self.apply(sender, &acts);
        self.send(sender);
    }

    /// Runs for so long; returns the mean queue in packets.
    pub fn run(&mut self, span: Span) -> f64 {
        (self.queued, self.since) = (0.0, self.now);
        let until = self.now + span;
        while let Some(packet) = self.flying.pop_front_if(|packet| packet.acked_at <= until) {
            self.pass(packet.acked_at);
            self.acked(packet);
        }
        self.pass(until);
        self.queued / span.as_secs_f64()
    }

    /// Windows in segments.
    pub fn windows(&self) -> Vec<f64> {
        self.senders.iter().map(|s| s.cwnd as f64 / MSS as f64).collect()
    }

    /// Bytes that each flow has delivered.
    pub fn delivered(&self) -> Vec<u64> {
        self.senders.iter().map(|s| s.totals.delivered).collect()
    }

    /// Time goes on; the queue drains as it goes.
    fn pass(&mut self, to: Time) {
        let packets = |at| self.free_at.since(at).as_secs_f64() / self.per_packet.as_secs_f64();
        let (first, last) = (packets(self.now), packets(to));
        let busy = to.since(self.now).as_secs_f64().min(self.free_at.since(self.now).as_secs_f64());
        self.queued += (first + last) / 2.0 * busy;
        self.now = to;
    }

    fn acked(&mut self, packet: InFlight) {
        let sender = &mut self.senders[packet.sender];
        let t = &mut sender.totals;
        t.una += MSS;
        t.delivered += MSS;
        t.inflight = t.inflight.saturating_sub(Bytes::new(MSS));
        let rtt = self.now.since(packet.sent_at);
        t.srtt = rtt;
        let sample = AckSample {
            rtt: Some(rtt),
            inflight_at_send: packet.inflight,
            delivered_at_send: packet.delivered,
            interval: rtt,
            ..AckSample::default()
        };
        let acked = Bytes::new(MSS);
        let event = FlowEvent::Ack { acked, ece: false, sample: &sample, delay: None, hops: &[] };
        let mut acts = Acts::default();
        sender.flow.step(self.now, FlowSeen { totals: &sender.totals, event }, &mut acts);
        self.apply(packet.sender, &acts);
        self.send(packet.sender);
    }

    fn apply(&mut self, sender: usize, acts: &Acts<FlowAct>) {
        for act in acts.iter() {
            if let FlowAct::Window(window) = act {
                self.senders[sender].cwnd = window.bytes().get();
            }
        }
    }

    fn send(&mut self, sender: usize) {
        let s = &mut self.senders[sender];
        while s.totals.inflight.get() + MSS <= s.cwnd {
            s.totals.nxt += MSS;
            s.totals.sent += MSS;
            s.totals.inflight = s.totals.inflight.saturating_add(Bytes::new(MSS));
            self.free_at = self.free_at.max(self.now) + self.per_packet;
            self.flying.push_back(InFlight {
                sender,
                acked_at: self.free_at + self.base,
                sent_at: self.now,
                inflight: s.totals.inflight,
                delivered: s.totals.delivered,
            });
        }
    }
}
