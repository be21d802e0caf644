//! Law logs: what a law saw and what it answered, so that any run of a law can be replayed.
//!
//! A law is a function of `(now, event)`, so its parameters, its start and its events determine every action. [`LoggedLaw`] is a law that
//! writes them down while it runs; [`replay`] starts the law again, feeds it the same events and compares the
//! actions. A difference names the event, what the log has and what the law says now.
//!
//! Format, version 3: `FBLL`, version, role (a byte each), name of the law, parameters as pairs of texts, time and facts of the start,
//! the first actions; then for each event the time since the last one, the totals that changed, the event, the actions. Numbers
//! are written in seven bits per byte. A line is whole or absent: a log that ends within one says so.
//!
//! A law that starts again under the same [`Tap`], as that of each message of a connection does, goes on in the same log: in place of a gap of time stands
//! `RESTART`, then time and facts of that start, and its first actions. Totals begin anew.
//!
//! Invariant: reading any bytes gives a result or an error and never panics, and takes memory in proportion to their number.

mod code;
mod roles;

pub use code::{Code, Reader};
pub(crate) use code::{fields, get_changes, number, put_changes, variants};

use crate::Acts;
use crate::params::ParamError;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use forebay_units::{Span, Time};

/// First bytes of every log.
pub const MAGIC: [u8; 4] = *b"FBLL";

/// Version that is written, and the only one that is read.
pub const VERSION: u8 = 3;

/// No event of a log is later: 53 days, which leaves laws room to add.
const LATEST: Time = Time::from_ps(1 << 62);

/// In place of the time since the last event, which is never so long: the law starts again.
const RESTART: Span = Span::MAX;

/// Where a log goes; called once with the head and then once per event, in order.
pub trait Sink: Send + Sync + fmt::Debug {
    /// Takes the next bytes.
    fn write(&self, bytes: &[u8]);
}

/// Where the law of some parameters writes its log. Two are equal if they are the same one.
#[derive(Clone, Debug)]
pub struct Tap {
    sink: Arc<dyn Sink>,
    begun: Arc<AtomicBool>, // the head is written
}

impl Tap {
    /// Into this sink.
    pub fn new(sink: Arc<dyn Sink>) -> Self {
        Self { sink, begun: Arc::default() }
    }
}

impl PartialEq for Tap {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sink, &other.sink)
    }
}

/// What a log needs to know of a role; implemented by each registry's enum of laws.
pub trait Role: Sized {
    /// Byte of the role in a log; it never changes.
    const CODE: u8;
    /// Name of the role.
    const NAME: &'static str;
    /// A law by name with its parameters.
    type Params: PartialEq + fmt::Debug;
    /// What a law of this role knows when it starts.
    type Start: Code + Copy;
    /// What a law of this role answers.
    type Act: Code + Copy + PartialEq + fmt::Debug;
    /// One event with the totals at its time.
    type Seen<'a>: Copy + fmt::Debug;
    /// What the next event is written as a difference to.
    type Last: Default + Clone + fmt::Debug;

    /// Whether a law may start from these facts; what a driver never gives is damage.
    fn may_start(at: &Self::Start) -> bool;

    /// Parameters of the law of this name.
    ///
    /// # Errors
    /// If there is none.
    fn params(name: &str) -> Result<Self::Params, ParamError>;

    /// Sets one of them.
    ///
    /// # Errors
    /// If the law has no such parameter, or takes no such value.
    fn set(params: &mut Self::Params, name: &str, text: &str) -> Result<(), ParamError>;

    /// Name of the law and its parameters as texts.
    fn texts(params: &Self::Params) -> (String, Vec<(String, String)>);

    /// A law at its start.
    fn start(params: &Self::Params, now: Time, at: Self::Start, acts: &mut Acts<Self::Act>)
    -> Self;

