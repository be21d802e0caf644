//! The summary of a run: what `summary.json` holds, with units in the names and stable keys.
//!
//! Statistics of flows are taken within each seed first and then averaged across seeds, so that a
//! confidence interval speaks of independent simulations. Counts are sums over seeds. Port
//! counters cover each whole simulation, warm-up included; flow statistics leave the warm-up out.

mod collective;
mod compute;
mod incast;
mod left;
mod memory;
mod rpc;
mod text;

pub use crate::stats::hex;
pub use collective::{COLLECTIVE_DEFINITION, CollectiveClass, CollectiveSummary};
pub use incast::{IncastClass, IncastSummary};
pub use left::{LeftFlows, ShutOut, UnfinishedFlows};
pub use memory::{HostMemory, Limits, MemorySummary};
pub use rpc::{Latency, RPC_DEFINITION, RpcClass, RpcSummary};

pub(crate) use compute::{FEW_FLOWS, class_bounds, class_name, in_class, measured};

/// What the sign beside a censored statistic says.
pub const CENSORED: &str = "leaves out unfinished flows or RPCs, more than 1 % of all";

/// Whether so many unfinished ones are left out of the statistics of a seed that its percentiles are not those of all.
fn is_censored(completed: u64, not_finished: u64) -> bool {
    not_finished * 100 > completed + not_finished
}

use crate::stats::{Estimate, mean, quantile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the layout of `summary.json`; a key that changes meaning raises it.
pub const SUMMARY_FORMAT: u32 = 1;

/// How the statistics of flows are defined; copied into every summary.
pub const FCT_DEFINITION: &str = "receiver-delivered: from the instant the application handed the flow over to the \
                                  instant the receiver had every byte in order; sender-acked values are given too";

/// How quantiles are defined; copied into every summary.
pub const QUANTILE_DEFINITION: &str = "nearest rank: of n sorted values the one at rank ceil(q*n), \
taken within each seed, then averaged across seeds";

/// What a run came to. Field order is key order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Layout version.
    pub format: u32,
    /// Title of the scenario.
    pub scenario: String,
    /// Version of the program.
    pub version: String,
    /// Laws in use, the scenario's own first.
    pub laws: Vec<String>,
    /// `complete`, `unfinished`, `interrupted` or `stalled`.
    pub status: Status,
    /// Seeds that were simulated, in order.
    pub seeds: Vec<u64>,
    /// Requested seeds that are not there.
    pub seeds_missing: Vec<u64>,
    /// One word for all seeds: the digest of the only one, or all of them mixed in order.
    pub digest: String,
    /// Which completion `fct` means.
    pub fct_definition: String,
    /// Which quantile the percentiles are.
    pub quantile_definition: String,
    /// Flows that arrived before this are left out of the statistics of flows.
    pub warmup_us: f64,
    /// Facts of each seed.
    pub runs: Vec<RunFacts>,
    /// Flows by outcome, summed over seeds.
    pub flows: FlowCounts,
    /// Flows that had not ended when the run did, and what they waited for; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<UnfinishedFlows>,
    /// All measured flows together.
    pub overall: FlowClass,
    /// Measured flows by size; empty classes are in `size_classes_absent`.
    pub size_classes: Vec<FlowClass>,
    /// Classes without a completed flow, and why.
    pub size_classes_absent: Vec<MissingResult>,
    /// Measured flows by `[[traffic]]` entry; empty if there is only one.
    pub traffic_classes: Vec<FlowClass>,
    /// Rounds of incasts; absent if no traffic entry makes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incast: Option<IncastSummary>,
    /// Collectives; absent if no traffic entry makes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<CollectiveSummary>,
    /// Measured RPCs; absent if no traffic entry makes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpc: Option<RpcSummary>,
    /// Paths to memory; absent if no host's is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySummary>,
    /// Drops, marks and repairs.
    pub network: Network,
    /// Whether what leaves unasked is not ECN-capable (`transport.selective_drop`), so that a rule that drops such packets drops that.
    #[serde(skip)]
    pub protects: bool,
    /// Utilisation of links by the tier they belong to.
    pub utilisation: Utilisation,
    /// Totals of ports by tier, in order of first appearance.
    pub tiers: Vec<Tier>,
}

/// Whether a run reached its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every seed ran to its own end, and every flow with an end and every collective has ended.
    #[default]
    Complete,
    /// Every seed ran to its own end, and some flows with an end or collectives had not ended by then.
    Unfinished,
    /// A seed was cut short or is missing.
    Interrupted,
    /// Every seed came to an end of its own, one of them because nothing moved any more though flows were unfinished.
    Stalled,
}

/// Facts of one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// The seed.
    pub seed: u64,
    /// Digest of every delivery and drop, 16 hex digits.
    pub digest: String,
    /// Virtual time at which it stopped.
    pub end_us: f64,
    /// Whether it was cut short.
    pub interrupted: bool,
    /// Whether it ended because nothing moved any more though flows were unfinished.
    #[serde(default)]
    pub stalled: bool,
    /// Packets whose transmission began, summed over links.
    pub packet_hops: u64,
}

