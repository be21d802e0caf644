//! Virtual addresses: a region in the upper 32 bits, an offset in the lower ones.

/// Bytes of a frame.
pub(crate) const FRAME: usize = 512;
/// Most frames.
pub(crate) const FRAMES: usize = 8;

/// Regions of memory.
pub(crate) mod region {
    /// The frame of the first function; those that it calls have the next numbers.
    pub const STACK: u32 = 2;
    pub const STACK_END: u32 = STACK + super::FRAMES as u32;
    pub const SOCKET: u32 = 0x10;
    pub const ARGUMENTS: u32 = 0x11;
    pub const SAMPLE: u32 = 0x12;
    /// Arguments of a function of a module.
    pub const MODULE_ARGUMENTS: u32 = 0x13;
    pub const DATA: u32 = 0x1000;
    pub const VALUES: u32 = 0x2000;
    /// Maps themselves: nothing to read there.
    pub const MAP: u32 = 0x3000;
    pub const STORAGE: u32 = 0x4000;
    /// Functions: an address in a register, for callbacks.
    pub const CODE: u32 = 0x5000;

    /// The address of an offset in a region.
    pub const fn address(region: u32, at: u64) -> u64 {
        ((region as u64) << 32).wrapping_add(at)
    }
}
