//! What the paper's law does not do: leases, stale signals, and a delay.

use super::*;

const LEASE: (&str, &str) = ("lease", "1ms");
const STALE: (&str, &str) = ("stale_after", "500us");

/// Without a lease an idle network leaves the antagonist stopped for ever.
#[test]
fn without_a_lease_an_idle_network_keeps_the_level() {
    for (lines, gbps) in [(0, 0), (20, 30), (65, 83)] {
        let mut rig = Rig::new(&[]).at_level(4);
        rig.samples(lines, gbps, Span::from_ms(20));
        assert_eq!((rig.level(), rig.wakes.len()), (4, 0));
    }
}

/// With one, whatever it wants below its target: one level per lease.
#[test]
fn with_a_lease_the_level_comes_down_one_at_a_time() {
    for (lines, gbps) in [(0, 0), (20, 30), (65, 83)] {
        let mut rig = Rig::new(&[LEASE]).at_level(4);
        rig.samples(lines, gbps, Span::from_ms(5));
        let levels: Vec<u8> = rig.levels[1..].iter().map(|(_, level)| *level).collect();
        assert_eq!(levels, [3, 2, 1, 0]);
        for (n, (at, _)) in rig.levels[1..].iter().enumerate() {
            let due = Span::from_ms(1) * (n as u64 + 1) + WRITE;
            let late = at.since(Time::ZERO).saturating_sub(due);
            assert!(late <= SAMPLE * (n as u64 + 2), "level {n} {late} late");
        }
    }
}

/// A lease needs no reading to end.
#[test]
fn a_lease_ends_without_readings() {
    let mut rig = Rig::new(&[LEASE]).at_level(4);
    rig.pass(Time::ZERO + Span::from_ms(5));
    assert_eq!(rig.level(), 0);
    assert!(rig.wakes.is_empty(), "nothing held, nothing to wake for");
}

/// A network that wants its share keeps the level: regime 3 and 2 renew, and so does bandwidth at the target.
#[test]
fn a_lease_that_is_needed_is_renewed() {
    for (lines, gbps) in [(93, 43), (93, 100), (65, 84)] {
        let mut rig = Rig::new(&[LEASE]).at_level(4);
        rig.samples(lines, gbps, Span::from_ms(10));
        assert_eq!(rig.level(), 4, "{lines} lines, {gbps} Gb/s");
    }
}

/// The price of probing: congestion that returns at the lower level takes the level back within a few writes.
#[test]
fn a_level_that_was_needed_after_all_comes_back() {
    let mut rig = Rig::new(&[LEASE]).at_level(3);
    let mut below = Span::ZERO;
    for _ in 0..Span::from_ms(10) / SAMPLE {
        // 63 Gb/s fit at level 3 without congestion, below it they do not.
        let (lines, gbps) = if rig.level() >= 3 { (49, 63) } else { (93, 53) };
        below += if rig.level() < 3 { SAMPLE } else { Span::ZERO };
        rig.sample(lines, gbps);
    }
    // Ten leases, each a raise of 22 us and the samples until I_S crosses 70.
    assert!(below <= Span::from_us(10 * 25), "{below}");
    assert!(rig.levels.len() >= 15 && rig.levels.iter().all(|(_, level)| *level >= 2));
}

/// In the module an idle network's I_S may stay above the threshold; under a lease it justifies nothing.
#[test]
fn a_lease_ignores_a_frozen_signal_of_an_idle_network() {
    let mut rig = Rig::new(&[("variant", "module"), LEASE]);
    rig.samples(93, 43, Span::from_ms(2));
    assert_eq!(rig.level(), 4);
    rig.samples(0, 0, Span::from_ms(5));
    assert_eq!(rig.level(), 0);
}

#[test]
fn signals_that_stop_lift_everything_at_their_time() {
    let mut rig = Rig::new(&[STALE]);
    rig.samples(93, 43, Span::from_us(200));
    assert_eq!((rig.level(), rig.echo), (4, Echo::Capable));
    let last = rig.now;
    rig.pass(last + Span::from_us(499));
    assert_eq!((rig.level(), rig.echo), (4, Echo::Capable));
    rig.pass(last + Span::from_us(500));
    assert_eq!((rig.writing, rig.echo), (Some((rig.now + WRITE, 0)), Echo::Off), "at once to 0");
    rig.pass(last + Span::from_ms(10));
    assert_eq!((rig.level(), rig.wakes.len()), (0, 0));
    // They come back: the law begins anew, knowing nothing of before.
    rig.sample(93, 43);
    assert_eq!((rig.echo, rig.writing), (Echo::Off, None));
    rig.samples(93, 43, Span::from_us(100));
    assert_eq!((rig.level(), rig.echo), (4, Echo::Capable));
}

/// Counters that are read but stand still say as little; so does one of the two.
#[test]
fn counters_that_stand_still_are_stale() {
    for variant in ["paper", "module"] {
        for (lines, gbps) in [(0, 0), (93, 0), (0, 43)] {
            let mut rig = Rig::new(&[STALE, ("variant", variant)]);
            rig.samples(93, 43, Span::from_ms(2));
            assert_eq!(rig.level(), 4, "{variant}");
            let stopped = rig.now;
            rig.samples(lines, gbps, Span::from_us(530));
            assert_eq!((rig.level(), rig.echo), (0, Echo::Off), "{variant}: {lines}, {gbps}");
            let (lifted, _) = rig.levels[rig.levels.len() - 1];
            // A raise may have been under way; then the 0 comes after it.
            assert!(lifted.since(stopped) <= Span::from_us(500) + WRITE * 2 + SAMPLE * 2);
            // What half of the signals says stays unheard.
            rig.samples(lines, gbps, Span::from_ms(5));
            assert_eq!((rig.level(), rig.echo), (0, Echo::Off), "{variant}: {lines}, {gbps}");
            rig.samples(93, 43, Span::from_us(500));
            assert_eq!((rig.level(), rig.echo), (4, Echo::Capable), "{variant}");
        }
    }
}

