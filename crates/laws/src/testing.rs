//! A sender of one flow for unit tests: keeps the totals and what the law set last.

pub(crate) mod bottleneck;

use crate::flow::{
    AckSample, CaState, DelaySplit, FlowAct, FlowEvent, FlowLaw, FlowSeen, Totals, Window,
};
use crate::{Acts, Start};
use forebay_units::{BitsPerSec, Bytes, Span, Time};

pub(crate) const MSS: u64 = 1448;

/// A flow that starts with so many segments.
pub(crate) fn at(segments: u64) -> Start {
    Start {
        mss: Bytes::new(MSS),
        initial_window: Bytes::new(segments * MSS),
        line_rate: BitsPerSec::from_gbps(100),
        base_rtt: None,
        seed: 1,
    }
}

pub(crate) struct Rig<L> {
    pub law: L,
    pub totals: Totals,
    /// Segments of the last window.
    pub cwnd: f64,
    /// Segments of the last threshold; infinite before the first.
    pub ssthresh: f64,
    /// What the last event led to.
    pub last: Acts<FlowAct>,
    /// Time of the next event.
    pub now: Time,
    /// What the next ACK measured.
    pub sample: AckSample,
    /// And where that round trip was spent.
    pub delay: Option<DelaySplit>,
}

impl<L: FlowLaw> Rig<L> {
    pub fn new(params: &L::Params, segments: u64) -> Self {
        let mut acts = Acts::default();
        let law = L::start(params, at(segments), &mut acts);
        let totals = Totals { cwnd_limited: true, ..Totals::default() };
        let mut rig = Self {
            law,
            totals,
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
            last: acts,
            now: Time::ZERO,
            sample: AckSample::default(),
            delay: None,
        };
        rig.apply(&acts);
        rig.fill();
        rig
    }

    /// Sends up to the window.
    pub fn fill(&mut self) {
        let window = Bytes::new((self.cwnd * MSS as f64) as u64);
        self.totals.nxt = self.totals.una + window.get();
        self.totals.inflight = window;
    }

    /// One ACK for so many bytes, all of them marked or none.
    pub fn ack(&mut self, bytes: u64, ece: bool) {
        self.totals.una += bytes;
        self.totals.delivered += bytes;
        self.totals.delivered_ce += if ece { bytes } else { 0 };
        self.totals.inflight = self.totals.inflight.saturating_sub(Bytes::new(bytes));
        self.ack_event(bytes, ece);
    }

    /// The event alone, totals as they are.
    pub fn ack_event(&mut self, bytes: u64, ece: bool) {
        let sample = AckSample { state: self.totals.state, ..self.sample };
        let delay = self.delay;
        let acked = Bytes::new(bytes);
        self.event(FlowEvent::Ack {
            acked,
            ece,
            sample: &sample,
            delay: delay.as_ref(),
            hops: &[],
        });
    }

    /// A whole window, one ACK per segment, then the next one is sent.
    pub fn round(&mut self) {
        while self.totals.una < self.totals.nxt {
            self.ack(MSS.min(self.totals.nxt - self.totals.una), false);
        }
        self.fill();
    }

    /// As [`Rig::round`], with ACKs that cover `k` segments each, and `rtt` later.
    pub fn round_in(&mut self, rtt: Span, k: u64) {
        self.now += rtt;
        while self.totals.una < self.totals.nxt {
            self.ack((k * MSS).min(self.totals.nxt - self.totals.una), false);
        }
        self.fill();
    }

    pub fn enter(&mut self, state: CaState) {
        self.totals.state = state;
        self.event(FlowEvent::Enter(state));
    }

    pub fn leave(&mut self, state: CaState) {
        self.totals.state = CaState::Open;
        self.event(FlowEvent::Leave(state));
    }

    pub fn event(&mut self, event: FlowEvent<'_>) {
        let mut acts = Acts::default();
        let totals = self.totals;
        self.law.step(self.now, FlowSeen { totals: &totals, event }, &mut acts);
        self.apply(&acts);
    }

    fn apply(&mut self, acts: &Acts<FlowAct>) {
        self.last = *acts;
        let segments = |w: Window| w.raw() as f64 / 256.0 / MSS as f64;
        for act in acts.iter() {
            match act {
                FlowAct::Window(w) => self.cwnd = segments(w),
                FlowAct::Ssthresh(Bytes::MAX) => self.ssthresh = f64::INFINITY,
                FlowAct::Ssthresh(bytes) => self.ssthresh = segments(Window::from_bytes(bytes)),
                _ => {}
            }
        }
    }
}
