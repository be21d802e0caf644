//! Numbers: hostCC (SIGCOMM 2023), sections 3 and 4, and the authors' module, unless a test says otherwise.

use super::*;
use crate::host::Counters;
extern crate std;
use proptest::prelude::*;
use std::vec::Vec;

mod average;
mod beyond;
mod module;

const AT: HostStart = HostStart {
    write: Counters::WRITE,
    read: Counters::READ,
    max_level: 4,
    period: SAMPLE,
    seed: 1,
};

/// In 512 ns at 64 bytes a line, so many lines are so many Gb/s; at 500 MHz they are 256 cycles.
const SAMPLE: Span = Span::from_ns(512);
/// Time of a level write on the published testbed.
const WRITE: Span = Span::from_us(22);

/// A host with two honest counters and an actuator.
struct Rig {
    law: HostCc,
    at: HostStart,
    now: Time,
    occupancy: u64,
    inserts: u64,
    /// Level being written and when that ends.
    writing: Option<(Time, u8)>,
    wakes: Vec<Time>,
    echo: Echo,
    /// Every change of level in force.
    levels: Vec<(Time, u8)>,
}

impl Rig {
    fn new(params: &[(&str, &str)]) -> Self {
        Self::with(params, AT)
    }

    fn with(params: &[(&str, &str)], at: HostStart) -> Self {
        use crate::params::ParamTable;
        let mut set = HostCcParams::default();
        for (name, text) in params {
            assert_eq!(ParamTable::set(&mut set, name, text), Some(true), "{name} = {text}");
        }
        let mut acts = Acts::default();
        let law = HostCc::start(&set, Time::ZERO, at, &mut acts);
        assert!(acts.is_empty());
        let (now, writing) = (Time::ZERO, None);
        Self {
            law,
            at,
            now,
            occupancy: 0,
            inserts: 0,
            writing,
            wakes: Vec::new(),
            echo: Echo::Off,
            levels: Vec::new(),
        }
    }

    /// One event now; what it led to is done and returned.
    fn event(&mut self, event: HostEvent) -> Vec<HostAct> {
        let mut acts = Acts::default();
        self.law.step(self.now, HostSeen { event }, &mut acts);
        for act in acts.iter() {
            match act {
                HostAct::Level(level) => {
                    assert!(level <= self.at.max_level);
                    assert!(self.writing.is_none(), "two writes at {}", self.now);
                    self.writing = Some((self.now + WRITE, level));
                }
                HostAct::Echo(echo) => self.echo = echo,
                HostAct::WakeAt(at) => {
                    assert!(at >= self.now, "a wake in the past");
                    self.wakes.push(at);
                }
            }
        }
        acts.iter().collect()
    }

    /// Lets time pass: writes end, wakes come.
    fn pass(&mut self, until: Time) {
        loop {
            let wake = self.wakes.iter().copied().min();
            let next = self.writing.map(|(at, _)| at).into_iter().chain(wake).min();
            let Some(at) = next.filter(|at| *at <= until) else { break };
            self.now = at;
            if let Some((_, level)) = self.writing.filter(|(end, _)| *end == at) {
                self.writing = None;
                self.levels.push((at, level));
                self.event(HostEvent::LevelWritten(level));
            } else {
                self.wakes.retain(|wake| *wake > at);
                self.event(HostEvent::Wake);
            }
        }
        self.now = until;
    }

    /// One sample later, both counters were read: so many lines waited, so many Gb/s came in.
    fn sample(&mut self, lines: u64, gbps: u64) -> Vec<HostAct> {
        self.pass(self.now + SAMPLE);
        let side = self.law.side();
        let counters = if side == Side::Send { self.at.read } else { self.at.write };
        self.occupancy += lines * 512 * (counters.clock_hz / 1_000_000) / 1000;
        self.inserts += gbps * 64 / counters.insert_bytes;
        let width = |bits: u8| u64::MAX >> (64 - bits);
        let occupancy =
            Reading { at: self.now, raw: self.occupancy & width(counters.occupancy_bits) };
        let inserts = Reading { at: self.now, raw: self.inserts & width(counters.insert_bits) };
        let (occupancy, inserts) = match side {
            Side::Receive => {
                (HostEvent::WriteOccupancy(occupancy), HostEvent::WriteInserts(inserts))
            }
            Side::Send => (HostEvent::ReadOccupancy(occupancy), HostEvent::ReadInserts(inserts)),
        };
        let mut acts = self.event(occupancy);
        acts.extend(self.event(inserts));
        acts
    }

