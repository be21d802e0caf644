//! The loop over machines made up, on a clock of the test's own.

use super::*;
use crate::law::levels::NoThrottle;
use crate::law::settings;
use forebay_laws::Acts;
use forebay_laws::host::{HostAct, HostSeen};
use forebay_linux::board::Board;
use forebay_units::Time;

const MS: Duration = Duration::from_millis(1);

/// Stacks whose lines are 90 while `congested`, else 40; 60 Gb/s come in. The clock is that of the round.
struct FakeStacks {
    now: Duration,
    congested: Vec<bool>,
    sums: Vec<[(Duration, u64); 2]>,
    there: bool,
}

impl FakeStacks {
    fn new(stacks: usize) -> Self {
        Self {
            now: Duration::ZERO,
            congested: vec![true; stacks],
            sums: vec![Default::default(); stacks],
            there: true,
        }
    }
}

impl CounterSource for FakeStacks {
    fn read(&mut self, stack: usize, _: Side, counter: Counter) -> Option<(Duration, u64)> {
        let (nth, per_ns_times_8) = match counter {
            Counter::Occupancy => (0, if self.congested[stack] { 90 * 8 } else { 40 * 8 }),
            _ => (1, 15), // 60 Gb/s are 1.875 units of 4 bytes in a nanosecond
        };
        let (last, value) = &mut self.sums[stack][nth];
        *value += (self.now - *last).as_nanos() as u64 * per_ns_times_8 / 8;
        *last = self.now;
        self.there.then_some((self.now, *value))
    }
}

/// A throttle that says what it was told, and may refuse.
#[derive(Default)]
struct RecordingThrottle {
    levels: Vec<u8>, // the strongest
    by_socket: Levels,
    marks: Vec<Option<bool>>, // by stack, since this was emptied
    refuses: bool,
    touched: bool,
}

impl Throttle for RecordingThrottle {
    fn set(&mut self, levels: Levels) -> bool {
        if !self.refuses {
            self.levels.push(levels.of(None));
            self.by_socket = levels;
        }
        !self.refuses
    }

    fn stands(&mut self) -> bool {
        !self.touched
    }

    fn mark(&mut self, stack: usize, on: bool) {
        self.marks.resize(self.marks.len().max(stack + 1), None);
        self.marks[stack] = Some(on);
    }
}

type Loop = Controller<FakeStacks, RecordingThrottle>;

fn start(stacks: usize) -> Loop {
    let law = settings::params("hostcc", [], Span::from_ms(1)).expect("hostcc");
    let parts = (FakeStacks::new(stacks), RecordingThrottle::default());
    let terms = Terms::live(&law, 4, Span::from_ms(1));
    let laws = (vec![law; stacks], Vec::new());
    Controller::new(Duration::ZERO, stacks, laws, terms, parts)
}

fn run(of: &mut Loop, from: Duration, rounds: u32) -> Duration {
    for nth in 1..=rounds {
        of.senses.now = from + MS * nth;
        of.round(from + MS * nth);
    }
    from + MS * rounds
}

#[test]
fn a_congested_stack_climbs_the_ladder_and_a_calm_one_comes_down() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4]);
    assert!(of.status().stacks[0].marks && of.status().level == 4);
    of.senses.congested[0] = false;
    run(&mut of, now, 5000);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 3, 2, 1, 0], "each level lapses after its lease");
    assert!(!of.status().stacks[0].marks);
}

/// Marks are a lease of the kernel's: they have to be renewed at every round, of each stack by its own law.
#[test]
fn marks_are_renewed_at_every_round_and_end_with_the_laws() {
    let mut of = start(2);
    of.senses.congested[1] = false;
    let mut now = run(&mut of, Duration::ZERO, 20);
    for _ in 0..20 {
        of.throttle.marks.clear();
        now = run(&mut of, now, 1);
        assert_eq!(of.throttle.marks, [Some(true), Some(false)]);
    }
    of.throttle.marks.clear();
    of.end();
    assert_eq!(of.throttle.marks, [Some(false); 2]);
}

