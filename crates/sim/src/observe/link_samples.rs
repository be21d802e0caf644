//! All links over time: what ports have counted, read between two steps of a run.
//!
//! The run is cut into intervals of one length. Where flows may end it long before its last time, they are short at first; once there are
//! [`MOST`], each two become one. So a record has between half of that and [`MOST`] intervals whatever a run's length, and memory is
//! bounded by the bundles of a picture. Invariant: instants depend on the scenario and on virtual time alone, and sampling changes nothing.

use crate::world::{AnyNode, World, machines};
use forebay_engine::{EngineAccess, NodeId};
use forebay_record::LinksRow;
use forebay_record::bundles::Bundles;
use forebay_units::{Span, Time};

/// Intervals at most.
const MOST: usize = 200;

/// How much shorter intervals are at first where flows may end the run.
const FINER: u64 = 512;

/// No interval is shorter.
const LEAST: Span = Span::from_us(1);

/// Samples of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct LinkSamples {
    bundles: Bundles,
    every: Span,
    at: Time, // of the last sample
    before: Vec<PortCounts>,
    samples: Vec<Vec<Sample>>, // by interval, then bundle
}

/// What a port had counted.
#[derive(Clone, Copy, Debug, Default)]
struct PortCounts {
    sent: u64,
    dropped: u64,
    marked: u64,
    trimmed: u64,
    refused_credits: u64,
    paused: Span,
}

/// One bundle in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sample {
    busy: f32, // shares, summed over links
    paused: f32,
    queue: f32,
    dropped: u32,
    marked: u32,
    trimmed: u32,
    refused_credits: u32,
}

impl Sample {
    /// Of two intervals of one length.
    fn and(self, next: Self) -> Self {
        Self {
            busy: (self.busy + next.busy) / 2.0,
            paused: (self.paused + next.paused) / 2.0,
            queue: self.queue.max(next.queue),
            dropped: self.dropped.saturating_add(next.dropped),
            marked: self.marked.saturating_add(next.marked),
            trimmed: self.trimmed.saturating_add(next.trimmed),
            refused_credits: self.refused_credits.saturating_add(next.refused_credits),
        }
    }
}

impl LinkSamples {
    /// Of a run that ends at `last`, or where it is `early` perhaps long before; none where its fabric cannot be drawn ([`Bundles::of`]).
    pub fn new(world: &World, last: Time, early: bool) -> Option<Self> {
        let fabric = &world.fabric;
        let names: Vec<&str> = world.plan.names.iter().map(String::as_str).collect();
        let of_node = |n| fabric.ports_of(NodeId(n)).iter().map(move |to| (n, to.peer.0));
        let ports: Vec<(u32, u32)> = (0..fabric.nodes()).flat_map(of_node).collect();
        let bundles = Bundles::of(&names, world.plan.hosts, &ports)?;
        let finer = if early { FINER } else { 1 };
        let every = Span::from_ps(last.as_ps().div_ceil(MOST as u64 * finer)).max(LEAST);
        let before = vec![PortCounts::default(); ports.len()];
        Some(Self { bundles, every, at: Time::ZERO, before, samples: Vec::new() })
    }

    /// When the next sample is due.
    pub fn next(&self) -> Time {
        self.at + self.every
    }

    /// Takes the sample that is due.
    pub fn sample(&mut self, now: Time, engine: &mut impl EngineAccess<AnyNode>, world: &World) {
        self.make_room();
        // After a change of length the interval has only begun.
        if now < self.at + self.every {
            return;
        }
        self.take(now, engine, world);
    }

    /// Joins intervals two by two if there are as many as may be.
    fn make_room(&mut self) {
        if self.samples.len() == MOST {
            let join = |pair: &[Vec<Sample>]| -> Vec<Sample> {
                pair[0].iter().zip(&pair[1]).map(|(a, b)| a.and(*b)).collect()
            };
            self.samples = self.samples.chunks(2).map(join).collect();
            self.every = self.every * 2;
        }
    }

    fn take(&mut self, now: Time, engine: &mut impl EngineAccess<AnyNode>, world: &World) {
        let ps = now.since(self.at).as_ps().max(1) as f64;
        let mut interval = vec![Sample::default(); self.bundles.all.len()];
        let mut counters = self.before.iter_mut().zip(&self.bundles.of_port);
        for n in 0..world.fabric.nodes() {
            let node = machines::node(engine, &world.fabric, NodeId(n));
            for (port, (before, bundle)) in node.ports().iter().zip(&mut counters) {
                let counted = port.counters();
                let after = PortCounts {
                    sent: port.sent(now),
                    dropped: counted.dropped_packets + counted.lost_packets,
                    marked: counted.marked_packets,
                    trimmed: counted.trimmed_packets,
                    refused_credits: counted.dropped_credits,
                    paused: port.pauses(now).paused,
                };
                let sample = &mut interval[*bundle as usize];
                let bytes = after.sent.saturating_sub(before.sent);
                let could = port.settings().rate.get() as f64 * ps / 8e12;
                if bytes > 0 && could > 0.0 {
                    sample.busy += (bytes as f64 / could).min(1.0) as f32;
                }
                let paused = after.paused.saturating_sub(before.paused);
                sample.paused += (paused.as_ps() as f64 / ps).min(1.0) as f32;
                // A NIC pulls when its wire is free: what it transmits is no queue, and counts in none of its largest.
                let queue = port.queue(now).min(port.highest());
                sample.queue = sample.queue.max(queue as f32);
                let add =
                    |sum: u32, more: u64| sum.saturating_add(more.min(u32::MAX.into()) as u32);
                sample.dropped = add(sample.dropped, after.dropped - before.dropped);
                sample.marked = add(sample.marked, after.marked - before.marked);
                sample.trimmed = add(sample.trimmed, after.trimmed - before.trimmed);
                let refused = after.refused_credits - before.refused_credits;
                sample.refused_credits = add(sample.refused_credits, refused);
                *before = after;
            }
        }
        self.samples.push(interval);
        self.at = now;
    }

    /// The rows of a run that has ended.
    pub fn finish(
        mut self,
        end: Time,
        engine: &mut impl EngineAccess<AnyNode>,
        world: &World,
    ) -> Vec<LinksRow> {
        while self.next() <= end {
            self.sample(self.next(), engine, world);
        }
        if self.at < end {
            self.make_room();
            self.take(end, engine, world);
        }
        let bundles = self.bundles.all.iter().enumerate();
        bundles.map(|(at, _)| self.row(at)).collect()
    }

    fn row(&self, at: usize) -> LinksRow {
        let bundle = &self.bundles.all[at];
        let name = |group: usize| self.bundles.groups[group].name.clone();
        let list = |of: &dyn Fn(&Sample) -> f32| -> Vec<f32> {
            let all: Vec<f32> = self.samples.iter().map(|interval| of(&interval[at])).collect();
            if all.iter().any(|value| *value > 0.0) { all } else { Vec::new() }
        };
        let mean = |sum: f32| (sum / bundle.links as f32 * 1000.0).round() / 1000.0;
        LinksRow {
            node: name(bundle.from),
            peer: name(bundle.to),
            links: bundle.links,
            every: self.every,
            busy: list(&|sample| mean(sample.busy)),
            queue: list(&|sample| sample.queue),
            dropped: list(&|sample| sample.dropped as f32),
            marked: list(&|sample| sample.marked as f32),
            trimmed: list(&|sample| sample.trimmed as f32),
            refused_credits: list(&|sample| sample.refused_credits as f32),
            paused: list(&|sample| mean(sample.paused)),
        }
    }
}
