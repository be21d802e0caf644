//! Recordings and law logs: what is written replays, and what was cut or changed is noticed.

use forebay_laws::host::{Counter, Counters, HostParams, HostStart, Reading, Side};
use forebay_laws::host_driver::{Driver, LevelWrite, Pace, Plant};
use forebay_laws::log::{Sink, Tap};
use forebay_record::law_logs::LawLogsInMemory;
use forebay_record::signals::SignalWriter;
use forebay_sim::{Options, Outputs, Watch, simulate_into};
use forebay_units::{Span, Time};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

fn agent(args: &[&str]) -> (i32, String, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_forebay-agent")).args(args).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().expect("it ends"), text(&out.stdout), text(&out.stderr))
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

#[derive(Debug, Default)]
struct Memory(Mutex<Vec<u8>>);

impl Sink for Memory {
    fn write(&self, bytes: &[u8]) {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
    }
}

/// A host whose buffer holds 90 lines from 1 ms to 3 ms and 40 otherwise, at 60 Gb/s.
struct Host;

impl Plant for Host {
    fn read(&mut self, now: Time, _: Side, counter: Counter, of: &Counters) -> Option<Reading> {
        let us = now.since(Time::ZERO).as_us();
        let busy = us.clamp(1000, 3000) - 1000;
        let raw = match counter {
            Counter::Occupancy => (us * 40 + busy * 50) * (of.clock_hz / 1_000_000),
            _ => us * 7500 / of.insert_bytes,
        };
        Some(Reading { at: now, raw })
    }

    fn write_level(&mut self, now: Time, _: u8) -> LevelWrite {
        LevelWrite { at: now, in_force: true }
    }
}

/// The log of hostcc over 4 ms of that host.
fn law_log() -> Vec<u8> {
    let memory = Arc::new(Memory::default());
    let params = HostParams::new("hostcc").expect("registered").with_log(Tap::new(memory.clone()));
    let at = HostStart {
        write: Counters::WRITE,
        read: Counters::READ,
        max_level: 4,
        period: Span::from_us(5),
        seed: 1,
    };
    let pace = Pace { read: Span::from_us(5), write: Span::from_us(22) };
    let mut driver = Driver::new(&params, Time::ZERO, at, pace);
    while driver.due() < Time::ZERO + Span::from_ms(4) {
        driver.run(driver.due(), &mut Host);
    }
    drop((driver, params));
    Arc::into_inner(memory).expect("the driver is gone").0.into_inner().expect("no writer")
}

#[test]
fn a_law_log_replays_and_a_cut_one_names_its_row() {
    let trace = folder("law-log");
    let shown = trace.to_str().expect("text");
    let (log, path) = (law_log(), trace.join("law-host-eth0-seed-1.log"));
    fs::write(&path, &log).expect("written");
    let (code, said, _) = agent(&["replay", shown]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("hostcc (role host)") && said.contains(" 0 rows differ"), "{said}");

    let (code, rows, _) = agent(&["replay", shown, "--rows"]);
    assert_eq!(code, 0);
    assert!(rows.starts_with("seq,now_ps,event,at_ps,raw,acts\n0,0,start,,,"), "{rows}");
    assert!(rows.contains(",write_occupancy,") && rows.contains("level=1"), "{rows}");

    fs::write(&path, &log[..log.len() - 1]).expect("written");
    let (code, _, error) = agent(&["replay", shown]);
    assert_eq!(code, 2);
    assert!(error.contains("the log ends within event ") && error.contains("--partial"), "{error}");
    let (code, said, _) = agent(&["replay", shown, "--partial"]);
    assert!(code == 0 && said.contains(" 0 rows differ; cut"), "{said}");

    let mut other = log;
    other[4] = 9;
    fs::write(&path, other).expect("written");
    let (code, _, error) = agent(&["replay", shown]);
    assert!(code == 2 && error.contains("version 9; this program reads version 3"), "{error}");
}

/// Another action in the log is a difference, which is counted and exits 3.
#[test]
fn a_log_with_another_answer_differs() {
    let trace = folder("differs");
    let mut log = law_log();
    // A lowered or raised level is one byte of an action; some byte of the last half is one.
    let shown = trace.to_str().expect("text").to_string();
    let path = trace.join("law-host-eth0-seed-1.log");
    let hit = (log.len() / 4..log.len()).find(|at| {
        log[*at] ^= 1;
        fs::write(&path, &log).expect("written");
        let (code, _, error) = agent(&["replay", &shown]);
        log[*at] ^= 1;
        code == 3 && error.contains("differs")
    });
    assert!(hit.is_some(), "no change of a byte is an answer that differs");
}

/// With a threshold that nothing reaches there are no levels and no marks; the same parameters give the logged course.
#[test]
fn other_parameters_are_held_against_the_log() {
    let trace = folder("what-if");
    let shown = trace.to_str().expect("text");
    fs::write(trace.join("law-host-eth0-seed-1.log"), law_log()).expect("written");
    let numbers = |set: &str| -> Vec<(String, String)> {
        let (code, said, error) = agent(&["replay", shown, "--set", set]);
        assert_eq!(code, 0, "{error}");
        let rows = said.lines().filter(|line| line.starts_with("  ")).skip(1).take(5);
        let cells = rows.map(|row| {
            let mut cells: Vec<&str> = row.split("  ").filter(|cell| !cell.is_empty()).collect();
            let other = cells.pop().expect("a cell").trim().to_string();
            (cells.pop().expect("a cell").trim().to_string(), other)
        });
        cells.collect()
    };
    let same = numbers("iio_threshold=70");
    assert!(same.iter().all(|(logged, other)| logged == other), "{same:?}");
    assert_ne!(same[1].0, "0", "the host was throttled: {same:?}");
    let never = numbers("iio_threshold=200");
    assert!(never.iter().all(|(_, other)| other.starts_with('0')), "{never:?}");
    let (code, _, error) = agent(&["replay", shown, "--set", "iio=1"]);
    assert!(code == 2 && error.contains("hostcc has no parameter of this name"), "{error}");
}

#[test]
fn a_recording_is_whole_and_is_not_overwritten() {
    let trace = folder("recording");
    let shown = trace.to_str().expect("text");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/icx-2s");
    let root = root.to_str().expect("text");
    let record = ["record", "--for", "50ms", "--every", "5ms", "--out", shown, "--root", root];
    let (code, said, error) = agent(&record);
    assert_eq!(code, 0, "{error}");
    assert!(said.contains(" counters, "), "{said}");
    let (code, said, _) = agent(&["replay", shown]);
    assert!(
        code == 0 && said.contains("0 rows lost") && said.contains("0 of its rows differ"),
        "{said}"
    );
    let text = fs::read_to_string(trace.join("signals.csv")).expect("a recording");
    assert!(text.contains(",nic.eth0.rx_missed_errors,") && text.contains(",4821,"), "{text}");
    assert!(
        text.contains(",mbm.L3-0.total_bytes,") && !text.contains("mbm.L3-1"),
        "unavailable is no row"
    );
    assert!(fs::read_to_string(trace.join("machine.json")).is_ok_and(|text| text.contains("8380")));

    let (code, _, error) = agent(&record);
    assert!(code == 2 && error.contains("has a recording already"), "{error}");
    fs::write(trace.join("signals.csv"), &text[..text.len() / 2]).expect("written");
    let (code, _, error) = agent(&["replay", shown]);
    assert!(code == 2 && error.contains("row ") && error.contains("--partial"), "{error}");
    assert_eq!(agent(&["replay", shown, "--partial"]).0, 0);
}

#[test]
fn what_has_no_sense_gets_one_sentence() {
    let empty = folder("empty");
    let empty = empty.to_str().expect("text");
    for (args, said) in [
        (&["replay", empty][..], "has no law log (law-*.log) and no signals.csv"),
        (&["replay", "/nowhere"], "/nowhere: "),
        (&["record", "--for", "5", "--out", empty], "from 1ms to 24h"),
        (&["watch", "--every", "10us"], "from 1ms to 1h"),
    ] {
        let (code, _, error) = agent(args);
        assert!(code == 2 && error.contains(said), "{args:?}: {error}");
    }
}

/// A recording of a machine with one stack, as an Intel server would give: 40 lines at 60 Gb/s, from 1 s to 3 s 90 lines, a
/// reading each millisecond for 4 s.
fn recording_of_a_stack() -> String {
    let mut out = Vec::new();
    let mut writer = SignalWriter::new(&mut out).expect("memory");
    for ms in 0..=4000u64 {
        let at = Time::from_ps(ms * 1_000_000_000);
        let busy = ms.clamp(1000, 3000) - 1000;
        for (name, raw) in [
            ("uncore_irp_1.cpu0.lines", (ms * 40 + busy * 50) * 500_000),
            ("uncore_irp_1.cpu0.clock", ms * 500_000),
            ("uncore_iio_1.cpu0.part0_inserts", ms * 1_875_000),
            ("uncore_iio_2.cpu0.part0_inserts", 0),
        ] {
            writer.row(at, name, at, raw).expect("memory");
        }
    }
    writer.finish(Time::from_ps(4_000_000_000_000)).expect("memory");
    String::from_utf8(out).expect("text")
}

/// A recording of a machine without a readable IIO buffer: memory moves 30 GB/s, from 1 s to 2 s the NIC drops ten packets a millisecond; from 2 s
/// to 3 s it does, too, but polls run out of budget; a reading each millisecond for 4 s. The count of squeezes wraps at 32 bits.
fn recording_of_drops() -> String {
    let mut out = Vec::new();
    let mut writer = SignalWriter::new(&mut out).expect("memory");
    for ms in 0..=4000u64 {
        let at = Time::from_ps(ms * 1_000_000_000);
        let wrapped =
            u64::from(u32::MAX - 100).wrapping_add(ms.clamp(2000, 3000) - 2000) & 0xffff_ffff;
        for (name, raw) in [
            ("softnet.squeezed", wrapped),
            ("nic.eth0.rx_missed_errors", (ms.clamp(1000, 3000) - 1000) * 10),
            ("nic.eth0.rx_bytes", ms),
            ("amd_umc_0.cpu0.reads", ms * 30_000_000 / 128),
            ("amd_umc_0.cpu0.writes", ms * 30_000_000 / 128),
            ("mbm.L3-0.total_bytes", ms),
        ] {
            writer.row(at, name, at, raw).expect("memory");
        }
    }
    writer.finish(Time::from_ps(4_000_000_000_000)).expect("memory");
    String::from_utf8(out).expect("text")
}

/// nicdrop throttles in the second in which memory is the reason, and not in the one in which cores are.
#[test]
fn a_law_of_drops_over_a_recording() {
    let trace = folder("drops");
    let shown = trace.to_str().expect("text");
    fs::write(trace.join("signals.csv"), recording_of_drops()).expect("written");
    let (code, said, error) = agent(&["replay", shown, "--law", "nicdrop", "--set", "lease=100ms"]);
    assert_eq!(code, 0, "{error}");
    let line = |said: &str, name: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split("  ").last()).unwrap_or_default().trim().to_string()
    };
    assert!(said.contains("the machine, 4001 rounds"), "{said}");
    assert_eq!(line(&said, "packets dropped by NICs"), "20000");
    assert_eq!(line(&said, "signs of slow cores"), "1000");
    assert_eq!(line(&said, "mean rate of memory"), "240.00 Gb/s");
    assert_eq!(
        (line(&said, "level writes"), line(&said, "strongest level")),
        ("8".into(), "4".into())
    );
    let held = line(&said, "time at a level above 0");
    // One second, and four leases of 100 ms until the last level is gone.
    let share: f64 = held.trim_end_matches(" %").parse().expect("a share");
    assert!((share - 35.0).abs() < 0.2, "{held}");
    assert_eq!(line(&said, "time with marks on"), "0.0 %");

    let idle = ["replay", shown, "--law", "nicdrop", "--set", "memory_busy=300Gbps"];
    assert_eq!(line(&agent(&idle).1, "level writes"), "0", "memory is not busy");
    fs::write(trace.join("signals.csv"), recording_of_a_stack()).expect("written");
    let (code, _, error) = agent(&["replay", shown, "--law", "nicdrop"]);
    let wanted = "the law nicdrop needs packets that the NIC dropped, which this recording lacks";
    assert!(code == 2 && error.contains(wanted), "{error}");
}

