//! Cores of antagonists: closed loops that read and write memory as fast as their lines in flight let them.
//!
//! Models: a core keeps a constant number of reads in flight, each as long under way as memory took when it left ([`super::flight`]); when one
//! is back, the core posts a fixed number of writes for it and reads the next line; a throttle level adds latency to each miss, caps its rate or
//! stops it (whole or part of the time); a trace keeps a read under way for longer, so that it draws what was recorded; work that rests and returns: no read follows one that comes back in a rest, and those that are owed leave
//! one after the other within an unloaded latency when the work goes on.
//! Leaves out: caches of the antagonist (of its reads a share may take place in that of receive buffers), computing between misses, hardware threads.
//!
//! Source: hostCC paper, sections 2.2 and 4.2 (rate = lines in flight / latency); its kernel module for levels.

use super::controller::Controller;
use super::flight::{Flight, units};
use super::settings::{Actuator, AntagonistSettings, ControllerSettings, LINE, ThrottleSettings};
use super::{float, larger, lines};
use forebay_units::Time;

/// Units by which rounding puts off what leaves in a step.
const ROUNDED: f64 = 4.0;

/// Fewer lines than this do not wait: they are as good as served.
const CRUMB: f64 = 0.5;

/// What a level does to cores that it does not stop.
#[derive(Clone, Copy, PartialEq, Debug)]
enum CoreLimit {
    Free,
    Delay(f64), // ns
    Cap(f64),   // share of what it would draw alone
}

/// Cores of an antagonist that are held alike. Amounts are in units.
#[derive(Clone, Debug)]
struct Cores {
    group: usize,
    count: u32,
    units: u64,    // of all, parked or in flight
    writes: f64,   // for each read
    chance: f64,   // square of the lines that come at once: the next read, and writes
    apart: f64,    // the sum of their squares
    unloaded: f64, // ns
    paced: f64,    // what a read takes at least, in ns, to draw no more than a trace says
    hold: CoreLimit,
    works: bool,
    flight: Flight,
    release: f64,     // of those that are parked, in a ps
    last: (u64, u64), // step, in ps, and what left in it
}

/// All cores of all antagonists of a host.
#[derive(Clone, Debug)]
pub(super) struct Antagonists {
    groups: Vec<AntagonistSettings>,
    cores: Vec<[Cores; 2]>, // of each group: those that no level slows apart from others, and those that one does
    throttle: ThrottleSettings,
    level: u8,
    next_phase: Time,
    coasted: bool, // since flights were brought up to date
    round: f64,
    /// Lines read and written, by antagonist: as reads leave, and as writes are posted.
    pub read: Vec<f64>,
    pub written: Vec<f64>,
    waiting: Vec<[f64; 2]>, // of those, reads and writes that memory has not served
}

/// Demand of antagonists, in lines per ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draw {
    pub reads: f64,
    pub posted: f64,
    pub posting: u32,
    /// As in [`super::chance::Chance`], by the reads and the writes together.
    pub variance: f64,
    pub round: f64,
    /// The variance of what is served of them: writes wait in line, so that they are served long after the reads that came with them.
    pub served: f64,
}

impl Antagonists {
    pub(super) fn new(
        groups: &[AntagonistSettings],
        throttle: ThrottleSettings,
        controller: &ControllerSettings,
    ) -> Self {
        let cores = groups.iter().enumerate().map(|(group, of)| {
            let all = Cores::new(group, of, controller);
            let none = Cores { count: 0, units: 0, ..all.clone() };
            [all, none]
        });
        Self {
            cores: cores.collect(),
            groups: groups.to_vec(),
            throttle,
            level: 0,
            next_phase: Time::ZERO,
            coasted: false,
            round: 0.0,
            read: vec![0.0; groups.len()],
            written: vec![0.0; groups.len()],
            waiting: vec![[0.0; 2]; groups.len()],
        }
    }

    /// Lines that memory has not served yet, by antagonist.
    pub(super) fn waiting(&self) -> impl Iterator<Item = f64> {
        self.waiting.iter().map(|[reads, writes]| reads + writes)
    }

