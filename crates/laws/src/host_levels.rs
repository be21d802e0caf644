//! The throttle level of a host as its law has it: in force, being written, and to be lifted whatever it takes.
//!
//! Invariants: one write is requested at a time, but for the 0 of [`Levels::disable`]; no level is above the strongest there is; after a failed
//! write none is requested for [`RETRY`].

use crate::Acts;
use crate::host::HostAct;
use forebay_units::{Span, Time};

/// No write is tried for so long after one that failed. Assumption: long against a write, short against a person.
pub(crate) const RETRY: Span = Span::from_ms(1);

/// See the top of this file.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    acts: bool, // otherwise nothing is ever requested
    strongest: u8,
    level: u8,             // in force; at most `strongest`
    requested: Option<u8>, // being written
    write_from: Time,      // no write before, after a failed one
    lifting: bool,         // down to 0, whatever it takes
    disabled: bool,        // for good
}

impl Levels {
    /// Of an unthrottled host; a law that does not act requests nothing.
    pub fn new(strongest: u8, acts: bool) -> Self {
        Self {
            acts,
            strongest,
            level: 0,
            requested: None,
            write_from: Time::ZERO,
            lifting: false,
            disabled: false,
        }
    }

    /// Whether control has ended.
    pub fn disabled(&self) -> bool {
        self.disabled
    }

    /// Whether everything is being lifted.
    pub fn lifting(&self) -> bool {
        self.lifting
    }

    /// Whether a level above 0 is in force and none is being written, so that time may pass under it.
    pub fn held(&self) -> bool {
        self.level > 0 && self.requested.is_none() && self.acts
    }

    /// No write is tried before.
    pub fn write_from(&self) -> Time {
        self.write_from
    }

    /// One level up.
    pub fn raise(&mut self, now: Time, acts: &mut Acts<HostAct>) -> bool {
        self.request(now, self.level.saturating_add(1).min(self.strongest), acts)
    }

    /// One level down.
    pub fn lower(&mut self, now: Time, acts: &mut Acts<HostAct>) -> bool {
        self.request(now, self.level.saturating_sub(1), acts)
    }

    /// Requests a level if it is another one, none is being written, and the last did not just fail. While everything is lifted, 0.
    fn request(&mut self, now: Time, level: u8, acts: &mut Acts<HostAct>) -> bool {
        let level = if self.lifting { 0 } else { level };
        let write =
            self.acts && level != self.level && self.requested.is_none() && now >= self.write_from;
        if write {
            self.requested = Some(level);
            acts.push(HostAct::Level(level));
        }
        write
    }

    /// A level is in force. Whether it is lower than the one before.
    pub fn written(&mut self, now: Time, level: u8, acts: &mut Acts<HostAct>) -> bool {
        let lower = level < self.level;
        self.level = level.min(self.strongest);
        // After `disable` the write before it may come first.
        self.requested = self.requested.filter(|_| self.disabled && level > 0);
        self.lifting = self.disabled || self.lifting && self.level > 0;
        if self.lifting {
            self.request(now, 0, acts);
        }
        lower
    }

    /// A level could not be written.
    pub fn failed(&mut self, now: Time) {
        self.requested = None;
        self.lifting = self.disabled || self.lifting && self.level > 0;
        self.write_from = now.saturating_add(RETRY);
    }

    /// Lifts everything; what is being written comes first.
    pub fn lift(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        self.lifting = self.level > 0 || self.requested.is_some();
        self.request(now, 0, acts);
    }

    /// Goes on lifting.
    pub fn go_on_lifting(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        self.request(now, 0, acts);
    }

    /// Lifts everything for good, whatever is being written.
    pub fn disable(&mut self, acts: &mut Acts<HostAct>) {
        (self.disabled, self.lifting, self.requested) = (true, true, Some(0));
        acts.push(HostAct::Level(0));
    }
}
