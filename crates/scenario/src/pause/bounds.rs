//! Closed forms of the shared buffer: at which share an account pauses, and below which queue marks come before any pause.
//!
//! Source: Choudhury and Hahne, IEEE/ACM ToN 1998, for the dynamic threshold; Zhu et al., SIGCOMM 2015, section 4, for the
//! order of marks and pauses.

use forebay_units::Bytes;

/// The share of each of `n` accounts that all stand at a dynamic threshold: `alpha pool / (1 + alpha n)`.
pub(super) fn share(pool: Bytes, alpha: f64, n: u64) -> Bytes {
    Bytes::new((alpha * pool.get() as f64 / (1.0 + alpha * n as f64)) as u64)
}

/// An equal part of `all` for each of `n`; rounds down.
pub(super) fn each(all: Bytes, n: u64) -> Bytes {
    Bytes::new(all.get() / n.max(1))
}

/// The queue below which marks come before any pause, whatever the load, under a dynamic threshold with factor `beta` for
/// `accounts` ingress ports and classes: `beta pool / (accounts (beta + 1))`. `pool` is what headroom leaves.
pub(super) fn marks_first(pool: Bytes, accounts: u64, beta: f64) -> Bytes {
    Bytes::new((beta * pool.get() as f64 / (accounts as f64 * (beta + 1.0))) as u64)
}
