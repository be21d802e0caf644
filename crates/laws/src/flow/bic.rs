//! BIC as in Linux: searches for the window of the last loss by halving the distance.
//!
//! Below the window of the last loss, `last_max`, each round trip adds a quarter of the distance, but at
//! most `max_increment` segments; near it one segment per five round trips; above it ever more again. A
//! loss, or a mark where `ecn` is on, keeps `beta` of the window, or half of one of at most `low_window`
//! segments, which also grows like Reno's. A timeout forgets `last_max`.
//!
//! Linux divides the growth by the packets that an ACK covers, a running mean. That was right while
//! kernels grew per ACK. They count packets since, so that stretch ACKs of k packets grow the window up to k
//! times faster than the paper, and the mean rests at 31/16 where each ACK covers one packet, so that even
//! those grow it 1.9 times faster. `delack_comp` chooses: `linux` does that, `legacy` counts ACKs and
//! divides, `paper` counts packets and does not divide. Slow start of `legacy` counts ACKs, too: where one
//! ACK covers two packets, a round trip adds a half and not as much again (2.6.34 `tcp_slow_start`, without ABC).
//!
//! A lone flow at a buffer of a quarter of a bandwidth-delay product has two steady states, and 5 us of jitter decide which: the
//! 0.8 that a loss keeps of the 1.25 products that path and buffer hold is just one product, so that a little more or less leaves
//! the link busy or idle after each cut. There, compare goodput over several seeds and not over one run.
//!
//! Source: Xu, Harfoush, Rhee (INFOCOM 2004); Linux `tcp_bic.c` (4.x to 6.x).
//! Needs: nothing, or the classic echo with `ecn`. State: 152 bytes, most of them apart from the flow's.
//! Integers only, 64-bit divisions only.
//! Deviation: counts bytes and grows in whole segments; windows are whole segments, rounded down, where
//! Linux counts packets.

use super::{CaState, Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Totals};
use crate::kernel_clock::Hz;
use crate::linux_window::LinuxWindow;
use crate::params::{Of1024, Packets, SomePackets, choice, params, whole};
use crate::{Acts, Start};
use alloc::boxed::Box;
use forebay_units::{Bytes, Time};

params! {
    /// What a scenario may set on BIC.
    pub struct BicParams {
        /// Share of the window that a loss keeps, above `low_window`.
        beta: Of1024 = Of1024::new(819) => "Linux tcp_bic.c, 0.7998",
        /// Most segments that a round trip adds (Smax).
        max_increment: SomePackets = SomePackets::new(16) => "Linux tcp_bic.c",
        /// A window up to this behaves like Reno's.
        low_window: Packets = Packets::new(14) => "Linux tcp_bic.c",
        /// Near `last_max`, a segment takes `smooth_part / b` round trips.
        smooth_part: SomePackets = SomePackets::new(20) => "Linux tcp_bic.c",
        /// The search goes this part of the way to `last_max` each round trip.
        b: Divisor = Divisor::new(4) => "Linux tcp_bic.c, BICTCP_B",
        /// Whether a loss below `last_max` remembers a lower one, which makes room for newcomers.
        fast_convergence: bool = true => "Linux tcp_bic.c",
        /// Threshold that slow start begins with; 0 leaves it infinite.
        initial_ssthresh: Packets = Packets::new(0) => "Linux tcp_bic.c since 2.6.21; 100 before",
        /// What the growth counts, and whether it is divided by the packets per ACK.
        delack_comp: DelackComp = DelackComp::Linux => "Linux tcp_bic.c",
        /// Clock of the kernel: growth is worked out anew when the window changed or 1/32 s passed.
        hz: Hz = Hz::Thousand => "Linux CONFIG_HZ",
        /// Whether packets are sent ECN-capable, so that a mark cuts as a loss does and no packet is lost.
        ecn: bool = false => "Linux tcp_ecn = 2: ECN only where the peer asks",
    }
}

whole! {
    /// Of a search: two or more, since the whole way at once is no search.
    pub struct Divisor: "whole number" from 2 to 65535;
}

choice! {
    /// How growth counts under ACKs that cover several packets.
    pub enum DelackComp {
        /// Counts packets, and divides.
        Linux = "linux",
        /// Counts ACKs, and divides: kernels until 3.18.
        Legacy = "legacy",
        /// Counts packets and does not divide.
        Paper = "paper",
    }
}

/// A flow under BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    window: LinuxWindow,
    growth: Box<BicGrowth>,
}

impl FlowLaw for Bic {
    const NAME: &'static str = "bic";
    const NEEDS: Needs = Needs::NONE;
    type Params = BicParams;

    fn start(params: &BicParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let mut window = LinuxWindow::new(&at, acts);
        let growth = Box::new(BicGrowth::new(*params, &mut window, acts));
        Self { window, growth }
    }

    fn needs(&self) -> Needs {
        Needs { echo: Echo::classic_if(self.growth.params.ecn), ..Self::NEEDS }
    }

    fn step(&mut self, now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { acked, ece, sample, .. } => {
                self.growth.count(sample.state, acked, self.window.mss());
                let newly = self.window.growth(seen.totals, acked, ece);
                self.growth.grow(&mut self.window, now, newly, acts);
            }
            FlowEvent::Enter(state) => {
                self.growth.enter(&mut self.window, state, seen.totals, acts);
            }
            event => self.window.usual(event, acts),
        }
    }
}

