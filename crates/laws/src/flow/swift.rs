//! Swift: keeps the delays of fabric and hosts at targets, with windows below one packet where needed.
//!
//! Two windows of the same rule, and the lesser one holds. One follows the delay of links and switches, the other the delay of
//! the two hosts (smoothed). Below its target a window grows by `ai` packets per round trip; at or above, at most once
//! per round trip, it loses `beta` times the share by which the delay exceeds the target, but no more than `max_mdf`. A loss
//! costs `max_mdf`; `retx_reset` timeouts in a row leave the least window. Below one packet, packets leave one by one, a
//! round trip over the window apart: a thousand flows can share what one window of a packet each would overrun.
//!
//! The target of the fabric is `base_target`, plus `hop_scale` per hop, plus what flow scaling adds: `fs_range` at
//! `fs_min_cwnd` packets, falling with one over the root of the window to nothing at `fs_max_cwnd`. Small windows so get a
//! longer target, which makes them grow while large ones shrink, and leaves room for the noise of many flows.
//!
//! N equal flows hold the queue at the target less the empty round trip, with windows of rate times target over N; above it
//! lies what all of them add in a round trip. What a host does to a packet before its NIC has stamped it counts as fabric.
//! NICs here stamp as a packet comes off the cable, so waits in the NIC buffer and on the path to memory are the hosts'.
//!
//! Source: Kumar et al., SIGCOMM 2020, section 3; constants that the paper leaves open as in htsim's `swift.cpp`, whose
//! authors call them guesses.
//! Needs: NIC time stamps, an ACK for every packet. State: 96 bytes, parameters shared. Floats, by `+ - * /` alone.
//! Deviation: grows only while the window is what limits sending, and by bytes delivered, of a packet or a part.
//! Deviation: where nothing counts hops there are none, and `base_target` has to include them. An undo gives back what the
//! loss took. A loss is punished as its recovery begins, as in the paper; htsim does it at the end.
//! Assumption: the hosts' delay is smoothed with a weight of 1/8; the target of the hosts is 100 us. A round trip is the
//! newest measured, or where none was, the smoothed one: a sparse flow smooths over more time than a queue stands.

use super::{CaState, DelaySplit, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Totals, Window};
use crate::params::{Gain, decimal, params, whole};
use crate::{Acts, Start};
use alloc::sync::Arc;
use forebay_units::{Bytes, Span, Time, math};

params! {
    /// What a scenario may set on Swift.
    pub struct SwiftParams {
        /// Packets that a window gains per round trip.
        ai: Increase = Increase::new(1.0) => "htsim, a guess; reproductions use 0.5 to 1",
        /// Share of the relative excess of the delay that a cut takes.
        beta: Share = Share::new(0.8) => "htsim, a guess",
        /// Most that a cut takes, as a share of the window.
        max_mdf: Share = Share::new(0.5) => "htsim, a guess",
        /// Target of the fabric delay before hops and flow scaling.
        base_target: Span = Span::from_us(20) => "htsim; the paper studies about 25us",
        /// What each hop of the forward path adds to it.
        hop_scale: Span = Span::from_ns(3_050) => "htsim: base_target / 6.55",
        /// Whether small windows have a longer target.
        flow_scaling: bool = true => "SIGCOMM 2020 section 3.1",
        /// Most that flow scaling adds to the target.
        fs_range: Span = Span::from_us(100) => "htsim: 5 base_target",
        /// Packets of the window at which it adds all of it.
        fs_min_cwnd: Packets = Packets::new(0.1) => "SIGCOMM 2020 section 3.1",
        /// Packets of the window from which on it adds nothing; without effect unless above fs_min_cwnd.
        fs_max_cwnd: Packets = Packets::new(100.0) => "SIGCOMM 2020 section 3.1",
        /// Target of the delay of both hosts.
        endpoint_target: Span = Span::from_us(100) => "assumed",
        /// Weight of the newest delay of the hosts in the smoothed one.
        endpoint_gain: Gain = Gain::from_shift(3) => "assumed",
        /// Least window in packets.
        min_cwnd: Packets = Packets::new(0.001) => "SIGCOMM 2020",
        /// Largest window in packets; the least one wins where the two cross.
        max_cwnd: Packets = Packets::new(1000.0) => "htsim",
        /// Timeouts in a row after which the window is the least one.
        retx_reset: Timeouts = Timeouts::new(5) => "htsim RETX_RESET_THRESHOLD",
    }
}

