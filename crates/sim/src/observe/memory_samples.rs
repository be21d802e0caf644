//! Samples of a path to memory: what its running totals rose by in each interval.

use crate::host::{Host, Observer, Snapshot};
use forebay_host::memory::settings::LINE;
use forebay_host::memory::{PathState, QueueTotals};
use forebay_laws::host::LawReadings;
use forebay_record::{CacheSample, MemorySample, MemorySeries};
use forebay_units::{Span, Time};

/// Samples of one host so far.
#[derive(Clone, Debug)]
pub(crate) struct MemorySamples {
    every: Span,
    next: Time,
    last: Snapshot,
    taken: Vec<MemorySample>,
    antagonists: Vec<f32>, // those of one sample side by side
}

impl MemorySamples {
    /// None yet; the first is due at the end of the first interval.
    pub fn new(every: Span) -> Self {
        let next = Time::ZERO + every;
        Self { every, next, last: Snapshot::default(), taken: Vec::new(), antagonists: Vec::new() }
    }

    /// What the totals came to since the last one. The model moves in steps, so its rates are over the time it has covered,
    /// which may differ from the interval by a step.
    fn take(&mut self, now: Time, seen: Snapshot, state: &PathState, watched: Option<LawReadings>) {
        self.next = now + self.every;
        let (a, b) = (&self.last.path, &seen.path);
        let ns = (seen.at.since(self.last.at).as_ps() as f64 * 1e-3).max(1e-3);
        let gigabytes = |lines: f64| (lines * LINE as f64 / ns) as f32;
        let every_ns = self.every.as_ps() as f64 * 1e-3;
        let read = (seen.read_bytes - self.last.read_bytes) as f64 * 8.0;
        self.taken.push(MemorySample {
            at: now,
            occupancy: ((b.occupancy - a.occupancy) / ns) as f32,
            pcie_gbps: ((b.entered - a.entered) * (LINE * 8) as f64 / ns) as f32,
            buffered: state.buffered as u32,
            dropped: (b.dropped - a.dropped) as u32,
            goodput_gbps: (read / every_ns) as f32,
            network: gigabytes(b.dma - a.dma + b.copied - a.copied + b.sent - a.sent),
            other_nics: b.others.map(|lines| gigabytes(lines - a.others.unwrap_or(0.0))),
            marked: (seen.marked - self.last.marked) as u32,
            level: state.level,
            seen: watched.map(|w| [w.lines_1024 as f32 / 1024.0, w.rate.get() as f32 * 1e-9]),
            cache: b.queue.map(|queue| cache(&a.queue.unwrap_or_default(), &queue)),
            credits: None,
        });
        for i in 0..b.antagonist_read.len() {
            self.antagonists.push(gigabytes(b.served(i) - a.served(i)));
        }
        self.last = seen;
    }

    /// All of them, of the host with this name.
    pub fn series(&self, host: &str) -> MemorySeries {
        MemorySeries {
            host: host.into(),
            every: self.every,
            samples: self.taken.clone(),
            antagonists: self.last.path.antagonist_read.len(),
            by_antagonist: self.antagonists.clone(),
        }
    }
}

/// What the cache of receive buffers missed between two instants, and what is unread at the second.
fn cache(from: &QueueTotals, to: &QueueTotals) -> CacheSample {
    let (before, after) = (from.counts.missed_by_cause(), to.counts.missed_by_cause());
    CacheSample {
        unread: to.unread,
        reads: (to.counts.reads - from.counts.reads) as u32,
        misses: std::array::from_fn(|i| (after[i] - before[i]) as u32),
        waited: (to.waited - from.waited) as u32,
        refused: (to.refused - from.refused) as u32,
    }
}

impl Observer for MemorySamples {
    fn next(&self) -> Time {
        self.next
    }

    fn observe(&mut self, now: Time, host: &Host) {
        let Some(memory) = host.memory() else { return };
        let seen = memory.snapshot(now, host.delivered_bytes());
        self.take(now, seen, &memory.now(), memory.watched());
    }

    fn copy(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }
}
