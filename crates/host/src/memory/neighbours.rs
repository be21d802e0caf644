//! Cores of neighbours: closed loops that read and write memory as fast as their lines in flight let them.
//!
//! Models: a core keeps a constant number of reads in flight, so it reads `lines / latency`; it posts a fixed number of writes
//! for each read when that is back, and with it reads the next line; a throttle level adds latency to each miss, caps its rate or
//! stops it (whole or part of the time); work that rests and returns, whose writes begin a latency after its reads and end a latency after
//! them.
//! Leaves out: that reads go on as the latency was when they began; caches of the neighbour, computing between misses, hardware
//! threads.
//!
//! Source: paper 2.2 and 4.2 (rate = lines in flight / latency); sheet 6.6 for levels.

use super::controller::Controller;
use super::settings::{Actuator, ControllerSettings, NeighbourSettings, ThrottleSettings};
use forebay_units::{Span, Time};

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
    chance: f64,   // square of the lines that come at once: the next read, and writes
    apart: f64,    // the sum of their squares
    unloaded: f64, // ns
    hold: Hold,
    posts_from: Time, // when their first reads are back
    posts: bool,      // whether they are
}

/// Writes of reads that were in flight when their cores stopped.
#[derive(Clone, Copy, Debug)]
struct Tail {
    group: usize,
    rate: f64, // lines per ns
    left: f64, // lines
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
    works: Vec<bool>, // by group
    tails: Vec<Tail>,
    round: f64,
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
    /// As in [`super::chance::Chance`], by the reads and the writes together.
    pub variance: f64,
    pub round: f64,
    /// The variance of what is served of them: writes wait in line, so that they are served long after the reads that came with them.
    pub served: f64,
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
                Cores {
                    group,
                    socket,
                    count,
                    lines,
                    writes,
                    chance: (1.0 + writes) * (1.0 + writes),
                    apart: 1.0 + writes * writes,
                    unloaded,
                    hold,
                    posts_from: Time::MAX,
                    posts: false,
                }
            })
        };
        let sockets: Vec<_> = groups.iter().enumerate().flat_map(cores).collect();
        let working = Vec::with_capacity(sockets.len());
        let none = vec![0.0; groups.len()];
        let (read, written) = (none.clone(), none);
        let groups = groups.to_vec();
        let next_phase = Time::ZERO;
        let works = vec![false; groups.len()];
        let tails = Vec::with_capacity(groups.len());
        Self {
            groups,
            sockets,
            working,
            throttle,
            level: 0,
            next_phase,
            works,
            tails,
            round: 0.0,
            read,
            written,
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
        let (pause, mut next) = self.pause(now);
        for group in 0..self.groups.len() {
            let (works, until) = works(&self.groups[group], now);
            next = next.min(until);
            let works = works && !pause;
            if self.works[group] && !works {
                self.stop(group, controller);
            }
            self.works[group] = works;
        }
        self.working.clear();
        for cores in &mut self.sockets {
            if !self.works[cores.group] {
                cores.posts_from = Time::MAX;
                continue;
            }
            cores.hold = hold(&self.throttle, self.level, cores);
            if cores.posts_from == Time::MAX {
                let back = Span::from_ps((cores.latency(controller) * 1e3) as u64);
                cores.posts_from = now + back;
            }
            cores.posts = now >= cores.posts_from;
            if !cores.posts {
                next = next.min(cores.posts_from);
            }
            match self.working.last_mut() {
                Some(last) if last.is_like(cores) => {
                    last.count += cores.count;
                    last.lines += cores.lines;
                }
                _ => self.working.push(*cores),
            }
        }
        self.next_phase = next;
        self.round = self.working.iter().map(|cores| cores.lines * cores.chance).sum();
    }

    /// No read of this neighbour follows: what is in flight comes back as evenly as it did, and its writes with it.
    fn stop(&mut self, group: usize, controller: &Controller) {
        let cores = self.working.iter().filter(|cores| cores.group == group);
        let rate = cores.map(|cores| cores.rate(controller) * cores.writes).sum();
        let writes = f64::from(self.groups[group].writes_permille) * 1e-3;
        let left = self.read[group] * writes - self.written[group];
        self.tails.retain(|tail| tail.group != group);
        if left > 0.0 && rate > 0.0 {
            self.tails.push(Tail { group, rate, left });
        }
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
    #[inline(always)] // in the loop of a step
    pub(super) fn draw(&mut self, dt: f64, controller: &Controller) -> Draw {
        let mut draw = Draw { round: self.round, ..Draw::default() };
        for cores in &self.working {
            let rate = cores.rate(controller);
            draw.reads += rate;
            draw.posting += cores.count;
            self.read[cores.group] += rate * dt;
            draw.variance += rate * cores.chance;
            draw.served += rate * cores.apart;
            if cores.posts {
                let posted = rate * cores.writes;
                draw.posted += posted;
                self.written[cores.group] += posted * dt;
            }
        }
        if !self.tails.is_empty() {
            draw.posted += self.draw_tails(dt);
        }
        draw
    }

    /// Writes of cores that have stopped, per ns.
    #[cold]
    #[inline(never)]
    fn draw_tails(&mut self, dt: f64) -> f64 {
        let mut posted = 0.0;
        for tail in &mut self.tails {
            let lines = (tail.rate * dt).min(tail.left);
            tail.left -= lines;
            self.written[tail.group] += lines;
            posted += lines / dt;
        }
        self.tails.retain(|tail| tail.left > 0.0);
        posted
    }
}

impl Cores {
    /// How long a read takes with all that holds it back, in ns.
    #[inline]
    fn latency(&self, controller: &Controller) -> f64 {
        let latency = controller.read_latency(self.unloaded);
        match self.hold {
            Hold::Free => latency,
            Hold::Delay(added) => latency + added,
            Hold::Cap(share) => latency.max(self.unloaded / share),
        }
    }

    /// Reads per ns.
    #[inline]
    fn rate(&self, controller: &Controller) -> f64 {
        self.lines / self.latency(controller)
    }

    /// Whether it draws as `other` does.
    fn is_like(&self, other: &Self) -> bool {
        (self.group, self.hold, self.posts) == (other.group, other.hold, other.posts)
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