/// Flows by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowCounts {
    /// In the flow tables.
    pub total: u64,
    /// Every byte in order at the receiver by the end.
    pub completed: u64,
    /// Started, of finite size, and not completed by the end.
    pub not_finished: u64,
    /// Of these, given up by their senders.
    #[serde(default)]
    pub given_up: u64,
    /// Had not started by the end.
    pub not_started: u64,
    /// Without an end by design.
    pub endless: u64,
    /// Of finite size and started before the warm-up ended: not in any statistic of flows.
    pub in_warmup: u64,
}

/// Statistics of a set of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowClass {
    /// Name for people: `all`, `10-100 KB`, `traffic[1] incast`.
    pub name: String,
    /// Sizes in the class are larger than this; `None`: no lower bound.
    pub above_bytes: Option<u64>,
    /// Sizes in the class are at most this; `None`: no upper bound.
    pub up_to_bytes: Option<u64>,
    /// Completed flows, summed over seeds.
    pub count: u64,
    /// Completed flows of the seed that has fewest: below 100 its 99th percentile is its largest value.
    pub fewest_per_seed: u64,
    /// Started and not completed: the statistics leave these out.
    pub not_finished: u64,
    /// Whether more than 1 % of the flows of some seed had not finished, so that no percentile is that of all flows.
    #[serde(default)]
    pub censored: bool,
    /// FCT over ideal FCT, by receiver-delivered FCT.
    pub slowdown: Distribution,
    /// Receiver-delivered FCT in microseconds.
    pub fct_us: Distribution,
    /// Slowdown by sender-acked FCT.
    pub slowdown_acked: Distribution,
    /// Sender-acked FCT in microseconds.
    pub fct_acked_us: Distribution,
    /// What to beware of.
    pub note: Option<String>,
}

/// A few numbers of a distribution, each across seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Mean.
    pub mean: Estimate,
    /// Median.
    pub p50: Estimate,
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
}

impl Distribution {
    /// Of values, a list for each seed.
    fn of(seeds: impl Iterator<Item = Vec<f64>>) -> Self {
        let sorted: Vec<Vec<f64>> = seeds
            .map(|mut values| {
                values.sort_by(f64::total_cmp);
                values
            })
            .collect();
        let across = |f: &dyn Fn(&[f64]) -> Option<f64>| {
            Estimate::new(sorted.iter().map(|values| f(values)).collect())
        };
        Self {
            mean: across(&mean),
            p50: across(&|values| quantile(values, 50)),
            p95: across(&|values| quantile(values, 95)),
            p99: across(&|values| quantile(values, 99)),
        }
    }
}