    /// One event.
    fn step(&mut self, now: Time, seen: Self::Seen<'_>, acts: &mut Acts<Self::Act>);

    /// Writes an event.
    fn put(seen: Self::Seen<'_>, last: &mut Self::Last, out: &mut Vec<u8>);

    /// Reads an event and hands it on.
    fn read<R>(
        from: &mut Reader<'_>,
        last: &mut Self::Last,
        with: impl FnOnce(Self::Seen<'_>) -> R,
    ) -> Option<R>;
}

/// A law that writes its log as it runs. It answers as the law alone would.
#[derive(Clone, Debug)]
pub struct LoggedLaw<L: Role> {
    law: L,
    now: Time,
    last: L::Last,
    tap: Tap,
}

impl<L: Role> LoggedLaw<L> {
    /// Starts a law and writes the head of its log, or that it starts again. The start's actions are added to `acts`.
    pub(crate) fn start(
        params: &L::Params,
        tap: &Tap,
        now: Time,
        at: L::Start,
        acts: &mut Acts<L::Act>,
    ) -> Self {
        let mut own = Acts::default();
        let law = L::start(params, now, at, &mut own);
        let mut out = Vec::new();
        if tap.begun.swap(true, Ordering::Relaxed) {
            RESTART.put(&mut out);
        } else {
            put_head::<L>(params, &mut out);
        }
        now.put(&mut out);
        at.put(&mut out);
        put_acts(&own, &mut out);
        tap.sink.write(&out);
        own.iter().for_each(|act| acts.push(act));
        Self { law, now, last: L::Last::default(), tap: tap.clone() }
    }

    /// The law itself.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// One event, of which a line is written.
    pub(crate) fn step(&mut self, now: Time, seen: L::Seen<'_>, acts: &mut Acts<L::Act>) {
        let mut out = Vec::new();
        now.since(self.now).put(&mut out);
        self.now = now;
        L::put(seen, &mut self.last, &mut out);
        let mut own = Acts::default();
        self.law.step(now, seen, &mut own);
        put_acts(&own, &mut out);
        self.tap.sink.write(&out);
        own.iter().for_each(|act| acts.push(act));
    }
}

/// What does not change when a law starts again: magic, version and role, name and parameters.
fn put_head<L: Role>(params: &L::Params, out: &mut Vec<u8>) {
    out.extend(MAGIC);
    out.extend([VERSION, L::CODE]);
    let (name, values) = L::texts(params);
    name.put(out);
    (values.len() as u64).put(out);
    for (name, value) in &values {
        name.put(out);
        value.put(out);
    }
}

/// Time, facts and actions of a start.
type StartRecord<L> = (Time, <L as Role>::Start, Acts<<L as Role>::Act>);

fn get_start<L: Role>(from: &mut Reader<'_>) -> Option<StartRecord<L>> {
    let now = Time::read(from).filter(|now| *now <= LATEST)?;
    let at = L::Start::read(from).filter(L::may_start)?;
    Some((now, at, get_acts(from)?))
}

fn put_acts<A: Code + Copy>(acts: &Acts<A>, out: &mut Vec<u8>) {
    out.push(acts.iter().count() as u8);
    acts.iter().for_each(|act| act.put(out));
}

fn get_acts<A: Code + Copy>(from: &mut Reader<'_>) -> Option<Acts<A>> {
    let count = u8::read(from).filter(|count| *count <= 4)?;
    let mut acts = Acts::default();
    for _ in 0..count {
        acts.push(A::read(from)?);
    }
    Some(acts)
}

/// A log whose law answered all of it as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedLog {
    /// Role of the law.
    pub role: &'static str,
    /// Name of the law.
    pub law: String,
    /// Events replayed.
    pub events: u64,
    /// Time of the start.
    pub first: Time,
    /// Time of the last event.
    pub last: Time,
}

/// Why a log does not replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The first bytes are not those of a law log.
    NoLog,
    /// A version that is not read here.
    Version(u8),
    /// A role that is not known here.
    Role(u8),
    /// The law or a parameter of it is not what it was.
    Params {
        /// Name of the law in the log.
        law: String,
        /// What does not fit.
        why: String,
    },
    /// The log ends, or makes no sense, within its head or an event.
    Cut {
        /// Events before that; `None`: the head itself.
        events: Option<u64>,
    },
    /// The law acts otherwise.
    Differs(Box<Difference>),
}

/// The first event that a law answers otherwise than its log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the law.
    pub law: String,
    /// Which event, from 1; 0 is the start.
    pub event: u64,
    /// When.
    pub now: Time,
    /// What the law saw.
    pub seen: String,
    /// What the log has.
    pub logged: String,
    /// What the law answers now.
    pub acts: String,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLog => f.write_str("this is not a law log: it does not begin with \"FBLL\""),
            Self::Version(found) => {
                write!(f, "a law log of version {found}; this program reads version {VERSION}")
            }
            Self::Role(found) => write!(f, "a law log of role {found}, which is not known here"),
            Self::Params { law, why } => write!(f, "law \"{law}\" of the log cannot start: {why}"),
            Self::Cut { events: None } => f.write_str("the log ends within its head"),
            Self::Cut { events: Some(events) } => {
                write!(f, "the log ends within event {}, or is damaged there", events + 1)
            }
            Self::Differs(of) => {
                let Difference { law, event, now, seen, logged, acts } = &**of;
                let ps = now.as_ps();
                write!(
                    f,
                    "{law} answers event {event}, at {}.{:06} us, otherwise: the log has {logged}, the law says {acts}, \
                     having seen {seen}",
                    ps / 1_000_000,
                    ps % 1_000_000
                )
            }
        }
    }
}