    /// Memory has served what they read and wrote but for so many reads and writes at most. It serves one antagonist as well as another, so
    /// each has its share of what waits.
    #[inline]
    pub(super) fn serve(&mut self, left: [f64; 2]) {
        for (kind, left) in left.into_iter().enumerate() {
            let all: f64 = self.waiting.iter().map(|waiting| waiting[kind]).sum();
            if all <= left {
                continue;
            }
            let share = left / all;
            for waiting in &mut self.waiting {
                let rest = waiting[kind] * share;
                waiting[kind] = if rest < CRUMB { 0.0 } else { rest };
            }
        }
    }

    /// When one of them starts, rests or is stopped or let go next.
    pub(super) fn next_phase(&self) -> Time {
        self.next_phase
    }

    /// The throttle level from `now` on.
    pub(super) fn set_level(&mut self, now: Time, level: u8, controller: &Controller) {
        self.level = level;
        self.apply(now, controller);
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    /// Which cores work, and how the level slows them, at `now`, and until when.
    pub(super) fn apply(&mut self, now: Time, controller: &Controller) {
        self.bring_up(now, controller);
        let (pause, mut next) = self.pause(now);
        let (throttle, level) = (&self.throttle, self.level);
        let mut round = 0.0;
        for (of, [free, slowed]) in self.groups.iter().zip(&mut self.cores) {
            let (works, until) = works(of, now);
            next = next.min(until);
            let paced = paced(of, now);
            let count = slowed_cores(throttle, level, of.cores);
            match count.checked_sub(slowed.count) {
                Some(0) => {}
                Some(more) => slowed.take(now, more, free, controller),
                None => free.take(now, slowed.count - count, slowed, controller),
            }
            for (cores, hold) in [free, slowed].into_iter().zip(holds(throttle, level)) {
                let latency = cores.latency(controller) * 1e3;
                cores.flight.settle(now.as_ps(), latency);
                (cores.hold, cores.paced) = (hold, paced);
                cores.work(works && !pause);
                round += if cores.works { lines(cores.units) * cores.chance } else { 0.0 };
            }
        }
        (self.next_phase, self.round) = (next, round);
    }

    /// Whether the level stops everybody at `now`, and until when this holds.
    fn pause(&self, now: Time) -> (bool, Time) {
        let ThrottleSettings { slowing, pausing, pause_period, .. } = self.throttle;
        let step = self.level.saturating_sub(slowing);
        if step == 0 || step >= pausing {
            return (step > 0, Time::MAX);
        }
        let period = pause_period.as_ps();
        let stopped = period * u64::from(step) / u64::from(pausing);
        let into = now.as_ps() % period;
        let end = now.as_ps() - into + if into < stopped { stopped } else { period };
        (into < stopped, Time::from_ps(end))
    }

    /// Demand in `dt` ps from `at`, now that reads take what the controller says. Adds it to their totals.
    #[inline(always)] // in the loop of a step
    pub(super) fn draw(&mut self, at: Time, dt: u64, controller: &Controller) -> Draw {
        if self.coasted {
            self.bring_up(at, controller);
        }
        let mut draw = Draw { round: self.round, ..Draw::default() };
        let (begin, now) = (at.as_ps(), at.as_ps() + dt);
        let rate = 1e3 / float(dt); // of lines in this step, in lines per ns
        for cores in self.cores.iter_mut().flatten() {
            if cores.units == 0 {
                continue;
            }
            let (issued, back) = cores.step(begin, now, controller);
            let written = lines(back) * cores.writes;
            let read = lines(issued);
            self.read[cores.group] += read;
            self.written[cores.group] += written;
            self.waiting[cores.group][0] += read;
            self.waiting[cores.group][1] += written;
            let reads = read * rate;
            draw.reads += reads;
            draw.posted += written * rate;
            draw.posting += if back > 0 { cores.count } else { 0 };
            draw.variance += reads * cores.chance;
            draw.served += reads * cores.apart;
        }
        draw
    }

    /// Lines that went to the cache since the beginning.
    #[inline]
    pub(super) fn cached(&self) -> f64 {
        let shares = self.groups.iter().map(|of| f64::from(of.cached_permille) * 1e-3);
        shares.zip(&self.read).map(|(share, read)| share * read).sum()
    }

    /// Advances the antagonists by `ns` at an even pace.
    pub(super) fn coast(&mut self, ns: f64, controller: &Controller) {
        for cores in self.cores.iter().flatten().filter(|cores| cores.works) {
            let (read, written) = cores.coasting(ns, controller);
            self.read[cores.group] += read;
            self.written[cores.group] += written;
        }
        self.coasted = true;
    }

    /// Lines that they read and write meanwhile, by antagonist.
    pub(super) fn coasting(
        &self,
        ns: f64,
        controller: &Controller,
    ) -> impl Iterator<Item = (usize, f64, f64)> {
        let working = self.cores.iter().flatten().filter(|cores| cores.works);
        working.map(move |cores| {
            let (read, written) = cores.coasting(ns, controller);
            (cores.group, read, written)
        })
    }

    /// Reads are in flight as they are when everybody has gone round evenly up to `now`.
    #[cold]
    fn bring_up(&mut self, now: Time, controller: &Controller) {
        if std::mem::take(&mut self.coasted) {
            for cores in self.cores.iter_mut().flatten().filter(|cores| cores.works) {
                let latency = cores.latency(controller) * 1e3;
                cores.flight.set_even(now.as_ps(), latency, cores.units);
                cores.release = 0.0;
            }
        }
    }

    /// Whether all working cores go round as evenly as can be, to a share of `least`, and no other core has anything in flight.
    pub(super) fn is_settled(&self, least: f64, controller: &Controller) -> bool {
        self.cores.iter().flatten().filter(|cores| cores.units > 0).all(|cores| {
            let (dt, issued) = cores.last;
            let even = float(cores.units) * float(dt) / (cores.latency(controller) * 1e3);
            match cores.works {
                true => (float(issued) - even).abs() <= least * even + ROUNDED,
                false => cores.flight.units() == 0,
            }
        })
    }
}

impl Cores {
    fn new(group: usize, of: &AntagonistSettings, controller: &ControllerSettings) -> Self {
        let read = if of.local { controller.local_read } else { controller.remote_read };
        let writes = f64::from(of.writes_permille) * 1e-3;
        let lines = f64::from(of.cores) * f64::from(of.lines_in_flight_milli) * 1e-3;
        Self {
            group,
            count: of.cores,
            units: units(lines),
            writes,
            chance: (1.0 + writes) * (1.0 + writes),
            apart: 1.0 + writes * writes,
            unloaded: read.as_ps() as f64 * 1e-3,
            paced: 0.0,
            hold: CoreLimit::Free,
            works: false,
            flight: Flight::new(),
            release: 0.0,
            last: (0, 0),
        }
    }

