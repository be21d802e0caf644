//! ExpressPass (SIGCOMM 2017): how soon a second flow has its share beside DCTCP, and what credits imply for many flows.
//!
//! The readings stand at the top of `validation/expresspass/rows.toml`.

use crate::bench::{BenchRun, mean, run, run_looking};
use crate::jobs::{Cores, Job};
use crate::measured::MeasuredRows;
use forebay_sim::Inspection;
use forebay_units::Time;

/// Base round trip, s: the span over which shares are taken.
const ROUND_TRIP: f64 = 100e-6;

/// Spans in a row whose mean share has to be even, and how far from a half it may be.
const SPANS: usize = 10;
const EVEN: f64 = 0.05;

/// Flows into one port.
const FLOWS: [u32; 3] = [4, 16, 64];

/// What gives flows their rates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scheme {
    ExpressPass,
    Dctcp,
}

impl Scheme {
    /// Second at which the second flow starts, and for how many more the run lasts.
    fn times(self) -> (f64, f64) {
        match self {
            Self::ExpressPass => (5e-3, 20e-3),
            Self::Dctcp => (50e-3, 250e-3),
        }
    }

    /// Switches and hosts.
    fn text(self) -> &'static str {
        match self {
            Self::ExpressPass => {
                "routing = \"ecmp-symmetric\"\n[fabric.switch]\nclasses = 2\necn = \"off\"\n\
                 credits = { class = 1, share = \"84/1622\", burst = \"168B\", limit = \"168B\" }\n\
                 [transport]\nkind = \"receiver-driven\"\nlaw = \"expresspass\"\nparams = { w_init = 0.5 }\nack_size = \"46B\"\n"
            }
            Self::Dctcp => {
                "[fabric.switch]\necn = { k = \"65 packets\" }\n\
                 [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n"
            }
        }
    }
}

/// Seeds of the rows of the second flow.
const SEEDS: u64 = 5;

/// Runs all rows: a second of CPU, so that a quick run is no shorter.
pub(crate) fn measure(cores: &Cores<'_>) -> MeasuredRows {
    let jobs: Vec<Job> = vec![Box::new(convergence), Box::new(many)];
    cores.run(jobs)
}

/// A dumbbell of 10 Gb/s with `left` senders and `right` receivers.
fn dumbbell(scheme: Scheme, left: u32, right: u32, rest: &str) -> String {
    format!(
        "[fabric]\nkind = \"dumbbell\"\nleft = {left}\nright = {right}\nwire_overhead = \"38B\"\n\
         host_link = {{ rate = \"10Gbps\", delay = \"2500ns\" }}\nbottleneck = {{ rate = \"10Gbps\", delay = \"45us\" }}\n\
         {}mss = \"1460B\"\nheader = \"40B\"\n[[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\n{rest}",
        scheme.text()
    )
}

/// Enters the rows of the second flow.
fn convergence(measured: &mut MeasuredRows) {
    let times = |scheme| -> Vec<f64> { (1..=SEEDS).map(|seed| converged(scheme, seed)).collect() };
    let (ours, theirs) = (times(Scheme::ExpressPass), times(Scheme::Dctcp));
    let said = |all: &[f64]| {
        let each: Vec<String> = all.iter().map(|s| format!("{:.1}", s * 1e3)).collect();
        each.join(", ")
    };
    let remark = format!("by seed: {} ms; DCTCP {} ms", said(&ours), said(&theirs));
    let ratio = mean(&theirs) / mean(&ours);
    measured.insert_saying("convergence-over-dctcp", ratio, remark.clone());
    measured.insert_saying("convergence-round-trips", mean(&ours) / ROUND_TRIP, remark);
}

/// Seconds until two flows have even shares; those of the whole run if they never have.
fn converged(scheme: Scheme, seed: u64) -> f64 {
    let (second, more) = scheme.times();
    let rest = format!("to = \"right.host[*]\"\nstagger = \"{}us\"\n", second * 1e6);
    let text = dumbbell(scheme, 2, 2, &rest);
    let spans = (more / ROUND_TRIP).round() as u64;
    let start = (second * 1e12).round() as u64;
    let at = (0..=spans).map(|i| Time::from_ps(start + i * (ROUND_TRIP * 1e12).round() as u64));
    let mut sent: Vec<[u64; 2]> = Vec::new();
    let times = (second, second + more);
    run_looking("expresspass", &text, seed, times, at, |seen| {
        sent.push([0, 1].map(|i| nic(seen, i)))
    });
    let shares: Vec<f64> = sent.windows(2).map(|two| share(two[0], two[1])).collect();
    let even = |shares: &[f64]| (mean(shares) - 0.5).abs() <= EVEN;
    shares.windows(SPANS).position(even).map_or(more, |i| ROUND_TRIP * i.max(1) as f64)
}

/// Part of the second sender in what both sent between two instants.
fn share(before: [u64; 2], after: [u64; 2]) -> f64 {
    let sent = [0, 1].map(|i| (after[i] - before[i]) as f64);
    sent[1] / (sent[0] + sent[1])
}

/// Bytes that the NIC of a host has sent.
fn nic(seen: &Inspection, host: u32) -> u64 {
    let port = seen.ports.iter().find(|port| port.node == host);
    port.expect("every host has a cable").counters.tx_bytes
}

/// Enters the rows of a lone flow and of many into one port.
fn many(measured: &mut MeasuredRows) {
    let alone = into_one(1);
    measured.insert("goodput-alone", goodput(&alone, 1));
    for flows in FLOWS {
        let seen = into_one(flows);
        let sent = |i| (nic(&seen.after, i) - nic(&seen.before, i)) as f64;
        let sent: Vec<f64> = (0..flows).map(sent).collect();
        let squares: f64 = sent.iter().map(|x| x * x).sum();
        let jain = sent.iter().sum::<f64>().powi(2) / (f64::from(flows) * squares);
        measured.insert(format!("drops-{flows}"), seen.lost());
        measured.insert(format!("goodput-{flows}"), goodput(&seen, flows) / goodput(&alone, 1));
        measured.insert(format!("jain-{flows}"), jain);
    }
}

/// Endless flows from as many hosts to one.
fn into_one(flows: u32) -> BenchRun {
    let text = dumbbell(Scheme::ExpressPass, flows, 1, "to = \"right.host[0]\"\n");
    run("expresspass", &text, 5e-3, 20e-3)
}

/// Payload per second that reaches a host, Gb/s.
fn goodput(seen: &BenchRun, host: u32) -> f64 {
    let delivered = |seen: &Inspection| seen.hosts[host as usize].delivered_bytes as f64;
    (delivered(&seen.after) - delivered(&seen.before)) * 8e-9 / seen.seconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_what_both_sent_since() {
        assert_eq!(share([100, 0], [400, 100]), 0.25);
    }

    #[test]
    fn both_schemes_are_scenarios() {
        for scheme in [Scheme::ExpressPass, Scheme::Dctcp] {
            let rest = "to = \"right.host[*]\"\nstagger = \"5000us\"\n";
            let text = format!(
                "version = 1\nstop = {{ time = \"1ms\" }}\n{}",
                dumbbell(scheme, 2, 2, rest)
            );
            forebay_scenario::text("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        }
    }
}
