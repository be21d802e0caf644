//! Credits of one down port: how much each rack may send to the host behind it, and when.
//!
//! Every rack that sends to the host has an entry: bytes requested so far, bytes given, what has arrived, how many
//! flows it has. A weighted round robin visits them: a round gives each entry one credit for each of its flows, as long as it has requested
//! more than it was given; an entry that has not costs no time. Two things hold credits back:
//!
//! - Pace. Credits are spaced by the time that what they let go takes on the port, or on a part of its rate, and wait for as long as what else the port sends
//!   takes there: ACKs to its host, rate messages to it, wire overhead. So what they bring and what comes without credit
//!   never exceed the port's rate together.
//! - Room. What the port holds, and what of the racks may be on its way to it, is at most what they may send in advance, or what the
//!   port sends in a round trip if that is more. What hides in queues of the core on the way is in that sum; without it, it would
//!   come as a burst while newer credits bring more. A rack has its part of the room, by its flows, and at least what it may send in
//!   advance, so that one whose way is blocked does not take the room of others.
//!
//! So the queue of the port never holds more than that room, a packet of each rack, and what came without credit. Nor less: what new
//! racks brought before the first credits took effect stays in it until one of them has nothing to send for a while.
//!
//! What a rack sent and is not demand of for `patience` is taken for lost.
//!
//! Source: HierCC (APNet 2021), section 3.2, for entries, weights and the bound; pace, room and the form of the round robin are not in
//! the paper.
//! Invariants: given < requested + a credit, for every rack; credits and what they yield to, in any span, take the span and one more of them.

use forebay_settings::Hierarchical;
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};

/// What the credits of a port are made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditSettings {
    /// Bytes that one credit lets go; above zero.
    pub bytes: u64,
    /// Rate of the port.
    pub rate: BitsPerSec,
    /// Parts of a million of it at which credits are paced, and what they yield to; above zero.
    pub pace: u32,
    /// From a credit until what it lets go is here, on an empty fabric and from the rack that is farthest away.
    pub round_trip: Span,
    /// What has not arrived for so long is lost.
    pub patience: Span,
}

impl CreditSettings {
    /// Credits of a port of this rate in a fabric of these settings. `round_trip`: see [`CreditSettings::round_trip`].
    pub fn of(keys: &Hierarchical, rate: BitsPerSec, round_trip: Span) -> Self {
        Self {
            bytes: keys.credit.get(),
            rate,
            pace: (keys.credit_pace * f64::from(FULL_RATE)).round() as u32,
            round_trip,
            patience: keys.request_timeout,
        }
    }

    /// Rate of credits with what they yield to.
    fn paced(&self) -> BitsPerSec {
        let rate = u128::from(self.rate.get()) * u128::from(self.pace) / u128::from(FULL_RATE);
        BitsPerSec::new(rate as u64)
    }
}

/// All of a port's rate, as [`CreditSettings::pace`].
pub const FULL_RATE: u32 = 1_000_000;

/// A credit to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// To this rack.
    pub rack: u16,
    /// Bytes given to it in all.
    pub given: u64,
}

/// What tagged data, or a repeated request, says of a rack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackDemand {
    /// The rack.
    pub rack: u16,
    /// Bytes of credit that it has requested since the beginning.
    pub requested: u64,
    /// Number of flows of the rack.
    pub flows: u32,
    /// Bytes that it may send before its first credit.
    pub advance: u64,
}

/// The credit scheduler of a down port.
#[derive(Clone, Debug)]
pub struct Credits {
    settings: CreditSettings,
    entries: Vec<Entry>, // in the order in which racks were first demand of
    turn: usize,         // whose turn it is
    left: u32,           // credits left of its turn
    short: usize,        // entries that have requested more than they were given
    pace: Serializer,
    free: Time, // no credit before
    wait: Time, // nor before this, unless something arrives
    port: Serializer,
    busy: Time,            // all that has entered the port will have left
    halted: Option<Bytes>, // while its cable is dead: what it may hold
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rack: u16,
    flows: u32, // at least 1
    requested: u64,
    given: u64,
    arrived: u64,
    advance: u64,
    last: Time, // something arrived
}

