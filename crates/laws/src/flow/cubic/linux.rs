//! CUBIC in the kernel's integers: packets, ticks, 1/1024 s for the function's time.

mod hystart;

use super::CubicParams;
use crate::Acts;
use crate::flow::bic::remembered;
use crate::flow::{AckSample, CaState, FlowAct, FlowEvent, FlowSeen, Totals};
use crate::kernel_clock::micros;
use crate::linux_window::LinuxWindow;
use forebay_units::math::cube_root;
use forebay_units::{Span, Time};
use hystart::HyStart;

/// State of a flow.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    pub(super) params: CubicParams,
    pub(super) cnt: u64,      // packets to deliver for one more in the window
    pub(super) last_max: u64, // packets; 0: no loss yet, or none since a timeout
    last_cwnd: u64,           // packets, when `cnt` was last worked out
    last_time: u32,           // in ticks, likewise
    pub(super) epoch: Option<Epoch>,
    pub(super) delay_min: Span, // whole us; zero: no sample yet
    pub(super) hystart: HyStart,
}

/// From the first growth after a loss to the next loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    start: u32, // in ticks; idle time moves it
    acked: u64, // bytes not yet turned into growth of the Reno-like flow
    pub(super) reno_cwnd: u64,
    pub(super) origin: u64, // window where the function is flat
    pub(super) k: u64,      // until it gets there, in 1/1024 s
}

/// Without a `last_max`, at least one packet more per so many delivered: 5 % per round trip.
const MAX_CNT_WITHOUT_LOSS: u64 = 20;
/// At most half as many more as are delivered.
const MIN_CNT: u64 = 2;
/// RTTs of the beginning of an epoch do not count.
const YOUNG_SECONDS: u32 = 1;

