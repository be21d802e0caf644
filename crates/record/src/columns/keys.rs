//! Every key of the JSON files of a run directory that is no column of a table, explained.
//!
//! Invariant: a test walks the files of a run and finds no name without its line here or in a table. Units are the suffix:
//! `_ps`, `_us`, `_s`, `_bytes`, `_bps`, `_gbps`.

/// What the ideal FCT is; copied into every manifest.
pub const IDEAL_FCT_DEFINITION: &str = "FCT of the same flow alone on the fastest of its empty paths, in \
picoseconds: first byte handed over to last byte delivered, all packets back to back at the slowest \
link's rate, header bytes and store-and-forward included; where each packet takes a path of its own, links at one distance \
carry the flow together";

/// What the ideal latency of an RPC is.
pub const IDEAL_LATENCY_DEFINITION: &str = "Latency of the same RPC alone on the empty path, in \
picoseconds: ideal FCT of the request, service time where that is fixed, ideal FCT of the response; one-way: ideal FCT \
of the request and the way back of one ACK. ACKs that go ahead of data are not in it.";

/// Keys and their meanings.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("application", "Share for which the application had written nothing more."),
    (
        "congestion_window",
        "Share for which the sender's congestion window was full, or had no room yet for a super-packet that pays.",
    ),
    (
        "receive_window",
        "Share for which the receive window was full and the congestion window was not.",
    ),
    ("pacing", "Share for which the pacing rate held the sender back."),
    ("nic", "Share for which the flow could send, but its NIC was busy with other flows."),
    ("pause", "Share for which the flow could send, but the switch had paused its NIC (PFC)."),
    // Summary.
    ("format", "Version of the layout of this file; raised when a key changes its meaning."),
    ("scenario", "Title of the scenario."),
    ("version", "Version of the program."),
    ("laws", "Congestion-control laws in use, the scenario's own first."),
    (
        "status",
        "running, complete, unfinished, interrupted, stalled or failed; complete: every flow with an end has ended; unfinished: the run came to its own end before some of them did; interrupted: a seed was cut short or is missing, and what is here is valid but partial; stalled: a seed ended because no packet moved while flows were unfinished; failed: something could not be written.",
    ),
    ("servers", "Hosts that answer RPCs, of the seed that has most."),
    ("clients", "Hosts that request, likewise."),
    ("left", "Flows that had not ended when the run did; absent without any."),
    ("waiting", "Of those with an end, how many waited for what, summed over seeds."),
    ("shut_out", "Entries of traffic of which nothing came through though others did."),
    ("incast", "Rounds of incasts; absent if no traffic entry makes any."),
    (
        "completion_us",
        "From the first start of a round of an incast to the last delivery of it, or from the begin of the first rank of a collective to its end, in microseconds.",
    ),
    (
        "paused_share",
        "Share of the run for which NICs of hosts that send were paused, mean over these hosts.",
    ),
    ("sending_hosts", "Hosts that send, of the seed that has most."),
    ("left_flows", "How many flows waited for it, summed over seeds."),
    ("begun", "Flows of the entry that had begun, summed over seeds."),
    ("senders_paused", "Of the hosts that send, those whose NIC was paused at all."),
    (
        "paused_share_most",
        "Share of the run for which the NIC was paused that was paused longest, of the seed in which it was longest.",
    ),
    ("paused_share_most_host", "Whose NIC that is; empty if none was."),
    (
        "pause_origins",
        "Nodes that paused others and were not paused themselves: where pauses began; those that paused most first.",
    ),
    (
        "idle_us",
        "Virtual time before the first flow started, in microseconds; averages over the run have it in them.",
    ),
    ("busiest", "The busiest link of all in each seed."),
    ("seeds", "Seeds that were simulated, in order. In manifest.json: requested seeds."),
    ("seeds_missing", "Requested seeds that are missing here."),
    ("fct_definition", "Definition of the completion time fct."),
    ("quantile_definition", "Definition of the quantiles p50, p95 and p99."),
    (
        "warmup_us",
        "Flows that arrived before this, in microseconds of virtual time, are left out of FCT and slowdown.",
    ),
    ("runs", "Facts of each seed."),
    ("end_us", "Virtual time at which the simulation stopped, in microseconds."),
    ("flows", "Flows by outcome, summed over seeds."),
    ("total", "Flows in the flow tables."),
    ("completed", "Flows whose every byte was in order at the receiver by the end."),
    (
        "not_finished",
        "Flows (in rpc: RPCs) that had started and not completed by the end. Percentiles leave them out, so they are too good by what these would have added.",
    ),
    ("given_up", "Flows that did not complete because their senders gave up."),
    ("endless", "Flows without an end by design; never in FCT statistics."),
    (
        "in_warmup",
        "Flows of finite size that arrived before the warm-up ended, in rpc RPCs issued before; not in statistics of FCT or latency.",
    ),
    ("overall", "All measured flows together; in rpc: all measured RPCs."),
    (
        "size_classes",
        "Measured flows by size; sizes of a class are > above_bytes and <= up_to_bytes.",
    ),
    ("size_classes_absent", "Size classes without a completed flow, and why."),
    (
        "traffic_classes",
        "Measured flows (in rpc: RPCs) by [[traffic]] entry; empty if there is only one.",
    ),
    ("above_bytes", "Sizes in the class are larger than this; null: no lower bound."),
    ("up_to_bytes", "Sizes in the class are at most this; null: no upper bound."),
    ("count", "Completed measured flows (in rpc: RPCs), summed over seeds."),
    (
        "fewest_per_seed",
        "Completed measured flows (in rpc: RPCs) of the seed that has fewest; below 100 the 99th percentile of that seed is its largest value, below 1000 the 99.9th.",
    ),
    (
        "censored",
        "Whether more than 1 % of the flows (in rpc: RPCs) that started in some seed had not finished. Statistics \
         leave them out, so percentiles are too good.",
    ),
    ("fct_us", "Receiver-delivered flow completion time in microseconds."),
    (
        "slowdown_acked",
        "Sender-acked FCT over ideal FCT: to the instant the sender knew that every byte had arrived.",
    ),
    ("fct_acked_us", "Sender-acked flow completion time in microseconds."),
    ("note", "Caution about these numbers; null: none."),
    ("reason", "Why the value is absent."),
    ("mean", "Arithmetic mean; of an estimate: over the seeds that have a value."),
    ("p50", "Median: nearest rank within each seed, then across seeds."),
    ("p95", "95th percentile: nearest rank within each seed, then across seeds."),
    ("p99", "99th percentile: nearest rank within each seed, then across seeds."),
    ("min", "Smallest value within each seed, then across seeds."),
    ("p90", "90th percentile: nearest rank within each seed, then across seeds."),
    ("p999", "99.9th percentile: nearest rank within each seed, then across seeds."),
    ("max", "Largest value within each seed, then across seeds."),
    (
        "memory",
        "Paths to memory of hosts that have one, after the warm-up; not there if no host has. Of an estimate in limited_by_shares: time for which a busy memory held IIO slots.",
    ),
    ("hosts", "One entry for each host whose path to memory is modelled."),
    ("mean_over_hosts", "Mean of each quantity over these hosts, within each seed."),
    ("mean_level", "Mean throttle level over time."),
    (
        "cache_miss_shares",
        "Of the receive buffers that cores read, shares that were not in the cache: evicted by a write of the NIC, evicted by a core, never there before. Not without cache_model = buffers.",
    ),
    (
        "cache_miss_share",
        "Share of the receive buffers that cores read which were not in the cache; null without cache_model = buffers.",
    ),
    (
        "cache_miss_shares_by_traffic",
        "cache_miss_share of each [[traffic]] entry, in their order up to the last one of which cores read; not there unless cores read data of two.",
    ),
    ("cache_in_place_share", "Of the receive buffers that the NIC wrote, the share in the cache."),
    (
        "blocked_share",
        "Share of the requests of RPCs that had to wait for credits, warm-up included; absent without pool.",
    ),
    (
        "blocked_us",
        "Mean wait for credits of the requests that waited, in microseconds; absent without pool.",
    ),
    (
        "senders",
        "Share of the time for which nothing queued in the host: the bottleneck was with senders or in the network.",
    ),
    (
        "copying",
        "Share of the time for which work queued at every core that reads for applications, and nothing in the NIC.",
    ),
    ("pcie", "Share of the time for which packets queued in the NIC for the PCIe link."),
    (
        "slots",
        "Share of the time for which packets queued in the NIC for IIO slots, too few even for an idle memory.",
    ),
    ("descriptors", "Share of the time for which packets queued in the NIC for descriptors."),
    ("collective", "Collectives; not there if no traffic entry makes any."),
    (
        "left_collectives",
        "Collectives that had not ended by the end, begun in the warm-up or after it.",
    ),
    ("collective_definition", "Definitions of completion, bandwidths and wait of collectives."),
    (
        "wait_us",
        "Time from having all data to the end of the collective, in microseconds, mean over ranks and collectives.",
    ),
    ("last_rank_share", "Share of the collectives in which last_rank was the last."),
    ("rpc", "RPCs; not there if no traffic entry makes any."),
    ("rpc_definition", "Definitions of latency, goodput and fairness of RPCs."),
    ("issued", "RPCs that clients issued, summed over seeds."),
    ("not_completed", "RPCs that were under way at the end, warm-up included."),
    ("connections", "Connections that carried RPCs, per seed."),
    ("latency_us", "Latency of RPCs in microseconds."),
    ("rpcs_per_s", "RPCs completed after the warm-up per second of virtual time."),
    (
        "request_goodput_gbps",
        "Payload of requests in order at servers, after the warm-up, in Gb/s.",
    ),
    (
        "response_goodput_gbps",
        "Payload of responses in order at clients, after the warm-up, in Gb/s.",
    ),
    (
        "jain_fairness",
        "Jain's index of connection_goodput_gbps: 1 if all connections have the same, 1/n if one has all.",
    ),
    (
        "ci95",
        "95 % confidence interval of the mean across seeds, [low, high], Student's t; null with fewer than 3 seeds.",
    ),
    ("ci95_absent_because", "Reason for the missing interval."),
    ("per_seed", "The value of each seed, in the order of seeds; null where a seed has none."),
    (
        "network",
        "Drops, marks and repairs; counts summed over seeds and all ports, rates across seeds.",
    ),
    (
        "drop_rate",
        "Dropped over offered (sent + dropped) packets at switch ports, a fraction of 1.",
    ),
    ("mark_rate", "Marked over sent packets at switch ports, a fraction of 1."),
    ("loss_rate", "Packets lost to faults over packets sent, at all ports, a fraction of 1."),
    ("retransmitted_segments", "Retransmitted segments."),
    ("retransmit_rate", "Retransmitted segments per delivered segment."),
    ("timeouts_per_flow", "Retransmission timeouts per started flow."),
    ("pause_frames", "Pause frames sent, resume frames included."),
    ("paused_us", "Time for which ports were paused, all ports together, in microseconds."),
    ("paused_most_us", "Longest total pause of one port in one seed, in microseconds."),
    (
        "paused_most_port",
        "The port of paused_most_us, sender->receiver; empty if no port was paused.",
    ),
    ("max_queue_port", "The switch port with the largest queue, sender->receiver."),
    (
        "goodput_per_host_gbps",
        "goodput_gbps divided by the number of all hosts, receiving or not, in Gb/s.",
    ),
    (
        "goodput_per_receiver_gbps",
        "goodput_gbps divided by the number of receivers, hosts that some flow was sent to, in Gb/s.",
    ),
    ("receivers", "Hosts that some flow was sent to, of the seed that has most."),
    (
        "offered_gbps",
        "Payload of flows that arrived per second of virtual time, between the first arrival after the warm-up and the last, in Gb/s; flows with an end only. None for a burst, all of which arrives before a first flow is delivered.",
    ),
    (
        "carried_gbps",
        "Payload that receivers got, each flow's spread evenly over its duration, per second of the time of offered_gbps, in Gb/s; a flow that had not ended counts with what it had delivered.",
    ),
    ("offered_load", "offered_gbps over the rates of all links from hosts, a fraction of 1."),
    ("carried_load", "carried_gbps over the rates of all links from hosts, a fraction of 1."),
    (
        "port_totals",
        "Counters of ports.csv over all ports and seeds: sums, but the largest of peaks.",
    ),
    ("host_links", "Links with a host at either end, each direction its own link."),
    ("fabric_links", "Links between switches, each direction its own link."),
    ("links", "Links (directions) in the set, per seed."),
    ("mean_utilisation", "Mean utilisation of the links in the set, a fraction of 1."),
    ("max_utilisation", "Utilisation of the busiest link in the set, a fraction of 1."),
    ("tiers", "Totals of ports by the kinds of node at their ends, summed over seeds."),
    (
        "drop_fraction",
        "Dropped over offered (sent + dropped) packets of the tier, a fraction of 1.",
    ),
    ("mark_fraction", "Marked over sent packets of the tier, a fraction of 1."),
    ("utilisation_mean", "Mean utilisation of the tier's links over all seeds, a fraction of 1."),
    (
        "utilisation_max",
        "Utilisation of the tier's busiest link in each seed, mean over seeds, a fraction of 1.",
    ),
    // Manifest.
    ("program", "Program that wrote this directory."),
    (
        "warmup_ps",
        "Flows that arrived before this, in picoseconds of virtual time, are left out of FCT and slowdown.",
    ),
    (
        "size_classes_bytes",
        "Upper bounds of the size classes in bytes. A last class has the larger flows.",
    ),
    ("settings", "Settings shown in the report, key and value."),
    ("key", "Key of the scenario file that sets the value."),
    ("faults", "Faults of cables, in the order in which they begin. Absent if there are none."),
    ("what", "Cable and kind of a fault."),
    ("from_ps", "When a fault began, in picoseconds of virtual time."),
    ("to_ps", "When a fault ended, in picoseconds of virtual time; null: not before the run did."),
    ("definitions", "How the quantities are defined."),
    ("fct", "Definition of the flow completion time."),
    ("ideal_fct", "Definition of the ideal flow completion time."),
    ("quantile", "Definition of percentiles."),
    ("confidence_interval", "Definition of the intervals."),
    (
        "comparison",
        "What has to be equal in another simulator before rows may be compared one by one.",
    ),
    ("release", "When a packet stops counting towards its queue and the shared buffer."),
    ("rerun", "Command that reproduces the same bytes, to be run inside this directory."),
    ("files", "Tables of this directory with their rows."),
    ("file", "Name of a file of this directory."),
    ("rows", "Rows of the table, its header not counted."),
    ("empty_files", "Tables without a row, why, and the key to set."),
    ("resolved_toml", "The full scenario with all defaults filled in; also in resolved.toml."),
    // Volatile.
    ("wall_s", "Wall-clock time of the whole run in seconds."),
    ("cpu_s", "User CPU time of the whole run in seconds, where it is known."),
    ("packet_hops_per_s", "Packet-hops of all seeds per second of wall-clock time."),
    ("threads", "Threads used."),
    ("started_utc", "When the run began, UTC."),
    ("command", "Command as it was typed."),
];
