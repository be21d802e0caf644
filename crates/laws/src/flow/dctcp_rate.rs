//! DCTCP as a rate law, in the form that RDMA simulators use.
//!
//! Alpha is DCTCP's: the smoothed share of marked ACKs, moved by `g` once per round trip. The first mark outside a reduction takes
//! alpha/2 of the rate, and everything sent by then has to be acknowledged before the next one may. Each round trip that ends
//! outside a reduction adds `r_ai`. What is in flight is bounded by the window that `window` says, in proportion to the rate
//! unless it says otherwise. There is no slow start: a flow starts at the rate of its link.
//!
//! N flows of a port hold N `r_ai` T more than the link carries when the mark comes, as windows that grow by a segment do with
//! `r_ai` = a segment per T. Between marks the rate is a ramp in time and not in ACKs, so that the step per round trip
//! is the same in seconds for a short path and for a long one, unlike that of `dctcp`.
//!
//! Source: `CC_MODE 8` (HandleAckDctcp) of rdma-hw.cc, rdma-queue-pair.cc and run.py of the public HPCC simulator; the law that it
//! makes a rate of: Alizadeh et al., SIGCOMM 2010, RFC 8257.
//! Needs: the exact echo, on an ACK for every packet. State: 80 bytes, parameters shared. Floats, by `+ - * /` alone.
//! Deviation: a loss changes nothing, as there; the fabric has none. `r_ai` is by default a segment per `base_rtt`, which is where
//! run.py has its 615 Mb/s from; the class has 1 Gb/s.

use super::dcqcn::Cap;
use super::{CaState, Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Totals, Window};
use crate::params::{Gain, or_word, params};
use crate::{Acts, Start};
use alloc::sync::Arc;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on DCTCP as a rate.
    pub struct DctcpRateParams {
        /// Weight of the newest share of marks in alpha.
        g: Gain = Gain::from_shift(4) => "SIGCOMM 2010; HPCC simulator run.py",
        /// Additive increase per round trip; auto: a segment per base_rtt.
        r_ai: Rate = Rate(None) => "HPCC simulator run.py: 615 Mb/s, 1 KB per 13 us; rdma-hw.cc: 1 Gb/s",
        /// Least rate.
        r_min: BitsPerSec = BitsPerSec::new(100_000_000) => "HPCC simulator rdma-hw.cc",
        /// Bound on what is in flight: none, what the link's rate fills in base_rtt, or what the current rate does.
        window: Cap = Cap::Variable => "HPCC simulator run.py: HAS_WIN 1, VAR_WIN 1",
        /// Round-trip time of the empty path, for window and r_ai; auto: as the scenario knows it, or else 13us.
        base_rtt: BaseRtt = BaseRtt(None) => "SIGCOMM 2019 (HPCC)",
    }
}

or_word! {
    /// A rate, or as the path says.
    pub struct Rate: "auto" or BitsPerSec, "a rate above zero, such as \"615Mbps\"" if |r| r.get() > 0;
}

or_word! {
    /// A round-trip time, where it is known.
    pub struct BaseRtt: "auto" or Span, "a time of 1us or more, such as \"13us\"" if |t| t.as_us() > 0;
}

/// A flow under DCTCP as a rate.
#[derive(Clone, Debug)]
pub struct DctcpRate {
    rate: f64, // bit/s; invariant: from `r_min` to `line`
    line: f64,
    alpha: f64,
    base: f64,       // base_rtt in s
    round_end: u64,  // an ACK beyond it ends a round trip; 0: none has begun
    reduced_to: u64, // an ACK beyond it ends the reduction
    packets: u64,    // that the round trip is taken to have
    marked: u64,     // ACKs of it that echoed congestion
    params: Arc<DctcpRateParams>,
    mss: u32,
    reduced: bool,
}

impl FlowLaw for DctcpRate {
    const NAME: &'static str = "dctcp-rate";
    const NEEDS: Needs =
        Needs { echo: Echo::Exact, every_packet: true, own_cwr: true, ..Needs::NONE };
    type Params = Arc<DctcpRateParams>;

