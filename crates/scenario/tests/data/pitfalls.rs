// Cases of the pairs in `forebay_scenario::pitfalls`: for its tests, and for those of the simulator, which run them.

/// A key and its value, as `--set` takes them.
pub type Sets = &'static [(&'static str, &'static str)];

/// A scenario with settings that do not work together, and with settings that do.
pub struct Case {
    pub pair: &'static str,
    pub base: &'static str,
    /// What both have.
    pub both: Sets,
    pub bad: Sets,
    pub good: Sets,
    /// Words of the sentence: keys and values.
    #[allow(dead_code, reason = "of the tests that read them")]
    pub says: &'static [&'static str],
    /// How the bad one ends, and the good one does not.
    #[allow(dead_code, reason = "of the tests that run them")]
    pub ends: Ends,
}

/// What is seen of a pair in results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Packets are sent again though none is lost.
    Repeats,
    /// The pair delivers less than half as much as its neighbour in the same time.
    Slow,
    /// No packet is marked.
    NoMark,
    /// Packets are dropped.
    Drops,
    /// Less than half of its flows are complete.
    Unfinished,
    /// Its fabric carries twice as many packets for each byte that is delivered.
    Hops,
    /// Its fabric is paused three times as often.
    Pauses,
    /// Results are to the bit those of the scenario with these settings instead, and not those of the neighbour.
    As(Sets),
    /// To the bit those of the neighbour: the setting does nothing.
    AsNeighbour,
    /// Twenty times fewer samples than the neighbour has.
    FewRows,
    /// Fifty times more.
    ManyRows,
    /// Something is not recorded, which changes no packet.
    Records,
}

/// Four hosts at one switch.
pub const STAR: &str = r#"version = 1
seeds = [1]
stop = { time = "20ms" }
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "10Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
rto_min = "1ms"
[[traffic]]
kind = "list"
flows = [{ from = "host[1]", to = "host[0]", size = "2MB" }, { from = "host[2]", to = "host[0]", size = "2MB" }]
"#;

/// Four hosts at one switch, under queue pairs.
pub const VERBS: &str = r#"version = 1
seeds = [1]
stop = { time = "20ms" }
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "10Gbps", delay = "1us" }
[transport]
kind = "rdma"
law = "dcqcn"
[[traffic]]
kind = "list"
flows = [{ from = "host[1]", to = "host[0]", size = "2MB" }, { from = "host[2]", to = "host[0]", size = "2MB" }]
"#;

/// Two racks with two paths between them.
pub const TREE: &str = r#"version = 1
seeds = [1]
stop = { time = "20ms" }
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "10Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
rto_min = "1ms"
[[traffic]]
kind = "list"
flows = [{ from = "leaf[0].host[0]", to = "leaf[1].host[0]", size = "2MB" }, { from = "leaf[0].host[1]", to = "leaf[1].host[1]", size = "2MB" }]
"#;

