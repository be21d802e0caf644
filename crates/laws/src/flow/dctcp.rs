//! DCTCP: cuts the window in proportion to the share of marked bytes.
//!
//! Once per window of data, alpha moves by `g` towards the share of delivered bytes that were marked.
//! The first echoed mark of a window cuts the window by alpha/2; in between it grows like Reno. Loss
//! halves it, whatever alpha says. Alpha starts at 1, so that the first marked window is halved.
//!
//! Never below two segments by a cut: N flows keep at least 2N segments in the network, which marks
//! cannot reduce. That is the published law, not a fault of this one.
//!
//! Source: RFC 8257 section 3; Alizadeh et al. (SIGCOMM 2010) section 3; Linux `tcp_dctcp.c`.
//! Needs: the exact echo. State: 96 bytes. Integers only, 64-bit divisions only.
//! Deviation from Linux, each with a switch back: the window is cut at once instead of over a round trip
//! (`prr_on_ce`), by bytes instead of whole segments (`cut`), and alpha keeps 30 bits instead of 10
//! (`alpha`). All three follow the RFC's pseudo-code; Linux counts marked packets, this marked bytes.
//! Deviation: a loss during the reduction after a mark halves the reduced window, where Linux halves
//! the window that PRR has reached by then. A window that delivered nothing leaves alpha alone.

use super::{CaState, Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs, Totals};
use crate::linux_window::LinuxWindow;
use crate::params::{Gain, choice, params};
use crate::{Acts, Start};
use forebay_units::Time;

params! {
    /// What a scenario may set on DCTCP.
    pub struct DctcpParams {
        /// Weight of the newest window in alpha.
        g: Gain = Gain::from_shift(4) => "RFC 8257 section 4.2; Linux dctcp_shift_g",
        /// Arithmetic of alpha.
        alpha: AlphaForm = AlphaForm::Exact => "RFC 8257 section 3.3",
        /// Whether a cut is rounded to whole segments.
        cut: CutForm = CutForm::Bytes => "RFC 8257 section 3.3",
        /// Whether a mark lets the transport walk the window down over a round trip, instead of at once.
        prr_on_ce: bool = false => "RFC 8257 section 3.3; Linux does the walk",
    }
}

choice! {
    /// Arithmetic of alpha.
    pub enum AlphaForm {
        /// 30 fractional bits, each term rounded down: off the real value by less than 2^(s-29) for
        /// g = 2^-s.
        Exact = "exact",
        /// Linux: units of 1/1024; below 1/g units it drops to zero at once.
        Linux = "linux",
    }
}

choice! {
    /// Rounding of a cut.
    pub enum CutForm {
        /// To bytes, the cut rounded down.
        Bytes = "bytes",
        /// To segments, the cut rounded down: small windows then ignore a small alpha, as in Linux.
        Packets = "packets",
    }
}

/// A flow under DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: LinuxWindow,
    next_seq: u64,      // the window being measured ends here
    old_delivered: u64, // totals at its start
    old_delivered_ce: u64,
    alpha: u32, // in units of 1 / `unit()`; invariant: at most 1
    params: DctcpParams,
}

/// One, in the two forms of alpha.
const EXACT_ONE: u32 = 1 << EXACT_BITS;
const EXACT_BITS: u32 = 30;
const LINUX_ONE: u32 = 1 << LINUX_BITS;
const LINUX_BITS: u32 = 10;

impl FlowLaw for Dctcp {
    const NAME: &'static str = "dctcp";
    const NEEDS: Needs = Needs { echo: Echo::Exact, own_cwr: true, ..Needs::NONE };
    type Params = DctcpParams;

    fn start(params: &DctcpParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        let alpha = match params.alpha {
            AlphaForm::Exact => EXACT_ONE,
            AlphaForm::Linux => LINUX_ONE,
        };
        Self {
            window: LinuxWindow::new(&at, acts),
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            alpha,
            params: *params,
        }
    }

    fn needs(&self) -> Needs {
        Needs { own_cwr: !self.params.prr_on_ce, ..Self::NEEDS }
    }

