//! The system call `bpf(2)`, a function for each command in use.
//!
//! Source: `union bpf_attr` in `include/uapi/linux/bpf.h`, whose layout never changes; a kernel that knows fewer fields takes zeros in
//! those that it does not know.

use super::MapKind;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Longest key of the kernel's maps, in bytes: MAX_BPF_STACK of `include/linux/filter.h`.
const LONGEST_KEY: usize = 512;

/// Words of 64 bits that are handed to the kernel.
const WORDS: usize = 19;

/// `union bpf_attr`, filled in by byte offsets. Zeros where nothing is written.
struct Attributes([u8; 8 * WORDS]);

impl Attributes {
    fn new() -> Self {
        Self([0; 8 * WORDS])
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn fd(self, at: usize, of: BorrowedFd<'_>) -> Self {
        self.u32(at, of.as_raw_fd().cast_unsigned())
    }

    /// A pointer to what the kernel reads.
    fn from<T: Copy>(self, at: usize, slice: &[T]) -> Self {
        self.u64(at, slice.as_ptr().addr() as u64)
    }

    /// A pointer to what the kernel writes.
    fn to<T: Copy>(self, at: usize, slice: &mut [T]) -> Self {
        self.u64(at, slice.as_mut_ptr().expose_provenance() as u64)
    }

    fn u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        self
    }

    /// A name of at most 15 bytes, which has letters, digits, `_` and `.`; the kernel refuses others.
    fn name(mut self, at: usize, name: &str) -> Self {
        let len = name.len().min(15);
        self.0[at..at + len].copy_from_slice(&name.as_bytes()[..len]);
        self
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    /// Calls the kernel.
    ///
    /// # Safety
    /// Every pointer among the attributes of this command points to as much as the command reads or writes there, until it comes back.
    #[allow(unsafe_code)]
    unsafe fn call(&mut self, command: u32) -> io::Result<RawFd> {
        // SAFETY: the kernel reads and writes `8 * WORDS` bytes here, which are there; what the pointers among them are of is the caller's.
        let done = unsafe {
            libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), size_of_val(&self.0))
        };
        match RawFd::try_from(done) {
            Ok(done) if done >= 0 => Ok(done),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Calls the kernel, for a command that gives a new descriptor.
    ///
    /// # Safety
    /// That of [`Self::call`], and the command gives a descriptor.
    #[allow(unsafe_code)]
    unsafe fn open(&mut self, command: u32) -> io::Result<OwnedFd> {
        // SAFETY: as the caller says; the kernel has just made the descriptor for us, and no other code has it.
        unsafe { self.call(command).map(|fd| OwnedFd::from_raw_fd(fd)) }
    }
}

/// Makes a map. With types: those of an object, and the numbers of key, value, and the value's type in the kernel's own types.
#[allow(unsafe_code)]
pub(super) fn map(
    of: &MapKind<'_>,
    types: Option<(BorrowedFd<'_>, [u32; 3])>,
) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new().u32(0, of.kind).u32(4, of.key).u32(8, of.value);
    attributes = attributes.u32(12, of.entries).u32(16, of.flags).name(28, of.name);
    if let Some((btf, [key, value, kernels])) = types {
        attributes = attributes.fd(48, btf).u32(52, key).u32(56, value).u32(60, kernels);
    }
    // SAFETY: BPF_MAP_CREATE takes no pointer, and gives a descriptor.
    unsafe { attributes.open(0) }
}

/// Writes the value of key 0 of a map whose keys have four bytes and whose values have so many.
///
/// # Panics
/// If the value has fewer.
#[allow(unsafe_code)]
pub(super) fn set_whole(map: BorrowedFd<'_>, value: &[u8], size: usize) -> io::Result<()> {
    assert!(value.len() >= size, "a value is whole");
    let key = [0u32; LONGEST_KEY / 4];
    let mut attributes = Attributes::new().fd(0, map).from(8, &key).from(16, value);
    // SAFETY: BPF_MAP_UPDATE_ELEM reads a key, which is never longer than LONGEST_KEY, and `size` bytes of a value, which are there.
    unsafe { attributes.call(2).map(|_| ()) }
}

/// Lets no process change the values of a map any more.
#[allow(unsafe_code)]
pub(super) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = Attributes::new().fd(0, map);
    // SAFETY: BPF_MAP_FREEZE takes no pointer.
    unsafe { attributes.call(22).map(|_| ()) }
}

