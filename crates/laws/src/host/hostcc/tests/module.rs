//! What the module's arithmetic does to its signals, by its source.

use super::super::signals::Signals;
use super::*;

fn signals(counters: Counters) -> Signals {
    let params = HostCcParams { variant: Variant::Module, ..HostCcParams::default() };
    Signals::new(&params, counters, SAMPLE)
}

fn at(ns: u64, raw: u64) -> Reading {
    Reading { at: Time::ZERO + Span::from_ns(ns), raw }
}

fn read_gbps(signals: &Signals) -> f64 {
    let Signals::Module(module) = signals else { panic!("module") };
    f64::from(module.gbps()) / 1024.0
}

/// 84 Gb/s read 85.3 to 85.7 and 103 read 104.7 to 105.3 with samples of 600 to 700 ns: `ns >> 5` cuts up to 31 ns.
#[test]
fn bandwidth_reads_high() {
    for (gbps, low, high) in [(84, 85.3, 85.7), (103, 104.7, 105.3)] {
        let mut signals = signals(Counters::WRITE.of_port());
        let (mut ns, mut sum, mut n) = (0u64, 0.0, 0);
        for i in 0u64..40_000 {
            signals.inserts(at(ns, (ns * gbps / 32) & (u64::MAX >> 28)));
            ns += 600 + (i * 7919) % 101;
            if i > 5_000 {
                sum += read_gbps(&signals);
                n += 1;
            }
        }
        let mean = sum / f64::from(n);
        assert!((low..=high).contains(&mean), "{gbps} Gb/s read {mean}");
    }
}

/// Lines for a while, 512 ns apart, from the counter's value on.
fn feed(signals: &mut Signals, ns: &mut u64, raw: &mut u64, lines: u64, times: u64) {
    for _ in 0..times {
        *ns += 512;
        *raw += lines * 256;
        signals.occupancy(at(*ns, *raw));
    }
}

/// "Over" means 71.0 and more, "under" less than 70.0; between them is equality.
#[test]
fn thresholds_are_whole_lines() {
    // From above, where the average reaches its signal; from below it stays short by up to 7/1024.
    for (lines, order) in [(69, Ordering::Less), (70, Ordering::Equal), (71, Ordering::Greater)] {
        let mut signals = signals(Counters::WRITE);
        let (mut ns, mut raw) = (0, 0);
        feed(&mut signals, &mut ns, &mut raw, 93, 100);
        feed(&mut signals, &mut ns, &mut raw, lines, 200);
        assert_eq!(signals.congested(), Some(order), "{lines} lines");
    }
    let mut from_below = signals(Counters::WRITE);
    feed(&mut from_below, &mut 0, &mut 0, 71, 200);
    assert_eq!(from_below.congested(), Some(Ordering::Equal), "70.99 are no 71");
}

/// Ten lines are ignored, eleven are not.
#[test]
fn small_samples_of_occupancy_are_ignored() {
    for (lines, order) in [(0, Ordering::Greater), (10, Ordering::Greater), (11, Ordering::Less)] {
        let mut signals = signals(Counters::WRITE);
        let (mut ns, mut raw) = (0, 0);
        feed(&mut signals, &mut ns, &mut raw, 93, 100);
        feed(&mut signals, &mut ns, &mut raw, lines, 100);
        assert_eq!(signals.congested(), Some(order), "{lines} lines");
    }
}

/// 149 Gb/s count, 150 do not.
#[test]
fn large_samples_of_bandwidth_are_ignored() {
    for (gbps, order) in [(149, Ordering::Greater), (150, Ordering::Less)] {
        let mut signals = signals(Counters::WRITE);
        for n in 0..2_000 {
            signals.inserts(at(512 * n, gbps * n));
        }
        assert_eq!(signals.met(), Some(order), "{gbps} Gb/s");
    }
}

/// The port's 36 bits wrap after 21 s at 103 Gb/s; the guard happens to ignore the sample.
#[test]
fn a_wrap_of_bandwidth_is_ignored_by_luck() {
    let mut signals = signals(Counters::WRITE.of_port());
    let wrap = 1u64 << 36;
    for n in 0..4_000u64 {
        signals.inserts(at(512 * n, (wrap - 2_000 * 16 * 100 + n * 16 * 100) % wrap));
    }
    assert_eq!(read_gbps(&signals).round(), 100.0);
}

/// 48 bits of occupancy wrap into one huge sample, and the law takes an idle host for a congested one for hundreds more.
#[test]
fn a_wrap_of_occupancy_is_a_burst_of_congestion() {
    let mut signals = signals(Counters::WRITE);
    let wrap = 1u64 << 48;
    let mut congested = 0;
    for n in 0..2_000u64 {
        signals.occupancy(at(512 * n, (wrap - 1_000 * 65 * 256 + n * 65 * 256 + 100) % wrap));
        congested += u64::from(signals.congested() == Some(Ordering::Greater));
    }
    assert!((150..400).contains(&congested), "{congested} samples");
    assert_eq!(signals.congested(), Some(Ordering::Less), "and it is forgotten");
}

/// Readings closer than 32 ns would divide by zero; there is no sample then.
#[test]
fn readings_without_time_between_are_no_sample() {
    let mut signals = signals(Counters::WRITE);
    for ns in [0, 0, 1, 2, 31] {
        signals.occupancy(at(ns, 1 << 40));
        signals.inserts(at(ns, 1 << 40));
    }
    assert_eq!((signals.congested(), signals.met()), (Some(Ordering::Less), Some(Ordering::Less)));
}

/// Traffic stops at 93 lines: I_S stays there, B_S falls, and the level climbs to the top with nothing to protect.
#[test]
fn a_frozen_occupancy_climbs_to_the_top() {
    let mut paper = Rig::new(&[("lower_hold", "0us")]);
    let mut module = Rig::new(&[("variant", "module"), ("lower_hold", "0us")]);
    for rig in [&mut paper, &mut module] {
        rig.samples(65, 100, Span::from_us(500)); // B_S begins at zero
        rig.samples(93, 100, Span::from_us(500));
        assert_eq!((rig.level(), rig.echo), (0, Echo::Capable), "regime 2");
        rig.samples(0, 0, Span::from_ms(2));
    }
    assert_eq!((paper.level(), paper.echo), (0, Echo::Off));
    assert_eq!((module.level(), module.echo), (4, Echo::Capable));
}

proptest! {
    /// Any jumps of any counter at any times: no panic.
    #[test]
    fn any_counter_at_any_time(
        clock_hz in any::<u64>(),
        insert_bytes in any::<u64>(),
        readings in prop::collection::vec((any::<u64>(), any::<u64>()), 0..40),
    ) {
        let mut signals = signals(Counters { clock_hz, insert_bytes, ..Counters::WRITE });
        for (ps, raw) in readings {
            let reading = Reading { at: Time::from_ps(ps), raw };
            signals.occupancy(reading);
            signals.inserts(reading);
        }
    }
}
