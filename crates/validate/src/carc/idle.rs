//! Figure 7 of CARC: cores that idle under basic credits, and do not under loosened ones.
//!
//! Assumption, all of it: the paper gives no setting. Eight cores read some 17 Gb/s each over a round trip of 44 us, in which they read 0.75 MB; basic credits
//! are for 512 KiB.

use crate::bench::run;
use crate::measured::MeasuredRows;

/// The part with this figure.
pub(super) const PART: &str = "idle";

/// Names of both in ids of rows, and the most that delta adds to C, %.
const CREDITS: [(&str, u32); 2] = [("basic", 0), ("loosened", 100)];

/// Share of the time in which cores idle.
pub(super) fn measure(quick: bool, measured: &mut MeasuredRows) {
    let (warm, end) = if quick { (2e-3, 6e-3) } else { (5e-3, 25e-3) };
    for (name, most) in CREDITS {
        let text = format!(
            "[fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"200Gbps\", delay = \"11us\" }}\n\
             [fabric.switch]\npause = \"on\"\n[transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nparams = {{ timers = \"paper\" }}\nmtu = \"4096B\"\n\
             [[host.override]]\nwhere = \"host[0]\"\n[host.override.memory]\nread_placed = true\nper_kilobyte = \"400ns\"\nbandwidth = \"1013Gbps\"\n\
             pcie_rate = \"252.06Gbps\"\niio_slots = 186\nddio = true\ncache_model = \"buffers\"\n\
             rq = {{ depth = 4096, buffer = \"4KiB\", rnr = \"nak\" }}\n\
             [[traffic]]\nkind = \"rpc\"\nfrom = \"host[1]\"\nto = \"host[0]\"\nconnections = 8\noutstanding = 64\nrequest = \"4048B\"\nresponse = \"64B\"\n\
             pool = {{ law = \"carc\", cache = \"512KiB\", params = {{ most_above = \"{most}\" }} }}\n"
        );
        let seen = run("idle", &text, warm, end);
        let server = seen.record.memory.first().expect("the server has a path to memory");
        let idle = 100.0 * (1.0 - server.reading / 8.0);
        let remark = format!("{:.1} Gb/s", server.goodput_gbps());
        measured.insert_saying(format!("{PART}-fig7-{name}"), idle, remark);
    }
}
