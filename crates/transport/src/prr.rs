//! Proportional rate reduction: how many bytes each ACK of a reduction lets go.
//!
//! Source: tcp-baseline section 7, RFC 6937 in the form Linux uses; here in bytes, with the
//! proportional part rounded up to whole segments as counting packets does. Before it, Linux halved the
//! rate: [`halved`].

/// Counters of one reduction, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    delivered: u64,
    out: u64,
    prior_cwnd: u64,
}

/// What one ACK did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Bytes newly delivered.
    pub(crate) newly: u64,
    /// Whether the cumulative point moved and nothing was newly marked lost.
    pub(crate) clean_advance: bool,
}

impl Prr {
    /// A reduction from the window `prior_cwnd`.
    pub(crate) fn new(prior_cwnd: u64) -> Self {
        Self { delivered: 0, out: 0, prior_cwnd: prior_cwnd.max(1) }
    }

    /// Something of `len` bytes left.
    #[inline]
    pub(crate) fn sent(&mut self, len: u64) {
        self.out += len;
    }

    /// The window after an ACK.
    pub(crate) fn window(&mut self, mss: u64, ssthresh: u64, inflight: u64, ack: Delivery) -> u64 {
        self.delivered += ack.newly;
        let quota = if inflight > ssthresh {
            let share = u128::from(ssthresh) * u128::from(self.delivered);
            let share = share.div_ceil(u128::from(self.prior_cwnd)) as u64;
            (share.div_ceil(mss) * mss).saturating_sub(self.out)
        } else {
            let repay = self.delivered.saturating_sub(self.out).max(ack.newly);
            let extra = if ack.clean_advance { mss } else { 0 };
            (repay + extra).min(ssthresh - inflight)
        };
        inflight + if self.out == 0 { quota.max(mss) } else { quota }
    }
}

/// The window after the `nth` ACK of a reduction (from 0) that made progress, where the rate is halved: every second one
/// takes a segment until `ssthresh` is reached, and never is there room for more than one segment to leave.
///
/// Source: Mathis, Semke, Mahdavi, "The rate-halving algorithm for TCP congestion control", 1999; Linux before 3.2.
pub(crate) fn halved(window: u64, nth: u64, mss: u64, ssthresh: u64, inflight: u64) -> u64 {
    let less = if nth % 2 == 1 { window.saturating_sub(mss).max(ssthresh) } else { window };
    less.min(window).min(inflight + mss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_takes_a_segment_every_second_ack_and_stops_at_the_threshold() {
        assert_eq!(halved(1000, 0, 10, 500, 990), 1000);
        assert_eq!(halved(1000, 1, 10, 500, 990), 990);
        assert_eq!(halved(505, 1, 10, 500, 990), 500);
        assert_eq!(halved(400, 1, 10, 500, 990), 400, "below the threshold it takes nothing");
        assert_eq!(halved(1000, 0, 10, 500, 300), 310, "what was lost leaves no room for a burst");
    }

    const ONE: Delivery = Delivery { newly: 10, clean_advance: false };

    #[test]
    fn half_of_what_is_delivered_may_leave() {
        let mut prr = Prr::new(1000);
        let (mut inflight, mut sent) = (970, 0);
        for _ in 0..90 {
            inflight -= 10;
            let window = prr.window(10, 500, inflight, ONE);
            assert!(window <= inflight + 10, "one segment per ACK at most");
            if window >= inflight + 10 {
                prr.sent(10);
                inflight += 10;
                sent += 10;
            }
        }
        assert_eq!((sent, inflight), (450, 520));
    }

    #[test]
    fn first_ack_always_lets_one_segment_go() {
        let mut prr = Prr::new(100);
        assert_eq!(prr.window(10, 50, 50, Delivery { newly: 0, clean_advance: false }), 60);
    }

    #[test]
    fn below_the_threshold_it_catches_up_but_never_beyond() {
        let mut prr = Prr::new(1000);
        prr.sent(10);
        assert_eq!(prr.window(10, 500, 200, ONE), 210);
        let clean = Delivery { newly: 10, clean_advance: true };
        assert_eq!(prr.window(10, 500, 200, clean), 220);
        assert_eq!(prr.window(10, 500, 495, clean), 500);
    }
}
