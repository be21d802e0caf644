//! Homa (SIGCOMM 2018): how long short messages take under its five workloads, and what waits at the ports to hosts.
//!
//! The readings stand at the top of `validation/homa/rows.toml`.

use crate::bench::{Times, mean, run_looking};
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::order::{Samples, beyond};
use forebay_scenario::cdf;
use forebay_sim::Inspection;
use forebay_units::Time;
use std::sync::Mutex;

/// One of the paper's workloads.
struct Workload {
    id: &'static str,
    sizes: &'static str,
    /// Payload of all bytes on the wire, grants included.
    payload: f64,
    /// Seconds of arrivals in a whole run.
    arrivals: f64,
    /// Most bytes of a short message.
    short: u64,
}

const WORKLOADS: [Workload; 5] = [
    Workload {
        id: "w1",
        sizes: "homa_w1_fb_keyvalue",
        payload: 0.657,
        arrivals: 1e-3,
        short: 1_000,
    },
    Workload {
        id: "w2",
        sizes: "homa_w2_google_search",
        payload: 0.796,
        arrivals: 2e-3,
        short: 1_000,
    },
    Workload {
        id: "w3",
        sizes: "homa_w3_google_all",
        payload: 0.887,
        arrivals: 4e-3,
        short: 1_000,
    },
    Workload {
        id: "w4",
        sizes: "homa_w4_fb_hadoop",
        payload: 0.898,
        arrivals: 20e-3,
        short: 1_000,
    },
    Workload {
        id: "w5",
        sizes: "homa_w5_websearch_dctcp",
        payload: 0.898,
        arrivals: 60e-3,
        short: 1_460,
    },
];

/// Part of the wire that is used.
const LOAD: f64 = 0.8;

/// Instants at which queues are looked at.
const LOOKS: u32 = 50;

/// What one workload showed.
struct WorkloadResult {
    id: &'static str,
    /// Seconds that short messages took, and slowdowns of the shorter half.
    short: Vec<f64>,
    slowdowns: Vec<f64>,
    unfinished: usize,
    /// Bytes at the ports to hosts: mean over ports and instants, and the most at one of them.
    queue: f64,
    longest: f64,
}

/// Runs all rows, for a tenth of the time if `quick`.
pub(crate) fn measure(cores: &Cores<'_>, quick: bool) -> MeasuredRows {
    let found: Mutex<Vec<WorkloadResult>> = Mutex::new(Vec::new());
    let calls = WORKLOADS.iter().rev().map(|workload| {
        let found = &found;
        move || {
            let one = one(workload, if quick { 0.1 } else { 1.0 });
            found.lock().expect("entering does not panic").push(one);
        }
    });
    cores.call(calls.collect());
    let mut measured = MeasuredRows::new();
    let found = found.into_inner().expect("every worker has ended");
    for one in &found {
        let remark = format!("{} messages not done", one.unfinished);
        let mut tail = |id: &str, values: &[f64], scale: f64| {
            let value = Samples::new(values.to_vec()).percentile(9_900).value * scale;
            let id = format!("{id}-{}", one.id);
            measured.insert_tail(id, value, beyond(values.len(), 9_900), remark.clone());
        };
        tail("short-rpc", &one.short, 2e6);
        tail("slowdown", &one.slowdowns, 1.0);
    }
    let most = |of: fn(&WorkloadResult) -> f64| found.iter().map(of).fold(0.0, f64::max) / 1e3;
    let least = found.iter().map(|one| one.queue).fold(f64::MAX, f64::min) / 1e3;
    measured.insert("queue-mean-least", least);
    measured.insert("queue-mean-most", most(|one| one.queue));
    measured.insert("queue-max", most(|one| one.longest));
    measured
}

fn text(workload: &Workload, arrivals: f64) -> String {
    format!(
        "[fabric]\nkind = \"leaf-spine\"\nleaves = 9\nspines = 4\nhosts_per_leaf = 16\nwire_overhead = \"38B\"\nrouting = \"spray\"\n\
         host_link = {{ rate = \"10Gbps\", delay = \"500ns\" }}\nfabric_link = {{ rate = \"40Gbps\", delay = \"250ns\" }}\n\
         [fabric.switch]\nclasses = 8\nbuffer = \"none\"\n[host]\nnic = \"srpt\"\n\
         [transport]\nkind = \"receiver-driven\"\nlaw = \"homa\"\nmss = \"1460B\"\nheader = \"40B\"\nwindow = \"9700B\"\nack_class = 7\n\
         [[traffic]]\nkind = \"poisson\"\nsizes = \"{}\"\nload = {}\nuntil = \"{}us\"\n",
        workload.sizes,
        LOAD * workload.payload,
        arrivals * 1e6
    )
}

fn one(workload: &Workload, part: f64) -> WorkloadResult {
    let arrivals = workload.arrivals * part;
    let times = Times::by_flows(0.1 * arrivals, 3.0 * arrivals);
    let at = (1..=LOOKS).map(|i| {
        let share = 0.1 + 0.9 * f64::from(i) / f64::from(LOOKS);
        Time::from_ps((share * arrivals * 1e12) as u64)
    });
    let mut queues = Vec::new();
    let seen = run_looking("homa", &text(workload, arrivals), 1, times, at, |seen| {
        queues.extend(down(seen));
    });
    let sizes = cdf::by_name(workload.sizes).expect("it is packaged");
    let half = sizes.sample(0.5).get();
    let (mut short, mut slowdowns) = (Vec::new(), Vec::new());
    let warm = Time::from_ps((0.1 * arrivals * 1e12) as u64);
    for flow in seen.record.flows.iter().filter(|flow| flow.start >= warm) {
        let took = flow.fct().unwrap_or_else(|| seen.record.end.since(flow.start));
        let (size, seconds) = (flow.size.get(), took.as_secs_f64());
        if size <= workload.short {
            short.push(seconds);
        }
        if size <= half {
            slowdowns.push(seconds / flow.ideal.as_secs_f64());
        }
    }
    let to_hosts = seen.record.ports.iter().filter(|port| seen.record.hosts.contains(&port.peer));
    WorkloadResult {
        id: workload.id,
        short,
        slowdowns,
        unfinished: seen.record.flows.iter().filter(|flow| flow.delivered.is_none()).count(),
        queue: mean(&queues),
        longest: to_hosts.map(|port| port.max_queue.get()).max().unwrap_or(0) as f64,
    }
}

/// Queues of the ports to hosts.
fn down(seen: &Inspection) -> impl Iterator<Item = f64> {
    let hosts = seen.hosts.len() as u32;
    seen.ports.iter().filter(move |port| port.peer < hosts).map(|port| port.queue as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_is_a_scenario_whose_short_messages_exist() {
        for workload in &WORKLOADS {
            let text =
                format!("version = 1\nstop = {{ time = \"1ms\" }}\n{}", text(workload, 1e-3));
            forebay_scenario::text("x", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let sizes = cdf::by_name(workload.sizes).unwrap();
            assert!(sizes.sample(0.001).get() <= workload.short, "{}", workload.id);
        }
    }
}
