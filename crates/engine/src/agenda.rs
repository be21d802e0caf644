//! When each source of events of a small process has its next one: a departure and a timer of each node, and the head of each link.
//!
//! A tournament, without branches that a processor would have to guess: what changes plays its games again, up to the winner of all.
//! Invariant: sources are in the order of events at one instant: departures, then links, then timers, each node by node.

use forebay_units::Time;

/// The most sources; a heap has more.
pub(crate) const MOST_SOURCES: u32 = 32;

/// Bits of a source's place.
const PLACE_BITS: u32 = 6;

const _: () = assert!(MOST_SOURCES < 1 << PLACE_BITS);

/// The sources of a process, for the time of a window.
pub(crate) struct Agenda {
    start: u64,
    end: u64,
    games: [u64; 2 * MOST_SOURCES as usize], // winners of each, the first of all at 1; keys of sources from `width` on
    width: usize,                            // a power of two
    of: Vec<Source>,                         // by place
}

/// Where an event comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    Departure { local: u32 },
    Link { local: u32, link: u32 },
    Timer { local: u32 },
}

/// No event within the window.
const NONE: u64 = u64::MAX;

impl Default for Agenda {
    fn default() -> Self {
        Self {
            start: 0,
            end: 0,
            games: [NONE; 2 * MOST_SOURCES as usize],
            width: 1,
            of: Vec::new(),
        }
    }
}

impl Agenda {
    /// No events of so many sources, for a window of less than 2^58 ps.
    pub fn begin(&mut self, sources: u32, start: Time, end: Time) {
        (self.start, self.end) = (start.as_ps(), end.as_ps());
        self.width = (sources as usize).next_power_of_two();
        self.games[..2 * self.width].fill(NONE);
        self.of.clear();
    }

    /// Adds a source, which comes after all others at one instant. Returns its place.
    pub fn add(&mut self, source: Source, at: Time) -> usize {
        let place = self.of.len();
        self.of.push(source);
        self.set(place, at);
        place
    }

    /// The next event of a source.
    #[inline(always)]
    pub fn set(&mut self, place: usize, at: Time) {
        let at = at.as_ps();
        let key = match at < self.end {
            true => (at - self.start) << PLACE_BITS | place as u64,
            false => NONE,
        };
        let mut game = self.width + place;
        if self.games[game] == key {
            return;
        }
        self.games[game] = key;
        let mut winner = key;
        while game > 1 {
            winner = winner.min(self.games[(game ^ 1) % (2 * MOST_SOURCES as usize)]);
            game /= 2;
            self.games[game % MOST_SOURCES as usize] = winner;
        }
    }

    /// The first of all events, and the place of its source.
    #[inline(always)]
    pub fn first(&self) -> Option<(Time, Source, usize)> {
        let first = self.games[1];
        if first == NONE {
            return None;
        }
        let place = (first & ((1 << PLACE_BITS) - 1)) as usize;
        Some((Time::from_ps(self.start + (first >> PLACE_BITS)), self.of[place], place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_one_instant_the_order_is_that_of_sources() {
        let at = Time::from_ps;
        let mut agenda = Agenda::default();
        agenda.begin(3, at(100), at(200));
        let departure = agenda.add(Source::Departure { local: 3 }, at(150));
        let link = agenda.add(Source::Link { local: 3, link: 7 }, at(150));
        let timer = agenda.add(Source::Timer { local: 3 }, at(120));
        let first = |agenda: &Agenda| agenda.first().map(|(time, _, place)| (time, place));
        assert_eq!(first(&agenda), Some((at(120), timer)));
        agenda.set(timer, at(150));
        assert_eq!(first(&agenda), Some((at(150), departure)));
        agenda.set(departure, at(200)); // the window ends before it
        assert_eq!(first(&agenda), Some((at(150), link)));
        agenda.set(link, Time::MAX);
        assert_eq!(first(&agenda), Some((at(150), timer)));
        agenda.set(timer, Time::MAX);
        assert_eq!(first(&agenda), None);
    }
}
