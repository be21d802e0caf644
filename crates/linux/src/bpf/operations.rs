//! A congestion control of the kernel whose functions are programs (`struct_ops`), registered as long as a link is open.
//!
//! Source: `struct tcp_congestion_ops` in `include/net/tcp.h`; `Documentation/bpf/map_struct_ops`, in the kernel's `bpf_struct_ops.c`.
//! Linux 6.4 and later: before, there was no link, and what was registered stayed.

use super::sys::{self, Functions, ProgramKind, Refusal, Target};
use super::{Link, MapKind, Types};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const LINKED: u32 = 1 << 13; // BPF_F_LINK

/// A program that the kernel calls for a connection.
#[derive(Clone, Copy, Debug)]
pub struct Callback<'a> {
    /// Name of the program, of which the kernel takes 15 bytes.
    pub name: &'a str,
    /// Its license.
    pub license: &'a str,
    /// Instructions.
    pub code: &'a [u64],
    /// First instruction and type of each function, or nothing.
    pub functions: &'a [[u32; 2]],
    /// The kernel's `struct tcp_congestion_ops`.
    pub operations: u32,
    /// Which of its members this is.
    pub member: u32,
}

impl Callback<'_> {
    /// Loads it.
    ///
    /// # Errors
    /// If the system refuses: no right, or the verifier's last words.
    pub fn load(&self, types: &Types) -> Result<OwnedFd, Refusal> {
        let functions =
            Functions { btf: types.0.as_fd(), functions: self.functions, target: self.operations };
        sys::program(&ProgramKind {
            kind: 27, // BPF_PROG_TYPE_STRUCT_OPS
            code: self.code,
            name: self.name,
            license: self.license,
            attach: self.member,
            types: Some(functions),
        })
    }
}

/// A registered congestion control: as long as this or another descriptor of it is open, in any process.
#[derive(Debug)]
pub struct CongestionControl(Link);

impl CongestionControl {
    /// Registers loaded programs. `value` is the kernel's value of a map of operations, of this type of the kernel's; descriptors go to these
    /// bytes of it.
    ///
    /// # Errors
    /// If the system refuses: it has a congestion control of this name, or an old kernel has no links for them.
    pub fn register(
        name: &str,
        types: &Types,
        (value_type, value): (u32, &[u8]),
        programs: &[(usize, OwnedFd)],
    ) -> io::Result<Self> {
        let mut value = value.to_vec();
        for (at, program) in programs {
            let fd = u64::from(program.as_raw_fd().cast_unsigned());
            let to = value.get_mut(*at..*at + 8).ok_or(io::ErrorKind::InvalidInput)?;
            to.copy_from_slice(&fd.to_ne_bytes());
        }
        let kind = MapKind {
            kind: 26, // BPF_MAP_TYPE_STRUCT_OPS
            key: 4,
            value: value.len() as u32,
            entries: 1,
            flags: LINKED,
            name,
        };
        let map = sys::map(&kind, Some((types.0.as_fd(), [0, 0, value_type])))?;
        sys::set_whole(map.as_fd(), &value, value.len())?;
        let link = sys::link(map.as_fd(), Target::Operations)?;
        Ok(Self(Link(link)))
    }
}

impl AsFd for CongestionControl {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<CongestionControl> for OwnedFd {
    fn from(of: CongestionControl) -> Self {
        of.0.0
    }
}