decimal! {
    /// Packets per round trip.
    pub struct Increase: "number of packets" from 0.001 to 100.0;
}

decimal! {
    /// A share of something.
    pub struct Share: "share" from 0.001 to 1.0;
}

decimal! {
    /// A window in packets.
    pub struct Packets: "number of packets" from 0.001 to 65535.0;
}

whole! {
    /// A number of timeouts.
    pub struct Timeouts: "whole number" from 1 to 255;
}

/// A flow under Swift.
#[derive(Clone, Debug)]
pub struct Swift {
    fabric: Aimd,
    hosts: Aimd,
    prior: [f64; 2],  // windows before the episode that runs; 0: none does
    hosts_delay: f64, // s, smoothed; below 0: no sample yet
    slope: f64,       // `a` of flow scaling in s; 0: off
    offset: f64,      // one over the root of `fs_max_cwnd`, so that b is `-slope * offset`
    delivered: u64,   // `Totals::delivered` at the last ACK
    params: Arc<SwiftParams>,
    mss: u32,
    timeouts: u8,
    paced: bool,
}

/// One of the two windows.
#[derive(Clone, Copy, Debug)]
struct Aimd {
    cwnd: f64, // packets; invariant: from `min_cwnd` to `max_cwnd`
    decreased: Time,
}

impl FlowLaw for Swift {
    const NAME: &'static str = "swift";
    const NEEDS: Needs = Needs { stamps: true, every_packet: true, own_cwr: true, ..Needs::NONE };
    const FLOOR_MILLI_MSS: u32 = 1;
    type Params = Arc<SwiftParams>;

    fn start(params: &Arc<SwiftParams>, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let mss = u32::try_from(at.mss.get()).unwrap_or(u32::MAX).max(1);
        let cwnd = params.clamp(at.initial_window.get() as f64 / f64::from(mss));
        let window = Aimd { cwnd, decreased: Time::ZERO };
        let (slope, offset) = params.flow_scaling();
        let mut swift = Self {
            fabric: window,
            hosts: window,
            prior: [0.0; 2],
            hosts_delay: -1.0,
            slope,
            offset,
            delivered: 0,
            params: Arc::clone(params),
            mss,
            timeouts: 0,
            paced: false,
        };
        swift.apply(Span::ZERO, acts);
        swift
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        let mut rtt = seen.totals.srtt;
        match seen.event {
            FlowEvent::Ack { delay, sample, .. } => {
                rtt = sample.rtt.unwrap_or(rtt);
                self.acked(now, seen.totals, rtt, delay);
            }
            FlowEvent::Enter(state @ (CaState::Cwr | CaState::Recovery | CaState::Loss)) => {
                self.lost(now, rtt, state);
                let whole = self.cwnd().max(1.0) * f64::from(self.mss);
                acts.push(FlowAct::Ssthresh(Bytes::new(whole as u64)));
            }
            FlowEvent::Leave(_) => self.prior = [0.0; 2],
            FlowEvent::Undo => {
                let [fabric, hosts] = core::mem::take(&mut self.prior);
                self.fabric.cwnd = self.fabric.cwnd.max(fabric);
                self.hosts.cwnd = self.hosts.cwnd.max(hosts);
            }
            _ => return,
        }
        self.apply(rtt, acts);
    }
}

impl Swift {
    fn acked(&mut self, now: Time, totals: &Totals, rtt: Span, delay: Option<&DelaySplit>) {
        let newly = totals.delivered.saturating_sub(self.delivered);
        self.delivered = totals.delivered;
        self.timeouts = 0;
        let Some(delay) = delay else { return };
        let packets = if totals.cwnd_limited { newly as f64 / f64::from(self.mss) } else { 0.0 };
        let fabric = secs(delay.forward) + secs(delay.backward);
        let hosts = secs(delay.remote_host) + secs(delay.local_host);
        self.hosts_delay = match self.hosts_delay < 0.0 {
            true => hosts,
            false => {
                let gain = 1.0 / f64::from(1u32 << self.params.endpoint_gain.shift());
                self.hosts_delay + gain * (hosts - self.hosts_delay)
            }
        };
        let ack = Ack { now, rtt, packets };
        let target = self.target(delay.hops);
        self.fabric.acked(&self.params, ack, fabric, target);
        let target = secs(self.params.endpoint_target);
        self.hosts.acked(&self.params, ack, self.hosts_delay, target);
    }

