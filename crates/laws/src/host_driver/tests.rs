//! The driver over a plant that notes what is done to it.

use super::*;
extern crate std;
use std::vec::Vec;

const PACE: Pace = Pace { read: Span::from_ns(512), write: Span::from_us(22) };

/// A host whose buffer holds a constant number of lines while a constant rate enters it.
struct Constant {
    lines: u64,
    rate_gbps: u64,
    /// Whether counters and throttle answer.
    works: bool,
    /// Additional time of each operation.
    delay: Span,
    reads: Vec<(Time, Side, Counter)>,
    levels: Vec<(Time, u8)>,
}

impl Constant {
    /// More lines than hostCC's threshold, less than its target rate.
    fn congested() -> Self {
        let (reads, levels) = (Vec::new(), Vec::new());
        Self { lines: 200, rate_gbps: 40, works: true, delay: Span::ZERO, reads, levels }
    }
}

impl Plant for Constant {
    fn read(&mut self, now: Time, side: Side, counter: Counter, of: &Counters) -> Option<Reading> {
        self.reads.push((now, side, counter));
        let at = now + self.delay;
        let ns = at.as_ps() / 1000;
        let raw = match counter {
            Counter::Occupancy => self.lines * ns * of.clock_hz / 1_000_000_000,
            _ => self.rate_gbps * ns / 8 / of.insert_bytes,
        };
        self.works.then_some(Reading { at, raw })
    }

    fn write_level(&mut self, now: Time, level: u8) -> LevelWrite {
        if self.works {
            self.levels.push((now, level));
        }
        LevelWrite { at: now + self.delay, in_force: self.works }
    }
}

fn driver(params: &[(&str, &str)]) -> Driver {
    let mut of = HostParams::new("hostcc").expect("registered");
    params.iter().for_each(|(name, text)| of.set(name, text).expect("a parameter"));
    let at = HostStart {
        write: Counters::WRITE,
        read: Counters::READ,
        max_level: 4,
        period: Span::from_ns(650),
        seed: 1,
    };
    Driver::new(&of, Time::ZERO, at, PACE)
}