    /// Repeats a sample for `span`.
    fn samples(&mut self, lines: u64, gbps: u64, span: Span) {
        for _ in 0..span / SAMPLE {
            self.sample(lines, gbps);
        }
    }

    /// Puts a level in force that another law requested.
    fn at_level(mut self, level: u8) -> Self {
        self.event(HostEvent::LevelWritten(level));
        self.levels.push((self.now, level));
        self
    }

    fn level(&self) -> u8 {
        self.levels.last().map_or(0, |(_, level)| *level)
    }
}

/// From 65 lines to 93 the average crosses 70 at the second sample, 68.5 and 71.6; the fourth level is in
/// force four writes later. The counters wrap on the way.
#[test]
fn occupancy_crosses_at_the_second_sample_and_levels_follow() {
    let mut rig = Rig::new(&[]);
    rig.occupancy = (1 << 48) - 30_000;
    rig.inserts = (1 << 48) - 60;
    for _ in 0..10 {
        assert_eq!(rig.sample(65, 43), []);
    }
    assert_eq!(rig.sample(93, 43), [], "68.5 lines");
    let onset = rig.now + SAMPLE;
    assert_eq!(rig.sample(93, 43), [HostAct::Echo(Echo::Capable), HostAct::Level(1)]);
    assert_eq!(rig.now, onset);
    rig.samples(93, 43, Span::from_us(200));
    let levels: Vec<u8> = rig.levels.iter().map(|(_, level)| *level).collect();
    assert_eq!(levels, [1, 2, 3, 4]);
    // Each but the first decision waits for the sample after the write.
    let top = rig.levels[3].0.since(onset);
    assert!(top >= WRITE * 4 && top <= WRITE * 4 + SAMPLE * 3, "{top}");
}

/// All nine regimes: strict comparisons, equality holds.
#[test]
fn each_regime_moves_the_level_and_marks_as_the_table_says() {
    for (lines, gbps, level, marked) in [
        (69, 83, None, false),
        (69, 84, None, false),
        (69, 85, Some(1), false),
        (70, 83, None, false),
        (70, 84, None, false),
        (70, 85, None, false),
        (71, 83, Some(3), true),
        (71, 84, None, true),
        (71, 85, None, true),
    ] {
        let mut rig = Rig::new(&[]).at_level(2);
        rig.sample(lines, gbps); // starts the difference
        rig.sample(lines, gbps);
        assert_eq!(rig.writing.map(|(_, level)| level), level, "{lines} lines, {gbps} Gb/s");
        assert_eq!(rig.echo != Echo::Off, marked, "{lines} lines, {gbps} Gb/s");
    }
}

/// The module's hold makes 4 to 0 take 450 us and more; the paper's text, four writes.
#[test]
fn levels_come_down_one_hold_apart() {
    for (hold, least) in [("150us", 3 * 172 + 22), ("0us", 4 * 22)] {
        let mut rig = Rig::new(&[("lower_hold", hold)]).at_level(4);
        rig.samples(50, 100, Span::from_us(1000));
        let levels: Vec<u8> = rig.levels[1..].iter().map(|(_, level)| *level).collect();
        assert_eq!(levels, [3, 2, 1, 0]);
        let took = rig.levels[4].0.since(Time::ZERO + SAMPLE * 2);
        let (least, slack) = (Span::from_us(least), SAMPLE * 3);
        assert!(took >= least && took <= least + slack, "{hold}: {took}");
    }
}

