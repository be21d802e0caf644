//! PowerTCP: sets the window by the power of a path: bytes in it times the rate at which bytes enter.
//!
//! The power of a hop is (rate in + rate out of the change of its queue) times (queue + B T); over B^2 T, which it is when the link is
//! full and the queue empty, it is the normalised power G, above one where the hop is fuller or becomes so. Each ACK moves
//! the window to `gamma` (w / G + beta) + (1 - `gamma`) times itself, w being the window when the packet was sent, G that
//! of the hop with the most, smoothed over a round trip, and beta = B T / `flows`, with the host's rate.
//!
//! At rest G = 1 + N beta / (B T): windows add up to B T + N beta, so the queue is exactly N beta, at one point only. Off it, the
//! error loses `gamma` of itself per update, since power falls as soon as a queue drains, before it is gone.
//!
//! `form = "delay"` (theta-PowerTCP) needs no switch: G = (1 + change of the round-trip time over time) RTT / T, once per round trip.
//! What grows on the way back counts as well, and what is below the resolution of the round-trip time is not seen.
//!
//! Where senders have stopped, nothing comes in: power is read as none while the queue still stands, and all windows jump to their most.
//! That can go on for ever (a limit cycle). `least_current` bounds what comes in from below, as the public code does.
//!
//! Source: Addanki et al., NSDI 2022, algorithms 1 and 2; number of flows, and T where it is not known: the Linux module of one of
//! its groups. The public ns-3 code differs: of it there is the bound, 0.5 of a hop's rate, and not the rest (rate out alone, G over 0.95,
//! another beta).
//! Needs: telemetry of each hop, or with delay nothing; an ACK for every packet; T. State: 96 bytes, 256 apart for
//! telemetry, parameters shared. Floats, by `+ - * /` alone.
//! Deviation: never more than B T + beta, where a lone flow rests (Assumption; a link of a host has no queue that a switch could
//! report, and the window would grow without end), nor less than a thousandth of a packet. Windows are paced over T.
//! Deviation: a loss changes nothing. With delay, the window starts as the transport's where T is not known yet.

use super::{CaState, FlowAct, FlowEvent, FlowLaw, FlowSeen, IntHop, Needs, Totals, Window};
use crate::params::{choice, decimal, or_word, params, whole};
use crate::{Acts, Start};
use alloc::sync::Arc;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on PowerTCP.
    pub struct PowerTcpParams {
        /// What power is seen by.
        form: Form = Form::Int => "NSDI 2022, algorithm 1",
        /// Weight of the newest window.
        gamma: Share = Share::new(0.9) => "NSDI 2022",
        /// Flows that share the host's link; each holds an nth of B T in the queue.
        flows: Flows = Flows::new(10) => "the Linux module, expected_flows",
        /// Least rate into a hop that power counts, over the hop's rate; 0: whatever comes in.
        least_current: Current = Current::new(0.0) => "NSDI 2022; its public ns-3 code has 0.5",
        /// T; auto: as the scenario knows it, or else 13us, or with delay the least measured.
        base_rtt: BaseRtt = BaseRtt(None) => "as HPCC, SIGCOMM 2019; with delay the Linux module",
    }
}

choice! {
    /// What power is seen by.
    pub enum Form {
        /// Telemetry of the hops.
        Int = "int",
        /// Round-trip times.
        Delay = "delay",
    }
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.01 to 1.0;
}

decimal! {
    /// What comes into a hop over the hop's rate.
    pub struct Current: "share" from 0.0 to 1.0;
}

whole! {
    /// A number of flows.
    pub struct Flows: "whole number" from 1 to 65535;
}

or_word! {
    /// A round-trip time, where it is known.
    pub struct BaseRtt: "auto" or Span, "a time from 1us to 1s, such as \"13us\"" if |t| (Span::from_us(1)..=Span::from_secs(1)).contains(t);
}

/// A flow under PowerTCP.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    window: f64, // bytes
    power: f64,  // smoothed; 0: no sample yet
    line: f64,   // bytes per s
    base: f64,   // T in s; 0: not known yet
    floor: f64,  // bytes
    by: RateUpdate,
    params: Arc<PowerTcpParams>,
}

#[derive(Clone, Debug)]
enum RateUpdate {
    Hops,
    Delay { prev_rtt: Span, prev_at: Time, next: u64 },
}

impl FlowLaw for PowerTcp {
    const NAME: &'static str = "powertcp";
    const NEEDS: Needs = Needs { int: true, every_packet: true, ..Needs::NONE };
    const FLOOR_MILLI_MSS: u32 = 1;
    type Params = Arc<PowerTcpParams>;

