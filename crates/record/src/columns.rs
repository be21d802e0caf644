//! Every column of every table and every key of every JSON file, explained.
//!
//! Invariant: a test walks the files of a run and finds no name without its line here. A name means
//! the same wherever it appears; units are the suffix: `_ps`, `_us`, `_s`, `_bytes`, `_bps`, `_gbps`.

/// What a column of a CSV file or a key of `summary.json`, `manifest.json` or `volatile.json` means.
pub fn explain(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// All names that [`explain`] knows, with their explanations, table by table.
pub fn explained() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().copied()
}

/// Header of `runs.csv`: one row for each simulation.
pub const RUNS: &[&str] = &[
    "seed",
    "digest",
    "end_ps",
    "interrupted",
    "not_started",
    "packet_hops",
    "delivered_bytes",
    "delivered_segments",
];

/// Header of `hosts.csv`: one row for each host.
pub const HOSTS: &[&str] = &["host", "name"];

/// Header of `flows.csv`: one row for each flow that started.
pub const FLOWS: &[&str] = &[
    "seed",
    "flow",
    "traffic",
    "src",
    "dst",
    "size_bytes",
    "start_ps",
    "delivered_ps",
    "acked_ps",
    "fct_ps",
    "ideal_fct_ps",
    "slowdown",
    "retransmits",
    "timeouts",
];

/// Header of `connections.csv`: one row for each connection that carried RPCs.
pub const CONNECTIONS: &[&str] = &[
    "seed",
    "connection",
    "traffic",
    "client",
    "server",
    "request_flow",
    "response_flow",
    "opened_ps",
    "done_ps",
    "request_goodput_bytes",
    "response_goodput_bytes",
    "connection_goodput_gbps",
];

/// Header of `rpcs.csv`: one row for each RPC that was issued, by connection and in order of issue.
pub const RPCS: &[&str] = &[
    "seed",
    "connection",
    "traffic",
    "client",
    "server",
    "request_bytes",
    "response_bytes",
    "issued_ps",
    "completed_ps",
    "latency_ps",
    "ideal_latency_ps",
    "latency_over_ideal",
];

/// Header of `ports.csv`: one row for each egress port.
pub const PORTS: &[&str] = &[
    "seed",
    "node",
    "peer",
    "rate_bps",
    "tx_packets",
    "tx_bytes",
    "dropped_packets",
    "dropped_bytes",
    "lost_packets",
    "marked_packets",
    "max_queue_bytes",
    "utilisation",
    "pause_frames_sent",
    "pause_frames_received",
    "paused_ps",
    "headroom_peak_bytes",
    "lossless_drops",
];

/// Header of `class_pauses.csv`: one row for each port and class that paused or was paused, where that is class by class.
pub const CLASS_PAUSES: &[&str] = &[
    "seed",
    "node",
    "peer",
    "class",
    "pause_frames_sent",
    "pause_frames_received",
    "paused_ps",
    "headroom_peak_bytes",
    "lossless_drops",
    "watchdog_fired",
    "watchdog_drops",
];

/// Header of `deadlocks.csv`: one row for each circle of ports that paused each other for more than 10 ms.
pub const DEADLOCKS: &[&str] = &["seed", "closed_ps", "gone_ps", "ports"];

/// Header of `memory.csv`: one row for each host whose path to memory is modelled.
pub const MEMORY: &[&str] = &[
    "seed",
    "host",
    "span_ps",
    "nic_arrived_packets",
    "nic_dropped_packets",
    "nic_drop_share",
    "goodput_bytes",
    "goodput_gbps",
    "pcie_lines",
    "pcie_gbps",
    "iio_occupancy_lines",
    "slots_full_share",
    "write_wait_ns",
    "nic_backlog_share",
    "nic_buffer_peak_bytes",
    "dma_lines",
    "copied_lines",
    "sent_lines",
    "network_gigabytes_per_s",
    "antagonist_lines",
    "antagonist_gigabytes_per_s",
    "reader_cores",
    "level_writes",
    "level_shares",
    "host_marked_packets",
    "limited_by_shares",
    "nic_drops_with_warmup",
    "host_marks_with_warmup",
    "nic_buffer_bytes",
    "pcie_limit_gbps",
    "iio_slots",
    "memory_limit_gigabytes_per_s",
    "iio_target_lines",
    "pcie_target_gbps",
    "sender_wait_shares",
    "other_nics_lines",
];

