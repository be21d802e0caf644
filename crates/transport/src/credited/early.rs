//! What a sender knows of credits under way, so that it can stop its receiver early.
//!
//! Source: kaist-ina/ns2-xpass, `early_credit_stop_`.

use forebay_units::{Span, Time};

/// Credits of the round trip under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlyStop {
    rtt: Span, // from the request to its first credit
    since: Time,
    credits: u64, // since then
    stopped: bool,
}

impl EarlyStop {
    /// The first credit after a request comes, so long after it.
    pub fn begin(&mut self, now: Time, rtt: Span) {
        *self = Self { rtt, since: now, credits: 1, stopped: false };
    }

    /// A credit comes, and `left` packets wait for more. True: the receiver may stop, since as many are under way.
    pub fn on_credit(&mut self, now: Time, left: u64) -> bool {
        self.credits += 1;
        if self.stopped || now.since(self.since) < self.rtt {
            return false;
        }
        self.stopped = self.credits >= left;
        (self.since, self.credits) = (now, 0);
        self.stopped
    }

    /// Once the receiver was stopped: time after the last credit until none is under way any more.
    pub fn patience(&self) -> Option<Span> {
        self.stopped.then(|| self.rtt * 2)
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
}