/// Something that is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingResult {
    /// What.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Drops, marks and repairs; counts summed over seeds, rates across seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Packets refused for lack of buffer.
    pub dropped_packets: u64,
    /// Dropped over offered (sent + dropped), at all ports.
    pub drop_rate: Estimate,
    /// Packets that got a congestion mark.
    pub marked_packets: u64,
    /// Marked over sent, at switch ports.
    pub mark_rate: Estimate,
    /// Packets that NICs dropped for want of room, at hosts whose path to memory is modelled.
    #[serde(default)]
    pub nic_dropped_packets: u64,
    /// Data packets that got a congestion mark at such hosts.
    #[serde(default)]
    pub host_marked_packets: u64,
    /// Packets lost to faults.
    pub lost_packets: u64,
    /// Lost over sent, at all ports.
    pub loss_rate: Estimate,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// Sent again per segment delivered.
    pub retransmit_rate: Estimate,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts per started flow.
    pub timeouts_per_flow: Estimate,
    /// Credits, grants and pulls that receivers sent as packets of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub credits_sent: u64,
    /// Credits, grants and pulls that arrived and released data.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub credits_used: u64,
    /// Data packets that came with an older credit than one before them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub credits_backward: u64,
    /// Segments delivered to receivers, duplicates included.
    pub delivered_segments: u64,
    /// Largest queue of any port in any seed.
    pub max_queue_bytes: u64,
    /// Where: `leaf[2]->leaf[2].host[0]`.
    pub max_queue_port: String,
    /// Pause frames sent, those that end a pause included.
    pub pause_frames: u64,
    /// Time for which ports were paused, all ports together.
    pub paused_us: f64,
    /// Pause time of the port that was paused longest in one seed.
    pub paused_most_us: f64,
    /// Which one; empty if none was.
    pub paused_most_port: String,
    /// Share of the run for which NICs of hosts that send were paused, mean over these hosts.
    #[serde(default)]
    pub paused_share: Estimate,
    /// Hosts that send, of the seed that has most.
    #[serde(default)]
    pub sending_hosts: u64,
    /// Of these, hosts whose NIC was paused at all.
    #[serde(default)]
    pub senders_paused: u64,
    /// Share of the run for which the NIC was paused that was paused longest, of the seed in which it was longest.
    #[serde(default)]
    pub paused_share_most: f64,
    /// Host of that NIC; empty if none was paused.
    #[serde(default)]
    pub paused_share_most_host: String,
    /// Nodes that paused others and were not paused themselves: where pauses began; those that paused most first.
    #[serde(default)]
    pub pause_origins: Vec<String>,
    /// Largest use of headroom of any ingress port in any seed.
    pub headroom_peak_bytes: u64,
    /// Packets refused although their ingress port pauses.
    pub lossless_drops: u64,
    /// Pauses of a class that a watchdog ended.
    #[serde(default)]
    pub watchdog_fired: u64,
    /// Packets that watchdogs dropped; among `dropped_packets`.
    #[serde(default)]
    pub watchdog_drops: u64,
    /// Counters of ports.csv over all ports and seeds: sums, but the largest of peaks.
    #[serde(default)]
    pub port_totals: BTreeMap<String, u64>,
    /// Payload handed to applications per second of virtual time, all hosts together.
    pub goodput_gbps: Estimate,
    /// Goodput per host, receiving or not.
    pub goodput_per_host_gbps: Estimate,
    /// Goodput per receiver: a host that some flow was sent to.
    #[serde(default)]
    pub goodput_per_receiver_gbps: Estimate,
    /// Receivers, of the seed that has most.
    #[serde(default)]
    pub receivers: u64,
    /// Payload of flows that arrived per second, between the first arrival after the warm-up and the last.
    #[serde(default)]
    pub offered_gbps: Estimate,
    /// Payload of flows that their receivers got, each flow's spread evenly over its duration, per second of that time. A flow that had not
    /// ended counts with what it had delivered.
    #[serde(default)]
    pub carried_gbps: Estimate,
    /// `offered_gbps` over the rates of all links from hosts.
    #[serde(default)]
    pub offered_load: Estimate,
    /// `carried_gbps` likewise.
    #[serde(default)]
    pub carried_load: Estimate,
    /// Virtual time before the first flow started: averages over the run have it in them.
    #[serde(default)]
    pub idle_us: f64,
    /// Packets whose transmission began, summed over links and seeds.
    pub packet_hops: u64,
}

/// Utilisation of links, the share of the run for which they transmitted, each direction its own link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Links with a host at either end.
    pub host_links: LinkUse,
    /// Links between switches.
    pub fabric_links: LinkUse,
    /// The busiest link of all in each seed.
    #[serde(default)]
    pub busiest: Estimate,
}

/// Utilisation of a set of links, as a fraction of 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Links in the set, per seed.
    pub links: u64,
    /// Mean over links.
    pub mean_utilisation: Estimate,
    /// Busiest link.
    pub max_utilisation: Estimate,
}

/// All ports from one kind of node to another, found by their names without indices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// `leaf -> spine`.
    pub name: String,
    /// Links, per seed.
    pub links: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets refused for lack of buffer.
    pub dropped_packets: u64,
    /// Packets lost to faults.
    pub lost_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Data packets whose payload was cut off.
    #[serde(default)]
    pub trimmed_packets: u64,
    /// Credits beyond the limit of their queue; not among `dropped_packets`.
    #[serde(default)]
    pub dropped_credits: u64,
    /// Dropped over offered (sent + dropped).
    pub drop_fraction: f64,
    /// Marked over sent.
    pub mark_fraction: f64,
    /// Mean utilisation of its links over all seeds, as a fraction of 1.
    pub utilisation_mean: f64,
    /// Utilisation of the busiest link in each seed, mean over seeds.
    pub utilisation_max: f64,
    /// Largest queue of any of its ports.
    pub max_queue_bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Summary {
    /// Sum of a counter of ports.csv over all ports and seeds.
    pub(crate) fn port_total(&self, counter: &str) -> u64 {
        self.network.port_totals.get(counter).copied().unwrap_or(0)
    }

    /// Credits, grants and pulls that released nothing and that no port dropped which meters them.
    pub fn wasted_credits(&self) -> u64 {
        let Network { credits_sent, credits_used, .. } = self.network;
        credits_sent.saturating_sub(credits_used + self.port_total("dropped_credits"))
    }

    /// The tier that counted most, and how much; `None` where none did or there is no other.
    pub(crate) fn most_at(&self, counts: fn(&Tier) -> u64) -> Option<(&str, u64)> {
        let most = self.tiers.iter().max_by_key(|tier| counts(tier))?;
        (self.tiers.len() > 1 && counts(most) > 0).then(|| (most.name.as_str(), counts(most)))
    }
}

/// A run's digests as one word: the only one, or all of them mixed in seed order.
pub fn combined_digest(digests: impl IntoIterator<Item = u64>) -> u64 {
    let mut digests = digests.into_iter();
    let first = digests.next().unwrap_or(0);
    digests.fold(first, |all, one| forebay_units::math::mix(all.rotate_left(1) ^ one))
}
