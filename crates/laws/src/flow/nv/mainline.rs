//! NV as the Linux module does it. Units as there: microseconds, packets, 100 bit/s.

use super::{InFlight, NvParams};
use crate::Acts;
use crate::flow::{AckSample, CaState, FlowAct, FlowEvent, FlowSeen, Totals};
use crate::kernel_clock::micros;
use crate::linux_window::LinuxWindow;
use forebay_units::random::Stream;
use forebay_units::{Span, Time};

/// State of a flow.
#[derive(Clone, Debug)]
pub(super) struct Mainline {
    pub(super) params: NvParams,
    seed: u64,
    reset_at: Option<Time>, // when `min_rtt_new` takes over; none before the first ACK
    resets: u64,            // drawn so far
    rtt_start_seq: u64,     // the round trip ends when a byte beyond is acknowledged
    last_una: u64,
    pub(super) min_rtt: u32,     // reference; `NO_RTT`: none yet
    pub(super) min_rtt_new: u32, // least since the last reset
    base_rtt: u32,               // 0: not known
    lower_rtt: u32,
    pub(super) last_rtt: u32, // smoothed; 0: none since the last episode
    pub(super) max_rate: u64, // since the last decision
    no_cong: u32,             // clean decisions in a row
    pub(super) calls: u8,     // samples since the last decision; stops at 255
    pub(super) rtts: u8,      // round trips since the last decision; stops at 255
    pub(super) floor: u8,     // packets
    pub(super) growth: i8,    // log2 of the growth relative to Reno's
    pub(super) allowed: bool, // whether the window may grow
    episode: bool,            // the counters restart when all is well again
}

const NO_RTT: u32 = u32::MAX;

/// From the start of a flow to the first reset. Source: `tcpnv_init`.
const FIRST_RESET: Span = Span::from_secs(2);

/// 100 bit/s per byte in a microsecond.
const RATE_UNIT: u64 = 80_000;

/// Least and largest `growth`. The kernel bounds only the lower one; a larger shift than 31 it leaves undefined.
const MIN_GROWTH: i8 = -8;
const MAX_GROWTH: i8 = 31;

impl Mainline {
    pub(super) fn new(params: NvParams, seed: u64) -> Self {
        let base_rtt = params.base_rtt.0.map_or(0, micros);
        Self {
            params,
            seed,
            reset_at: None,
            resets: 0,
            rtt_start_seq: 0,
            last_una: 0,
            min_rtt: NO_RTT,
            min_rtt_new: NO_RTT,
            base_rtt,
            lower_rtt: (u64::from(base_rtt) * 205 / 256) as u32,
            last_rtt: 0,
            max_rate: 0,
            no_cong: 0,
            calls: 0,
            rtts: 0,
            floor: params.floor_min.get() as u8,
            growth: 0,
            allowed: true,
            episode: false,
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
            FlowEvent::Ack { acked, ece, sample, .. } => {
                self.settle(seen.totals);
                self.sample(window, now, seen.totals, sample, acts);
                let newly = window.growth(seen.totals, acked, ece);
                self.grow(window, newly, acts);
            }
            FlowEvent::Enter(state) => {
                self.enter(state);
                let kept = window.packets() * self.params.loss_dec_factor.get() / 1024;
                let ssthresh = window.at_least_two(kept * window.mss());
                window.enter(state, seen.totals, ssthresh, acts);
            }
            event => {
                window.usual(event, acts);
                if matches!(event, FlowEvent::Leave(_) | FlowEvent::Undo) {
                    self.settle(seen.totals);
                }
            }
        }
    }

    fn enter(&mut self, state: CaState) {
        if !matches!(state, CaState::Cwr | CaState::Recovery | CaState::Loss) {
            return;
        }
        self.episode = true;
        self.allowed = false;
        if state == CaState::Loss {
            self.growth = self.growth.min(0);
            if self.params.cwnd_growth_rate_neg.get() > 0 && self.growth > MIN_GROWTH {
                self.growth -= 1;
            }
        }
    }

