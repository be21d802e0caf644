//! Reno as in Linux: grows by one segment per window and halves on loss.
//!
//! Slow start doubles the window each round trip up to `ssthresh`; after that every window of
//! delivered bytes adds one segment. Loss, and a congestion mark where `ecn` is on, halves it, but
//! not below two segments. A timeout starts over from what is in flight plus one segment. Idleness halves the
//! window once per RTO, down to the initial window.
//!
//! Source: RFC 5681 section 3.1; Linux `tcp_reno_cong_avoid`, `tcp_reno_ssthresh`, `tcp_cwnd_restart`.
//! Needs: nothing, or the classic echo with `ecn`. State: 72 bytes. Integers only.
//! Deviation: counts bytes, grows in whole segments, so short segments count for what they carry.

use super::{Echo, FlowAct, FlowEvent, FlowLaw, FlowSeen, Needs};
use crate::linux_window::LinuxWindow;
use crate::params::params;
use crate::{Acts, Start};
use forebay_units::Time;

params! {
    /// What a scenario may set on Reno.
    pub struct RenoParams {
        /// Whether packets are sent ECN-capable, so that a mark halves the window and no packet is lost.
        ecn: bool = false => "Linux tcp_ecn = 2: ECN only where the peer asks",
    }
}

/// A flow under Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    window: LinuxWindow,
    ecn: bool,
}

impl FlowLaw for Reno {
    const NAME: &'static str = "reno";
    const NEEDS: Needs = Needs::NONE;
    type Params = RenoParams;

    fn start(params: &RenoParams, at: Start, acts: &mut Acts<FlowAct>) -> Self {
        Self { window: LinuxWindow::new(&at, acts), ecn: params.ecn }
    }

    fn needs(&self) -> Needs {
        Needs { echo: Echo::classic_if(self.ecn), ..Self::NEEDS }
    }

