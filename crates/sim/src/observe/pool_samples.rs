//! Samples of the credits of a server's cache, taken at the hosts whose clients have them.

use crate::host::{Host, Observer};
use forebay_record::CreditsSample;
use forebay_units::{Span, Time};

/// Samples of the clients of one host, at the instants at which a server's path to memory is sampled.
#[derive(Clone, Debug)]
pub(crate) struct PoolSamples {
    every: Span,
    next: Time,
    servers: Vec<u32>,
    taken: Vec<CreditsSample>, // those of one instant side by side, one for each server
}

impl PoolSamples {
    /// Of clients with pools of these servers; the first sample is due at the end of the first interval.
    pub fn new(every: Span, servers: Vec<u32>) -> Self {
        Self { every, next: Time::ZERO + every, servers, taken: Vec::new() }
    }

    /// Samples of the clients of this server; none if there are no such clients.
    pub fn of_server(&self, server: u32) -> impl Iterator<Item = CreditsSample> {
        let at = self.servers.iter().position(|one| *one == server);
        let taken = at.map_or(&[][..], |at| self.taken.get(at..).unwrap_or_default());
        taken.iter().step_by(self.servers.len().max(1)).copied()
    }
}

impl Observer for PoolSamples {
    fn next(&self) -> Time {
        self.next
    }

    fn observe(&mut self, now: Time, host: &Host) {
        self.next = now + self.every;
        let from = self.taken.len();
        self.taken.resize(from + self.servers.len(), CreditsSample::default());
        for end in host.ends().into_iter().flat_map(|ends| ends.iter()) {
            let Some(pool) = end.pool() else { continue };
            let server = host.common().connections[end.connection as usize].server;
            let Some(at) = self.servers.iter().position(|one| *one == server) else { continue };
            let sample = &mut self.taken[from + at];
            *sample = sample.and(CreditsSample {
                outstanding: pool.account.totals().outstanding,
                limit: pool.account.limit(),
                delta: pool.account.delta(),
                blocked: pool.account.totals().blocked.into(),
                longest: pool.blocked_since().map_or(Span::ZERO, |since| now.since(since)),
            });
        }
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
