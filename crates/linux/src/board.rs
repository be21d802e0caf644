//! A board: numbers that one process or thread publishes and another reads, in memory that a descriptor stands for.
//!
//! Invariant: neither side ever waits for the other. A reader may see some numbers of one round and some of the next.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Numbers on a board.
pub const WORDS: usize = 256;

/// See the top of this file.
#[derive(Debug)]
pub struct Board(File);

impl Board {
    /// A board of zeros.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let board = Self(File::from(memfd_create("forebay", MemfdFlags::CLOEXEC)?));
        board.publish(&[0; WORDS])?;
        Ok(board)
    }

    /// The board behind a descriptor.
    pub fn of(descriptor: OwnedFd) -> Self {
        Self(File::from(descriptor))
    }

    /// The same board for another thread.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn share(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Replaces the numbers.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn publish(&self, words: &[u64; WORDS]) -> io::Result<()> {
        let mut bytes = [0; 8 * WORDS];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        self.0.write_all_at(&bytes, 0)
    }

    /// The numbers now.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn read(&self) -> io::Result<[u64; WORDS]> {
        let mut bytes = [0; 8 * WORDS];
        self.0.read_exact_at(&mut bytes, 0)?;
        let mut words = [0; WORDS];
        for (word, from) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_ne_bytes(from.try_into().expect("eight bytes"));
        }
        Ok(words)
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
