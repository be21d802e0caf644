//! Long flows at rest: shares, queues and marks.

use super::setup::{LINE, Law, PORT, Setup, long};
use crate::bench::{BenchRun, mean, run};
use crate::measured::MeasuredRows;
use crate::order::Samples;
use forebay_record::jain;

/// Long flows that begin together or one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongFlows {
    pub figure: &'static str,
    pub flows: u32,
    pub stagger_ms: u32,
}

pub(super) const RESTS: [LongFlows; 4] = [
    LongFlows { figure: "two", flows: 2, stagger_ms: 0 },
    LongFlows { figure: "staggered-2", flows: 2, stagger_ms: 2 },
    LongFlows { figure: "staggered-4", flows: 4, stagger_ms: 2 },
    LongFlows { figure: "eight", flows: 8, stagger_ms: 0 },
];

impl LongFlows {
    pub fn part(self) -> &'static str {
        self.figure.split('-').next().unwrap_or(self.figure)
    }

    pub fn setup(self, law: Law) -> Setup {
        Setup::new(law, self.flows, long(self.flows, self.stagger_ms))
    }
}

/// Seconds of a run, and of the part before what counts.
pub(super) const SPAN: (f64, f64) = (40e-3, 60e-3);

/// Measures one law; returns how many packets were lost.
pub(super) fn measure(law: Law, rest: LongFlows, measured: &mut MeasuredRows) -> f64 {
    let (figure, name) = (rest.figure, law.name());
    let setup = Setup { every: Some("1us"), ..rest.setup(law) };
    let seen = run("rdma", &setup.text(), SPAN.0, SPAN.1);
    let rates = rates(&seen);
    measured.insert(format!("{figure}-{name}-jain"), jain(&rates).unwrap_or(0.0));
    if rest.figure == "staggered-2" {
        if law == Law::Timely {
            plain_timely(rest, measured);
        }
        return seen.lost();
    }
    measured.insert(format!("{figure}-{name}-share"), share(&seen));
    let queue = queue(&seen);
    measured.insert(format!("{figure}-{name}-queue"), mean(queue.values()));
    if law == Law::Dctcp {
        let amplitude = queue.percentile(9_900).value - queue.percentile(100).value;
        measured.insert(format!("{figure}-{name}-amplitude"), amplitude);
    }
    if law == Law::Dcqcn {
        measured.insert(format!("{figure}-{name}-marks"), marks(&seen));
    }
    if law == Law::PowerTcp {
        bounded_power(rest, measured);
    }
    seen.lost()
}

/// PowerTCP with the bound of its public code on what comes in.
fn bounded_power(rest: LongFlows, measured: &mut MeasuredRows) {
    let params =
        Some("params = { form = \"int\", gamma = 0.9, flows = 10, least_current = 0.5 }\n");
    let setup = Setup { every: Some("1us"), params, ..rest.setup(Law::PowerTcp) };
    let seen = run("rdma", &setup.text(), SPAN.0, SPAN.1);
    let figure = rest.figure;
    let jain = jain(&rates(&seen)).unwrap_or(0.0);
    measured.insert(format!("{figure}-powertcp-jain-bounded"), jain);
    measured.insert(format!("{figure}-powertcp-share-bounded"), share(&seen));
    measured.insert(format!("{figure}-powertcp-queue-bounded"), mean(queue(&seen).values()));
}

fn plain_timely(rest: LongFlows, measured: &mut MeasuredRows) {
    let params = Some("params = { form = \"plain\", delta = \"100Mbps\" }\n");
    let setup = Setup { params, ..rest.setup(Law::Timely) };
    let seen = run("rdma", &setup.text(), SPAN.0, SPAN.1);
    let rates = rates(&seen);
    let ratio = rates[0] / rates[1];
    measured.insert("staggered-2-timely-plain-gap", ratio.max(1.0 / ratio));
}

/// The queue of patched TIMELY grows with the number of flows.
pub(super) fn timely_line(measured: &mut MeasuredRows) {
    let queue = |figure: &str| measured.number(&format!("{figure}-timely-queue"));
    let all = (queue("two"), queue("staggered-4"), queue("eight"));
    if let (Some(two), Some(four), Some(eight)) = all {
        measured.insert("timely-queue-linear", (eight - two) / (four - two));
    }
}

/// One flow alone.
pub(super) fn lone(law: Law, measured: &mut MeasuredRows) -> f64 {
    let setup = Setup::new(law, 1, long(1, 0));
    let seen = run("rdma", &setup.text(), SPAN.0, SPAN.1);
    measured.insert(format!("lone-{}-share", law.name()), share(&seen));
    seen.lost()
}

/// The setting of DCQCN's own paper.
pub(super) fn published_dcqcn(measured: &mut MeasuredRows) {
    let mut above = Vec::new();
    for flows in [2u32, 4, 8, 10] {
        let setup = Setup { every: Some("1us"), ..Setup::new(Law::Dcqcn, flows, long(flows, 0)) };
        let text = setup.text().replace("100Gbps", "40Gbps");
        let text = text.replace("header = \"48B\"\n", "header = \"48B\"\nmss = \"952B\"\n");
        let seen = run("rdma", &text, 100e-3, 200e-3);
        let queue = mean(queue(&seen).values());
        measured.insert(format!("dcqcn40-{flows}-marks"), marks(&seen));
        measured.insert(format!("dcqcn40-{flows}-queue"), queue);
        above.push(queue - KMIN);
        if flows == 4 {
            measured.insert("dcqcn40-jain", jain(&rates(&seen)).unwrap_or(0.0));
        }
    }
    if let [two, .., ten] = above[..] {
        measured.insert("dcqcn40-growth", (ten / two).ln() / 5f64.ln());
    }
}

/// Where marks begin, KB.
const KMIN: f64 = 5.0;

/// Payload acknowledged per second by each flow in the measured part.
fn rates(seen: &BenchRun) -> Vec<f64> {
    let acked = |flow: u32| seen.before.senders.iter().find(|s| s.flow == flow).map(|s| s.acked);
    let each = seen.after.senders.iter();
    each.map(|s| (s.acked - acked(s.flow).unwrap_or(0)) as f64 / seen.seconds()).collect()
}

/// Rate of the receiver's port over its line rate.
fn share(seen: &BenchRun) -> f64 {
    seen.sent_bytes(PORT) * 8.0 / (LINE * seen.seconds())
}

/// Per cent of the data packets at the receiver's port.
fn marks(seen: &BenchRun) -> f64 {
    let (marked, sent) = seen.marked_and_sent(PORT);
    marked / sent * 100.0
}

/// Samples of the receiver's queue in the measured part, KB.
fn queue(seen: &BenchRun) -> Samples {
    let series = seen.series(&format!("{PORT} queue")).expect("it is sampled");
    Samples::new(seen.measured(series).map(|(_, bytes)| bytes / 1e3).collect())
}
