//! Samples of deliveries: what a host has handed to its applications, and how long its port has been paused.

use crate::host::{Host, Observer};
use forebay_units::{Span, Time};

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
        self.bytes.push(host.delivered_bytes());
        if host.port().pauses(now).received > 0 {
            host.port().paused_so_far(now, &mut self.paused);
        }
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