/// How a program is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProgramKind<'a> {
    pub kind: u32,
    pub code: &'a [u64],
    pub name: &'a str,
    pub license: &'a str,
    pub attach: u32,
    /// Types of the object, and first instruction and type of each function; and the kernel's type that it is for.
    pub types: Option<Functions<'a>>,
}

/// See [`ProgramKind`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions<'a> {
    pub btf: BorrowedFd<'a>,
    pub functions: &'a [[u32; 2]],
    pub target: u32,
}

/// Why the kernel does not load a program.
#[derive(Debug)]
pub struct Refusal {
    /// The system's error.
    pub error: io::Error,
    /// What the verifier said last.
    pub said: String,
    /// The instruction that it had come to.
    pub instruction: Option<usize>,
}

impl From<Refusal> for io::Error {
    fn from(of: Refusal) -> Self {
        let said = if of.said.is_empty() { of.said } else { format!(" ({})", of.said) };
        Self::new(of.error.kind(), format!("{}{said}", of.error))
    }
}

/// The verifier's last words, and the instruction before them. Instructions are lines such as `12: (61) r1 = *(u32 *)(r1 +44)`.
fn last_words(log: &str) -> (String, Option<usize>) {
    let instruction = |line: &str| {
        let (number, rest) = line.trim_start().split_once(": (")?;
        rest.as_bytes().get(2).filter(|of| **of == b')')?;
        number.parse::<usize>().ok()
    };
    let lines = || log.lines().filter(|line| !line.starts_with("processed ") && !line.is_empty());
    let last = lines().rfind(|line| instruction(line).is_none()).unwrap_or_default();
    (last.to_string(), lines().filter_map(instruction).next_back())
}

/// Loads a program.
#[allow(unsafe_code)]
pub(super) fn program(of: &ProgramKind<'_>) -> Result<OwnedFd, Refusal> {
    let license = [of.license.as_bytes(), &[0]].concat();
    let load = |log: &mut [u8]| {
        let mut attributes = Attributes::new().u32(0, of.kind).u32(4, of.code.len() as u32);
        attributes = attributes.from(8, of.code).from(16, &license).name(48, of.name);
        attributes = attributes.u32(68, of.attach);
        if let Some(types) = &of.types {
            attributes = attributes.fd(72, types.btf).u32(108, types.target);
            if !types.functions.is_empty() {
                attributes = attributes.u32(76, 8).from(80, types.functions);
                attributes = attributes.u32(88, types.functions.len() as u32);
            }
        }
        if !log.is_empty() {
            attributes = attributes.u32(24, 1).u32(28, log.len() as u32).to(32, log);
        }
        // SAFETY: BPF_PROG_LOAD reads as many instructions and functions (8 bytes each) as the slices have, and the license up to its
        // zero; it writes at most the log's length there; it gives a descriptor.
        unsafe { attributes.open(5) }
    };
    load(&mut []).map_err(|error| {
        let mut log = vec![0; 1 << 20];
        let _ = load(&mut log);
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        let (said, instruction) = last_words(&String::from_utf8_lossy(&log[..end]));
        Refusal { error, said, instruction }
    })
}

/// Loads types.
#[allow(unsafe_code)]
pub(super) fn types(of: &[u8]) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new().from(0, of).u32(16, of.len() as u32);
    // SAFETY: BPF_BTF_LOAD reads as many bytes as the slice has, and gives a descriptor.
    unsafe { attributes.open(18) }
}

/// Where a program is attached.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    /// The ingress of an interface, by tcx.
    Interface(u32),
    /// What a cgroup's sockets are about to get.
    Cgroup(BorrowedFd<'a>),
    /// The kernel's table of operations that a map is for: the first descriptor of [`link`] is the map's then.
    Operations,
}

/// Attaches a program for as long as the link's descriptors are open.
#[allow(unsafe_code)]
pub(super) fn link(program: BorrowedFd<'_>, target: Target<'_>) -> io::Result<OwnedFd> {
    let attributes = Attributes::new().fd(0, program);
    let mut attributes = match target {
        Target::Interface(index) => attributes.u32(4, index).u32(8, 46),
        Target::Cgroup(folder) => attributes.fd(4, folder).u32(8, 0),
        Target::Operations => attributes.u32(8, 44),
    };
    // SAFETY: BPF_LINK_CREATE takes no pointer for these types, and gives a descriptor.
    unsafe { attributes.open(28) }
}