#[test]
fn the_hold_is_no_hold_on_raising() {
    let mut rig = Rig::new(&[]).at_level(4);
    rig.samples(50, 100, Span::from_us(40));
    assert_eq!(rig.level(), 3);
    rig.samples(93, 43, Span::from_us(80)); // B_S falls below 84 within 30 samples
    assert_eq!(rig.level(), 4);
}

#[test]
fn any_number_of_levels() {
    for max_level in [0, 1, 10, 255] {
        let mut rig = Rig::with(&[], HostStart { max_level, ..AT });
        rig.samples(93, 43, WRITE * (u64::from(max_level) + 2) + SAMPLE * 300);
        assert_eq!(rig.level(), max_level);
        rig.samples(50, 100, Span::from_us(172 * (u64::from(max_level) + 1)));
        assert_eq!(rig.level(), 0);
    }
}

#[test]
fn a_new_target_holds_from_the_next_reading_of_bandwidth() {
    let mut rig = Rig::new(&[]).at_level(2);
    rig.sample(50, 60);
    assert_eq!(rig.sample(50, 60), []);
    assert_eq!(rig.event(HostEvent::Target(BitsPerSec::from_gbps(40))), []);
    assert_eq!(rig.sample(50, 60), [HostAct::Level(1)]);
}

#[test]
fn each_half_of_the_response_works_alone() {
    let mut echo_only = Rig::new(&[("local_response", "false")]);
    echo_only.samples(93, 43, Span::from_us(100));
    assert_eq!((echo_only.echo, echo_only.levels.len()), (Echo::Capable, 0));
    let mut local_only = Rig::new(&[("network_response", "false")]);
    local_only.samples(93, 43, Span::from_us(100));
    assert_eq!((local_only.echo, local_only.level()), (Echo::Off, 4));
    let mut all = Rig::new(&[("mark_all", "true")]);
    all.samples(93, 43, Span::from_us(10));
    assert_eq!(all.echo, Echo::All);
    all.samples(10, 43, Span::from_us(20));
    assert_eq!(all.echo, Echo::Off);
}

/// The read side has a threshold of 190 lines and a clock of 1 GHz, and hears nothing of the other.
#[test]
fn the_sender_watches_reads() {
    for variant in ["paper", "module"] {
        let mut rig = Rig::new(&[("side", "send"), ("variant", variant)]);
        rig.samples(185, 43, Span::from_us(100));
        assert_eq!((rig.echo, rig.level()), (Echo::Off, 0));
        for raw in [0, 1 << 40] {
            let reading = Reading { at: rig.now, raw };
            assert_eq!(rig.event(HostEvent::WriteOccupancy(reading)), []);
            assert_eq!(rig.event(HostEvent::WriteInserts(reading)), []);
            rig.now += SAMPLE;
        }
        rig.samples(200, 43, Span::from_us(150));
        assert_eq!((rig.echo, rig.level()), (Echo::Capable, 4));
    }
}

#[test]
fn a_threshold_for_ddio() {
    let mut rig = Rig::new(&[("iio_threshold", "50")]);
    rig.samples(50, 43, Span::from_us(20));
    assert_eq!(rig.echo, Echo::Off);
    rig.samples(52, 43, Span::from_us(20));
    assert_eq!(rig.echo, Echo::Capable);
}

#[test]
fn the_end_of_control_lifts_at_once_and_is_the_end() {
    let mut rig = Rig::new(&[]);
    rig.samples(93, 43, Span::from_us(30));
    assert_eq!((rig.level(), rig.writing.map(|(_, level)| level)), (1, Some(2)));
    // The write under way goes on; the 0 does not wait for it.
    let (end, _) = rig.writing.take().expect("under way");
    let lifted = rig.event(HostEvent::Disable);
    assert_eq!(lifted, [HostAct::Level(0), HostAct::Echo(Echo::Off)]);
    rig.writing = None;
    rig.now = end;
    assert_eq!(rig.event(HostEvent::LevelWritten(2)), []);
    // The 0 fails: it is tried again until it holds.
    for _ in 0..3 {
        let retry = rig.now + Span::from_ms(1);
        assert_eq!(rig.event(HostEvent::LevelFailed), [HostAct::WakeAt(retry)]);
        rig.wakes.clear();
        rig.now = retry;
        assert_eq!(rig.event(HostEvent::Wake), [HostAct::Level(0)]);
        rig.writing = None;
    }
    assert_eq!(rig.event(HostEvent::LevelWritten(0)), []);
    assert_eq!(rig.event(HostEvent::Disable), []);
    rig.samples(93, 43, Span::from_us(100));
    assert_eq!((rig.echo, rig.writing), (Echo::Off, None));
}