    /// All is well again after an episode: the counters start anew.
    fn settle(&mut self, totals: &Totals) {
        if self.episode && totals.state == CaState::Open {
            self.episode = false;
            self.begin(totals);
        }
    }

    /// Nothing was measured yet. Source: `tcpnv_reset`.
    pub(super) fn begin(&mut self, totals: &Totals) {
        self.no_cong = 0;
        self.rtts = 0;
        self.calls = 0;
        self.last_rtt = 0;
        self.max_rate = 0;
        self.rtt_start_seq = totals.una;
        self.last_una = totals.una;
    }

    /// What an ACK measured, and at the end of a round trip what follows from it. Source: `tcpnv_acked`.
    fn sample(
        &mut self,
        window: &mut LinuxWindow,
        now: Time,
        totals: &Totals,
        sample: &AckSample,
        acts: &mut Acts<FlowAct>,
    ) {
        let reset_at = *self.reset_at.get_or_insert(now.saturating_add(FIRST_RESET));
        let Some(rtt) = sample.rtt else { return };
        if !matches!(sample.state, CaState::Open | CaState::Disorder) {
            return;
        }
        let acked = totals.una.saturating_sub(self.last_una);
        self.last_una = totals.una;
        let in_flight = match self.params.in_flight {
            InFlight::Delivered => totals.delivered.saturating_sub(sample.delivered_at_send),
            InFlight::Outstanding => sample.inflight_at_send.get(),
        };
        if in_flight == 0 {
            return;
        }
        let rtt = self.smoothed(micros(rtt));
        let rate = in_flight.min(u64::from(u32::MAX)) * RATE_UNIT / u64::from(rtt);
        self.max_rate = self.max_rate.max(rate);
        self.calls = self.calls.saturating_add(1);
        self.remember(rtt);
        if now >= reset_at {
            self.reset(now);
        }
        if self.rtt_start_seq < totals.una {
            self.round_trip(window, totals, acked, acts);
        }
    }

    fn smoothed(&mut self, rtt: u32) -> u32 {
        let weight = self.params.rtt_factor.get();
        if weight == 0 {
            return rtt;
        }
        let average = if self.last_rtt > 0 {
            let sum = u64::from(rtt) * weight + u64::from(self.last_rtt) * (256 - weight);
            ((sum / 256) as u32).max(1)
        } else {
            if self.min_rtt == NO_RTT || !self.params.keep_min_rtt {
                self.min_rtt = rtt.saturating_mul(2);
            }
            rtt
        };
        self.last_rtt = average;
        average
    }

    /// Least RTTs. A base RTT bounds what they take from a sample: at most it, at least four fifths of it.
    fn remember(&mut self, rtt: u32) {
        let rtt = if self.base_rtt > 0 { rtt.clamp(self.lower_rtt, self.base_rtt) } else { rtt };
        self.min_rtt = self.min_rtt.min(rtt);
        self.min_rtt_new = self.min_rtt_new.min(rtt);
    }

    /// The reference becomes the least RTT since the last reset.
    fn reset(&mut self, now: Time) {
        self.min_rtt = self.min_rtt_new;
        self.min_rtt_new = NO_RTT;
        let drawn = 384 + (Stream::at(self.seed, self.resets) & 0xff); // of 512ths
        self.resets += 1;
        let period = Span::from_ps(self.params.reset_period.as_ps() / 512).saturating_mul(drawn);
        self.reset_at = Some(now.saturating_add(period));
        self.floor = (self.floor / 2).max(self.params.floor_min.get() as u8);
    }

