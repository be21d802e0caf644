//! The plant beside a model with every line for itself ([`line_exact`]): rates within 2 %, drops within 20 %, mean occupancy
//! of IIO slots within 2 lines.

mod drive;
mod line_exact;

use self::drive::{Load, Outcome, Plant, drive};
use self::line_exact::LineExact;
use forebay_host::memory::settings::{Actuator, AntagonistSettings, Copying, DdioSettings};
use forebay_host::memory::{MemoryPath, MemorySettings};
use forebay_units::{BitsPerSec, Bytes, Span};

/// What is compared, and how far apart it may be.
#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Drain,
    Antagonist,
    Goodput,
    Drops,
    Occupancy,
}

use What::{Antagonist, Drain, Drops, Goodput, Occupancy};

impl What {
    fn bound(self) -> f64 {
        match self {
            Drain | Antagonist | Goodput => 2.0, // percent
            Drops => 20.0,                       // percent
            Occupancy => 2.0,                    // lines
        }
    }

    /// Plant less exact, in the bound's unit.
    fn off(self, plant: &Outcome, exact: &Outcome) -> f64 {
        let percent = |a: f64, b: f64| if a == b { 0.0 } else { (a / b - 1.0) * 100.0 };
        match self {
            Drain => percent(plant.drain, exact.drain),
            Antagonist => percent(plant.antagonist, exact.antagonist),
            Goodput => percent(plant.goodput, exact.goodput),
            Drops => percent(plant.dropped as f64, exact.dropped as f64),
            Occupancy => plant.occupancy - exact.occupancy,
        }
    }
}

struct Case {
    name: String,
    settings: MemorySettings,
    load: Load,
}

fn host(cores: u32, ddio: bool) -> MemorySettings {
    let antagonists = vec![AntagonistSettings { cores, ..AntagonistSettings::default() }];
    let ddio = ddio.then(DdioSettings::default);
    MemorySettings { antagonists, ddio, ..MemorySettings::default() }
}

