//! HPCC: sets the window by the INT records of the most loaded hop.
//!
//! Every ACK carries for each hop what its port had sent, when, and the queue it left. From two of them the sender knows the share
//! u = queue / (B T) + rate / B of the fullest hop (the lesser of both queues, so that a short burst does not count), and smooths
//! it over a round trip to U. The window is `w_ai` more than a reference window, which is divided by U / `eta` if U is at
//! least `eta`, or if `max_stage` round trips in a row only added. The reference moves once per round trip, the window with every
//! ACK, always from the same reference: reacting at once without reacting twice. The window is paced over T.
//!
//! At rest U = `eta` + N `w_ai` / (B T) without a queue, as long as that is below one; beyond it the queue is N `w_ai` less what
//! `eta` keeps free. Dividing preserves ratios; only `w_ai` makes windows equal, by a part in a thousand per round trip
//! where 80 bytes meet a product of 160 KB: fairness takes milliseconds.
//!
//! U starts at `u_start`. The paper does not say where. Its public simulator has one: a flow starts with a window of B T, which fills
//! its path once, until an ACK says otherwise. With zero the first ACKs after a start measure too little, and windows of an incast
//! shrink later than there.
//!
//! Source: Li et al., SIGCOMM 2019, sections 3 and 4, algorithm 1; start of U: rdma-queue-pair.cc of the public HPCC simulator.
//! Needs: telemetry of each hop on an ACK for every packet; T, the longest empty round trip of the fabric, the same for all
//! flows. State: 88 bytes, parameters shared. Floats, by `+ - * /` alone.
//! Deviation: counters do not wrap and are not rounded; after idleness nothing is forgotten, since U then follows the newest sample
//! anyway. A loss changes nothing: the fabric has none. A path with another number of hops begins anew, as the first ACK
//! does.

use super::{CaState, FlowAct, FlowEvent, FlowLaw, FlowSeen, IntHop, Needs, Window};
use crate::params::{ParamType, decimal, or_word, params, whole};
use crate::{Acts, Start};
use alloc::sync::Arc;
use core::fmt;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on HPCC.
    pub struct HpccParams {
        /// Target utilisation of the fullest hop.
        eta: Share = Share::new(0.95) => "SIGCOMM 2019",
        /// Round trips in a row that only add before the window follows U again; 0: it always does.
        max_stage: Stages = Stages::new(5) => "SIGCOMM 2019; the public simulator's script has 0",
        /// Additive increase per round trip: bytes, or a rate, for what it fills in T, fractions of a byte included.
        w_ai: Increase = Increase::PerRoundTrip(Bytes::new(80)) => "SIGCOMM 2019, section 5.1",
        /// U of a flow that has measured nothing yet.
        u_start: Load = Load::new(1.0) => "the public simulator, rdma-queue-pair.cc; SIGCOMM 2019 does not say",
        /// T; auto: as the scenario knows it, or else 13us.
        base_rtt: BaseRtt = BaseRtt(None) => "SIGCOMM 2019, section 5.1",
        /// No window is less than this rate fills in T.
        r_min: BitsPerSec = BitsPerSec::new(100_000_000) => "the public simulator",
    }
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.01 to 1.0;
}

decimal! {
    /// What a flow finds under way, in units of B T.
    pub struct Load: "share" from 0.0 to 1.0;
}

whole! {
    /// A number of round trips.
    pub struct Stages: "whole number" from 0 to 255;
}

or_word! {
    /// A round-trip time, where it is known.
    pub struct BaseRtt: "auto" or Span, "a time from 1us to 1s, such as \"13us\"" if |t| (Span::from_us(1)..=Span::from_secs(1)).contains(t);
}

/// W_ai: the paper has bytes, its public simulator a rate (`RATE_AI`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Increase {
    /// Bytes per round trip.
    PerRoundTrip(Bytes),
    /// Bytes that this rate fills in T, not rounded.
    Rate(BitsPerSec),
}

impl Increase {
    /// Bytes per round trip of `base` seconds.
    fn bytes(self, base: f64) -> f64 {
        match self {
            Self::PerRoundTrip(bytes) => bytes.get() as f64,
            Self::Rate(rate) => bytes_in(rate, base),
        }
    }
}

impl fmt::Display for Increase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerRoundTrip(bytes) => fmt::Display::fmt(bytes, f),
            Self::Rate(rate) => fmt::Display::fmt(rate, f),
        }
    }
}