impl Linux {
    pub(super) fn new(
        params: CubicParams,
        window: &mut LinuxWindow,
        acts: &mut Acts<FlowAct>,
    ) -> Self {
        if !params.hystart && params.initial_ssthresh.get() > 0 {
            window.set_threshold(params.initial_ssthresh.get() * window.mss(), acts);
        }
        Self {
            params,
            cnt: 0,
            last_max: 0,
            last_cwnd: 0,
            last_time: 0,
            epoch: None,
            delay_min: Span::ZERO,
            hystart: HyStart::default(),
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
                self.measure(window, now, seen.totals, sample, acts);
                let newly = window.growth(seen.totals, acked, ece);
                window.grow(newly, acts, |window, left| {
                    self.update(now, window.packets(), left, window.mss());
                    window.additive(self.cnt.saturating_mul(window.mss()), left);
                });
                if self.params.hystart {
                    self.hystart.end_ack(window, seen.totals);
                }
            }
            FlowEvent::Enter(state) => self.enter(window, state, now, seen.totals, acts),
            event => {
                if let FlowEvent::TxStart { idle, .. } = event {
                    self.resume(now, idle);
                }
                window.usual(event, acts);
            }
        }
    }

    /// Least RTT, and HyStart. Source: `cubictcp_acked`.
    fn measure(
        &mut self,
        window: &mut LinuxWindow,
        now: Time,
        totals: &Totals,
        sample: &AckSample,
        acts: &mut Acts<FlowAct>,
    ) {
        let Some(rtt) = sample.rtt else { return };
        let hz = self.params.hz;
        let ticks = hz.ticks(now);
        let young = |epoch: Epoch| {
            (ticks.wrapping_sub(epoch.start) as i32) < (YOUNG_SECONDS * hz.get()) as i32
        };
        if self.epoch.is_some_and(young) {
            return;
        }
        let delay = Span::from_us(u64::from(micros(rtt)));
        if self.delay_min == Span::ZERO || delay < self.delay_min {
            self.delay_min = delay;
        }
        let p = &self.params;
        if p.hystart && !self.hystart.found && window.in_slow_start() {
            self.hystart.look(p, self.delay_min, now, delay, window, totals);
            if self.hystart.found {
                window.set_threshold(window.cwnd(), acts);
            }
        }
    }

    /// Works out `cnt`: of the function at most once per tick, of the Reno-like flow at each new window.
    pub(super) fn update(&mut self, now: Time, cwnd: u64, newly: u64, mss: u64) {
        let p = &self.params;
        let now = p.hz.ticks(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(newly);
        }
        let since = now.wrapping_sub(self.last_time) as i32;
        if self.last_cwnd == cwnd && since <= (p.hz.get() / 32) as i32 {
            return;
        }
        if self.epoch.is_none() || since != 0 {
            self.last_cwnd = cwnd;
            self.last_time = now;
            let epoch = self.epoch.unwrap_or_else(|| self.begin(now, cwnd, newly));
            self.epoch = Some(epoch);
            self.cnt = self.packets_per_increase(&epoch, now, cwnd);
        }
        if self.params.tcp_friendliness
            && let Some(epoch) = &mut self.epoch
        {
            let most = epoch.reno(cwnd, mss, self.params.beta.get());
            self.cnt = self.cnt.min(most);
        }
        self.cnt = self.cnt.max(MIN_CNT);
    }

    fn begin(&self, now: u32, cwnd: u64, newly: u64) -> Epoch {
        let short = self.last_max.saturating_sub(cwnd);
        let origin = self.last_max.max(cwnd);
        // short * 2^40 / C fits 64 bits for any window below 2^23 packets, which is cut off there.
        let scale = (1 << 40) / (10 * self.params.bic_scale.get());
        let k = u64::from(cube_root(scale.saturating_mul(short)));
        Epoch { start: now, acked: newly, reno_cwnd: cwnd, origin, k }
    }

    /// The function, one least RTT ahead.
    fn packets_per_increase(&self, epoch: &Epoch, now: u32, cwnd: u64) -> u64 {
        let hz = self.params.hz;
        let ticks = i64::from(now.wrapping_sub(epoch.start) as i32).max(0) as u64;
        let t = ((ticks + hz.covering(self.delay_min)) << 10) / u64::from(hz.get());
        let off = t.abs_diff(epoch.k).min(1 << 21); // half an hour; its cube fits
        let delta = (u128::from(10 * self.params.bic_scale.get()) * u128::from(off).pow(3)) >> 40;
        let delta = delta as u64;
        let target =
            if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta };
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 { cnt.min(MAX_CNT_WITHOUT_LOSS) } else { cnt }
    }

    fn enter(
        &mut self,
        window: &mut LinuxWindow,
        state: CaState,
        now: Time,
        totals: &Totals,
        acts: &mut Acts<FlowAct>,
    ) {
        let mut ssthresh = 0;
        if window.begins_episode(state) {
            let (cwnd, beta) = (window.packets(), self.params.beta.get());
            self.last_max = remembered(cwnd, self.last_max, beta, self.params.fast_convergence);
            self.epoch = None;
            ssthresh = (cwnd * beta / 1024).max(2) * window.mss();
        }
        window.enter(state, totals, ssthresh, acts);
        if state == CaState::Loss {
            self.cnt = 0;
            self.last_max = 0;
            self.last_cwnd = 0;
            self.last_time = 0;
            self.epoch = None;
            self.delay_min = Span::ZERO;
            self.hystart = self.hystart.round(now, totals);
        }
    }

    /// Idle time does not count. Source: `cubictcp_cwnd_event`.
    fn resume(&mut self, now: Time, idle: Span) {
        let hz = self.params.hz;
        let sent = Time::from_ps(now.as_ps().saturating_sub(idle.as_ps()));
        let now = hz.ticks(now);
        let idle = now.wrapping_sub(hz.ticks(sent));
        if let Some(epoch) = &mut self.epoch {
            let start = epoch.start.wrapping_add(idle);
            let ahead = start.wrapping_sub(now) as i32 > 0;
            epoch.start = if ahead { now } else { start };
        }
    }
}

impl Epoch {
    /// Lets the Reno-like flow take its share of what was delivered; returns the packets per increase
    /// that catch up with it.
    fn reno(&mut self, cwnd: u64, mss: u64, beta: u64) -> u64 {
        // Eighths: one packet more per 15/8 of a window where beta is 0.7.
        let scale = 8 * (1024 + beta) / 3 / (1024 - beta);
        let bytes = (cwnd * scale / 8).max(1).saturating_mul(mss);
        if self.acked > bytes {
            let more = (self.acked - 1) / bytes;
            self.acked -= more * bytes;
            self.reno_cwnd += more;
        }
        if self.reno_cwnd > cwnd { cwnd / (self.reno_cwnd - cwnd) } else { u64::MAX }
    }
}