#[test]
fn the_strongest_level_of_all_stacks_is_in_force() {
    let mut of = start(2);
    of.senses.congested[1] = false;
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(
        (of.status().stacks[0].level, of.status().stacks[1].level, of.status().level),
        (4, 0, 4)
    );
    of.senses.congested = vec![false, true];
    run(&mut of, now, 5000);
    assert_eq!(
        (of.status().stacks[0].level, of.status().stacks[1].level, of.status().level),
        (0, 4, 4)
    );
    assert_eq!(of.throttle.levels, [1, 2, 3, 4], "one stack rose before the other let go");
}

/// Memory of a socket is throttled for its own stacks; what has no socket, for any.
#[test]
fn each_socket_has_the_strongest_level_of_its_stacks() {
    let mut of = start(3);
    of.on_sockets(&[Some(0), Some(1), Some(1)]);
    of.senses.congested = vec![false, true, false];
    let now = run(&mut of, Duration::ZERO, 20);
    let levels = |of: &Loop| [Some(0), Some(1), None].map(|of_| of.throttle.by_socket.of(of_));
    assert_eq!((levels(&of), of.status().level), ([0, 4, 4], 4));
    of.senses.congested = vec![true, false, true];
    let now = run(&mut of, now, 5000);
    assert_eq!(levels(&of), [4, 4, 4], "one stack of socket 1 rose as the other let go");
    of.absent(0b110);
    run(&mut of, now, 20);
    assert_eq!((levels(&of), of.status().level), ([4, 0, 4], 4), "their interfaces have gone");
    assert!(of.status().stacks[0].marks && !of.status().stacks[2].marks);
    of.end();
    assert_eq!(levels(&of), [0; 3]);
}

#[test]
fn signals_that_end_lift_everything() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    of.senses.there = false;
    run(&mut of, now, 60);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 0]);
    assert!(of.status().stacks[0].unread > 50 && !of.status().stacks[0].marks);
}

/// By the readings' own time: not in a round before, and in the first one after, however late the machine lets that come.
#[test]
fn signals_that_end_lift_at_the_first_round_after_stale_after() {
    for late in [0, 1, 30, 3_000] {
        let mut of = start(1);
        let mut now = run(&mut of, Duration::ZERO, 20);
        of.senses.there = false;
        let shown = of.status().stacks[0];
        let stale = Duration::from_nanos(shown.lines.0.min(shown.inserts.0)) + MS * 50;
        while now + MS < stale {
            now += MS;
            of.senses.now = now;
            of.round(now);
            assert_eq!(of.throttle.levels.last(), Some(&4), "{now:?} of {stale:?}");
        }
        now = stale + MS * late;
        of.senses.now = now;
        of.round(now);
        assert_eq!(of.throttle.levels.last(), Some(&0), "late by {late} ms");
    }
}

#[test]
fn what_others_change_ends_the_law() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    of.throttle.touched = true;
    run(&mut of, now, 1000);
    assert!(of.status().foreign && of.status().level == 0);
    assert_eq!(of.throttle.levels[..5], [1, 2, 3, 4, 0]);
    assert!(of.throttle.levels[5..].iter().all(|level| *level == 0), "no law acts any more");
}

#[test]
fn a_level_that_cannot_be_written_is_tried_again() {
    let mut of = start(1);
    of.throttle.refuses = true;
    let now = run(&mut of, Duration::ZERO, 20);
    assert!(of.status().failed >= 5 && of.status().level == 0);
    of.throttle.refuses = false;
    run(&mut of, now, 20);
    assert_eq!(of.throttle.levels, [1, 2, 3, 4]);
}

#[test]
fn laws_start_anew_before_their_time_ends() {
    let mut of = start(1);
    let now = run(&mut of, Duration::ZERO, 20);
    assert_eq!(of.status().level, 4);
    run(&mut of, now + RENEWAL, 20);
    assert_eq!((of.status().renewals, of.status().level), (1, 4));
    assert_eq!(of.throttle.levels, [1, 2, 3, 4, 0, 1, 2, 3, 4], "lifted, and up again");
    assert!(RENEWAL.as_secs() < u64::MAX / 1_000_000_000_000, "before the end of time");
}

