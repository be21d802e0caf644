//! The throttle level of a host as its law has it: in force, being written, on lease, and to be lifted whatever it takes.
//!
//! Invariants: one write is requested at a time, but for the 0 of [`Levels::disable`]; no level is above the strongest there is; after a failed
//! write none is requested for [`RETRY`]. While a level above 0 is held that time alone may lower, a wake comes.

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
    lease: Option<Span>,   // none: levels stay
    leased: Time, // the last reading that justified the level, or the last level that lapsed
    armed: Option<Time>, // a wake that will come
}

impl Levels {
    /// Of an unthrottled host; a law that does not act requests nothing. A level that nothing has justified for the length of the
    /// lease goes down by one.
    pub fn new(strongest: u8, acts: bool, lease: Option<Span>, now: Time) -> Self {
        Self {
            acts,
            strongest,
            level: 0,
            requested: None,
            write_from: Time::ZERO,
            lifting: false,
            disabled: false,
            lease,
            leased: now,
            armed: None,
        }
    }

    /// Whether control has ended.
    pub fn disabled(&self) -> bool {
        self.disabled
    }

    /// Whether a level above 0 is in force and none is being written, so that time may pass under it.
    pub fn held(&self) -> bool {
        self.level > 0 && self.requested.is_none() && self.acts
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

    /// A reading justifies the level.
    pub fn justify(&mut self, now: Time) {
        self.leased = now;
    }

    /// One level down if nothing justified this one for the length of the lease.
    pub fn lapse(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.lease_ends().is_some_and(|end| end <= now) && self.lower(now, acts) {
            self.leased = now;
        }
    }

    /// Whether a wake is the one that was asked for. The law then looks at its readings, and [`Levels::go_on`] does what time does.
    pub fn woken(&mut self, now: Time) -> bool {
        let due = self.armed.is_some_and(|due| due <= now);
        self.armed = self.armed.filter(|_| !due);
        due
    }

    /// What time alone does: a lift that failed is tried again, a lease ends.
    pub fn go_on(&mut self, now: Time, acts: &mut Acts<HostAct>) {
        if self.lifting {
            self.request(now, 0, acts);
        } else {
            self.lapse(now, acts);
        }
    }

    /// Asks for a wake when readings go stale (`stale`), the lease ends or a failed lift is due again.
    pub fn arm(&mut self, now: Time, stale: Option<Time>, acts: &mut Acts<HostAct>) {
        let held = self.held();
        let lease = self.lease_ends().map(|end| end.max(self.write_from)).filter(|_| held);
        let retry = Some(self.write_from).filter(|_| held && self.lifting);
        let Some(due) = [stale, lease, retry].into_iter().flatten().min() else { return };
        let due = due.max(now);
        if self.armed.is_none_or(|armed| due < armed) {
            self.armed = Some(due);
            acts.push(HostAct::WakeAt(due));
        }
    }

    fn lease_ends(&self) -> Option<Time> {
        self.lease.map(|lease| self.leased.saturating_add(lease))
    }

    /// Lifts everything for good, whatever is being written.
    pub fn disable(&mut self, acts: &mut Acts<HostAct>) {
        (self.disabled, self.lifting, self.requested) = (true, true, Some(0));
        acts.push(HostAct::Level(0));
    }
}