/// BIC without a window of its own, so that other laws can stand on it.
#[derive(Clone, Debug)]
pub(super) struct BicGrowth {
    params: BicParams,
    cnt: u64,         // packets to deliver for one more in the window
    last_max: u64,    // packets; 0: no loss yet, or none since a timeout
    last_cwnd: u64,   // packets, when `cnt` was worked out
    last_time: u32,   // in ticks, likewise
    delayed_ack: u32, // sixteenths of packets per ACK, a running mean
}

/// Two packets per ACK, before anything is known. Source: `tcp_bic.c`, `ACK_RATIO_SHIFT`.
const DELAYED_ACK: u32 = 2 << ACK_RATIO_SHIFT;
const ACK_RATIO_SHIFT: u32 = 4;

/// Without a `last_max`, at least one packet more per so many delivered: 5 % per round trip.
const MAX_CNT_WITHOUT_LOSS: u64 = 20;

impl BicGrowth {
    /// Before any loss. Slow start of `window` ends at the initial threshold, if there is one.
    pub(super) fn new(
        params: BicParams,
        window: &mut LinuxWindow,
        acts: &mut Acts<FlowAct>,
    ) -> Self {
        if params.initial_ssthresh.get() > 0 {
            window.set_threshold(params.initial_ssthresh.get() * window.mss(), acts);
        }
        Self::fresh(params)
    }

    fn fresh(params: BicParams) -> Self {
        Self { params, cnt: 0, last_max: 0, last_cwnd: 0, last_time: 0, delayed_ack: DELAYED_ACK }
    }

    /// Every ACK: how many packets it covers.
    pub(super) fn count(&mut self, state: CaState, acked: Bytes, mss: u64) {
        if state == CaState::Open && acked > Bytes::ZERO {
            let packets = u32::try_from(acked.get().div_ceil(mss)).unwrap_or(u32::MAX);
            self.delayed_ack -= self.delayed_ack >> ACK_RATIO_SHIFT;
            self.delayed_ack = self.delayed_ack.saturating_add(packets);
        }
    }

    /// An ACK that delivered `newly` bytes and may grow the window.
    pub(super) fn grow(
        &mut self,
        window: &mut LinuxWindow,
        now: Time,
        newly: u64,
        acts: &mut Acts<FlowAct>,
    ) {
        let counted = match self.params.delack_comp {
            DelackComp::Legacy if newly > 0 => window.mss(),
            _ => newly,
        };
        window.grow(counted, acts, |window, left| {
            self.update(now, window.packets());
            window.additive(self.cnt.saturating_mul(window.mss()), left);
        });
    }

    /// Works out `cnt`, unless it was for this window less than 1/32 s ago.
    fn update(&mut self, now: Time, cwnd: u64) {
        let now = self.params.hz.ticks(now);
        let fresh = now.wrapping_sub(self.last_time) as i32 <= (self.params.hz.get() / 32) as i32;
        if self.last_cwnd == cwnd && fresh {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        self.cnt = self.packets_per_increase(cwnd).max(1);
    }

    fn packets_per_increase(&self, cwnd: u64) -> u64 {
        let p = &self.params;
        if cwnd <= p.low_window.get() {
            return cwnd;
        }
        let (b, most) = (p.b.get(), p.max_increment.get());
        let slowly = cwnd * p.smooth_part.get() / b;
        let fastest = cwnd / most;
        let cnt = if cwnd < self.last_max {
            match (self.last_max - cwnd) / b {
                step if step > most => fastest,
                0 | 1 => slowly,
                step => cwnd / step,
            }
        } else {
            match cwnd - self.last_max {
                beyond if beyond < b => slowly,
                beyond if beyond < most * (b - 1) => cwnd * (b - 1) / beyond,
                _ => fastest,
            }
        };
        let cnt = if self.last_max == 0 { cnt.min(MAX_CNT_WITHOUT_LOSS) } else { cnt };
        match p.delack_comp {
            DelackComp::Paper => cnt,
            // Never zero: the mean gains at least one for each sixteenth part it loses.
            DelackComp::Linux | DelackComp::Legacy => {
                (cnt << ACK_RATIO_SHIFT) / u64::from(self.delayed_ack)
            }
        }
    }

    /// A state is entered: a new episode cuts, and a timeout also forgets what was learnt.
    pub(super) fn enter(
        &mut self,
        window: &mut LinuxWindow,
        state: CaState,
        totals: &Totals,
        acts: &mut Acts<FlowAct>,
    ) {
        let mss = window.mss();
        let ssthresh =
            if window.begins_episode(state) { self.cut(window.packets()) * mss } else { 0 };
        window.enter(state, totals, ssthresh, acts);
        if state == CaState::Loss {
            *self = Self::fresh(self.params);
        }
    }

    /// Remembers the window that was too large; returns the threshold in packets.
    fn cut(&mut self, cwnd: u64) -> u64 {
        let beta = self.params.beta.get();
        self.last_max = remembered(cwnd, self.last_max, beta, self.params.fast_convergence);
        let kept = if cwnd <= self.params.low_window.get() { cwnd / 2 } else { cwnd * beta / 1024 };
        kept.max(2)
    }
}

/// The window to search for after a loss at `cwnd`, all in packets: less than `cwnd` where the flow
/// is losing ground, so that it leaves room for one that gains. Also CUBIC's.
pub(super) fn remembered(cwnd: u64, last_max: u64, beta: u64, fast_convergence: bool) -> u64 {
    if cwnd < last_max && fast_convergence { cwnd * (1024 + beta) / 2048 } else { cwnd }
}

#[cfg(test)]
mod tests;
