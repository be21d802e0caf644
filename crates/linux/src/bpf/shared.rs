//! Values of a map in memory that kernel and processes share: reading and writing them is no system call.

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
    /// Maps the values of a map that was made to be mapped and has so many words in all. The descriptor may be closed afterwards.
    ///
    /// # Errors
    /// If the system refuses, as it does where the map has fewer words.
    #[allow(unsafe_code)]
    pub fn of(map: impl AsFd, words: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping wherever the kernel has room overlaps nothing that is in use. Memory of a map does not shrink as that
        // of a file does, and the kernel refuses to map more than there is.
        let start = unsafe { mmap(ptr::null_mut(), 8 * words, access, MapFlags::SHARED, map, 0) }?;
        Ok(Self { start, words })
    }

    /// All of them.
    #[allow(unsafe_code)]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: by the invariant so many words are mapped and aligned to a page, for as long as `self` lives; whoever else sees the
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