    #[inline]
    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { acked, ece, sample, .. } => {
                if seen.totals.una >= self.next_seq {
                    self.end_of_window(seen.totals);
                }
                let newly = self.window.growth(seen.totals, acked, ece, sample);
                self.window.grow_reno(newly, acts);
            }
            FlowEvent::Enter(state) => self.enter(state, seen.totals, acts),
            FlowEvent::Leave(state) => self.window.leave(state, acts),
            FlowEvent::Undo => self.window.undo(acts),
            FlowEvent::TxStart { idle, rto } => self.window.restart(idle, rto, acts),
            FlowEvent::Sent { .. } | FlowEvent::Cnp | FlowEvent::Nack | FlowEvent::Wake => {}
        }
    }
}

impl Dctcp {
    /// Moves alpha by the window that ends here, and begins the next.
    fn end_of_window(&mut self, totals: &Totals) {
        let delivered = totals.delivered.saturating_sub(self.old_delivered);
        let marked = totals.delivered_ce.saturating_sub(self.old_delivered_ce).min(delivered);
        if delivered > 0 {
            let g = self.params.g.shift();
            self.alpha = match self.params.alpha {
                AlphaForm::Exact => exact_alpha(self.alpha, g, marked, delivered),
                AlphaForm::Linux => linux_alpha(self.alpha, g, marked, delivered),
            };
        }
        self.next_seq = totals.nxt;
        self.old_delivered = totals.delivered;
        self.old_delivered_ce = totals.delivered_ce;
    }

    /// A mark cuts by alpha/2, a loss by half; a loss also halves what a mark has just cut, as Linux's
    /// state hook does.
    fn enter(&mut self, state: CaState, totals: &Totals, acts: &mut Acts<FlowAct>) {
        if (self.window.episode(), state) == (CaState::Cwr, CaState::Recovery) {
            // The window of the halving supersedes this one, and PRR reads only the threshold.
            self.window.settle(&mut Acts::default());
            self.window.end_episode();
        }
        let ssthresh = if state == CaState::Cwr { self.marked() } else { self.window.half() };
        self.window.enter(state, totals, ssthresh, acts);
        if state == CaState::Cwr && !self.params.prr_on_ce {
            self.window.settle(acts);
        }
    }

    /// Window after a mark: less alpha/2 of it, the cut rounded down, but at least two segments.
    fn marked(&self) -> u64 {
        let (alpha, bits) = match self.params.alpha {
            AlphaForm::Exact => (self.alpha >> 10, EXACT_BITS - 10),
            AlphaForm::Linux => (self.alpha, LINUX_BITS),
        };
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        let cut = |size: u64| (size * u64::from(alpha)) >> (bits + 1);
        let cut = match self.params.cut {
            CutForm::Bytes => cut(cwnd),
            CutForm::Packets => cut(cwnd / mss) * mss,
        };
        self.window.at_least_two(cwnd - cut)
    }
}

/// `(1-g) alpha + g F` in 30 fractional bits, F = `marked / delivered` and both products rounded down.
fn exact_alpha(alpha: u32, g: u32, marked: u64, delivered: u64) -> u32 {
    // Shift both down where 30 more bits would not fit; that takes a window above 16 GB.
    let spare = EXACT_BITS.saturating_sub(marked.leading_zeros());
    let share = ((marked >> spare) << EXACT_BITS) / (delivered >> spare).max(1);
    alpha - (alpha >> g) + ((share as u32) >> g)
}

/// Linux `dctcp_update_alpha`.
fn linux_alpha(alpha: u32, g: u32, marked: u64, delivered: u64) -> u32 {
    let decay = match alpha >> g {
        0 => alpha,
        some => some,
    };
    let shift = LINUX_BITS - g;
    let spare = shift.saturating_sub(marked.leading_zeros());
    let rise = ((marked >> spare) << shift) / (delivered >> spare).max(1);
    (alpha - decay + rise as u32).min(LINUX_ONE)
}