    /// Target of the fabric delay in s.
    fn target(&self, hops: u8) -> f64 {
        let p = &self.params;
        let path = secs(p.base_target) + f64::from(hops) * secs(p.hop_scale);
        if self.slope == 0.0 {
            return path;
        }
        let scaled = self.slope * (math::inverse_sqrt(self.fabric.cwnd) - self.offset);
        path + scaled.clamp(0.0, secs(p.fs_range))
    }

    /// Both windows lose; many timeouts leave nothing but the least.
    fn lost(&mut self, now: Time, rtt: Span, state: CaState) {
        if self.prior == [0.0; 2] {
            self.prior = [self.fabric.cwnd, self.hosts.cwnd];
        }
        self.timeouts = if state == CaState::Loss { self.timeouts.saturating_add(1) } else { 0 };
        let reset = u64::from(self.timeouts) >= self.params.retx_reset.get();
        for window in [&mut self.fabric, &mut self.hosts] {
            if reset {
                window.set(&self.params, now, self.params.min_cwnd.get());
            } else if window.may_cut(now, rtt) {
                window.set(&self.params, now, window.cwnd * (1.0 - self.params.max_mdf.get()));
            }
        }
    }

    /// Packets: the lesser of both windows.
    fn cwnd(&self) -> f64 {
        self.fabric.cwnd.min(self.hosts.cwnd)
    }

    /// The window, and the gap between packets where it is below one or was.
    fn apply(&mut self, rtt: Span, acts: &mut Acts<FlowAct>) {
        let cwnd = self.cwnd();
        let raw = cwnd * f64::from(self.mss) * 256.0 + 0.5;
        acts.push(FlowAct::Window(Window::from_raw(raw as u64)));
        let paced = cwnd < 1.0;
        if paced || self.paced {
            let gap = if paced { rtt.as_ps() as f64 / cwnd } else { 0.0 };
            acts.push(FlowAct::Gap(Span::from_ps(gap as u64)));
        }
        self.paced = paced;
    }
}

/// What both windows take from an ACK.
#[derive(Clone, Copy)]
struct Ack {
    now: Time,
    rtt: Span,
    packets: f64, // newly delivered, as far as they count for growth
}

impl Aimd {
    fn acked(&mut self, p: &SwiftParams, ack: Ack, delay: f64, target: f64) {
        if delay < target {
            let gain = p.ai.get() * ack.packets;
            self.set(p, ack.now, self.cwnd + gain / self.cwnd.max(1.0));
        } else if self.may_cut(ack.now, ack.rtt) && delay > 0.0 {
            let keeps = 1.0 - p.beta.get() * (delay - target) / delay;
            self.set(p, ack.now, self.cwnd * keeps.max(1.0 - p.max_mdf.get()));
        }
    }

    /// At most one cut per round trip.
    fn may_cut(&self, now: Time, rtt: Span) -> bool {
        now.since(self.decreased) >= rtt
    }

    fn set(&mut self, p: &SwiftParams, now: Time, cwnd: f64) {
        let cwnd = p.clamp(cwnd);
        if cwnd < self.cwnd {
            self.decreased = now;
        }
        self.cwnd = cwnd;
    }
}

impl SwiftParams {
    fn clamp(&self, cwnd: f64) -> f64 {
        cwnd.min(self.max_cwnd.get()).max(self.min_cwnd.get())
    }

    /// `a` in s, and one over the root of `fs_max_cwnd`.
    fn flow_scaling(&self) -> (f64, f64) {
        let least = math::inverse_sqrt(self.fs_max_cwnd.get());
        let spread = math::inverse_sqrt(self.fs_min_cwnd.get()) - least;
        let on = self.flow_scaling && spread > 0.0;
        (if on { secs(self.fs_range) / spread } else { 0.0 }, least)
    }
}

fn secs(span: Span) -> f64 {
    span.as_secs_f64()
}

#[cfg(test)]
mod tests;