impl ParamType for Increase {
    const RANGE: &'static str = "a size or a rate with its unit, such as \"80B\" or \"50Mbps\"";

    fn parse(text: &str) -> Option<Self> {
        let rate = || ParamType::parse(text).map(Self::Rate);
        ParamType::parse(text).map(Self::PerRoundTrip).or_else(rate)
    }
}

/// A flow under HPCC.
#[derive(Clone, Debug)]
pub struct Hpcc {
    window: f64, // bytes; invariant: both from `least` to `most`
    reference: f64,
    least: f64,
    most: f64, // the host's link times T
    base: f64, // T in s
    u: f64,
    last_update: u64, // an ACK beyond it moves the reference
    params: Arc<HpccParams>,
    stage: u8,
}

impl FlowLaw for Hpcc {
    const NAME: &'static str = "hpcc";
    const NEEDS: Needs = Needs { int: true, every_packet: true, ..Needs::NONE };
    const FLOOR_MILLI_MSS: u32 = 1;
    type Params = Arc<HpccParams>;

    fn start(params: &Arc<HpccParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let base = params.base_rtt.0.or(at.base_rtt).unwrap_or(BASE_RTT).as_secs_f64().max(1e-9);
        let floor = at.mss.get() as f64 / 1000.0;
        let window_of = |rate| bytes_in(rate, base).max(floor);
        let most = window_of(at.line_rate);
        let hpcc = Self {
            window: most,
            reference: most,
            least: window_of(params.r_min).min(most),
            most,
            base,
            u: params.u_start.get(),
            last_update: 0,
            params: Arc::clone(params),
            stage: 0,
        };
        hpcc.apply(acts);
        hpcc
    }

    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { hops, .. } if !hops.is_empty() => {
                let measured = self.measure(hops);
                let (una, nxt) = (seen.totals.una, seen.totals.nxt);
                match measured {
                    None => self.last_update = nxt,
                    Some(u) => {
                        self.u = u;
                        self.compute(una > self.last_update);
                        if una > self.last_update {
                            self.last_update = nxt;
                        }
                        self.apply(acts);
                    }
                }
            }
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                acts.push(FlowAct::Ssthresh(Bytes::new(self.window as u64)));
                self.apply(acts);
            }
            FlowEvent::Leave(_) | FlowEvent::Undo => self.apply(acts),
            _ => {}
        }
    }
}

/// Source: SIGCOMM 2019, section 5.1.
const BASE_RTT: Span = Span::from_us(13);

/// Bytes of `rate` in so many seconds.
fn bytes_in(rate: BitsPerSec, seconds: f64) -> f64 {
    rate.get() as f64 / 8.0 * seconds
}

impl Hpcc {
    /// U after these hops; none if none of them is known.
    fn measure(&self, hops: &[IntHop]) -> Option<f64> {
        let (mut most, mut tau) = (0.0, 0.0);
        let mut any = false;
        for hop in hops.iter().filter_map(IntHop::change) {
            any = true;
            let [before, after] = hop.queue;
            let queue = before.min(after) / (hop.rate * self.base);
            let u = queue + hop.sent / hop.dt / hop.rate;
            if u > most {
                (most, tau) = (u, hop.dt.min(self.base));
            }
        }
        let weight = tau / self.base;
        any.then_some((1.0 - weight) * self.u + weight * most)
    }

    /// The window of this ACK, and the reference of the next round trip where this one ends.
    fn compute(&mut self, update: bool) {
        let more = self.params.w_ai.bytes(self.base);
        let follows =
            self.u >= self.params.eta.get() || u64::from(self.stage) >= self.params.max_stage.get();
        let (window, stage) = match follows {
            true => (self.reference / (self.u / self.params.eta.get()) + more, 0),
            false => (self.reference + more, self.stage.saturating_add(1)),
        };
        self.window = window.min(self.most).max(self.least);
        if update {
            (self.reference, self.stage) = (self.window, stage);
        }
    }

    /// Sets window and pacing rate.
    fn apply(&self, acts: &mut Acts<FlowAct>) {
        acts.push(FlowAct::Window(Window::from_raw((self.window * 256.0 + 0.5) as u64)));
        let rate = self.window * 8.0 / self.base;
        acts.push(FlowAct::Rate(BitsPerSec::new((rate as u64).max(1))));
    }
}

#[cfg(test)]
mod tests;