impl Entry {
    fn is_short(&self) -> bool {
        self.given < self.requested
    }

    /// Whether it has something to send, or on its way.
    fn is_active(&self) -> bool {
        self.requested > self.arrived || self.is_short()
    }

    /// Bytes that may be on their way.
    fn under_way(&self) -> u64 {
        (self.given + self.advance).saturating_sub(self.arrived)
    }

    fn forget_what_is_under_way(&mut self) {
        self.arrived = self.given + self.advance;
    }
}

/// Sums over racks that have something to send, or on its way.
#[derive(Clone, Copy, Debug, Default)]
struct DemandSums {
    advance: u64,
    flows: u64,
    under_way: u64,
}

impl Credits {
    /// A port that no host sends to yet.
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
            pace: Serializer::new(settings.paced()),
            free: Time::ZERO,
            wait: Time::ZERO,
            port: Serializer::new(settings.rate),
            busy: Time::ZERO,
            halted: None,
        }
    }

    /// Data of a rack enters the port: so many bytes that credits let go, and so many of the wire that none did.
    pub fn arrive(&mut self, now: Time, demand: RackDemand, bytes: u64, overhead: u64) {
        self.enter(now, bytes);
        self.yield_to(now, overhead);
        let entry = self.update(now, demand);
        entry.arrived = (entry.arrived + bytes).min(entry.given + entry.advance); // more if some was taken for lost
    }

    /// A rack repeats its request, since it waits and no credit comes: nothing of it is on its way. The answer is what it has been given.
    pub fn on_request(&mut self, now: Time, demand: RackDemand) -> Credit {
        let entry = self.update(now, demand);
        entry.forget_what_is_under_way();
        Credit { rack: entry.rack, given: entry.given }
    }

    /// Takes in the demand of a packet. One that a later packet has overtaken cannot reduce it.
    fn update(&mut self, now: Time, demand: RackDemand) -> &mut Entry {
        let RackDemand { rack, requested, flows, advance } = demand;
        let at = self.entries.iter().position(|entry| entry.rack == rack).unwrap_or_else(|| {
            let (requested, given, arrived) = (0, 0, 0);
            self.entries.push(Entry { rack, flows, requested, given, arrived, advance, last: now });
            self.entries.len() - 1
        });
        self.wait = Time::ZERO;
        let entry = &mut self.entries[at];
        let was = entry.is_short();
        entry.flows = flows.max(1);
        entry.requested = entry.requested.max(requested);
        entry.last = now;
        self.short += usize::from(entry.is_short() && !was);
        entry
    }

    /// The port has this rate from now on: what it holds leaves at it, and what credits wait for takes as long as it does at it.
    pub fn set_rate(&mut self, now: Time, rate: BitsPerSec) {
        let left = |until: Time| self.settings.rate.bytes_in(until.max(now).since(now));
        let (held, owed) = (left(self.busy), left(self.free));
        self.settings.rate = rate;
        let paced = self.settings.paced();
        (self.port, self.pace) = (Serializer::new(rate), Serializer::new(paced));
        (self.busy, self.free) = (now + rate.time_for(held), now + rate.time_for(owed));
        self.wait = Time::ZERO;
    }

    /// So many bytes of the wire enter the port that no credit let go.
    pub fn yield_to(&mut self, now: Time, wire: u64) {
        if wire > 0 {
            self.free = self.free.max(now) + self.pace.take(wire);
            self.enter(now, wire);
        }
    }

    fn enter(&mut self, now: Time, bytes: u64) {
        match &mut self.halted {
            None => self.busy = self.busy.max(now) + self.port.take(bytes),
            Some(held) => *held += Bytes::new(bytes),
        }
    }

    /// The cable is dead: no credit until it is not, since what comes would be dropped, or wait.
    pub fn halt(&mut self, now: Time) {
        self.halted = Some(self.queue(now));
    }

    /// The cable works again. What the port may hold goes first, since it may not have been dropped.
    pub fn resume(&mut self, now: Time) {
        if let Some(held) = self.halted.take() {
            self.busy = now + self.settings.rate.time_for(held);
            (self.free, self.wait) = (self.free.max(now), Time::ZERO);
        }
    }

    /// When the next credit may be sent; `Time::MAX` if none is requested, or the cable is dead.
    pub fn due(&self) -> Time {
        if self.short == 0 || self.halted.is_some() { Time::MAX } else { self.free.max(self.wait) }
    }

    /// The next credit, if one is due at `now`; it counts as sent. If there is no room for one, [`Credits::due`] moves.
    pub fn next(&mut self, now: Time) -> Option<Credit> {
        if now < self.due() {
            return None;
        }
        let active = self.active(now);
        let CreditSettings { patience, rate, .. } = self.settings;
        let held = self.queue(now).get();
        let room = active.advance.max(self.loop_bytes());
        if held + active.under_way >= room {
            let excess = held + active.under_way - room + 1;
            let soon = if held >= excess { rate.time_for(Bytes::new(excess)) } else { patience };
            self.wait = now + soon;
            return None;
        }
        let Some(turn) = self.choose(active.flows) else {
            self.wait = now + patience;
            return None;
        };
        self.turn = turn;
        self.left -= 1;
        self.free = now + self.pace.take(self.settings.bytes);
        let entry = &mut self.entries[turn];
        entry.given += self.settings.bytes;
        self.short -= usize::from(!entry.is_short());
        Some(Credit { rack: entry.rack, given: entry.given })
    }

    /// Next in turn among those that want a credit and have room for one.
    fn choose(&mut self, flows: u64) -> Option<usize> {
        let room = self.loop_bytes();
        let wants = |entry: &Entry| {
            let part = room * u64::from(entry.flows) / flows.max(1);
            entry.is_short() && entry.under_way() < part.max(entry.advance)
        };
        let count = self.entries.len();
        if self.left > 0 && wants(&self.entries[self.turn]) {
            return Some(self.turn);
        }
        let turn =
            (1..=count).map(|i| (self.turn + i) % count).find(|i| wants(&self.entries[*i]))?;
        self.left = self.entries[turn].flows;
        Some(turn)
    }

    /// Takes what has not arrived for too long for lost.
    fn active(&mut self, now: Time) -> DemandSums {
        let patience = self.settings.patience;
        let mut active = DemandSums::default();
        for entry in &mut self.entries {
            if entry.is_active() && now.since(entry.last) > patience {
                entry.forget_what_is_under_way();
                entry.last = now;
            }
            if entry.is_active() {
                active.advance += entry.advance;
                active.flows += u64::from(entry.flows);
                active.under_way += entry.under_way();
            }
        }
        active
    }

    /// What the port sends in a round trip.
    fn loop_bytes(&self) -> u64 {
        self.settings.rate.bytes_in(self.settings.round_trip).get()
    }

    /// What has entered the port and not left it.
    pub fn queue(&self, now: Time) -> Bytes {
        let left = || self.settings.rate.bytes_in(self.busy.max(now).since(now));
        self.halted.unwrap_or_else(left)
    }

    /// Bytes given to a rack in all.
    pub fn given(&self, rack: u16) -> u64 {
        self.entries.iter().find(|entry| entry.rack == rack).map_or(0, |entry| entry.given)
    }

    /// Racks that it has demand of.
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
        Credits::new(CreditSettings {
            bytes: 1_000,
            rate,
            pace: FULL_RATE,
            round_trip: Span::from_us(12),
            patience: Span::from_us(100),
        })
    }

    /// Credits of 1000 B at a port of 25 Gb/s: one in 320 ns, and one in 400 ns at four fifths of it, also once the port is half as fast.
    #[test]
    fn a_pace_below_one_spaces_credits_and_what_they_yield_to() {
        let settings = CreditSettings { pace: FULL_RATE / 5 * 4, ..credits(25).settings };
        for (rate, apart) in [(25_000, 400), (12_500, 800)] {
            let mut port = Credits::new(settings);
            port.set_rate(Time::ZERO, BitsPerSec::new(rate * 1_000_000));
            request(&mut port, 0, 100_000, 1);
            port.next(port.due()).expect("there is room");
            let first = port.due();
            port.next(first).expect("there is room");
            assert_eq!(port.due().since(first), Span::from_ns(apart));
            port.yield_to(first, 500);
            assert_eq!(port.due().since(first), Span::from_ns(apart + apart / 2));
        }
    }

    fn demand(rack: u16, requested: u64, flows: u32) -> RackDemand {
        RackDemand { rack, requested, flows, advance: 10_000 }
    }

    /// What a rack sends in advance of its requests arrives.
    fn request(port: &mut Credits, rack: u16, requested: u64, flows: u32) {
        port.arrive(Time::ZERO, demand(rack, requested, flows), requested.min(10_000), 0);
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// The next credit, and the 1000 B that it lets go at once.
    fn give(port: &mut Credits) -> Option<u16> {
        let now = port.due();
        let credit = port.next(now)?;
        port.arrive(now, demand(credit.rack, 0, flows(port, credit.rack)), 1_000, 0);
        Some(credit.rack)
    }

    fn flows(port: &Credits, rack: u16) -> u32 {
        port.entries.iter().find(|entry| entry.rack == rack).map_or(1, |entry| entry.flows)
    }

    /// 1000 B at 25 Gb/s are 320 ns.
    #[test]
    fn credits_are_spaced_by_what_they_let_go() {
        let mut port = credits(25);
        assert_eq!((port.next(at(0)), port.due()), (None, Time::MAX));
        request(&mut port, 7, 2_500, 1);
        for (n, ns) in [100, 420, 740].into_iter().enumerate() {
            assert!(port.due() <= at(ns));
            assert_eq!(port.next(at(ns)), Some(Credit { rack: 7, given: 1_000 * (n as u64 + 1) }));
            assert_eq!(port.next(at(ns + 319)), None);
        }
        assert_eq!(port.due(), Time::MAX, "3000 of 2500 requested");
        request(&mut port, 7, 3_001, 1);
        assert_eq!(port.due(), at(1_060));
    }

    /// At 30 Gb/s a credit takes 266.67 ns; three of them exactly 800.
    #[test]
    fn spaces_keep_their_remainders() {
        let mut port = credits(30);
        request(&mut port, 0, 1 << 30, 1);
        (0..3_000).for_each(|_| assert_eq!(give(&mut port), Some(0)));
        assert_eq!(port.due(), at(800_000));
    }

    /// 84 B at 25 Gb/s are 26.88 ns, which the next credit waits for; of what came while the port had nothing to do, for the rest.
    #[test]
    fn credits_wait_for_what_else_the_port_sends() {
        let mut port = credits(25);
        request(&mut port, 0, 1 << 30, 1);
        port.next(at(1_000)).expect("due");
        port.yield_to(at(1_100), 84);
        port.yield_to(at(1_300), 1_000);
        assert_eq!(port.due(), Time::from_ps(1_000_000 + 320_000 + 26_880 + 320_000));
        port.yield_to(at(5_000), 84);
        assert_eq!(port.due(), Time::from_ps(5_026_880));
        port.yield_to(at(9_000), 0);
        assert_eq!(port.due(), Time::from_ps(5_026_880));
    }

    /// At 100 Gb/s a credit is due every 80 ns. The wait for the last one at 25 Gb/s, 320 ns of which 120 are over, becomes a quarter of what
    /// is left; and the other way round. What the port holds stays, and takes another time.
    #[test]
    fn credits_follow_the_rate_of_the_port() {
        let mut port = credits(25);
        request(&mut port, 0, 1 << 30, 1);
        let now = at(10_000);
        port.next(now).expect("due");
        assert_eq!(port.due(), at(10_320));
        port.arrive(now, demand(0, 1 << 30, 1), 2_500, 0);
        port.set_rate(at(10_120), BitsPerSec::from_gbps(100));
        assert_eq!(port.due(), at(10_170));
        assert_eq!(port.queue(at(10_120)).get(), 2_500 - 375);
        port.next(at(10_170)).expect("due");
        assert_eq!(port.due(), at(10_250));
        port.set_rate(at(10_230), BitsPerSec::from_gbps(25));
        assert_eq!(port.due(), at(10_310));
        assert_eq!(port.queue(at(10_230)).get(), 2_500 - 375 - 1_375);
        // What the port sends in a round trip of 12 us is what may be on the way: 37.5 KB at 25 Gb/s.
        let given = (0..200).filter(|n| port.next(at(10_310 + 320 * n)).is_some()).count();
        assert!((35..=38).contains(&given), "{given} credits of 1 KB and nothing arrives");
    }

    /// A dead cable gets no credits; what its port may hold then takes its time when it is back.
    #[test]
    fn a_dead_cable_gets_no_credits() {
        let mut port = credits(25);
        request(&mut port, 0, 1 << 30, 1);
        port.next(at(10_000)).expect("due");
        port.arrive(at(10_320), demand(0, 1 << 30, 1), 2_500, 0);
        port.halt(at(10_320));
        assert_eq!((port.due(), port.next(at(20_000))), (Time::MAX, None));
        port.arrive(at(20_000), demand(0, 1 << 30, 1), 1_000, 0);
        assert_eq!(port.due(), Time::MAX);
        port.resume(at(50_000));
        assert_eq!(port.due(), at(50_000));
        assert_eq!(port.queue(at(50_000)).get(), 3_500);
        assert_eq!(port.queue(at(50_320)).get(), 2_500);
    }

    /// Of one rack 37.5 KB may be on the way, 12 us of 25 Gb/s. If none of it comes for 100 us it is taken for lost, and as much may go again;
    /// what then comes after all makes no room twice.
    #[test]
    fn what_does_not_come_for_long_is_lost() {
        let mut port = credits(25);
        let drain = |port: &mut Credits, from: u64| {
            let ready = |ns| port.next(at(ns)).is_some();
            (from..from + 90_000).step_by(320).map(ready).filter(|ready| *ready).count()
        };
        request(&mut port, 0, 1 << 30, 1);
        assert_eq!(drain(&mut port, 3_200), 38, "on its way: 37.5 KB and the last");
        assert_eq!(port.due(), at(3_200 + 38 * 320) + Span::from_us(100));
        assert_eq!(drain(&mut port, 120_000), 38);
        port.arrive(at(220_000), demand(0, 1 << 30, 1), 76_000, 0);
        assert_eq!(drain(&mut port, 260_000), 38, "38 KB and what may come in advance have come");
    }

    /// A round: a credit for each flow. An entry without a request is skipped, and gains nothing by it later.
    #[test]
    fn a_round_gives_each_flow_a_credit() {
        let mut port = credits(25);
        request(&mut port, 0, 1 << 30, 1);
        request(&mut port, 1, 1 << 30, 3);
        request(&mut port, 2, 500, 2);
        let racks: Vec<_> = (0..10).map(|_| give(&mut port)).collect();
        let one = |racks: &[u16]| racks.iter().copied().map(Some).collect::<Vec<_>>();
        assert_eq!(racks, one(&[1, 1, 1, 2, 0, 1, 1, 1, 0, 1]));
        request(&mut port, 2, 1 << 30, 2);
        let racks: Vec<_> = (0..9).map(|_| give(&mut port)).collect();
        assert_eq!(racks, one(&[1, 1, 2, 2, 0, 1, 1, 1, 2]));
    }

    #[test]
    fn an_old_packet_requests_nothing() {
        let mut port = credits(25);
        request(&mut port, 0, 3_000, 2);
        request(&mut port, 0, 1_000, 2);
        assert_eq!((0..5).filter_map(|n| port.next(at(320 * n))).count(), 3);
    }
}
