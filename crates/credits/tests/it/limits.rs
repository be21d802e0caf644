//! The limit by the machine's caches.

use forebay_credits::{Cache, Limit, NoLimit, parse_size};

fn cache(level: u8, bytes: u64, node: u32) -> Cache {
    Cache { level, bytes, line: 64, ways: 16, node, shared_by: 8 }
}

/// A Xeon Silver 4309Y has 12 MiB for a socket, by its data sheet. A quarter is left to others: 147,456 lines.
#[test]
fn a_quarter_of_the_last_level_is_left_to_others() {
    let caches = [cache(1, 48 << 10, 0), cache(2, 1280 << 10, 0), cache(3, 12 << 20, 0)];
    let limit = Limit::choose(&caches, None, 25).unwrap();
    assert_eq!((limit.lines, limit.line, limit.bytes()), (147_456, 64, 9 << 20));
    assert_eq!(Limit::choose(&caches, None, 0).unwrap().lines, 196_608);
    assert_eq!(Limit::choose(&caches, None, 100), Err(NoLimit::Nothing));
}

#[test]
fn the_socket_counts_whose_memory_has_the_buffers() {
    let caches = [cache(3, 32 << 20, 0), cache(3, 16 << 20, 1), cache(3, 24 << 20, 1)];
    let of = |node| Limit::choose(&caches, node, 0).map(|of| of.bytes());
    assert_eq!(of(Some(0)), Ok(32 << 20));
    assert_eq!(
        of(Some(1)),
        Ok(16 << 20),
        "a buffer is in one cache of the socket, and that may be the smaller"
    );
    assert_eq!(of(Some(2)), Err(NoLimit::Node(2)));
    assert_eq!(of(None), Ok(16 << 20));
    assert_eq!(Limit::choose(&[], None, 0), Err(NoLimit::NoCache));
}

#[test]
fn a_limit_is_whole_lines_of_a_size_that_lines_have() {
    assert_eq!(Limit::of_bytes(63, 64), Err(NoLimit::Nothing));
    assert_eq!(Limit::of_bytes(6400, 48), Err(NoLimit::Line(48)));
    assert_eq!(Limit::of_bytes(6400, 4), Err(NoLimit::Line(4)));
    assert_eq!(Limit::of_bytes(u64::MAX, 64).unwrap().lines, 1 << 27);
}

#[test]
fn sizes_are_read_as_the_kernel_writes_them() {
    assert_eq!(parse_size("32768K\n"), Some(32 << 20));
    assert_eq!(parse_size("12M"), Some(12 << 20));
    assert_eq!(parse_size("64"), Some(64));
    for bad in ["", "K", "-1K", "1.5M", "99999999999999999999G", "18446744073709551615G", "ß"] {
        assert_eq!(parse_size(bad), None, "{bad}");
    }
}
