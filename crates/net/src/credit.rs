//! Credits of one down port: how much each rack may send to the host behind it, and when.
//!
//! Every rack that sends to the host has an entry: what it has asked for so far, what has been given, how many flows it has. A
//! weighted round robin visits them: a round gives each entry one credit for each of its flows, as long as it has asked for more than
//! it has got; who has not costs no time. Credits are spaced by the time that what they let go takes on the port, and wait for
//! as long as what else the port sends takes there: answers to the flows of its host, rates told to it, wire overhead. So what they
//! bring and what comes uncalled for never exceed the port's rate together; the queue there holds what racks send in advance, what
//! came uncalled for within one loop of the credits, and no more. Nor less: what new racks brought before the first credits took
//! effect stays in the queue until one of them has nothing to send for a while.
//!
//! Source: HierCC (APNet 2021), section 3.2; the spacing and the form of the round robin are not in the paper.
//! Invariants: given < asked + a credit, for every rack; credits and what they yield to, in any span, take the span and one more of them.

use forebay_units::{BitsPerSec, Serializer, Time};

/// What the credits of a port are made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditSettings {
    /// Bytes that one credit lets go; above zero.
    pub bytes: u64,
    /// Rate of the port.
    pub rate: BitsPerSec,
}

/// A credit to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// To this rack.
    pub rack: u16,
    /// Bytes given to it in all.
    pub given: u64,
}

/// The credit scheduler of a down port.
#[derive(Clone, Debug)]
pub struct Credits {
    settings: CreditSettings,
    entries: Vec<Entry>, // in the order in which racks were first heard of
    turn: usize,         // whose turn it is
    left: u32,           // credits left of its turn
    short: usize,        // entries that have asked for more than they have got
    pace: Serializer,
    free: Time, // no credit before
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rack: u16,
    flows: u32, // at least 1
    asked: u64,
    given: u64,
}

impl Entry {
    fn is_short(&self) -> bool {
        self.given < self.asked
    }
}

impl Credits {
    /// A port that nobody sends to yet.
    ///
    /// # Panics
    /// If a credit is of no bytes, or the port of no rate.
    pub fn new(settings: CreditSettings) -> Self {
        assert!(settings.bytes > 0, "a credit lets something go");
        Self {
            settings,
            entries: Vec::new(),
            turn: 0,
            left: 0,
            short: 0,
            pace: Serializer::new(settings.rate),
            free: Time::ZERO,
        }
    }

    /// A packet of that rack says what its queue has asked for since the beginning, and how many flows share it. A packet that a
    /// later one has overtaken cannot ask for less.
    pub fn hear(&mut self, rack: u16, asked: u64, flows: u32) {
        let at = self.entries.iter().position(|entry| entry.rack == rack).unwrap_or_else(|| {
            self.entries.push(Entry { rack, flows: 1, asked: 0, given: 0 });
            self.entries.len() - 1
        });
        let entry = &mut self.entries[at];
        let was = entry.is_short();
        entry.flows = flows.max(1);
        entry.asked = entry.asked.max(asked);
        self.short += usize::from(entry.is_short() && !was);
    }

    /// The port sends so many bytes of the wire that no credit let go.
    pub fn yield_to(&mut self, now: Time, wire: u64) {
        if wire > 0 {
            self.free = self.free.max(now) + self.pace.take(wire);
        }
    }

    /// When the next credit may be sent; `Time::MAX` if nobody has asked for one.
    pub fn due(&self) -> Time {
        if self.short == 0 { Time::MAX } else { self.free }
    }

    /// The next credit, if one is due at `now`; it counts as sent.
    pub fn next(&mut self, now: Time) -> Option<Credit> {
        if self.short == 0 || now < self.free {
            return None;
        }
        while self.left == 0 || !self.entries[self.turn].is_short() {
            self.turn = (self.turn + 1) % self.entries.len();
            self.left = self.entries[self.turn].flows;
        }
        self.left -= 1;
        self.free = now + self.pace.take(self.settings.bytes);
        let entry = &mut self.entries[self.turn];
        entry.given += self.settings.bytes;
        self.short -= usize::from(!entry.is_short());
        Some(Credit { rack: entry.rack, given: entry.given })
    }