impl core::error::Error for ReplayError {}

/// A log beside its law, which may have other parameters by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What was replayed, up to the end or the cut.
    pub replayed: ReplayedLog,
    /// Events that the law answers otherwise, the start among them.
    pub differing: u64,
    /// The first of them.
    pub difference: Option<Box<Difference>>,
    /// Whether the log ends, or makes no sense, within the event after those.
    pub cut: bool,
}

impl Compared {
    /// What was replayed, if all of the log was answered as before.
    ///
    /// # Errors
    /// The first difference, or that the log is cut.
    pub fn equal(self) -> Result<ReplayedLog, ReplayError> {
        match self.difference {
            Some(difference) => Err(ReplayError::Differs(difference)),
            None if self.cut => Err(ReplayError::Cut { events: Some(self.replayed.events) }),
            None => Ok(self.replayed),
        }
    }
}

/// Steps the built-in law of a log through the log again. [`Laws::replay`](crate::Laws::replay) also knows laws from outside.
///
/// # Errors
/// If this is no log, or the law is not known, or it answers otherwise: the first such event.
pub fn replay(log: &[u8]) -> Result<ReplayedLog, ReplayError> {
    compare(log, &[])?.equal()
}

/// Steps the law of a log, with these parameters set on top of those of the log, through all of it.
///
/// # Errors
/// If this is no log, or the law or a parameter is not known. A log that is cut behind its head is compared up to there.
pub fn compare(log: &[u8], set: &[(String, String)]) -> Result<Compared, ReplayError> {
    let (role, from) = behind_magic(log)?;
    roles::compare(role, from, set)
}

/// The byte of a log's role, and what is behind it.
pub(crate) fn behind_magic(log: &[u8]) -> Result<(u8, Reader<'_>), ReplayError> {
    let mut from = Reader::new(log);
    if from.take(4) != Some(&MAGIC[..]) {
        return Err(ReplayError::NoLog);
    }
    let head = ReplayError::Cut { events: None };
    match u8::read(&mut from) {
        None => return Err(head),
        Some(VERSION) => {}
        Some(other) => return Err(ReplayError::Version(other)),
    }
    u8::read(&mut from).map(|role| (role, from)).ok_or(head)
}

/// A log of a role that is known, event by event.
#[derive(Debug)]
pub struct Log<'a, L: Role> {
    /// Name of the law.
    pub law: String,
    /// Parameters of the law.
    pub params: L::Params,
    /// Time of the start.
    pub first: Time,
    /// Facts of the start.
    pub at: L::Start,
    /// Actions of the start.
    pub acts: Acts<L::Act>,
    rest: Reader<'a>,
    last: L::Last,
    now: Time,
}

impl<'a, L: Role> Log<'a, L> {
    /// Reads the head.
    ///
    /// # Errors
    /// If this is no log of the role, or the law or a parameter is not known.
    pub fn open(log: &'a [u8]) -> Result<Self, ReplayError> {
        Self::open_with(log, L::params)
    }

    /// Reads the head; `find` knows the laws.
    pub(crate) fn open_with(
        log: &'a [u8],
        find: impl FnOnce(&str) -> Result<L::Params, ParamError>,
    ) -> Result<Self, ReplayError> {
        match behind_magic(log)? {
            (code, from) if code == L::CODE => Self::behind_role(from, find),
            (other, _) => Err(ReplayError::Role(other)),
        }
    }

