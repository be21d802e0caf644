//! CARC: a connection's share of the receiver's cache, and a little more while the receiver idles.
//!
//! A connection may have C lines unread at its receiver, the lines of the cache over the connections that share it. With requests blocked
//! and latencies that are those of an empty path, the receiver waits for requests: the limit then moves towards C and what the
//! receiver consumes in a round trip, by a quarter of the way per round trip, and otherwise back. It stays between C/2 and 2 C.
//!
//! Source: CARC (APNet 2025), formulas 1 and 2. The paper prints no rule for the second term.
//! Needs: the latency of each request; the round-trip time of the empty path, or the least latency seen stands for it. State: 80
//! bytes. Integers only.
//! Deviation: the rule for the second term, its quarter and its bounds are assumptions. A limit below C for other users of the
//! cache is not modelled.

use super::{PoolAct, PoolEvent, PoolLaw, PoolSeen, PoolStart};
use crate::Acts;
use crate::params::{params, whole};
use forebay_units::{Span, Time};

params! {
    /// What a scenario may set on CARC.
    pub struct CarcParams {
        /// A latency up to this many percent of the empty path's is one without a queue.
        idle_percent: Percent = Percent::new(125) => "Assumption",
    }
}

whole! {
    /// Of a round-trip time.
    pub struct Percent: "whole number of percent" from 100 to 1000;
}

/// A connection under CARC.
#[derive(Clone, Debug)]
pub struct Carc {
    lines: u64, // of the cache
    line: u64,  // bytes
    share: u64,
    delta: i64, // from -share/2 to share
    rtt: Span,  // of the empty path; `Span::MAX`: not known yet
    due: Time,
    completed: u64, // bytes, at the last round trip
    latency: Span,  // of the last request
    percent: u64,
}

/// Where nothing is known of the path.
const FIRST_RTT: Span = Span::from_us(10);

impl PoolLaw for Carc {
    const NAME: &'static str = "carc";
    type Params = CarcParams;

    fn start(params: &CarcParams, now: Time, at: PoolStart, acts: &mut Acts<PoolAct>) -> Self {
        let line = at.line.get().max(1);
        let lines = at.llc.get() / line;
        let mut carc = Self {
            lines,
            line,
            share: 0,
            delta: 0,
            rtt: at.base_rtt.unwrap_or(Span::MAX),
            due: now,
            completed: 0,
            latency: Span::MAX,
            percent: params.idle_percent.get(),
        };
        carc.connections(at.connections);
        carc.due = now.saturating_add(carc.period());
        acts.push(PoolAct::Limit(carc.limit()));
        acts.push(PoolAct::WakeAt(carc.due));
        carc
    }

    fn step(&mut self, now: Time, seen: PoolSeen<'_>, acts: &mut Acts<PoolAct>) {
        match seen.event {
            PoolEvent::Connections(n) => self.connections(n),
            PoolEvent::Completed { latency, .. } => {
                self.latency = latency;
                self.rtt = self.rtt.min(latency);
                return;
            }
            PoolEvent::Wake if now >= self.due => {
                let consumed = seen.totals.completed.saturating_sub(self.completed);
                self.completed = seen.totals.completed;
                let empty = self.rtt.saturating_mul(self.percent) / 100;
                let idle = seen.totals.blocked > 0 && self.latency <= empty;
                let goal = if idle { (consumed / self.line).min(self.share) as i64 } else { 0 };
                self.delta += (goal - self.delta) / 4;
                self.bound();
                self.due = now.saturating_add(self.period());
                acts.push(PoolAct::WakeAt(self.due));
            }
            PoolEvent::Wake => return,
        }
        acts.push(PoolAct::Limit(self.limit()));
    }
}

impl Carc {
    fn connections(&mut self, n: u32) {
        // A share that is half of all numbers leaves room for the sum.
        self.share = (self.lines / u64::from(n.max(1))).clamp(1, u64::MAX / 4);
        self.bound();
    }

    fn bound(&mut self) {
        let share = self.share as i64;
        self.delta = self.delta.clamp(-share / 2, share);
    }

    fn limit(&self) -> u64 {
        self.share.saturating_add_signed(self.delta)
    }

    /// From one look at the receiver to the next: a round trip, and 1 us at least.
    fn period(&self) -> Span {
        let known = if self.rtt == Span::MAX { FIRST_RTT } else { self.rtt };
        known.clamp(Span::from_us(1), Span::from_secs(1))
    }
}

#[cfg(test)]
mod tests;
