//! The 10 Gb/s table: RPCs of 1 MB from n hosts to one, and small RPCs that share their queue.

use super::settings::{Law, Settings, Stack};
use super::star::{PORT, fresh, fresh_goodputs, rounds, rpcs, star};
use crate::bench::{BenchRun, mean, run_seed};
use crate::order::beyond;
use forebay_record::{jain, nearest_rank};

/// What a column of the table says, in the order of its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub goodput: f64,
    pub fairness: f64,
    pub latency: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub queue: f64,
    pub drops: f64,
    /// RPCs behind the latencies.
    pub calls: usize,
}

/// Row ids end with these.
pub(super) const QUANTITIES: [&str; 8] =
    ["goodput", "fairness", "latency", "p90", "p95", "p99", "queue", "drops"];

impl Column {
    pub fn values(&self) -> [f64; 8] {
        let Self { goodput, fairness, latency, p90, p95, p99, queue, drops, calls: _ } = *self;
        [goodput, fairness, latency, p90, p95, p99, queue, drops]
    }

    /// From values in the order of [`QUANTITIES`], of so many RPCs.
    pub fn of(v: [f64; 8], calls: usize) -> Self {
        let [goodput, fairness, latency, p90, p95, p99, queue, drops] = v;
        Self { goodput, fairness, latency, p90, p95, p99, queue, drops, calls }
    }

    /// RPCs beyond the percentile that a quantity is; `None` if it is none.
    pub fn beyond(&self, quantity: &str) -> Option<usize> {
        let percent: u32 = quantity.strip_prefix('p')?.parse().ok()?;
        Some(beyond(self.calls, percent * 100))
    }

    /// The mean of several columns, number by number.
    pub fn mean(columns: &[Self]) -> Self {
        let values: Vec<[f64; 8]> = columns.iter().map(Self::values).collect();
        let mean = |i| values.iter().map(|v: &[f64; 8]| v[i]).sum::<f64>() / values.len() as f64;
        // Each column has percentiles of its own, so the one with the fewest samples says how sure they are.
        let calls = columns.iter().map(|column| column.calls).min().unwrap_or(0);
        Self::of(std::array::from_fn(mean), calls)
    }
}

/// One cell of the experiment: a law and a number of flows.
pub(super) fn column(law: Law, flows: u32, settings: &Settings, quick: bool) -> Column {
    let (warm, end) = if quick { (0.2, 0.7) } else { (0.5, 3.5) };
    let (seen, goodputs) = seen(law, flows, settings, warm, end);
    read(&seen, &goodputs)
}

/// Payload of an RPC.
const RPC: u64 = 1_000_000;

/// A run, and what each host got in it.
fn seen(law: Law, flows: u32, settings: &Settings, warm: f64, end: f64) -> (BenchRun, Vec<f64>) {
    let every = if flows <= 32 { 20 } else { 100 };
    let probes = "connections = 8\nthink = { exponential = \"1ms\" }\n";
    let rounds = rounds(flows, RPC, end);
    let large = if settings.fresh {
        fresh(1..=flows, rounds, RPC)
    } else {
        rpcs(1..=flows, &format!("{RPC}B"), "")
    };
    let text = format!(
        "{}{}{large}{}[output]\nwarmup = \"{}ms\"\nqueues = {{ every = \"{every}us\", where = \"tor\" }}\n",
        star(flows + 2, settings.rtt_us, &format!("{}KB", settings.buffer_kb)),
        Stack::new(law, settings).text(),
        rpcs(flows + 1..=flows + 1, "1448B", probes),
        (warm * 1e3).round()
    );
    let seen = run_seed("tcp-nv-table", &text, settings.seed, warm, end);
    let goodputs = match settings.fresh {
        true => fresh_goodputs(&seen, flows, rounds),
        false => seen.goodputs(0),
    };
    (seen, goodputs)
}

fn read(seen: &BenchRun, goodputs: &[f64]) -> Column {
    let latencies = seen.latencies(1);
    let percentile = |percent| latencies[nearest_rank(latencies.len(), percent)];
    Column {
        goodput: goodputs.iter().sum(),
        fairness: jain(goodputs).unwrap_or(0.0),
        latency: mean(&latencies),
        p90: percentile(90),
        p95: percentile(95),
        p99: percentile(99),
        queue: seen.mean_queue(PORT),
        drops: seen.dropped_and_sent(PORT).0 / seen.seconds(),
        calls: latencies.len(),
    }
}
