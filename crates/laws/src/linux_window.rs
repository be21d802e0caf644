//! The window that Linux keeps around every congestion-control module: slow start, additive growth,
//! episodes, undo and idle restart, so that a law adds only how much it cuts and how fast it grows.
//!
//! Source: Linux `tcp_cong.c`, `tcp_input.c`, `tcp_output.c` (5.x to 6.x).
//! Deviation: Linux counts packets, this counts bytes and grows by whole segments. Bytes left over are
//! carried, so that neither stretch ACKs nor short segments nor large windows lose growth.
//! Deviation: no decay of a window that the application does not fill; only full idleness decays it.
//!
//! Invariant: `mss <= cwnd <= MAX_WINDOW`. Integers only, 64-bit divisions only.

use crate::Acts;
use crate::Start;
use crate::flow::{CaState, FlowAct, FlowEvent, Totals};
use forebay_units::{Bytes, Span};

/// Above this no window grows: 1 TiB, so that a window times a 20-bit fraction fits 64 bits.
///
/// Assumption: no path holds more; Linux stops at 2^32 packets.
pub(crate) const MAX_WINDOW: u64 = 1 << 40;

/// Least `ssthresh`, in segments. Source: `tcp_reno_ssthresh`, `dctcp_ssthresh`.
const MIN_SSTHRESH: u64 = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinuxWindow {
    cwnd: u64,
    ssthresh: u64, // `u64::MAX`: not yet set
    credit: u64,   // delivered bytes not yet turned into growth
    prior_cwnd: u64,
    prior_ssthresh: u64, // both 0: nothing to undo
    delivered: u64,      // `Totals::delivered` at the last ACK
    mss: u32,
    restart: u32, // an idle window decays no further than this
    episode: CaState,
}

impl LinuxWindow {
    /// # Panics
    /// If `mss` is zero or above 4 GiB.
    pub(crate) fn new(at: &Start, acts: &mut Acts<FlowAct>) -> Self {
        let mss = u32::try_from(at.mss.get()).expect("a segment is below 4 GiB");
        assert!(mss > 0, "a segment has at least one byte");
        let cwnd = at.initial_window.get().clamp(u64::from(mss), MAX_WINDOW);
        acts.push(FlowAct::window(Bytes::new(cwnd)));
        Self {
            cwnd,
            ssthresh: u64::MAX,
            credit: 0,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            delivered: 0,
            mss,
            restart: u32::try_from(cwnd).unwrap_or(u32::MAX),
            episode: CaState::Open,
        }
    }

    /// Window in bytes. In an episode that PRR governs, still the one before it.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Window in whole packets, at least one, as Linux counts it.
    pub(crate) fn packets(&self) -> u64 {
        (self.cwnd / self.mss()).max(1)
    }

    /// Bytes of a full segment.
    pub(crate) fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// State of the episode that was entered and not left; `Open` outside one.
    pub(crate) fn episode(&self) -> CaState {
        self.episode
    }

    /// Whether entering `state` begins an episode, so that the law sets a threshold.
    pub(crate) fn begins_episode(&self, state: CaState) -> bool {
        let calm = |state| matches!(state, CaState::Open | CaState::Disorder);
        calm(self.episode) && !calm(state)
    }

    /// Whether a threshold was ever set.
    pub(crate) fn has_threshold(&self) -> bool {
        self.ssthresh != u64::MAX
    }

    /// Sets the threshold alone: slow start that ends by the law's own judgement, or never begins.
    pub(crate) fn set_threshold(&mut self, bytes: u64, acts: &mut Acts<FlowAct>) {
        self.ssthresh = bytes.min(MAX_WINDOW);
        acts.push(FlowAct::Ssthresh(Bytes::new(self.ssthresh)));
    }

    /// Sets the window, outside any episode; never below a segment.
    pub(crate) fn set_window(&mut self, bytes: u64, acts: &mut Acts<FlowAct>) {
        let before = self.cwnd;
        self.cwnd = bytes.clamp(self.mss(), MAX_WINDOW);
        if self.cwnd != before {
            acts.push(FlowAct::window(Bytes::new(self.cwnd)));
        }
    }

