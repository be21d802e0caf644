//! NV as in the slides of 2010, on BIC.

use super::{NvParams, ReverseDelay};
use crate::Acts;
use crate::flow::bic::{BicGrowth, BicParams};
use crate::flow::{AckSample, CaState, DelaySplit, FlowAct, FlowEvent, FlowSeen, Totals};
use crate::kernel_clock::micros;
use crate::linux_window::LinuxWindow;
use forebay_units::{Span, Time};

/// State of a flow.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    pub(super) params: NvParams,
    bic: BicGrowth,
    refresh_at: Option<Time>, // when the largest slope is forgotten; none before the first sample
    period_end: u64,          // the round trip ends when a byte beyond is acknowledged
    pub(super) max_rate: u64, // bytes/s, since the last decision
    pub(super) least_rtt: u32, // us: the inverse of the largest slope; `u32::MAX`: no sample yet
    least_return: Span, // of the way back, the receiving host included; `Span::MAX`: no sample yet
    samples: u8,        // since the last decision; stops at 255
    rtts: u8,           // likewise
    pub(super) allowed: bool, // whether BIC may grow the window
}

/// Bytes in flight beyond this are counted as this: a rate in bytes/s still fits 64 bits.
const MAX_IN_FLIGHT: u64 = 1 << 40;

impl Slopes {
    pub(super) fn new(
        params: NvParams,
        bic: BicParams,
        window: &mut LinuxWindow,
        acts: &mut Acts<FlowAct>,
    ) -> Self {
        Self {
            params,
            bic: BicGrowth::new(bic, window, acts),
            refresh_at: None,
            period_end: 0,
            max_rate: 0,
            least_rtt: u32::MAX,
            least_return: Span::MAX,
            samples: 0,
            rtts: 0,
            allowed: true,
        }
    }

    pub(super) fn step(
        &mut self,
        window: &mut LinuxWindow,
        now: Time,
        seen: FlowSeen<'_>,
        acts: &mut Acts<FlowAct>,
    ) {
        match seen.event {
            FlowEvent::Ack { acked, ece, sample, delay, .. } => {
                self.sample(window, now, seen.totals, (sample, delay), acts);
                self.bic.count(sample.state, acked, window.mss());
                let newly = window.growth(seen.totals, acked, ece);
                if self.allowed {
                    self.bic.grow(window, now, newly, acts);
                }
            }
            FlowEvent::Enter(state) => {
                self.bic.enter(window, state, seen.totals, acts);
                self.begin(seen.totals);
            }
            event => {
                window.usual(event, acts);
                if matches!(event, FlowEvent::Leave(_)) {
                    self.begin(seen.totals);
                }
            }
        }
    }

    /// What the newest packet acknowledged measured. Source: slides, "More Implementation Details".
    fn sample(
        &mut self,
        window: &mut LinuxWindow,
        now: Time,
        totals: &Totals,
        (sample, delay): (&AckSample, Option<&DelaySplit>),
        acts: &mut Acts<FlowAct>,
    ) {
        let Some(rtt) = sample.rtt else { return };
        let in_flight = sample.inflight_at_send.get().min(MAX_IN_FLIGHT);
        if in_flight == 0 || !matches!(sample.state, CaState::Open | CaState::Disorder) {
            return;
        }
        if self.refresh_at.is_none_or(|at| now >= at) {
            self.refresh_at = Some(now.saturating_add(self.params.slope_refresh));
            self.least_rtt = u32::MAX;
            self.least_return = Span::MAX;
            self.begin(totals);
        }
        let rtt = micros(self.without_reverse_delay(rtt, delay));
        let rate = in_flight * 1_000_000 / u64::from(rtt);
        self.least_rtt = self.least_rtt.min(rtt); // slope = rate / in_flight = 1 / rtt
        self.max_rate = self.max_rate.max(rate);
        self.samples = self.samples.saturating_add(1);
        if totals.una > self.period_end {
            self.period_end = totals.nxt;
            self.rtts = self.rtts.saturating_add(1);
            let p = &self.params;
            if u64::from(self.rtts) >= p.decision_rtts.get()
                && u64::from(self.samples) >= p.decision_samples.get()
            {
                self.decide(window, totals, acts);
            }
        }
    }

    /// The RTT with the least way back in place of the ACK's own, where that is set and known.
    fn without_reverse_delay(&mut self, rtt: Span, delay: Option<&DelaySplit>) -> Span {
        let Some(delay) = delay.filter(|_| self.params.reverse_delay == ReverseDelay::Removed)
        else {
            return rtt;
        };
        let back = rtt.saturating_sub(delay.forward);
        self.least_return = self.least_return.min(back);
        rtt.saturating_sub(back.saturating_sub(self.least_return))
    }

    /// Growth or decrease, by the window that the best rate needs on an empty path.
    fn decide(&mut self, window: &mut LinuxWindow, totals: &Totals, acts: &mut Acts<FlowAct>) {
        let mss = window.mss();
        let bytes = self.max_rate.saturating_mul(u64::from(self.least_rtt)) / 1_000_000;
        let pred_cwnd = bytes / mss;
        let most = pred_cwnd + self.params.pad(6);
        let cwnd = window.packets();
        self.allowed = cwnd <= most;
        if !self.allowed {
            let cut = (cwnd - pred_cwnd) * self.params.cong_dec_mult.get() / 128;
            let least = (self.params.min_cwnd.get() * mss).min(window.cwnd());
            window.set_threshold(window.at_least_two(most * mss), acts);
            window.set_window(window.cwnd().saturating_sub(cut * mss).max(least), acts);
        }
        self.begin(totals);
    }

    /// The next decision looks at what comes from here on.
    fn begin(&mut self, totals: &Totals) {
        self.period_end = totals.nxt;
        self.max_rate = 0;
        self.samples = 0;
        self.rtts = 0;
    }
}