/// What a test run gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// What the program returned.
    pub returned: u32,
    /// Bytes of the packet afterwards.
    pub len: usize,
    /// Mean time of a run, in nanoseconds.
    pub ns: u32,
}

/// Runs a program over a packet, so often; the packet afterwards is in `to`, as far as that is long enough.
#[allow(unsafe_code)]
pub(super) fn test_run(
    program: BorrowedFd<'_>,
    packet: &[u8],
    to: &mut [u8],
    times: u32,
) -> io::Result<TestRun> {
    let attributes = Attributes::new().fd(0, program);
    let attributes = attributes.u32(8, packet.len() as u32).u32(12, to.len() as u32);
    let mut attributes = attributes.from(16, packet).to(24, to).u32(32, times);
    // SAFETY: BPF_PROG_TEST_RUN reads and writes at most the lengths that are given beside the pointers.
    unsafe { attributes.call(10) }?;
    Ok(TestRun {
        returned: attributes.word(4),
        len: attributes.word(12) as usize,
        ns: attributes.word(36),
    })
}

/// The number of the link after this one; `None` after the last, and where this process may not know (CAP_SYS_ADMIN).
#[allow(unsafe_code)]
pub(super) fn link_after(number: u32) -> Option<u32> {
    let mut attributes = Attributes::new().u32(0, number);
    // SAFETY: BPF_LINK_GET_NEXT_ID takes no pointer.
    unsafe { attributes.call(31) }.ok()?;
    Some(attributes.word(4))
}

/// The link with this number.
#[allow(unsafe_code)]
pub(super) fn link_numbered(number: u32) -> io::Result<OwnedFd> {
    // SAFETY: BPF_LINK_GET_FD_BY_ID takes no pointer, and gives a descriptor.
    unsafe { Attributes::new().u32(0, number).open(30) }
}

/// The program with this number.
#[allow(unsafe_code)]
pub(super) fn program_numbered(number: u32) -> io::Result<OwnedFd> {
    // SAFETY: BPF_PROG_GET_FD_BY_ID takes no pointer, and gives a descriptor.
    unsafe { Attributes::new().u32(0, number).open(13) }
}

/// What the kernel says of a program or a link: `struct bpf_prog_info` or `bpf_link_info`, as far as 256 bytes go.
#[allow(unsafe_code)]
pub(super) fn info(of: BorrowedFd<'_>) -> io::Result<[u8; 256]> {
    let mut info = [0; 256];
    let attributes = Attributes::new().fd(0, of).u32(4, info.len() as u32);
    let mut attributes = attributes.to(8, &mut info);
    // SAFETY: BPF_OBJ_GET_INFO_BY_FD reads and writes at most the length that is given; the pointers within are zero, so it follows none.
    unsafe { attributes.call(15) }?;
    Ok(info)
}

/// Detaches what a link attached, even if another process holds the link.
#[allow(unsafe_code)]
pub(super) fn detach(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut attributes = Attributes::new().fd(0, link);
    // SAFETY: BPF_LINK_DETACH takes no pointer.
    unsafe { attributes.call(34) }.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of Linux 6.18 about a load beyond the context, and about a call that does not exist.
    #[test]
    fn the_last_words_of_the_verifier_follow_the_instruction_that_they_are_about() {
        let log = "func#0 @0\n0: R1=ctx() R10=fp0\n0: (79) r1 = *(u64 *)(r1 +0)\n1: (61) r0 = *(u32 *)(r1 +9000)\n\
                   access beyond struct tcp_sock at off 9000 size 4\nprocessed 2 insns (limit 1000000)\n";
        let wanted = "access beyond struct tcp_sock at off 9000 size 4";
        assert_eq!(last_words(log), (wanted.into(), Some(1)));
        let log = "0: R1=ctx() R10=fp0\n  12: (85) call unknown#195896080\ninvalid func unknown#195896080\n";
        assert_eq!(last_words(log), ("invalid func unknown#195896080".into(), Some(12)));
        assert_eq!(last_words(""), (String::new(), None));
    }
}
