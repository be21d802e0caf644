//! What nicdrop does to a host of which a test says how it is.

use super::*;
use crate::host::{Counters, Host, HostParams};

/// A host read each 100 us, where levels take 20 us to write.
struct Rig {
    law: Host,
    now: Time,
    dropped: u64,
    slow: u64,
    bytes: u64,
    writing: Option<(Time, u8)>,
    levels: Vec<u8>,
    echoes: usize,
}

extern crate std;
use std::vec::Vec;

const EVERY: Span = Span::from_us(100);

impl Rig {
    fn new(set: &[(&str, &str)]) -> Self {
        let mut params = HostParams::new("nicdrop").expect("registered");
        set.iter().for_each(|(name, value)| params.set(name, value).expect("a value of it"));
        let at = HostStart {
            write: Counters::WRITE,
            read: Counters::READ,
            max_level: 4,
            period: EVERY,
            seed: 1,
        };
        let law = params.start(Time::ZERO, at, &mut Acts::default());
        let (now, levels) = (Time::ZERO, Vec::new());
        Self { law, now, dropped: 9, slow: 9, bytes: 9, writing: None, levels, echoes: 0 }
    }

    fn event(&mut self, event: HostEvent) {
        let mut acts = Acts::default();
        self.law.step(self.now, HostSeen { event }, &mut acts);
        for act in acts.iter() {
            match act {
                HostAct::Level(level) => {
                    self.writing = Some((self.now + Span::from_us(20), level));
                    self.levels.push(level);
                }
                HostAct::Echo(_) => self.echoes += 1,
                HostAct::WakeAt(_) => {}
            }
        }
    }

    /// So many rounds of a host that drops, has slow cores, and moves so many Gb/s in memory.
    fn rounds(&mut self, count: u32, drops: u64, slow: u64, gbps: u64) -> &mut Self {
        for _ in 0..count {
            if let Some((end, level)) = self.writing.take_if(|(end, _)| *end <= self.now + EVERY) {
                self.now = end;
                self.event(HostEvent::LevelWritten(level));
            }
            self.now = (self.now + Span::from_ps(1)).round_up(EVERY);
            self.dropped += drops;
            self.slow = self.slow.wrapping_add(slow);
            self.bytes += gbps * 12_500; // in 100 us
            let of = |raw| Reading { at: self.now, raw };
            let (dropped, slow, bytes) = (of(self.dropped), of(self.slow), of(self.bytes));
            self.event(HostEvent::NicDrops(dropped));
            self.event(HostEvent::SlowCpu(slow));
            self.event(HostEvent::MemoryBytes(bytes));
            self.event(HostEvent::Wake);
        }
        self
    }
}

#[test]
fn drops_with_busy_memory_climb_window_by_window_and_a_lease_brings_down() {
    let mut rig = Rig::new(&[]);
    rig.rounds(40, 3, 0, 300);
    assert_eq!(rig.levels, [1, 2, 3, 4], "and no further");
    rig.rounds(90, 0, 0, 300);
    assert_eq!(rig.levels.len(), 4, "the lease is 10 ms");
    rig.rounds(500, 0, 0, 300);
    assert_eq!(rig.levels[4..], [3, 2, 1, 0]);
    assert_eq!(rig.echoes, 0, "it marks nothing");
}

#[test]
fn it_never_throttles_for_slow_cores_nor_for_idle_memory_nor_without_drops() {
    for (drops, slow, gbps) in [(3, 1, 300), (3, 0, 224), (0, 0, 300), (0, 1, 0)] {
        let mut rig = Rig::new(&[]);
        rig.rounds(200, drops, slow, gbps);
        assert!(rig.levels.is_empty(), "{drops} drops, {slow} slow, {gbps} Gb/s");
    }
    let mut rig = Rig::new(&[("drops", "100")]);
    rig.rounds(200, 3, 0, 300);
    assert!(rig.levels.is_empty(), "3 in 100 us are 15 in a window");
    // Slow cores that begin while it throttles: nothing justifies the levels any more.
    let mut rig = Rig::new(&[]);
    rig.rounds(40, 3, 0, 300).rounds(500, 3, 1, 300);
    assert_eq!(rig.levels, [1, 2, 3, 4, 3, 2, 1, 0]);
}

#[test]
fn a_counter_that_was_reset_is_no_drop() {
    let mut rig = Rig::new(&[]);
    rig.rounds(3, 0, 0, 300);
    rig.dropped = 0;
    rig.rounds(10, 0, 0, 300);
    rig.bytes = 0;
    rig.rounds(1, 3, 0, 0);
    assert!(rig.levels.is_empty(), "{} {}", rig.dropped, rig.bytes);
}

#[test]
fn without_one_of_its_counters_everything_is_lifted() {
    let mut rig = Rig::new(&[("stale_after", "1ms")]);
    rig.rounds(40, 3, 0, 300);
    for _ in 0..30 {
        rig.now += EVERY;
        rig.dropped += 3;
        let of = Reading { at: rig.now, raw: rig.dropped };
        rig.event(HostEvent::NicDrops(of));
        rig.event(HostEvent::Wake);
    }
    assert_eq!(rig.levels, [1, 2, 3, 4, 0]);
}
