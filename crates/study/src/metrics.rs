//! The numbers of a summary by name: for `[[expect]]`, for the tables of a sweep, for `forebay list metrics`.
//!
//! A statistic of flows is taken within each seed and averaged across seeds, as in `summary.json`.

use forebay_record::{
    CollectiveClass, Distribution, Estimate, FlowClass, HostMemory, Latency, RpcClass, Summary,
    Total, columns,
};

/// One number of a summary.
pub struct Metric {
    /// `flows.slowdown.p99`.
    pub name: String,
    /// What it is, with its unit.
    pub about: String,
    /// Whether it is of flows, so that `where` can choose among them.
    pub of_flows: bool,
    read: MetricReader,
}

enum MetricReader {
    Flows(OfClass, OfDistribution),
    Incasts(OfDistribution),
    Completions(OfDistribution),
    Collectives(OfCollectives),
    Rpcs(OfRpcs),
    /// Of RPCs, or of connections, of which none is left out.
    Tail(OfRpcClass, OfLatency, bool),
    Memory(OfMemory),
    Spread(Spread),
    Count(Count),
    /// A counter of ports, over all ports and seeds.
    Ports(&'static str),
}

type OfClass = fn(&FlowClass) -> &Distribution;
type OfDistribution = fn(&Distribution) -> &Estimate;
type OfCollectives = fn(&CollectiveClass) -> &Estimate;
type OfRpcs = fn(&RpcClass) -> &Estimate;
type OfRpcClass = fn(&RpcClass) -> &Latency;
type OfLatency = fn(&Latency) -> &Estimate;
type OfMemory = fn(&HostMemory) -> &Estimate;
type Spread = fn(&Summary) -> &Estimate;
type Count = fn(&Summary) -> f64;

/// A value, with its interval where there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    /// Mean across seeds, or the count itself.
    pub mean: Option<f64>,
    /// 95 % confidence interval of the mean.
    pub ci95: Option<[f64; 2]>,
    /// Whether it leaves out more than 1 % of the flows or RPCs, which had not finished.
    pub censored: bool,
    /// The value of each seed, in the order of seeds; empty of a count.
    pub per_seed: Vec<Option<f64>>,
}

impl Metric {
    /// Whether it has a value for each seed, and so an interval where there are enough of them.
    pub fn is_spread(&self) -> bool {
        !matches!(self.read, MetricReader::Count(_) | MetricReader::Ports(_))
    }

    /// Whether it is of collectives, so that `where` can choose among them.
    pub fn is_of_collectives(&self) -> bool {
        self.name.starts_with("collective.")
    }

    /// Value of the metric; no mean if there were no samples.
    pub fn value(&self, summary: &Summary) -> Value {
        let of = |e: &Estimate| Value {
            mean: e.mean,
            ci95: e.ci95,
            censored: false,
            per_seed: e.per_seed.clone(),
        };
        match self.read {
            MetricReader::Flows(class, statistic) => {
                let censored = summary.overall.censored;
                Value { censored, ..of(statistic(class(&summary.overall))) }
            }
            MetricReader::Incasts(statistic) => match &summary.incast {
                None => Value::default(),
                Some(incast) => {
                    let all = &incast.overall;
                    Value { censored: all.censored, ..of(statistic(&all.completion_us)) }
                }
            },
            MetricReader::Completions(statistic) => match &summary.collective {
                None => Value::default(),
                Some(all) => {
                    let all = &all.overall;
                    Value { censored: all.censored, ..of(statistic(&all.completion_us)) }
                }
            },
            MetricReader::Collectives(estimate) => match &summary.collective {
                None => Value::default(),
                Some(all) => {
                    let all = &all.overall;
                    Value { censored: all.censored, ..of(estimate(all)) }
                }
            },
            MetricReader::Rpcs(estimate) => {
                rpcs(summary).map_or(Value::default(), |r| of(estimate(r)))
            }
            MetricReader::Tail(latency, statistic, of_rpcs) => {
                rpcs(summary).map_or(Value::default(), |r| Value {
                    censored: r.censored && of_rpcs,
                    ..of(statistic(latency(r)))
                })
            }
            MetricReader::Memory(estimate) => match &summary.memory {
                Some(memory) => of(estimate(&memory.mean_over_hosts)),
                None => Value::default(),
            },
            MetricReader::Spread(estimate) => of(estimate(summary)),
            MetricReader::Ports(name) => {
                let total = summary.network.port_totals.get(name);
                Value { mean: total.map(|total| *total as f64), ..Value::default() }
            }
            MetricReader::Count(count) => Value { mean: Some(count(summary)), ..Value::default() },
        }
    }
}