    /// Once per round trip: too few samples, congestion, or none.
    fn round_trip(
        &mut self,
        window: &mut LinuxWindow,
        totals: &Totals,
        acked: u64,
        acts: &mut Acts<FlowAct>,
    ) {
        let mss = window.mss();
        self.rtt_start_seq = totals.nxt;
        self.rtts = self.rtts.saturating_add(1);
        let bound = self.params.tso_bound.get() as u8 + 1;
        if self.calls == 1 && acked >= u64::from(self.floor - 1) * mss && self.floor < bound {
            let grown = u64::from(self.floor) + self.params.floor_grow.get();
            self.floor = grown.min(u64::from(bound)) as u8;
            self.rtt_start_seq = totals.nxt.saturating_add(u64::from(self.floor) * mss);
            self.calls = 0;
            self.allowed = true;
            return;
        }
        let target = self.max_rate.saturating_mul(u64::from(self.min_rtt)) / (RATE_UNIT * mss);
        let max_win = target + self.params.pad(10);
        let decided = if window.packets() > max_win {
            self.congested(window, max_win, acts)
        } else if window.packets() + self.params.pad_buffer.get() <= max_win {
            self.clear()
        } else {
            false
        };
        if decided {
            self.calls = 0;
            self.rtts = 0;
            self.max_rate = 0;
            if window.packets() < self.params.min_cwnd.get() {
                window.set_window(self.params.min_cwnd.get() * mss, acts);
            }
        }
    }

    /// The window is too large. Decreases it, if there is reason enough to be sure; returns whether.
    fn congested(
        &mut self,
        window: &mut LinuxWindow,
        max_win: u64,
        acts: &mut Acts<FlowAct>,
    ) -> bool {
        let p = &self.params;
        let (calls, rtts) = (u64::from(self.calls), u64::from(self.rtts));
        if rtts < p.rtt_min_cnt.get() {
            return false;
        }
        let first = !window.has_threshold();
        if first && calls < p.ssthresh_eval_min_calls.get() {
            return false;
        }
        if !first && calls < p.dec_eval_min_calls.get() {
            if rtts > p.stop_rtt_cnt.get() {
                self.allowed = false;
            }
            return false;
        }
        let mss = window.mss();
        window.set_threshold(p.ssthresh_factor.get() * max_win / 8 * mss, acts);
        let excess = window.packets() - max_win;
        if excess > 2 {
            let cut = (excess * p.cong_dec_mult.get() / 128).max(2);
            window.set_window(window.cwnd() - cut * mss, acts);
        } else if p.cong_dec_mult.get() > 0 {
            window.set_window(max_win * mss, acts);
        }
        self.allowed = false;
        self.growth = self.growth.min(0);
        self.no_cong = 0;
        true
    }

    /// The window leaves the queue short. Lets it grow, if there is reason enough; returns whether.
    fn clear(&mut self) -> bool {
        let p = &self.params;
        if u64::from(self.calls) < p.inc_eval_min_calls.get() {
            return false;
        }
        self.allowed = true;
        self.no_cong = self.no_cong.saturating_add(1);
        let rate = if self.growth < 0 { p.cwnd_growth_rate_neg } else { p.cwnd_growth_rate_pos };
        if rate.get() > 0 && u64::from(self.no_cong) > rate.get() {
            self.growth = (self.growth + 1).min(MAX_GROWTH);
            self.no_cong = 0;
        }
        true
    }

    /// Source: `tcpnv_cong_avoid`.
    fn grow(&mut self, window: &mut LinuxWindow, newly: u64, acts: &mut Acts<FlowAct>) {
        if !self.allowed {
            return;
        }
        window.grow(newly, acts, |window, left| {
            let cwnd = window.packets();
            let count = match self.growth {
                slower if slower < 0 => cwnd << slower.unsigned_abs(),
                faster => (cwnd >> faster).max(4),
            };
            window.additive(count * window.mss(), left);
        });
    }
}

impl NvParams {
    /// The pad in packets, where `auto` is so many.
    pub(super) fn pad(&self, auto: u64) -> u64 {
        self.pad.0.map_or(auto, |packets| packets.get())
    }
}
