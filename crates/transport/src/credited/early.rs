//! What a sender knows of credits under way, so that it can stop its receiver early.
//!
//! Source: kaist-ina/ns2-xpass, `early_credit_stop_`.

use forebay_units::{Span, Time};

/// Credits of the round trip under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlyStop {
    rtt: Span, // from the request to its first credit
    since: Time,
    credits: u64,          // since then
    stopped: Option<Time>, // when the stop left, or was decided while it waits for the NIC
    works_since: Time,     // something is to be sent again since then
    from_stop: bool, // the sender asks again two round trips after that, not after the last credit
}

impl EarlyStop {
    /// Nothing is known yet. `from_stop`: the sender asks again two round trips after the stop, not after the last credit.
    pub fn new(from_stop: bool) -> Self {
        Self { from_stop, ..Self::default() }
    }

    /// The first credit after a request comes, so long after it.
    pub fn begin(&mut self, now: Time, rtt: Span) {
        *self = Self { rtt, since: now, credits: 1, stopped: None, ..*self };
    }

    /// A credit comes, and `left` packets wait for more. True: the receiver may stop, since as many are under way.
    pub fn on_credit(&mut self, now: Time, left: u64) -> bool {
        self.credits += 1;
        if self.stopped.is_some() || now.since(self.since) < self.rtt {
            return false;
        }
        self.stopped = (self.credits >= left).then_some(now);
        (self.since, self.credits) = (now, 0);
        self.stopped.is_some()
    }

    /// Once the receiver was stopped: when the sender, which `heard` the last credit then, asks again.
    pub fn asks_again(&self, heard: Time) -> Option<Time> {
        let stopped = self.stopped?;
        let since = match self.from_stop {
            true => stopped,
            false => heard,
        };
        Some((since + self.rtt * 2).max(self.works_since))
    }

    /// The stop leaves, which may have waited for the NIC.
    pub fn left(&mut self, now: Time) {
        self.stopped = self.stopped.map(|_| now);
    }

    /// All had been sent, and something is to be sent again.
    pub fn works_again(&mut self, now: Time) {
        self.works_since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A credit each 10 us and a round trip of 40 us: five credits until one has passed, then four in each, after which the receiver stops if no more
    /// packets are left.
    #[test]
    fn credits_of_a_round_trip_cover_what_is_left() {
        let stops = |packets: u64| -> Vec<u64> {
            let mut of = EarlyStop::default();
            of.begin(Time::ZERO, Span::from_us(40));
            let at = |n: u64| Time::ZERO + Span::from_us(10) * n;
            (1..packets).filter(|n| of.on_credit(at(*n), packets - 1 - n)).collect()
        };
        assert!(stops(4).is_empty(), "no round trip has passed");
        assert_eq!(stops(10), [4], "five more, and five came");
        assert_eq!(
            stops(11),
            [8],
            "six more, and five came; a round trip later two, and four came"
        );
        assert_eq!(stops(13), [8], "four more, and four came");
        assert_eq!(stops(14), [12]);
    }

    /// A round trip of 40 us, a stop at 80 us, and a credit that was under way comes at 110 us.
    #[test]
    fn a_sender_asks_again_two_round_trips_after_its_stop_or_after_its_last_credit() {
        let at = |us| Time::ZERO + Span::from_us(us);
        for (from_stop, again) in [(true, 160), (false, 190)] {
            let mut of = EarlyStop::new(from_stop);
            of.begin(at(40), Span::from_us(40));
            assert_eq!(of.asks_again(at(40)), None, "the receiver was not stopped");
            assert!(of.on_credit(at(80), 1) && !of.on_credit(at(110), 1));
            assert_eq!(of.asks_again(at(110)), Some(at(again)));
            of.begin(at(200), Span::from_us(40));
            assert_eq!(of.asks_again(at(200)), None, "it was started again");
        }
    }

    /// A stop decided at 80 us waits for the NIC until 300 us. Then all is sent, until a loss becomes known at 900 us.
    #[test]
    fn a_sender_never_asks_again_in_the_past() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut of = EarlyStop::new(true);
        of.begin(at(40), Span::from_us(40));
        assert!(of.on_credit(at(80), 1));
        of.left(at(300));
        assert_eq!(of.asks_again(at(80)), Some(at(380)));
        of.works_again(at(900));
        assert_eq!(of.asks_again(at(80)), Some(at(900)));
    }
}
