//! Lockstep: a host law runs in an agent, over the plant of a simulation, and answers as it would within it.
//!
//! The simulation has the plant and the time, the agent has the law and its loops. Whenever the loops have something due, the simulation says
//! so; the agent asks for readings, orders levels, and at the end of the turn says what is due next and what the law has decided. Each turn is
//! a conversation: the simulation waits until it is over, so virtual time stands still and no result depends on how long it took.
//!
//! Messages are coded as law logs are. Invariant: reading any bytes gives a message or none, and never panics.

use super::{LevelWrite, Pace, Plant};
use crate::host::Counter;
use crate::host::{Echo, HostParams, HostStart, LawReadings, Reading, Side};
use crate::log::{Code, Reader, fields, variants};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use forebay_units::Time;

/// Version of the messages; an agent of another one refuses.
const VERSION: u8 = 1;

/// The way to an agent.
pub trait Line: Send + Sync + fmt::Debug {
    /// Sends `first`, and hands on each message that comes; what `answer` gives is sent back, until it gives none. No other thread uses the line
    /// meanwhile. False: the agent has gone.
    fn converse(&self, first: &[u8], answer: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool;
}

/// What a law starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Name of the law.
    pub law: String,
    /// All of its parameters.
    pub params: Vec<(String, String)>,
    /// Time of the start.
    pub now: Time,
    /// What the law knows when it starts.
    pub at: HostStart,
    /// Pace of its loops.
    pub pace: Pace,
}

impl Terms {
    /// The law that they name.
    ///
    /// # Errors
    /// If there is none, or it has no such parameter, or the parameter no such value: the sentence.
    pub fn params(&self) -> Result<HostParams, String> {
        let mut params = HostParams::new(&self.law).map_err(|why| why.to_string())?;
        for (name, value) in &self.params {
            params.set(name, value).map_err(|why| why.to_string())?;
        }
        Ok(params)
    }
}

/// What a simulation says to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToAgent {
    /// Start a law.
    Start(Terms),
    /// Handle everything due at this time; with it the reading that was said to be due, if it could be had.
    Run {
        /// Number of the law.
        law: u32,
        /// The time.
        now: Time,
        /// The counter and its reading.
        reading: Option<(Counter, Reading)>,
    },
    /// The reading that was asked for; `None`: it could not be read.
    Reading(Option<Reading>),
    /// The level was written, or not.
    Written(LevelWrite),
}

/// What an agent says to a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromAgent {
    /// The law has this number from now on.
    Started(u32, State),
    /// The turn is over.
    Done(State),
    /// Read a counter.
    Read(Side, Counter),
    /// Write a level.
    Level(u8),
    /// Nothing can be done; a sentence.
    Refused(String),
}

/// A law and its loops, as the simulation needs to know them between turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// When something is due.
    pub due: Time,
    /// The counter that is read then, if one is.
    pub next: Option<Counter>,
    /// Which way of the data the law watches.
    pub side: Side,
    /// Which packets are marked.
    pub echo: Echo,
    /// The law's signals beside their targets.
    pub watched: Option<LawReadings>,
    /// Level writes begun.
    pub writes: u64,
}

variants! {
    Side { 0 Receive, 1 Send, }
    Counter { 0 Occupancy, 1 Inserts, 2 NicDrops, 3 SlowCpu, 4 MemoryBytes, }
    ToAgent { 0 Start(terms), 1 Run { law, now, reading }, 2 Reading(of), 3 Written(of), }
    FromAgent { 0 Started(law, state), 1 Done(state), 2 Read(side, counter), 3 Level(level), 4 Refused(why), }
}

fields! {
    Terms { law, params, now, at, pace }
    Pace { read, write }
    LevelWrite { at, in_force }
    LawReadings { lines_1024, rate, lines_threshold, rate_target }
    State { due, next, side, echo, watched, writes }
}

/// A message as it goes over the line.
pub fn message(of: &impl Code) -> Vec<u8> {
    let mut bytes = Vec::from([VERSION]);
    of.put(&mut bytes);
    bytes
}

/// The message in some bytes.
///
/// # Errors
/// A sentence: another version, or no message.
pub fn parse<T: Code>(bytes: &[u8]) -> Result<T, String> {
    let mut from = Reader::new(bytes);
    match u8::read(&mut from) {
        Some(VERSION) => T::read(&mut from)
            .filter(|_| from.is_empty())
            .ok_or_else(|| "a message makes no sense".into()),
        Some(other) => Err(alloc::format!(
            "lockstep of version {other} from the other side, which has to be {VERSION}: build forebay and forebay-agent together"
        )),
        None => Err("an empty message".into()),
    }
}

/// A law in an agent, as the simulation has it in place of a [`super::Driver`].
#[derive(Clone, Debug)]
pub struct Remote {
    line: Arc<dyn Line>,
    law: u32,
    at: HostStart,
    state: State,
}

impl Remote {
    /// Starts a law in the agent behind a line.
    ///
    /// # Errors
    /// If the agent refuses or has gone: the sentence.
    pub fn start(line: Arc<dyn Line>, terms: &Terms) -> Result<Self, String> {
        let mut started = Err("the agent has ended".to_string());
        let first = message(&ToAgent::Start(terms.clone()));
        line.converse(&first, &mut |bytes| {
            started = match parse(bytes) {
                Ok(FromAgent::Started(law, state)) => Ok((law, state)),
                Ok(FromAgent::Refused(why)) | Err(why) => Err(why),
                Ok(other) => Err(alloc::format!("the agent says {other:?} to a start")),
            };
            None
        });
        let (law, state) = started?;
        Ok(Self { line, law, at: terms.at, state })
    }

    /// When something is due; never again once the agent has gone.
    #[inline]
    pub fn due(&self) -> Time {
        self.state.due
    }

    /// Handles everything due at `now`.
    pub fn run(&mut self, now: Time, plant: &mut impl Plant) {
        if now < self.state.due {
            return;
        }
        let State { next, side, .. } = self.state;
        let at = self.at;
        let read = |plant: &mut _, side, counter| {
            let of = match side {
                Side::Receive => &at.write,
                Side::Send => &at.read,
            };
            Plant::read(plant, now, side, counter, of)
        };
        let reading = next.and_then(|of| Some((of, read(plant, side, of)?)));
        let first = message(&ToAgent::Run { law: self.law, now, reading });
        let mut end = None;
        self.line.converse(&first, &mut |bytes| match parse(bytes) {
            Ok(FromAgent::Read(side, counter)) => {
                Some(message(&ToAgent::Reading(read(plant, side, counter))))
            }
            Ok(FromAgent::Level(level)) => {
                Some(message(&ToAgent::Written(plant.write_level(now, level))))
            }
            Ok(FromAgent::Done(state)) => {
                end = Some(state);
                None
            }
            Ok(FromAgent::Refused(_) | FromAgent::Started(..)) | Err(_) => None,
        });
        match end {
            Some(state) if state.due >= now => self.state = state,
            _ => self.state.due = Time::MAX, // the agent has gone or makes no sense; the owner of the line reports that
        }
    }

    /// Which packets of this direction are marked.
    pub fn echo(&self, side: Side) -> Echo {
        if self.state.side == side { self.state.echo } else { Echo::Off }
    }

    /// The law's signals beside their targets, if it watches this direction.
    pub fn watched(&self, side: Side) -> Option<LawReadings> {
        self.state.watched.filter(|_| self.state.side == side)
    }

    /// Number of level writes begun.
    pub fn writes(&self) -> u64 {
        self.state.writes
    }
}