/// Runs one case in `step`, and all of them in `./test --all`; prints for each what is out of bounds. Steps are such that each value
/// along each side of a grid is among them.
fn check(cases: &[Case], step: usize) {
    let step = if std::env::var_os("FOREBAY_WHOLE").is_some() { 1 } else { step };
    let mut wrong = Vec::new();
    for Case { name, settings, load } in cases.iter().step_by(step) {
        let plant = drive(&mut Plant::new(MemoryPath::new(settings)), load);
        let exact = drive(&mut LineExact::new(settings), load);
        println!("{name}\n  plant  {plant}\n  exact  {exact}");
        for what in [Drain, Antagonist, Goodput, Drops, Occupancy] {
            let off = what.off(&plant, &exact);
            if off.abs() > what.bound() {
                wrong.push(format!("{name}: {what:?} off by {off:.2}, may be {}", what.bound()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Antagonists' cores and level: all that differ, level 4 being no antagonist at all.
const PRESSURES: [(u32, u8); 11] =
    [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)];

fn steady(ddio: bool, offered: &[u64], copying: Copying) {
    let mut cases = Vec::new();
    for (cores, level) in PRESSURES {
        for offered in offered {
            let with = if ddio { "ddio" } else { "memory" };
            let how = if copying == Copying::Evenly { "" } else { ", in bunches" };
            let name = format!("{with}, {cores} cores, level {level}, {offered} Gb/s{how}");
            let load = Load { level, ..Load::steady(*offered) };
            let mut settings = host(cores, ddio);
            settings.readers.copying = copying;
            cases.push(Case { name, settings, load });
        }
    }
    check(&cases, 3);
}

/// 120 Gb/s is more than PCIe takes.
#[test]
fn steady_to_memory() {
    steady(false, &[40, 80, 103, 120], Copying::Evenly);
}

#[test]
fn steady_with_ddio() {
    steady(true, &[40, 80, 103, 120], Copying::Evenly);
}

#[test]
fn steady_to_memory_with_copies_in_bunches() {
    steady(false, &[40, 103], Copying::InBunches);
}

#[test]
fn steady_with_ddio_and_copies_in_bunches() {
    steady(true, &[40, 103], Copying::InBunches);
}

/// Packets come in bursts at 103 Gb/s.
#[test]
fn bursts() {
    let mut cases = Vec::new();
    for ddio in [false, true] {
        for (cores, level) in [(0, 0), (1, 0), (2, 0), (3, 0), (3, 3)] {
            for (kilobytes, average) in [(16, 40), (64, 40), (16, 80), (64, 80), (512, 40)] {
                let with = if ddio { "ddio" } else { "memory" };
                let load = format!("{average} Gb/s by {kilobytes} KB");
                let name = format!("{with}, {cores} cores, level {level}, {load}");
                let line = BitsPerSec::new(103_000_000_000);
                let burst = Bytes::new(kilobytes * 1000);
                let load = Load { level, line, burst, ..Load::steady(average) };
                cases.push(Case { name, settings: host(cores, ddio), load });
            }
        }
    }
    check(&cases, 3);
}

/// Three cores work as long as they rest.
#[test]
fn antagonists_that_come_and_go() {
    let mut cases = Vec::new();
    for ddio in [false, true] {
        for offered in [60, 103] {
            for us in [1, 2, 3, 5, 10, 30, 100, 300, 1000] {
                let with = if ddio { "ddio" } else { "memory" };
                let name = format!("{with}, 3 cores for {us} us, {offered} Gb/s");
                let mut settings = host(3, ddio);
                let on = Span::from_us(us);
                settings.antagonists[0].rests = Some((on, on));
                let measured = (on * 2).max(Span::from_us(600));
                let load = Load { measured, ..Load::steady(offered) };
                cases.push(Case { name, settings, load });
            }
        }
    }
    check(&cases, 4);
}

/// Other hosts: each differs from the testbed under three cores in what its name says.
#[test]
fn other_hosts() {
    let mut cases = Vec::new();
    let mut case = |name: &str, offered: u64, change: &dyn Fn(&mut MemorySettings, &mut Load)| {
        let (mut settings, mut load) = (host(3, false), Load::steady(offered));
        change(&mut settings, &mut load);
        cases.push(Case { name: name.into(), settings, load });
    };
    case("MTU 1500", 103, &|_, load| load.packet = 1500);
    case("MTU 9000", 103, &|_, load| load.packet = 9000);
    case("one write for three reads", 103, &|set, _| set.antagonists[0].writes_permille = 333);
    case("reads only", 103, &|set, _| set.antagonists[0].writes_permille = 0);
    case("four cores beside the NIC", 103, &|set, _| {
        let of = &mut set.antagonists[0];
        (of.cores, of.local, of.lines_in_flight_milli) = (4, true, 6500);
    });
    case("two antagonists", 103, &|set, _| {
        let rests = Some((Span::from_us(60), Span::from_us(40)));
        let other =
            AntagonistSettings { local: true, cores: 2, rests, ..set.antagonists[0].clone() };
        set.antagonists.push(other);
    });
    case("no antagonist, half the memory", 103, &|set, _| {
        set.antagonists.clear();
        set.controller.bytes_per_sec = 17_400_000_000;
    });
    case("twelve cores", 103, &|set, _| set.antagonists[0].cores = 12);
    case("half the slots", 103, &|set, _| set.iio.slots = 46);
    case("delay on every core", 103, &|set, load| {
        (set.throttle.actuator, load.level) = (Actuator::Delay, 1);
    });
    case("a cap", 103, &|set, load| (set.throttle.actuator, load.level) = (Actuator::Cap, 2));
    case("paused half the time", 103, &|set, load| (set.throttle.pausing, load.level) = (2, 4));
    case("a window of 64 KB", 103, &|set, load| {
        (set.antagonists[0].cores, load.window) = (1, 64_000);
        // The window holds no sender back before this much is unread: until then the NIC buffer fills, to within a packet of all it has.
        load.warm_up = Span::from_ms(1);
    });
    case("PCIe 4", 206, &|set, _| {
        set.pcie.rate = BitsPerSec::new(252_060_000_000);
        (set.iio.slots, set.controller.bytes_per_sec) = (186, 69_600_000_000);
    });
    check(&cases, 1);
}