    #[inline]
    fn step(&mut self, _now: Time, seen: FlowSeen<'_>, acts: &mut Acts<FlowAct>) {
        match seen.event {
            FlowEvent::Ack { acked, ece, .. } => {
                let newly = self.window.growth(seen.totals, acked, ece);
                self.window.grow_reno(newly, acts);
            }
            FlowEvent::Enter(state) => {
                self.window.enter(state, seen.totals, self.window.half(), acts);
            }
            event => self.window.usual(event, acts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CaState;
    use super::*;
    use crate::testing::{MSS, Rig};
    use forebay_units::{Bytes, Span};

    fn reno(segments: u64) -> Rig<Reno> {
        Rig::new(&RenoParams::default(), segments)
    }

    /// In avoidance at so many segments.
    fn avoiding(segments: u64) -> Rig<Reno> {
        let mut rig = reno(2 * segments);
        rig.enter(CaState::Recovery);
        rig.leave(CaState::Recovery);
        assert_eq!(rig.cwnd, segments as f64);
        rig.fill();
        rig
    }

    #[test]
    fn slow_start_doubles_each_round_trip() {
        let mut rig = reno(10);
        for k in 1..=6 {
            rig.round();
            assert_eq!(rig.cwnd, f64::from(10 << k));
        }
    }

    #[test]
    fn avoidance_adds_one_segment_per_window_however_acks_are_stretched() {
        let mut rig = avoiding(10);
        rig.round();
        assert_eq!(rig.cwnd, 11.0);
        let mut rig = avoiding(10);
        rig.ack(10 * MSS, false);
        assert_eq!(rig.cwnd, 11.0);
    }

    #[test]
    fn loss_halves_but_prr_owns_the_window_until_recovery_ends() {
        let mut rig = reno(100);
        rig.enter(CaState::Recovery);
        assert_eq!((rig.cwnd, rig.ssthresh), (100.0, 50.0));
        rig.ack(20 * MSS, false);
        assert_eq!(rig.cwnd, 100.0, "no growth in Recovery");
        rig.leave(CaState::Recovery);
        assert_eq!(rig.cwnd, 50.0);
    }

    #[test]
    fn halves_are_whole_segments_and_never_below_two() {
        let mut rig = reno(101);
        rig.enter(CaState::Recovery);
        assert_eq!(rig.ssthresh, 50.0);
        let mut rig = reno(2);
        rig.enter(CaState::Recovery);
        assert_eq!(rig.ssthresh, 2.0);
    }

    #[test]
    fn a_timeout_starts_over_from_what_is_in_flight() {
        let mut rig = reno(100);
        rig.totals.inflight = Bytes::new(3 * MSS);
        rig.enter(CaState::Loss);
        assert_eq!((rig.cwnd, rig.ssthresh), (4.0, 50.0));
        rig.ack(4 * MSS, false);
        assert_eq!(rig.cwnd, 8.0, "slow start in Loss");
        rig.enter(CaState::Loss);
        assert_eq!(rig.ssthresh, 50.0, "the same episode cuts once");
        rig.leave(CaState::Loss);
        let cwnd = rig.cwnd;
        rig.enter(CaState::Loss);
        assert_eq!(rig.ssthresh, (cwnd / 2.0).floor().max(2.0), "a new one cuts again");
    }

    #[test]
    fn a_loss_while_answering_a_mark_cuts_no_further() {
        let mut rig = reno(100);
        rig.enter(CaState::Cwr);
        rig.enter(CaState::Recovery);
        assert_eq!(rig.ssthresh, 50.0);
        rig.event(FlowEvent::Undo);
        assert_eq!((rig.cwnd, rig.ssthresh), (50.0, 50.0), "the mark was real");
    }

    #[test]
    fn undo_restores_window_and_threshold_once() {
        let mut rig = reno(100);
        rig.totals.inflight = Bytes::ZERO;
        rig.enter(CaState::Loss);
        rig.event(FlowEvent::Undo);
        assert_eq!((rig.cwnd, rig.ssthresh), (100.0, f64::INFINITY));
        let mut rig = reno(100);
        rig.enter(CaState::Recovery);
        rig.leave(CaState::Recovery);
        rig.event(FlowEvent::Undo);
        assert_eq!(rig.cwnd, 100.0, "also after the episode has ended");
    }

    #[test]
    fn only_the_end_of_a_reduction_takes_the_threshold() {
        let mut rig = avoiding(10);
        (10..16).for_each(|_| rig.round());
        rig.leave(CaState::Recovery); // undone before: there is nothing to end
        assert_eq!((rig.cwnd, rig.ssthresh), (16.0, 10.0));
    }

    #[test]
    fn an_undo_without_a_cut_does_nothing() {
        let mut rig = reno(10);
        rig.event(FlowEvent::Undo);
        assert!(rig.last.is_empty());
        rig.round();
        rig.enter(CaState::Recovery);
        rig.event(FlowEvent::Undo);
        assert_eq!(rig.cwnd, 20.0);
        // What was given back is forgotten: the decay that follows was no mistake.
        rig.event(FlowEvent::TxStart { idle: Span::from_secs(9), rto: Span::from_ms(200) });
        rig.event(FlowEvent::Undo);
        assert_eq!(rig.cwnd, 10.0);
    }

    #[test]
    fn only_a_full_window_grows() {
        let mut rig = avoiding(10);
        rig.totals.cwnd_limited = false;
        rig.round();
        assert_eq!(rig.cwnd, 10.0);
        // In slow start a window grows that is below twice the most packets that were out.
        let mut rig = reno(10);
        rig.totals.cwnd_limited = false;
        rig.totals.most_out = 5;
        rig.ack(MSS, false);
        assert_eq!(rig.cwnd, 10.0);
        rig.totals.most_out = 6;
        rig.ack(MSS, false);
        rig.ack(MSS, false);
        assert_eq!(rig.cwnd, 12.0);
        rig.ack(MSS, false);
        assert_eq!(rig.cwnd, 12.0);
    }

    #[test]
    fn the_ack_that_fills_a_hole_counts_what_it_delivered() {
        let mut rig = avoiding(10);
        // Nine segments arrived by SACK while out of order; none may grow the window.
        rig.totals.state = CaState::Disorder;
        for _ in 0..9 {
            rig.totals.delivered += MSS;
            rig.ack_event(0, false);
        }
        // The tenth fills the hole: cumulatively ten segments, newly delivered one.
        rig.totals.delivered += MSS;
        rig.totals.una += 10 * MSS;
        rig.ack_event(10 * MSS, false);
        assert_eq!(rig.cwnd, 10.0);
    }

    #[test]
    fn idleness_halves_once_per_rto_down_to_the_initial_window() {
        let mut rig = reno(10);
        for _ in 0..3 {
            rig.round();
        }
        assert_eq!(rig.cwnd, 80.0);
        let rto = Span::from_ms(200);
        rig.event(FlowEvent::TxStart { idle: rto, rto });
        assert_eq!(rig.cwnd, 80.0, "a pause of one RTO changes nothing");
        rig.event(FlowEvent::TxStart { idle: Span::from_ms(500), rto });
        assert_eq!(rig.cwnd, 20.0);
        rig.event(FlowEvent::TxStart { idle: Span::from_secs(9), rto });
        assert_eq!(rig.cwnd, 10.0);
    }

    #[test]
    fn idleness_leaves_three_quarters_as_the_threshold() {
        let mut rig = reno(10);
        rig.enter(CaState::Recovery);
        rig.leave(CaState::Recovery);
        rig.fill();
        (5..16).for_each(|_| rig.round());
        assert_eq!((rig.cwnd, rig.ssthresh), (16.0, 5.0));
        rig.event(FlowEvent::TxStart { idle: Span::from_ms(250), rto: Span::from_ms(200) });
        assert_eq!((rig.cwnd, rig.ssthresh), (10.0, 12.0));
    }

    #[test]
    fn ecn_is_asked_for_only_where_it_is_set() {
        assert_eq!(reno(10).law.needs(), Needs::NONE);
        let rig: Rig<Reno> = Rig::new(&RenoParams { ecn: true }, 10);
        assert_eq!(rig.law.needs().echo, Echo::Classic);
    }
}
