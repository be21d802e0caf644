//! Operations and programs: what a host does of one entry of traffic, and when.
//!
//! A program is the sequence of operations of one host, its rank. The sequence is lazy: a host reads on when operations have begun. Each
//! operation lists what it waits for. Nothing else orders operations, but two of one connection take their turns as they begin.

use forebay_units::{Bytes, Span, Time};
use std::fmt;

/// What a host does. Connections are indices into [`super::Table::flows`], or below [`Program::first`] of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Hands over bytes on a connection that begins here: all of a flow, or the next message of a connection that stays open. Over when all of
    /// them are acknowledged.
    Send {
        /// The connection.
        on: u32,
        /// Payload; none of a connection that stays open is over at once.
        bytes: Bytes,
    },
    /// Takes a flow that ends here, or the next bytes of a connection that stays open. Over when the application has all of them.
    Recv {
        /// The connection.
        on: u32,
        /// Payload, as the sender sends it.
        bytes: Bytes,
    },
    /// Takes so long, and nothing else.
    Compute(Span),
    /// Over at this time, or at once if that has passed.
    At(Time),
    /// Notifies a host. Over at once.
    Signal(Signal),
    /// Notes the time for the results. Over at once.
    Mark(Mark),
}

/// What a time that is noted means: a host begins its share of something that several hosts do together, or has ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Group of hosts, counted within the entry.
    pub group: u32,
    /// How often this group has done so before.
    pub number: u32,
    /// Whether this is the end.
    pub is_end: bool,
}

/// A notification, which travels outside the fabric: over a control link, or within a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Host that is notified.
    pub to: u32,
    /// Entry whose operations wait for it there.
    pub traffic: u16,
    /// Name of the signal among those of this entry at that host.
    pub tag: u32,
    /// How long it takes, 1 ps or more to another host.
    pub delay: Span,
    /// It is not sent from here on.
    pub before: Time,
}

/// What an operation waits for. It begins when all of these are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitList {
    /// Operations of the same program, as distances: 1 is the one before. 0: none.
    pub back: [u32; 2],
    /// Name of a signal to this host.
    pub tag: u32,
    /// How often it has to come, counted from the beginning. 0: it waits for no signal.
    pub count: u32,
}

impl WaitList {
    /// Nothing to wait for.
    pub const NOTHING: Self = Self { back: [0; 2], tag: 0, count: 0 };

    /// Waits for the operation so many places before.
    pub const fn op(back: u32) -> Self {
        Self { back: [back, 0], ..Self::NOTHING }
    }

    /// Waits for two operations, each so many places before.
    pub const fn ops(back: [u32; 2]) -> Self {
        Self { back, ..Self::NOTHING }
    }

    /// Waits until the signal has come so often.
    pub const fn signal(tag: u32, count: u32) -> Self {
        Self { tag, count, ..Self::NOTHING }
    }
}

/// An operation with what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub op: Op,
    /// When it begins.
    pub after: WaitList,
}

const _: () = assert!(size_of::<Step>() <= 64, "an operation costs at most a cache line");

/// A sequence of operations. It depends on seed, entry and rank alone.
pub trait Ops: fmt::Debug + Send + Sync {
    /// The next operation; `None`: there are no more.
    fn next(&mut self) -> Option<Step>;

    /// The same sequence, from where it is.
    fn copy(&self) -> Box<dyn Ops>;

    /// Tells it where the flows are in the table of all flows; `first` is [`Program::first`].
    #[doc(hidden)]
    fn place(&mut self, first: &mut u32, places: &[u32]) {
        *first = places.get(*first as usize).copied().unwrap_or(0);
    }
}

/// What one host does of one entry.
#[derive(Debug)]
pub struct Program {
    /// Host that runs it.
    pub host: u32,
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
    /// Added to the connections that its operations name.
    pub first: u32,
    /// Connections over which each message is split, 1 or more, from the one that an operation names.
    pub stripes: u8,
    /// Operations that have not begun and are read nevertheless, 1 or more. No operation begins before it is read.
    pub ahead: u32,
    /// Whether a run that ends with its flows waits for its last operation.
    pub awaited: bool,
    /// Its operations.
    pub ops: Box<dyn Ops>,
}

impl Clone for Program {
    fn clone(&self) -> Self {
        Self { ops: self.ops.copy(), ..*self }
    }
}

impl PartialEq for Program {
    /// Programs are equal if all operations to come are.
    fn eq(&self, other: &Self) -> bool {
        let of =
            |one: &Self| (one.host, one.traffic, one.first, one.stripes, one.ahead, one.awaited);
        if of(self) != of(other) {
            return false;
        }
        let (mut a, mut b) = (self.ops.copy(), other.ops.copy());
        loop {
            match (a.next(), b.next()) {
                (None, None) => return true,
                (a, b) if a == b => {}
                _ => return false,
            }
        }
    }
}

/// Operations that are laid out one by one.
#[derive(Clone, Debug)]
pub(super) struct OpList {
    pub steps: Vec<Step>,
    pub next: usize,
}

impl Ops for OpList {
    fn next(&mut self) -> Option<Step> {
        let step = self.steps.get(self.next).copied();
        self.next += usize::from(step.is_some());
        step
    }

    fn copy(&self) -> Box<dyn Ops> {
        Box::new(self.clone())
    }

    fn place(&mut self, _first: &mut u32, places: &[u32]) {
        for step in &mut self.steps {
            if let Op::Send { on, .. } | Op::Recv { on, .. } = &mut step.op {
                *on = places[*on as usize];
            }
        }
    }
}
