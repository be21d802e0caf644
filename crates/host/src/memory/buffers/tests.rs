//! Known answers, a twin with a linear search, and a cache of lines in sets and ways.

use super::*;
use proptest::prelude::*;

/// Unread buffers and those posted, over a cache.
struct Ring {
    cache: BufferCache,
    posted: PostedBuffers,
    unread: VecDeque<u32>,
}

impl Ring {
    fn new(capacity: Capacity, buffers: u32, refresh: Refresh, reuse: Reuse) -> Self {
        let cache = BufferCache::new(capacity, buffers, refresh);
        Self { cache, posted: PostedBuffers::new(0..buffers, reuse), unread: VecDeque::new() }
    }

    fn write(&mut self) {
        let buffer = self.posted.take().expect("the ring holds what waits");
        self.cache.nic_write(buffer);
        self.unread.push_back(buffer);
    }

    fn read(&mut self) {
        let buffer = self.unread.pop_front().expect("a message waits");
        self.cache.cpu_read(buffer);
        self.posted.give_back(buffer);
    }

    /// Share of misses among reads after the warm-up, with up to `unread` buffers waiting.
    fn misses(mut self, unread: u32) -> f64 {
        for _ in 1..unread {
            self.write();
        }
        let mut before = *self.cache.counts();
        for round in 0..4000 {
            if round == 2000 {
                before = *self.cache.counts();
            }
            self.write();
            self.read();
        }
        let after = self.cache.counts();
        (after.misses() - before.misses()) as f64 / (after.reads - before.reads) as f64
    }
}

/// CARC section 3.1, figure 3: 8 buffers, places for 2 in DDIO ways and for 3 elsewhere.
#[test]
fn figure_3_misses_eight_of_eight() {
    let mut cache = BufferCache::new(Capacity { cache: 5, ddio: 2 }, 8, Refresh::Write);
    let resident =
        |cache: &BufferCache| (0..8).filter(|&b| cache.is_resident(b)).collect::<Vec<_>>();
    (0..8).for_each(|buffer| assert!(!cache.nic_write(buffer).hit));
    assert_eq!(resident(&cache), [6, 7], "step 1");
    assert_eq!(cache.counts().evicted_unread, 6);
    let evicted: Vec<_> = (0..4).map(|buffer| cache.cpu_read(buffer).evicted).collect();
    assert_eq!(
        evicted,
        [None, None, None, Some(EvictedBuffer { buffer: 6, unread: true, dirty: true })]
    );
    assert_eq!(resident(&cache), [0, 1, 2, 3, 7], "step 2");
    for buffer in 0..4 {
        assert_eq!(cache.nic_write(buffer), AccessOutcome { hit: true, evicted: None }, "step 3");
    }
    let evicted: Vec<_> =
        (4..8).filter_map(|b| cache.cpu_read(b).evicted).map(|e| e.buffer).collect();
    assert_eq!(evicted, [7, 0, 1, 2], "step 4");
    let counts = cache.counts();
    assert_eq!((counts.reads, counts.misses(), counts.hits), (8, 8, 0));
    assert_eq!(
        (counts.missed_after_nic, counts.missed_after_cpu),
        (6, 2),
        "#6 and #7 left for reads"
    );
}

/// With D = 10 and S = 60: a ring that fits never misses; a larger one misses all once U is above D.
#[test]
fn a_ring_above_the_cache_misses_all_once_more_waits_than_ddio_holds() {
    let capacity = Capacity { cache: 60, ddio: 10 };
    let misses =
        |ring, unread, reuse| Ring::new(capacity, ring, Refresh::Write, reuse).misses(unread);
    for unread in [1, 10, 11, 30, 59, 60] {
        assert_eq!(misses(60, unread, Reuse::Fifo), 0.0, "ring of 60, {unread} unread");
    }
    assert_eq!(misses(120, 10, Reuse::Fifo), 0.0);
    assert_eq!(misses(120, 11, Reuse::Fifo), 1.0);
    assert_eq!(misses(120, 59, Reuse::Fifo), 1.0);
    assert_eq!(misses(120, 59, Reuse::Lifo), 0.0, "the same buffers come back");
}

/// Nothing waits in the ring when a request begins. The ring gets three buffers of it while cores read two. Reads hit until more waits than D, which is
/// D x v2 / (v1 - v2) = 20 of them but for the last two, as a write comes first. All others miss, however long the request is, and even when less waits again towards its end.
#[test]
fn a_request_that_finds_nothing_waiting_hits_until_more_waits_than_ddio_holds() {
    let mut ring = Ring::new(Capacity { cache: 60, ddio: 10 }, 640, Refresh::Write, Reuse::Fifo);
    let mut hits = |buffers: u32| {
        let before = ring.cache.counts().hits;
        for i in 0..buffers {
            ring.write();
            if i % 3 != 0 {
                ring.read();
            }
        }
        while !ring.unread.is_empty() {
            ring.read();
        }
        ring.cache.counts().hits - before
    };
    assert_eq!([300, 300, 600, 300].map(&mut hits), [18; 4]);
}

