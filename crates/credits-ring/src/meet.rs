//! How two ends find each other: a Unix socket, over which one sends a file in memory and two event counters.
//!
//! The socket stays open. When a process dies the kernel closes it, which is how the other end knows.

use crate::queue::{Size, Words};
use forebay_linux::Shared;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// First bytes that the listening end sends.
const GREETING: &[u8; 8] = b"fbring01";

/// Memory of both directions.
pub(crate) enum Memory {
    /// Of two processes.
    Shared(Shared),
    /// Of two ends in this process; words from the second number on are aligned to a line.
    Own(Box<[AtomicU64]>, usize),
}

impl Memory {
    fn words(&self) -> &[AtomicU64] {
        match self {
            Self::Shared(of) => of.words(),
            Self::Own(words, first) => &words[*first..],
        }
    }
}

/// Descriptors that wake two processes.
struct Wake {
    mine: OwnedFd,
    theirs: OwnedFd,
    socket: UnixStream,
}

/// One end of a connection.
pub struct End {
    memory: Arc<Memory>,
    size: Size,
    first: bool, // writes into the first direction
    wake: Option<Wake>,
}

impl End {
    #[inline]
    fn direction(&self, first: bool) -> Words<'_> {
        let at = if first { 0 } else { self.size.words() };
        Words::new(&self.memory.words()[at..], self.size)
    }

    #[inline]
    pub(crate) fn outward(&self) -> Words<'_> {
        self.direction(self.first)
    }

    #[inline]
    pub(crate) fn inward(&self) -> Words<'_> {
        self.direction(!self.first)
    }

    /// Wakes the other end, if it sleeps.
    #[inline]
    pub(crate) fn notify(&self) {
        if let Some(wake) = &self.wake
            && self.outward().reader_sleeps()
        {
            // A counter that is full wakes as well.
            let _ = rustix::io::write(&wake.theirs, &1_u64.to_ne_bytes());
        }
    }

    /// Descriptors that become readable when this end is to be looked at: the event counter, and the socket.
    pub(crate) fn descriptors(&self) -> Option<[BorrowedFd<'_>; 2]> {
        let wake = self.wake.as_ref()?;
        Some([wake.mine.as_fd(), wake.socket.as_fd()])
    }

    /// Takes what was counted, so that the next wait waits.
    pub(crate) fn drain(&self) {
        if let Some(wake) = &self.wake {
            let _ = rustix::io::read(&wake.mine, &mut [0_u8; 8]);
        }
    }

    /// True if the other process is gone.
    pub(crate) fn is_dead(&self) -> bool {
        let Some(wake) = &self.wake else { return false };
        let mut of = [PollFd::new(&wake.socket, PollFlags::IN)];
        matches!(poll(&mut of, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
    }
}

impl End {
    /// All words that both ends share: those of the direction in which the first end writes, then as many of the other. The other process may
    /// write any of them at any time; tests do so.
    #[doc(hidden)]
    pub fn words(&self) -> &[AtomicU64] {
        &self.memory.words()[..2 * self.size.words()]
    }
}

/// Two ends in one process, for tests and measurements.
pub fn pair(size: Size) -> (End, End) {
    let words: Box<[AtomicU64]> = (0..2 * size.words() + 8).map(|_| AtomicU64::new(0)).collect();
    let first = words.as_ptr().addr().wrapping_neg() % 64 / 8;
    let memory = Arc::new(Memory::Own(words, first));
    let end = |first| End { memory: memory.clone(), size, first, wake: None };
    (end(true), end(false))
}

/// A place where connections arrive.
pub struct Listener {
    socket: UnixListener,
    size: Size,
}

impl Listener {
    /// Listens at a path. Each connection gets rings of this size.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn bind(path: &Path, size: Size) -> io::Result<Self> {
        Ok(Self { socket: UnixListener::bind(path)?, size })
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn accept(&self) -> io::Result<End> {
        let (socket, _) = self.socket.accept()?;
        offer(socket, self.size)
    }
}

/// Readable when a connection waits.
impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn offer(socket: UnixStream, size: Size) -> io::Result<End> {
    let file = memfd_create("forebay-ring", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let words = 2 * size.words();
    ftruncate(&file, 8 * words as u64)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let (mine, theirs) = (eventfd(0, flags)?, eventfd(0, flags)?);
    let mut text = [0; 16];
    text[..8].copy_from_slice(GREETING);
    text[8..12].copy_from_slice(&size.messages.to_le_bytes());
    text[12..].copy_from_slice(&size.lines.to_le_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd(), mine.as_fd(), theirs.as_fd()];
    control.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(&socket, &[IoSlice::new(&text)], &mut control, SendFlags::NOSIGNAL)?;
    let memory = Arc::new(Memory::Shared(Shared::of_sealed(&file, words)?));
    Ok(End { memory, size, first: true, wake: Some(Wake { mine, theirs, socket }) })
}

/// Connects to a listener.
///
/// # Errors
/// If there is no listener, or the listener is no ring.
pub fn connect(path: &Path) -> io::Result<End> {
    let socket = UnixStream::connect(path)?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut text = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got =
        recvmsg(&socket, &mut [IoSliceMut::new(&mut text)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut files: Vec<OwnedFd> = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(of) = message {
            files.extend(of);
        }
    }
    let bad = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let word = |at: usize| u32::from_le_bytes([text[at], text[at + 1], text[at + 2], text[at + 3]]);
    let size = Size { messages: word(8), lines: word(12) };
    if got.bytes != text.len() || text[..8] != *GREETING || !size.is_valid() {
        return Err(bad("what listens there is no ring of this version"));
    }
    let [file, theirs, mine] =
        <[OwnedFd; 3]>::try_from(files).map_err(|_| bad("three descriptors belong to a ring"))?;
    let memory = Arc::new(Memory::Shared(Shared::of_sealed(&file, 2 * size.words())?));
    Ok(End { memory, size, first: false, wake: Some(Wake { mine, theirs, socket }) })
}
