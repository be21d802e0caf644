//! hostCC, write side: occupancy and bandwidth averages, four regimes, one level write at a time.

use forebay_laws::Acts;
use forebay_laws::host::{HostAct, HostEvent, HostLaw, HostSeen, HostStart, Reading};
use forebay_units::{BitsPerSec, Span, Time};

#[derive(Clone)]
struct HostCc {
    mask: u64,
    ps_per_cycle: u64,
    line_bits: u64,
    max_level: u8,
    occupancy: Option<Reading>,
    inserts: Option<Reading>,
    lines: u64, // smoothed occupancy, 1/1024 line
    mbps: u64,  // smoothed bandwidth, 1/256 Mb/s
    target_mbps: u64,
    echo: bool,
    level: u8,
    writing: bool,
}

const THRESHOLD: u64 = 70 << 10;

impl HostLaw for HostCc {
    const NAME: &'static str = "hostcc";
    type Params = ();

    fn start(_: &(), _now: Time, at: HostStart, _acts: &mut Acts<HostAct>) -> Self {
        Self {
            mask: u64::MAX >> (64 - u32::from(at.counter_bits)),
            ps_per_cycle: 1_000_000_000_000 / at.iio_clock_hz,
            line_bits: at.line_bytes * 8,
            max_level: at.max_level,
            occupancy: None,
            inserts: None,
            lines: 65 << 10,
            mbps: 0,
            target_mbps: 84_000 << 8,
            echo: false,
            level: 0,
            writing: false,
        }
    }

    fn step(&mut self, _now: Time, seen: HostSeen, acts: &mut Acts<HostAct>) {
        match seen.event {
            HostEvent::WriteOccupancy(reading) => {
                let last = self.occupancy.replace(reading);
                let Some((count, ps)) = self.since(last, reading) else { return };
                // Lines = count / cycles, in 1/1024.
                let sample = (count << 10) * self.ps_per_cycle / ps;
                self.lines = self.lines - self.lines / 8 + sample / 8;
                let echo = self.lines > THRESHOLD;
                if echo != self.echo {
                    self.echo = echo;
                    acts.push(HostAct::Echo(echo));
                }
            }
            HostEvent::WriteInserts(reading) => {
                let last = self.inserts.replace(reading);
                let Some((count, ps)) = self.since(last, reading) else { return };
                // Bits per microsecond are Mb/s.
                let sample = ((count * self.line_bits) << 8) * 1_000_000 / ps;
                self.mbps = self.mbps - self.mbps / 256 + sample / 256;
                let (congested, below) = (self.lines > THRESHOLD, self.mbps < self.target_mbps);
                let level = match (congested, below) {
                    (true, true) => self.max_level.min(self.level + 1),
                    (false, false) => self.level.saturating_sub(1),
                    _ => self.level,
                };
                if level != self.level && !self.writing {
                    self.writing = true;
                    acts.push(HostAct::Level(level));
                }
            }
            HostEvent::LevelWritten(level) => (self.level, self.writing) = (level, false),
            HostEvent::LevelFailed => self.writing = false,
            HostEvent::Target(rate) => self.target_mbps = (rate.get() / 1_000_000) << 8,
            HostEvent::Disable => {
                (self.level, self.echo) = (0, false);
                acts.push(HostAct::Level(0));
                acts.push(HostAct::Echo(false));
            }
            HostEvent::ReadOccupancy(_) | HostEvent::ReadInserts(_) | HostEvent::Wake => {}
        }
    }
}

impl HostCc {
    /// Counts and picoseconds between two readings, through the wrap of the counter.
    fn since(&self, last: Option<Reading>, now: Reading) -> Option<(u64, u64)> {
        let last = last?;
        let ps = now.at.since(last.at).as_ps();
        (ps > 0).then_some((now.raw.wrapping_sub(last.raw) & self.mask, ps))
    }
}

/// Source: sheet hostcc, section 9.6. Occupancy 93 from I_S = 65, samples 0.6 us apart.
///
/// 0.6 us at 500 MHz are 300 cycles: the counter rises by 93 * 300 = 27 900 per sample.
/// I_S: 65 + (93-65)/8 = 68.5; 68.5 + (93-68.5)/8 = 71.56: crosses 70 at sample 2, 1.2 us after onset.
/// Then the level rises by one per write of 22 us: the fourth is in force 4 * 22 = 88 us later.
/// 43 Gb/s are 43 000 * 0.6 / 512 = 50 lines per sample, below the target of 84 Gb/s.
/// The counter is 48 bits wide and wraps within the trace.
#[test]
fn occupancy_crosses_at_the_second_sample_and_levels_follow() {
    let at = HostStart {
        iio_clock_hz: 500_000_000,
        counter_bits: 48,
        line_bytes: 64,
        max_level: 4,
        seed: 1,
    };
    let mut law = HostCc::start(&(), Time::ZERO, at, &mut Acts::default());
    let mut run = |now: Time, event| -> Vec<HostAct> {
        let mut acts = Acts::default();
        law.step(now, HostSeen { event }, &mut acts);
        acts.iter().collect()
    };
    let wrap = 1u64 << 48;
    let sample = |n: u64| {
        let at = Time::ZERO + Span::from_ns(600 * n);
        let occupancy = Reading { at, raw: (wrap - 20_000 + 27_900 * n) % wrap };
        let inserts = Reading { at, raw: (wrap - 60 + 50 * n) % wrap };
        (at, HostEvent::WriteOccupancy(occupancy), HostEvent::WriteInserts(inserts))
    };
    let (mut crossed, mut written, mut top) = (None, None, None);
    for n in 0..400 {
        let (now, occupancy, inserts) = sample(n);
        if let Some((at, level)) = written.filter(|(at, _)| now >= *at) {
            run(at, HostEvent::LevelWritten(level));
            written = None;
            top = top.or((level == 4).then_some(at));
        }
        for act in run(now, occupancy) {
            assert_eq!(act, HostAct::Echo(true));
            assert_eq!(crossed.replace(n), None);
        }
        for act in run(now, inserts) {
            let HostAct::Level(level) = act else { panic!("{act:?}") };
            assert_eq!(written.replace((now + Span::from_us(22), level)), None, "one at a time");
        }
    }
    assert_eq!(crossed, Some(2));
    // 1.2 us to the crossing, 88 us of writes, and up to one sample of waiting after each but the last.
    let top = top.expect("reaches level 4").since(Time::ZERO);
    let least = Span::from_ns(1_200 + 88_000);
    assert!(top >= least && top <= least + Span::from_ns(3 * 600), "{top}");
    let lifted = run(Time::MAX, HostEvent::Disable);
    assert_eq!(lifted, [HostAct::Level(0), HostAct::Echo(false)]);
    assert_eq!(run(Time::MAX, HostEvent::Target(BitsPerSec::from_gbps(40))), []);
}
