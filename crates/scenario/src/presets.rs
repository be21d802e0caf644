//! The scenarios that come with the product, for `forebay new` and `forebay run --preset`: those of `scenarios/`, which a test
//! holds against this list.

/// A scenario to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Name, as the file's.
    pub name: &'static str,
    /// TOML text, with comments.
    pub text: &'static str,
}

/// Scenarios of one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The subject, for people.
    pub title: &'static str,
    /// Its scenarios, the one to begin with first.
    pub presets: &'static [Preset],
}

impl Preset {
    /// The first sentence of its comment.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// What a reader of its results should know: the line of its comment that begins with "Note:".
    pub fn note(&self) -> Option<&'static str> {
        self.text.lines().find_map(|line| line.strip_prefix("# Note: "))
    }
}

/// Files that `forebay new` writes into a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Name.
    pub name: &'static str,
    /// What they are, for people.
    pub title: &'static str,
    /// The command to go on with, for the folder DIR.
    pub next: &'static str,
    /// Names and texts of the files.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! samples {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../scenarios/import/", $folder, $name)))),*]
    };
}

/// A congestion control in C for Linux, with what it takes to compile it and to run it here.
pub const BPF_LAW: Sample = Sample {
    name: "bpf-law",
    title: "A congestion control in C, compiled for Linux and run here.",
    next: "make -C DIR && forebay run DIR/try.toml",
    files: &[
        ("halve.bpf.c", include_str!("../../bpf/c/halve.bpf.c")),
        ("tcp.h", include_str!("../../bpf/c/tcp.h")),
        ("kernel.h", include_str!("../../bpf/c/kernel.h")),
        ("Makefile", include_str!("../samples/bpf-law/Makefile")),
        ("README.md", include_str!("../samples/bpf-law/README.md")),
        ("try.toml", include_str!("../samples/bpf-law/try.toml")),
    ],
};

/// Everything that is several files.
pub fn samples() -> impl Iterator<Item = &'static Sample> {
    SAMPLES.iter().chain([&BPF_LAW])
}

/// Files of other simulators to try `forebay import` with.
pub const SAMPLES: &[Sample] = &[
    Sample {
        name: "import-hpcc",
        title: "Config, topology and flows of the public HPCC simulator (ns-3).",
        next: "forebay import ns3-hpcc --config DIR/config.txt --out mine --start-at 0s",
        files: samples!("hpcc/": "config.txt" "topology.txt" "flow.txt"),
    },
    Sample {
        name: "import-htsim",
        title: "Connection matrices and a topology of csg-htsim.",
        next: "forebay import htsim DIR/permutation.cm --topology DIR/leaf-spine.topo --out mine",
        files: samples!("htsim/": "permutation.cm" "leaf-spine.topo" "incast.cm"),
    },
    Sample {
        name: "import-cdf",
        title: "Flow sizes and their probabilities.",
        next: "forebay import cdf DIR/sizes.txt --out mine",
        files: samples!("": "sizes.txt"),
    },
];

macro_rules! group {
    ($title:literal: $($name:literal)*) => {
        Group {
            title: $title,
            presets: &[$(Preset {
                name: $name,
                text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
            }),*],
        }
    };
}

/// All of them by subject, the main job first.
pub const GROUPS: &[Group] = &[
    group!("First steps": "websearch" "incast" "permutation" "rpc" "dumbbell-reno" "graph" "capture"),
    group!("RDMA and lossless fabrics": "rdma-websearch" "pfc-storm" "pfc-victim" "link-pause" "tcp-beside-rdma" "hpcc-long-runs"),
    group!("Training jobs": "ring-allreduce" "ai-straggler" "ai-checkpoints"),
    group!("Hosts": "host-congestion" "host-features" "cache-of-buffers" "nv-against-cubic"),
    group!("Faults": "link-failure"),
    group!("Receiver-driven transports": "ndp" "ndp-incast" "ndp-oversubscribed" "homa" "homa-rpc" "homa-priorities" "homa-beside-dcqcn" "expresspass" "expresspass-parking-lot" "aeolus" "aeolus-k"),
    group!("Credits of receiving hosts (CARC)": "carc-fast-producer" "carc-slow-consumer" "carc-rivals" "carc-storm" "carc-oscillation" "carc-pingpong" "carc-polling" "carc-pulls" "carc-rings" "carc-channels" "carc-credits-of-d" "carc-idle-connections" "carc-400g"),
    group!("Credits between racks (HierCC)": "hiercc-queues" "hiercc-queues-traffic"),
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Preset> {
    GROUPS.iter().flat_map(|group| group.presets)
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    all().find(|p| p.name == name)
}