    /// Whether the next growth is that of slow start.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether the window is below half of the threshold. Source: `tcp_update_pacing_rate`.
    pub(crate) fn is_far_below_threshold(&self) -> bool {
        self.packets() < self.ssthresh / self.mss() / 2
    }

    /// A threshold for this window: never below two segments.
    pub(crate) fn at_least_two(&self, bytes: u64) -> u64 {
        bytes.max(MIN_SSTHRESH * self.mss())
    }

    /// Half the window in whole segments, rounded down as Linux does, but at least two.
    pub(crate) fn half(&self) -> u64 {
        self.at_least_two(self.whole(self.cwnd / 2))
    }

    /// Delivered bytes by which this ACK may grow the window; zero where it may not.
    ///
    /// Growth needs a cumulative advance and a full window, and rests in `Cwr` and `Recovery` and on
    /// an ACK that echoes congestion, which cuts in states other than `Loss`. It counts what was *delivered*, as Linux does: the ACK that fills
    /// a hole covers a window of data that earlier ACKs have counted.
    pub(crate) fn growth(&mut self, totals: &Totals, acked: Bytes, ece: bool) -> u64 {
        let newly = totals.delivered.saturating_sub(self.delivered);
        self.delivered = totals.delivered;
        let reducing = matches!(totals.state, CaState::Cwr | CaState::Recovery);
        let may_cut = ece && totals.state != CaState::Loss;
        if reducing || may_cut || acked == Bytes::ZERO {
            return 0;
        }
        let twice = (2 * u64::from(totals.most_out)).saturating_mul(self.mss());
        let slow_start_with_room =
            !totals.only_full_grows && self.in_slow_start() && self.cwnd < twice;
        if totals.cwnd_limited || slow_start_with_room { newly } else { 0 }
    }

    /// Reno's growth: slow start up to `ssthresh`, then one segment per window.
    pub(crate) fn grow_reno(&mut self, newly: u64, acts: &mut Acts<FlowAct>) {
        self.grow(newly, acts, |window, left| window.additive(window.cwnd, left));
    }

    /// Slow start up to `ssthresh`, then `avoid` with the bytes that slow start left.
    #[inline]
    pub(crate) fn grow(
        &mut self,
        newly: u64,
        acts: &mut Acts<FlowAct>,
        avoid: impl FnOnce(&mut Self, u64),
    ) {
        let before = self.cwnd;
        let left = if self.in_slow_start() { self.slow_start(newly) } else { newly };
        if left > 0 {
            avoid(self, left);
        }
        if self.cwnd != before {
            acts.push(FlowAct::window(Bytes::new(self.cwnd)));
        }
    }

    /// Grows by what was delivered, in whole segments, up to `ssthresh`. Returns what is left for
    /// avoidance, which is nothing while the window is below `ssthresh`.
    fn slow_start(&mut self, newly: u64) -> u64 {
        let credit = self.credit.saturating_add(newly);
        let step = self.whole(credit).min(self.ssthresh - self.cwnd);
        self.cwnd = (self.cwnd + step.min(MAX_WINDOW)).min(MAX_WINDOW);
        self.credit = credit - step;
        if self.in_slow_start() { 0 } else { core::mem::take(&mut self.credit) }
    }

    /// Linux's additive helper: one segment for every `w` bytes delivered. `w` is at least one.
    ///
    /// Credit gathered under a larger `w` is worth one segment at most, so that a smaller `w` makes no jump.
    pub(crate) fn additive(&mut self, w: u64, newly: u64) {
        let mut segments = 0;
        if self.credit >= w {
            self.credit = 0;
            segments = 1;
        }
        self.credit = self.credit.saturating_add(newly);
        if self.credit >= w {
            segments += self.credit / w;
            self.credit %= w;
        }
        self.cwnd = self.cwnd.saturating_add(segments.saturating_mul(self.mss())).min(MAX_WINDOW);
    }

    /// Raises the window to this, for a law that holds it elsewhere and grows it here. Lowers nothing.
    pub(crate) fn raise(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.max(bytes.min(MAX_WINDOW));
    }

