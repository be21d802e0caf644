//! A cache of receive buffers by itself: how long does a touch take, a write by the NIC or a read by a core?
//!
//! Buffers of 1,500 B in a cache of 12 MiB, two ways of twelve for the NIC. A ring of so many of them (65,536 if nothing is said: footnote 4 of CARC, APNet 2025), of which
//! so many wait to be read (4,096): `time target/release/examples/buffer_touch [RING [WAITING]]`, or under `valgrind --tool=cachegrind` for instructions.

use forebay_host::memory::buffers::{BufferCache, Capacity, PostedBuffers, Refresh, Reuse};
use std::collections::VecDeque;

/// Frames that are written and read.
const FRAMES: u32 = 20_000_000;

fn main() {
    let mut sizes = std::env::args().skip(1).map(|size| size.parse().expect("a number of buffers"));
    let ring: u32 = sizes.next().unwrap_or(65_536);
    let waiting: usize = sizes.next().unwrap_or(4_096).min(ring) as usize;
    let capacity = Capacity { cache: (12 << 20) / 1_536, ddio: (2 << 20) / 1_536 };
    let mut cache = BufferCache::new(capacity, ring, Refresh::Write);
    let mut posted = PostedBuffers::new(0..ring, Reuse::Fifo);
    let mut unread = VecDeque::with_capacity(waiting);
    for _ in 0..FRAMES {
        if unread.len() == waiting {
            let read = unread.pop_front().expect("some wait");
            cache.cpu_read(read);
            posted.give_back(read);
        }
        let written = posted.take().expect("no more wait than the ring holds");
        cache.nic_write(written);
        unread.push_back(written);
    }
    let counts = cache.counts();
    let touches = counts.writes + counts.reads;
    let (in_place, missed) = (counts.in_place, counts.misses());
    println!("{touches} touches: {in_place} writes in place, {missed} reads missed");
}
