//! Whether this machine can keep unread data in its cache with `forebay-credits`: caches, DDIO, RDMA devices, and the limit.

use super::FindingSection;
use forebay_credits::{Limit, NoLimit, OTHERS_PERCENT};
use forebay_linux::Root;
use forebay_linux::caches::{caches, ddio_ways, rdma_devices};
use forebay_linux::machine::Machine;

pub fn credits(root: &Root, machine: &Machine, found: &mut FindingSection<'_>) {
    let caches = caches(root);
    let last = caches.iter().map(|of| of.level).max();
    let last: Vec<_> = caches.iter().filter(|of| Some(of.level) == last).collect();
    if let Some(of) = last.first() {
        let ways = if of.ways > 0 { format!("{} ways", of.ways) } else { "ways unknown".into() };
        found.yes(
            "last-level cache",
            format!(
                "L{}, {} of {}, {ways}, lines of {} B, each for {} CPUs",
                of.level,
                last.len(),
                size(of.bytes),
                of.line,
                of.shared_by
            ),
        );
    } else {
        let remedy = "run on the machine itself, or give the limit by hand (carc-bench --limit)";
        found.no("last-level cache", NoLimit::NoCache.to_string(), Some(remedy.into()));
    }
    ddio(root, machine, last.first().map_or(0, |of| of.ways), found);
    let devices = rdma_devices(root);
    for of in &devices {
        let node = of.node.filter(|node| *node >= 0);
        let node = node.map_or(String::new(), |node| format!(", memory node {node}"));
        let ports = if of.ports.is_empty() { "no ports".into() } else { of.ports.join(", ") };
        found.yes(format!("RDMA {}", of.name), format!("ports {ports}{node}"));
    }
    if devices.is_empty() {
        let why = "/sys/class/infiniband has no device: credits work over shared memory only";
        found.no("RDMA", why, Some("rdma link add rxe0 type rxe netdev eth0 (soft-RoCE)".into()));
    }
    let node = devices.iter().find_map(|of| u32::try_from(of.node?).ok());
    match Limit::choose(&caches, node, OTHERS_PERCENT) {
        Ok(of) => {
            let near =
                node.map_or(String::new(), |node| format!(" of the RDMA device's node {node}"));
            let several = if last.len() > 1 { ", one of them, as a buffer is in one" } else { "" };
            let why = format!(
                "{}, {} lines: the L{} of {}{near} less {OTHERS_PERCENT} % for others{several}",
                size(of.bytes()),
                of.lines,
                of.of.level,
                size(of.of.bytes)
            );
            found.yes("limit", why);
        }
        Err(why) => {
            found.no("limit", why.to_string(), Some("carc-bench --limit 8M, for instance".into()))
        }
    }
}

/// How much of the cache the NIC may fill, where that can be read.
fn ddio(root: &Root, machine: &Machine, ways: u32, found: &mut FindingSection<'_>) {
    if machine.vendor != "GenuineIntel" {
        return found.no("DDIO", "only Intel processors have it: NICs write to memory here", None);
    }
    match ddio_ways(root) {
        Ok(of) => found.yes("DDIO", format!("the NIC may fill {of} of {ways} ways (MSR 0xc8b)")),
        Err(error) => {
            let remedy = "modprobe msr, and run as root";
            found.no("DDIO", format!("/dev/cpu/0/msr: {error}"), Some(remedy.into()));
        }
    }
}

/// `24 MiB`, `36 KiB`.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}