    /// What Linux does around every module, on events to which the law adds nothing. ACKs and new states are the law's.
    #[inline]
    pub(crate) fn usual(&mut self, event: FlowEvent<'_>, acts: &mut Acts<FlowAct>) {
        match event {
            FlowEvent::Leave(state) => self.leave(state, acts),
            FlowEvent::Undo => self.undo(acts),
            FlowEvent::TxStart { idle, rto } => self.restart(idle, rto, acts),
            FlowEvent::Ack { .. } | FlowEvent::Enter(_) | FlowEvent::Sent { .. } => {}
            FlowEvent::Cnp | FlowEvent::Nack | FlowEvent::Switch(_) | FlowEvent::Wake => {}
        }
    }

    /// Enters a state. A new episode remembers what it takes and aims at `ssthresh`; one that turns
    /// graver keeps its threshold, since it answers the same congestion. `Loss` starts over from what
    /// is still in flight plus one segment.
    pub(crate) fn enter(
        &mut self,
        state: CaState,
        totals: &Totals,
        ssthresh: u64,
        acts: &mut Acts<FlowAct>,
    ) {
        match (self.episode, state) {
            (_, CaState::Open | CaState::Disorder) => {
                self.episode = CaState::Open;
                return;
            }
            (CaState::Open | CaState::Disorder, _) => {
                self.prior_cwnd = self.cwnd;
                self.prior_ssthresh = self.ssthresh.max(self.three_quarters());
                self.ssthresh = ssthresh.min(MAX_WINDOW);
                self.credit = 0;
            }
            // The mark that began the episode was real, so a spurious retransmission undoes nothing.
            (CaState::Cwr, CaState::Recovery) => self.forget(),
            _ => {}
        }
        self.episode = state;
        acts.push(FlowAct::Ssthresh(Bytes::new(self.ssthresh)));
        if state == CaState::Loss {
            self.credit = 0;
            let inflight = totals.inflight.get().min(MAX_WINDOW);
            self.cwnd = (inflight + self.mss()).min(MAX_WINDOW);
            acts.push(FlowAct::window(Bytes::new(self.cwnd)));
        }
    }

    /// The window takes the threshold at once: the end of a reduction, or a law that waits for none.
    pub(crate) fn settle(&mut self, acts: &mut Acts<FlowAct>) {
        if self.ssthresh != u64::MAX && self.cwnd != self.ssthresh {
            self.cwnd = self.ssthresh;
            acts.push(FlowAct::window(Bytes::new(self.cwnd)));
        }
    }

    /// Ends the current episode without telling anybody, so that the next `enter` cuts again.
    pub(crate) fn end_episode(&mut self) {
        self.episode = CaState::Open;
    }

    /// The episode is over. PRR's end takes the threshold; `Loss` keeps what slow start reached.
    pub(crate) fn leave(&mut self, state: CaState, acts: &mut Acts<FlowAct>) {
        let reducing = |state| matches!(state, CaState::Cwr | CaState::Recovery);
        if reducing(state) && reducing(self.episode) {
            self.settle(acts);
        }
        self.episode = CaState::Open;
    }

    /// Restores what the last episode took, once. Where there is nothing to restore, since the loss
    /// came on top of a real mark, a running reduction ends at its threshold.
    pub(crate) fn undo(&mut self, acts: &mut Acts<FlowAct>) {
        if self.prior_cwnd == 0 {
            return self.leave(self.episode, acts);
        }
        self.episode = CaState::Open;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.ssthresh = self.ssthresh.max(self.prior_ssthresh);
        self.forget();
        acts.push(FlowAct::Ssthresh(Bytes::new(self.ssthresh)));
        acts.push(FlowAct::window(Bytes::new(self.cwnd)));
    }