/// A write that is under way when signals go stale ends first, and is then lifted.
#[test]
fn a_raise_under_way_is_lifted_after_it() {
    let mut rig = Rig::new(&[STALE]);
    rig.samples(93, 43, SAMPLE * 3);
    let (_, level) = rig.writing.take().expect("raises");
    rig.pass(rig.now + Span::from_us(600)); // a slow write
    assert_eq!((level, rig.echo, rig.writing), (1, Echo::Off, None));
    assert_eq!(rig.event(HostEvent::LevelWritten(1)), [HostAct::Level(0)]);
    // The same, but the raise fails: nothing to lift, and the law goes on.
    let mut rig = Rig::new(&[STALE]);
    rig.samples(93, 43, SAMPLE * 3);
    rig.writing = None;
    rig.pass(rig.now + Span::from_us(600));
    assert_eq!(rig.event(HostEvent::LevelFailed), []);
    rig.samples(93, 43, Span::from_ms(2));
    assert_eq!(rig.level(), 4);
}

/// A lift that fails is tried again without any reading.
#[test]
fn a_failed_lift_is_tried_again() {
    let mut rig = Rig::new(&[STALE]).at_level(2);
    rig.pass(Time::ZERO + Span::from_us(500));
    for _ in 0..3 {
        assert_eq!(rig.writing.take().map(|(_, level)| level), Some(0));
        rig.event(HostEvent::LevelFailed);
        rig.pass(rig.now + Span::from_us(1_001));
    }
    rig.pass(rig.now + Span::from_ms(1));
    assert_eq!((rig.level(), rig.wakes.len()), (0, 0));
}

#[test]
fn live_signals_are_not_stale() {
    let mut rig = Rig::new(&[STALE]).at_level(4);
    for _ in 0..20 {
        rig.samples(60, 50, Span::from_us(300));
        rig.samples(0, 0, Span::from_us(150));
    }
    assert_eq!(rig.level(), 4);
}

/// Without `stale_after` the last decision stays, as in paper and module.
#[test]
fn without_the_option_dead_signals_hold() {
    let mut rig = Rig::new(&[]);
    rig.samples(93, 43, Span::from_us(200));
    rig.pass(rig.now + Span::from_secs(1));
    assert_eq!((rig.level(), rig.echo), (4, Echo::Capable));
}

/// One phase of a schedule: for so long, so many lines and Gb/s, or no reading at all.
#[derive(Clone, Copy, Debug)]
struct Phase {
    span: Span,
    lines: u64,
    gbps: u64,
    read: bool,
    fails: bool,
}

fn phases(lines: u64, gbps: u64, fails: bool) -> impl Strategy<Value = Vec<Phase>> {
    let phase = (1u64..400, 0..=lines, 0..gbps, any::<bool>(), any::<bool>());
    let phase = phase.prop_map(move |(us, lines, gbps, read, fail)| Phase {
        span: Span::from_us(us),
        lines,
        gbps,
        read,
        fails: fails && fail,
    });
    prop::collection::vec(phase, 1..30)
}

fn play(rig: &mut Rig, phases: &[Phase]) {
    for phase in phases {
        if phase.fails && rig.writing.take().is_some() {
            rig.event(HostEvent::LevelFailed);
        }
        if phase.read {
            rig.samples(phase.lines, phase.gbps, phase.span);
        } else {
            rig.pass(rig.now + phase.span);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// From any state, under any schedule in which the network stays below its target without congestion, no core is left
    /// throttled; and one lease later nothing is left to wake for.
    #[test]
    fn with_a_lease_every_level_ends(
        before in phases(200, 160, true),
        below in phases(69, 83, false),
        variant in prop::sample::select(&["paper", "module"]),
        stale in any::<bool>(),
        max_level in 0u8..8,
    ) {
        let mut params = std::vec![("variant", variant), LEASE];
        params.extend(stale.then_some(STALE));
        let mut rig = Rig::with(&params, HostStart { max_level, ..AT });
        play(&mut rig, &before);
        // I_S forgets what was, unless the module's guard forbids; B_S takes longer, and a lease each level.
        rig.samples(30, 40, Span::from_us(600));
        let end = rig.now + Span::from_ms(1) * (u64::from(max_level) + 2) + Span::from_ms(2);
        while rig.now < end {
            play(&mut rig, &below);
        }
        rig.pass(rig.now + WRITE);
        prop_assert_eq!(rig.level(), 0);
    }

    /// With stale signals lifted, no schedule that ends in silence leaves anything on.
    #[test]
    fn silence_lifts_everything(
        before in phases(200, 160, true),
        variant in prop::sample::select(&["paper", "module"]),
    ) {
        let mut rig = Rig::new(&[("variant", variant), STALE]);
        play(&mut rig, &before);
        rig.pass(rig.now + Span::from_ms(3));
        prop_assert_eq!((rig.level(), rig.echo), (0, Echo::Off));
        prop_assert!(rig.wakes.is_empty());
    }
}