#[test]
fn a_failed_write_leaves_the_level_and_is_tried_again_a_millisecond_later() {
    let mut rig = Rig::new(&[]).at_level(1);
    rig.samples(93, 43, SAMPLE * 3);
    assert_eq!(rig.writing.take().map(|(_, level)| level), Some(2));
    rig.event(HostEvent::LevelFailed);
    let failed = rig.now;
    rig.samples(93, 43, Span::from_us(999));
    assert_eq!(rig.writing, None);
    rig.samples(93, 43, SAMPLE * 3);
    let (end, level) = rig.writing.expect("tried again");
    assert_eq!(level, 2, "from the level before");
    assert!(end.since(failed) >= Span::from_ms(1) + WRITE);
}

/// A driver that blocks during a write, as the module's loop does, delivers one long sample in its place.
#[test]
fn a_blind_loop_sees_one_long_sample() {
    let mut rig = Rig::new(&[]);
    rig.samples(93, 43, SAMPLE * 4);
    let (end, level) = rig.writing.take().expect("raises");
    let last = rig.now;
    rig.now = end;
    rig.event(HostEvent::LevelWritten(level));
    rig.now += Span::from_ns(8);
    // 43 Gb/s all the while: 22.008 us.
    rig.inserts += 43 * rig.now.since(last).as_ps() / 512_000;
    let inserts = Reading { at: rig.now, raw: rig.inserts };
    assert_eq!(rig.event(HostEvent::WriteInserts(inserts)), [HostAct::Level(2)]);
}

#[test]
fn nothing_is_decided_before_both_signals_are_known() {
    let mut rig = Rig::new(&[]);
    for n in 0..100 {
        rig.now += SAMPLE;
        let reading = Reading { at: rig.now, raw: 93 * 256 * n };
        rig.event(HostEvent::WriteOccupancy(reading));
    }
    let inserts = Reading { at: rig.now, raw: 0 };
    assert_eq!(
        (rig.echo, rig.event(HostEvent::WriteInserts(inserts))),
        (Echo::Capable, Vec::new())
    );
}

#[test]
fn auto_weights_keep_the_published_time_constants() {
    let auto = |period: Span| {
        [OCCUPANCY_CONSTANT, BANDWIDTH_CONSTANT].map(|of| Weight(None).shift(period, of))
    };
    assert_eq!(auto(SAMPLE), [3, 8], "the published weights at the published period");
    for (us, shifts) in [(1, [2, 7]), (10, [0, 4]), (100, [0, 1]), (166, [0, 0]), (1000, [0, 0])] {
        assert_eq!(auto(Span::from_us(us)), shifts, "{us} us");
    }
    assert_eq!((auto(Span::ZERO), auto(Span::MAX)), ([10, 10], [0, 0]));
    // And it is the start's period that counts.
    let set = [("occupancy_weight", "auto"), ("bandwidth_weight", "auto")];
    let of = |set: &[(&str, &str)], period| {
        let mut rig = Rig::with(set, HostStart { period, ..AT });
        rig.samples(93, 43, SAMPLE * 3);
        rig.samples(50, 100, SAMPLE * 3);
        rig.law.watched().expect("it has signals")
    };
    assert_eq!(of(&set, SAMPLE), of(&[], SAMPLE));
    assert_ne!(of(&set, Span::from_ms(1)), of(&set, SAMPLE));
}