/// Header of `memory_series.csv`: one row for each sample of a path to memory, of the interval that ends at `at_ps`.
pub const MEMORY_SERIES: &[&str] = &[
    "seed",
    "host",
    "at_ps",
    "iio_occupancy_lines",
    "pcie_gbps",
    "nic_buffered_bytes",
    "nic_dropped_packets",
    "goodput_gbps",
    "network_gigabytes_per_s",
    "antagonists_gigabytes_per_s",
    "host_marked_packets",
    "level",
    "law_iio_occupancy_lines",
    "law_pcie_gbps",
    "other_nics_gigabytes_per_s",
];

/// Header of `series.csv`: one row for each sample.
pub const SERIES: &[&str] = &["seed", "series", "quantity", "unit", "at_ps", "value"];

/// What the ideal FCT is; copied into every manifest.
pub const IDEAL_FCT_DEFINITION: &str = "FCT of the same flow alone on the empty path, in \
picoseconds: first byte handed over to last byte delivered, all packets back to back at the slowest \
link's rate, header bytes and store-and-forward included";

/// What the ideal latency of an RPC is.
pub const IDEAL_LATENCY_DEFINITION: &str = "Latency of the same RPC alone on the empty path, in \
picoseconds: ideal FCT of the request, service time where that is fixed, ideal FCT of the response; one-way: ideal FCT \
of the request and the way back of one ACK. ACKs that go ahead of data are not in it.";