/// A recording with an idle second, one at line rate and one with saturated memory gives the published thresholds of the machine that it imitates.
#[test]
fn thresholds_are_proposed_from_a_recording() {
    let trace = folder("calibrate");
    let shown = trace.to_str().expect("text");
    let mut out = Vec::new();
    let mut writer = SignalWriter::new(&mut out).expect("memory");
    let (mut lines, mut units) = (0u64, 0u64);
    for ms in 0..=3000u64 {
        let at = Time::from_ps(ms * 1_000_000_000);
        let (waiting, mbps) =
            [(0, 0), (65, 103_000), (93, 45_000)][ms.div_ceil(1000).clamp(1, 3) as usize - 1];
        (lines, units) = (lines + waiting * 500_000, units + mbps * 125 / 4);
        for (name, raw) in [
            ("uncore_irp_1.cpu0.lines", lines),
            ("uncore_irp_1.cpu0.clock", ms * 500_000),
            ("uncore_iio_1.cpu0.part0_inserts", units),
        ] {
            writer.row(at, name, at, raw).expect("memory");
        }
    }
    writer.finish(Time::from_ps(3_000_000_000_000)).expect("memory");
    fs::write(trace.join("signals.csv"), out).expect("written");
    let (code, said, error) = agent(&["calibrate", "--trace", shown]);
    assert_eq!(code, 0, "{error}");
    let wanted = "params = { iio_threshold = \"70\", target = \"84Gbps\" }";
    assert!(said.contains(wanted) && !said.contains("not seen"), "{said}");

    let logs = folder("calibrate-log");
    fs::write(logs.join("law-host-eth0-seed-1.log"), law_log()).expect("written");
    let (code, said, error) = agent(&["calibrate", "--trace", logs.to_str().expect("text")]);
    assert!(code == 0 && said.contains("law-host-eth0-seed-1"), "{said} {error}");
    // 40 lines at 60 Gb/s, without a saturated memory: 40 x 70 / 65, and 60 x 84 / 103.
    assert!(
        said.contains("iio_threshold = \"43\", target = \"49Gbps\"") && said.contains("a guess"),
        "{said}"
    );

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/icx-2s");
    let (code, _, error) =
        agent(&["calibrate", "--for", "1ms", "--root", root.to_str().expect("text")]);
    assert!(code == 1 && error.contains("there is no I_S to calibrate: "), "{error}");
    let (code, _, error) = agent(&["calibrate"]);
    assert!(code == 2 && error.contains("--for 30s, or --trace TRACE"), "{error}");
}

