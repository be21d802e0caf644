//! Hosts whose path to memory is modelled: where the time went, and what happened when.

mod bins;
mod diagram;
mod panels;
mod windows;

use super::Figure;
use crate::human::percent;
use crate::rows::{LIMITS, RunRecord};
use crate::summary::{HostMemory, Summary};

/// Zooming and read-outs of the panels.
pub(super) const SCRIPT: &str = include_str!("panels.js");

/// Hosts with a diagram, and hosts with panels: each of these takes up to 3 MB.
const DIAGRAMS: usize = 8;
const PANELS: usize = 3;

/// Diagrams and panels, those hosts first that dropped most.
pub(super) fn figures(summary: &Summary, runs: &[RunRecord]) -> Vec<Figure> {
    let Some(memory) = &summary.memory else { return Vec::new() };
    let mut hosts: Vec<&HostMemory> = memory.hosts.iter().collect();
    hosts.sort_by_key(|host| std::cmp::Reverse(host.nic_dropped_packets));
    let paths = hosts.iter().take(DIAGRAMS).filter_map(|host| path(host, hosts.len(), runs));
    let seeds = runs.len();
    let sampled = |host: &&HostMemory| {
        let name = &host.name;
        runs.iter().find(|run| run.memory_series.iter().any(|series| series.host == *name))
    };
    let panels = hosts.iter().filter_map(|host| over_time(host, sampled(host)?, seeds));
    paths.chain(panels.take(PANELS)).collect()
}

/// What is said where nothing was sampled; `None` if something was, or no host has such a path.
pub(super) fn hint(summary: &Summary, runs: &[RunRecord]) -> Option<&'static str> {
    let sampled = runs.iter().any(|run| !run.memory_series.is_empty());
    (summary.memory.is_some() && !sampled)
        .then_some("Hosts over time: no path to memory was sampled; set output.memory.")
}

fn path(host: &HostMemory, hosts: usize, runs: &[RunRecord]) -> Option<Figure> {
    let row = runs.iter().flat_map(|run| &run.memory).find(|row| row.host == host.name)?;
    let shares = host.limited_by_shares.in_order().map(|share| share.mean.unwrap_or(0.0));
    let (stage, most) =
        LIMITS.into_iter().zip(shares).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(("", 0.0));
    let verdict = match stage {
        "senders" => &senders(host),
        "copying" => "the bottleneck was reading for applications",
        "pcie" => "the bottleneck was the PCIe link",
        "slots" => "the bottleneck was too few IIO slots",
        "memory" => {
            "the bottleneck was a busy memory controller: writes held IIO slots, and these held PCIe"
        }
        _ => "the bottleneck was missing descriptors",
    };
    let of = if hosts > 1 { format!(" at {}", host.name) } else { String::new() };
    Some(Figure {
        id: "host-path".into(),
        title: format!("Where did the time go{of}?"),
        plot: diagram::draw(host, row),
        caption: format!(
            "{}, after the warm-up: for {} of the time {verdict}. The number and the colour of a stage show the share \
             of time in which it was the bottleneck: packets queued before it, and no later stage was the cause. Waits \
             of senders are shares of the time of their flows.",
            host.name,
            percent(most),
        ),
    })
}

/// What to say where nothing in the host is the bottleneck.
fn senders(host: &HostMemory) -> String {
    let waits = host.sender_wait_shares.longest_first();
    let of = waits.first().map_or(String::new(), |(wait, share)| {
        format!(", and senders mostly ({}) waited for the {wait}", percent(*share))
    });
    format!("nothing queued in the host{of}")
}

fn over_time(host: &HostMemory, run: &RunRecord, seeds: usize) -> Option<Figure> {
    let series = run.memory_series.iter().find(|series| series.host == host.name)?;
    let row = run.memory.iter().find(|row| row.host == host.name)?;
    if series.samples.is_empty() {
        return None;
    }
    let seed = if seeds > 1 { format!(" Seed {} only.", run.seed) } else { String::new() };
    Some(Figure {
        id: "host-over-time".into(),
        title: format!("{} over time", host.name),
        plot: panels::draw(series, row),
        caption: format!(
            "Each column shows the mean (line) and the range (shaded) of its samples, one sample each {}. Goodput is a \
             mean over 20 µs.{seed} Drag or use two fingers to zoom, double-click for the whole run. Keys: + and -, \
             Shift and arrows, 0. In long runs the page keeps every sample around drops and changes of level (the \
             buttons), and bins elsewhere. memory_series.csv has all samples.",
            series.every
        ),
    })
}
