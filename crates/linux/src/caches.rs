//! Caches of the processors, and what may share them: sysfs `cpu*/cache`, memory nodes, RDMA devices.
//!
//! Source: kernel documentation, `ABI/testing/sysfs-devices-system-cpu`, `ABI/stable/sysfs-class-infiniband`.

use crate::Root;
use forebay_credits::{Cache, parse_size};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;

const CPUS: &str = "/sys/devices/system/cpu";

/// Data caches of the machine, each once. A cache of which a file is missing or unreadable is left out.
pub fn caches(root: &Root) -> Vec<Cache> {
    let mut found = BTreeMap::new();
    for cpu in cpus(root) {
        for index in 0..8 {
            let folder = format!("{CPUS}/cpu{cpu}/cache/index{index}");
            let text = |name: &str| root.read(&format!("{folder}/{name}")).ok();
            let Some(kind) = text("type") else { break };
            if kind == "Instruction" {
                continue;
            }
            let number = |name: &str| text(name).and_then(|text| text.parse::<u32>().ok());
            let bytes = text("size").and_then(|text| parse_size(&text)).filter(|bytes| *bytes > 0);
            let (Some(level), Some(bytes)) = (number("level"), bytes) else { continue };
            let shared = text("shared_cpu_list").unwrap_or_default();
            let cache = Cache {
                level: level.min(255) as u8,
                bytes,
                line: number("coherency_line_size").unwrap_or(64),
                ways: number("ways_of_associativity").unwrap_or(0),
                node: node_of(root, cpu).unwrap_or(0),
                shared_by: count(&shared).max(1),
            };
            let shared = if shared.is_empty() { cpu.to_string() } else { shared };
            found.entry((level, shared)).or_insert(cache);
        }
    }
    found.into_values().collect()
}

/// Processors that have a folder, in order.
fn cpus(root: &Root) -> Vec<u32> {
    let names = root.names(CPUS);
    let mut found: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    found.sort_unstable();
    found
}

/// Memory node of a processor.
fn node_of(root: &Root, cpu: u32) -> Option<u32> {
    let names = root.names(&format!("{CPUS}/cpu{cpu}"));
    names.iter().find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// Processors of a list such as `0-3,8`.
fn count(list: &str) -> u32 {
    let of = |part: &str| -> Option<u32> {
        match part.split_once('-') {
            Some((from, to)) => {
                to.parse::<u32>().ok()?.checked_sub(from.parse().ok()?)?.checked_add(1)
            }
            None => part.parse::<u32>().ok().map(|_| 1),
        }
    };
    list.trim().split(',').filter_map(of).fold(0, u32::saturating_add)
}

/// Memory node that has most pages of the mapping at an address of this process, as the kernel lists them. None before a page is there.
pub fn node_of_memory(root: &Root, address: usize) -> Option<u32> {
    let maps = root.read("/proc/self/numa_maps").ok()?;
    let start = |line: &str| usize::from_str_radix(line.split(' ').next()?, 16).ok();
    let line = maps
        .lines()
        .filter(|line| start(line).is_some_and(|at| at <= address))
        .max_by_key(|line| start(line))?;
    let nodes = line.split(' ').filter_map(|word| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((pages.parse::<u64>().ok()?, node.parse::<u32>().ok()?))
    });
    nodes.max_by_key(|(pages, node)| (*pages, u32::MAX - node)).map(|(_, node)| node)
}

/// Ways of the last-level cache that devices may fill: bits of the MSR `IIO_LLC_WAYS`, of Intel's server processors.
///
/// # Errors
/// If the system refuses, which it does without the module `msr` and root, or the value is 0.
pub fn ddio_ways(root: &Root) -> io::Result<u32> {
    const IIO_LLC_WAYS: u64 = 0xc8b;
    let mut value = [0; 8];
    root.open("/dev/cpu/0/msr")?.read_exact_at(&mut value, IIO_LLC_WAYS)?;
    match u64::from_le_bytes(value).count_ones() {
        0 => Err(io::ErrorKind::InvalidData.into()),
        ways => Ok(ways),
    }
}

/// An RDMA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaDevice {
    /// Name: `mlx5_0`, `rxe0`.
    pub name: String,
    /// State of its ports, as the kernel writes it: `4: ACTIVE`.
    pub ports: Vec<String>,
    /// Memory node, -1 if the kernel does not know; none if it is no device of a bus.
    pub node: Option<i32>,
}

/// RDMA devices, by name.
pub fn rdma_devices(root: &Root) -> Vec<RdmaDevice> {
    const CLASS: &str = "/sys/class/infiniband";
    let mut names = root.names(CLASS);
    names.sort();
    let device = |name: String| {
        let folder = format!("{CLASS}/{name}");
        let mut ports = root.names(&format!("{folder}/ports"));
        ports.sort();
        let state = |port: &String| root.read(&format!("{folder}/ports/{port}/state")).ok();
        let node = root.read(&format!("{folder}/device/numa_node")).ok();
        RdmaDevice {
            ports: ports.iter().filter_map(state).collect(),
            node: node.and_then(|text| text.parse().ok()),
            name,
        }
    };
    names.into_iter().map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A tree with these files.
    fn tree(name: &str, files: &[(&str, &str)]) -> Root {
        let at = std::env::temp_dir().join(format!("forebay-caches-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&at);
        for (path, text) in files {
            let path = at.join(path);
            fs::create_dir_all(path.parent().expect("below the tree")).expect("a folder");
            fs::write(path, text).expect("written");
        }
        Root::at(&at)
    }

    #[test]
    fn memory_is_on_the_node_that_has_most_pages_of_its_mapping() {
        let maps = "7f0000000000 default anon=12 dirty=12 N0=2 N1=10 kernelpagesize_kB=4\n\
                    7f0000100000 default anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n7f0000200000 default\n";
        let root = tree("maps", &[("proc/self/numa_maps", maps)]);
        assert_eq!(node_of_memory(&root, 0x7f00_0000_1000), Some(1));
        assert_eq!(node_of_memory(&root, 0x7f00_0010_0000), Some(0));
        assert_eq!(node_of_memory(&root, 0x7f00_0020_0000), None, "no page is there");
        assert_eq!(node_of_memory(&root, 0x1000), None, "no mapping");
    }

    #[test]
    fn a_cache_counts_once_however_many_processors_share_it() {
        let of = |cpu: u32, index: u32, level: &str, size: &str, shared: &str| {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            let files = [
                ("level", level),
                ("type", "Unified"),
                ("size", size),
                ("coherency_line_size", "64"),
                ("shared_cpu_list", shared),
            ];
            files.map(|(name, text)| (format!("{folder}/{name}"), format!("{text}\n")))
        };
        let all: Vec<(String, String)> = (0..4)
            .flat_map(|cpu| {
                [
                    of(cpu, 0, "2", "1024K", &cpu.to_string()),
                    of(cpu, 1, "3", "16384K", if cpu < 2 { "0-1" } else { "2-3" }),
                ]
            })
            .flatten()
            .collect();
        let files: Vec<(&str, &str)> =
            all.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let found = caches(&tree("shared", &files));
        let third: Vec<(u64, u32)> =
            found.iter().filter(|of| of.level == 3).map(|of| (of.bytes, of.shared_by)).collect();
        assert_eq!(third, [(16 << 20, 2), (16 << 20, 2)]);
        assert_eq!(found.len(), 6);
    }
}
