//! When something is due at a host.

use super::Host;
use forebay_engine::Emitter;
use forebay_units::Time;
use forebay_wire::Packet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Owner of a timer. At one instant timers come up in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    Ring,
    App,
    Sender,
    Receiver,
    Rpc,
    Pool,
    ResumeRequest,
}

/// The timers of a host, and what it is to do at times known beforehand.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    pub next: Time,    // earliest timer, start, observation or pull
    pub planned: Time, // not after the earliest start, observation, or deadline of what receivers have in common
    heap: BinaryHeap<Reverse<(Time, Due, u32)>>,
}

impl Default for Timers {
    /// No timers yet.
    fn default() -> Self {
        Self { next: Time::MAX, planned: Time::MAX, heap: BinaryHeap::new() }
    }
}

impl Timers {
    /// Sets a timer.
    #[inline]
    pub fn push(&mut self, at: Time, due: Due, which: u32) {
        self.heap.push(Reverse((at, due, which)));
    }

    /// The timer that comes up next.
    #[inline]
    pub fn first(&self) -> Option<(Time, Due, u32)> {
        self.heap.peek().map(|first| first.0)
    }

    /// Takes the timer that comes up next, if that is by `now`.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<(Due, u32)> {
        let (at, due, which) = self.first().filter(|first| first.0 <= now)?;
        debug_assert!(at == now, "{due:?} was due at {at}, and it is {now}");
        self.heap.pop();
        Some((due, which))
    }
}

impl Host {
    /// Notes when the next flow starts, the next observer samples, or receivers have something to do together. The first two move in
    /// [`Host::timer`] only, the last also with data.
    pub(super) fn plan_next(&mut self) {
        let start = self.starts.last();
        let start = start.map_or(Time::MAX, |flow| self.common.flows[*flow as usize].start);
        let start = if self.has_new_programs() { Time::ZERO } else { start };
        let receivers = self.receive.halves.deadline();
        self.timers.planned = start.min(self.observers.next()).min(receivers);
    }

    /// Starts what is to start by `now`, and lets observers sample whose time has come.
    #[cold]
    pub(super) fn planned(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        if self.has_new_programs() {
            self.begin_programs(now, out);
        }
        while let Some(flow) = self.starts.last().copied()
            && self.common.flows[flow as usize].start <= now
        {
            self.starts.pop();
            self.start(now, flow);
        }
        self.observe(now);
        self.plan_next();
    }
}