    /// How long a read takes with all that holds it back, in ns.
    #[inline]
    fn latency(&self, controller: &Controller) -> f64 {
        let latency = controller.read_latency(self.unloaded);
        let held = match self.hold {
            CoreLimit::Free => latency,
            CoreLimit::Delay(added) => latency + added,
            CoreLimit::Cap(share) => latency.max(self.unloaded / share),
        };
        larger(held, self.paced)
    }

    /// Lines that they read and write in `ns` as evenly as they did.
    fn coasting(&self, ns: f64, controller: &Controller) -> (f64, f64) {
        let read = lines(self.units) / self.latency(controller) * ns;
        (read, read * self.writes)
    }

    /// Units that wait for the work to go on. Less than none: more are in flight, by what was rounded, or foreseen amiss in a step.
    #[inline]
    fn parked(&self) -> i64 {
        self.units as i64 - self.flight.units() as i64
    }

    /// From here on they work, or rest.
    fn work(&mut self, works: bool) {
        self.works = works;
        self.release = self.parked().max(0) as f64 / (self.unloaded * 1e3);
    }

    /// From `at` to `now`. Returns the units that left and that came back.
    #[inline(always)] // in the loop of a step
    fn step(&mut self, at: u64, now: u64, controller: &Controller) -> (u64, u64) {
        let latency = self.latency(controller) * 1e3;
        let parked = self.parked();
        let more = if parked > 0 {
            parked.min((self.release * float(now - at)) as i64 + 1)
        } else {
            parked
        };
        let moved = self.flight.step(at, now, latency, self.works, more);
        self.last = (now - at, moved.0);
        moved
    }