fn rpcs(summary: &Summary) -> Option<&RpcClass> {
    summary.rpc.as_ref().map(|rpc| &rpc.overall)
}

/// `traffic[2]` of the name of a class of flows or collectives.
pub(crate) fn traffic_entry(class: &str) -> &str {
    class.split(' ').next().unwrap_or_default()
}

type NamedMetric<T> = (&'static str, &'static str, T);

const DISTRIBUTIONS: [NamedMetric<OfClass>; 4] = [
    ("slowdown", "FCT over ideal FCT, receiver-delivered", |c| &c.slowdown),
    ("fct_us", "FCT in microseconds, receiver-delivered", |c| &c.fct_us),
    ("slowdown_acked", "FCT over ideal FCT, sender-acked", |c| &c.slowdown_acked),
    ("fct_acked_us", "FCT in microseconds, sender-acked", |c| &c.fct_acked_us),
];

const STATISTICS: [NamedMetric<OfDistribution>; 4] = [
    ("mean", "mean", |d| &d.mean),
    ("p50", "median", |d| &d.p50),
    ("p95", "95th percentile", |d| &d.p95),
    ("p99", "99th percentile", |d| &d.p99),
];

const COLLECTIVES: [NamedMetric<OfCollectives>; 3] = [
    ("algbw_gbps", "size of a collective over its completion time, Gb/s", |c| &c.algbw_gbps),
    ("busbw_gbps", "bus bandwidth of collectives, Gb/s", |c| &c.busbw_gbps),
    ("wait_us", "wait of ranks that have their data for the last rank, microseconds", |c| {
        &c.wait_us
    }),
];

const COLLECTIVE_COUNTS: [NamedMetric<Count>; 2] = [
    ("collective.completed", "collectives that completed, over all seeds", |s| {
        s.collective.as_ref().map_or(0.0, |c| c.overall.count as f64)
    }),
    (
        "collective.not_finished",
        "collectives begun after the warm-up that had not ended by the end",
        |s| s.collective.as_ref().map_or(0.0, |c| c.overall.not_finished as f64),
    ),
];

const RPC_DISTRIBUTIONS: [NamedMetric<OfRpcClass>; 3] = [
    ("latency_us", "latency of RPCs in microseconds", |r| &r.latency_us),
    ("latency_over_ideal", "latency of RPCs over ideal latency", |r| &r.latency_over_ideal),
    ("connection_goodput_gbps", "goodput of connections, both ways, Gb/s", |r| {
        &r.connection_goodput_gbps
    }),
];

const TAIL: [NamedMetric<OfLatency>; 8] = [
    ("mean", "mean", |l| &l.mean),
    ("min", "smallest", |l| &l.min),
    ("p50", "median", |l| &l.p50),
    ("p90", "90th percentile", |l| &l.p90),
    ("p95", "95th percentile", |l| &l.p95),
    ("p99", "99th percentile", |l| &l.p99),
    ("p999", "99.9th percentile", |l| &l.p999),
    ("max", "largest", |l| &l.max),
];

const RPC_SPREADS: [NamedMetric<OfRpcs>; 7] = [
    ("rpc.request_goodput_gbps", "payload of requests delivered, Gb/s", |r| {
        &r.request_goodput_gbps
    }),
    ("rpc.response_goodput_gbps", "payload of responses delivered, Gb/s", |r| {
        &r.response_goodput_gbps
    }),
    ("rpc.rpcs_per_s", "RPCs completed per second of virtual time", |r| &r.rpcs_per_s),
    ("rpc.jain_fairness", "Jain's index of the goodput of connections", |r| &r.jain_fairness),
    ("rpc.credit_limit", "credits that a connection with a pool may hold at the end, lines", |r| {
        some(&r.credit_limit)
    }),
    ("rpc.blocked_share", "share of requests that waited for credits, warm-up included", |r| {
        some(&r.blocked_share)
    }),
    ("rpc.blocked_us", "mean wait for credits of the requests that waited, in microseconds", |r| {
        some(&r.blocked_us)
    }),
];

