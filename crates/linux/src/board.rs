//! A board: numbers that one process or thread publishes and another reads, in memory that a descriptor stands for, with a sign of life.
//!
//! Invariant: neither side ever waits for the other, and neither makes a system call. A reader may see some numbers of one round and
//! some of the next.

use crate::boot_ns;
use crate::shared::Shared;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Numbers on a board.
pub const WORDS: usize = 256;

/// See the top of this file.
#[derive(Debug)]
pub struct Board {
    file: OwnedFd,
    words: Shared, // the numbers, then the sign of life
}

impl Board {
    /// A board of zeros.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("forebay", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, 8 * (WORDS as u64 + 1))?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::of(file)
    }

    /// The board behind a descriptor.
    ///
    /// # Errors
    /// If there is none behind it.
    pub fn of(file: OwnedFd) -> io::Result<Self> {
        let words = Shared::of_sealed(&file, WORDS + 1)?;
        Ok(Self { file, words })
    }

    /// Shares the board with another thread.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn share(&self) -> io::Result<Self> {
        Self::of(self.file.try_clone()?)
    }

    /// Replaces the first numbers.
    pub fn publish(&self, numbers: impl IntoIterator<Item = u64>) {
        for (to, number) in self.words.words()[..WORDS].iter().zip(numbers) {
            to.store(number, Relaxed);
        }
    }

    /// Replaces one of them.
    pub fn set(&self, nth: usize, number: u64) {
        self.words.words()[..WORDS][nth].store(number, Relaxed);
    }

    /// The numbers now.
    pub fn read(&self) -> [u64; WORDS] {
        let mut numbers = [0; WORDS];
        for (number, from) in numbers.iter_mut().zip(self.words.words()) {
            *number = from.load(Relaxed);
        }
        numbers
    }

    /// One of them.
    pub fn number(&self, nth: usize) -> u64 {
        self.words.words()[..WORDS][nth].load(Relaxed)
    }

    /// Gives a sign of life.
    pub fn beat(&self) {
        self.words.words()[WORDS].store(boot_ns(), Release);
    }

    /// The last sign of life, in nanoseconds of CLOCK_BOOTTIME; 0: there was none.
    pub fn last_beat(&self) -> u64 {
        self.words.words()[WORDS].load(Acquire)
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_by_whoever_shares_the_board() {
        let board = Board::new().expect("memory");
        let other = board.share().expect("shared");
        assert_eq!((other.read(), other.last_beat()), ([0; WORDS], 0));
        board.publish([7, 8]);
        board.beat();
        assert_eq!((other.number(0), other.number(1), other.number(2)), (7, 8, 0));
        assert!(other.last_beat() > 0 && other.last_beat() <= boot_ns());
    }

    /// A file that its other side could make shorter would end this process at the next reading.
    #[test]
    fn a_file_that_can_shrink_or_is_too_short_is_no_board() {
        let file = memfd_create("other", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&file, 1 << 16).expect("long enough");
        assert!(Board::of(file).is_err());
        let short = memfd_create("short", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
        let short = short.expect("memory");
        fcntl_add_seals(&short, SealFlags::SHRINK).expect("sealed");
        assert!(Board::of(short).is_err());
        let board = Board::new().expect("memory");
        assert!(ftruncate(&board, 0).is_err(), "nobody can");
    }
}
