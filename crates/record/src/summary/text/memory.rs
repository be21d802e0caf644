//! Lines about paths to memory.

use super::{Line, Tone};
use crate::human::{bytes, count, gbps, percent, sig3};
use crate::rows::LIMITS;
use crate::stats::Estimate;
use crate::summary::memory::{HostMemory, MemorySummary};

/// Hosts that get lines of their own.
const HOSTS: usize = 4;

/// A few lines for each host, those that dropped most first; what is left is in the tables.
pub(super) fn lines(memory: &MemorySummary) -> Vec<Line> {
    let mut hosts: Vec<&HostMemory> = memory.hosts.iter().collect();
    hosts.sort_by_key(|host| std::cmp::Reverse(host.nic_dropped_packets));
    let more = hosts.len().saturating_sub(HOSTS);
    let mut lines: Vec<Line> = hosts.into_iter().take(HOSTS).flat_map(host).collect();
    if more > 0 {
        let rest = format!("and {more} more hosts with modelled memory, in memory.csv");
        lines.push(Line::new("").add(Tone::Faint, rest));
    }
    lines
}

fn value(estimate: &Estimate) -> f64 {
    estimate.mean.unwrap_or(0.0)
}

fn host(host: &HostMemory) -> Vec<Line> {
    let dropped = host.nic_dropped_packets;
    let tone = if dropped > 0 { Tone::Bad } else { Tone::Plain };
    let nic = Line::new("memory")
        .add(Tone::Strong, host.name.clone())
        .plain(format!("  {} to applications; ", gbps(value(&host.goodput_gbps))))
        .add(
            tone,
            format!(
                "NIC dropped {} of {} ({})",
                count(dropped),
                count(host.nic_arrived_packets),
                percent(value(&host.nic_drop_share)),
            ),
        )
        .plain(format!(", held {} at most", bytes(host.nic_buffer_peak_bytes)));
    let path = Line::new("").plain(format!(
        "PCIe {}, IIO {} lines, slots full {} of the time, writes wait {} ns",
        gbps(value(&host.pcie_gbps)),
        sig3(value(&host.iio_occupancy_lines)),
        percent(value(&host.slots_full_share)),
        sig3(value(&host.write_wait_ns)),
    ));
    let others = match value(&host.other_nics_gigabytes_per_s) {
        0.0 => String::new(),
        others => format!("other NICs {}, ", sig3(others)),
    };
    let mut traffic = Line::new("").plain(format!(
        "network {}, {others}antagonists {} GB/s",
        sig3(value(&host.network_gigabytes_per_s)),
        sig3(value(&host.antagonist_gigabytes_per_s)),
    ));
    let levels: Vec<String> = (0..)
        .zip(&host.level_shares)
        .filter(|(_, share)| value(share) > 0.0)
        .map(|(level, share)| format!("{level}: {}", percent(value(share))))
        .collect();
    if !levels.is_empty() {
        traffic = traffic.plain(format!("; level {}", levels.join(", ")));
    }
    if host.host_marked_packets > 0 {
        traffic = traffic.plain(format!("; {} marked", count(host.host_marked_packets)));
    }
    let mut lines = vec![nic, path, traffic, pace(host)];
    lines.extend(waits(host));
    lines.extend(cache(host));
    lines
}

/// What was in the cache, where receive buffers were followed.
fn cache(host: &HostMemory) -> Option<Line> {
    let states: Vec<String> = (1..)
        .zip(&host.cache_state_shares)
        .filter(|(_, share)| value(share) >= 0.0005)
        .map(|(state, share)| format!("S{state} {}", percent(value(share))))
        .collect();
    let not_ready = [
        (host.rnr_waited_frames, "waited for a receive buffer"),
        (host.rnr_refused_frames, "were refused without one"),
    ]
    .map(|(frames, fate)| match frames {
        0 => String::new(),
        _ => format!("; {} frames {fate}", count(frames)),
    });
    let entries = host.cache_miss_shares_by_traffic.iter().enumerate();
    let entries = entries.filter_map(|(i, share)| Some((i, share.mean?)));
    let of: Vec<String> =
        entries.map(|(i, share)| format!("traffic[{i}] {}", percent(share))).collect();
    let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
    (!states.is_empty()).then(|| {
        Line::new("").plain(format!(
            "cache: {} of reads missed{of}, {} of writes in place; {} of the time{}",
            percent(value(&host.cache_miss_share)),
            percent(value(&host.cache_in_place_share)),
            states.join(", "),
            not_ready.concat(),
        ))
    })
}

/// What senders waited for, where nothing in the host was it for a twentieth of the time or more.
fn waits(host: &HostMemory) -> Option<Line> {
    let waits = host.sender_wait_shares.longest_first();
    let shown = value(&host.limited_by_shares.senders) >= 0.05 && !waits.is_empty();
    let words = waits.iter().map(|(wait, share)| format!("{wait} {}", percent(*share)));
    let words: Vec<String> = words.collect();
    shown.then(|| Line::new("").plain(format!("senders waited for {}", words.join(", "))))
}

/// Bottleneck stages, longest first.
fn pace(host: &HostMemory) -> Line {
    let shares = host.limited_by_shares.in_order().map(value);
    let mut stages: Vec<(&str, f64)> = LIMITS.into_iter().zip(shares).collect();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = stages.iter().filter(|(_, share)| *share >= 0.0005);
    let words: Vec<String> =
        words.map(|(stage, share)| format!("{stage} {}", percent(*share))).collect();
    Line::new("").plain(format!("bottleneck: {}", words.join(", ")))
}