const RPC_COUNTS: [NamedMetric<Count>; 2] = [
    ("rpc.completed", "RPCs that completed, over all seeds", |s| {
        s.rpc.as_ref().map_or(0.0, |r| (r.issued - r.not_completed) as f64)
    }),
    ("rpc.not_completed", "RPCs under way at the end", |s| {
        s.rpc.as_ref().map_or(0.0, |r| r.not_completed as f64)
    }),
];

const FLOW_COUNTS: [NamedMetric<Count>; 7] = [
    ("flows.started", "flows with an end that started, over all seeds", |s| {
        (s.flows.completed + s.flows.not_finished) as f64
    }),
    ("flows.not_finished_share", "share of started flows with an end that did not complete", |s| {
        let started = s.flows.completed + s.flows.not_finished;
        s.flows.not_finished as f64 / started.max(1) as f64
    }),
    ("flows.completed", "flows that completed, over all seeds", |s| s.flows.completed as f64),
    ("flows.not_finished", "flows that started and did not complete", |s| {
        s.flows.not_finished as f64
    }),
    ("flows.given_up", "flows that did not complete because their senders gave up", |s| {
        s.flows.given_up as f64
    }),
    ("flows.total", "flows in the flow tables", |s| s.flows.total as f64),
    ("flows.not_started", "flows that had not started by the end", |s| s.flows.not_started as f64),
];

/// Of hosts whose path to memory is modelled; means over these.
const MEMORY: [NamedMetric<OfMemory>; 33] = [
    ("goodput_gbps", "payload that applications of a host read, Gb/s", |m| &m.goodput_gbps),
    ("pcie_gbps", "what crossed PCIe, Gb/s", |m| &m.pcie_gbps),
    ("iio_occupancy", "lines in IIO slots", |m| &m.iio_occupancy_lines),
    ("slots_full_share", "share of time in which full IIO slots held the NIC back", |m| {
        &m.slots_full_share
    }),
    ("write_wait_ns", "wait of writes for admission to memory, ns", |m| &m.write_wait_ns),
    ("nic_backlog_share", "share of time with packets in the NIC buffer", |m| &m.nic_backlog_share),
    ("nic_drop_share", "share of arriving packets that the NIC dropped", |m| &m.nic_drop_share),
    ("network_gigabytes_per_s", "memory traffic of the network, GB/s", |m| {
        &m.network_gigabytes_per_s
    }),
    ("other_nics_gigabytes_per_s", "memory traffic of other NICs of the machine, GB/s", |m| {
        &m.other_nics_gigabytes_per_s
    }),
    ("antagonist_gigabytes_per_s", "memory traffic of antagonists, GB/s", |m| {
        &m.antagonist_gigabytes_per_s
    }),
    ("reader_cores", "cores that ran the stack and copied", |m| &m.reader_cores),
    ("mean_level", "throttle level", |m| &m.mean_level),
    ("limited_by.senders", "share of time in which nothing queued in the host", |m| {
        &m.limited_by_shares.senders
    }),
    (
        "limited_by.copying",
        "share of time in which the bottleneck was reading for applications",
        |m| &m.limited_by_shares.copying,
    ),
    ("limited_by.pcie", "share of time in which the bottleneck was the PCIe link", |m| {
        &m.limited_by_shares.pcie
    }),
    (
        "limited_by.slots",
        "share of time in which the bottleneck was the number of IIO slots",
        |m| &m.limited_by_shares.slots,
    ),
    ("limited_by.memory", "share of time in which the bottleneck was a busy memory", |m| {
        &m.limited_by_shares.memory
    }),
    (
        "limited_by.descriptors",
        "share of time in which the bottleneck was missing descriptors",
        |m| &m.limited_by_shares.descriptors,
    ),
    (
        "sender_waits.application",
        "share of the time of flows to a host in which the application had no data to send",
        |m| &m.sender_wait_shares.application,
    ),
    (
        "sender_waits.congestion_window",
        "share of the time of flows in which the congestion window was full",
        |m| &m.sender_wait_shares.congestion_window,
    ),
    (
        "sender_waits.receive_window",
        "share of the time of flows in which the receive window was full",
        |m| &m.sender_wait_shares.receive_window,
    ),
    (
        "sender_waits.pacing",
        "share of the time of flows in which the pacing rate held the sender back",
        |m| &m.sender_wait_shares.pacing,
    ),
    (
        "sender_waits.nic",
        "share of the time of flows in which the NIC was busy with other flows",
        |m| &m.sender_wait_shares.nic,
    ),
    ("sender_waits.pause", "share of the time of flows in which the NIC was paused (PFC)", |m| {
        &m.sender_wait_shares.pause
    }),
    ("cache_miss_share", "share of the receive buffers read that were not in the cache", |m| {
        &m.cache_miss_share
    }),
    ("cache_in_place_share", "share of the receive buffers written that were in the cache", |m| {
        &m.cache_in_place_share
    }),
    ("cache_states.s1", "share of time with no more unread buffers than the DDIO ways hold", |m| {
        part(&m.cache_state_shares, 0)
    }),
    (
        "cache_states.s2",
        "share of time with more unread buffers than the DDIO ways hold, but no more than the cache holds",
        |m| part(&m.cache_state_shares, 1),
    ),
    ("cache_states.s3", "share of time with more unread buffers than the cache holds", |m| {
        part(&m.cache_state_shares, 2)
    }),
    ("cache_states.s4", "share of time with no buffer of the receive queue left", |m| {
        part(&m.cache_state_shares, 3)
    }),
    (
        "cache_misses.after_nic",
        "share of the receive buffers read that a write of the NIC had evicted",
        |m| part(&m.cache_miss_shares, 0),
    ),
    ("cache_misses.after_cpu", "share of the receive buffers read that a core had evicted", |m| {
        part(&m.cache_miss_shares, 1)
    }),
    ("cache_misses.cold", "share of the receive buffers read that were never in the cache", |m| {
        part(&m.cache_miss_shares, 2)
    }),
];