const ALL: &[(&str, &str)] = &[
    // Tables.
    ("seed", "Seed of the simulation that the row belongs to."),
    (
        "digest",
        "Running hash of every delivery and drop (time, kind, flow, sequence, ECN), 16 hex digits; equal digests mean equal simulations. Of several seeds: all mixed in order.",
    ),
    ("end_ps", "Virtual time at which the simulation stopped, in picoseconds."),
    ("interrupted", "Whether the simulation was cut short before its own end (true, false)."),
    ("not_started", "Flows of the flow table that had not started by the end."),
    (
        "packet_hops",
        "Packets whose transmission began, summed over links, those lost on the way and those under way at the end included: the unit of work of the simulator.",
    ),
    ("delivered_bytes", "Payload bytes handed to receiving applications."),
    ("delivered_segments", "Segments that reached receivers, duplicates included."),
    (
        "host",
        "In hosts.csv: index of the host in canonical order. In volatile.json: name of the machine that ran it. For paths to memory: name of the host.",
    ),
    ("name", "Name of the thing that the row or object describes."),
    ("flow", "Index of the flow in the run's flow table."),
    (
        "traffic",
        "In tables: index of the [[traffic]] entry that the flow or connection came from. In manifest.json: those entries, one line each.",
    ),
    ("src", "Name of the sending host."),
    ("dst", "Name of the receiving host."),
    ("size_bytes", "Payload of the flow in bytes; empty for a flow without an end."),
    ("start_ps", "Virtual time at which the application handed the flow over, in picoseconds."),
    (
        "delivered_ps",
        "Virtual time at which the receiver had every byte in order, in picoseconds; empty if it had not by the end.",
    ),
    (
        "acked_ps",
        "Virtual time at which the sender knew that, in picoseconds; empty if it did not by the end.",
    ),
    (
        "fct_ps",
        "Flow completion time, receiver-delivered: delivered_ps - start_ps; empty if not completed.",
    ),
    ("ideal_fct_ps", IDEAL_FCT_DEFINITION),
    (
        "slowdown",
        "fct_ps / ideal_fct_ps, 1 at best, receiver-delivered; empty if not completed. In CSV rounded to 6 decimals.",
    ),
    ("retransmits", "Segments of the flow that were sent again."),
    ("timeouts", "Retransmission timeouts."),
    ("connection", "Index of a connection that carried RPCs: the row of connections.csv."),
    ("client", "Name of the host that sends requests."),
    ("server", "Name of the host that answers them."),
    (
        "request_flow",
        "The connection's stream of requests, as an index into the flow table; flows.csv counts what was sent again on it.",
    ),
    ("response_flow", "Its stream of responses, likewise; not in flows.csv if it carried nothing."),
    ("opened_ps", "Virtual time at which the connection's first RPCs were issued, in picoseconds."),
    (
        "done_ps",
        "Virtual time at which its last RPC was over and no other was to come, in picoseconds; empty if not by the end.",
    ),
    (
        "request_goodput_bytes",
        "Bytes of requests in order at the server since the end of the warm-up.",
    ),
    (
        "response_goodput_bytes",
        "Bytes of responses in order at the client since the end of the warm-up.",
    ),
    (
        "connection_goodput_gbps",
        "Both of these per second, from the later of opened_ps and the end of the warm-up to done_ps or the end of the run, in Gb/s. In summary.json: over connections.",
    ),
    ("request_bytes", "Payload of the request in bytes."),
    ("response_bytes", "Payload of the response in bytes; 0: one-way."),
    ("issued_ps", "Virtual time at which the client handed over the request, in picoseconds."),
    (
        "completed_ps",
        "Virtual time at which the client had the whole response in order (one-way: the last acknowledgement), in picoseconds; empty if not by the end.",
    ),
    ("latency_ps", "completed_ps - issued_ps; empty if not completed."),
    ("ideal_latency_ps", IDEAL_LATENCY_DEFINITION),
    (
        "latency_over_ideal",
        "latency_ps / ideal_latency_ps, 1 at best; empty if not completed. In CSV rounded to 6 decimals.",
    ),
    ("node", "Name of the node that sends on this port."),
    ("peer", "Name of the node at the other end of the cable."),
    ("rate_bps", "Rate of the port at the end of the run, in bits per second."),
    (
        "tx_packets",
        "Packets whose transmission began, over the whole simulation, warm-up included.",
    ),
    ("tx_bytes", "Bytes of those packets, headers included."),
    ("dropped_packets", "Packets refused for lack of buffer."),
    ("dropped_bytes", "Bytes of those packets."),
    ("lost_packets", "Packets lost to a fault: random loss, or a dead link."),
    ("marked_packets", "Packets that got a congestion mark (CE) here."),
    (
        "max_queue_bytes",
        "Largest queue in bytes, exact. In summary.json: of any switch port in any seed, or in a tier of any of its ports.",
    ),
    (
        "utilisation",
        "8 * tx_bytes / (rate * duration) of one link direction, a fraction of 1 over the whole simulation, warm-up included; empty for a dead link. In summary.json: by kind of link.",
    ),
    (
        "pause_frames_sent",
        "Pause frames (IEEE 802.3x, 802.1Qbb) sent to the peer, those that let it go included; not among tx_packets. In class_pauses.csv: those that stopped this class or let it go.",
    ),
    ("pause_frames_received", "Pause frames received from the peer, likewise."),
    (
        "paused_ps",
        "Time for which the peer had paused this port, or this class of it, in picoseconds.",
    ),
    (
        "headroom_peak_bytes",
        "Largest use of the headroom kept for packets from the peer, in bytes. In summary.json: of any in-port in any seed.",
    ),
    (
        "lossless_drops",
        "Packets from the peer refused although their in-port pauses: 0 if its headroom is large enough.",
    ),
    ("class", "Traffic class, 0 to 7; 7 goes first."),
    (
        "watchdog_fired",
        "How often a class stayed paused for longer than fabric.switch.pause.watchdog allows.",
    ),
    ("closed_ps", "When the last port of a circle of paused ports was paused."),
    ("gone_ps", "A time by which one of them had gone on again; empty: they stood at the end."),
    (
        "ports",
        "The ports of the circle, in deadlocks.csv parted by semicolons: each waits for the next, the last for the first.",
    ),
    ("watchdog_drops", "Packets that the watchdog dropped; among dropped_packets of the port."),
    (
        "span_ps",
        "Time that the row covers, from the end of the warm-up to the end of the run, in picoseconds.",
    ),
    (
        "nic_arrived_packets",
        "Packets for the stack that came over the host's cable after the warm-up.",
    ),
    (
        "nic_dropped_packets",
        "Of these, packets dropped for want of room in the NIC buffer. In summary.json's network: of all hosts, warm-up included.",
    ),
    (
        "nic_drop_share",
        "nic_dropped_packets / nic_arrived_packets, a fraction of 1. In CSV rounded to 6 decimals.",
    ),
    ("goodput_bytes", "Payload that applications of the host read after the warm-up, in bytes."),
    (
        "pcie_lines",
        "Lines of 64 bytes that crossed PCIe into IIO slots, packets' completions and descriptors included.",
    ),
    ("pcie_gbps", "pcie_lines per time, in Gb/s."),
    ("iio_occupancy_lines", "Mean lines in IIO slots."),
    (
        "slots_full_share",
        "Share of the time in which full IIO slots held the NIC back, a fraction of 1.",
    ),
    (
        "write_wait_ns",
        "Mean time that a write waits for admission by the memory controller, in nanoseconds.",
    ),
    ("nic_backlog_share", "Share of the time with packets in the NIC buffer, a fraction of 1."),
    ("nic_buffer_peak_bytes", "Most bytes that the NIC buffer held, warm-up included."),
    ("dma_lines", "Lines of 64 bytes that the NIC wrote to memory."),
    ("copied_lines", "Lines of 64 bytes that copying to applications read from memory."),
    ("sent_lines", "Lines of 64 bytes that the NIC read from memory to send."),
    (
        "network_gigabytes_per_s",
        "Memory traffic of the network, dma_lines, copied_lines and sent_lines, in 10^9 bytes per second.",
    ),
    (
        "other_nics_lines",
        "Lines of 64 bytes that other NICs of the same machine wrote to memory and read from it, and that were copied of what they received.",
    ),
    (
        "other_nics_gigabytes_per_s",
        "Memory traffic of other NICs of the same machine, in 10^9 bytes per second. In CSV empty where there are none.",
    ),
    (
        "antagonist_lines",
        "Lines of 64 bytes that each antagonist read and wrote, in the order of the scenario, parted by semicolons.",
    ),
    ("antagonist_gigabytes_per_s", "Memory traffic of all antagonists, in 10^9 bytes per second."),
    ("reader_cores", "Cores that ran the stack and copied to applications, on average."),
    ("level_writes", "Throttle levels that the control wrote. In summary.json: summed over seeds."),
    (
        "level_shares",
        "Share of the time at each throttle level, from 0 (no throttle) to the strongest, each a fraction of 1. In CSV parted by semicolons.",
    ),
    (
        "host_marked_packets",
        "Data packets that got a congestion mark (CE) at the host; merged ones count once. In summary.json's network: of all hosts, warm-up included.",
    ),
    (
        "limited_by_shares",
        "Share of the time for which each stage set the pace, each a fraction of 1: senders (nothing queued in the host), copying, pcie, slots, memory, descriptors. In CSV parted by semicolons, in that order.",
    ),
    (
        "sender_wait_shares",
        "What senders of flows to the host waited for, each a fraction of 1 of their flows' time: application, congestion_window, receive_window, pacing, nic. In CSV parted by semicolons, in that order; all zero if none was in progress.",
    ),
    ("application", "Share for which the application had written nothing more."),
    (
        "congestion_window",
        "Share for which the sender's congestion window was full, or had no room yet for a super-packet that pays.",
    ),
    (
        "receive_window",
        "Share for which the receive window was full and the congestion window was not.",
    ),
    ("pacing", "Share for which the sender's pacing rate held it back."),
    ("nic", "Share for which the flow could send, and its NIC was busy with others."),
    ("nic_drops_with_warmup", "nic_dropped_packets of the whole run."),
    ("host_marks_with_warmup", "host_marked_packets of the whole run."),
    ("nic_buffer_bytes", "Size of the NIC buffer in bytes."),
    ("pcie_limit_gbps", "Payload that the PCIe link carries at most, in Gb/s."),
    ("iio_slots", "IIO slots of the host."),
    (
        "memory_limit_gigabytes_per_s",
        "What the memory controller serves at most, in 10^9 bytes per second.",
    ),
    (
        "iio_target_lines",
        "Occupancy above which the control counts the host as congested (I_T); empty without such a control.",
    ),
    (
        "pcie_target_gbps",
        "PCIe bandwidth that the control grants the network (B_T), in Gb/s; empty without such a control.",
    ),
    ("nic_buffered_bytes", "Bytes in the NIC buffer at that instant."),
    ("level", "Throttle level in force at that instant; 0: none."),
    (
        "law_iio_occupancy_lines",
        "Smoothed occupancy as the control's law had it at that instant (I_S), in lines; empty without such a law.",
    ),
    (
        "law_pcie_gbps",
        "Smoothed PCIe bandwidth as the control's law had it at that instant (B_S), in Gb/s; empty without such a law.",
    ),
    ("series", "Name of the sampled quantity."),
    (
        "quantity",
        "What it is a series of: queue, goodput, window, in-flight, round-trip, flow-rate, paused or other.",
    ),
    ("unit", "Unit of its values."),
    (
        "at_ps",
        "Sampling instant in picoseconds of virtual time. In memory_series.csv rates, means and counts are of the interval that ends here.",
    ),
    ("value", "Value at that instant, in the unit of the same row; of a setting: its value."),
    // Summary.
    ("format", "Version of the layout of this file; raised when a key changes its meaning."),
    ("scenario", "Title of the scenario."),
    ("version", "Version of the program."),
    ("laws", "Congestion-control laws in use, the scenario's own first."),
    (
        "status",
        "running, complete, interrupted or failed; interrupted: a seed was cut short or is missing, and what is here is valid but partial; failed: something could not be written.",
    ),
    ("seeds", "Seeds that were simulated, in order. In manifest.json: those asked for."),
    ("seeds_missing", "Seeds that were asked for and are not here."),
    ("fct_definition", "Which completion fct means."),
    ("quantile_definition", "Which quantile p50, p95 and p99 are."),
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
        "Whether more than 1 % of the flows (in rpc: RPCs) that started in some seed had not finished: statistics leave these out, so that no percentile is that of all.",
    ),
    ("fct_us", "Receiver-delivered flow completion time in microseconds."),
    (
        "slowdown_acked",
        "Sender-acked FCT over ideal FCT: to the instant the sender knew that every byte had arrived.",
    ),
    ("fct_acked_us", "Sender-acked flow completion time in microseconds."),
    ("note", "What to beware of in these numbers; null: nothing."),
    ("reason", "Why it is not there."),
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
    ("mean_over_hosts", "The same quantities, within each seed averaged over these hosts."),
    ("mean_level", "Mean throttle level over time."),
    (
        "antagonists_gigabytes_per_s",
        "Memory traffic of each antagonist, in the order of the scenario, in 10^9 bytes per second. In CSV parted by semicolons.",
    ),
    (
        "senders",
        "Share of the time for which nothing queued in the host: senders and the network set the pace.",
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
    ("rpc", "RPCs; not there if no traffic entry makes any."),
    ("rpc_definition", "What latency, goodput and fairness of RPCs mean."),
    ("issued", "RPCs that clients issued, summed over seeds."),
    ("not_completed", "Of these, RPCs that were under way at the end, warm-up included."),
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
    ("ci95_absent_because", "Why there is no interval."),
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
    ("retransmitted_segments", "Segments sent again."),
    ("retransmit_rate", "Segments sent again per segment delivered."),
    ("timeouts_per_flow", "Retransmission timeouts per started flow."),
    ("pause_frames", "Pause frames sent, those that end a pause included."),
    ("paused_us", "Time for which ports were paused, all ports together, in microseconds."),
    (
        "paused_most_us",
        "Time for which the port was paused that was paused longest in one seed, in microseconds.",
    ),
    ("paused_most_port", "That port, sender->receiver; empty if none was paused."),
    ("max_queue_port", "The switch port with the largest queue, sender->receiver."),
    (
        "goodput_gbps",
        "Payload handed to applications over virtual time, all hosts together, in Gb/s (10^9 bit/s). For paths to memory: of that host's applications, after the warm-up.",
    ),
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
        "Payload of flows that arrived per second of virtual time, between the first arrival after the warm-up and the last, in Gb/s; flows with an end only.",
    ),
    (
        "carried_gbps",
        "Payload of completed flows, each spread evenly over its duration, per second of the same time, in Gb/s.",
    ),
    ("offered_load", "offered_gbps over the rates of all links from hosts, a fraction of 1."),
    ("carried_load", "carried_gbps over the rates of all links from hosts, a fraction of 1."),
    ("host_links", "Links with a host at either end, each direction its own link."),
    ("fabric_links", "Links between switches, each direction its own link."),
    ("links", "Links (directions) in the set, per seed."),
    ("mean_utilisation", "Mean utilisation of those links, a fraction of 1."),
    ("max_utilisation", "Utilisation of the busiest of them, a fraction of 1."),
    ("tiers", "Totals of ports by the kinds of node at their ends, summed over seeds."),
    (
        "drop_fraction",
        "Dropped over offered (sent + dropped) packets of the tier, a fraction of 1.",
    ),
    ("mark_fraction", "Marked over sent packets of the tier, a fraction of 1."),
    ("utilisation_mean", "Mean utilisation of the tier's links over all seeds, a fraction of 1."),
    ("utilisation_max", "Utilisation of the tier's busiest link in any seed, a fraction of 1."),
    // Manifest.
    ("program", "What wrote this directory."),
    (
        "warmup_ps",
        "Flows that arrived before this, in picoseconds of virtual time, are left out of FCT and slowdown.",
    ),
    (
        "size_classes_bytes",
        "Upper bounds of the size classes in bytes; a last class takes what is larger.",
    ),
    ("settings", "Settings shown in the report, key and value."),
    ("key", "The key of the scenario file that decides it."),
    ("definitions", "How the quantities are defined."),
    ("fct", "Definition of the flow completion time."),
    ("ideal_fct", "Definition of the ideal flow completion time."),
    ("quantile", "Definition of percentiles."),
    ("confidence_interval", "Definition of the intervals."),
    (
        "comparison",
        "What has to be alike in another simulator before rows may be compared one by one.",
    ),
    ("release", "When a packet stops counting towards its queue and the shared buffer."),
    ("rerun", "Command that makes the same bytes again, from inside this directory."),
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
    ("command", "The command as it was typed."),
];
