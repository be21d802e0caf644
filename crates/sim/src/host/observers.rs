//! Observers: each samples a host at times of its own and changes nothing. A host without any pays nothing for them.
//!
//! To add one: its type with [`Observer`], in `observe/`, and where the assembler gives it to hosts.

use super::Host;
use forebay_units::Time;
use std::any::Any;
use std::fmt::Debug;

/// Samples a host, again and again.
pub(crate) trait Observer: Any + Debug + Send {
    /// Time of the next sample; [`Time::MAX`]: never.
    fn next(&self) -> Time;
    /// Takes a sample, and moves the time of the next one.
    fn observe(&mut self, now: Time, host: &Host);
    /// A copy, with its samples: hosts are copied.
    fn copy(&self) -> Box<dyn Observer>;
}

impl Clone for Box<dyn Observer> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// The observers of one host, in the order in which they sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Observers(Vec<Box<dyn Observer>>);

impl Observers {
    /// Time of the earliest next sample; [`Time::MAX`]: never.
    pub fn next(&self) -> Time {
        self.0.iter().map(|one| one.next()).min().unwrap_or(Time::MAX)
    }
}

impl Host {
    /// Adds an observer of this host.
    pub fn add_observer(&mut self, observer: impl Observer) {
        self.observers.0.push(Box::new(observer));
        self.plan_next();
        self.settle_next();
    }

    /// The first observer of this kind, if there is one.
    pub fn observer<T: Observer>(&self) -> Option<&T> {
        self.observers.0.iter().find_map(|one| (&**one as &dyn Any).downcast_ref())
    }

    /// Lets those observers sample whose time has come.
    pub(super) fn observe(&mut self, now: Time) {
        let mut observers = std::mem::take(&mut self.observers);
        observers
            .0
            .iter_mut()
            .filter(|one| one.next() <= now)
            .for_each(|one| one.observe(now, self));
        self.observers = observers;
    }
}
