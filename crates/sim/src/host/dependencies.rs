//! Dependencies: deliveries that a host counts, and flows on other hosts that begin after the last of them.

use super::Host;
use super::timers::Due;
use forebay_engine::{LinkId, Out};
use forebay_units::{Span, Time};
use forebay_wire::{Flags, FlowId, Kind, Packet};
use std::sync::Arc;

/// Deliveries that one host counts, and the successors of the last of them.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    /// Number of flows to be delivered; of a barrier, number of other hosts' dependencies to be met.
    pub count: u32,
    /// Successors begin only if the dependency is met before this.
    pub until: Time,
    /// Successors.
    pub next: Vec<Successor>,
}

/// Successor of a dependency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor {
    /// Number of a flow that starts, or of a barrier that counts.
    pub what: u32,
    /// Whether it is a barrier.
    pub is_barrier: bool,
    /// Control link to its host.
    pub link: LinkId,
    /// How long that host waits after the notification.
    pub wait: Span,
}

/// A dependency that counts dependencies of other hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    dependency: u32,
    missing: u32,
    met: Time, // time of the latest that has been met
}

/// What a host counts.
#[derive(Clone, Debug)]
pub(super) struct Dependencies {
    counted: Vec<(u32, u32)>, // dependencies on flows received here: number, flows still missing
    of: Vec<(u32, u32)>,      // flow to index in `counted`, sorted
    barriers: Vec<Barrier>,   // sorted by number
}

impl Dependencies {
    /// `of` pairs flows received here with the dependencies that they count for.
    pub fn new(all: &[Dependency], mut of: Vec<(u32, u32)>) -> Self {
        of.sort_unstable();
        let mut ids: Vec<u32> = of.iter().map(|pair| pair.1).collect();
        ids.sort_unstable();
        ids.dedup();
        for (_, dependency) in &mut of {
            *dependency = ids.binary_search(dependency).expect("every one was collected") as u32;
        }
        let counted = ids.iter().map(|id| (*id, all[*id as usize].count)).collect();
        Self { counted, of, barriers: Vec::new() }
    }
}

/// Control packet: `flow` is a barrier at its receiver, not a flow to start.
const TO_BARRIER: Flags = Flags(1);

impl Host {
    /// Adds a barrier, which counts dependencies of other hosts.
    pub fn add_barrier(&mut self, dependency: u32) {
        let missing = self.common.dependencies[dependency as usize].count;
        self.dependencies.barriers.push(Barrier { dependency, missing, met: Time::ZERO });
        self.dependencies.barriers.sort_by_key(|barrier| barrier.dependency);
    }

    /// A flow has been delivered: the dependencies that it counts for miss one less.
    pub(super) fn count_delivery(&mut self, now: Time, flow: FlowId, out: &mut impl Out<Packet>) {
        let first = self.dependencies.of.partition_point(|r| r.0 < flow.0);
        for at in first..self.dependencies.of.len() {
            let (of, index) = self.dependencies.of[at];
            if of != flow.0 {
                return;
            }
            let (dependency, missing) = &mut self.dependencies.counted[index as usize];
            *missing -= 1;
            if *missing == 0 {
                let dependency = *dependency;
                self.start_successors(now, dependency, now, out);
            }
        }
    }

    /// A dependency elsewhere has been met: a flow of this host begins, or a barrier here misses one less.
    #[cold]
    pub(super) fn on_dependency(&mut self, now: Time, packet: &Packet, out: &mut impl Out<Packet>) {
        let at = now + Span::from_ps(packet.seq);
        if !packet.flags.has(TO_BARRIER) {
            self.timers.push(at, Due::Start, packet.flow.0);
            return;
        }
        let barriers = &mut self.dependencies.barriers;
        let found = barriers.binary_search_by_key(&packet.flow.0, |barrier| barrier.dependency);
        let barrier = &mut barriers[found.expect("a host is notified of its own barriers")];
        barrier.met = barrier.met.max(at);
        barrier.missing -= 1;
        if barrier.missing == 0 {
            let Barrier { dependency, met, .. } = *barrier;
            self.start_successors(now, dependency, met, out);
        }
    }

    /// Notifies the successors of a dependency that it was met at `met`, now or soon.
    fn start_successors(
        &mut self,
        now: Time,
        dependency: u32,
        met: Time,
        out: &mut impl Out<Packet>,
    ) {
        let common = Arc::clone(&self.common);
        let dependency = &common.dependencies[dependency as usize];
        let next = if met < dependency.until { &dependency.next[..] } else { &[] };
        for one in next {
            // The wait is the receiver's: links are FIFO, and others may have shorter ones.
            let seq = (one.wait + met.since(now)).as_ps();
            let flags = Flags::NONE.with_if(one.is_barrier, TO_BARRIER);
            let flow = FlowId(one.what);
            let go = Packet { flow, seq, flags, kind: Kind::Control, ..Packet::default() };
            out.push(one.link, now, &go);
        }
    }
}