/// The machine of hostCC: rings of 8 x 1,024 buffers of 2 KiB, 16.8 MB, fit its cache of 24.75 MB but not the 4.5 MB of two ways.
///
/// While no more waits than those hold, each write evicts and no read misses. A round with more waiting brings the whole ring in, and
/// neither happens again.
#[test]
fn rings_that_fit_the_cache_evict_at_each_write_until_more_waits_than_ddio_holds() {
    let buffers = |bytes: u32| bytes / 2048;
    let capacity = Capacity { cache: buffers(24_750_000), ddio: buffers(4_500_000) };
    let size = 8 * 1024;
    let mut ring = Ring::new(capacity, size, Refresh::Write, Reuse::Fifo);
    // Writes in place and misses of two rounds, after two to settle, with up to `unread` waiting.
    let mut rounds = |unread: u32| {
        for _ in 1..unread {
            ring.write();
        }
        let mut before = *ring.cache.counts();
        for i in 0..4 * size {
            if i == 2 * size {
                before = *ring.cache.counts();
            }
            ring.write();
            ring.read();
        }
        while !ring.unread.is_empty() {
            ring.read();
        }
        let after = ring.cache.counts();
        (after.in_place - before.in_place, after.misses() - before.misses())
    };
    let all = u64::from(2 * size);
    assert_eq!(rounds(capacity.ddio), (0, 0));
    assert_eq!(rounds(capacity.ddio + 1), (all, 0));
    assert_eq!(rounds(1), (all, 0), "what came in stays");
}

/// With D = 10: under [`Refresh::Both`] buffers that were read are younger than those that wait, so that S1 ends at U = D / 2.
#[test]
fn reads_that_refresh_end_s1_at_half_of_ddio() {
    let capacity = Capacity { cache: 60, ddio: 10 };
    let misses = |unread| Ring::new(capacity, 1200, Refresh::Both, Reuse::Fifo).misses(unread);
    assert_eq!(misses(5), 0.0);
    assert!((0.1..0.2).contains(&misses(6)), "{}", misses(6));
    assert!((0.85..0.95).contains(&misses(10)), "{}", misses(10));
    assert_eq!(misses(11), 1.0);
}

#[test]
fn a_write_makes_a_resident_buffer_young() {
    let mut cache = BufferCache::new(Capacity { cache: 2, ddio: 2 }, 3, Refresh::Write);
    [0, 1, 0].iter().for_each(|&buffer| assert!(cache.nic_write(buffer).evicted.is_none()));
    assert_eq!(cache.nic_write(2).evicted.map(|e| e.buffer), Some(1));
}

/// Background data takes the places of what waits, and data that the CPU wrote is written back.
#[test]
fn writes_of_the_cpu_evict_what_waits() {
    let mut cache = BufferCache::new(Capacity { cache: 2, ddio: 1 }, 4, Refresh::Write);
    cache.nic_write(0);
    cache.cpu_write(2);
    assert_eq!(
        cache.cpu_write(3).evicted,
        Some(EvictedBuffer { buffer: 0, unread: true, dirty: true })
    );
    assert_eq!(
        cache.cpu_read(0).evicted,
        Some(EvictedBuffer { buffer: 2, unread: false, dirty: true })
    );
    assert_eq!(cache.counts().missed_after_cpu, 1);
}

#[test]
fn states_are_bounded_by_ddio_cache_and_queues() {
    let capacity = Capacity { cache: 60, ddio: 10 };
    let states = [10, 11, 60, 61, 119, 120].map(|unread| Congestion::of(unread, capacity, 120));
    use Congestion::*;
    assert_eq!(states, [S1, S2, S2, S3, S3, S4]);
}

/// Twin of the cache: one list from the oldest to the youngest, searched from its beginning.
struct Twin {
    capacity: Capacity,
    refresh: Refresh,
    resident: Vec<(u32, bool)>, // buffer, in a DDIO way
}