    fn behind_role(
        mut from: Reader<'a>,
        find: impl FnOnce(&str) -> Result<L::Params, ParamError>,
    ) -> Result<Self, ReplayError> {
        let head = || ReplayError::Cut { events: None };
        let law = String::read(&mut from).ok_or_else(head)?;
        let failed =
            |why: ParamError| ReplayError::Params { law: law.clone(), why: why.to_string() };
        let mut params = find(&law).map_err(failed)?;
        for _ in 0..u64::read(&mut from).ok_or_else(head)? {
            let (param, value) = (String::read(&mut from), String::read(&mut from));
            let (Some(param), Some(value)) = (param, value) else { return Err(head()) };
            L::set(&mut params, &param, &value).map_err(failed)?;
        }
        let (first, at, acts) = get_start::<L>(&mut from).ok_or_else(head)?;
        Ok(Self { law, params, first, at, acts, rest: from, last: L::Last::default(), now: first })
    }

    /// Sets parameters on top of those of the log.
    ///
    /// # Errors
    /// If the law has no such parameter, or the parameter no such value.
    pub fn set(&mut self, set: &[(String, String)]) -> Result<(), ReplayError> {
        set.iter().try_for_each(|(name, value)| {
            L::set(&mut self.params, name, value)
                .map_err(|why| ReplayError::Params { law: self.law.clone(), why: why.to_string() })
        })
    }

    /// Whether no event is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Facts and actions of a start, if the law starts again here; the time is then that of the start.
    pub fn restart(&mut self) -> Option<(Time, L::Start, Acts<L::Act>)> {
        let mut from = self.rest.clone();
        let start = Span::read(&mut from).filter(|gap| *gap == RESTART);
        let start = start.and_then(|_| get_start::<L>(&mut from))?;
        (self.rest, self.last, self.now) = (from, L::Last::default(), start.0);
        Some(start)
    }

    /// Hands on the next event with its time, and gives its actions; `None`: the log ends within it, or it makes no sense.
    pub fn next<R>(
        &mut self,
        with: impl FnOnce(Time, L::Seen<'_>) -> R,
    ) -> Option<(R, Acts<L::Act>)> {
        let gap = Span::read(&mut self.rest)?;
        let now = Some(self.now.saturating_add(gap)).filter(|now| *now <= LATEST)?;
        self.now = now;
        let done = L::read(&mut self.rest, &mut self.last, |seen| with(now, seen))?;
        Some((done, get_acts(&mut self.rest)?))
    }
}

/// [`compare`] for a role, from behind its byte; `find` knows the laws.
pub(crate) fn compare_of<L: Role>(
    from: Reader<'_>,
    set: &[(String, String)],
    find: impl FnOnce(&str) -> Result<L::Params, ParamError>,
) -> Result<Compared, ReplayError> {
    let mut log = Log::<L>::behind_role(from, find)?;
    log.set(set)?;
    let mut acts = Acts::default();
    let mut law = L::start(&log.params, log.first, log.at, &mut acts);
    let (name, first) = (log.law.clone(), log.first);
    let (mut differing, mut difference) = (0, None);
    let differs = |event, now, seen, logged: &Acts<L::Act>, acts: &Acts<L::Act>| {
        let (logged, acts) = (alloc::format!("{logged:?}"), alloc::format!("{acts:?}"));
        Box::new(Difference { law: name.clone(), event, now, seen, logged, acts })
    };
    if log.acts != acts {
        differing += 1;
        difference = Some(differs(0, first, "its start".to_string(), &log.acts, &acts));
    }
    let (mut events, mut last, mut cut) = (0, first, false);
    while !log.is_empty() {
        acts.clear();
        if let Some((now, at, logged)) = log.restart() {
            law = L::start(&log.params, now, at, &mut acts);
            last = now;
            if logged != acts {
                differing += 1;
                let seen = "another start".to_string();
                difference.get_or_insert_with(|| differs(events, now, seen, &logged, &acts));
            }
            continue;
        }
        let (mut check, mut before) = (log.rest.clone(), log.last.clone());
        let Some((now, logged)) = log.next(|now, seen| {
            law.step(now, seen, &mut acts);
            now
        }) else {
            cut = true;
            break;
        };
        events += 1;
        last = now;
        if logged != acts {
            differing += 1;
            difference.get_or_insert_with(|| {
                let text = |seen: L::Seen<'_>| alloc::format!("{seen:?}");
                let seen =
                    Span::read(&mut check).and_then(|_| L::read(&mut check, &mut before, text));
                differs(events, now, seen.unwrap_or_default(), &logged, &acts)
            });
        }
    }
    let law = name.clone();
    let replayed = ReplayedLog { role: L::NAME, law, events, first, last };
    Ok(Compared { replayed, differing, difference, cut })
}

#[cfg(test)]
mod tests;
