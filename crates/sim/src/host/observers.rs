//! Observers: each samples a host at times of its own and changes nothing. A host without any pays nothing for them.
//!
//! To add one: its type with [`Observer`], and its row at the end of this file.

use super::{CreditSamples, Host, PoolSamples, SenderWaits, memory_samples};
use crate::flow_samples::FlowSamples;
use forebay_units::{Span, Time};

/// Samples a host, again and again.
pub(crate) trait Observer: Sized {
    /// Time of the next sample; [`Time::MAX`]: never.
    fn next(&self) -> Time;
    /// Takes a sample, and moves the time of the next one.
    fn observe(&mut self, now: Time, host: &Host);
    /// The observer, if it is of this kind.
    fn of(any: &AnyObserver) -> Option<&Self>;
}

/// The observers of one host, in the order in which they sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Observers(Vec<AnyObserver>);

impl Observers {
    /// Time of the earliest next sample; [`Time::MAX`]: never.
    pub fn next(&self) -> Time {
        self.0.iter().map(AnyObserver::next).min().unwrap_or(Time::MAX)
    }
}

impl Host {
    /// Adds an observer of this host.
    pub fn add_observer(&mut self, observer: impl Into<AnyObserver>) {
        self.observers.0.push(observer.into());
        self.plan_next();
        self.settle_next();
    }

    /// The first observer of this kind, if there is one.
    pub fn observer<T: Observer>(&self) -> Option<&T> {
        self.observers.0.iter().find_map(T::of)
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

/// What a host has delivered, and how long its port has been paused, at equal intervals.
#[derive(Clone, Debug)]
pub(crate) struct Deliveries {
    every: Span,
    next: Time,
    /// Bytes delivered by each instant.
    pub bytes: Vec<u64>,
    /// Time paused by then, at the last of these instants: from the first pause on.
    pub paused: Vec<Span>,
}

impl Deliveries {
    /// Samples from time zero on.
    pub fn new(every: Span) -> Self {
        Self { every, next: Time::ZERO, bytes: Vec::new(), paused: Vec::new() }
    }
}

impl Observer for Deliveries {
    fn next(&self) -> Time {
        self.next
    }

    fn observe(&mut self, now: Time, host: &Host) {
        self.next = now + self.every;
        self.bytes.push(host.receive.bytes);
        if host.port().pauses(now).received > 0 {
            host.port().paused_so_far(now, &mut self.paused);
        }
    }

    fn of(any: &AnyObserver) -> Option<&Self> {
        any.deliveries()
    }
}

/// Any kind of observer, dispatched by `match`.
macro_rules! observers {
    ($($name:ident: $Kind:ident($Type:ty),)+) => {
        /// An observer of one of these kinds.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyObserver {
            $($Kind(Box<$Type>),)+
        }

        impl AnyObserver {
            fn next(&self) -> Time {
                match self {
                    $(Self::$Kind(one) => one.next(),)+
                }
            }

            fn observe(&mut self, now: Time, host: &Host) {
                match self {
                    $(Self::$Kind(one) => one.observe(now, host),)+
                }
            }

            $(pub(crate) fn $name(&self) -> Option<&$Type> {
                match self {
                    Self::$Kind(one) => Some(one),
                    _ => None,
                }
            })+
        }

        $(impl From<$Type> for AnyObserver {
            fn from(one: $Type) -> Self {
                Self::$Kind(Box::new(one))
            }
        })+
    };
}

observers! {
    deliveries: Deliveries(Deliveries),
    flows: Flows(FlowSamples),
    waits: Waits(SenderWaits),
    memory: Memory(memory_samples::Samples),
    credits: Credits(CreditSamples),
    pools: Pools(PoolSamples),
}
