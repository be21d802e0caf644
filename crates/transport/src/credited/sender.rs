//! Sender half: a packet for each credit.

use super::{CreditedConfig, LAST_RESORT, REQUEST, STOP, patience};
use crate::half::SenderHalf;
use crate::{Burst, FlowSpec, Wait};
use forebay_laws::flow::{IntHop, Totals};
use forebay_units::{BitsPerSec, Bytes, Time};
use forebay_wire::{Flags, Kind, Packet};
use std::collections::VecDeque;

/// Sender half of a flow.
#[derive(Clone, Debug)]
pub struct CreditedSender {
    spec: FlowSpec,
    totals: Totals,
    control: Option<u16>,          // a request or a stop that leaves next
    credits: VecDeque<(u16, u32)>, // number and clock of credits that have come and release a packet each
    credited: bool,                // a credit has come since the last request
    sent: u64,                     // first byte that was never sent
    heard: Time,                   // last credit or NACK, or last expiry of the timer
    doublings: u32,
    wasted: u64,
    complete: bool,
    retransmits: u64,
    timeouts: u64,
}

impl CreditedSender {
    /// A flow that requests credits.
    pub(super) fn new(spec: FlowSpec, now: Time) -> Self {
        Self {
            spec,
            totals: Totals::default(),
            control: Some(REQUEST),
            credits: VecDeque::new(),
            credited: false,
            sent: 0,
            heard: now,
            doublings: 0,
            wasted: 0,
            complete: false,
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// Credits that came when nothing was left to send.
    pub fn wasted(&self) -> u64 {
        self.wasted
    }

    fn request(&mut self) {
        (self.control, self.credited) = (Some(REQUEST), false);
    }
}

impl SenderHalf<CreditedConfig> for CreditedSender {
    #[inline]
    fn ready(&self, _cfg: &CreditedConfig) -> bool {
        !self.complete
            && (self.control.is_some() || (!self.credits.is_empty() && self.unsent() > 0))
    }

    fn next_class(&self, cfg: &CreditedConfig) -> u8 {
        cfg.data_class
    }

    fn next_packet(&mut self, cfg: &CreditedConfig, now: Time) -> Option<Packet> {
        if !self.ready(cfg) {
            return None;
        }
        if let Some(word) = self.control.take() {
            self.heard = now; // its answer is due from now on
            let (flow, dst) = (self.spec.flow, self.spec.dst);
            let control = cfg.control(Kind::Want, flow, dst);
            return Some(Packet { seq: self.totals.nxt, word, ..control });
        }
        let (number, stamp) = self.credits.pop_front()?;
        let seq = self.totals.nxt;
        let payload = self.unsent().min(cfg.mss.get());
        self.totals.nxt += payload;
        self.totals.sent += payload;
        let again = seq < self.sent;
        self.retransmits += u64::from(again);
        self.sent = self.sent.max(self.totals.nxt);
        let last = self.unsent() == 0 && !self.spec.open;
        if last {
            self.control = Some(STOP);
            self.wasted += std::mem::take(&mut self.credits).len() as u64;
        }
        Some(Packet {
            flow: self.spec.flow,
            dst: self.spec.dst,
            size: (payload + cfg.header.get()) as u16,
            class: cfg.data_class,
            flags: Flags::NONE.with_if(last, Flags::FIN).with_if(again, Flags::RETRANSMIT),
            stamp,
            word: number,
            seq,
            ..Packet::default()
        })
    }

    fn next_burst(&mut self, cfg: &CreditedConfig, now: Time) -> Option<Burst> {
        let first = self.next_packet(cfg, now)?;
        let overhead =
            if first.kind == Kind::Data { cfg.header.get() } else { u64::from(first.size) };
        Some(Burst { first, payload: u64::from(first.size) - overhead })
    }

    fn on_answer(
        &mut self,
        _cfg: &CreditedConfig,
        now: Time,
        _arrived: Time,
        packet: &Packet,
        _hops: &[IntHop],
    ) {
        match packet.kind {
            Kind::Ack if packet.flags.has(Flags::FIN) => {
                self.complete = true;
                self.totals.una = self.spec.size.get();
            }
            Kind::Grant if self.unsent() == 0 => self.wasted += 1,
            Kind::Grant => {
                (self.heard, self.doublings, self.credited) = (now, 0, true);
                self.credits.push_back((packet.word, packet.stamp));
            }
            Kind::Nack => {
                self.heard = now;
                self.totals.una = self.totals.una.max(packet.seq);
                let stopped = self.unsent() == 0;
                self.totals.nxt = self.totals.nxt.min(packet.seq);
                if stopped {
                    self.request();
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Time {
        let waits = self.control.is_none() && !self.complete;
        match waits {
            false => Time::MAX,
            true if self.credited && self.unsent() > 0 => self.heard + LAST_RESORT,
            true => self.heard + patience(self.doublings),
        }
    }

    fn on_deadline(&mut self, _cfg: &CreditedConfig, now: Time) {
        if now < self.deadline() {
            return;
        }
        self.heard = now;
        self.doublings += 1;
        self.timeouts += 1;
        match self.unsent() {
            0 => self.control = Some(STOP),
            _ => self.request(),
        }
    }

    fn app_write(&mut self, bytes: Bytes, last: bool) {
        self.spec.size = self.spec.size.saturating_add(bytes);
        self.spec.open = !last;
    }

    fn finished(&self) -> bool {
        self.complete
    }

    fn idle(&self) -> bool {
        self.complete
    }

    fn unsent(&self) -> u64 {
        self.spec.size.get() - self.totals.nxt
    }

    fn acked(&self) -> Bytes {
        Bytes::new(self.totals.una)
    }

    fn waits_for(&self, cfg: &CreditedConfig) -> Wait {
        if self.ready(cfg) { Wait::Nic } else { Wait::Receiver }
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn window(&self) -> Bytes {
        Bytes::MAX
    }

    fn rate(&self) -> Option<BitsPerSec> {
        None
    }

    fn retransmits(&self) -> u64 {
        self.retransmits
    }

    fn timeouts(&self) -> u64 {
        self.timeouts
    }
}