/// The simulated testbed is the published one, and so are the thresholds that its law log proposes: idle for 1.2 ms, then four flows at line rate, and
/// from 5 ms on an antagonist beside them. The law watches and does nothing.
#[test]
fn thresholds_of_the_simulated_testbed_are_the_published_ones() {
    let text = "version = 1\nseeds = [1]\nstop = { time = \"9ms\" }\n\
        [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"100Gbps\", delay = \"9us\" }\nwire_overhead = \"24B\"\n\
        [host]\nprofile = \"linux\"\nrx_usecs = \"4us\"\n\
        [[host.override]]\nwhere = \"host[1]\"\n[host.override.memory]\n\
        [[host.override.memory.antagonist]]\ncores = 3\nstart = \"5ms\"\n\
        [host.override.memory.control]\nlaw = \"hostcc\"\n\
        params = { local_response = \"false\", network_response = \"false\" }\n\
        [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\nmtu = \"4000B\"\n\
        [[traffic]]\nkind = \"long\"\nto = \"host[1]\"\nstart = \"1200us\"\n\
        from = [\"host[0]\", \"host[0]\", \"host[0]\", \"host[0]\"]\n\
        [output]\nlaw_log = true\n";
    let loaded = forebay_scenario::text("testbed.toml", text).expect("a scenario");
    let kept = LawLogsInMemory::default();
    let outputs = Outputs { law_logs: Some(&kept), ..Outputs::default() };
    simulate_into(&loaded.scenario, 1, Options::default(), &Watch::default(), outputs)
        .expect("it runs");
    let logs = folder("calibrate-simulation");
    for (whose, log) in kept.finish() {
        fs::write(logs.join(format!("law-{whose}-seed-1.log")), log).expect("written");
    }
    let (code, said, error) = agent(&["calibrate", "--trace", logs.to_str().expect("text")]);
    assert!(code == 0 && !said.contains("not seen"), "{said} {error}");
    let proposed = |name: &str| -> f64 {
        let value = said.split(&format!("{name} = \"")).nth(1).expect("it is proposed");
        value.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).expect("one")
    };
    let (threshold, target) = (proposed("iio_threshold"), proposed("target"));
    assert!((threshold - 70.0).abs() <= 2.0 && (target - 84.0).abs() <= 1.0, "{said}");
}

