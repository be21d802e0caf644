//! Network interfaces: driver, PCI address, counters.

use crate::Root;

/// One interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Name.
    pub name: String,
    /// Driver; interfaces without a device have none.
    pub driver: Option<String>,
    /// PCI address of its device, if that is a PCI device.
    pub pci: Option<String>,
    /// Rate in Mb/s, where the driver says it.
    pub mbps: Option<u64>,
}

/// Counters that every driver has and that say something about the way into the host.
pub const STATISTICS: [&str; 5] =
    ["rx_bytes", "rx_packets", "rx_dropped", "rx_missed_errors", "rx_fifo_errors"];

impl Nic {
    /// All but the loopback, by name.
    pub fn all(root: &Root) -> Vec<Self> {
        let names = root.names("/sys/class/net").into_iter().filter(|name| name != "lo");
        names
            .filter(|name| root.has(&format!("/sys/class/net/{name}/statistics")))
            .map(|name| {
                let at = format!("/sys/class/net/{name}");
                let event = root.read(&format!("{at}/device/uevent")).unwrap_or_default();
                let of = |key: &str| {
                    let mut lines = event.lines().filter_map(|line| line.split_once('='));
                    lines.find(|(name, _)| *name == key).map(|(_, value)| value.to_string())
                };
                let speed = root.read(&format!("{at}/speed")).ok();
                let (driver, pci) = (of("DRIVER"), of("PCI_SLOT_NAME"));
                Self { name, driver, pci, mbps: speed.and_then(|text| text.parse().ok()) }
            })
            .collect()
    }

    /// Interfaces whose traffic counts: those with a device, or all if none has one. Traffic of a bridge or a tunnel goes through a device, too.
    pub fn counted(root: &Root) -> Vec<Self> {
        let (with, without): (Vec<_>, Vec<_>) =
            Self::all(root).into_iter().partition(|nic| nic.driver.is_some());
        if with.is_empty() { without } else { with }
    }
}
