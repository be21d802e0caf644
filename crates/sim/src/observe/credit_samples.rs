//! Samples of what receivers give credit for: how many flows have some, what waits for it, what lies beyond gaps, and credits themselves.

use crate::host::{Delivered, Host, Observer, SenderEnd};
use forebay_units::{Bytes, Span, Time};

/// How the flows of one host stood at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CreditSample {
    /// Flows to the host with credit out.
    pub credited: u32,
    /// Credits that the host has sent since the sample before.
    pub sent: u32,
    /// Credits since then that released something of what the host sends.
    pub used: u32,
    /// Payload to the host that waits for credit.
    pub waiting: Bytes,
    /// Payload that came beyond the first gap of its flow.
    pub beyond_gap: Bytes,
}

/// Counts that only grow: of flows that ended, so far, and of all at the sample before.
#[derive(Clone, Copy, Debug, Default)]
struct CreditCounts {
    flows: usize,
    of_ended: u64,
    before: u64,
}

impl CreditCounts {
    /// What was counted since the sample before. `ended`: every flow that has ended; `open`: the sum of the others.
    fn since<T>(&mut self, ended: &[T], count: impl Fn(&T) -> u32, open: u64) -> u32 {
        self.of_ended += ended[self.flows..].iter().map(|one| u64::from(count(one))).sum::<u64>();
        self.flows = ended.len();
        let all = self.of_ended + open;
        let since = all.saturating_sub(self.before);
        self.before = all;
        u32::try_from(since).unwrap_or(u32::MAX)
    }
}

/// Samples of one host at equal intervals.
#[derive(Clone, Debug)]
pub(crate) struct CreditSamples {
    every: Span,
    next: Time,
    sent: CreditCounts,
    used: CreditCounts,
    /// Samples taken so far, from time zero on.
    pub taken: Vec<CreditSample>,
}

impl CreditSamples {
    /// Samples from time zero on.
    pub fn new(every: Span) -> Self {
        let none = CreditCounts::default();
        Self { every, next: Time::ZERO, sent: none, used: none, taken: Vec::new() }
    }
}

impl Observer for CreditSamples {
    fn next(&self) -> Time {
        self.next
    }

    fn observe(&mut self, now: Time, host: &Host) {
        self.next = now + self.every;
        let mut sample = CreditSample::default();
        for state in host.credit_states() {
            sample.credited += u32::from(state.credited);
            sample.waiting = sample.waiting.saturating_add(state.waiting);
            sample.beyond_gap += state.beyond_gap;
        }
        let open = host.credits_of_unfinished().map(|(_, sent)| u64::from(sent)).sum();
        sample.sent = self.sent.since(host.delivered(), |one: &Delivered| one.credits_sent, open);
        let open = host.unfinished().map(|(one, _)| u64::from(one.credits_used)).sum();
        sample.used = self.used.since(host.sent(), |one: &SenderEnd| one.credits_used, open);
        self.taken.push(sample);
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
