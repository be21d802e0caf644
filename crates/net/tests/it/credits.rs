//! Virtual output queues and the credits of one down port, with the way between them: what the two may never do together.

use forebay_net::{CreditSettings, Credits, FULL_RATE, RackDemand, Voq, VoqSettings};
use forebay_settings::Requests;
use forebay_units::random::{Purpose, Stream};
use forebay_units::{BitsPerSec, Bytes, Serializer, Span, Time};
use forebay_wire::{FlowId, HostAddr, Packet};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const CREDIT: u64 = 1_000;

/// The one that all send to.
const HOST: HostAddr = HostAddr { tor: 0, port: 0 };

#[derive(Clone, Copy)]
enum Event {
    /// A host sends a packet of this flow and size into the queue of a rack.
    Host(u16, u32, u16),
    /// A packet that requests so much arrives at the down port.
    Data { rack: u16, requested: u64, flows: u32, flow: u32, size: u16 },
    /// So many bytes that no credit let go arrive there.
    Other(u16),
    /// A credit arrives at the queue of a rack.
    Credit(u16, u64),
    /// A credit may be due.
    Pace,
}

struct Rack {
    voq: Voq,
    away: Span, // one way, and as much for credits
    uplink: Serializer,
    up: Time,  // the uplink is free
    jam: Time, // nothing arrives before
    highest: u64,
}

/// Some racks that send to one host of another.
struct World {
    racks: Vec<Rack>,
    credits: Credits,
    armed: Time, // the earliest of the times at which a credit is looked for
    events: BTreeMap<(Time, u64), Event>,
    nth: u64,
    port: Serializer,
    busy: Time, // the down port is free
    longest: u64,
    down: VecDeque<(Time, u64)>, // what is in the down port, by the time it has left
    overhead: u64,               // of each packet there
    rate: BitsPerSec,
    round_trip: u64, // bytes
    others: Time,    // the port would be free if it had only what no credit let go
    excess: i64,     // most that was in it beyond the queue of these
    jams: Option<Stream>,
    delivered: BTreeMap<(u16, u32), u64>,
    advance: u64,
    keep: bool, // delivered packets are replaced
    lost: Option<Stream>,
}

impl World {
    fn new(requests: Requests, advance: u64, aways: &[Span]) -> Self {
        let rate = BitsPerSec::from_gbps(25);
        let farthest = *aways.iter().max().expect("some rack");
        let round_trip = farthest + farthest + Span::from_us(2);
        let settings = VoqSettings {
            advance: Bytes::new(advance),
            requests,
            seen_for: Span::from_us(20),
            free: 0,
        };
        let rack = |away: &Span| Rack {
            voq: Voq::new(settings),
            away: *away,
            uplink: Serializer::new(BitsPerSec::from_gbps(100)),
            up: Time::ZERO,
            jam: Time::ZERO,
            highest: 0,
        };
        Self {
            racks: aways.iter().map(rack).collect(),
            credits: Credits::new(CreditSettings {
                bytes: CREDIT,
                rate,
                pace: FULL_RATE,
                round_trip,
                patience: Span::from_us(100),
            }),
            armed: Time::MAX,
            events: BTreeMap::new(),
            nth: 0,
            port: Serializer::new(rate),
            busy: Time::ZERO,
            longest: 0,
            down: VecDeque::new(),
            overhead: 0,
            rate,
            round_trip: rate.bytes_in(round_trip).get(),
            others: Time::ZERO,
            excess: 0,
            jams: None,
            delivered: BTreeMap::new(),
            advance,
            keep: false,
            lost: None,
        }
    }

    fn at(&mut self, at: Time, event: Event) {
        self.nth += 1;
        self.events.insert((at, self.nth), event);
    }

    /// So many flows of a rack that always have 64 packets waiting.
    fn backlog(&mut self, rack: u16, flows: u32) {
        self.keep = true;
        for flow in 0..flows {
            (0..64).for_each(|_| self.at(Time::ZERO, Event::Host(rack, flow, 1_000)));
        }
    }

