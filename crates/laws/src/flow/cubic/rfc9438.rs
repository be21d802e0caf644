//! CUBIC in the words of RFC 9438. Windows in segments, times in seconds.

use super::CubicParams;
use crate::Acts;
use crate::flow::{CaState, FlowAct, FlowEvent, FlowSeen, Totals};
use crate::linux_window::LinuxWindow;
use forebay_units::math::cbrt;
use forebay_units::{Span, Time};

/// State of a flow.
#[derive(Clone, Debug)]
pub(super) struct Rfc9438 {
    pub(super) params: CubicParams,
    c: f64,
    beta: f64,
    pub(super) w_max: f64, // 0: no loss yet, or a timeout was the last
    prior: f64,            // window before the last cut
    pub(super) epoch: Option<Epoch>,
    last_ack: Time,
}

/// Congestion avoidance since the last congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    start: Time,
    pub(super) k: f64,
    origin: f64,
    w_est: f64,
}

/// C of section 5 for the default `bic_scale`, whose fixed point is a little larger.
const C: f64 = 0.4;
const DEFAULT_SCALE: f64 = 41.0;
const BETA: f64 = 0.7;
const DEFAULT_BETA: u64 = 717;

impl Rfc9438 {
    pub(super) fn new(params: CubicParams) -> Self {
        let beta = match params.beta.get() {
            DEFAULT_BETA => BETA,
            other => other as f64 / 1024.0,
        };
        Self {
            params,
            c: C * params.bic_scale.get() as f64 / DEFAULT_SCALE,
            beta,
            w_max: 0.0,
            prior: f64::INFINITY,
            epoch: None,
            last_ack: Time::ZERO,
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
            FlowEvent::Ack { acked, ece, .. } => {
                if !seen.totals.cwnd_limited {
                    self.pause(now.since(self.last_ack));
                }
                self.last_ack = now;
                let newly = window.growth(seen.totals, acked, ece);
                window.grow(newly, acts, |window, left| {
                    self.avoid(window, now, seen.totals.srtt, left);
                });
            }
            FlowEvent::Enter(state) => self.enter(window, state, seen.totals, acts),
            event => {
                if let FlowEvent::TxStart { idle, .. } = event {
                    self.pause(idle);
                    self.last_ack = now;
                }
                window.usual(event, acts);
            }
        }
    }

    /// Time in which the application did not fill the window does not count (section 4.2).
    fn pause(&mut self, span: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(span);
        }
    }

    /// Sections 4.2 to 4.5.
    fn avoid(&mut self, window: &mut LinuxWindow, now: Time, rtt: Span, newly: u64) {
        let mss = window.mss();
        let cwnd = window.cwnd() as f64 / mss as f64;
        let acked = newly as f64 / mss as f64;
        let (c, beta) = (self.c, self.beta);
        let begin = || {
            // After a timeout, or without any loss, the function starts where it is flat (section 4.8).
            let origin = self.w_max.max(cwnd);
            Epoch { start: now, k: cbrt((origin - cwnd) / c), origin, w_est: cwnd }
        };
        let epoch = self.epoch.get_or_insert_with(begin);
        let w = |t: f64| {
            let off = t - epoch.k;
            c * off * off * off + epoch.origin
        };
        let t = now.since(epoch.start).as_secs_f64();
        let (at_once, ahead) = (w(t), w(t + rtt.as_secs_f64()));
        let alpha = if epoch.w_est < self.prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        if self.params.tcp_friendliness && at_once < epoch.w_est {
            let segments = epoch.w_est as u64; // saturates, and the window has its own bound
            window.raise(segments.saturating_mul(mss));
        } else {
            let target = ahead.clamp(cwnd, 1.5 * cwnd);
            if target > cwnd {
                window.additive((cwnd / (target - cwnd) * mss as f64) as u64, newly);
            }
        }
    }

    /// Sections 4.6 to 4.8.
    fn enter(
        &mut self,
        window: &mut LinuxWindow,
        state: CaState,
        totals: &Totals,
        acts: &mut Acts<FlowAct>,
    ) {
        let mut ssthresh = 0;
        if window.begins_episode(state) {
            let cwnd = window.cwnd() as f64 / window.mss() as f64;
            let losing = self.params.fast_convergence && cwnd < self.w_max;
            self.w_max = if losing { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
            self.prior = cwnd;
            self.epoch = None;
            let flight = totals.nxt.saturating_sub(totals.una).min(window.cwnd());
            ssthresh = window.at_least_two((flight as f64 * self.beta) as u64);
        }
        window.enter(state, totals, ssthresh, acts);
        if state == CaState::Loss {
            self.w_max = 0.0;
            self.epoch = None;
        }
    }
}