/// Sum of a counter of ports.csv.
fn port_total(summary: &Summary, counter: &str) -> f64 {
    summary.network.port_totals.get(counter).copied().unwrap_or(0) as f64
}

const COUNTS: [NamedMetric<Count>; 23] = [
    ("drops", "packets refused for lack of buffer, over all seeds", |s| {
        s.network.dropped_packets as f64
    }),
    (
        "total_losses",
        "packets lost for whatever reason at any port, NICs included, over all seeds: buffers, faults, lossless ports",
        |s| {
            let counters = ["dropped_packets", "lost_packets", "lossless_drops"];
            counters.into_iter().map(|counter| port_total(s, counter)).sum()
        },
    ),
    ("marks", "packets that got a congestion mark, over all seeds", |s| {
        s.network.marked_packets as f64
    }),
    ("trims", "data packets that switches trimmed, over all seeds", |s| {
        port_total(s, "trimmed_packets")
    }),
    (
        "returned_headers",
        "headers of trimmed packets that went back to their senders, over all seeds",
        |s| port_total(s, "returned_packets"),
    ),
    ("credit_drops", "credits that ports dropped, over all seeds", |s| {
        port_total(s, "dropped_credits")
    }),
    ("credits", "credits, grants and pulls that receivers sent, over all seeds", |s| {
        s.network.credits_sent as f64
    }),
    (
        "credits_wasted",
        "credits, grants and pulls that released nothing, without those that metered ports dropped, over all seeds",
        |s| s.wasted_credits() as f64,
    ),
    (
        "credits_backward",
        "data packets that came with an older credit than one before them, over all seeds",
        |s| s.network.credits_backward as f64,
    ),
    ("nic_drops", "packets that NICs dropped where memory is modelled, over all seeds", |s| {
        s.network.nic_dropped_packets as f64
    }),
    ("rnr_refused", "frames that NICs refused for want of a receive buffer, over all seeds", |s| {
        s.memory.as_ref().map_or(0.0, |m| m.mean_over_hosts.rnr_refused_frames as f64)
    }),
    ("rnr_waited", "frames that waited in a NIC for a receive buffer, over all seeds", |s| {
        s.memory.as_ref().map_or(0.0, |m| m.mean_over_hosts.rnr_waited_frames as f64)
    }),
    (
        "host_marks",
        "packets that got a congestion mark at hosts with a memory model, over all seeds",
        |s| s.network.host_marked_packets as f64,
    ),
    ("losses", "packets lost to faults, over all seeds", |s| s.network.lost_packets as f64),
    ("retransmits", "segments sent again, over all seeds", |s| {
        s.network.retransmitted_segments as f64
    }),
    ("timeouts", "retransmission timeouts, over all seeds", |s| s.network.timeouts as f64),
    ("max_queue_bytes", "largest queue of any switch port in any seed", |s| {
        s.network.max_queue_bytes as f64
    }),
    ("pause_frames", "pause frames sent, resume frames included", |s| {
        s.network.pause_frames as f64
    }),
    ("paused_us", "time for which ports were paused, all ports and seeds together", |s| {
        s.network.paused_us
    }),
    ("headroom_peak_bytes", "largest use of headroom of any ingress port in any seed", |s| {
        s.network.headroom_peak_bytes as f64
    }),
    ("lossless_drops", "packets refused although their ingress port pauses, over all seeds", |s| {
        s.network.lossless_drops as f64
    }),
    ("watchdog_fired", "pauses of a class that a watchdog ended, over all seeds", |s| {
        s.network.watchdog_fired as f64
    }),
    ("packet_hops", "packets whose transmission began, over links and seeds", |s| {
        s.network.packet_hops as f64
    }),
];

