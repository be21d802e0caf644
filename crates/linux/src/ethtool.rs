//! A driver's own counters of a NIC, as `ethtool -S` shows them (`SIOCETHTOOL`).
//!
//! Which of them say something about a host that cannot keep up, their names tell ([`WORDS`]): there is no common list of
//! them. The netlink interface of ethtool does not have them.
//!
//! Source: `include/uapi/linux/ethtool.h`.

use crate::guarded::GuardedRegion;
use rustix::net::{AddressFamily, SocketType, socket};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A counter with one of these in its name is taken: drops, marks, pauses, and stalls of PCIe.
pub const WORDS: [&str; 12] = [
    "discard",
    "drop",
    "missed",
    "out_of_buffer",
    "no_buf",
    "nobuf",
    "overflow",
    "stalled",
    "passed_thres",
    "marked",
    "pause",
    "allowance_exceeded",
];

/// At most so many of a NIC are taken, the first in the driver's order.
const MOST: usize = 64;

const SIOCETHTOOL: u32 = 0x8946;
const GET_STRINGS: u32 = 0x1b; // ETHTOOL_GSTRINGS
const GET_STATS: u32 = 0x1d; // ETHTOOL_GSTATS
const STATISTICS: u32 = 1; // ETH_SS_STATS
const NAME: usize = 32; // ETH_GSTRING_LEN

/// `struct ifreq` with a pointer in its union, on a machine of 64 bits.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut c_void,
    rest: [u64; 2],
}

/// Counters of one NIC's driver.
#[derive(Debug)]
pub struct DriverCounters {
    socket: OwnedFd,
    nic: [u8; 16],
    all: u32,           // how many the driver has
    taken: Vec<usize>,  // which of them
    names: Vec<String>, // of those
    buffer: GuardedRegion,
}

impl DriverCounters {
    /// Asks the driver for the names of its counters.
    ///
    /// # Errors
    /// If the system refuses: the driver has none, or there is no such NIC.
    pub fn open(nic: &str) -> io::Result<Self> {
        let mut name = [0; 16];
        if nic.len() >= name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        name[..nic.len()].copy_from_slice(nic.as_bytes());
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        let mut opened = Self {
            socket,
            nic: name,
            all: 0,
            taken: Vec::new(),
            names: Vec::new(),
            buffer: GuardedRegion::new()?,
        };
        // struct ethtool_gstrings: cmd, string_set, len, then the names. The kernel fills in len.
        opened.call(&[GET_STRINGS, STATISTICS, 0])?;
        let bytes = opened.buffer.bytes();
        let count = word(bytes, 8) as usize;
        let names = bytes[12..].chunks_exact(NAME).take(count).map(|name| {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME);
            String::from_utf8_lossy(&name[..end]).trim().to_string()
        });
        let names: Vec<String> = names.collect();
        opened.all = names.len() as u32;
        opened.taken = taken(&names);
        opened.names = opened.taken.iter().map(|nth| plain(&names[*nth])).collect();
        Ok(opened)
    }

    /// What [`DriverCounters::of`] wants beside the descriptor: the NIC, how many counters its driver has, and which are taken.
    pub fn handed(&self) -> String {
        let nic = self.nic.split(|byte| *byte == 0).next().unwrap_or_default();
        let taken: String = self.taken.iter().map(|nth| format!(" {nth}")).collect();
        format!("{} {}{taken}", String::from_utf8_lossy(nic), self.all)
    }

    /// The socket over which the driver is asked.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Over a socket from another process. `None`: what came with it is not what [`DriverCounters::handed`] gives.
    pub fn of(handed: &str, names: Vec<String>, socket: OwnedFd) -> Option<Self> {
        let mut words = handed.split(' ');
        let (name, all) = (words.next()?.as_bytes(), words.next()?.parse().ok()?);
        let taken: Vec<usize> = words.map(|nth| nth.parse().ok()).collect::<Option<_>>()?;
        let mut nic = [0; 16];
        if name.len() >= nic.len() || taken.len() != names.len() {
            return None;
        }
        nic[..name.len()].copy_from_slice(name);
        Some(Self { socket, nic, all, taken, names, buffer: GuardedRegion::new().ok()? })
    }

    /// Names of the counters that are taken, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads them and hands on each value. `None`: the system refused, or the driver has another number of counters by now, so
    /// that the order of the values is unknown.
    pub fn read(&mut self, mut each: impl FnMut(usize, u64)) -> Option<()> {
        // struct ethtool_stats: cmd, n_stats, then the values. The kernel fills in n_stats.
        self.call(&[GET_STATS, self.all]).ok()?;
        let bytes = self.buffer.bytes();
        if word(bytes, 4) != self.all {
            return None;
        }
        for (nth, of) in self.taken.iter().enumerate() {
            let at = 8 + 8 * of;
            let value = bytes.get(at..at + 8)?;
            each(nth, u64::from_ne_bytes(value.try_into().expect("eight bytes")));
        }
        Some(())
    }

    /// Hands the driver a command in the buffer, and takes its answer there.
    #[allow(unsafe_code)]
    fn call(&mut self, command: &[u32]) -> io::Result<()> {
        for (nth, word) in command.iter().enumerate() {
            self.buffer.bytes_mut()[4 * nth..4 * nth + 4].copy_from_slice(&word.to_ne_bytes());
        }
        let data = self.buffer.bytes_mut().as_mut_ptr().cast();
        let mut request = Request { name: self.nic, data, rest: [0; 2] };
        // SAFETY: the request is a `struct ifreq` that lives through the call, and its pointer is the start of the buffer. The kernel
        // writes upwards from there as much as the driver has, which may be more than was asked for; behind the buffer lie pages
        // that are not writable, so a write that is too long ends there with EFAULT and reaches no other memory of this process.
        let done = unsafe {
            libc::ioctl(
                self.socket.as_raw_fd(),
                SIOCETHTOOL as libc::Ioctl,
                std::ptr::from_mut(&mut request),
            )
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Places of the names that are taken.
fn taken(names: &[String]) -> Vec<usize> {
    let wanted = |name: &String| WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    let places = names.iter().enumerate().filter(|(_, name)| wanted(name)).map(|(nth, _)| nth);
    places.take(MOST).collect()
}

/// A name that can be a cell of a table: `[1]: rx_drops` is `1_rx_drops`.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of mlx5, ice, ena and virtio_net.
    #[test]
    fn counters_of_a_slow_host_are_taken_by_name() {
        let names = [
            "rx_packets",
            "rx_discards_phy",
            "rx_prio3_cong_discard",
            "rx_out_of_buffer",
            "outbound_pci_stalled_wr",
            "rx_buffer_passed_thres_phy",
            "rx_prio0_marked",
            "tx_bytes",
            "rx_dropped.nic",
            "bw_in_allowance_exceeded",
            "rx_queue_0_drops",
        ];
        assert_eq!(taken(&names.map(String::from)), [1, 2, 3, 4, 5, 6, 8, 9, 10]);
        assert_eq!(taken(&vec!["x_drops".to_string(); 100]).len(), MOST);
        assert_eq!(plain(" [1]: rx,drops "), "1_rx_drops");
    }

    #[test]
    fn what_has_no_counters_is_refused() {
        assert!(DriverCounters::open("no-such-nic0").is_err());
        assert!(DriverCounters::open("a-name-that-is-too-long-for-a-nic").is_err());
        assert!(DriverCounters::open("lo").is_err(), "the loopback has no counters of its own");
    }
}
