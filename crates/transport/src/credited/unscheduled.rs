//! What a sender knows of the packets that left before its first credit.
//!
//! They cross one path, and so do their answers, in order: an answer to one of them, or to the probe behind the last, says that those before it
//! which are unanswered are lost.

use crate::lost::LostPackets;
use std::ops::Range;

/// Packets that left unscheduled, and those to be sent again. Packets have numbers.
#[derive(Clone, Debug)]
pub(super) struct UnscheduledPackets {
    budget: u64,       // payload that may still leave without a credit
    end: u64,          // first number that did not leave so
    known: u64,        // first number whose fate is unknown; invariant: at most `end`
    lost: LostPackets, // to be sent again
    probe: bool,       // a probe leaves next
}

impl UnscheduledPackets {
    /// So much payload may leave unscheduled.
    pub fn new(budget: u64) -> Self {
        Self { budget, end: 0, known: 0, lost: LostPackets::default(), probe: false }
    }

    /// Whether packets may leave without a credit.
    pub fn is_open(&self) -> bool {
        self.budget > 0
    }

    /// A packet of so much payload leaves without a credit. `last`: the flow has no more.
    pub fn sent(&mut self, payload: u64, last: bool) {
        self.end += 1;
        self.budget = self.budget.saturating_sub(payload);
        if last || self.budget == 0 {
            self.close();
        }
    }

    /// No packet leaves without a credit any more; a probe follows those that have.
    pub fn close(&mut self) {
        self.budget = 0;
        self.probe = self.end > 0;
    }

    /// Whether a probe leaves next.
    pub fn has_probe(&self) -> bool {
        self.probe
    }

    /// The probe leaves. Returns the first number that did not leave unscheduled.
    pub fn take_probe(&mut self) -> Option<u64> {
        std::mem::take(&mut self.probe).then_some(self.end)
    }

    /// A packet has arrived, and those before it that are unanswered have not.
    pub fn acked(&mut self, number: u64) {
        self.answered_below(number);
        self.known = self.known.max(number + 1).min(self.end);
        self.lost.remove(number);
    }

    /// Packets below `end` that are unanswered are lost.
    pub fn answered_below(&mut self, end: u64) {
        let end = end.min(self.end);
        for number in self.known..end {
            self.lose(number);
        }
        self.known = self.known.max(end);
    }

    /// Packets that a receiver misses are lost, but for those whose answers are still to come.
    pub fn missed(&mut self, numbers: Range<u64>) {
        let (known, end) = (self.known, self.end);
        numbers
            .filter(|number| !(known..end).contains(number))
            .for_each(|number| self.lose(number));
    }

    fn lose(&mut self, number: u64) {
        self.lost.add(number);
    }

    /// Whether packets are to be sent again, or may have to be.
    pub fn has_work(&self) -> bool {
        !self.lost.is_empty() || self.known < self.end
    }

    /// The first packet that is lost. It is sent again.
    pub fn take_lost(&mut self) -> Option<u64> {
        let number = self.lost.first()?;
        self.lost.remove(number);
        Some(number)
    }

    /// The first packet whose fate is unknown. It is sent again, once.
    pub fn take_unknown(&mut self) -> Option<u64> {
        let number = (self.known < self.end).then_some(self.known)?;
        self.known += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight packets of 100 B left, and a probe.
    fn eight() -> UnscheduledPackets {
        let mut of = UnscheduledPackets::new(800);
        for number in 0..8 {
            assert!(of.is_open() && !of.has_probe(), "{number} packets");
            of.sent(100, false);
        }
        assert!(!of.is_open());
        assert_eq!((of.take_probe(), of.take_probe()), (Some(8), None), "one probe");
        of
    }

    #[test]
    fn an_ack_loses_what_is_unanswered_before_it_and_the_probe_all() {
        let mut of = eight();
        of.acked(0);
        of.acked(3);
        assert_eq!([of.take_lost(), of.take_lost(), of.take_lost()], [Some(1), Some(2), None]);
        of.answered_below(8);
        let rest: Vec<u64> = std::iter::from_fn(|| of.take_lost()).collect();
        assert_eq!(rest, [4, 5, 6, 7]);
        assert!(!of.has_work());
    }

    /// A late ACK takes back a loss; what was sent again as unknown is not lost by later answers.
    #[test]
    fn each_packet_leaves_again_once() {
        let mut of = eight();
        of.acked(5);
        of.acked(2);
        assert_eq!(
            [of.take_unknown(), of.take_unknown(), of.take_unknown()],
            [Some(6), Some(7), None]
        );
        of.answered_below(8);
        of.acked(7);
        let lost: Vec<u64> = std::iter::from_fn(|| of.take_lost()).collect();
        assert_eq!(lost, [0, 1, 3, 4]);
        assert!(!of.has_work());
    }

    #[test]
    fn what_a_receiver_misses_waits_for_no_answer_that_is_still_to_come() {
        let mut of = eight();
        of.acked(2);
        of.missed(1..6);
        of.missed(8..11);
        let lost: Vec<u64> = std::iter::from_fn(|| of.take_lost()).collect();
        assert_eq!(lost, [0, 1, 2, 8, 9, 10]);
        assert!(of.has_work(), "3 to 7 are unknown");
    }

    #[test]
    fn the_first_credit_ends_it_and_nothing_sent_needs_no_probe() {
        let mut of = UnscheduledPackets::new(800);
        of.close();
        assert!(!of.is_open() && !of.has_probe());
        let mut of = UnscheduledPackets::new(800);
        of.sent(100, false);
        of.close();
        assert!(!of.is_open() && of.has_probe());
        let mut of = UnscheduledPackets::new(800);
        of.sent(40, true);
        assert!(!of.is_open() && of.has_probe(), "the flow has no more");
    }
}