const SPREADS: [NamedMetric<Spread>; 18] = [
    ("drop_rate", "drops over packets offered at switch ports", |s| &s.network.drop_rate),
    ("mark_rate", "marks over packets sent at switch ports", |s| &s.network.mark_rate),
    (
        "paused_share",
        "share of the run for which NICs of hosts that send were paused, mean over these hosts",
        |s| &s.network.paused_share,
    ),
    ("utilisation.busiest", "use of the busiest link of all", |s| &s.utilisation.busiest),
    ("loss_rate", "losses to faults over packets sent", |s| &s.network.loss_rate),
    ("retransmit_rate", "retransmitted segments per delivered segment", |s| {
        &s.network.retransmit_rate
    }),
    ("timeouts_per_flow", "timeouts per started flow", |s| &s.network.timeouts_per_flow),
    ("goodput_gbps", "payload delivered to all hosts, Gb/s", |s| &s.network.goodput_gbps),
    ("goodput_per_host_gbps", "payload delivered per host, receiving or not, Gb/s", |s| {
        &s.network.goodput_per_host_gbps
    }),
    (
        "goodput_per_receiver_gbps",
        "payload delivered per host that some flow was sent to, Gb/s",
        |s| &s.network.goodput_per_receiver_gbps,
    ),
    ("offered_gbps", "payload of arriving flows, while flows arrived, Gb/s", |s| {
        &s.network.offered_gbps
    }),
    ("carried_gbps", "payload that flows delivered, while flows arrived, Gb/s", |s| {
        &s.network.carried_gbps
    }),
    ("offered_load", "offered_gbps over the rates of all links from hosts", |s| {
        &s.network.offered_load
    }),
    ("carried_load", "carried_gbps over the rates of all links from hosts", |s| {
        &s.network.carried_load
    }),
    ("utilisation.host_links.mean", "mean use of links to hosts, a fraction of 1", |s| {
        &s.utilisation.host_links.mean_utilisation
    }),
    ("utilisation.host_links.max", "use of the busiest link to a host", |s| {
        &s.utilisation.host_links.max_utilisation
    }),
    ("utilisation.fabric_links.mean", "mean use of links between switches", |s| {
        &s.utilisation.fabric_links.mean_utilisation
    }),
    ("utilisation.fabric_links.max", "use of the busiest link between switches", |s| {
        &s.utilisation.fabric_links.max_utilisation
    }),
];

/// One of some estimates, without a value where nothing was measured: a cache whose buffers are not followed has no states.
fn part(of: &[Estimate], which: usize) -> &Estimate {
    of.get(which).unwrap_or(&ABSENT)
}

/// An estimate that only some runs have: without a pool there are no credits.
fn some(of: &Option<Estimate>) -> &Estimate {
    of.as_ref().unwrap_or(&ABSENT)
}

/// What nothing was measured of.
static ABSENT: Estimate =
    Estimate { mean: None, ci95: None, ci95_absent_because: None, per_seed: Vec::new() };

