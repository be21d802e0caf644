//! Figures 3 and 4 of CARC, with the cache of receive buffers alone: no network and no cores.

use crate::measured::MeasuredRows;
use forebay_host::memory::buffers::{BufferCache, Capacity, PostedBuffers, Refresh, Reuse};
use std::collections::VecDeque;

/// The part with these figures.
pub(super) const PART: &str = "cache";

/// Names of the queues in the ids of rows, their depths in buffers, and their order of reuse.
const QUEUES: [(&str, u32, Reuse); 3] = [
    ("literal", 65_536, Reuse::Fifo),
    ("fits", 8_192, Reuse::Fifo),
    ("lifo16six", 65_536, Reuse::Lifo),
];

/// 12 MiB in 12 ways, 2 of them for the NIC, in buffers of 1,536 B.
const SERVER: Capacity = Capacity { cache: 8_192, ddio: 1_365 };

/// Both figures.
pub(super) fn measure(measured: &mut MeasuredRows) {
    figure_3(measured);
    for (name, depth, reuse) in QUEUES {
        let (d, s) = (SERVER.ddio, SERVER.cache);
        for (state, waiting) in [("s1", d / 2), ("s2", (d + s) / 2), ("s3", s + s / 2)] {
            if waiting < depth {
                let missed = missed(depth, reuse, waiting);
                measured.insert(format!("{PART}-fig4-{state}-{name}"), missed);
            }
        }
    }
}

/// The eight buffers of figure 3: step by step, how many the cache holds, misses, or evicts.
fn figure_3(measured: &mut MeasuredRows) {
    let mut cache = BufferCache::new(Capacity { cache: 5, ddio: 2 }, 8, Refresh::Write);
    let mut enter =
        |id: &str, value: usize| measured.insert(format!("{PART}-fig3-{id}"), value as f64);
    (0..8).for_each(|buffer| _ = cache.nic_write(buffer));
    let held = (0..8).filter(|buffer| cache.is_resident(*buffer));
    // The text names both, and no other.
    enter("step-1-held", held.filter(|buffer| [6, 7].contains(buffer)).count());
    let read = |cache: &mut BufferCache, buffers: std::ops::Range<u32>| {
        let touched: Vec<_> = buffers.map(|buffer| cache.cpu_read(buffer)).collect();
        let missed = touched.iter().filter(|touch| !touch.hit).count();
        let useful = |evicted: &forebay_host::memory::buffers::EvictedBuffer| evicted.unread;
        let useful: Vec<u32> =
            touched.iter().filter_map(|t| t.evicted.filter(useful)).map(|e| e.buffer).collect();
        (missed, useful)
    };
    let (missed, useful) = read(&mut cache, 0..4);
    enter("step-2-misses", missed);
    enter("step-2-evicts-6", usize::from(useful == [6]));
    let evicted = (0..4).filter(|buffer| cache.nic_write(*buffer).evicted.is_some()).count();
    enter("step-3-evicts", evicted);
    enter("step-4-misses", read(&mut cache, 4..8).0);
}

/// Reads that miss, %, while so many buffers wait all the time, once each buffer of the queue has been used twice.
fn missed(depth: u32, reuse: Reuse, waiting: u32) -> f64 {
    let mut cache = BufferCache::new(SERVER, depth, Refresh::Write);
    let mut posted = PostedBuffers::new(0..depth, reuse);
    let mut unread = VecDeque::new();
    let mut counts = [0_u32; 2];
    for turn in 0..3 * depth {
        if unread.len() as u32 >= waiting {
            let buffer = unread.pop_front().expect("some wait");
            let hit = cache.cpu_read(buffer).hit;
            posted.give_back(buffer);
            if turn >= 2 * depth {
                counts[usize::from(hit)] += 1;
            }
        }
        let buffer = posted.take().expect("fewer wait than the queue has");
        cache.nic_write(buffer);
        unread.push_back(buffer);
    }
    100.0 * f64::from(counts[0]) / f64::from(counts[0] + counts[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring that fits misses nothing; in a larger one buffers that wait beyond the NIC's ways have left (docs/carc.md).
    #[test]
    fn a_ring_above_the_cache_misses_all_that_waits_beyond_the_ways_of_the_nic() {
        assert_eq!(missed(8_192, Reuse::Fifo, 4_000), 0.0);
        assert_eq!(missed(65_536, Reuse::Fifo, 600), 0.0);
        assert_eq!(missed(65_536, Reuse::Fifo, 4_000), 100.0);
        assert_eq!(missed(65_536, Reuse::Fifo, 12_000), 100.0);
    }
}