    fn start(params: &Arc<DctcpRateParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let line = (at.line_rate.get() as f64).max(1.0);
        let base = params.base_rtt.0.or(at.base_rtt).unwrap_or(BASE_RTT);
        let law = Self {
            rate: line,
            line,
            alpha: 1.0,
            base: base.as_secs_f64().max(1e-9),
            round_end: 0,
            reduced_to: 0,
            packets: 0,
            marked: 0,
            params: Arc::clone(params),
            mss: u32::try_from(at.mss.get()).unwrap_or(u32::MAX).max(1),
            reduced: false,
        };
        acts.push(FlowAct::Rate(bps(law.rate)));
        acts.push(FlowAct::Window(law.window()));
        law
    }

    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { ece, .. } => {
                let before = bps(self.rate);
                self.acked(seen.totals, ece);
                if bps(self.rate) != before {
                    acts.push(FlowAct::Rate(bps(self.rate)));
                    if self.params.window == Cap::Variable {
                        acts.push(FlowAct::Window(self.window()));
                    }
                }
            }
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                acts.push(FlowAct::Ssthresh(Bytes::MAX));
                acts.push(FlowAct::Window(self.window()));
            }
            FlowEvent::Leave(_) | FlowEvent::Undo => acts.push(FlowAct::Window(self.window())),
            _ => {}
        }
    }
}

/// Source: SIGCOMM 2019 (HPCC), section 5.1.
const BASE_RTT: Span = Span::from_us(13);

impl DctcpRate {
    /// One ACK, in the order of HandleAckDctcp: alpha, end of a reduction, cut, increase.
    fn acked(&mut self, totals: &Totals, marked: bool) {
        let Totals { una, nxt, .. } = *totals;
        self.marked = self.marked.saturating_add(u64::from(marked));
        let round_over = una > self.round_end;
        if round_over {
            self.round_over(una, nxt);
        }
        if self.reduced && una > self.reduced_to {
            self.reduced = false;
        }
        if marked && !self.reduced {
            self.rate = self.clamp(self.rate * (1.0 - self.alpha / 2.0));
            (self.reduced, self.reduced_to) = (true, nxt);
        }
        if round_over && !self.reduced {
            self.rate = self.clamp(self.rate + self.increase());
        }
    }

    /// Marks of the first round trip count towards the second, and no alpha comes of it alone.
    fn round_over(&mut self, una: u64, nxt: u64) {
        let mss = u64::from(self.mss);
        let packets = |bytes: u64| (bytes / mss).saturating_add(1);
        if self.round_end == 0 {
            self.packets = packets(nxt);
        } else {
            let share = (self.marked as f64 / self.packets as f64).min(1.0);
            let g = 1.0 / f64::from(1u32 << self.params.g.shift());
            self.alpha = (1.0 - g) * self.alpha + g * share;
            self.marked = 0;
            self.packets = packets(nxt.saturating_sub(una));
        }
        self.round_end = nxt;
    }

    /// In bit/s.
    fn increase(&self) -> f64 {
        let segment = f64::from(self.mss) * 8.0 / self.base;
        self.params.r_ai.0.map_or(segment, |rate| rate.get() as f64)
    }

    fn clamp(&self, rate: f64) -> f64 {
        rate.max(self.params.r_min.get() as f64).min(self.line)
    }

    fn window(&self) -> Window {
        let rate = match self.params.window {
            Cap::None => return Window::UNBOUNDED,
            Cap::Fixed => self.line,
            Cap::Variable => self.rate,
        };
        let raw = (rate / 8.0 * self.base * 256.0) as u64;
        Window::from_raw(raw.max(u64::from(self.mss) * 256)) // a segment at least
    }
}

/// In whole bit/s; at least one.
fn bps(rate: f64) -> BitsPerSec {
    BitsPerSec::new((rate as u64).max(1))
}

#[cfg(test)]
mod tests;
