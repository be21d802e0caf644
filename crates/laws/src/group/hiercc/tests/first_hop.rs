//! Some line-rate flows, a switch 1 us away, and credits of 25 Gb/s: what a fluid model of the law has.

use super::AT;
use crate::Acts;
use crate::group::hiercc::{HierCc, HierCcParams};
use crate::group::{GroupAct, GroupEvent, GroupLaw, GroupSeen, GroupTotals};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
extern crate std;
use std::collections::VecDeque;
use std::vec::Vec;

const LINE: f64 = 25e9;
const TICK: Span = Span::from_ns(50);
const AWAY: usize = 20; // ticks from host to switch
const END: u64 = 60_000; // ticks

/// What the queue did after the first quarter, in KB, and the rate out of it.
#[derive(Debug)]
pub struct QueueSummary {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    pub gbps: f64,
    /// Longest of all time, KB.
    pub peak: f64,
}

struct Flow {
    rate: f64,
    stopped: bool,
    until_mark: f64, // s of sending
}

/// What is on its way to a host.
#[derive(Clone, Copy)]
enum Message {
    Rate(usize, f64),
    Stop,
    Resume(f64),
}

/// A queue as a fluid.
pub struct Hop {
    law: HierCc,
    flows: Vec<Flow>,
    rate: f64,
    stopped: bool,
    due: Option<Time>,
    totals: GroupTotals,
    arrived: f64,
    sent: f64,
    mark_every: f64,
    up: VecDeque<(f64, Vec<usize>)>,
    down: VecDeque<Vec<Message>>,
}

impl Hop {
    /// A fluid hears of its rate at any rate, so the least is the prototype's.
    pub fn new(params: HierCcParams, flows: usize) -> Self {
        let params = HierCcParams { r_min: BitsPerSec::new(10_000_000), ..params };
        let law = HierCc::start(&params, Time::ZERO, AT, &mut Acts::default());
        let one = |_| Flow { rate: LINE, stopped: false, until_mark: 0.0 };
        Self {
            law,
            flows: (0..flows).map(one).collect(),
            rate: LINE,
            stopped: false,
            due: None,
            totals: GroupTotals { flows: flows as u32, ..GroupTotals::default() },
            arrived: 0.0,
            sent: 0.0,
            mark_every: 10e-6,
            up: (0..AWAY).map(|_| (0.0, Vec::new())).collect(),
            down: (0..AWAY).map(|_| Vec::new()).collect(),
        }
    }

    /// Flow i begins its marks i nths of the time between two later than the first.
    pub fn in_turn(mut self) -> Self {
        let nth = self.mark_every / self.flows.len() as f64;
        for (i, flow) in self.flows.iter_mut().enumerate() {
            flow.until_mark = i as f64 * nth;
        }
        self
    }

    /// Marks so many seconds of sending apart.
    pub fn mark_every(mut self, span: f64) -> Self {
        self.mark_every = span;
        self
    }

    /// 3 ms, of which the first quarter is left out.
    pub fn run(mut self) -> QueueSummary {
        let mut seen = QueueSummary { mean: 0.0, low: f64::MAX, high: 0.0, gbps: 0.0, peak: 0.0 };
        let (mut from, mut ticks) = (0.0, 0.0);
        for tick in 0..END {
            self.tick(Time::ZERO + TICK * tick);
            let queue = (self.arrived - self.sent) / 1e3;
            seen.peak = seen.peak.max(queue);
            if tick == END / 4 {
                from = self.sent;
            }
            if tick >= END / 4 {
                (seen.low, seen.high) = (seen.low.min(queue), seen.high.max(queue));
                seen.mean += queue;
                ticks += 1.0;
            }
        }
        seen.mean /= ticks;
        seen.gbps = (self.sent - from) * 8.0 / (ticks * TICK.as_secs_f64()) / 1e9;
        seen
    }

    fn tick(&mut self, now: Time) {
        for message in self.down.pop_front().expect("ticks away") {
            self.receive(message);
        }
        self.send();
        let (bytes, marks) = self.up.pop_front().expect("ticks away");
        self.arrived += bytes;
        self.sent += (LINE / 8.0 * TICK.as_secs_f64()).min(self.arrived - self.sent);
        let queue = self.arrived - self.sent;
        self.totals.arrived = self.arrived as u64;
        self.totals.sent = self.sent as u64;
        self.totals.credited = (now.as_secs_f64() * LINE / 8.0) as u64;
        self.totals.queue = Bytes::new(queue as u64);
        let mut messages = Vec::new();
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.event(now, GroupEvent::Wake, &mut messages);
        } else if bytes > 0.0 && self.due.is_none() {
            self.event(now, GroupEvent::Traffic, &mut messages);
        }
        if !self.stopped && queue > 70e3 {
            self.event(now, GroupEvent::Above, &mut messages);
        } else if self.stopped && queue < 50e3 {
            self.event(now, GroupEvent::Below, &mut messages);
        }
        if !self.stopped {
            messages.extend(marks.into_iter().map(|flow| Message::Rate(flow, self.rate)));
        }
        self.down.push_back(messages);
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Rate(flow, _) if self.flows[flow].stopped => {}
            Message::Rate(flow, rate) => self.flows[flow].rate = rate,
            Message::Stop => self.flows.iter_mut().for_each(|flow| flow.stopped = true),
            Message::Resume(rate) => {
                for flow in &mut self.flows {
                    (flow.stopped, flow.rate) = (false, rate);
                }
            }
        }
    }

    fn send(&mut self) {
        let (mut bytes, mut marks) = (0.0, Vec::new());
        for (i, flow) in self.flows.iter_mut().enumerate().filter(|(_, flow)| !flow.stopped) {
            bytes += flow.rate / 8.0 * TICK.as_secs_f64();
            if flow.until_mark <= 0.0 {
                flow.until_mark += self.mark_every;
                marks.push(i);
            }
            flow.until_mark -= TICK.as_secs_f64();
        }
        self.up.push_back((bytes, marks));
    }

    fn event(&mut self, now: Time, event: GroupEvent, messages: &mut Vec<Message>) {
        let mut acts = Acts::default();
        self.law.step(now, GroupSeen { totals: &self.totals, event }, &mut acts);
        for act in acts.iter() {
            match act {
                GroupAct::Rate(rate) => self.rate = rate.get() as f64,
                GroupAct::Pause => {
                    self.stopped = true;
                    messages.push(Message::Stop);
                }
                GroupAct::Resume(rate) => {
                    (self.stopped, self.rate) = (false, rate.get() as f64);
                    messages.push(Message::Resume(self.rate));
                }
                GroupAct::WakeAt(at) => self.due = Some(self.due.map_or(at, |due| due.min(at))),
                GroupAct::Watch { .. } => {}
            }
        }
    }
}
