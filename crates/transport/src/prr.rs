//! Proportional rate reduction: how many segments each ACK of a reduction lets go.
//!
//! Source: RFC 6937 in the form Linux uses (`tcp_cwnd_reduction`). It counts packets, and a short one is one: where bytes
//! are counted, the last few of a message let a few leave, and a full segment waits for an ACK that the receiver delays.
//! Deviation: what is in flight and the threshold are bytes, as everywhere here; several short segments that one ACK
//! covers count as the full ones they would fill. Before it, Linux halved the rate: [`halved`].

/// Counters of one reduction, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    delivered: u64,
    out: u64,
    /// In bytes.
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

    /// Something of `len` bytes left, in segments of `mss`.
    #[inline]
    pub(crate) fn sent(&mut self, len: u64, mss: u64) {
        self.out += len.div_ceil(mss);
    }

    /// Segments delivered in this reduction.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Segments that left in this reduction.
    pub(crate) fn out(&self) -> u64 {
        self.out
    }

    /// The window after an ACK, in bytes: what is in flight and whole segments more, though not beyond `ssthresh`.
    pub(crate) fn window(&mut self, mss: u64, ssthresh: u64, inflight: u64, ack: Delivery) -> u64 {
        let newly = ack.newly.div_ceil(mss);
        self.delivered += newly;
        let quota = if inflight > ssthresh {
            let share = u128::from(ssthresh) * u128::from(self.delivered);
            let share = share.div_ceil(u128::from(self.prior_cwnd)) as u64;
            share.saturating_sub(self.out) * mss
        } else {
            let repay = self.delivered.saturating_sub(self.out).max(newly);
            ((repay + u64::from(ack.clean_advance)) * mss).min(ssthresh - inflight)
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
                prr.sent(10, 10);
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
        prr.sent(10, 10);
        assert_eq!(prr.window(10, 500, 200, ONE), 210);
        let clean = Delivery { newly: 10, clean_advance: true };
        assert_eq!(prr.window(10, 500, 200, clean), 220);
        assert_eq!(prr.window(10, 500, 495, clean), 500);
    }

    /// A message of 8 KB in segments of 4,000 B ends in one of 192 B.
    #[test]
    fn a_short_segment_is_one_when_it_leaves_and_when_it_arrives() {
        let last = Delivery { newly: 192, clean_advance: false };
        let mut prr = Prr::new(20_000);
        assert_eq!(prr.window(4000, 12_000, 16_000, last), 20_000, "a whole one may follow it");
        prr.sent(192, 4000);
        assert_eq!(prr.window(4000, 12_000, 16_192, last), 20_192, "two in, two out");
        prr.sent(4000, 4000);
        assert_eq!(prr.window(4000, 12_000, 20_192, last), 20_192, "three in let two out");
        assert_eq!(prr.window(4000, 12_000, 2000, last), 10_000, "two more below the threshold");
    }

    #[test]
    fn segments_of_a_super_packet_count_each() {
        let mut prr = Prr::new(100);
        prr.sent(35, 10);
        let newly = Delivery { newly: 80, clean_advance: false };
        assert_eq!(prr.window(10, 50, 60, newly), 60, "half of eight is the four that left");
    }
}
