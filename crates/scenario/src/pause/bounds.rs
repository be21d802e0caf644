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

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 ports of 40 Gb/s, 12 MB, eight classes, 22.4 kB of headroom for each port and class.
    #[test]
    fn the_worked_bounds_of_the_dcqcn_paper() {
        let (ports, accounts) = (32, 32 * 8);
        let pool = Bytes::new(12_000_000 - accounts * 22_400);
        let static_xoff = each(pool, accounts);
        assert_eq!(static_xoff.get(), 24_475);
        // A queue may be made of what all ingress ports hold, so with a static threshold each has a 32nd of it: less than one MTU.
        assert_eq!(each(static_xoff, ports).get(), 764);
        assert_eq!(marks_first(pool, accounts, 8.0).get(), 21_755);
    }

    /// Choudhury and Hahne, IEEE/ACM ToN 1998, in per mille of the pool.
    #[test]
    fn shares_under_a_dynamic_threshold() {
        let table = [
            (0.125, [111, 100, 62]),
            (0.5, [333, 250, 100]),
            (1.0, [500, 333, 111]),
            (8.0, [888, 470, 123]),
        ];
        for (alpha, shares) in table {
            for (n, expected) in [1, 2, 8].into_iter().zip(shares) {
                assert_eq!(share(Bytes::new(1_000), alpha, n).get(), expected, "{alpha} {n}");
            }
        }
    }
}