#[test]
fn a_status_is_read_as_it_was_published() {
    let mut of = start(2);
    run(&mut of, Duration::ZERO, 7);
    let board = Board::new().expect("memory");
    of.status().publish(&board);
    assert_eq!(Status::of(&board.read()), *of.status());
}

#[test]
fn rounds_allocate_nothing_that_stays() {
    let mut of = start(1);
    run(&mut of, Duration::ZERO, 20);
    let law = size_of_val(&of.drivers[0]);
    assert!(law <= 1024, "{law} bytes for a law with its driver");
}

/// Prints what a step takes in this build, with all its checks: the fastest of many batches, as others want the core too. No time fails it.
#[test]
fn measure_a_step_of_each_law() {
    let clock = forebay_linux::Clock::start();
    for of in forebay_laws::host::LAWS {
        let law =
            settings::params(of.name(), [], Span::from_ms(1)).expect("a registered law has a name");
        let mut acts = Acts::default();
        let mut host = law.start(Time::ZERO, Terms::live(&law, 4, Span::from_ms(1)).at, &mut acts);
        let (mut now, mut sums, mut best, mut levels) = (Time::ZERO, [0u64; 8], Duration::MAX, 0);
        for batch in 0..200 {
            // Congested for some rounds, then not: counters rise by so much in a round of 1 ms.
            let (busy, mut steps, begun) = (batch % 8 < 4, 0, clock.now());
            for _ in 0..256 {
                now += Span::from_ms(1);
                for (signal, raw) in law.needs().iter().zip(&mut sums) {
                    *raw += match signal {
                        Signal::NicDrops => u64::from(busy) * 100,
                        Signal::SlowCpu => 0,
                        Signal::MemoryBytes => [1_000_000, 40_000_000][usize::from(busy)],
                        Signal::WriteOccupancy | Signal::ReadOccupancy => {
                            [40_000_000, 90_000_000][usize::from(busy)]
                        }
                        Signal::WriteInserts | Signal::ReadInserts => 1_875_000,
                    };
                    acts.clear();
                    host.step(
                        now,
                        HostSeen { event: signal.event(Reading { at: now, raw: *raw }) },
                        &mut acts,
                    );
                    steps += 1;
                    let level = acts.iter().find_map(|act| match act {
                        HostAct::Level(level) => Some(level),
                        _ => None,
                    });
                    if let Some(level) = level {
                        host.step(
                            now,
                            HostSeen { event: HostEvent::LevelWritten(level) },
                            &mut acts,
                        );
                        (levels, steps) = (levels + 1, steps + 1);
                    }
                }
            }
            best = best.min((clock.now() - begun) / steps);
        }
        println!("{}: {best:?} a step", of.name());
        assert!(levels > 10, "{}: it asked {levels} times for a level", of.name());
    }
}

