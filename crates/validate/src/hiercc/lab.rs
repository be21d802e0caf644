//! One run seen at the receiver's port and at the queues by destination.

use crate::bench::{BenchRun, run_looking};
use forebay_record::PortRow;
use forebay_sim::Inspection;
use forebay_units::Time;

/// How things stand at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// s.
    pub at: f64,
    /// Bytes that the receiver's port has sent.
    pub sent: f64,
    /// Bytes in its queue.
    pub queue: f64,
    /// Bytes in the longest of all queues by destination.
    pub voq: f64,
}

/// A run and what was sampled of it, every microsecond.
pub(super) struct Lab {
    pub seen: BenchRun,
    pub samples: Vec<Sample>,
}

impl Lab {
    /// Runs a scenario text with seed 1, and samples it from `from` to its end; s, whole microseconds.
    pub fn new(text: &str, from: f64, end: f64) -> Self {
        let us = |s: f64| (s * 1e6).round() as u64;
        let mut samples = Vec::new();
        let at = (us(from)..us(end)).map(|us| Time::from_ps(us * 1_000_000));
        let seen =
            run_looking("hiercc", text, 1, (from, end), at, |state| samples.push(sample(state)));
        samples.push(sample(&seen.after));
        Self { seen, samples }
    }

    /// Bytes that the receiver's port had sent at a time, between samples on the straight line.
    fn sent(&self, at: f64) -> f64 {
        let i = self.samples.partition_point(|s| s.at < at).clamp(1, self.samples.len() - 1);
        let (a, b) = (self.samples[i - 1], self.samples[i]);
        let share = ((at - a.at) / (b.at - a.at)).clamp(0.0, 1.0);
        a.sent + (b.sent - a.sent) * share
    }

    /// Rate of the receiver's port, bit/s.
    pub fn rate(&self, from: f64, to: f64) -> f64 {
        (self.sent(to) - self.sent(from)) * 8.0 / (to - from)
    }

    /// Rate of the receiver's port in `count` bins of `width` seconds each.
    pub fn rates(
        &self,
        from: f64,
        width: f64,
        count: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, f64)> + '_ {
        let bin = move |i: usize| (i, from + width * i as f64);
        (0..count).map(bin).map(move |(i, at)| (i, self.rate(at, at + width)))
    }

    /// Mean of `value` over the samples from `from` on.
    pub fn mean(&self, from: f64, value: impl Fn(&Sample) -> f64) -> f64 {
        let late: Vec<f64> = self.samples.iter().filter(|s| s.at >= from).map(value).collect();
        crate::bench::mean(&late)
    }

    /// When the last byte of the last flow was delivered of those that began at `start`; `None`: not by the end. s.
    pub fn last_byte(&self, start: f64) -> Option<f64> {
        let flows = self.seen.record.flows.iter().filter(|f| !f.is_endless());
        let begun = flows.filter(|f| (f.start.as_secs_f64() - start).abs() < 1e-9);
        begun
            .map(|f| f.delivered.map(Time::as_secs_f64))
            .try_fold(0.0, |last: f64, at| at.map(|at| last.max(at)))
    }
}

fn sample(state: &Inspection) -> Sample {
    let port = state.ports.iter().find(|port| port.peer == 0).expect("host 0 has a cable");
    let voqs = state.racks.iter().flat_map(|rack| &rack.queues).map(|voq| voq.queue);
    Sample {
        at: state.at.as_secs_f64(),
        sent: port.counters.tx_bytes as f64,
        queue: port.queue as f64,
        voq: voqs.max().unwrap_or(0) as f64,
    }
}

/// Bytes that all queues by destination have sent.
pub(super) fn sent_of_queues(state: &Inspection) -> f64 {
    state.racks.iter().flat_map(|rack| &rack.queues).map(|voq| voq.sent).sum::<u64>() as f64
}

/// Longest queue by destination, bytes.
pub(super) fn longest_voq(seen: &BenchRun) -> f64 {
    seen.after.racks.iter().map(|rack| rack.counters.longest.get()).max().unwrap_or(0) as f64
}

/// Longest queue of any switch, those by destination included, bytes.
pub(super) fn longest(seen: &BenchRun) -> f64 {
    let hosts = |port: &&PortRow| !is_host(&port.node);
    let ports = seen.record.ports.iter().filter(hosts).map(|port| port.max_queue.get());
    longest_voq(seen).max(ports.max().unwrap_or(0) as f64)
}

/// Whether a node of this name is a host.
pub(super) fn is_host(name: &str) -> bool {
    name.contains("host[")
}
