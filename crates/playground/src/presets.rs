//! Scenarios of a size that a browser carries, with the values of each that the page lets one change.

/// A scenario to play with.
pub struct Preset {
    /// Name in links.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What to look at and to try, in two sentences.
    pub hint: &'static str,
    /// TOML text of the scenario.
    pub text: &'static str,
    /// The port whose queue is drawn at first, `node->peer`; empty: the longest queue.
    pub watch: &'static str,
    /// What may be changed beside the text.
    pub controls: &'static [Control],
}

/// A value that may be changed beside the text.
pub enum Control {
    /// One of a few words, each with the TOML that stands for it; empty: without the key.
    Choice {
        /// Name.
        label: &'static str,
        /// Path of the key.
        key: &'static str,
        /// Words and values.
        options: &'static [(&'static str, &'static str)],
    },
    /// One of some values in their order.
    Slider {
        /// Name.
        label: &'static str,
        /// Path of the key.
        key: &'static str,
        /// Values in TOML.
        values: &'static [&'static str],
    },
}

use Control::{Choice, Slider};

/// TCP and RDMA laws: the transport as a whole, since its other keys differ.
macro_rules! transports {
    ($rto:literal) => {
        Choice {
            label: "Law",
            key: "transport",
            options: &[
                ("DCTCP", concat!("{ kind = \"tcp\", law = \"dctcp\", rto_min = \"", $rto, "\" }")),
                ("CUBIC", concat!("{ kind = \"tcp\", law = \"cubic\", rto_min = \"", $rto, "\" }")),
                ("Reno", concat!("{ kind = \"tcp\", law = \"reno\", rto_min = \"", $rto, "\" }")),
                ("Swift", concat!("{ kind = \"tcp\", law = \"swift\", rto_min = \"", $rto, "\" }")),
                ("DCQCN", "{ kind = \"rdma\", law = \"dcqcn\" }"),
                ("HPCC", "{ kind = \"rdma\", law = \"hpcc\" }"),
                ("PowerTCP", "{ kind = \"rdma\", law = \"powertcp\" }"),
                ("Timely", "{ kind = \"rdma\", law = \"timely\" }"),
            ],
        }
    };
}

const SEED: Control = Slider {
    label: "Seed",
    key: "seeds",
    values: &["[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]"],
};