/// Runs until `until`, as the simulator does.
fn run(driver: &mut Driver, plant: &mut Constant, until: Time) {
    while driver.due() <= until {
        driver.run(driver.due(), plant);
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn each_loop_reads_again_when_its_reading_is_in() {
    let (mut driver, mut plant) = (driver(&[("local_response", "false")]), Constant::congested());
    run(&mut driver, &mut plant, us(10));
    for (counter, first) in [(Counter::Occupancy, 512), (Counter::Inserts, 768)] {
        let at: Vec<_> = plant.reads.iter().filter(|r| r.2 == counter).map(|r| r.0).collect();
        assert!(
            at.iter().zip(0..).all(|(at, n)| *at == Time::ZERO + Span::from_ns(first + 512 * n))
        );
        assert!(at.len() >= 18, "{}", at.len());
    }
    assert!(plant.reads.iter().all(|read| read.1 == Side::Receive));
    assert_eq!(driver.echo(Side::Receive), Echo::Capable);
    assert_eq!(driver.echo(Side::Send), Echo::Off);
    assert!(driver.watched(Side::Receive).is_some() && driver.watched(Side::Send).is_none());
}

#[test]
fn a_level_takes_a_write_and_no_insertions_are_read_meanwhile() {
    let (mut driver, mut plant) = (driver(&[]), Constant::congested());
    run(&mut driver, &mut plant, us(200));
    assert_eq!(plant.levels.iter().map(|level| level.1).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(driver.writes(), 4);
    for (end, level) in &plant.levels {
        let begun = Time::from_ps(end.as_ps() - PACE.write.as_ps());
        let inserts = plant.reads.iter().filter(|read| read.2 == Counter::Inserts);
        let meanwhile = inserts.filter(|read| read.0 > begun && read.0 < *end + PACE.read);
        assert_eq!(meanwhile.count(), 0, "level {level}");
    }
}

#[test]
fn counters_of_the_side_that_the_law_watches_are_read() {
    let (mut driver, mut plant) = (driver(&[("side", "send")]), Constant::congested());
    run(&mut driver, &mut plant, us(100));
    assert!(plant.reads.iter().all(|read| read.1 == Side::Send));
    let lines = driver.watched(Side::Send).expect("watched").lines_1024 as f64 / 1024.0;
    assert!((lines - 200.0).abs() < 1.0, "{lines} lines: the clock of reads, 1 GHz");
    assert_eq!(driver.echo(Side::Send), Echo::Capable);
}

#[test]
fn a_plant_that_blocks_delays_its_own_loop() {
    let (mut driver, mut plant) = (driver(&[]), Constant::congested());
    plant.delay = Span::from_us(3);
    run(&mut driver, &mut plant, us(100));
    let of = |counter| plant.reads.iter().filter(move |r| r.2 == counter).map(|r| r.0);
    let occupancy: Vec<_> = of(Counter::Occupancy).collect();
    assert!(occupancy.windows(2).all(|w| w[1].since(w[0]) == plant.delay + PACE.read));
    let (end, _) = plant.levels[0];
    let next = of(Counter::Inserts).find(|at| *at > end).expect("goes on");
    assert!(next >= end + plant.delay, "the write ends at {end} and {} later", plant.delay);
}

#[test]
fn what_fails_is_tried_again_and_the_level_before_holds() {
    let (mut driver, mut plant) = (driver(&[("stale_after", "100us")]), Constant::congested());
    run(&mut driver, &mut plant, us(30));
    assert_eq!((plant.levels.len(), driver.echo(Side::Receive)), (1, Echo::Capable));
    plant.works = false;
    run(&mut driver, &mut plant, us(200));
    assert_eq!(driver.echo(Side::Receive), Echo::Off, "no reading for 100 us");
    assert_eq!(plant.levels.len(), 1, "no write succeeds");
    plant.works = true;
    plant.lines = 0;
    run(&mut driver, &mut plant, us(2000));
    assert_eq!(plant.levels[1].1, 0, "lifted when a write is tried again");
}

#[test]
fn a_lift_follows_the_write_under_way() {
    let (mut driver, mut plant) = (driver(&[]), Constant::congested());
    while !driver.writing() {
        driver.run(driver.due(), &mut plant);
    }
    let now = plant.reads.last().expect("a reading led to it").0;
    driver.on_event(now, HostEvent::Disable);
    assert!(driver.writing() && plant.levels.is_empty());
    run(&mut driver, &mut plant, us(200));
    let begun = now + PACE.write;
    assert_eq!(plant.levels, [(begun, 1), (begun + PACE.write, 0)]);
    assert!(!driver.writing() && driver.echo(Side::Receive) == Echo::Off);
}

#[test]
fn another_target_reaches_the_law() {
    let (mut driver, mut plant) = (driver(&[]), Constant { lines: 0, ..Constant::congested() });
    run(&mut driver, &mut plant, us(20));
    let rate = forebay_units::BitsPerSec::from_gbps(20);
    driver.on_event(us(20), HostEvent::Target(rate));
    assert_eq!(driver.watched(Side::Receive).expect("watched").rate_target, rate);
    assert_eq!(driver.writes(), 0);
}

/// Bytes of a log.
#[derive(Debug, Default)]
struct Memory(std::sync::Mutex<Vec<u8>>);

impl crate::log::Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
    }
}

/// An agent wakes once a period, and its readings end after that: what else is due then does not come before them.
#[test]
fn time_never_goes_back_and_so_the_log_replays() {
    let memory = alloc::sync::Arc::new(Memory::default());
    let mut of = HostParams::new("hostcc").expect("registered");
    of.set("lease", "20us").expect("a parameter");
    of.set("stale_after", "50us").expect("a parameter");
    let of = of.with_log(crate::log::Tap::new(memory.clone()));
    let at = HostStart {
        write: Counters::WRITE,
        read: Counters::READ,
        max_level: 4,
        period: Span::from_ns(650),
        seed: 1,
    };
    let mut driver = Driver::new(&of, Time::ZERO, at, Pace { write: Span::ZERO, ..PACE });
    let mut plant = Constant::congested();
    plant.delay = Span::from_ns(700);
    for round in 1..400 {
        if round == 200 {
            plant.lines = 1;
        }
        driver.run(us(round), &mut plant);
    }
    let log = memory.0.lock().expect("no writer").clone();
    let replayed = crate::log::replay(&log).expect("the law answers as it did");
    assert!(replayed.events > 400 && plant.levels.len() > 5, "{}", replayed.events);
}
