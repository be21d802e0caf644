//! Several NICs on one memory: each has its own books, and together they are as one with as many slots.

use forebay_host::memory::settings::{
    AntagonistSettings, DdioSettings, IioSettings, LINE, PcieSettings,
};
use forebay_host::memory::{Handling, MemoryPath, MemorySettings, ReadBytes, Totals};
use forebay_units::{BitsPerSec, Span, Time};
use forebay_wire::{FlowId, Packet};
use proptest::prelude::*;

/// Lines of a frame of 4,000 B and its completion and descriptor.
const LINES: u64 = 4014_u64.div_ceil(LINE) + 2;

/// What a NIC has taken and handed on.
#[derive(Clone, Copy, Default, Debug)]
struct Books {
    offered: u64,
    taken: u64,
    landed: u64,
    read: u64,
}

/// A machine, driven by hand.
struct Bench {
    path: MemoryPath,
    slots: Vec<u32>,
    books: Vec<Books>,
    now: Time,
}

impl Bench {
    fn new(nics: &[&MemorySettings]) -> Self {
        let books = vec![Books::default(); nics.len()];
        let slots = nics.iter().map(|nic| nic.iio.slots).collect();
        Self { path: MemoryPath::of_nics(nics), slots, books, now: Time::ZERO }
    }

    fn run(&mut self, until: Time) {
        loop {
            self.now = self.path.due().min(until);
            self.path.advance(self.now);
            for nic in 0..self.books.len() {
                self.take(nic);
            }
            assert!(self.path.due() > self.now);
            if self.now == until {
                return;
            }
        }
    }

    /// Takes what has come to memory over a NIC and what was read of it. Flows are even at the first NIC and odd at the second.
    fn take(&mut self, nic: usize) {
        self.path.hand(nic);
        while let Some(landed) = self.path.take_packet() {
            let flow = landed.packet.flow.0;
            assert_eq!(flow as usize % self.books.len(), nic);
            self.books[nic].landed += 1;
            self.path.replenish(1);
            self.path.deliver(
                self.now,
                flow,
                ReadBytes { flow, bytes: 3948, upto: 0 },
                Handling::of(1),
            );
        }
        while let Some(read) = self.path.take_read() {
            assert_eq!(read.flow as usize % self.books.len(), nic);
            self.books[nic].read += 1;
        }
        let (now, totals) = (self.path.now(), self.path.totals());
        let books = self.books[nic];
        assert!(now.inside <= f64::from(self.slots[nic]));
        assert!((totals.entered - totals.left - now.inside).abs() < 1e-6);
        assert_eq!((totals.arrived, totals.dropped), (books.offered, books.offered - books.taken));
        assert!(totals.entered <= (books.taken * LINES) as f64);
    }

    fn offer(&mut self, nic: usize) {
        self.path.hand(nic);
        let books = &mut self.books[nic];
        let nics = self.slots.len() as u32;
        let flow = FlowId(nics * (books.offered as u32 % 4) + nic as u32);
        books.offered += 1;
        let packet = Packet { flow, size: 4000, ..Packet::default() };
        books.taken += u64::from(self.path.offer(self.now, &packet));
    }

    /// A packet at each NIC every `spacing`, in turn, for `time`; totals by NIC at half of it and at its end.
    fn feed(&mut self, spacing: Span, time: Span) -> [Vec<Totals>; 2] {
        let nics = self.books.len();
        let end = self.now + time;
        let mut totals = [Vec::new(), Vec::new()];
        while self.now < end {
            for nic in 0..nics {
                self.offer(nic);
                self.run(self.now + spacing / nics as u64);
            }
            let half = self.now + time / 2 >= end;
            if half && totals[0].is_empty() {
                totals[0] = self.totals();
            }
        }
        totals[1] = self.totals();
        totals
    }

    fn totals(&mut self) -> Vec<Totals> {
        let of = |nic| {
            self.path.hand(nic);
            self.path.totals()
        };
        (0..self.slots.len()).map(of).collect()
    }
}

fn settings(slots: u32, gigabits: u64, cores: u32) -> MemorySettings {
    MemorySettings {
        iio: IioSettings { slots, ..IioSettings::default() },
        pcie: PcieSettings { rate: BitsPerSec::from_gbps(gigabits), ..PcieSettings::default() },
        antagonists: vec![AntagonistSettings { cores, ..AntagonistSettings::default() }],
        ..MemorySettings::default()
    }
}

fn sum(of: &[Totals], what: impl Fn(&Totals) -> f64) -> f64 {
    of.iter().map(what).sum()
}