/// All of them.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "incast",
        title: "Incast",
        hint: "32 servers answer host[0] at once. Take the buffer below 1 MB: first windows alone overflow it, and a lost tail costs a timeout of 10 ms.",
        text: include_str!("../presets/incast.toml"),
        watch: "tor->host[0]",
        controls: &[
            transports!("10ms"),
            Slider {
                label: "Servers",
                key: "traffic[0].fan_in",
                values: &["4", "8", "16", "24", "32", "40"],
            },
            Slider {
                label: "Answer of each",
                key: "traffic[0].size",
                values: &["\"8KB\"", "\"16KB\"", "\"32KB\"", "\"64KB\"", "\"128KB\""],
            },
            Slider {
                label: "Switch buffer",
                key: "fabric.switch.buffer.size",
                values: &["\"250KB\"", "\"500KB\"", "\"1MB\"", "\"2MB\"", "\"4MB\"", "\"8MB\""],
            },
            Slider {
                label: "Marking threshold",
                key: "fabric.switch.ecn.k",
                values: &[
                    "\"5 packets\"",
                    "\"20 packets\"",
                    "\"65 packets\"",
                    "\"130 packets\"",
                    "\"260 packets\"",
                ],
            },
            SEED,
        ],
    },
    Preset {
        name: "websearch",
        title: "Web search",
        hint: "Small flows wait behind large ones. Compare the slowdown of small flows under CUBIC with that under DCTCP or HPCC, then raise the load.",
        text: include_str!("../presets/websearch.toml"),
        watch: "",
        controls: &[
            transports!("5ms"),
            Slider {
                label: "Load of host links",
                key: "traffic[0].load",
                values: &["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"],
            },
            Slider {
                label: "Switch buffer",
                key: "fabric.switch.buffer.size",
                values: &["\"500KB\"", "\"1MB\"", "\"2MB\"", "\"4MB\"", "\"8MB\"", "\"16MB\""],
            },
            Slider {
                label: "Marking threshold at 10 Gb/s",
                key: "fabric.switch.ecn.k",
                values: &["\"3KB\"", "\"10KB\"", "\"30KB\"", "\"60KB\"", "\"120KB\""],
            },
            Slider { label: "Spines", key: "fabric.spines", values: &["1", "2", "3", "4"] },
            SEED,
        ],
    },
    Preset {
        name: "host-congestion",
        title: "Host congestion, hostCC",
        hint: "The fabric is idle and the NIC is the bottleneck: from 2 ms on other cores use the memory. Switch hostCC off and watch the NIC buffer overflow.",
        text: include_str!("../presets/host-congestion.toml"),
        watch: "tor->host[1]",
        controls: &[
            Choice {
                label: "Control of the host",
                key: "host.override[0].memory.control",
                options: &[("hostCC", "{ law = \"hostcc\" }"), ("none", "")],
            },
            Choice {
                label: "Law",
                key: "transport.law",
                options: &[
                    ("DCTCP", "\"dctcp\""),
                    ("CUBIC", "\"cubic\""),
                    ("Reno", "\"reno\""),
                    ("Swift", "\"swift\""),
                ],
            },
            Slider {
                label: "Cores of the antagonist",
                key: "host.override[0].memory.antagonist[0].cores",
                values: &["0", "1", "2", "3", "4", "6", "8"],
            },
            Slider {
                label: "NIC buffer",
                key: "host.override[0].memory.nic_buffer",
                values: &["\"128KB\"", "\"256KB\"", "\"512KB\"", "\"1MB\"", "\"2MB\""],
            },
        ],
    },
    Preset {
        name: "pfc-storm",
        title: "PFC storm",
        hint: "One slow host pauses its switch, and the pauses reach hosts that never send to it. hostCC at that host, or another seed (other paths), frees them.",
        text: include_str!("../presets/pfc-storm.toml"),
        watch: "leaf[0]->leaf[0].host[0]",
        controls: &[
            Choice {
                label: "Law",
                key: "transport.law",
                options: &[
                    ("DCQCN", "\"dcqcn\""),
                    ("HPCC", "\"hpcc\""),
                    ("PowerTCP", "\"powertcp\""),
                    ("Swift", "\"swift\""),
                ],
            },
            Choice {
                label: "Control of the slow host",
                key: "host.override[0].memory.control",
                options: &[("hostCC", "{ law = \"hostcc\" }"), ("none", "")],
            },
            Choice {
                label: "Marks at switches",
                key: "fabric.switch.ecn",
                options: &[
                    ("on", "{ kmin = \"400KB\", kmax = \"1600KB\", pmax = 0.2 }"),
                    ("off", "\"off\""),
                ],
            },
            Slider {
                label: "Cores of the antagonist",
                key: "host.override[0].memory.antagonist[0].cores",
                values: &["0", "1", "2", "3", "4", "6"],
            },
            Slider {
                label: "Switch buffer",
                key: "fabric.switch.buffer.size",
                values: &["\"2MB\"", "\"4MB\"", "\"8MB\"", "\"16MB\""],
            },
            SEED,
        ],
    },
    Preset {
        name: "ai-straggler",
        title: "One slow server",
        hint: "Eight servers add up 32 MiB each in a ring, and all wait for host[7], whose memory is busy. Switch hostCC on, or let the NIC drop instead of pausing the switch.",
        text: include_str!("../presets/ai-straggler.toml"),
        watch: "tor->host[7]",
        controls: &[
            Slider {
                label: "Busy cores of host[7]",
                key: "host.override[0].memory.antagonist[0].cores",
                values: &["0", "1", "2", "3"],
            },
            Choice {
                label: "A full NIC",
                key: "host.override[0].memory.pause_above",
                options: &[("pauses", "\"192KB\""), ("drops", "")],
            },
            Choice {
                label: "Control of host[7]",
                key: "host.override[0].memory.control",
                options: &[("none", ""), ("hostCC", "{ law = \"hostcc\" }")],
            },
            Choice {
                label: "Law",
                key: "transport.law",
                options: &[("DCQCN", "\"dcqcn\""), ("Swift", "\"swift\""), ("fixed", "\"fixed\"")],
            },
            Slider {
                label: "Array of each server",
                key: "traffic[0].bytes",
                values: &["\"4MiB\"", "\"8MiB\"", "\"16MiB\"", "\"32MiB\"", "\"64MiB\""],
            },
        ],
    },
    Preset {
        name: "hiercc",
        title: "HierCC",
        hint: "Twelve flows share one port; two others do not need it. Give the racks fewer queues, one for each rack or pod, and the two wait behind the twelve.",
        text: include_str!("../presets/hiercc.toml"),
        watch: "pod[0].edge[0]->pod[0].edge[0].host[0]",
        controls: &[
            Choice {
                label: "A queue for each",
                key: "fabric.switch.hierarchical.queue_for",
                options: &[("host", "\"host\""), ("rack", "\"rack\""), ("pod", "\"pod\"")],
            },
            Slider {
                label: "Links of hosts",
                key: "fabric.host_link.rate",
                values: &["\"10Gbps\"", "\"25Gbps\"", "\"40Gbps\"", "\"100Gbps\""],
            },
            Slider {
                label: "Delay of links in the fabric",
                key: "fabric.fabric_link.delay",
                values: &["\"500ns\"", "\"1us\"", "\"2us\"", "\"5us\"", "\"10us\""],
            },
        ],
    },
    Preset {
        name: "nv-beside-cubic",
        title: "NV beside CUBIC",
        hint: "NV keeps its queue short; a CUBIC flow joins at 200 ms and fills the buffer, and NV gives way. Let another law join instead, or shorten the queue.",
        text: include_str!("../presets/nv-beside-cubic.toml"),
        watch: "left->right",
        controls: &[
            Choice {
                label: "Law that joins",
                key: "traffic[1].law",
                options: &[
                    ("CUBIC", "\"cubic\""),
                    ("Reno", "\"reno\""),
                    ("BIC", "\"bic\""),
                    ("NV", "\"nv\""),
                ],
            },
            Slider {
                label: "Limit of the queue",
                key: "fabric.switch.port_limit",
                values: &["\"25 packets\"", "\"80 packets\"", "\"250 packets\"", "\"800 packets\""],
            },
            Slider {
                label: "It joins at",
                key: "traffic[1].start",
                values: &["\"0ms\"", "\"50ms\"", "\"200ms\"", "\"500ms\""],
            },
        ],
    },
];
