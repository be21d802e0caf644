//! The kernel's numbers of errors, as helpers return them.
//!
//! Source: `include/uapi/asm-generic/errno-base.h`.

pub(crate) const ENOENT: i64 = -2;
pub(crate) const E2BIG: i64 = -7;
pub(crate) const EFAULT: i64 = -14;
pub(crate) const EEXIST: i64 = -17;
pub(crate) const EINVAL: i64 = -22;