/// Writes of all NICs stand in one line: two NICs make memory as slow as one with the slots and the link of both.
#[test]
fn two_nics_are_as_one_with_the_slots_of_both() {
    let (half, whole) = (settings(46, 60, 3), settings(92, 120, 3));
    let (spacing, time) = (Span::from_ns(600), Span::from_ms(2));
    let two = Bench::new(&[&half, &half]).feed(spacing, time);
    let one = Bench::new(&[&whole]).feed(spacing / 2, time);
    let rose =
        |of: &[Vec<Totals>; 2], what: fn(&Totals) -> f64| sum(&of[1], what) - sum(&of[0], what);
    for (name, what) in [
        ("entered", (|t| t.entered) as fn(&Totals) -> f64),
        ("occupancy", |t| t.occupancy),
        ("copied", |t| t.copied),
        ("reading", |t| t.reading),
    ] {
        let (two, one) = (rose(&two, what), rose(&one, what));
        assert!((two / one - 1.0).abs() < 0.01, "{name}: {two} and {one}");
    }
    let each = |of: &[Vec<Totals>; 2], what: fn(&Totals) -> f64| what(&of[1][0]) - what(&of[0][0]);
    for (name, what) in
        [("wait", (|t| t.wait) as fn(&Totals) -> f64), ("antagonist", |t| t.antagonist_read[0])]
    {
        let (two, one) = (each(&two, what), each(&one, what));
        assert!((two / one - 1.0).abs() < 0.01, "{name}: {two} and {one}");
    }
}

/// What one NIC says of the others is what they say of themselves.
#[test]
fn others_are_what_they_say_themselves() {
    let (small, large) = (settings(30, 60, 2), settings(93, 126, 2));
    let mut bench = Bench::new(&[&small, &large]);
    bench.feed(Span::from_ns(500), Span::from_us(300));
    let all = bench.totals();
    let own = |t: &Totals| t.dma + t.copied + t.sent;
    assert_eq!(all[0].others, Some(own(&all[1])));
    assert_eq!(all[1].others, Some(own(&all[0])));
    assert!(own(&all[1]) > 1.2 * own(&all[0]), "{all:?}");
    assert_eq!(MemoryPath::new(&small).totals().others, None);
}

/// Little's law at the slots of each, which hold their lines for the same time however many there are.
#[test]
fn littles_law_holds_at_the_slots_of_each_nic() {
    let (small, large) = (settings(30, 60, 3), settings(93, 126, 3));
    let [before, after] = Bench::new(&[&small, &large]).feed(Span::from_ns(400), Span::from_ms(1));
    let held = |nic: usize| {
        let rose = |what: fn(&Totals) -> f64| what(&after[nic]) - what(&before[nic]);
        rose(|t| t.occupancy) / rose(|t| t.entered)
    };
    let wait = |t: &Totals| t.wait;
    let ns = 500_000.0;
    let expected = 323.0 + (wait(&after[0]) - wait(&before[0])) / ns;
    for nic in 0..2 {
        assert!((held(nic) / expected - 1.0).abs() < 0.02, "{nic}: {} ns, {expected}", held(nic));
    }
}

/// A level that one NIC requests stays when the other requests less.
#[test]
fn the_strongest_level_is_in_force() {
    let nic = settings(93, 126, 3);
    let mut bench = Bench::new(&[&nic, &nic]);
    for (at, level, in_force) in [(0, 3, 3), (1, 1, 3), (1, 4, 4), (0, 0, 4), (1, 2, 2), (1, 0, 0)]
    {
        bench.path.hand(at);
        bench.path.set_level(bench.now, level);
        assert_eq!(bench.path.now().level, in_force, "NIC {at} requests {level}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    /// Any arrivals at any NIC and any requested levels: what a NIC took is in memory and read in the end, and slots come free.
    #[test]
    fn every_nic_keeps_its_books(
        slots in prop::collection::vec(1..150u32, 2..4),
        cores in 0..6u32,
        ddio in any::<bool>(),
        script in prop::collection::vec((0..3usize, 0..30u32, 0..5u8, 0..20_000u64), 1..30),
    ) {
        let ddio = ddio.then(DdioSettings::default);
        let nics: Vec<_> = slots.iter().map(|slots| MemorySettings { ddio, ..settings(*slots, 126, cores.max(1)) }).collect();
        let mut bench = Bench::new(&nics.iter().collect::<Vec<_>>());
        for (nic, packets, level, after) in script {
            let nic = nic % nics.len();
            (0..packets).for_each(|_| bench.offer(nic));
            bench.path.set_level(bench.now, level.min(4));
            bench.run(bench.now + Span::from_ns(after));
        }
        bench.run(bench.now + Span::from_ms(20));
        for nic in 0..nics.len() {
            let books = bench.books[nic];
            prop_assert_eq!((books.landed, books.read), (books.taken, books.taken));
            bench.path.hand(nic);
            let (now, totals) = (bench.path.now(), bench.path.totals());
            prop_assert_eq!((now.inside, now.buffered, now.unread), (0.0, 0, 0));
            prop_assert_eq!(totals.left, (books.taken * LINES) as f64);
        }
    }
}
