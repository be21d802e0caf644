//! Programs in the kernel: loaded from an object file, attached by links that end with their last descriptor.
//!
//! What libbpf does for this agent, it does in a few hundred lines here, so that its build needs neither a C library nor a compiler for
//! C (ADR 0018). Maps are arrays with keys of four bytes.
//!
//! Invariant: nothing is pinned, so what is attached here ends with the processes that hold it; filters of clsact do not, and
//! [`crate::netlink`] takes them away.

mod object;
mod operations;
mod sys;
mod types;

pub use object::Object;
pub use operations::CongestionControl;
pub use sys::TestRun;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What programs declare, since some of the kernel is only for those under the GPL.
const TERMS: &str = "Dual MIT/GPL";

/// A map whose values can be mapped into memory.
#[derive(Debug)]
pub struct Words(OwnedFd);

impl Words {
    /// A map of zeros: so many values, of so many words of 64 bits each.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(name: &str, entries: u32, words: u32) -> io::Result<Self> {
        let (array, mapped) = (2, 1 << 10);
        let of = sys::MapKind {
            kind: array,
            value: 8 * words,
            entries,
            flags: mapped,
            name,
            value_type: None,
        };
        sys::map(&of).map(Self)
    }
}

impl AsFd for Words {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Packets that arrive at an interface: tcx and clsact.
    Interface,
    /// Packets that the sockets of a cgroup are about to get.
    Cgroup,
}

/// A loaded program.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads the program in a section, which names these maps. Its own name has at most 15 letters and digits.
    ///
    /// # Errors
    /// If the object has no such program, or names other maps, or the system refuses: no right, or the verifier's last words.
    pub fn load(
        object: &Object<'_>,
        section: &str,
        (hook, name): (Hook, &str),
        maps: &[(&str, &Words)],
    ) -> io::Result<Self> {
        let fd = |symbol: &str| {
            let (_, map) = maps.iter().find(|(name, _)| *name == symbol)?;
            Some(map.0.as_raw_fd())
        };
        let code = object.program(section, fd).ok_or(io::ErrorKind::InvalidData)?;
        let kind = match hook {
            Hook::Interface => 3,
            Hook::Cgroup => 8,
        };
        let of = sys::ProgramKind { kind, code: &code, name, attach: 0, types: None };
        sys::program(&of, TERMS).map(Self)
    }

    /// Attaches it to the ingress of an interface by tcx.
    ///
    /// # Errors
    /// If the system refuses: Linux before 6.6 has no tcx.
    pub fn attach_tcx(&self, interface: u32) -> io::Result<Link> {
        sys::link(self.as_fd(), sys::Target::Interface(interface)).map(Link)
    }

    /// Attaches it to a cgroup, by its folder.
    ///
    /// # Errors
    /// If the system refuses: a cgroup above holds a program that tolerates no other.
    pub fn attach_cgroup(&self, folder: &File) -> io::Result<Link> {
        sys::link(self.as_fd(), sys::Target::Cgroup(folder.as_fd())).map(Link)
    }

    /// Runs it over a packet that begins with an Ethernet header, so often; the packet afterwards is in `to`.
    ///
    /// # Errors
    /// If the system refuses, or `to` is too short.
    pub fn test_run(&self, packet: &[u8], to: &mut [u8], times: u32) -> io::Result<TestRun> {
        sys::test_run(self.as_fd(), packet, to, times)
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An attached program: it is attached as long as this or another descriptor of it is open.
#[derive(Debug)]
pub struct Link(OwnedFd);

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

const CGROUP: u32 = 3; // BPF_LINK_TYPE_CGROUP
const TCX: u32 = 11;

/// Detaches every program of this name from interfaces and cgroups, even if another process holds its link. Returns their number.
///
/// # Errors
/// If the system refuses.
pub fn detach_named(name: &str) -> io::Result<usize> {
    let mut detached = 0;
    let mut last = 0;
    while let Some(number) = sys::link_after(last) {
        last = number;
        let Ok(link) = sys::link_numbered(number) else { continue }; // it has gone meanwhile
        // struct bpf_link_info: type, link, program, then the cgroup's number or the interface's, which is 0 once detached.
        let info = sys::info(link.as_fd())?;
        let word = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
        let attached = match word(0) {
            CGROUP => word(16) != 0 || word(20) != 0,
            TCX => word(16) != 0,
            _ => false,
        };
        if !attached {
            continue;
        }
        let program = word(8);
        let Ok(program) = sys::program_numbered(program) else { continue };
        let info = sys::info(program.as_fd())?;
        let found = &info[64..80]; // prog_name, with zeros behind
        if found.split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
            sys::detach(link.as_fd())?;
            detached += 1;
        }
    }
    Ok(detached)
}
