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
        /// To bytes, the cut rounded down and alpha to 2^-20 (where it has so many bits).
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
            FlowEvent::Ack { acked, ece, .. } => {
                if seen.totals.una >= self.next_seq {
                    self.end_of_window(seen.totals);
                }
                let newly = self.window.growth(seen.totals, acked, ece);
                self.window.grow_reno(newly, acts);
            }
            FlowEvent::Enter(state) => self.enter(state, seen.totals, acts),
            event => self.window.usual(event, acts),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, Rig};
    use forebay_units::Bytes;
    use proptest::prelude::*;

    const LINUX: DctcpParams = DctcpParams {
        g: Gain::from_shift(4),
        alpha: AlphaForm::Linux,
        cut: CutForm::Packets,
        prr_on_ce: true,
    };

    fn dctcp(params: DctcpParams, segments: u64) -> Rig<Dctcp> {
        Rig::new(&params, segments)
    }

    fn default(segments: u64) -> Rig<Dctcp> {
        dctcp(DctcpParams::default(), segments)
    }

    fn alpha(rig: &Rig<Dctcp>) -> f64 {
        let one = match rig.law.params.alpha {
            AlphaForm::Exact => EXACT_ONE,
            AlphaForm::Linux => LINUX_ONE,
        };
        f64::from(rig.law.alpha) / f64::from(one)
    }

    /// One ACK for all that is in flight: one window as alpha counts them.
    fn clean_window(rig: &mut Rig<Dctcp>) {
        rig.fill();
        rig.ack(rig.totals.nxt - rig.totals.una, false);
    }

    #[test]
    fn alpha_decays_from_one_without_marks() {
        let mut rig = default(10);
        (0..10).for_each(|_| clean_window(&mut rig));
        assert!((alpha(&rig) - 0.9375f64.powi(10)).abs() < 1e-7, "0.524: {}", alpha(&rig));
    }

    #[test]
    fn alpha_in_linux_form_reaches_zero_at_window_75() {
        let mut rig = dctcp(LINUX, 10);
        (0..10).for_each(|_| clean_window(&mut rig));
        assert_eq!(rig.law.alpha, 540, "0.527 of 1024");
        (10..74).for_each(|_| clean_window(&mut rig));
        assert_ne!(rig.law.alpha, 0);
        clean_window(&mut rig);
        assert_eq!(rig.law.alpha, 0);
    }

    #[test]
    fn every_other_packet_marked_is_half() {
        for (params, tolerance) in [(DctcpParams::default(), 1e-6), (LINUX, 16.0 / 1024.0)] {
            let mut rig = dctcp(params, 20);
            rig.totals.state = CaState::Cwr; // holds the window
            // The sender keeps 20 segments beyond the one being acknowledged.
            let mut ack = |ece| {
                rig.totals.nxt = rig.totals.una + 21 * MSS;
                rig.ack(MSS, ece);
                alpha(&rig)
            };
            assert_eq!(ack(true), 1.0, "the first ACK ends an empty window");
            for n in 1..=100 {
                let alpha = (0..20).map(|i| ack(i % 2 == 0)).last().unwrap_or(0.0);
                let expected = 0.5 + 0.5 * 0.9375f64.powi(n);
                assert!((alpha - expected).abs() <= tolerance, "{n}: {alpha} {expected}");
            }
        }
    }

    #[test]
    fn the_first_marked_window_is_halved_at_once() {
        let mut rig = default(100);
        rig.ack(MSS, true);
        rig.enter(CaState::Cwr);
        assert_eq!((rig.cwnd, rig.ssthresh), (50.0, 50.0));
        rig.leave(CaState::Cwr);
        assert_eq!(rig.cwnd, 50.0, "and not again");
    }

    #[test]
    fn the_cut_is_half_of_alpha() {
        let mut rig = default(10);
        (0..3).for_each(|_| clean_window(&mut rig));
        let (before, alpha) = (rig.cwnd, alpha(&rig));
        rig.enter(CaState::Cwr);
        let expected = before * (1.0 - alpha / 2.0);
        assert!((rig.cwnd - expected).abs() < 2.0 / MSS as f64, "{} {expected}", rig.cwnd);
    }

    #[test]
    fn with_prr_the_window_waits_for_the_end_of_the_episode() {
        let mut rig = dctcp(DctcpParams { prr_on_ce: true, ..Default::default() }, 100);
        assert!(!rig.law.needs().own_cwr && default(1).law.needs().own_cwr);
        rig.ack(MSS, true);
        rig.enter(CaState::Cwr);
        assert_eq!((rig.cwnd, rig.ssthresh), (100.0, 50.0));
        rig.leave(CaState::Cwr);
        assert_eq!(rig.cwnd, 50.0);
    }

    #[test]
    fn no_growth_while_reducing_or_on_a_marked_ack() {
        let mut rig = default(100);
        rig.ack(MSS, true);
        assert_eq!(rig.cwnd, 100.0, "the ACK comes before the state it causes");
        rig.enter(CaState::Cwr);
        rig.ack(50 * MSS, false);
        assert_eq!(rig.cwnd, 50.0);
        rig.leave(CaState::Cwr);
        rig.ack(50 * MSS, false);
        assert_eq!(rig.cwnd, 51.0);
    }

    #[test]
    fn loss_halves_whatever_alpha_says() {
        for state in [CaState::Recovery, CaState::Loss] {
            let mut rig = dctcp(LINUX, 100);
            rig.law.alpha = 0;
            rig.totals.inflight = Bytes::ZERO;
            rig.enter(state);
            assert_eq!((rig.ssthresh, rig.law.alpha), (50.0, 0));
        }
    }

    #[test]
    fn a_timeout_leaves_alpha_alone_and_sends_one_segment() {
        let mut rig = default(100);
        clean_window(&mut rig);
        let before = rig.law.alpha;
        rig.totals.inflight = Bytes::ZERO;
        rig.enter(CaState::Loss);
        assert_eq!((rig.cwnd, rig.law.alpha), (1.0, before));
    }

    #[test]
    fn a_loss_after_a_mark_halves_again_and_undo_gives_back_the_half_only() {
        for params in [DctcpParams::default(), LINUX] {
            let mut rig = dctcp(params, 100);
            rig.ack(MSS, true);
            rig.enter(CaState::Cwr);
            rig.enter(CaState::Recovery);
            assert_eq!(rig.ssthresh, 25.0);
            rig.event(FlowEvent::Undo);
            assert_eq!(rig.cwnd, 50.0);
        }
    }

    #[test]
    fn the_state_has_the_stated_size() {
        assert_eq!((size_of::<Dctcp>(), size_of::<super::super::reno::Reno>()), (96, 72));
    }

    #[test]
    fn two_segments_are_the_least() {
        let mut rig = default(3);
        rig.enter(CaState::Cwr);
        assert_eq!(rig.cwnd, 2.0);
        rig.leave(CaState::Cwr);
        rig.enter(CaState::Cwr);
        assert_eq!(rig.cwnd, 2.0);
    }

    #[test]
    fn whole_segments_ignore_a_cut_below_one() {
        // 12 * 102 / 2048 is below one segment, 0.6 of one in bytes.
        let mut rig = dctcp(LINUX, 12);
        rig.law.alpha = 102;
        rig.enter(CaState::Cwr);
        assert_eq!(rig.ssthresh, 12.0);
        let mut rig = dctcp(DctcpParams { cut: CutForm::Bytes, ..LINUX }, 12);
        rig.law.alpha = 102;
        rig.enter(CaState::Cwr);
        assert!(rig.ssthresh < 11.5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn exact_alpha_follows_real_numbers(
            shift in 0u32..=10,
            windows in prop::collection::vec((0u64..1 << 50, 1u64..1 << 50), 1..100),
        ) {
            let g = 1.0 / f64::from(1u32 << shift);
            let bound = f64::from(1u32 << shift) / f64::from(1u32 << 29) + 1e-8;
            let (mut ours, mut real) = (EXACT_ONE, 1.0);
            for (marked, delivered) in windows {
                let marked = marked.min(delivered);
                ours = exact_alpha(ours, shift, marked, delivered);
                real = (1.0 - g) * real + g * marked as f64 / delivered as f64;
                prop_assert!(ours <= EXACT_ONE);
                let off = (f64::from(ours) / f64::from(EXACT_ONE) - real).abs();
                prop_assert!(off < bound, "{off}");
            }
        }

        #[test]
        fn linux_alpha_stays_between_zero_and_one(
            shift in 0u32..=10,
            start in 0u32..=LINUX_ONE,
            marked in any::<u64>(),
            delivered in 1u64..,
        ) {
            let marked = marked.min(delivered);
            let next = linux_alpha(start, shift, marked, delivered);
            prop_assert!(next <= LINUX_ONE);
            prop_assert!(marked > 0 || next < start || start == 0);
        }
    }
}