/// I_S and B_S are what was put in; marks are on while the lines are above the threshold; the level climbs to the top in 4 ms
/// and, as bandwidth stays below the target, comes down by the lease alone: one level a second.
#[test]
fn a_law_over_a_recording() {
    let trace = folder("stack");
    let shown = trace.to_str().expect("text");
    fs::write(trace.join("signals.csv"), recording_of_a_stack()).expect("written");
    let value = |said: &str, name: &str| -> f64 {
        let line = said.lines().find(|line| line.trim_start().starts_with(name));
        let rest = line.and_then(|line| line.split(name).nth(1)).expect("a line of it");
        rest.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number")
    };
    let (code, said, error) = agent(&["replay", shown, "--law", "hostcc"]);
    assert_eq!(code, 0, "{error}");
    assert!(said.contains("uncore_irp_1.cpu0, 4001 readings") && !said.contains("irp_2"), "{said}");
    assert_eq!(value(&said, "mean lines (I_S)"), 65.0);
    assert_eq!(value(&said, "mean rate (B_S)"), 60.0);
    assert_eq!(value(&said, "strongest level"), 4.0);
    assert!((value(&said, "time with marks on") - 50.0).abs() < 0.2, "{said}");
    let never = ["replay", shown, "--law", "hostcc", "--set", "iio_threshold=100"];
    let (_, said, _) = agent(&never);
    assert_eq!((value(&said, "level writes"), value(&said, "time with marks on")), (0.0, 0.0));

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/icx-2s");
    let other = folder("no-stack");
    let other = other.to_str().expect("text");
    let root = root.to_str().expect("text");
    assert_eq!(
        agent(&["record", "--for", "3ms", "--every", "1ms", "--out", other, "--root", root]).0,
        0
    );
    for (args, said) in [
        (&["replay", other, "--law", "hostcc"][..], "wants uncore_irp_N.cpuC.lines"),
        (
            &["replay", shown, "--law", "hostc"],
            "there is no law of this name; use hostcc or nicdrop",
        ),
        (&["replay", shown, "--set", "iio_threshold=50"], "needs --law NAME"),
        (&["replay", shown, "--law", "hostcc", "--set", "target=5"], "hostcc.target takes"),
    ] {
        let (code, _, error) = agent(args);
        assert!(code == 2 && error.contains(said), "{args:?}: {error}");
    }
}
