//! Paths to memory in the summary: what each host took, dropped and waited for, and which stage was its bottleneck.

use crate::rows::{LIMITS, MemoryRow, RunRecord, WAITS};
use crate::stats::{Estimate, mean};
use serde::{Deserialize, Serialize};

/// All hosts whose path to memory is modelled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemorySummary {
    /// One entry for each, in canonical order.
    pub hosts: Vec<HostMemory>,
    /// Within each seed averaged over them; counts are sums.
    pub mean_over_hosts: HostMemory,
}

/// One host, or several together, after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostMemory {
    /// Name of the host; `all` for several.
    pub name: String,
    /// Payload that applications read, Gb/s.
    pub goodput_gbps: Estimate,
    /// What crossed PCIe, Gb/s.
    pub pcie_gbps: Estimate,
    /// Mean lines in IIO slots.
    pub iio_occupancy_lines: Estimate,
    /// Share of the time in which full slots held the NIC back.
    pub slots_full_share: Estimate,
    /// Mean wait of a write for admission to memory, ns.
    pub write_wait_ns: Estimate,
    /// Share of the time with packets in the NIC buffer.
    pub nic_backlog_share: Estimate,
    /// Packets that came, summed over seeds.
    pub nic_arrived_packets: u64,
    /// Of these, packets that the NIC dropped.
    pub nic_dropped_packets: u64,
    /// Share of packets that the NIC dropped.
    pub nic_drop_share: Estimate,
    /// Most bytes that the NIC buffer held in any seed, warm-up included.
    pub nic_buffer_peak_bytes: u64,
    /// Memory traffic of the network, GB/s.
    pub network_gigabytes_per_s: Estimate,
    /// Memory traffic of other NICs of the same machine, GB/s.
    pub other_nics_gigabytes_per_s: Estimate,
    /// Memory traffic of all antagonists, GB/s.
    pub antagonist_gigabytes_per_s: Estimate,
    /// Memory traffic by antagonist, GB/s; empty for several hosts.
    pub antagonists_gigabytes_per_s: Vec<Estimate>,
    /// Cores that ran the stack and copied.
    pub reader_cores: Estimate,
    /// Mean throttle level.
    pub mean_level: Estimate,
    /// Share of the time at each level.
    pub level_shares: Vec<Estimate>,
    /// Levels written, summed over seeds.
    pub level_writes: u64,
    /// Data packets marked at the host, summed over seeds.
    pub host_marked_packets: u64,
    /// Bottleneck stages.
    pub limited_by_shares: Limits,
    /// What senders of flows to the host waited for.
    pub sender_wait_shares: Waits,
    /// Share of the time in each state of the receive queue, S1 to S4; empty where its buffers are not followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_state_shares: Vec<Estimate>,
    /// Share of the buffers read that were not in the cache, by cause: evicted by a write of the NIC, evicted by a core, never there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_miss_shares: Vec<Estimate>,
    /// Share of the buffers read that were not in the cache; without a value where buffers are not followed.
    #[serde(default)]
    pub cache_miss_share: Estimate,
    /// Share of uncached buffers by `[[traffic]]` entry; empty unless cores read data of two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache_miss_shares_by_traffic: Vec<Estimate>,
    /// Share of the buffers written that were in the cache.
    #[serde(default)]
    pub cache_in_place_share: Estimate,
    /// Frames that waited in the NIC for a receive buffer, summed over seeds.
    #[serde(default)]
    pub rnr_waited_frames: u64,
    /// Frames that were refused for want of a receive buffer, summed over seeds.
    #[serde(default)]
    pub rnr_refused_frames: u64,
}

/// Shares of the time of flows to the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// The application had written nothing more.
    pub application: Estimate,
    /// The congestion window was full.
    pub congestion_window: Estimate,
    /// The receive window was.
    pub receive_window: Estimate,
    /// The pacing rate held the sender back.
    pub pacing: Estimate,
    /// The sender's NIC was busy with other flows.
    pub nic: Estimate,
    /// The switch had paused the sender's NIC (PFC).
    #[serde(default)]
    pub pause: Estimate,
}

impl Waits {
    /// What was waited for and for which share, longest first, as words in a sentence; nothing under a thousandth.
    pub fn longest_first(&self) -> Vec<(&'static str, f64)> {
        let words = WAITS.map(|word| match word {
            "congestion_window" => "congestion window",
            "receive_window" => "receive window",
            "pacing" => "pacing rate",
            "nic" => "sending NIC",
            "pause" => "pause (PFC)",
            other => other,
        });
        let shares = self.in_order().map(|share| share.mean.unwrap_or(0.0));
        let mut waits: Vec<_> = words.into_iter().zip(shares).collect();
        waits.retain(|(_, share)| *share >= 0.001);
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        waits
    }

    /// In the order of [`WAITS`].
    pub fn in_order(&self) -> [&Estimate; WAITS.len()] {
        [
            &self.application,
            &self.congestion_window,
            &self.receive_window,
            &self.pacing,
            &self.nic,
            &self.pause,
        ]
    }
}

/// Share of the time for which each stage was the bottleneck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// None in the host.
    pub senders: Estimate,
    /// Reading for applications.
    pub copying: Estimate,
    /// The PCIe link.
    pub pcie: Estimate,
    /// Too few IIO slots.
    pub slots: Estimate,
    /// A busy memory.
    pub memory: Estimate,
    /// Descriptors that the stack did not give.
    pub descriptors: Estimate,
}

impl Limits {
    /// In the order of [`LIMITS`].
    pub fn in_order(&self) -> [&Estimate; LIMITS.len()] {
        [&self.senders, &self.copying, &self.pcie, &self.slots, &self.memory, &self.descriptors]
    }
}