    fn start(params: &Arc<PowerTcpParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let known = params.base_rtt.0.or(at.base_rtt).filter(|base| *base > Span::ZERO);
        let (by, base) = match params.form {
            Form::Int => (RateUpdate::Hops, known.unwrap_or(BASE_RTT)),
            Form::Delay => {
                let by = RateUpdate::Delay { prev_rtt: Span::ZERO, prev_at: Time::ZERO, next: 0 };
                (by, known.unwrap_or(Span::ZERO))
            }
        };
        let mut power = Self {
            window: at.initial_window.get() as f64,
            power: 0.0,
            line: (at.line_rate.get() as f64 / 8.0).max(1.0),
            base: base.as_secs_f64(),
            floor: at.mss.get() as f64 / 1000.0,
            by,
            params: Arc::clone(params),
        };
        if base > Span::ZERO {
            power.window = power.line * power.base;
        }
        power.set(power.window, acts);
        power
    }

    fn needs(&self) -> Needs {
        Needs { int: matches!(self.by, RateUpdate::Hops), ..Self::NEEDS }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { sample, hops, .. } => {
                let power = match &mut self.by {
                    RateUpdate::Hops => of_hops(self.base, self.params.least_current.get(), hops),
                    RateUpdate::Delay { .. } => self.of_delay(now, seen.totals, sample.rtt),
                };
                let Some((power, dt)) = power else { return };
                self.smooth(power, dt);
                let sent = sample.cwnd_at_send.get() as f64;
                let old = if sent > 0.0 { sent } else { self.window };
                let gamma = self.params.gamma.get();
                let next = old / self.power + self.beta();
                self.set(gamma * next + (1.0 - gamma) * self.window, acts);
            }
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                acts.push(FlowAct::Ssthresh(Bytes::new(self.window as u64)));
                self.set(self.window, acts);
            }
            FlowEvent::Leave(_) | FlowEvent::Undo => self.set(self.window, acts),
            _ => {}
        }
    }
}

/// Source: SIGCOMM 2019 (HPCC), section 5.1.
const BASE_RTT: Span = Span::from_us(13);

impl PowerTcp {
    /// Bytes that a flow adds per update, and holds in the queue at rest.
    fn beta(&self) -> f64 {
        self.line * self.base / self.params.flows.get() as f64
    }

    /// Once per round trip, the power that its round-trip times show, and the time since the last in s.
    fn of_delay(&mut self, now: Time, totals: &Totals, rtt: Option<Span>) -> Option<(f64, f64)> {
        let known = self.params.base_rtt.0.is_some();
        let RateUpdate::Delay { prev_rtt, prev_at, next } = &mut self.by else { return None };
        let rtt = rtt.filter(|rtt| *rtt > Span::ZERO)?;
        if totals.una < *next {
            return None;
        }
        *next = totals.nxt;
        let prev = core::mem::replace(prev_rtt, rtt);
        let dt = now.since(core::mem::replace(prev_at, now)).as_secs_f64();
        if !known {
            let least = totals.min_rtt.min(rtt).as_secs_f64();
            self.base = if self.base > 0.0 { self.base.min(least) } else { least };
        }
        if prev == Span::ZERO || dt <= 0.0 {
            return None;
        }
        let rtt = rtt.as_secs_f64();
        let slope = (rtt - prev.as_secs_f64()) / dt;
        let current = (slope + 1.0).max(self.params.least_current.get());
        Some((current * rtt / self.base, dt))
    }

    fn smooth(&mut self, power: f64, dt: f64) {
        let weight = (dt / self.base).min(1.0);
        let before = if self.power > 0.0 { self.power } else { power };
        self.power = (before * (1.0 - weight) + power * weight).max(LEAST_POWER);
    }

    fn set(&mut self, window: f64, acts: &mut Acts<FlowAct>) {
        let known = self.base > 0.0;
        let most = if known { self.line * self.base + self.beta() } else { f64::MAX };
        self.window = window.min(most).max(self.floor);
        acts.push(FlowAct::Window(Window::from_raw((self.window * 256.0 + 0.5) as u64)));
        let rate = if known { (self.window / self.base).min(self.line) } else { self.line };
        acts.push(FlowAct::Rate(BitsPerSec::new(((rate * 8.0) as u64).max(1))));
    }
}

/// So that nothing is divided by zero. Assumption: far below what a queue can drain in a round trip.
const LEAST_POWER: f64 = 1e-6;

/// The most power that a hop shows since the last ACK, and the time between them in s.
fn of_hops(base: f64, least_current: f64, hops: &[IntHop]) -> Option<(f64, f64)> {
    let mut most: Option<(f64, f64)> = None;
    for hop in hops.iter().filter_map(IntHop::change) {
        let [before, after] = hop.queue;
        let current = (after - before + hop.sent) / hop.dt;
        let current = current.max(least_current * hop.rate);
        let voltage = after + hop.rate * base;
        let power = (current * voltage / (hop.rate * hop.rate * base)).max(0.0);
        if most.is_none_or(|(least, _)| power > least) {
            most = Some((power, hop.dt));
        }
    }
    most
}

#[cfg(test)]
mod tests;