    /// Halves once per whole RTO of idleness, down to the initial window, and remembers three quarters
    /// of the old window as the threshold.
    pub(crate) fn restart(&mut self, idle: Span, rto: Span, acts: &mut Acts<FlowAct>) {
        let floor = u64::from(self.restart).min(self.cwnd);
        let mut left = idle.saturating_sub(rto);
        if rto == Span::ZERO || left == Span::ZERO {
            return;
        }
        let (cwnd, ssthresh) = (self.cwnd, self.ssthresh);
        if self.episode == CaState::Open {
            self.ssthresh = self.ssthresh.max(self.three_quarters());
        }
        while left > Span::ZERO && self.cwnd > floor {
            self.cwnd = self.whole(self.cwnd / 2).max(floor);
            left = left.saturating_sub(rto);
        }
        if self.ssthresh != ssthresh {
            acts.push(FlowAct::Ssthresh(Bytes::new(self.ssthresh)));
        }
        if self.cwnd != cwnd {
            acts.push(FlowAct::window(Bytes::new(self.cwnd)));
        }
    }

    fn forget(&mut self) {
        (self.prior_cwnd, self.prior_ssthresh) = (0, 0);
    }

    /// Three quarters of the window in whole segments. Source: `tcp_current_ssthresh`.
    fn three_quarters(&self) -> u64 {
        self.whole(self.cwnd / 2) + self.whole(self.cwnd / 4)
    }

    /// Rounded down to whole segments.
    fn whole(&self, bytes: u64) -> u64 {
        bytes - bytes % self.mss()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, at};
    use proptest::prelude::*;

    fn window(segments: u64) -> LinuxWindow {
        LinuxWindow::new(&at(segments), &mut Acts::default())
    }

    /// Linux `tcp_cong_avoid_ai`, in packets, as the kernel spells it.
    struct Kernel {
        cwnd: u64,
        count: u64,
    }

    impl Kernel {
        fn additive(&mut self, w: u64, acked: u64) {
            if self.count >= w {
                self.count = 0;
                self.cwnd += 1;
            }
            self.count += acked;
            if self.count >= w {
                let delta = self.count / w;
                self.count -= delta * w;
                self.cwnd += delta;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn additive_growth_counts_whole_segments_as_the_kernel_counts_packets(
            start in 1u64..200,
            steps in prop::collection::vec((1u64..400, 0u64..300), 1..50),
        ) {
            let mut ours = window(start);
            let mut kernel = Kernel { cwnd: start, count: 0 };
            for (w, acked) in steps {
                ours.additive(w * MSS, acked * MSS);
                kernel.additive(w, acked);
                prop_assert_eq!(ours.cwnd, kernel.cwnd * MSS);
            }
        }

        #[test]
        fn growth_does_not_depend_on_how_acks_are_cut(
            start in 1u64..100,
            ssthresh in 2u64..300,
            cuts in prop::collection::vec(1u64..3000, 1..60),
        ) {
            // In slow start any cut of the same bytes gives the same window; in avoidance too, as long
            // as the bytes stay within one window, since the window is looked at once per ACK.
            let total = cuts.iter().sum::<u64>().min(start * MSS);
            let (mut once, mut often) = (window(start), window(start));
            once.ssthresh = ssthresh * MSS;
            often.ssthresh = ssthresh * MSS;
            once.grow_reno(total, &mut Acts::default());
            let mut left = total;
            for cut in cuts {
                often.grow_reno(cut.min(left), &mut Acts::default());
                left -= cut.min(left);
            }
            prop_assert_eq!(once.cwnd, often.cwnd);
            prop_assert_eq!(once.credit, often.credit);
        }
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_hands_on_what_is_left() {
        let mut w = window(10);
        w.ssthresh = 12 * MSS;
        w.grow_reno(9 * MSS, &mut Acts::default());
        assert_eq!((w.cwnd, w.credit), (12 * MSS, 7 * MSS));
    }

    #[test]
    fn short_segments_add_up_to_whole_ones() {
        let mut w = window(10);
        for _ in 0..MSS {
            w.grow_reno(3, &mut Acts::default());
        }
        assert_eq!(w.cwnd, 13 * MSS);
    }

    #[test]
    fn a_smaller_divisor_makes_no_jump() {
        let mut w = window(10);
        w.additive(100 * MSS, 99 * MSS);
        w.additive(10 * MSS, MSS);
        assert_eq!((w.cwnd, w.credit), (11 * MSS, MSS), "not nine segments at once");
    }
}
