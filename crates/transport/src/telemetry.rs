//! Words of telemetry, ACK by ACK, made into what laws see: what each hop did since.
//!
//! Times go by the sender's own clock: of all instants that a time stamp may mean, it is the one as far from the last as the ACKs were apart. That takes
//! no common clock, and round trips that differ by less than 8 ms. What a port had sent wraps after 42.9 ms of its wire, and cannot
//! have grown by more than fits between the two instants, or half as much again where transmissions are cut to whole nanoseconds. Where it seems to have, or may have wrapped, the ACK came another way, the rate
//! is another one, or the flow was idle: what happened in between is unknown, as on the first ACK.

use forebay_laws::flow::IntHop;
use forebay_units::{Span, Time};
use forebay_wire::{Hop, MAX_HOPS, Rates};

/// What a sender keeps of the last ACK that brought telemetry. A word for each hop: this is read with every ACK.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    last: [u64; MAX_HOPS],
    len: u8,
    at: Time, // of that ACK
}

/// Room for what an ACK brings.
pub type Heard = [IntHop; MAX_HOPS];

impl Telemetry {
    /// The hops of an ACK that arrives at `now` with these words, for [`FlowEvent::Ack`](forebay_laws::flow::FlowEvent::Ack), in `room`;
    /// empty if no hop has anything new to say. A path with another number of hops begins anew: nothing is known of any. `rates`
    /// are those that the ports' records encode, always the same.
    pub fn read<'a>(
        &mut self,
        rates: &Rates,
        now: Time,
        words: &[u64],
        room: &'a mut Heard,
    ) -> &'a [IntHop] {
        let words = &words[..words.len().min(MAX_HOPS)];
        let read = &mut room[..words.len()];
        let apart_ns = now.since(self.at).as_ps() / 1_000;
        self.at = now;
        if usize::from(self.len) != words.len() {
            self.len = words.len() as u8;
            self.last[..words.len()].copy_from_slice(words);
            for (hop, word) in read.iter_mut().zip(words) {
                *hop = unknown(rates, Hop::of(*word));
            }
            return read;
        }
        let mut moved = false;
        for ((hop, word), last) in read.iter_mut().zip(words).zip(&mut self.last) {
            let later;
            (*hop, later) = change(rates, Hop::of(*last), Hop::of(*word), apart_ns);
            moved |= hop.passed > Span::ZERO;
            *last = if later { *word } else { *last };
        }
        if moved { read } else { &[] }
    }
}

/// A hop of which this is known, but not what it did before.
fn unknown(rates: &Rates, record: Hop) -> IntHop {
    let queue = rates.queue(record.code, record.queue.into());
    IntHop { queue: [queue; 2], rate: rates.rate(record.code), ..IntHop::default() }
}

/// What a hop did from one word to the next, and whether that is later.
#[inline]
fn change(rates: &Rates, last: Hop, record: Hop, apart_ns: u64) -> (IntHop, bool) {
    let Some(passed) = passed(last.at_ns, record.at_ns, apart_ns) else {
        return (unknown(rates, record), false); // overtaken by what has been read, or the same
    };
    let units = u64::from(record.sent.wrapping_sub(last.sent) & (SENT_WRAP - 1) as u32);
    let unit = rates.sent_unit(record.code);
    let known = record.code == last.code
        && passed < unit * SENT_WRAP
        && unit * units <= passed + passed / 2 + unit + ROUNDING;
    if !known {
        return (unknown(rates, record), true);
    }
    let queue = [last, record].map(|hop| rates.queue(hop.code, hop.queue.into()));
    let (sent, rate) = (rates.sent(record.code, units), rates.rate(record.code));
    (IntHop { passed, sent, queue, rate }, true)
}

/// Units after which the count of what was sent wraps.
const SENT_WRAP: u64 = 1 << Hop::SENT_BITS;

/// Times and counts are rounded down: a hop may seem to have sent more than fits by so much, and a unit.
const ROUNDING: Span = Span::from_ps(1_000);

/// From one time stamp to the next, which is about `apart`; `None` unless the next one is later.
fn passed(last_ns: u32, next_ns: u32, apart: u64) -> Option<Span> {
    let unused = u64::BITS - Hop::AT_BITS;
    let off = u64::from(next_ns).wrapping_sub(u64::from(last_ns)).wrapping_sub(apart);
    let off = (off << unused) as i64 >> unused; // the nearer way round
    apart.checked_add_signed(off).filter(|ns| *ns > 0).map(Span::from_ns)
}

#[cfg(test)]
mod tests;