    /// `count` cores of `from` are held as these from `now` on.
    fn take(&mut self, now: Time, count: u32, from: &mut Self, controller: &Controller) {
        for cores in [&mut *self, &mut *from] {
            let latency = cores.latency(controller) * 1e3;
            cores.flight.settle(now.as_ps(), latency);
        }
        let other = from.flight.split(now.as_ps(), count, from.count);
        self.flight.join(now.as_ps(), &other);
        let part = from.units * u64::from(count) / u64::from(from.count);
        (self.count, from.count) = (self.count + count, from.count - count);
        (self.units, from.units) = (self.units + part, from.units - part);
    }
}

/// Whether an antagonist works at `now`, and until when.
fn works(antagonist: &AntagonistSettings, now: Time) -> (bool, Time) {
    let start = Time::ZERO + antagonist.start;
    if now < start {
        return (false, start);
    }
    if let Some(trace) = &antagonist.trace {
        let (rate, until) = trace.at(now.since(start));
        return (rate > 0.0, until.map_or(Time::MAX, |until| start + until));
    }
    let Some((on, off)) = antagonist.rests else { return (true, Time::MAX) };
    let period = (on + off).as_ps();
    let into = now.since(start).as_ps() % period;
    let begin = now.as_ps() - into;
    match into < on.as_ps() {
        true => (true, Time::from_ps(begin + on.as_ps())),
        false => (false, Time::from_ps(begin + period)),
    }
}

/// What a read takes at least, in ns, so that an antagonist draws no more than its trace says at `now`.
fn paced(antagonist: &AntagonistSettings, now: Time) -> f64 {
    let Some(trace) = &antagonist.trace else { return 0.0 };
    let (rate, _) = trace.at(now.since(Time::ZERO + antagonist.start));
    let lines = f64::from(antagonist.cores) * f64::from(antagonist.lines_in_flight_milli) * 1e-3;
    let moved = 1.0 + f64::from(antagonist.writes_permille) * 1e-3; // for each read
    if rate > 0.0 { lines * moved * LINE as f64 / rate } else { 0.0 }
}

/// How many of an antagonist's `cores` a level slows apart from the others: core `i` is on socket `i` modulo the number of levels that slow.
fn slowed_cores(throttle: &ThrottleSettings, level: u8, cores: u32) -> u32 {
    match throttle.actuator {
        Actuator::Sockets => {
            let sockets = u32::from(throttle.slowing.max(1));
            let slowed = u32::from(level.min(throttle.slowing));
            cores / sockets * slowed + (cores % sockets).min(slowed)
        }
        Actuator::Delay | Actuator::Cap => 0,
    }
}

/// What a slowing level does to cores, and to those that it slows apart from the others.
fn holds(throttle: &ThrottleSettings, level: u8) -> [CoreLimit; 2] {
    let (level, levels) = (level.min(throttle.slowing), throttle.slowing);
    let strongest = throttle.delay.as_ps() as f64 * 1e-3;
    let all = match throttle.actuator {
        _ if level == 0 => CoreLimit::Free,
        Actuator::Sockets => CoreLimit::Free,
        // Hardware has ten steps, from 0 to 90.
        Actuator::Delay => {
            let step = (9 * u32::from(level)).div_ceil(u32::from(levels));
            CoreLimit::Delay(strongest * f64::from(step) / 9.0)
        }
        Actuator::Cap => CoreLimit::Cap(1.0 - f64::from(level) / f64::from(levels + 1)),
    };
    [all, CoreLimit::Delay(strongest)]
}