/// Two racks that queue by destination, with 30 us of cable between them and their spine.
const RACKS: &str = r#"version = 1
seeds = [1]
stop = { time = "5ms", flows = "ignore" }
[fabric]
kind = "leaf-spine"
leaves = 3
spines = 1
hosts_per_leaf = 2
host_link = { rate = "10Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "30us" }
[fabric.switch]
hierarchical = { law = "hiercc" }
[transport]
kind = "rdma"
law = "explicit"
[[traffic]]
kind = "long"
from = ["leaf[1].host[0]", "leaf[2].host[0]"]
to = "leaf[0].host[0]"
"#;

const LONG: (&str, &str) = ("traffic", r#"[{ kind = "long", from = "host[1]", to = "host[0]" }]"#);
const CREDITED: Sets = &[
    (
        "transport",
        r#"{ kind = "receiver-driven", law = "expresspass", routing = "ecmp-symmetric" }"#,
    ),
    ("fabric.switch", r#"{ classes = 2, credits = { class = 1 } }"#),
];

pub const CASES: &[Case] = &[
    Case {
        pair: "timeout and round trip",
        base: VERBS,
        both: &[("fabric.host_link.delay", r#""2ms""#), ("stop.time", r#""100ms""#)],
        bad: &[],
        good: &[("transport.timeout", r#""20ms""#)],
        says: &["transport.timeout = \"4ms\" (the default)", "8", "ms", "write more"],
        ends: Ends::Repeats,
    },
    Case {
        pair: "rto_low and round trip",
        base: VERBS,
        both: &[
            ("fabric.host_link.delay", r#""50us""#),
            ("transport.recovery", r#""selective""#),
            (
                "traffic",
                r#"[{ kind = "list", flows = [{ from = "host[1]", to = "host[0]", size = "3KB" }, { from = "host[2]", to = "host[0]", size = "3KB" }] }]"#,
            ),
        ],
        bad: &[],
        good: &[("transport.rto_low", r#""300us""#)],
        says: &["transport.rto_low = \"100us\"", "traffic[0]", "write more"],
        ends: Ends::Repeats,
    },
    Case {
        pair: "resend_after and round trip",
        base: STAR,
        both: &[
            ("fabric.host_link.delay", r#""600us""#),
            (
                "transport",
                r#"{ kind = "receiver-driven", law = "homa", priorities = 1, routing = "spray", window = "100KB" }"#,
            ),
            (
                "traffic",
                r#"[{ kind = "list", flows = [{ from = "host[1]", to = "host[0]", size = "500KB" }] }]"#,
            ),
        ],
        bad: &[],
        good: &[("transport.resend_after", r#""10ms""#)],
        says: &["transport.resend_after = \"2ms\"", "on their way"],
        ends: Ends::Repeats,
    },
    Case {
        pair: "request_timeout and round trip",
        base: RACKS,
        both: &[],
        bad: &[("fabric.switch.hierarchical.request_timeout", r#""1us""#)],
        good: &[("fabric.switch.hierarchical.request_timeout", r#""20us""#)],
        says: &["request_timeout = \"1us\"", "two racks", "120"],
        ends: Ends::Hops,
    },
    Case {
        pair: "rnr_timer and stop.time",
        base: VERBS,
        both: &[(
            "host.memory",
            r#"{ ddio = true, cache_model = "buffers", read_placed = true, cores = 1, per_packet = "10us", rq = { depth = 16, buffer = "4KiB", rnr = "nak" } }"#,
        )],
        bad: &[("transport.rnr_timer", r#""20ms""#)],
        good: &[("transport.rnr_timer", r#""20us""#)],
        says: &["transport.rnr_timer = \"20ms\"", "stop.time = \"20ms\"", "rnr"],
        ends: Ends::Slow,
    },
    Case {
        pair: "rto_min and timer_tick",
        base: STAR,
        both: &[("fault", r#"[{ at = "1ms", link = "host[0]-tor", loss = 1.0, for = "1ms" }]"#)],
        bad: &[("transport.timer_tick", r#""4ms""#)],
        good: &[("transport.timer_tick", r#""1ms""#)],
        says: &["transport.rto_min = \"1ms\"", "transport.timer_tick = \"4ms\""],
        ends: Ends::As(&[
            ("transport.timer_tick", r#""4ms""#),
            ("transport.rto_min", r#""100us""#),
        ]),
    },
    Case {
        pair: "cnp_interval and stop.time",
        base: VERBS,
        both: &[],
        bad: &[("transport.cnp_interval", r#""20ms""#)],
        good: &[],
        says: &["transport.cnp_interval = \"20ms\"", "stop.time = \"20ms\"", "dcqcn"],
        ends: Ends::As(&[("transport.cnp_interval", r#""1s""#)]),
    },
    Case {
        pair: "base_rtt and round trip",
        base: VERBS,
        both: &[
            ("transport.law", r#""hpcc""#),
            ("fabric.host_link.delay", r#""20us""#),
            ("transport.max_inflight", r#""none""#),
        ],
        bad: &[("transport.base_rtt", r#""10us""#)],
        good: &[("transport.base_rtt", r#""90us""#)],
        says: &["transport.base_rtt = \"10us\"", "hpcc"],
        ends: Ends::Slow,
    },
    Case {
        pair: "delay target and round trip",
        base: VERBS,
        both: &[
            ("transport.law", r#""timely""#),
            ("fabric.host_link.delay", r#""200us""#),
            ("stop.time", r#""50ms""#),
        ],
        bad: &[],
        good: &[("transport.params", r#"{ t_low = "900us", t_high = "2ms" }"#)],
        says: &["timely", "t_high", "500"],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "receive_window and delayed_ack",
        base: STAR,
        both: &[
            ("transport.delayed_ack", "true"),
            ("transport.initial_window", r#""1 packets""#),
            ("transport.rto_min", r#""50ms""#),
        ],
        bad: &[("transport.receive_window", r#""2000B""#)],
        good: &[("transport.receive_window", r#""64KiB""#)],
        says: &["transport.receive_window = \"2KB\"", "transport.delayed_ack = true"],
        ends: Ends::Slow,
    },
    Case {
        pair: "receive_window and initial_window",
        base: STAR,
        both: &[],
        bad: &[("transport.receive_window", r#""8KiB""#)],
        good: &[("transport.receive_window", r#""64KiB""#)],
        says: &["transport.initial_window = \"10 packets\"", "transport.receive_window = \"8KiB\""],
        ends: Ends::As(&[
            ("transport.receive_window", r#""8KiB""#),
            ("transport.initial_window", r#""5 packets""#),
        ]),
    },
    Case {
        pair: "receive_window and round trip",
        base: STAR,
        both: &[("fabric.host_link.delay", r#""100us""#), LONG],
        bad: &[("transport.receive_window", r#""64KiB""#)],
        good: &[("transport.receive_window", r#""1MiB""#)],
        says: &["transport.receive_window = \"64KiB\"", "round trip"],
        ends: Ends::Slow,
    },
    Case {
        pair: "max_inflight and round trip",
        base: VERBS,
        both: &[("fabric.host_link.delay", r#""100us""#), LONG],
        bad: &[("transport.max_inflight", r#""50KB""#)],
        good: &[("transport.max_inflight", r#""bdp""#)],
        says: &["transport.max_inflight = \"50KB\"", "round trip"],
        ends: Ends::Slow,
    },
    Case {
        pair: "socket_buffer and round trip",
        base: STAR,
        both: &[("fabric.host_link.delay", r#""100us""#), LONG],
        bad: &[("host.memory", r#"{ socket_buffer = "64KiB" }"#)],
        good: &[("host.memory", r#"{}"#)],
        says: &["host.memory.socket_buffer = \"64KiB\"", "round trip"],
        ends: Ends::Slow,
    },
    Case {
        pair: "window and round trip",
        base: VERBS,
        both: &[("fabric.host_link.delay", r#""100us""#)],
        bad: &[(
            "traffic",
            r#"[{ kind = "collective", op = "broadcast", ranks = ["host[0]", "host[1]"], bytes = "50MB", message = "50KB", window = "50KB" }]"#,
        )],
        good: &[(
            "traffic",
            r#"[{ kind = "collective", op = "broadcast", ranks = ["host[0]", "host[1]"], bytes = "50MB", message = "50KB", window = "2MB" }]"#,
        )],
        says: &["traffic[0].window = \"50KB\"", "round trip"],
        ends: Ends::Slow,
    },
    Case {
        pair: "ecn and port_limit",
        base: STAR,
        both: &[("fabric.switch.port_limit", r#""60 packets""#)],
        bad: &[("fabric.switch.ecn", r#"{ k = "65 packets" }"#)],
        good: &[("fabric.switch.ecn", r#"{ k = "20 packets" }"#)],
        says: &[
            "fabric.switch.ecn",
            "\"65 packets\"",
            "fabric.switch.port_limit = \"60 packets\"",
            "dctcp",
        ],
        ends: Ends::NoMark,
    },
    Case {
        pair: "ecn and buffer",
        base: STAR,
        both: &[("fabric.switch.buffer", r#"{ size = "100KB" }"#)],
        bad: &[("fabric.switch.ecn", r#"{ k = "60KB" }"#)],
        good: &[("fabric.switch.ecn", r#"{ k = "20KB" }"#)],
        says: &["fabric.switch.ecn", "\"60KB\"", "fabric.switch.buffer = \"100KB\"", "50KB"],
        ends: Ends::NoMark,
    },
    Case {
        pair: "ecn and law",
        base: STAR,
        both: &[("fabric.switch.classes", "2")],
        bad: &[("fabric.switch.ecn", r#"[{ classes = [1], k = "30KB" }]"#)],
        good: &[("fabric.switch.ecn", r#"[{ classes = [0], k = "30KB" }]"#)],
        says: &["fabric.switch.ecn marks no data of class 0", "transport.law = \"dctcp\""],
        ends: Ends::NoMark,
    },
    Case {
        pair: "ecn threshold and law",
        base: STAR,
        both: &[("fabric.host_link.delay", r#""100us""#)],
        bad: &[("fabric.switch.ecn", r#"{ k = "0B" }"#)],
        good: &[("fabric.switch.ecn", r#"{ k = "90KB" }"#)],
        says: &["fabric.switch.ecn", "\"0B\"", "transport.law = \"dctcp\""],
        ends: Ends::Slow,
    },
    Case {
        pair: "cnp_class and class",
        base: VERBS,
        both: &[
            ("fabric.switch.classes", "2"),
            ("transport.class", "1"),
            ("transport.ack_class", "1"),
        ],
        bad: &[("transport.cnp_class", "0")],
        good: &[],
        says: &["transport.cnp_class = 0", "traffic[0], 1"],
        ends: Ends::Records,
    },
    Case {
        pair: "not_ect and pause",
        base: STAR,
        both: &[
            ("transport.law", r#""cubic""#),
            ("fabric.switch.buffer", r#"{ size = "1MB" }"#),
            ("fabric.switch.classes", "2"),
            ("fabric.switch.pause", r#"{ classes = [0] }"#),
        ],
        bad: &[("fabric.switch.ecn", r#"{ k = "50KB", not_ect = "drop" }"#)],
        good: &[("fabric.switch.ecn", r#"{ k = "50KB" }"#)],
        says: &["class 0 is lossless", "fabric.switch.pause", "not_ect = \"drop\"", "50KB"],
        ends: Ends::Drops,
    },
    Case {
        pair: "law and pause",
        base: VERBS,
        both: &[
            ("transport.law", r#""fixed""#),
            ("transport.recovery", r#""selective""#),
            ("transport.max_inflight", r#""none""#),
            ("fabric.switch.buffer", r#"{ size = "1MB" }"#),
        ],
        bad: &[],
        good: &[("fabric.switch.pause", r#""on""#)],
        says: &["transport.law = \"fixed\"", "class 0", "fabric.switch.pause = \"on\""],
        ends: Ends::Drops,
    },
    Case {
        pair: "recovery and buffer",
        base: VERBS,
        both: &[
            ("fabric.hosts", "9"),
            ("fabric.host_link.delay", r#""5us""#),
            ("traffic", r#"[{ kind = "incast", fan_in = 8, to = "host[0]", size = "500KB" }]"#),
        ],
        bad: &[("fabric.switch.buffer", r#"{ size = "300KB" }"#)],
        good: &[
            ("fabric.switch.buffer", r#"{ size = "2MB" }"#),
            ("fabric.switch.pause", r#""on""#),
        ],
        says: &["transport.recovery = \"go-back-n\"", "8 senders", "150KB"],
        ends: Ends::Drops,
    },
    Case {
        pair: "recovery and loss",
        base: VERBS,
        both: &[
            ("fabric.override", r#"[{ where = "host[0]-tor", loss = 0.02 }]"#),
            ("fabric.host_link.delay", r#""5us""#),
        ],
        bad: &[],
        good: &[("transport.recovery", r#""selective""#)],
        says: &["transport.recovery = \"go-back-n\"", "fabric.override[0].loss = 0.02"],
        ends: Ends::Repeats,
    },
    Case {
        pair: "recovery and routing",
        base: TREE,
        both: &[("transport", r#"{ kind = "rdma", law = "dcqcn" }"#)],
        bad: &[("fabric.routing", r#""spray""#)],
        good: &[],
        says: &["fabric.routing = \"spray\"", "transport.recovery = \"go-back-n\""],
        ends: Ends::Repeats,
    },
    Case {
        pair: "buffer.alpha and packet",
        base: STAR,
        both: &[("transport.law", r#""reno""#)],
        bad: &[("fabric.switch.buffer", r#"{ size = "100KB", alpha = 0.01 }"#)],
        good: &[("fabric.switch.buffer", r#"{ size = "100KB", alpha = 1 }"#)],
        says: &["fabric.switch.buffer.alpha = 0.01", "100KB", "1500B"],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "credits.share and packet",
        base: STAR,
        both: CREDITED,
        bad: &[("transport.mss", r#""300B""#)],
        good: &[],
        says: &["fabric.switch.credits.share = \"84/1622\"", "transport.mss"],
        ends: Ends::Slow,
    },
    Case {
        pair: "resume_offset and xoff",
        base: VERBS,
        both: &[],
        bad: &[("fabric.switch.pause", r#"{ xoff = "3KB" }"#)],
        good: &[("fabric.switch.pause", r#"{ xoff = "100KB" }"#)],
        says: &["fabric.switch.pause.resume_offset = \"3KB\"", "xoff = \"3KB\""],
        ends: Ends::As(&[("fabric.switch.pause", r#"{ xoff = "3KB", resume_offset = "1MB" }"#)]),
    },
    Case {
        pair: "pool and packet",
        base: VERBS,
        both: &[("fabric.switch.ecn", r#""off""#)],
        bad: &[
            ("fabric.switch.buffer", r#"{ size = "41KB" }"#),
            ("fabric.switch.pause", r#"{ classes = [0], headroom = "10KB", reserved = "0B" }"#),
        ],
        good: &[
            ("fabric.switch.buffer", r#"{ size = "400KB" }"#),
            ("fabric.switch.pause", r#"{ classes = [0], headroom = "10KB", reserved = "0B" }"#),
        ],
        says: &["fabric.switch.buffer = \"41KB\"", "reserved = \"0B\"", "1KB"],
        ends: Ends::Pauses,
    },
    Case {
        pair: "xoff and buffer",
        base: VERBS,
        both: &[
            ("fabric.switch.ecn", r#""off""#),
            ("fabric.switch.buffer", r#"{ size = "100KB" }"#),
            (
                "traffic",
                r#"[{ kind = "list", flows = [{ from = "host[1]", to = "host[0]", size = "1MB" }, { from = "host[2]", to = "host[0]", size = "1MB" }, { from = "host[3]", to = "host[2]", size = "2MB" }] }]"#,
            ),
        ],
        bad: &[("fabric.switch.pause", r#"{ classes = [0], xoff = "80KB", headroom = "10KB" }"#)],
        good: &[("fabric.switch.pause", r#"{ classes = [0], xoff = "10KB", headroom = "10KB" }"#)],
        says: &["fabric.switch.pause.xoff = \"80KB\"", "fabric.switch.buffer = \"100KB\""],
        ends: Ends::Pauses,
    },
    Case {
        pair: "headroom and recovery",
        base: VERBS,
        both: &[
            ("fabric.host_link.rate", r#""100Gbps""#),
            ("fabric.switch.ecn", r#""off""#),
            ("fabric.switch.buffer", r#"{ size = "1MB" }"#),
            (
                "fabric.switch.pause",
                r#"{ classes = [0], headroom = "0B", short_headroom = "warn" }"#,
            ),
        ],
        bad: &[],
        good: &[("transport.recovery", r#""selective""#)],
        says: &["headroom = \"0B\"", "transport.recovery = \"go-back-n\"", "selective"],
        ends: Ends::Slow,
    },
    Case {
        pair: "watchdog and pauses",
        base: TREE,
        both: &[
            ("transport", r#"{ kind = "rdma", law = "dcqcn" }"#),
            ("fabric.switch.ecn", r#""off""#),
            (
                "traffic",
                r#"[{ kind = "list", flows = [{ from = "leaf[0].host[0]", to = "leaf[1].host[0]", size = "2MB" }, { from = "leaf[0].host[1]", to = "leaf[1].host[0]", size = "2MB" }] }]"#,
            ),
        ],
        bad: &[(
            "fabric.switch.pause",
            r#"{ classes = [0], xoff = "10KB", watchdog = { after = "2us" } }"#,
        )],
        good: &[(
            "fabric.switch.pause",
            r#"{ classes = [0], xoff = "10KB", watchdog = { after = "10ms" } }"#,
        )],
        says: &["fabric.switch.pause.watchdog.after = \"2us\"", "resume_offset = \"3KB\""],
        ends: Ends::Drops,
    },
    Case {
        pair: "watchdog and stop.time",
        base: VERBS,
        both: &[],
        bad: &[("fabric.switch.pause", r#"{ classes = [0], watchdog = { after = "200ms" } }"#)],
        good: &[("fabric.switch.pause", r#"{ classes = [0], watchdog = { after = "10ms" } }"#)],
        says: &["fabric.switch.pause.watchdog.after = \"200ms\"", "stop.time = \"20ms\""],
        ends: Ends::AsNeighbour,
    },
    Case {
        pair: "pcie_rate and link",
        base: STAR,
        both: &[LONG, ("stop.time", r#""2ms""#)],
        bad: &[("host.memory", r#"{ pcie_rate = "8Gbps" }"#)],
        good: &[("host.memory", r#"{ pcie_rate = "20Gbps" }"#)],
        says: &["host.memory.pcie_rate = \"8Gbps\"", "\"10Gbps\""],
        ends: Ends::Drops,
    },
    Case {
        pair: "bandwidth and link",
        base: STAR,
        both: &[LONG, ("stop.time", r#""2ms""#)],
        bad: &[("host.memory", r#"{ bandwidth = "3Gbps" }"#)],
        good: &[("host.memory", r#"{ bandwidth = "40Gbps" }"#)],
        says: &["host.memory.bandwidth = \"3Gbps\"", "\"10Gbps\""],
        ends: Ends::Slow,
    },
    Case {
        pair: "level and antagonist",
        base: STAR,
        both: &[LONG, ("stop.time", r#""1ms""#)],
        bad: &[("host.memory", r#"{ level = 3 }"#)],
        good: &[("host.memory", r#"{ level = 3, antagonist = [{ cores = 4 }] }"#)],
        says: &["host.memory.level = 3", "host.memory.antagonist"],
        ends: Ends::As(&[("host.memory", r#"{ level = 0 }"#)]),
    },
    Case {
        pair: "antagonist.on and stop.time",
        base: STAR,
        both: &[LONG, ("stop.time", r#""1ms""#)],
        bad: &[("host.memory", r#"{ antagonist = [{ cores = 4, on = "1ms", off = "1ms" }] }"#)],
        good: &[(
            "host.memory",
            r#"{ antagonist = [{ cores = 4, on = "100us", off = "100us" }] }"#,
        )],
        says: &["host.memory.antagonist.on = \"1ms\"", "stop.time = \"1ms\""],
        ends: Ends::As(&[("host.memory", r#"{ antagonist = [{ cores = 4 }] }"#)]),
    },
    Case {
        pair: "antagonist.start and stop.time",
        base: STAR,
        both: &[LONG, ("stop.time", r#""1ms""#)],
        bad: &[("host.memory", r#"{ antagonist = [{ cores = 24, start = "1ms" }] }"#)],
        good: &[("host.memory", r#"{ antagonist = [{ cores = 24, start = "100us" }] }"#)],
        says: &["host.memory.antagonist.start = \"1ms\"", "stop.time = \"1ms\""],
        ends: Ends::As(&[("host.memory", r#"{}"#)]),
    },
    Case {
        pair: "tx_jitter and link",
        base: STAR,
        both: &[LONG],
        bad: &[("host.tx_jitter", r#""10us""#)],
        good: &[("host.tx_jitter", r#""1us""#)],
        says: &["host.tx_jitter = \"10us\"", "\"10Gbps\""],
        ends: Ends::Slow,
    },
    Case {
        pair: "pacing and transport",
        base: VERBS,
        both: &[],
        bad: &[("host.pacing", r#""internal""#)],
        good: &[],
        says: &["host.pacing = \"internal\"", "transport.kind = \"rdma\""],
        ends: Ends::AsNeighbour,
    },
    Case {
        pair: "shaper.rate and link",
        base: STAR,
        both: &[],
        bad: &[(
            "fabric.shaper",
            r#"[{ where = "tor->host[0]", rate = "10Gbps", burst = "20KB" }]"#,
        )],
        good: &[(
            "fabric.shaper",
            r#"[{ where = "tor->host[0]", rate = "5Gbps", burst = "20KB" }]"#,
        )],
        says: &["fabric.shaper[0].rate = \"10Gbps\"", "tor->host[0]"],
        ends: Ends::As(&[]),
    },
    Case {
        pair: "stop.time and round trip",
        base: STAR,
        both: &[
            ("stop.grain", r#""1ns""#),
            ("traffic", r#"[{ kind = "permutation", size = "1KB" }]"#),
        ],
        bad: &[("stop.time", r#""4us""#)],
        good: &[("stop.time", r#""40us""#)],
        says: &["stop.time = \"4us\"", "traffic[0]", "round trip"],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "think and stop.time",
        base: STAR,
        both: &[],
        bad: &[(
            "traffic",
            r#"[{ kind = "rpc", from = "host[1]", to = "host[0]", request = "1KB", think = "20ms" }]"#,
        )],
        good: &[(
            "traffic",
            r#"[{ kind = "rpc", from = "host[1]", to = "host[0]", request = "1KB", think = "200us" }]"#,
        )],
        says: &["traffic[0].think = \"20ms\"", "stop.time = \"20ms\"", "1 RPC"],
        ends: Ends::Slow,
    },
    Case {
        pair: "service and stop.time",
        base: STAR,
        both: &[],
        bad: &[(
            "traffic",
            r#"[{ kind = "rpc", from = "host[1]", to = "host[0]", request = "1KB", service = "20ms" }]"#,
        )],
        good: &[(
            "traffic",
            r#"[{ kind = "rpc", from = "host[1]", to = "host[0]", request = "1KB", service = "200us" }]"#,
        )],
        says: &["traffic[0].service = \"20ms\"", "stop.time = \"20ms\""],
        ends: Ends::Slow,
    },
    Case {
        pair: "load and stop.time",
        base: STAR,
        both: &[],
        bad: &[("traffic", r#"[{ kind = "poisson", sizes = "10MB", load = 0.001 }]"#)],
        good: &[("traffic", r#"[{ kind = "poisson", sizes = "10KB", load = 0.1 }]"#)],
        says: &["traffic[0].load = 0.001", "stop.time = \"20ms\""],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "stagger and stop.time",
        base: STAR,
        both: &[],
        bad: &[(
            "traffic",
            r#"[{ kind = "long", from = ["host[1]", "host[2]"], to = "host[0]", stagger = "20ms" }]"#,
        )],
        good: &[(
            "traffic",
            r#"[{ kind = "long", from = ["host[1]", "host[2]"], to = "host[0]", stagger = "1ms" }]"#,
        )],
        says: &["traffic[0].stagger = \"20ms\"", "1 of 2", "stop.time = \"20ms\""],
        ends: Ends::As(&[(
            "traffic",
            r#"[{ kind = "long", from = ["host[1]"], to = "host[0]" }]"#,
        )]),
    },
    Case {
        pair: "incast.every and link",
        base: STAR,
        both: &[("stop.time", r#""10ms""#)],
        bad: &[(
            "traffic",
            r#"[{ kind = "incast", fan_in = 3, size = "1MB", to = "host[0]", rounds = 8, every = "1ms" }]"#,
        )],
        good: &[(
            "traffic",
            r#"[{ kind = "incast", fan_in = 3, size = "300KB", to = "host[0]", rounds = 8, every = "1ms" }]"#,
        )],
        says: &["traffic[0].every = \"1ms\"", "3 senders of \"1MB\"", "\"10Gbps\""],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "warmup and starts",
        base: STAR,
        both: &[],
        bad: &[("output.warmup", r#""2ms""#)],
        good: &[],
        says: &["output.warmup = \"2ms\"", "all flows"],
        ends: Ends::Records,
    },
    Case {
        pair: "samples and stop.time",
        base: STAR,
        both: &[],
        bad: &[("output.queues", r#"{ every = "20ms" }"#)],
        good: &[("output.queues", r#"{ every = "100us" }"#)],
        says: &["output.queues.every = \"20ms\"", "stop.time = \"20ms\""],
        ends: Ends::FewRows,
    },
    Case {
        pair: "samples and packets",
        base: STAR,
        both: &[("stop.time", r#""10us""#), ("stop.flows", r#""ignore""#)],
        bad: &[("output.flows", r#"{ every = "1ns" }"#)],
        good: &[("output.flows", r#"{ every = "100ns" }"#)],
        says: &["output.flows.every = \"1ns\"", "\"10Gbps\""],
        ends: Ends::ManyRows,
    },
    Case {
        pair: "places and traffic",
        base: STAR,
        both: &[],
        bad: &[("output.capture", r#"[{ where = "host[3]" }]"#)],
        good: &[("output.capture", r#"[{ where = "host[1]" }]"#)],
        says: &["output.capture[0].where = \"host[3]\"", "\"host[0]\""],
        ends: Ends::Records,
    },
    Case {
        pair: "flow numbers and traffic",
        base: STAR,
        both: &[],
        bad: &[("output.law_log", r#"{ flows = [2] }"#)],
        good: &[("output.law_log", r#"{ flows = [1] }"#)],
        says: &["output.law_log.flows = [2]", "there are 2"],
        ends: Ends::Records,
    },
    Case {
        pair: "why and endless flows",
        base: STAR,
        both: &[("output.why", "{}"), ("stop.time", r#""1ms""#)],
        bad: &[LONG],
        good: &[],
        says: &["output.why", "kind = \"long\""],
        ends: Ends::Records,
    },
    Case {
        pair: "dead cable and routes",
        base: TREE,
        both: &[(
            "fault",
            r#"[{ at = "0s", link = "leaf[0]-spine[0]" }, { at = "0s", link = "leaf[1]-spine[0]" }]"#,
        )],
        bad: &[],
        good: &[("fabric.reroute_after", r#""10us""#)],
        says: &["fault[0] with change = \"down\"", "leaf[0]-spine[0]", "fabric.reroute_after"],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "dead cable and hosts",
        base: VERBS,
        both: &[],
        bad: &[("fault", r#"[{ at = "0s", link = "host[0]-tor" }]"#)],
        good: &[("fault", r#"[{ at = "0s", link = "host[0]-tor", for = "1ms" }]"#)],
        says: &["fault[0] with change = \"down\"", "host[1] to host[0]"],
        ends: Ends::Unfinished,
    },
    Case {
        pair: "fault and traffic",
        base: STAR,
        both: &[],
        bad: &[("fault", r#"[{ at = "100us", link = "host[3]-tor", for = "1ms" }]"#)],
        good: &[("fault", r#"[{ at = "100us", link = "host[1]-tor", for = "1ms" }]"#)],
        says: &["fault[0].link = \"host[3]-tor\"", "changes nothing"],
        ends: Ends::As(&[]),
    },
    Case {
        pair: "reroute_after and fault",
        base: TREE,
        both: &[("fault", r#"[{ at = "1ms", link = "leaf[0]-spine[0]" }]"#)],
        bad: &[("fabric.reroute_after", r#""19ms""#)],
        good: &[("fabric.reroute_after", r#""100us""#)],
        says: &["fabric.reroute_after = \"19ms\"", "fault[0]", "stop.time = \"20ms\""],
        ends: Ends::As(&[]),
    },
];