    /// Bytes given to a rack in all.
    pub fn given(&self, rack: u16) -> u64 {
        self.entries.iter().find(|entry| entry.rack == rack).map_or(0, |entry| entry.given)
    }

    /// Racks that it has heard of.
    pub fn racks(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_units::Span;

    fn credits(gbps: u64) -> Credits {
        let rate = BitsPerSec::from_gbps(gbps);
        Credits::new(CreditSettings { bytes: 1_000, rate })
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// 1000 B at 25 Gb/s are 320 ns.
    #[test]
    fn credits_are_spaced_by_what_they_let_go() {
        let mut port = credits(25);
        assert_eq!((port.next(at(0)), port.due()), (None, Time::MAX));
        port.hear(7, 2_500, 1);
        for (n, ns) in [100, 420, 740].into_iter().enumerate() {
            assert!(port.due() <= at(ns));
            assert_eq!(port.next(at(ns)), Some(Credit { rack: 7, given: 1_000 * (n as u64 + 1) }));
            assert_eq!(port.next(at(ns + 319)), None);
        }
        assert_eq!(port.due(), Time::MAX, "3000 of 2500 asked");
        port.hear(7, 3_001, 1);
        assert_eq!(port.due(), at(1_060));
    }

    /// At 30 Gb/s a credit takes 266.67 ns; three of them exactly 800.
    #[test]
    fn spaces_keep_their_remainders() {
        let mut port = credits(30);
        port.hear(0, 1 << 30, 1);
        for _ in 0..3_000 {
            let now = port.due();
            port.next(now).expect("due");
        }
        assert_eq!(port.due(), at(800_000));
    }

    /// 84 B at 25 Gb/s are 26.88 ns, which the next credit waits for; of what came while the port had nothing to do, for the rest.
    #[test]
    fn credits_wait_for_what_else_the_port_sends() {
        let mut port = credits(25);
        port.hear(0, 1 << 30, 1);
        port.next(at(1_000)).expect("due");
        port.yield_to(at(1_100), 84);
        port.yield_to(at(1_300), 1_000);
        assert_eq!(port.due(), Time::from_ps(1_000_000 + 320_000 + 26_880 + 320_000));
        port.yield_to(at(5_000), 84);
        assert_eq!(port.due(), Time::from_ps(5_026_880));
        port.yield_to(at(9_000), 0);
        assert_eq!(port.due(), Time::from_ps(5_026_880));
    }

    /// A round: a credit for each flow. Who has not asked is skipped, and gains nothing by it later.
    #[test]
    fn a_round_gives_each_flow_a_credit() {
        let mut port = credits(25);
        port.hear(0, 1 << 30, 1);
        port.hear(1, 1 << 30, 3);
        port.hear(2, 500, 2);
        let next = |port: &mut Credits| {
            let now = port.due();
            port.next(now).map(|credit| credit.rack)
        };
        let racks: Vec<_> = (0..10).map(|_| next(&mut port)).collect();
        let one = |racks: &[u16]| racks.iter().copied().map(Some).collect::<Vec<_>>();
        assert_eq!(racks, one(&[1, 1, 1, 2, 0, 1, 1, 1, 0, 1]));
        port.hear(2, 1 << 30, 2);
        let racks: Vec<_> = (0..9).map(|_| next(&mut port)).collect();
        assert_eq!(racks, one(&[1, 1, 2, 2, 0, 1, 1, 1, 2]));
    }

    #[test]
    fn an_old_packet_asks_for_nothing() {
        let mut port = credits(25);
        port.hear(0, 3_000, 2);
        port.hear(0, 1_000, 2);
        assert_eq!((0..5).filter_map(|n| port.next(at(320 * n))).count(), 3);
    }
}