/// What a round costs, which is printed, and what a million leave behind, which is nothing, in a process of its own: `FOREBAY_ROUNDS=1000000 cargo test -p forebay-agent rounds_cost
/// -- --nocapture`; 20,000 otherwise. `FOREBAY_TIMER=5000` has so many periods of 1 ms as well, each of them asleep, with and without a round.
#[test]
fn rounds_cost_little_and_leave_nothing_behind() {
    let own = std::env::current_exe().expect("this program");
    let out = std::process::Command::new(own)
        .args(["--exact", "law::control::tests::rounds_of_six_signals", "--ignored", "--nocapture"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{said}{}", String::from_utf8_lossy(&out.stderr));
    assert!(said.contains("1 passed"), "it ran: {said}");
    said.lines().filter(|line| line.contains("rounds of")).for_each(|line| println!("{line}"));
}

#[test]
#[ignore = "rounds_cost_little_and_leave_nothing_behind runs it alone"]
fn rounds_of_six_signals() {
    let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rounds-test");
    for (file, text) in [
        ("sys/class/net/eth0/statistics/rx_missed_errors", "5\n"),
        ("sys/class/net/eth0/statistics/rx_fifo_errors", "5\n"),
        ("sys/class/net/eth1/statistics/rx_missed_errors", "5\n"),
        ("sys/class/net/eth1/statistics/rx_fifo_errors", "5\n"),
        ("proc/net/softnet_stat", "0000000a 00000001 00000002 00000000 00000000\n"),
        ("sys/fs/resctrl/schemata", "MB:0=100\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "123456789\n"),
    ] {
        let file = tree.join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }
    let counters = forebay_linux::counters::Counters::open(&forebay_linux::Root::at(&tree));
    let machine = crate::sense::drops::Machine::new(counters, &[]).expect("all three signals");
    let clock = forebay_linux::Clock::start();
    let senses = crate::sense::inputs::Stacks::new(
        clock,
        vec![crate::sense::inputs::Input::Machine(machine.into())],
    );
    let law = settings::params("nicdrop", [], Span::from_ms(1)).expect("nicdrop");
    let terms = Terms::live(&law, 4, Span::from_ms(1));
    let mut controller =
        Controller::new(clock.now(), 1, (vec![law], Vec::new()), terms, (senses, NoThrottle));
    let board = forebay_linux::board::Board::new().expect("a board");
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").expect("it is there");
        let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("pages");
        pages * rustix::param::page_size() as u64 / 1024
    };
    let asked = std::env::var("FOREBAY_ROUNDS").ok().and_then(|text| text.parse().ok());
    let (count, batch) = (asked.unwrap_or(20_000u64), 1000);
    let (mut best, mut empty, mut first) = (Duration::MAX, Duration::MAX, 0);
    let mut now = MS;
    let mut round = || {
        now += MS;
        controller.round(now);
        controller.status().publish(&board);
        board.beat();
        controller.count(clock.now(), false);
    };
    for nth in 0..count / batch {
        let begun = clock.now();
        for _ in 0..batch {
            std::hint::black_box(clock.now());
        }
        let between = clock.now();
        for _ in 0..batch {
            round();
        }
        empty = empty.min(between - begun);
        best = best.min(clock.now() - between);
        if nth == 4 {
            first = resident();
        }
    }
    let periods = std::env::var("FOREBAY_TIMER").ok().and_then(|text| text.parse::<u32>().ok());
    if let Some(periods) = periods {
        let cpu = || {
            let of = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            Duration::new(of.tv_sec.unsigned_abs(), of.tv_nsec.unsigned_abs() as u32)
        };
        // In turns of 50, so that whatever else the machine does is in both; the medians of all turns.
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..periods / 50 {
            for (times, rounds) in [(&mut without, false), (&mut with, true)] {
                let begun = cpu();
                for _ in 0..50 {
                    std::thread::sleep(MS);
                    if rounds {
                        round();
                    }
                }
                times.push((cpu() - begun) / 50);
            }
        }
        let us = |of: Duration| of.as_secs_f64() * 1e6;
        let median = |times: &mut Vec<Duration>| {
            times.sort();
            (us(times[times.len() / 2]), us(times[0]))
        };
        let (with, without) = (median(&mut with), median(&mut without));
        println!(
            "a timer loop of 1 ms: {:.2} us of CPU a period (least {:.2}), {:.2} us (least {:.2}) with rounds of six signals",
            without.0, without.1, with.0, with.1
        );
    }
    let last = resident();
    let each = best.saturating_sub(empty).as_secs_f64() * 1e6 / batch as f64;
    assert_eq!(controller.status().stacks[0].unread, 0);
    println!(
        "{count} rounds of six signals: {each:.2} us each beyond an empty loop, {first} KiB resident after 5,000, {last} KiB at the end"
    );
    assert!(last <= first + 64 && last <= 24 * 1024, "{first} KiB, then {last} KiB");
}
