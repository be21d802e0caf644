//! Timely: changes the rate by the gradient of the round-trip time, between two thresholds.
//!
//! Once per completed `segment` the law takes the round-trip time. Below `t_low` the rate rises by `delta`, above `t_high` it falls
//! by `beta` times the share by which the time exceeds `t_high`. In between, the smoothed difference to the last sample over
//! `min_rtt` is the gradient g: not above zero, the rate rises by `delta`, and from the fifth sample in a row on by five
//! times that (hyperactive increase); above zero, the rate falls by `beta` g.
//!
//! `per` says how often. `segment` is the paper's: one sample per `segment` acknowledged. `rtt` is the public HPCC simulator's: a
//! sample is due when everything that had been sent at the last one is acknowledged. `ack` is eRPC's: every ACK is a sample, and
//! `delta`, `beta` and `beta_p` count in proportion to the time since the last sample, up to one `min_rtt`.
//!
//! The HPCC simulator is `per = "rtt"`, `hai_below = true`, `hai_after = 6`: it counts samples below `t_low` too, gives those the
//! larger step as well, and gives the sixth in a row the first larger one. The paper's algorithm 1 says neither.
//!
//! What follows from it, and is the published law's doing: a gradient of zero says nothing of how long the queue is or who fills
//! it. Flows that started apart stay at different rates, and the queue rests anywhere between the thresholds. After one step up,
//! the smoothed difference only decays towards zero, so that a steady round trip still lowers the rate.
//!
//! `form = "patched"` looks between the thresholds at the delay itself: w goes from 0 at g = -1/4 to 1 at 1/4, and the rate changes
//! by (1 - w) `delta` less `beta_p` w of itself times the excess over `t_low`, in parts of `t_low`. N flows then rest at a
//! round-trip time of `t_low` (1 + N `delta` / (`beta_p` C)), each with an Nth of C: the queue grows with N, and the thresholds
//! have to leave room for it.
//!
//! There is no window: what is in flight is whatever the rate puts there in a round trip. A loss changes nothing; the paper's
//! fabric has none. Acknowledgements should ride a class of their own, since congestion on their way counts like any other.
//!
//! Source: Mittal et al., SIGCOMM 2015, algorithm 1 and section 4.3; patched: Zhu et al., CoNEXT 2016; `rtt`: rdma-hw.cc of the public
//! HPCC simulator; `ack`: timely.h of eRPC, which samples each packet and therefore sets alpha 0.02, `t_high` 1 ms, `min_rtt` 1 us,
//! `delta` 40 Mb/s.
//! Needs: an ACK for every packet. State: 72 bytes, parameters shared. Floats, by `+ - * /` alone.
//! Deviation: the sample is the newest packet's of the segment, less what its payload takes on the host's link; the paper measures the
//! segment from its first byte and takes out all of it, the HPCC simulator takes out nothing. Packets are spaced by the rate instead of segments sent in bursts.
//! Deviation: `r_min`, which the paper does not have, is that of the public HPCC simulator. No more than `max_cut` of the rate is
//! lost at once in the patched form, as in eRPC.

use super::{CaState, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Totals, Window};
use crate::params::{choice, decimal, params, whole};
use crate::{Acts, Start};
use alloc::sync::Arc;
use forebay_units::{BitsPerSec, Bytes, Span, Time};

params! {
    /// What a scenario may set on Timely.
    pub struct TimelyParams {
        /// How often a round-trip time is taken and the rate moved.
        per: RttSampling = RttSampling::Segment => "SIGCOMM 2015: a completion event, of 16 or 64 KB",
        /// What decides between the thresholds.
        form: Form = Form::Plain => "SIGCOMM 2015",
        /// Weight of the newest difference in the smoothed one.
        alpha: Share = Share::new(0.875) => "SIGCOMM 2015; the public HPCC simulator",
        /// Strength of a cut.
        beta: Share = Share::new(0.8) => "SIGCOMM 2015",
        /// Below this round-trip time the rate rises.
        t_low: Span = Span::from_us(50) => "SIGCOMM 2015",
        /// Above this round-trip time it falls.
        t_high: Span = Span::from_us(500) => "SIGCOMM 2015",
        /// Plain: the difference of this much between two samples is a gradient of one.
        min_rtt: Span = Span::from_us(20) => "SIGCOMM 2015, D_minRTT",
        /// Step up.
        delta: BitsPerSec = BitsPerSec::new(10_000_000) => "SIGCOMM 2015, for links of 10 Gb/s",
        /// Plain: samples in a row without a positive gradient from which on steps are larger.
        hai_after: Count = Count::new(5) => "SIGCOMM 2015; the public HPCC simulator: 6",
        /// Plain: whether samples below t_low count towards the larger steps, and take them.
        hai_below: bool = false => "SIGCOMM 2015; the public HPCC simulator: true",
        /// Plain: by how much they are larger.
        hai_factor: Count = Count::new(5) => "SIGCOMM 2015",
        /// Patched: strength of the pull towards t_low.
        beta_p: Share = Share::new(0.008) => "CoNEXT 2016",
        /// Patched: most that one sample between the thresholds takes off the rate.
        max_cut: Share = Share::new(0.5) => "timely.h of eRPC",
        /// Per segment: bytes acknowledged from one sample to the next.
        segment: Bytes = Bytes::new(64_000) => "SIGCOMM 2015: 16 or 64 KB",
        /// Least rate.
        r_min: BitsPerSec = BitsPerSec::new(100_000_000) => "the public HPCC simulator",
        /// Rate to start with, as a share of the host's link; the paper: 1 / (flows of the host + 1).
        start: Share = Share::new(1.0) => "the public HPCC simulator",
    }
}

