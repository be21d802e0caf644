//! Closed forms of the shared buffer.

#[path = "../../src/pause/bounds.rs"]
mod source;

use forebay_units::Bytes;
use source::{each, marks_first, share};

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
