//! What a host law would have done with other parameters, given the readings of its log, or of a recording.
//!
//! Open loop: the readings stay as they were. Of the log's other events, changes of the target and the end of control are kept;
//! the law's own level writes take as long as those of the log did on average, and its own wake-ups come when it wanted them.

use forebay_laws::Acts;
use forebay_laws::host::{Echo, Host, HostAct, HostEvent, HostParams, HostSeen, HostStart};
use forebay_laws::log::{Log, ReplayError};
use forebay_units::{Span, Time};

/// Levels and marks over a log.
#[derive(Clone, Debug)]
pub struct Course {
    /// Level writes begun.
    pub writes: u64,
    /// Mean time of a level write; zero if none ended.
    pub write: Span,
    at: [Span; 256], // time at each level
    marks: Span,
    level: u8,
    echo: bool,
    now: Time,
}

impl Course {
    fn new(now: Time) -> Self {
        let (at, marks) = ([Span::ZERO; 256], Span::ZERO);
        Self { writes: 0, write: Span::ZERO, at, marks, level: 0, echo: false, now }
    }

    fn advance(&mut self, now: Time) {
        let passed = now.since(self.now);
        self.at[usize::from(self.level)] += passed;
        if self.echo {
            self.marks += passed;
        }
        self.now = now;
    }

    fn total(&self) -> f64 {
        let all: f64 = self.at.iter().map(|span| span.as_secs_f64()).sum();
        if all > 0.0 { all } else { 1.0 }
    }

    /// Share of the time above level 0.
    pub fn held(&self) -> f64 {
        self.at[1..].iter().map(|span| span.as_secs_f64()).sum::<f64>() / self.total()
    }

    /// Mean level over time.
    pub fn mean(&self) -> f64 {
        let weighted =
            self.at.iter().enumerate().map(|(level, span)| level as f64 * span.as_secs_f64());
        weighted.sum::<f64>() / self.total()
    }

    /// Strongest level that was in force for any time.
    pub fn strongest(&self) -> usize {
        self.at.iter().rposition(|span| *span > Span::ZERO).unwrap_or(0)
    }

    /// Share of the time with marks on.
    pub fn marking(&self) -> f64 {
        self.marks.as_secs_f64() / self.total()
    }
}

/// What the log says happened.
pub fn logged(bytes: &[u8]) -> Result<Course, ReplayError> {
    let mut log = Log::<Host>::open(bytes)?;
    let mut course = Course::new(log.first);
    let (mut since, mut ended, mut taken) = (None, 0u64, Span::ZERO);
    let mut acts = log.acts;
    let mut now = log.first;
    loop {
        for act in acts.iter() {
            match act {
                HostAct::Level(_) => {
                    course.writes += 1;
                    since.get_or_insert(now);
                }
                HostAct::Echo(echo) => course.echo = echo != Echo::Off,
                _ => {}
            }
        }
        if log.is_empty() {
            break;
        }
        let Some(((at, event), of)) = log.next(|now, seen| (now, seen.event)) else { break };
        (now, acts) = (at, of);
        course.advance(now);
        if let HostEvent::LevelWritten(level) = event {
            course.level = level;
            if let Some(begun) = since.take() {
                ended += 1;
                taken += now.since(begun);
            }
        }
    }
    course.write = if ended > 0 { taken / ended } else { Span::ZERO };
    Ok(course)
}

/// What the law would have done with these parameters on top, where a level write takes `write`.
pub fn with(bytes: &[u8], set: &[(String, String)], write: Span) -> Result<Course, ReplayError> {
    let mut log = Log::<Host>::open(bytes)?;
    log.set(set)?;
    let mut run = Run::start(&log.params, log.first, log.at, write);
    while !log.is_empty() {
        let Some(((now, event), _)) = log.next(|now, seen| (now, seen.event)) else { break };
        match event {
            HostEvent::LevelWritten(_) | HostEvent::LevelFailed | HostEvent::Wake => {
                run.catch_up(now);
            }
            _ => run.feed(now, event),
        }
    }
    Ok(run.course)
}

/// A law over events from elsewhere, with level writes and wake-ups of its own.
pub struct Run {
    law: Host,
    course: Course,
    write: Span,
    writing: Option<(Time, u8)>, // end and level of the write under way
    next: Option<u8>,            // written after it
    wake: Option<Time>,
}

impl Run {
    /// Starts the law, where a level write takes `write`.
    pub fn start(params: &HostParams, now: Time, at: HostStart, write: Span) -> Self {
        let mut acts = Acts::default();
        let law = params.start(now, at, &mut acts);
        let course = Course { write, ..Course::new(now) };
        let mut run = Self { law, course, write, writing: None, next: None, wake: None };
        run.carry_out(now, &acts);
        run
    }

    /// Hands the law an event, after all of its own that are due by then.
    pub fn feed(&mut self, now: Time, event: HostEvent) {
        self.catch_up(now);
        self.on_event(now, event);
    }

    /// Levels and marks so far.
    pub fn course(&self) -> &Course {
        &self.course
    }

    /// Ends of writes and wake-ups that are due by `now`, in their order.
    fn catch_up(&mut self, now: Time) {
        loop {
            let end = self.writing.filter(|(end, _)| *end <= now);
            let wake = self.wake.filter(|wake| *wake <= now);
            match (end, wake) {
                (Some((end, level)), wake) if wake.is_none_or(|wake| end <= wake) => {
                    self.writing = None;
                    self.course.advance(end);
                    self.course.level = level;
                    if let Some(next) = self.next.take() {
                        self.begin(end, next);
                    }
                    self.on_event(end, HostEvent::LevelWritten(level));
                }
                (_, Some(wake)) => {
                    self.wake = None;
                    self.on_event(wake.max(self.course.now), HostEvent::Wake);
                }
                _ => return,
            }
        }
    }

    fn on_event(&mut self, now: Time, event: HostEvent) {
        self.course.advance(now);
        let mut acts = Acts::default();
        self.law.step(now, HostSeen { event }, &mut acts);
        self.carry_out(now, &acts);
    }

    fn begin(&mut self, now: Time, level: u8) {
        self.course.writes += 1;
        self.writing = Some((now + self.write, level));
    }

    fn carry_out(&mut self, now: Time, acts: &Acts<HostAct>) {
        for act in acts.iter() {
            match act {
                HostAct::Level(level) if self.writing.is_some() => self.next = Some(level),
                HostAct::Level(level) => self.begin(now, level),
                HostAct::Echo(echo) => self.course.echo = echo != Echo::Off,
                HostAct::WakeAt(at) => self.wake = Some(self.wake.map_or(at, |wake| wake.min(at))),
                _ => unreachable!("the actions of this version are above"),
            }
        }
    }
}
