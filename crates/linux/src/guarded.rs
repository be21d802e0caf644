//! A buffer that the kernel may fill without knowing its length: pages that are not writable follow it.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr;

/// Length of the buffer, and of what lies behind it: a multiple of every page size that Linux has.
const LEN: usize = 1 << 16;

/// 64 KiB, and 64 KiB behind them that are neither read nor written.
#[derive(Debug)]
pub(crate) struct GuardedRegion(*mut c_void); // invariant: start of a mapping of 2 * LEN bytes that no other code uses

impl GuardedRegion {
    /// A buffer of zeros.
    #[allow(unsafe_code)]
    pub(crate) fn new() -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping wherever the kernel has room overlaps nothing that is in use.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), 2 * LEN, access, MapFlags::PRIVATE) }?;
        let buffer = Self(start);
        // SAFETY: the second half of that mapping, to which no reference exists.
        unsafe { mprotect(start.wrapping_byte_add(LEN), LEN, MprotectFlags::empty()) }?;
        Ok(buffer)
    }

    /// The whole of it.
    #[allow(unsafe_code)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: by the invariant LEN bytes from the start are mapped, readable, zeroed by the kernel, and used by no other code; they are
        // unmapped when `self` ends, which the reference does not outlive.
        unsafe { std::slice::from_raw_parts(self.0.cast(), LEN) }
    }

    /// The whole of it.
    #[allow(unsafe_code)]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` makes the reference the only one.
        unsafe { std::slice::from_raw_parts_mut(self.0.cast(), LEN) }
    }
}

impl Drop for GuardedRegion {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: by the invariant the mapping is this value's, and no reference outlives it.
        let _ = unsafe { munmap(self.0, 2 * LEN) };
    }
}