/// All metrics, in the order of `forebay list metrics`.
pub fn all() -> Vec<Metric> {
    let mut all = Vec::new();
    for (what, about, class) in DISTRIBUTIONS {
        for (name, statistic, read) in STATISTICS {
            all.push(Metric {
                name: format!("flows.{what}.{name}"),
                about: format!("{statistic} of {about}"),
                of_flows: true,
                read: MetricReader::Flows(class, read),
            });
        }
    }
    let metric = |name: &str, about: &str, of_flows, read| Metric {
        name: name.into(),
        about: about.into(),
        of_flows,
        read,
    };
    all.extend(FLOW_COUNTS.map(|(name, about, read)| {
        metric(name, about, name != "flows.not_started", MetricReader::Count(read))
    }));
    for (name, statistic, read) in STATISTICS {
        let name = format!("incast.completion_us.{name}");
        let about = format!(
            "{statistic} of the time from the first start of a round of an incast to its last delivery, microseconds"
        );
        all.push(metric(&name, &about, false, MetricReader::Incasts(read)));
    }
    for (name, statistic, read) in STATISTICS {
        let name = format!("collective.completion_us.{name}");
        let about = format!("{statistic} of completion times of collectives, microseconds");
        all.push(metric(&name, &about, false, MetricReader::Completions(read)));
    }
    all.extend(COLLECTIVES.map(|(name, about, read)| {
        metric(&format!("collective.{name}"), about, false, MetricReader::Collectives(read))
    }));
    all.extend(
        COLLECTIVE_COUNTS
            .map(|(name, about, read)| metric(name, about, false, MetricReader::Count(read))),
    );
    for (what, about, class) in RPC_DISTRIBUTIONS {
        for (name, statistic, read) in TAIL {
            let (name, about) = (format!("rpc.{what}.{name}"), format!("{statistic} of {about}"));
            let of_rpcs = what != "connection_goodput_gbps";
            all.push(metric(&name, &about, false, MetricReader::Tail(class, read, of_rpcs)));
        }
    }
    all.extend(
        RPC_SPREADS.map(|(name, about, read)| metric(name, about, false, MetricReader::Rpcs(read))),
    );
    all.extend(
        RPC_COUNTS.map(|(name, about, read)| metric(name, about, false, MetricReader::Count(read))),
    );
    all.extend(MEMORY.map(|(name, about, read)| {
        let (name, about) =
            (format!("memory.{name}"), format!("{about}; mean over hosts with a memory model"));
        metric(&name, &about, false, MetricReader::Memory(read))
    }));
    all.extend(
        COUNTS.map(|(name, about, read)| metric(name, about, false, MetricReader::Count(read))),
    );
    all.extend(columns::port_counters().map(|(name, about, total)| {
        let how = if total == Total::Max { "largest of" } else { "sum over" };
        let about = format!("{how} all ports and seeds: {about}");
        metric(&format!("ports.{name}"), &about, false, MetricReader::Ports(name))
    }));
    all.extend(
        SPREADS.map(|(name, about, read)| metric(name, about, false, MetricReader::Spread(read))),
    );
    all
}

/// The metric of this name.
pub fn by_name(name: &str) -> Option<Metric> {
    all().into_iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_and_reads_an_empty_summary() {
        let all = all();
        for (i, metric) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.name != metric.name), "{}", metric.name);
            metric.value(&Summary::default());
            assert!(!metric.about.is_empty());
        }
        assert!(by_name("flows.slowdown.p99").is_some_and(|m| m.of_flows));
        assert!(by_name("drops").is_some_and(|m| !m.of_flows));
    }

    #[test]
    fn parts_of_a_list_are_metrics_and_may_be_absent() {
        let mut summary = Summary { memory: Some(Default::default()), ..Default::default() };
        let value = |summary: &Summary, name| by_name(name).unwrap().value(summary).mean;
        assert_eq!(value(&summary, "memory.cache_states.s2"), None, "no buffers are followed");
        let shares = [0.5, 0.3, 0.2, 0.0].map(|share| Estimate::new(vec![Some(share)]));
        summary.memory.as_mut().unwrap().mean_over_hosts.cache_state_shares = shares.into();
        assert_eq!(value(&summary, "memory.cache_states.s2"), Some(0.3));
        assert_eq!(value(&summary, "memory.cache_states.s4"), Some(0.0));
        assert_eq!(value(&summary, "rnr_refused"), Some(0.0));
        summary.memory.as_mut().unwrap().mean_over_hosts.rnr_refused_frames = 7;
        assert_eq!(value(&summary, "rnr_refused"), Some(7.0));
        assert_eq!(value(&summary, "rpc.blocked_us"), None, "nobody made a request");
        let overall =
            RpcClass { blocked_us: Some(Estimate::new(vec![Some(2.5)])), ..<_>::default() };
        summary.rpc = Some(forebay_record::RpcSummary { overall, ..<_>::default() });
        assert_eq!(value(&summary, "rpc.blocked_us"), Some(2.5));
        assert_eq!(value(&summary, "rpc.blocked_share"), None, "it has no pool");
    }
}
