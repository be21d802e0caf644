//! Thin readers and writers of a Linux machine: kernel, processor, capabilities, counters, actuators, processes.
//!
//! Every path goes through a [`Root`], so a test or a user reads a recorded tree in place of the machine. A counter is read
//! by one `pread` of a descriptor that stays open. Values are raw and cumulative; this crate takes no differences.
//!
//! Sources: kernel documentation of `/proc` and sysfs; `filesystems/resctrl.rst`; the perf event lists of Intel and AMD.
//!
//! Writers: [`Root`] writes files and makes and removes folders, where its caller says; [`bpf`] and [`netlink`] attach programs;
//! [`process`] gives up rights.
//!
//! Invariant: no reader changes the machine, and no parser panics, whatever a file says.

pub mod board;
pub mod bpf;
pub mod caches;
pub mod capabilities;
pub mod cgroup;
mod clock;
pub mod counters;
pub mod ethtool;
pub mod file;
mod guarded;
pub mod machine;
pub mod netlink;
pub mod nic;
pub mod perf;
pub mod pmu;
pub mod process;
pub mod resctrl;
mod root;
mod shared;

pub use clock::{Clock, boot_ns, ticks_per_second};
pub use root::Root;
pub use shared::Shared;
