//! Benches of receiver-driven transports, each through the switches that its transport is made for.
//!
//! `ndp-perm` has what csg-htsim runs as NDP: 4,000 B of payload and 64 B of header, queues of eight packets, headers always before data,
//! and an ACK per packet beside the pulls. `xpass-perm` has ExpressPass's frames and credits, 1,538 and 84 B on the wire, and ports of 4 MB
//! as other permutations. The fabric of `homa-websearch-160` is that of the Dilemma paper (APNet 2023): 10 racks of 16 hosts under 4 spines, all
//! links of one rate.

use super::{Case, Family};
use forebay_units::Span;

/// Virtual time of `homa-websearch-160`: some tens of millions of packet-hops.
pub(super) const WEBSEARCH: Span = Span::from_ms(10);

/// Bytes of a full data packet, header included.
pub(super) fn mtu(family: Family) -> u32 {
    if family == Family::NdpPerm { 4064 } else { 1500 }
}

/// The scenario file of such a bench.
pub(super) fn scenario(case: &Case) -> String {
    let (fabric, transport) = match case.family {
        Family::NdpPerm => (NDP_FABRIC, NDP_TRANSPORT),
        Family::XpassPerm => (XPASS_FABRIC, XPASS_TRANSPORT),
        _ => (HOMA_FABRIC, HOMA_TRANSPORT),
    };
    let (flows, layout, traffic) = if case.family.is_to_completion() {
        let layout = format!("kind = \"fat-tree\"\ntiers = 3\nk = {}", case.k);
        ("all", layout, "kind = \"permutation\"\nsize = \"2MB\"")
    } else {
        let layout = "kind = \"leaf-spine\"\nleaves = 10\nspines = 4\nhosts_per_leaf = 16".into();
        (
            "ignore",
            layout,
            "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.8\nload_ref = \"core\"",
        )
    };
    format!(
        "version = 1\nname = \"{}\"\nseeds = [1]\nstop = {{ time = \"{}\", flows = \"{flows}\" }}\n\n\
         [fabric]\n{layout}\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\nfabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n{fabric}\n\n\
         [transport]\nkind = \"receiver-driven\"\n{transport}\n\n\
         [[traffic]]\n{traffic}\n",
        case.name,
        case.stop()
    )
}

const NDP_FABRIC: &str = r#"routing = "spray"

[fabric.switch]
classes = 2
buffer = "none"
ecn = "off"
limits = [
    { class = 0, size = "8 packets", over = { trim_to = "64B", class = 1 } },
    { class = 1, size = "64KB" },
]"#;

const NDP_TRANSPORT: &str = r#"law = "ndp"
mss = "4000B"
header = "64B"
ack_class = 1"#;

const XPASS_FABRIC: &str = r#"routing = "ecmp-symmetric"
wire_overhead = "38B"

[fabric.switch]
classes = 2
buffer = "none"
port_limit = "4MB"
ecn = "off"
credits = { class = 1, share = "84/1622", burst = "168B", limit = "672B" }"#;

const XPASS_TRANSPORT: &str = r#"law = "expresspass"
mss = "1460B"
header = "40B"
ack_size = "46B""#;

const HOMA_FABRIC: &str = r#"routing = "spray"

[fabric.switch]
classes = 8
buffer = { size = "32MB" }
ecn = "off"

[host]
nic = "srpt""#;

const HOMA_TRANSPORT: &str = r#"law = "homa"
ack_class = 7"#;
