//! Cores of neighbours: closed loops that read and write memory as fast as their lines in flight let them.
//!
//! Models: a core keeps a constant number of reads in flight, so it reads `lines / latency`; it posts a fixed number of writes
//! for each read; a throttle level adds latency to each miss, caps its rate or stops it (whole or part of the time); work that
//! rests and returns, with all its lines in flight at once.
//! Leaves out: that writes come a latency after their reads; caches of the neighbour, computing between misses, hardware
//! threads.
//!
//! Source: paper 2.2 and 4.2 (rate = lines in flight / latency); sheet 6.6 for levels.

use super::controller::Controller;
use super::settings::{Actuator, ControllerSettings, NeighbourSettings, ThrottleSettings};
use forebay_units::Time;

/// Cores that begin fill their lines in flight at once, and only then each line waits for the one before: of a time of work
/// they have, on average over how its end falls, half a latency more than its length.
const AHEAD: f64 = 0.5;

/// What a level does to cores that it does not stop.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Hold {
    Free,
    Delay(f64), // ns
    Cap(f64),   // share of what it would draw alone
}

/// Cores of a neighbour that are held alike.
#[derive(Clone, Copy, Debug)]
struct Cores {
    group: usize,
    socket: u8,
    count: u32,
    lines: f64,    // of all
    writes: f64,   // for each read
    unloaded: f64, // ns
    hold: Hold,
    works: bool,
}

/// All cores of all neighbours of a host.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    groups: Vec<NeighbourSettings>,
    sockets: Vec<Cores>,
    working: Vec<Cores>, // those of `sockets` that draw, alike ones together
    throttle: ThrottleSettings,
    level: u8,
    next_phase: Time,
    filling: Draw, // reads and writes on top, of cores that have just begun, in lines
    /// Lines read and written, by neighbour.
    pub read: Vec<f64>,
    pub written: Vec<f64>,
}

/// What they ask for, in lines per ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draw {
    pub reads: f64,
    pub posted: f64,
    pub posting: u32,
}

impl Neighbours {
    pub(super) fn new(
        groups: &[NeighbourSettings],
        throttle: ThrottleSettings,
        controller: &ControllerSettings,
    ) -> Self {
        let cores = |(group, of): (usize, &NeighbourSettings)| {
            let read = if of.local { controller.local_read } else { controller.remote_read };
            let (lines, writes) =
                (f64::from(of.lines_in_flight_milli) * 1e-3, f64::from(of.writes_permille) * 1e-3);
            let (all, sockets) = (of.cores, u32::from(throttle.slowing.max(1)));
            (0..sockets.min(all)).map(move |socket| {
                let count = (all - socket).div_ceil(sockets);
                let lines = lines * f64::from(count);
                let unloaded = read.as_ps() as f64 * 1e-3;
                let (socket, hold) = (socket as u8, Hold::Free);
                Cores { group, socket, count, lines, writes, unloaded, hold, works: false }
            })
        };
        let sockets: Vec<_> = groups.iter().enumerate().flat_map(cores).collect();
        let working = Vec::with_capacity(sockets.len());
        let none = vec![0.0; groups.len()];
        let (read, written) = (none.clone(), none);
        let groups = groups.to_vec();
        let next_phase = Time::ZERO;
        let filling = Draw::default();
        Self { groups, sockets, working, throttle, level: 0, next_phase, filling, read, written }
    }

    /// When one of them starts, rests or is stopped or let go next.
    pub(super) fn next_phase(&self) -> Time {
        self.next_phase
    }

    /// The throttle level from `now` on.
    pub(super) fn set_level(&mut self, now: Time, level: u8) {
        self.level = level;
        self.apply(now);
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    /// Which cores work, and how the level slows them, at `now`, and until when.
    pub(super) fn apply(&mut self, now: Time) {
        let (pause, mut next) = self.pause(now);
        self.working.clear();
        for cores in &mut self.sockets {
            let (works, until) = works(&self.groups[cores.group], now);
            next = next.min(until);
            let begins = works && !pause && !cores.works;
            cores.works = works && !pause;
            if !cores.works {
                continue;
            }
            if begins {
                let reads = cores.lines * AHEAD;
                self.filling.reads += reads;
                self.filling.posted += reads * cores.writes;
                self.read[cores.group] += reads;
                self.written[cores.group] += reads * cores.writes;
            }
            let cores = Cores { hold: hold(&self.throttle, self.level, cores), ..*cores };
            match self.working.last_mut() {
                Some(last) if (last.group, last.hold) == (cores.group, cores.hold) => {
                    last.count += cores.count;
                    last.lines += cores.lines;
                }
                _ => self.working.push(cores),
            }
        }
        self.next_phase = next;
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

    /// What they ask for, now that reads take what the controller says. Adds `dt` ns of it to their totals.
    #[inline]
    pub(super) fn draw(&mut self, dt: f64, controller: &Controller) -> Draw {
        let mut draw = Draw::default();
        if self.filling.reads > 0.0 {
            let Draw { reads, posted, .. } = core::mem::take(&mut self.filling);
            (draw.reads, draw.posted) = (reads / dt, posted / dt);
        }
        for cores in &self.working {
            let latency = controller.read_latency(cores.unloaded);
            let rate = match cores.hold {
                Hold::Free => cores.lines / latency,
                Hold::Delay(added) => cores.lines / (latency + added),
                Hold::Cap(share) => cores.lines / latency.max(cores.unloaded / share),
            };
            let posted = rate * cores.writes;
            draw.reads += rate;
            draw.posted += posted;
            draw.posting += cores.count;
            self.read[cores.group] += rate * dt;
            self.written[cores.group] += posted * dt;
        }
        draw
    }
}

/// Whether a neighbour works at `now`, and until when.
fn works(neighbour: &NeighbourSettings, now: Time) -> (bool, Time) {
    let start = Time::ZERO + neighbour.start;
    if now < start {
        return (false, start);
    }
    let Some((on, off)) = neighbour.rests else { return (true, Time::MAX) };
    let period = (on + off).as_ps();
    let into = now.since(start).as_ps() % period;
    let begin = now.as_ps() - into;
    match into < on.as_ps() {
        true => (true, Time::from_ps(begin + on.as_ps())),
        false => (false, Time::from_ps(begin + period)),
    }
}

/// What a slowing level does to cores.
fn hold(throttle: &ThrottleSettings, level: u8, cores: &Cores) -> Hold {
    let (level, levels) = (level.min(throttle.slowing), throttle.slowing);
    let strongest = throttle.delay.as_ps() as f64 * 1e-3;
    match throttle.actuator {
        _ if level == 0 => Hold::Free,
        Actuator::Sockets if cores.socket < level => Hold::Delay(strongest),
        Actuator::Sockets => Hold::Free,
        // Hardware has ten steps, from 0 to 90.
        Actuator::Delay => {
            let step = (9 * u32::from(level)).div_ceil(u32::from(levels));
            Hold::Delay(strongest * f64::from(step) / 9.0)
        }
        Actuator::Cap => Hold::Cap(1.0 - f64::from(level) / f64::from(levels + 1)),
    }
}
