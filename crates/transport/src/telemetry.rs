//! Words of telemetry, ACK by ACK, made into what laws see: totals that neither wrap nor turn back.
//!
//! Times go by the sender's own clock: of all instants that a time stamp may mean, it is the one as far from the last as the ACKs were apart. That takes
//! no common clock, and round trips that differ by less than 8 ms. What a port had sent wraps after 42.9 ms of its wire, and cannot
//! have grown by more than fits between the two instants, or half as much again where transmissions are cut to whole nanoseconds. Where it seems to have, or may have wrapped, the ACK came another way, the rate
//! is another one, or the flow was idle: what happened in between is unknown, and that hop's clock and counter stand still for this
//! ACK, as if it were the first.

use forebay_laws::flow::IntHop;
use forebay_units::{Span, Time};
use forebay_wire::{Hop, MOST_HOPS, Rates};

/// What a sender keeps of the last ACK that brought telemetry.
#[derive(Clone, Debug)]
pub struct Telemetry {
    rates: Rates,
    last: [Mark; MOST_HOPS],
    hops: [IntHop; MOST_HOPS],
    len: u8,
    at: Time, // of that ACK
}

/// How one hop stood.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    told: Hop,
    base: u64,  // bytes sent until its rate was last another one
    units: u64, // sent since
}

impl Telemetry {
    /// Nothing heard yet. `rates` are those that the ports' words tell of.
    pub fn new(rates: Rates) -> Self {
        Self {
            rates,
            last: [Mark::default(); MOST_HOPS],
            hops: [IntHop::default(); MOST_HOPS],
            len: 0,
            at: Time::ZERO,
        }
    }

    /// The hops of an ACK that arrives at `now` with these words, for [`FlowEvent::Ack`](forebay_laws::flow::FlowEvent::Ack); empty
    /// if no hop has anything new to say. A path with another number of hops begins anew.
    pub fn hear(&mut self, now: Time, words: &[u64]) -> &[IntHop] {
        let words = &words[..words.len().min(MOST_HOPS)];
        let apart_ns = now.since(self.at).as_ps() / 1_000;
        self.at = now;
        let mut moved = false;
        if usize::from(self.len) != words.len() {
            self.len = words.len() as u8;
            for (nth, word) in words.iter().enumerate() {
                self.begin(nth, now, Hop::of(*word));
            }
            moved = true;
        } else {
            for (nth, word) in words.iter().enumerate() {
                moved |= self.go_on(nth, apart_ns, Hop::of(*word));
            }
        }
        if moved { &self.hops[..words.len()] } else { &[] }
    }

    fn begin(&mut self, nth: usize, at: Time, told: Hop) {
        self.last[nth] = Mark { told, base: 0, units: 0 };
        let rate = self.rates.rate(told.code);
        let queue = self.rates.queue(told.code, told.queue.into());
        self.hops[nth] = IntHop { at, tx_bytes: 0, queue, rate };
    }

    /// Whether what it did since is known, and something.
    fn go_on(&mut self, nth: usize, apart_ns: u64, told: Hop) -> bool {
        let mark = &mut self.last[nth];
        let hop = &mut self.hops[nth];
        let Some(passed) = passed(mark.told.at_ns, told.at_ns, apart_ns) else {
            return false; // overtaken by what has been heard
        };
        let units = u64::from(told.sent.wrapping_sub(mark.told.sent) & (SENT_WRAP - 1) as u32);
        let known = told.code == mark.told.code
            && passed < Hop::SENT_UNIT * SENT_WRAP
            && Hop::SENT_UNIT * units <= passed + passed / 2 + ROUNDING;
        mark.told = told;
        hop.rate = self.rates.rate(told.code);
        hop.queue = self.rates.queue(told.code, told.queue.into());
        if known {
            mark.units += units;
            hop.at += passed;
            hop.tx_bytes = mark.base + self.rates.sent(told.code, mark.units).get();
        } else {
            (mark.base, mark.units) = (hop.tx_bytes, 0);
        }
        known
    }
}

/// Units after which the count of what was sent wraps.
const SENT_WRAP: u64 = 1 << Hop::SENT_BITS;

/// Times and counts are rounded down: a hop may seem to have sent more than fits by so much.
const ROUNDING: Span = Span::from_ps(Hop::SENT_UNIT.as_ps() + 1_000);

/// From one time stamp to the next, which is about `apart`; `None` unless the next one is later.
fn passed(last_ns: u32, next_ns: u32, apart: u64) -> Option<Span> {
    let unused = u64::BITS - Hop::AT_BITS;
    let off = u64::from(next_ns).wrapping_sub(u64::from(last_ns)).wrapping_sub(apart);
    let off = (off << unused) as i64 >> unused; // the nearer way round
    apart.checked_add_signed(off).filter(|ns| *ns > 0).map(Span::from_ns)
}

#[cfg(test)]
mod tests;
