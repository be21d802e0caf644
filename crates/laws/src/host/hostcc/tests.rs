use super::*;
use crate::host::Counters;
extern crate std;
use std::vec::Vec;

const AT: HostStart = HostStart {
    write: Counters::WRITE,
    read: Counters::READ,
    line_bytes: 64,
    max_level: 4,
    seed: 1,
};

/// Source: sheet hostcc, section 9.6. Occupancy 93 from I_S = 65, samples 0.6 us apart.
///
/// 0.6 us at 500 MHz are 300 cycles: the counter rises by 93 * 300 = 27 900 per sample, by 19 500 at 65 lines.
/// I_S: 65 + (93-65)/8 = 68.5; 68.5 + (93-68.5)/8 = 71.56: crosses 70 at sample 2, 1.2 us after onset.
/// Then the level rises by one per write of 22 us: the fourth is in force 4 * 22 = 88 us later.
/// 43 Gb/s are 43 000 * 0.6 / 512 = 50 lines per sample, below the target of 84 Gb/s.
/// The counter is 48 bits wide and wraps within the trace.
#[test]
fn occupancy_crosses_at_the_second_sample_and_levels_follow() {
    let mut law = HostCc::start(&HostCcParams::default(), Time::ZERO, AT, &mut Acts::default());
    let mut run = |now: Time, event| -> Vec<HostAct> {
        let mut acts = Acts::default();
        law.step(now, HostSeen { event }, &mut acts);
        acts.iter().collect()
    };
    let wrap = 1u64 << 48;
    let sample = |n: u64| {
        let at = Time::ZERO + Span::from_ns(600 * n);
        let sum = 19_500 * n.min(1) + 27_900 * n.saturating_sub(1);
        let occupancy = Reading { at, raw: (wrap - 20_000 + sum) % wrap };
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
            assert_eq!(act, HostAct::Echo(Echo::Capable));
            assert_eq!(crossed.replace(n), None);
        }
        for act in run(now, inserts) {
            let HostAct::Level(level) = act else { panic!("{act:?}") };
            assert_eq!(written.replace((now + Span::from_us(22), level)), None, "one at a time");
        }
    }
    assert_eq!(crossed, Some(3), "the first of 93 is sample 2");
    // 0.6 us of 65 lines, 1.2 us to the crossing, 88 us of writes, up to a sample of waiting after each but the last.
    let top = top.expect("reaches level 4").since(Time::ZERO);
    let least = Span::from_ns(1_800 + 88_000);
    assert!(top >= least && top <= least + Span::from_ns(3 * 600), "{top}");
    let lifted = run(Time::MAX, HostEvent::Disable);
    assert_eq!(lifted, [HostAct::Level(0), HostAct::Echo(Echo::Off)]);
    assert_eq!(run(Time::MAX, HostEvent::Target(BitsPerSec::from_gbps(40))), []);
}
