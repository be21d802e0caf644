//! Programs in the kernel: loaded from instructions, attached by links that end with their last descriptor.
//!
//! Object files are read by `bpf-law`, for the simulator and for the agent (ADR 0024). Here are the commands of `bpf(2)`, so that a build
//! needs neither a C library nor a compiler for C (ADR 0018).
//!
//! Invariant: nothing is pinned, so what is attached here ends with the processes that hold it; filters of clsact do not, and
//! [`crate::netlink`] takes them away.

mod operations;
mod sys;

pub use operations::{Callback, CongestionControl};
pub use sys::{Refusal, TestRun};

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
        let of = MapKind { kind: array, key: 4, value: 8 * words, entries, flags: mapped, name };
        sys::map(&of, None).map(Self)
    }
}

impl AsFd for Words {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// How a map is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct MapKind<'a> {
    /// Of `enum bpf_map_type`.
    pub kind: u32,
    /// Bytes of a key.
    pub key: u32,
    /// Bytes of a value.
    pub value: u32,
    /// Most entries.
    pub entries: u32,
    /// Flags.
    pub flags: u32,
    /// Name, of which the kernel takes 15 bytes.
    pub name: &'a str,
}

/// A map for a program's own use.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    len: usize,  // bytes of a value
    array: bool, // of a map per CPU the kernel reads a value for each CPU
}

impl Map {
    /// An empty map. Some kinds need types, and the numbers of key and value among them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(of: &MapKind<'_>, types: Option<(&Types, u32, u32)>) -> io::Result<Self> {
        let types = types.map(|(types, key, value)| (types.0.as_fd(), [key, value, 0]));
        let array = of.kind == 2; // BPF_MAP_TYPE_ARRAY
        sys::map(of, types).map(|fd| Self { fd, len: of.value as usize, array })
    }

    /// Writes the value of key 0, of an array.
    ///
    /// # Errors
    /// If the system refuses, this is no array, or the value has another length than those of the map.
    pub fn set(&self, value: &[u8]) -> io::Result<()> {
        if !self.array || value.len() != self.len {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        sys::set_whole(self.as_fd(), value, self.len)
    }

    /// Lets no process change its values any more, so that the verifier may take them for constants.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn freeze(&self) -> io::Result<()> {
        sys::freeze(self.as_fd())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Types of an object, as the kernel has them.
#[derive(Debug)]
pub struct Types(OwnedFd);

impl Types {
    /// Loads type information (BTF).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn load(bytes: &[u8]) -> io::Result<Self> {
        sys::types(bytes).map(Self)
    }
}

/// Instructions with the descriptors of the maps that they name.
#[must_use]
pub fn with_maps(code: &[u64], maps: &[(usize, BorrowedFd<'_>)]) -> Vec<u64> {
    let mut code = code.to_vec();
    for (at, fd) in maps {
        let fd = u64::from(fd.as_raw_fd().cast_unsigned());
        code[*at] = code[*at] & 0xffff_ffff | fd << 32;
    }
    code
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
    /// Loads a program. Its name has at most 15 letters and digits.
    ///
    /// # Errors
    /// If the system refuses: no right, or the verifier's last words.
    pub fn load(code: &[u64], (hook, name): (Hook, &str)) -> io::Result<Self> {
        let kind = match hook {
            Hook::Interface => 3,
            Hook::Cgroup => 8,
        };
        let of = sys::ProgramKind { kind, code, name, license: TERMS, ..Default::default() };
        sys::program(&of).map(Self).map_err(io::Error::from)
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