/// The paths to memory of a run; `None` if no host has one.
pub(super) fn summary(runs: &[RunRecord]) -> Option<MemorySummary> {
    let first = runs.iter().find(|run| !run.memory.is_empty())?;
    let name = |row: &MemoryRow| row.host.clone();
    let hosts = first.memory.iter().map(name);
    Some(MemorySummary {
        hosts: hosts.map(|host| of(host.clone(), runs, |row| row.host == host)).collect(),
        mean_over_hosts: HostMemory {
            antagonists_gigabytes_per_s: Vec::new(),
            ..of("all".into(), runs, |_| true)
        },
    })
}

/// The rows that `member` takes, as one.
fn of(name: String, runs: &[RunRecord], member: impl Fn(&MemoryRow) -> bool) -> HostMemory {
    let of_seeds: Vec<Vec<&MemoryRow>> =
        runs.iter().map(|run| run.memory.iter().filter(|row| member(row)).collect()).collect();
    let rows = || of_seeds.iter().flatten();
    let across = |value: &dyn Fn(&MemoryRow) -> f64| {
        let of_seed = |rows: &Vec<&MemoryRow>| {
            let measured = rows.iter().filter(|row| row.span.as_ps() > 0);
            mean(&measured.map(|row| value(row)).collect::<Vec<_>>())
        };
        Estimate::new(of_seeds.iter().map(of_seed).collect())
    };
    let listed = |list: fn(&MemoryRow) -> &[f64], scale: fn(&MemoryRow) -> f64| {
        let longest = rows().map(|row| list(row).len()).max().unwrap_or(0);
        let value = |i: usize| across(&|row| list(row).get(i).copied().unwrap_or(0.0) * scale(row));
        (0..longest).map(value).collect::<Vec<_>>()
    };
    let [senders, copying, pcie, slots, memory, descriptors] =
        std::array::from_fn(|i| across(&|row| row.limits[i]));
    let [application, congestion_window, receive_window, pacing, nic, pause] =
        std::array::from_fn(|i| across(&|row| row.sender_waits[i]));
    HostMemory {
        name,
        goodput_gbps: across(&MemoryRow::goodput_gbps),
        pcie_gbps: across(&MemoryRow::pcie_gbps),
        iio_occupancy_lines: across(&|row| row.occupancy),
        slots_full_share: across(&|row| row.full),
        write_wait_ns: across(&|row| row.wait_ns),
        nic_backlog_share: across(&|row| row.backlog),
        nic_arrived_packets: rows().map(|row| row.arrived).sum(),
        nic_dropped_packets: rows().map(|row| row.dropped).sum(),
        nic_drop_share: across(&MemoryRow::drop_share),
        nic_buffer_peak_bytes: rows().map(|row| row.most_buffered.get()).max().unwrap_or(0),
        network_gigabytes_per_s: across(&MemoryRow::network_gigabytes),
        other_nics_gigabytes_per_s: across(&MemoryRow::other_nics_gigabytes),
        antagonist_gigabytes_per_s: across(&MemoryRow::antagonist_gigabytes),
        antagonists_gigabytes_per_s: listed(|row| &row.antagonists, MemoryRow::gigabytes_of_a_line),
        reader_cores: across(&|row| row.reading),
        mean_level: across(&MemoryRow::mean_level),
        level_shares: listed(|row| &row.levels, |_| 1.0),
        level_writes: rows().map(|row| row.level_writes).sum(),
        host_marked_packets: rows().map(|row| row.marked).sum(),
        cache_state_shares: listed(|row| &row.cache_states, |_| 1.0),
        cache_miss_shares: listed(
            |row| &row.cache_misses,
            |row| 1.0 / row.cache_reads.max(1) as f64,
        ),
        cache_miss_share: if rows().any(|row| !row.cache_states.is_empty()) {
            across(&MemoryRow::miss_share)
        } else {
            Estimate::default()
        },
        cache_miss_shares_by_traffic: by_traffic(&of_seeds),
        cache_in_place_share: across(&|row| {
            row.cache_in_place as f64 / row.cache_writes.max(1) as f64
        }),
        rnr_waited_frames: rows().map(|row| row.rnr_waited).sum(),
        rnr_refused_frames: rows().map(|row| row.rnr_refused).sum(),
        limited_by_shares: Limits { senders, copying, pcie, slots, memory, descriptors },
        sender_wait_shares: Waits {
            application,
            congestion_window,
            receive_window,
            pacing,
            nic,
            pause,
        },
    }
}

/// For each entry of traffic the share of its buffers read that were not in the cache; a list only where cores read data of two.
fn by_traffic(of_seeds: &[Vec<&MemoryRow>]) -> Vec<Estimate> {
    let sum = |rows: &[&MemoryRow], list: fn(&MemoryRow) -> &[f64], i: usize| {
        rows.iter().filter_map(|row| list(row).get(i)).sum::<f64>()
    };
    let rows = || of_seeds.iter().flatten();
    let entries = rows().map(|row| row.cache_reads_of.len()).max().unwrap_or(0);
    let share = |rows: &Vec<&MemoryRow>, i: usize| {
        let reads = sum(rows, |row| &row.cache_reads_of, i);
        (reads > 0.0).then(|| sum(rows, |row| &row.cache_misses_of, i) / reads)
    };
    let of_entry = |i: usize| Estimate::new(of_seeds.iter().map(|rows| share(rows, i)).collect());
    let shares: Vec<Estimate> = (0..entries).map(of_entry).collect();
    if shares.iter().filter(|share| share.mean.is_some()).count() > 1 { shares } else { Vec::new() }
}