impl Twin {
    fn access(&mut self, buffer: u32, kind: u8) -> (bool, Option<u32>) {
        if let Some(at) = self.resident.iter().position(|&(b, _)| b == buffer) {
            if kind != 1 || self.refresh == Refresh::Both {
                let entry = self.resident.remove(at);
                self.resident.push(entry);
            }
            return (true, None);
        }
        let in_ddio = self.resident.iter().filter(|r| r.1).count() as u32;
        let elsewhere = self.resident.len() as u32 - in_ddio;
        let free_elsewhere = elsewhere < self.capacity.cache - self.capacity.ddio;
        let free_in_ddio = in_ddio < self.capacity.ddio;
        let (ddio, leaves) = match kind {
            0 if free_in_ddio => (true, None),
            0 => (true, self.resident.iter().position(|r| r.1)),
            _ if free_elsewhere => (false, None),
            _ if free_in_ddio => (true, None),
            _ => (self.resident[0].1, Some(0)),
        };
        let evicted = leaves.map(|at| self.resident.remove(at).0);
        self.resident.push((buffer, ddio));
        (false, evicted)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_agree_with_a_search(
        ddio in 1_u32..5,
        more in 0_u32..6,
        both in any::<bool>(),
        accesses in proptest::collection::vec((0_u32..16, 0_u8..3), 1..400),
    ) {
        let capacity = Capacity { cache: ddio + more, ddio };
        let refresh = if both { Refresh::Both } else { Refresh::Write };
        let mut cache = BufferCache::new(capacity, 16, refresh);
        let mut twin = Twin { capacity, refresh, resident: Vec::new() };
        let mut lost = [false; 16]; // left unread, and not written since
        let mut missed_unread = 0;
        for (buffer, kind) in accesses {
            let touch = match kind {
                0 => cache.nic_write(buffer),
                1 => cache.cpu_read(buffer),
                _ => cache.cpu_write(buffer),
            };
            let expected = twin.access(buffer, kind);
            prop_assert_eq!((touch.hit, touch.evicted.map(|e| e.buffer)), expected);
            if std::mem::take(&mut lost[buffer as usize]) {
                prop_assert!(!touch.hit);
                missed_unread += 1;
            }
            if let Some(evicted) = touch.evicted {
                lost[evicted.buffer as usize] = evicted.unread;
            }
            prop_assert_eq!(cache.resident() as usize, twin.resident.len());
            prop_assert!(cache.resident() <= capacity.cache);
        }
        let counts = cache.counts();
        prop_assert_eq!(counts.hits + counts.misses(), counts.reads);
        let pending = lost.iter().filter(|&&l| l).count() as u64;
        prop_assert_eq!(counts.evicted_unread, missed_unread + pending);
    }
}

/// A cache of 64-byte lines: sets of 12 ways, 2 of them for DDIO, each set least recently used first.
struct Lines {
    sets: Vec<Twin>,
    reads: u64,
    misses: u64,
}

/// Lines of a buffer of 1,536 bytes.
const LINES: u32 = 24;

/// Sets of the oracle, of 147 KB in all: with [`LINES`] the cache holds 96 buffers, its DDIO ways 16.
const SETS: u32 = 192;

impl Lines {
    fn new(refresh: Refresh) -> Self {
        let capacity = Capacity { cache: 12, ddio: 2 };
        let set = || Twin { capacity, refresh, resident: Vec::new() };
        Self { sets: (0..SETS).map(|_| set()).collect(), reads: 0, misses: 0 }
    }

    fn access(&mut self, buffer: u32, kind: u8) {
        for line in buffer * LINES..(buffer + 1) * LINES {
            let (hit, _) = self.sets[(line % SETS) as usize].access(line, kind);
            self.reads += u64::from(kind == 1);
            self.misses += u64::from(kind == 1 && !hit);
        }
    }
}

/// Shares of misses by buffers and by lines, in bursts of up to `burst` messages, each read to the end.
fn by_buffers_and_lines(ring: u32, burst: u64, refresh: Refresh, reuse: Reuse) -> (f64, f64) {
    let capacity = Capacity { cache: SETS * 12 / LINES, ddio: SETS * 2 / LINES };
    let mut buffers = Ring::new(capacity, ring, refresh, reuse);
    let mut lines = Lines::new(refresh);
    let mut random = 12_345_u64;
    for _ in 0..1000 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let size = (random >> 33) % burst.min(u64::from(ring)) + 1;
        for _ in 0..size {
            buffers.write();
            lines.access(*buffers.unread.back().expect("just written"), 0);
        }
        for _ in 0..size {
            lines.access(buffers.unread[0], 1);
            buffers.read();
        }
    }
    let counts = buffers.cache.counts();
    (counts.misses() as f64 / counts.reads as f64, lines.misses as f64 / lines.reads as f64)
}

#[test]
fn misses_are_those_of_lines_in_sets_within_two_points() {
    use {Refresh::*, Reuse::*};
    let loads = [(64, 64), (96, 96), (192, 12), (192, 24), (192, 64), (384, 128), (384, 384)];
    for (refresh, reuse) in [(Write, Fifo), (Write, Lifo), (Both, Fifo)] {
        for (ring, burst) in loads {
            let (buffers, lines) = by_buffers_and_lines(ring, burst, refresh, reuse);
            let case = format!("ring {ring}, bursts of {burst}, {refresh:?}, {reuse:?}");
            assert!((buffers - lines).abs() <= 0.02, "{case}: {buffers:.3} against {lines:.3}");
        }
    }
}

/// The limit of a cache without sets: buffers that come back last in, first out load sets unevenly, some 3 points apart.
#[test]
fn lifo_reuse_under_refreshing_reads_differs_by_three_points() {
    let (buffers, lines) = by_buffers_and_lines(384, 128, Refresh::Both, Reuse::Lifo);
    assert!((0.02..0.04).contains(&(buffers - lines)), "{buffers:.3} against {lines:.3}");
}
