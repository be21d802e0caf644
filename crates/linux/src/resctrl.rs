//! resctrl: memory bandwidth that a group of tasks may use (MBA, on AMD MBE), and what it uses (MBM).
//!
//! Source: kernel documentation, `filesystems/resctrl.rst`.

use crate::Root;

/// Where the kernel expects it.
pub const MOUNT: &str = "/sys/fs/resctrl";

/// What the mounted tree offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resctrl {
    /// Throttling of memory bandwidth.
    pub bandwidth: Option<Bandwidth>,
    /// Ids of the L3 caches whose memory bandwidth is counted.
    pub counted: Vec<u32>,
}

/// Values that `MB:` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// The smallest.
    pub min: u64,
    /// Steps between values.
    pub step: u64,
    /// Groups that there can be.
    pub groups: u64,
    /// Ids of the L3 caches that have a value each, from the root group's schemata; there may be gaps.
    pub caches: Vec<u32>,
    /// The value without throttling: 100 (percent), on AMD 2048 (in 1/8 GB/s).
    pub unlimited: u64,
}

impl Resctrl {
    /// Reads the tree; `None`: it is not mounted.
    pub fn read(root: &Root) -> Option<Self> {
        let schemata = root.read(&format!("{MOUNT}/schemata")).ok()?;
        let info = |name: &str| {
            let text = root.read(&format!("{MOUNT}/info/MB/{name}")).ok()?;
            text.parse::<u64>().ok()
        };
        let values = schemata.lines().find_map(memory_line);
        let bandwidth = values.and_then(|values| {
            Some(Bandwidth {
                min: info("min_bandwidth")?,
                step: info("bandwidth_gran")?.max(1),
                groups: info("num_closids")?,
                unlimited: values.iter().map(|(_, value)| *value).max()?,
                caches: values.into_iter().map(|(cache, _)| cache).collect(),
            })
        });
        let groups = root.names(&format!("{MOUNT}/mon_data"));
        let counted = groups.iter().filter_map(|name| {
            let cache = name.strip_prefix("mon_L3_")?.parse().ok()?;
            root.has(&format!("{MOUNT}/mon_data/{name}/mbm_total_bytes")).then_some(cache)
        });
        Some(Self { bandwidth, counted: counted.collect() })
    }
}

impl Bandwidth {
    /// Whether the kernel takes a value as it is, without rounding.
    pub fn takes(&self, value: u64) -> bool {
        (self.min..=self.unlimited).contains(&value) && (value - self.min).is_multiple_of(self.step)
    }
}

/// Cache ids and values of a line `MB:0=100;1=100`; other lines have none.
pub fn memory_line(line: &str) -> Option<Vec<(u32, u64)>> {
    let values = line.trim_start().strip_prefix("MB:")?;
    let pair = |text: &str| {
        let (cache, value) = text.split_once('=')?;
        Some((cache.trim().parse().ok()?, value.trim().parse().ok()?))
    };
    values.split(';').map(pair).collect()
}

/// Ids of L3 caches, and the socket that each is in; none where the kernel does not say.
pub fn sockets_of_caches(root: &Root) -> Vec<(u32, usize)> {
    const CPUS: &str = "/sys/devices/system/cpu";
    let number = |file: &str| root.read(file).ok()?.parse::<u32>().ok();
    let mut found = Vec::new();
    for name in root.names(CPUS) {
        let is_cpu = name.strip_prefix("cpu").is_some_and(|nth| nth.parse::<u32>().is_ok());
        let of = |file: &str| number(&format!("{CPUS}/{name}/{file}"));
        if let (true, Some(cache), Some(socket)) =
            (is_cpu, of("cache/index3/id"), of("topology/physical_package_id"))
        {
            found.push((cache, socket as usize));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemata_of_both_vendors_are_read() {
        assert_eq!(memory_line("    MB:0=100;1= 90"), Some(vec![(0, 100), (1, 90)]));
        assert_eq!(memory_line("MB:0=2048;3=2048"), Some(vec![(0, 2048), (3, 2048)]));
        assert_eq!(memory_line("L3:0=7ff"), None);
        assert_eq!(memory_line("MB:0"), None);
    }

    #[test]
    fn steps_begin_at_the_smallest_value() {
        let intel = Bandwidth { min: 10, step: 10, groups: 8, caches: vec![0], unlimited: 100 };
        assert!(intel.takes(10) && intel.takes(100));
        assert!(!intel.takes(5) && !intel.takes(35) && !intel.takes(110));
    }
}
