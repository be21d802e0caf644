//! Kernel, processor and hypervisor.

use crate::Root;

/// What the kernel says of itself and of the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Release of the kernel, as it names it; empty if it does not.
    pub release: String,
    /// Major and minor number of the release.
    pub kernel: (u32, u32),
    /// `vendor_id` of the processor.
    pub vendor: String,
    /// `model name` of the processor.
    pub model_name: String,
    /// `cpu family`.
    pub family: u32,
    /// `model`.
    pub model: u32,
    /// Logical processors.
    pub cpus: usize,
    /// Distinct `physical id`s.
    pub sockets: usize,
    /// Whether a hypervisor is below the kernel (flag `hypervisor`).
    pub virtual_machine: bool,
}

impl Machine {
    /// Reads `/proc`.
    pub fn read(root: &Root) -> Self {
        let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let info = root.read("/proc/cpuinfo").unwrap_or_default();
        let all = |key: &str| -> Vec<&str> {
            let of = info.lines().filter_map(|line| line.split_once(':'));
            of.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim()).collect()
        };
        let first = |key: &str| all(key).first().map(|text| text.to_string()).unwrap_or_default();
        let mut sockets = all("physical id");
        sockets.sort_unstable();
        sockets.dedup();
        Self {
            kernel: version(&release),
            release,
            vendor: first("vendor_id"),
            model_name: first("model name"),
            family: first("cpu family").parse().unwrap_or(0),
            model: first("model").parse().unwrap_or(0),
            cpus: all("processor").len(),
            sockets: sockets.len().max(1),
            virtual_machine: first("flags").split(' ').any(|flag| flag == "hypervisor"),
        }
    }

    /// The processor's generation, if it is one whose uncore counters are known here.
    pub fn generation(&self) -> Option<Generation> {
        use Generation::*;
        Some(match (self.vendor.as_str(), self.family, self.model) {
            ("GenuineIntel", 6, 85) => SkylakeServer,
            ("GenuineIntel", 6, 106 | 108) => IceLakeServer,
            ("GenuineIntel", 6, 143 | 207) => SapphireRapids,
            ("GenuineIntel", 6, 173..=175) => GraniteRapids,
            ("AuthenticAMD", 25, 16..=31 | 96..=111 | 160..=175) => Zen4,
            ("AuthenticAMD", 26, _) => Zen5,
            _ => return None,
        })
    }
}

/// One more than the greatest number that a CPU can have here; 1 where the kernel does not say.
pub fn possible_cpus(root: &Root) -> u32 {
    let text = root.read("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.rsplit(['-', ',']).next().and_then(|last| last.trim().parse::<u32>().ok());
    last.unwrap_or(0).saturating_add(1)
}

/// Generations of server processors by the counters that they have. Source: `arch/x86/include/asm/intel-family.h`
/// and the list of AMD families in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// Skylake-SP and Cascade Lake-SP, which share a model number.
    SkylakeServer,
    /// Ice Lake-SP.
    IceLakeServer,
    /// Sapphire Rapids and Emerald Rapids.
    SapphireRapids,
    /// Granite Rapids and Sierra Forest.
    GraniteRapids,
    /// EPYC 9004.
    Zen4,
    /// EPYC 9005.
    Zen5,
}

/// `6.18` of `6.18.44-fc`; zeros where there is no number.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_two_numbers() {
        assert_eq!(version("6.18.44-fc-v769"), (6, 18));
        assert_eq!(version("5.15-generic"), (5, 15));
        assert_eq!(version(""), (0, 0));
    }
}
