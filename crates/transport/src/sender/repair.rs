//! What a sender keeps once something went wrong: marks on segments, the current episode, what an undo
//! needs, counters. Boxed, and absent while nothing ever did.

use crate::marks::{Mark, Marks};
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;
use forebay_units::{Span, Time};
use std::collections::VecDeque;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    pub(super) marks: Marks,
    pub(super) sacked: u64, // bytes; without SACK, what duplicate ACKs stand for
    pub(super) lost: u64,   // bytes marked `Lost`
    pub(super) fack: u64,   // end of the highest SACKed segment, where any is
    pub(super) lost_from: u64, // no segment below it is marked `Lost`
    pub(super) resent: VecDeque<Retransmission>, // in order of time; may hold what is no longer marked `Resent`
    pub(super) dup_acks: u32,                    // without SACK

    pub(super) high_seq: u64, // the episode ends when this is acknowledged
    pub(super) prr: Prr,
    pub(super) halving: u64, // ACKs that made progress in this reduction
    pub(super) prior_cwnd: u64,
    pub(super) prior_ssthresh: u64,
    pub(super) undo_marker: Option<u64>, // `una` when the episode began
    pub(super) undo_retrans: Option<u32>, // retransmissions not shown needless; `None`: none yet
    pub(super) resent_first: Option<Time>, // the episode's first retransmission

    pub(super) reordering: u32, // segments; duplicate threshold
    pub(super) reord_seen: bool,
    pub(super) dsack_seen: bool,
    pub(super) reo_delivered: u64, // `delivered` when the reordering window last widened

    pub(super) frto: bool,
    pub(super) prefer_new: bool, // F-RTO: until the next ACK, new data instead of retransmissions
    pub(super) rto_sends: u32,   // timeouts since `una` last moved

    pub(super) probe: bool, // a tail loss probe may leave
    pub(super) tlp: Option<Probe>,

    pub(super) lost_segments: u32, // ever marked lost, wrapping
    pub(super) retransmits: u64,
    pub(super) timeouts: u32,
    pub(super) undos: u32,
    pub(super) probes: u32,
}

/// A retransmission, as it left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    pub(super) at: Time,
    pub(super) start: u64,
    pub(super) next: u64, // first byte that had never left
}

/// A tail loss probe whose fate is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) high_seq: u64, // `nxt` just after it
    pub(super) retransmission: bool,
}

/// Segments that must arrive after a hole before it counts as lost; adapts upwards.
const REORDERING: u32 = 3;
const MAX_REORDERING: u64 = 300;

const HALF_TURN: Span = Span::from_ns(1 << 31);

impl Repair {
    pub(super) fn new() -> Self {
        Self {
            marks: Marks::default(),
            sacked: 0,
            lost: 0,
            fack: 0,
            lost_from: 0,
            resent: VecDeque::new(),
            dup_acks: 0,
            high_seq: 0,
            prr: Prr::new(1),
            halving: 0,
            prior_cwnd: 0,
            prior_ssthresh: 0,
            undo_marker: None,
            undo_retrans: None,
            resent_first: None,
            reordering: REORDERING,
            reord_seen: false,
            dsack_seen: false,
            reo_delivered: 0,
            frto: false,
            prefer_new: false,
            rto_sends: 0,
            probe: false,
            tlp: None,
            lost_segments: 0,
            retransmits: 0,
            timeouts: 0,
            undos: 0,
            probes: 0,
        }
    }

    /// Whether the scoreboard holds nothing but segments sent once and not heard of.
    pub(super) fn is_quiet(&self) -> bool {
        self.marks.is_clear()
            && self.dup_acks == 0
            && self.tlp.is_none()
            && !self.probe
            && !self.frto
    }

    /// End of the highest SACKed segment, or `una` if there is none.
    pub(super) fn highest(&self, una: u64) -> u64 {
        if self.sacked > 0 { self.fack.max(una) } else { una }
    }

    /// A segment of `len` bytes from `start` on, at `place`, left the network unseen.
    pub(super) fn mark_lost(&mut self, place: usize, start: u64, len: u64) {
        let old = self.marks.get(place);
        if matches!(old, Some(Mark::Sacked | Mark::Lost)) {
            return;
        }
        self.marks.set(place, Some(Mark::Lost));
        self.lost += len;
        self.lost_segments = self.lost_segments.wrapping_add(1);
        self.lost_from = self.lost_from.min(start);
    }

    /// Segments above `low` arrived before it although it was never retransmitted.
    pub(super) fn note_reordering(&mut self, low: u64, una: u64, mss: u64) {
        let distance = self.highest(una).saturating_sub(low);
        if distance == 0 {
            return;
        }
        if distance > u64::from(self.reordering) * mss {
            self.reordering = distance.div_ceil(mss).min(MAX_REORDERING) as u32;
        }
        self.reord_seen = true;
    }

    /// A reduction from `cwnd` and `ssthresh` begins.
    pub(super) fn begin_undo(&mut self, una: u64) {
        self.undo_marker = Some(una);
        let out = self.marks.count(Mark::Resent);
        self.undo_retrans = (out > 0).then_some(out);
    }

    /// Whether every retransmission of the episode was shown needless, or an echoed time stamp that
    /// predates the first of them shows that the original arrived.
    pub(super) fn may_undo(&self, original_arrived: bool) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == Some(0) || original_arrived)
    }

    /// Whether an ACK that arrives `now` and echoes `stamp` was caused by something sent before the
    /// first retransmission. Half a turn of the wire clock (2.1 s) after that, the two are the same.
    pub(super) fn predates(&self, now: Time, stamp: u32) -> bool {
        self.resent_first.is_some_and(|first| {
            now.since(first) < HALF_TURN && (stamp.wrapping_sub(super::stamp(first)) as i32) < 0
        })
    }

    /// The next segment to retransmit, lowest first: its index.
    pub(super) fn next_lost(&mut self, board: &Scoreboard, una: u64, mss: u64) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let offset = self.lost_from.saturating_sub(una) as u32;
        let from = board.index_at(una as u32, offset, mss as u32);
        self.marks.find(board, from, board.len(), Mark::Lost)
    }
}