    fn run(&mut self, until: Time) {
        while let Some(next) = self.events.first_entry()
            && next.key().0 <= until
        {
            let ((now, _), event) = next.remove_entry();
            self.handle(now, event);
            for rack in &self.racks {
                let unsolicited = rack.voq.sent() - rack.voq.credited().min(rack.voq.sent());
                assert!(unsolicited <= self.advance, "{unsolicited} B went without a credit");
                assert!(
                    rack.voq.credited() < rack.voq.requested() + CREDIT,
                    "nobody gets what nobody requested for"
                );
            }
        }
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Host(rack, flow, size) => {
                let packet = Packet { flow: FlowId(flow), size, ..Packet::default() };
                let voq = &mut self.racks[usize::from(rack)].voq;
                voq.arrive(now, 0, &packet);
                self.leave(now, rack);
            }
            Event::Credit(rack, given) => {
                self.racks[usize::from(rack)].voq.credit(HOST, given);
                self.leave(now, rack);
            }
            Event::Data { rack, requested, flows, flow, size } => {
                *self.delivered.entry((rack, flow)).or_default() += u64::from(size);
                let demand = RackDemand { rack, requested, flows, advance: self.advance };
                self.credits.arrive(now, demand, size.into(), self.overhead);
                self.enter(now, u64::from(size) + self.overhead);
                self.uncalled(now, self.overhead);
                if self.keep {
                    self.at(now, Event::Host(rack, flow, size));
                }
                self.arm(now);
            }
            Event::Other(size) => {
                let wire = u64::from(size) + self.overhead;
                self.credits.yield_to(now, wire);
                self.enter(now, wire);
                self.uncalled(now, wire);
            }
            Event::Pace => {
                self.armed = Time::MAX;
                if let Some(credit) = self.credits.next(now) {
                    let away = self.racks[usize::from(credit.rack)].away;
                    if self.lost.as_mut().is_none_or(|lost| lost.below(10) > 0) {
                        self.at(now + away, Event::Credit(credit.rack, credit.given));
                    }
                }
                self.arm(now);
            }
        }
    }

    fn arm(&mut self, now: Time) {
        let due = self.credits.due().max(now);
        if due < self.armed {
            self.armed = due;
            self.at(due, Event::Pace);
        }
    }

    /// So many bytes enter the down port.
    fn enter(&mut self, now: Time, wire: u64) {
        self.busy = self.busy.max(now) + self.port.take(wire);
        self.down.push_back((self.busy, wire));
        while self.down.front().is_some_and(|(left, _)| *left <= now) {
            self.down.pop_front();
        }
        self.longest = self.longest.max(self.inside());
    }

    /// And so many of them no credit let go: the queue that these alone would make.
    fn uncalled(&mut self, now: Time, wire: u64) {
        self.others = self.others.max(now) + self.rate.time_for(Bytes::new(wire));
        let alone = self.rate.bytes_in(self.others.since(now)).get();
        self.excess = self.excess.max(self.inside() as i64 - alone as i64);
    }

    fn inside(&self) -> u64 {
        self.down.iter().map(|(_, size)| size).sum()
    }

    fn leave(&mut self, now: Time, from: u16) {
        let rack = &mut self.racks[usize::from(from)];
        let mut gone = Vec::new();
        while let Some((packet, demand, _)) = rack.voq.next(now) {
            rack.up = rack.up.max(now) + rack.uplink.take(u64::from(packet.size));
            gone.push((rack.up + rack.away, packet, demand));
        }
        rack.highest = rack.highest.max(rack.voq.queue().get());
        // Now and then a way is blocked, up to 60 us: all that comes meanwhile arrives after that at once.
        if let Some(jams) = &mut self.jams
            && jams.below(100) == 0
        {
            rack.jam = now + Span::from_ns(jams.below(60_000));
        }
        let jam = rack.jam;
        for (at, packet, demand) in gone {
            let (flow, size) = (packet.flow.0, packet.size);
            let (requested, flows) = (demand.requested, demand.flows);
            self.at(at.max(jam), Event::Data { rack: from, requested, flows, flow, size });
        }
    }

    /// Gb/s of each flow of each rack between two times.
    fn rates(&mut self, from: Time, until: Time) -> BTreeMap<(u16, u32), f64> {
        self.run(from);
        let before = self.delivered.clone();
        self.run(until);
        let span = until.since(from).as_secs_f64() * 1e9;
        let old = |key| before.get(key).copied().unwrap_or(0);
        self.delivered.iter().map(|(key, n)| (*key, (n - old(key)) as f64 * 8.0 / span)).collect()
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A queue that requests what it sent has a window, C0 per round trip; one that requests what arrived fills the port (HierCC, APNet 2021,
/// section 3.2, counts what was sent).
#[test]
fn a_single_aggregate_gets_its_window_or_the_port() {
    for (requests, advance, away, gbps) in [
        (Requests::Sent, 10_000, 4, 10.0),
        (Requests::Sent, 10_000, 2, 20.0),
        (Requests::Sent, 40_000, 4, 25.0),
        (Requests::Demand, 10_000, 4, 25.0),
        (Requests::Demand, 10_000, 8, 25.0),
    ] {
        let mut world = World::new(requests, advance, &[Span::from_us(away)]);
        world.backlog(0, 2);
        let rate: f64 = world.rates(us(1_000), us(3_000)).values().sum();
        assert!((rate / gbps - 1.0).abs() < 0.03, "{requests:?} {advance} {away} us: {rate}");
    }
}

fn of_rack(rates: &BTreeMap<(u16, u32), f64>, rack: u16) -> f64 {
    rates.iter().filter(|(key, _)| key.0 == rack).map(|(_, rate)| rate).sum()
}

/// Section 11.4: racks with one and with three flows get one and three parts, so that each flow gets a quarter. What requests what it
/// sent needs C0 beyond what is under way; otherwise the windows decide, and both racks get the same.
#[test]
fn racks_share_by_their_flows() {
    let aways = [Span::from_us(4); 2];
    for (requests, advance) in
        [(Requests::Sent, 40_000), (Requests::Demand, 10_000), (Requests::Demand, 40_000)]
    {
        let mut world = World::new(requests, advance, &aways);
        world.backlog(0, 1);
        world.backlog(1, 3);
        let rates = world.rates(us(1_000), us(3_000));
        let [one, three] = [0, 1].map(|rack| of_rack(&rates, rack));
        assert!((one / 6.25 - 1.0).abs() < 0.01, "{requests:?} {advance}: {rates:?}");
        assert!((three / one - 3.0).abs() < 0.03, "{requests:?} {advance}: {rates:?}");
    }
    let mut world = World::new(Requests::Sent, 10_000, &aways);
    world.backlog(0, 1);
    world.backlog(1, 3);
    let rates = world.rates(us(1_000), us(3_000));
    assert!((of_rack(&rates, 1) - of_rack(&rates, 0)).abs() < 0.1, "{rates:?}");
}

/// Twenty racks that begin together bring what they may send in advance, and no more: 200 KB. Credits come at the rate of the port, so
/// what the port had before the first of them came back stays there as long as all have more to send: 200 KB less what it sends in
/// 8 us. The paper's "only when newly created" needs a rack to fall idle.
#[test]
fn twenty_new_racks_bring_two_hundred_kilobytes() {
    for requests in [Requests::Sent, Requests::Demand] {
        let mut world = World::new(requests, 10_000, &[Span::from_us(4); 20]);
        (0..20).for_each(|rack| world.backlog(rack, 1));
        world.run(us(2_000));
        assert!((190_000..=200_000).contains(&world.longest), "{requests:?}: {}", world.longest);
        let left = world.inside();
        assert!((165_000..=180_000).contains(&left), "{requests:?}: {left}");
    }
}

/// Racks that always have more to send, one of them with thirty flows, and ways that are blocked for 40 us of 120: what hides there and
/// what the port holds never exceed what the racks may send in advance together. By the parts of each alone, they would by half of it.
#[test]
fn what_hides_on_its_way_takes_room() {
    for (requests, racks) in [(Requests::Sent, 4), (Requests::Demand, 4), (Requests::Demand, 8)] {
        let mut world = World::new(requests, 10_000, &vec![Span::from_us(4); usize::from(racks)]);
        (0..racks).for_each(|rack| world.backlog(rack, if rack == 0 { 30 } else { 1 }));
        for round in 1..20 {
            world.run(us(120 * round));
            world.racks.iter_mut().for_each(|rack| rack.jam = us(120 * round + 40));
        }
        let bound = u64::from(racks) * 10_000 + CREDIT;
        assert!(world.longest <= bound, "{requests:?}: {} of {bound}", world.longest);
    }
}

/// What a rack has under way counts against its own part of the room. While the way of one of two is blocked the other goes on, at half of
/// the room over its round trip.
#[test]
fn a_blocked_rack_leaves_others_their_part() {
    let mut world = World::new(Requests::Demand, 5_000, &[Span::from_us(4); 2]);
    (0..2).for_each(|rack| world.backlog(rack, 2));
    world.run(us(300));
    world.racks[0].jam = us(390);
    let rates = world.rates(us(320), us(380));
    assert_eq!(of_rack(&rates, 0), 0.0);
    let rate = world.round_trip as f64 / 2.0 * 8.0 / 8_300.0;
    assert!((of_rack(&rates, 1) / rate - 1.0).abs() < 0.1, "{rates:?}, {rate}");
}

fn arrivals(world: &mut World, rng: &mut Stream, packets: u64) -> u64 {
    let racks = world.racks.len() as u64;
    let mut now = Time::ZERO;
    let gap = 60 + rng.below(440);
    for _ in 0..packets {
        // Bursts, and pauses in which everything drains.
        now += Span::from_ns(if rng.below(200) == 0 { 200_000 } else { rng.below(gap) });
        let size = if rng.below(4) == 0 { 64 + rng.below(1_000) } else { 1_048 };
        let (rack, flow) = (rng.below(racks) as u16, rng.below(12) as u32);
        world.at(now, Event::Host(rack, flow, size as u16));
    }
    now.as_ps() / 1_000_000
}

/// Answers to what the host sends, every so often, until then; us.
fn answers(world: &mut World, rng: &mut Stream, end: u64) {
    let every = 250 + rng.below(4_000);
    let mut now = 0;
    while now < end * 1_000 {
        now += 1 + rng.below(2 * every);
        world.at(Time::ZERO + Span::from_ns(now), Event::Other(60 + 24 * rng.below(2) as u16));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any traffic of hosts at any distance, over ways that are blocked now and then, and whatever else the port sends: nothing goes
    /// without credit beyond what may go in advance (asserted at every event), everything arrives, credits given are those requested,
    /// and the down port never holds more than racks times that, of one rack what the port sends in a round trip if that is more, a
    /// packet of each rack and a credit, and the queue that what no credit let go would make alone.
    #[test]
    fn bounds_hold_at_every_instant(seed in any::<u64>().no_shrink(), requests in 0usize..2) {
        let mut rng = Stream::new(seed, 0, Purpose::Test);
        let requests = [Requests::Sent, Requests::Demand][requests];
        let advance = 2_000 + rng.below(20_000);
        let (least, spread) = (500 + rng.below(8_000), 1 + rng.below(2) * rng.below(4_000));
        let racks = 1 + rng.below(8) as usize;
        let aways: Vec<Span> =
            (0..racks).map(|_| Span::from_ns(least + rng.below(spread))).collect();
        let mut world = World::new(requests, advance, &aways);
        world.overhead = rng.below(2) * 24;
        world.jams = Some(Stream::new(seed, 2, Purpose::Test)).filter(|_| rng.below(2) == 0);
        let end = arrivals(&mut world, &mut rng, 6_000);
        answers(&mut world, &mut rng, end);
        world.run(us(end + 100_000));
        let bound = (racks as u64 - 1) * advance
            + world.round_trip.max(advance) + racks as u64 * 1_048 + CREDIT;
        prop_assert!(world.excess <= bound as i64, "{} of {bound}", world.excess);
        for (i, rack) in (0u16..).zip(&world.racks) {
            let voq = &rack.voq;
            prop_assert_eq!(voq.queue(), Bytes::ZERO);
            prop_assert_eq!(voq.sent(), voq.arrived());
            let got: u64 = world.delivered.iter().filter(|(key, _)| key.0 == i).map(|(_, n)| n).sum();
            prop_assert_eq!(got, voq.sent());
            prop_assert_eq!(world.credits.given(i), voq.credited());
            prop_assert!((voq.requested()..voq.requested() + CREDIT).contains(&voq.credited()));
            prop_assert!((advance..advance + CREDIT).contains(&voq.credit_left(HOST)), "as at the start");
        }
    }

    /// One credit of ten is lost: the next one makes up for it, and bounds hold.
    #[test]
    fn a_lost_credit_is_made_up_for(seed in any::<u64>().no_shrink(), requests in 0usize..2) {
        let requests = [Requests::Sent, Requests::Demand][requests];
        let mut world = World::new(requests, 40_000, &[Span::from_us(2); 3]);
        world.lost = Some(Stream::new(seed, 1, Purpose::Test));
        (0..3).for_each(|rack| world.backlog(rack, 2));
        let rate: f64 = world.rates(us(500), us(1_000)).values().sum();
        prop_assert!(rate > 24.5, "{rate}");
    }
}
