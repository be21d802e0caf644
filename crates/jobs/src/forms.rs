//! Closed forms: bytes, steps and times.
//!
//! n ranks, S bytes ([`Schedule::size`]), B the rate of one direction of a rank's link, alpha the time of a message beyond its
//! serialisation. Channels share the link. Source: Thakur, Rabenseifner and Gropp 2005; nccl-tests `doc/PERFORMANCE.md`.

use crate::kinds::{Algorithm, Operation, Ratio};
use crate::schedule::Schedule;
use forebay_units::{BitsPerSec, Bytes, Span};

const PS_BITS: u128 = 8_000_000_000_000; // ps per byte at 1 bit/s

impl Schedule {
    /// Bytes that a rank sends, over all channels, at most [`Bytes::MAX`]; none if there is no such rank.
    pub fn sent(&self, rank: u32) -> Bytes {
        let (n, whole) = (self.ranks, self.parts.whole());
        if n == 1 || rank >= n {
            return Bytes::ZERO;
        }
        let part = |rank: u32| self.parts.part(rank);
        let [reduce, gather] = match (self.algorithm, self.operation) {
            (Algorithm::Ring, Operation::Broadcast) => {
                return if self.next(rank, 1) == self.root { Bytes::ZERO } else { whole };
            }
            (Algorithm::Direct, Operation::Broadcast) => {
                return if rank == self.root { times(whole, (n - 1).into()) } else { Bytes::ZERO };
            }
            (_, Operation::AllToAll) => return whole - part(rank),
            (Algorithm::Ring, _) => [whole - part(rank), whole - part(self.next(rank, 1))],
            (Algorithm::Direct, _) => [whole - part(rank), part(rank) * u64::from(n - 1)],
            (Algorithm::HalvingDoubling, _) => {
                let paired = self.parts.count();
                if rank >= paired {
                    return whole;
                }
                let back = if rank + paired < n { whole } else { Bytes::ZERO };
                let own = |log: u32| self.parts.range(rank >> log << log, 1 << log);
                let gather: Bytes = (0..paired.ilog2()).map(own).sum();
                [whole - part(rank), gather + back]
            }
        };
        match self.operation {
            Operation::ReduceScatter => reduce,
            Operation::AllGather => gather,
            _ => reduce + gather,
        }
    }

    /// Bytes that all ranks send, over all channels: 2 (n - 1) S in an all-reduce of any algorithm, (n - 1) S in all else.
    pub fn sent_by_all(&self) -> Bytes {
        times(self.parts.whole(), self.passes() * u64::from(self.ranks - 1))
    }

    /// How often data crosses the ranks.
    fn passes(&self) -> u64 {
        if self.operation == Operation::AllReduce { 2 } else { 1 }
    }

    /// Messages that follow each other, if messages are not cut.
    pub fn steps_in_turn(&self) -> u64 {
        let n = self.ranks;
        if n == 1 {
            return 0;
        }
        match self.algorithm {
            Algorithm::Ring => self.passes() * u64::from(n - 1),
            Algorithm::Direct => self.passes(),
            Algorithm::HalvingDoubling => {
                let folds = if n.is_power_of_two() { 0 } else { 2 };
                self.passes() * u64::from(n.ilog2()) + folds
            }
        }
    }

    /// busbw over algbw: 2 (n - 1)/n of an all-reduce, 1 of a broadcast, (n - 1)/n of all else.
    pub fn bus_factor(&self) -> Ratio {
        self.operation.bus_factor(self.ranks)
    }

    /// Less than any algorithm needs at this rate: 2 (n - 1)/n S/B of an all-reduce, S/B of a broadcast to others, (n - 1)/n S/B of all
    /// else. Rounded down.
    pub fn least_time(&self, rate: BitsPerSec) -> Span {
        let Ratio { over, under } = self.bus_factor();
        let size = if self.ranks == 1 { 0 } else { self.size.get() };
        time(u128::from(size) * u128::from(over), under.into(), rate)
    }

    /// Time of the schedule on links without contention, if messages are not cut but in a chain: steps in turn times alpha, and what a rank
    /// sends or receives. Without `step_delay`. Rounded down.
    ///
    /// Exact where parts divide. A chain has (n - 2 + c)(alpha + S/(cB)) with c messages of equal size.
    pub fn ideal_time(&self, alpha: Span, rate: BitsPerSec) -> Span {
        let n = self.ranks;
        if n == 1 {
            return Span::ZERO;
        }
        let whole = u128::from(self.parts.whole);
        let (steps, bytes, under) = match (self.algorithm, self.operation) {
            (Algorithm::Ring, Operation::Broadcast) => {
                let message = whole.min(self.parts.message.into());
                let messages = self.parts.messages(self.parts.whole);
                (messages + u64::from(n - 2), whole + u128::from(n - 2) * message, 1)
            }
            (Algorithm::Direct, Operation::Broadcast) => (1, whole * u128::from(n - 1), 1),
            (Algorithm::HalvingDoubling, _) => {
                let paired = u128::from(self.parts.count());
                let folded = if n.is_power_of_two() { 0 } else { 2 * whole * paired };
                let exchanged = whole * u128::from(self.passes()) * (paired - 1);
                (self.steps_in_turn(), exchanged + folded, paired)
            }
            _ => (
                self.steps_in_turn(),
                whole * u128::from(self.passes()) * u128::from(n - 1),
                n.into(),
            ),
        };
        let waits = alpha.saturating_mul(steps);
        Span::from_ps(waits.as_ps().saturating_add(time(bytes, under, rate).as_ps()))
    }
}

fn times(bytes: Bytes, times: u64) -> Bytes {
    Bytes::new(bytes.get().saturating_mul(times))
}

/// Time of so many bytes, over a number, rounded down; [`Span::MAX`] at rate zero.
fn time(bytes: u128, under: u128, rate: BitsPerSec) -> Span {
    // Below 2^60 bytes, 2^21 times: no overflow.
    let ps = (bytes * PS_BITS).checked_div(under * u128::from(rate.get()));
    ps.and_then(|ps| u64::try_from(ps).ok()).map_or(Span::MAX, Span::from_ps)
}