choice! {
    /// How often a round-trip time is taken.
    pub enum RttSampling {
        /// Once per `segment` acknowledged.
        Segment = "segment",
        /// Once per round trip.
        Rtt = "rtt",
        /// With every ACK.
        Ack = "ack",
    }
}

choice! {
    /// What decides between the thresholds.
    pub enum Form {
        /// The gradient.
        Plain = "plain",
        /// The gradient and the delay.
        Patched = "patched",
    }
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.001 to 1.0;
}

whole! {
    /// A count.
    pub struct Count: "whole number" from 1 to 255;
}

/// A flow under Timely.
#[derive(Clone, Debug)]
pub struct Timely {
    rate: f64, // bit/s; invariant: from `r_min` to `line`
    line: f64,
    prev_rtt: f64, // s; below 0: no sample yet
    rtt_diff: f64, // s
    next: u64,     // the segment or round trip under way ends here
    last: Time,    // of the last sample
    serial: f64,   // s that a packet's payload takes on the host's link
    params: Arc<TimelyParams>,
    stage: u8, // samples in a row without a positive gradient
}

impl FlowLaw for Timely {
    const NAME: &'static str = "timely";
    const NEEDS: Needs = Needs { every_packet: true, ..Needs::NONE };
    type Params = Arc<TimelyParams>;

    fn start(params: &Arc<TimelyParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let line = (at.line_rate.get() as f64).max(1.0);
        let mut timely = Self {
            rate: line * params.start.get(),
            line,
            prev_rtt: -1.0,
            rtt_diff: 0.0,
            next: 0,
            last: Time::ZERO,
            serial: at.mss.get() as f64 * 8.0 / line,
            params: Arc::clone(params),
            stage: 0,
        };
        timely.rate = timely.clamp(timely.rate);
        acts.push(FlowAct::Window(Window::UNBOUNDED));
        acts.push(FlowAct::Rate(bps(timely.rate)));
        timely
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { sample, .. } => {
                let Some(rtt) = sample.rtt else { return };
                if !self.is_due(seen.totals) {
                    return;
                }
                let before = bps(self.rate);
                let part = self.part(now);
                self.sampled((rtt.as_secs_f64() - self.serial).max(0.0), part);
                if bps(self.rate) != before {
                    acts.push(FlowAct::Rate(bps(self.rate)));
                }
            }
            FlowEvent::Enter(CaState::Cwr | CaState::Recovery | CaState::Loss) => {
                acts.push(FlowAct::Ssthresh(Bytes::MAX));
                acts.push(FlowAct::Window(Window::UNBOUNDED));
            }
            FlowEvent::Leave(_) | FlowEvent::Undo => acts.push(FlowAct::Window(Window::UNBOUNDED)),
            _ => {}
        }
    }
}

impl Timely {
    /// Whether an ACK with these totals brings a sample, and what ends the one after.
    fn is_due(&mut self, totals: &Totals) -> bool {
        let Totals { una, nxt, .. } = *totals;
        let (due, next) = match self.params.per {
            RttSampling::Segment => {
                (una >= self.next, una.saturating_add(self.params.segment.get()))
            }
            RttSampling::Rtt => (una > self.next, nxt.max(self.next)),
            RttSampling::Ack => (true, 0),
        };
        if due {
            self.next = next;
        }
        due
    }

    /// How much of a step a sample now is worth: all, or with every ACK the time since the last one in units of `min_rtt`.
    fn part(&mut self, now: Time) -> f64 {
        let last = core::mem::replace(&mut self.last, now);
        match self.params.per {
            RttSampling::Segment | RttSampling::Rtt => 1.0,
            RttSampling::Ack => {
                (now.since(last).as_secs_f64() / secs(self.params.min_rtt)).min(1.0)
            }
        }
    }

    /// One round-trip time in s, worth this part of a step.
    fn sampled(&mut self, rtt: f64, part: f64) {
        let p = &*self.params;
        let prev = core::mem::replace(&mut self.prev_rtt, rtt);
        if prev < 0.0 {
            return;
        }
        let alpha = p.alpha.get();
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * (rtt - prev);
        let gradient = self.rtt_diff / secs(p.min_rtt);
        let (low, high) = (secs(p.t_low), secs(p.t_high));
        let (delta, beta) = (p.delta.get() as f64 * part, p.beta.get() * part);
        let patched = p.form == Form::Patched;
        let next = if rtt < low && (patched || !p.hai_below) {
            self.rate + delta
        } else if rtt > high {
            self.stage = 0;
            self.rate * (1.0 - beta * (1.0 - high / rtt))
        } else if patched {
            let w = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let pull = p.beta_p.get() * part * w * (rtt - low) / low;
            (delta * (1.0 - w) + self.rate * (1.0 - pull)).max(self.rate * (1.0 - p.max_cut.get()))
        } else if rtt < low || gradient <= 0.0 {
            self.stage = self.stage.saturating_add(1);
            let many = u64::from(self.stage) >= p.hai_after.get();
            self.rate + delta * if many { p.hai_factor.get() as f64 } else { 1.0 }
        } else {
            self.stage = 0;
            self.rate * (1.0 - beta * gradient).max(0.0)
        };
        self.rate = self.clamp(next);
    }

    fn clamp(&self, rate: f64) -> f64 {
        rate.max((self.params.r_min.get() as f64).max(1.0)).min(self.line)
    }
}

/// In s, and above zero.
fn secs(span: Span) -> f64 {
    span.as_secs_f64().max(1e-12)
}

/// In whole bit/s; at least one.
fn bps(rate: f64) -> BitsPerSec {
    BitsPerSec::new((rate as u64).max(1))
}

#[cfg(test)]
mod tests;
