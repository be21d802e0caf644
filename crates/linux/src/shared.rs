//! Words in memory that processes, or processes and the kernel, share: reading and writing them is no system call.

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::os::fd::AsFd;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// Words of 64 bits that the kernel and other processes see and change.
#[derive(Debug)]
pub struct Shared {
    start: *mut c_void, // invariant: start of a mapping of `8 * words` bytes or more, readable and writable, that is this value's
    words: usize,
}

// SAFETY: the mapping is of the process, not of a thread, and is reached by atomics alone.
#[allow(unsafe_code)]
unsafe impl Send for Shared {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Shared {}

impl Shared {
    /// Maps the values of a map of the kernel's (BPF) that was made to be mapped and has so many words in all. The descriptor may be
    /// closed afterwards.
    ///
    /// # Errors
    /// If the system refuses, as it does where the map has fewer words.
    pub fn of(map: impl AsFd, words: usize) -> io::Result<Self> {
        Self::map(map, words)
    }

    /// Maps a file in memory that is sealed against shrinking.
    ///
    /// # Errors
    /// If it can be made shorter, has fewer words, or the system refuses.
    pub fn of_sealed(file: impl AsFd, words: usize) -> io::Result<Self> {
        let long = fstat(&file)?.st_size >= 8 * words as i64;
        if !long || !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::map(file, words)
    }

    #[allow(unsafe_code)]
    fn map(of: impl AsFd, words: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping wherever the kernel has room overlaps nothing that is in use. What is behind it never shrinks: the kernel
        // refuses to map more of a BPF map than there is, and a sealed file has been found to be long enough.
        let start = unsafe { mmap(ptr::null_mut(), 8 * words, access, MapFlags::SHARED, of, 0) }?;
        Ok(Self { start, words })
    }

    /// All of them.
    #[allow(unsafe_code)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: by the invariant so many words are mapped and aligned to a page, for as long as `self` lives; other processes that see the
        // memory may change it at any time, which atomics allow.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.words) }
    }
}

impl Drop for Shared {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: by the invariant the mapping is this value's, and no reference outlives it.
        let _ = unsafe { munmap(self.start, 8 * self.words) };
    }
}
