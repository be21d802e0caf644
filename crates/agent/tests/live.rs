//! `run` without acting: what it refuses, what it shows, and that its law log replays.

use forebay_linux::Clock;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Exit code, stdout and stderr.
fn agent(args: &[&str]) -> (i32, String, String) {
    let out =
        Command::new(env!("CARGO_BIN_EXE_forebay-agent")).args(args).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().expect("it ends"), text(&out.stdout), text(&out.stderr))
}

/// An agent that ends with its test, also where the test fails: else it would hold the output open.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::null()).spawn().expect("it runs"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long a condition may take to come true: no verdict on the agent, but on a test that hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// Waits until something is so.
fn wait<T>(what: &str, mut so: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::start();
    loop {
        if let Some(found) = so() {
            return found;
        }
        assert!(clock.now() < LIMIT, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn signal(pid: u32, of: Signal) {
    kill_process(Pid::from_raw(pid as i32).expect("a process"), of).expect("it is ours");
}

/// What is answered at a unix socket, if a server listens there; also where a busy machine keeps a request waiting for longer than it may.
fn got(socket: &Path, request: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    (!text.starts_with("HTTP/1.1 408")).then_some(text)
}

/// The metrics that are served at a unix socket.
fn metrics(socket: &Path) -> Option<String> {
    got(socket, "GET /metrics HTTP/1.1\r\n\r\n")
}

/// One of them.
fn metric(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// A folder with a machine of two cgroups, one frozen, and resctrl in steps of 10 %.
fn machine(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    for (file, text) in [
        ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
        ("proc/self/cgroup", "0::/system.slice/agent\n"),
        ("proc/cpuinfo", "processor : 0\nprocessor : 1\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpu\n"),
        ("sys/fs/cgroup/batch/cgroup.freeze", "0\n"),
        ("sys/fs/cgroup/batch/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/ice/cgroup.freeze", "1\n"),
        ("sys/fs/cgroup/system.slice/cgroup.freeze", "0\n"),
        ("sys/fs/resctrl/schemata", "MB:0=100;1=100\n"),
        ("sys/fs/resctrl/info/MB/min_bandwidth", "10\n"),
        ("sys/fs/resctrl/info/MB/bandwidth_gran", "10\n"),
        ("sys/fs/resctrl/info/MB/num_closids", "8\n"),
        ("signals", "90 60Gbps\n"),
    ] {
        let file = path.join(file);
        fs::create_dir_all(file.parent().expect("below the folder")).expect("a folder");
        fs::write(file, text).expect("written");
    }
    path
}

/// `run` with this configuration on that machine, for 200 ms.
fn run(machine: &Path, config: &str, more: &[&str]) -> (i32, String, String) {
    let file = machine.join("agent.toml");
    fs::write(&file, config).expect("written");
    let (file, root) = (file.to_string_lossy(), machine.to_string_lossy());
    agent(&[&["run", &file, "--root", &root, "--for", "200ms"], more].concat())
}

/// `run` with this configuration on that machine, until its metrics are as they should be.
fn run_until(
    machine: &Path,
    config: &str,
    more: &[&str],
    mut so: impl FnMut(&str) -> bool,
) -> (i32, String, String) {
    let (file, socket) = (machine.join("agent.toml"), machine.join("until"));
    fs::write(&file, config).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay-agent"));
    command.arg("run").arg(&file).arg("--root").arg(machine).args(more);
    command.arg("--serve").arg(&socket).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut agent = Running(command.spawn().expect("it runs"));
    wait("what it serves", || {
        let over = agent.0.try_wait().expect("it is ours").is_some();
        (over || metrics(&socket).is_some_and(|text| so(&text))).then_some(())
    });
    let _ = kill_process(Pid::from_raw(agent.0.id() as i32).expect("a process"), Signal::TERM);
    let (mut out, mut said) = (String::new(), String::new());
    agent.0.stdout.take().expect("it is ours").read_to_string(&mut out).expect("its lines");
    agent.0.stderr.take().expect("it is ours").read_to_string(&mut said).expect("its lines");
    (agent.0.wait().expect("it ends").code().expect("by itself"), out, said)
}

#[test]
fn a_dry_run_climbs_writes_nothing_and_its_log_replays() {
    let machine = machine("dry");
    let signals = machine.join("signals").to_string_lossy().into_owned();
    let out = machine.join("out").to_string_lossy().into_owned();
    // On a busy machine a loop wakes late: no reading is stale within this run.
    let config = "mode = \"dry-run\"\nlaw.params.stale_after = \"600s\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"cpu:50%\", \"mb:40%\", \"freeze\"]";
    let at_the_top = |text: &str| metric(text, "forebay_level") == Some(3);
    let args = ["--signals", &signals, "--out", &out];
    let (code, shown, said) = run_until(&machine, config, &args, at_the_top);
    assert_eq!((code, said.as_str()), (0, ""), "{shown}");
    assert!(shown.contains("strongest level 3, 3 level writes, none of them made"), "{shown}");
    for (file, text) in [("cgroup.freeze", "0\n"), ("cpu.max", "max 100000\n")] {
        let now = fs::read_to_string(machine.join("sys/fs/cgroup/batch").join(file));
        assert_eq!(now.expect("it is there"), text, "{file}");
    }
    assert!(!machine.join("sys/fs/resctrl/forebay-0").exists());
    let (code, replayed, _) = agent(&["replay", &out]);
    assert_eq!(code, 0, "{replayed}");
    assert!(replayed.contains("0 rows differ"), "{replayed}");
    let (code, _, said) = run(&machine, config, &["--signals", &signals, "--out", &out]);
    assert!(code == 2 && said.contains("has a law log already"), "{said}");
}

#[test]
fn what_the_machine_lacks_is_named_and_only_observing_goes_on_without() {
    let machine = machine("lacks");
    let signals = machine.join("signals").to_string_lossy().into_owned();
    let victim = |cgroup: &str, rung: &str| {
        format!("mode = \"dry-run\"\n[[victim]]\ncgroup = \"{cgroup}\"\nladder = [\"{rung}\"]")
    };
    for (config, code, wanted) in [
        (
            victim("/batch", "mb:5%"),
            2,
            "victim[0].ladder[0]: \"mb:5%\": this machine takes 10% to 100% in steps of 10",
        ),
        (
            victim("/none", "freeze"),
            1,
            "victim[0].cgroup: \"/none\": there is no such cgroup below /sys/fs/cgroup",
        ),
        (victim("/ice", "freeze"), 1, "victim[0].cgroup: \"/ice\": is frozen already"),
        (victim("/ice/..", "freeze"), 2, "victim[0].cgroup: \"/ice/..\" is not a path"),
        (
            victim("/system.slice", "freeze"),
            2,
            "\"/system.slice\" holds the agent itself, which is in /system.slice/agent",
        ),
    ] {
        let (found, _, said) = run(&machine, &config, &["--signals", &signals]);
        assert!(found == code && said.contains(wanted), "{found} {said}");
    }
    for (config, wanted) in [
        ("", "there is no [[nic]]: name the interface"),
        ("[[nic]]\nname = \"eth9\"", "nic[0].name: \"eth9\": there is no such interface"),
    ] {
        let (code, _, said) = run(&machine, config, &["--mode", "dry-run"]);
        assert!(code == 1 && said.contains(wanted), "{code} {said}");
        let (code, shown, said) = run(&machine, config, &[]);
        assert!(
            code == 0 && said.contains(&format!("note: observing without: {wanted}")),
            "{said}"
        );
        assert!(shown.contains("no law ran"), "{shown}");
    }
}

#[test]
fn watch_serves_every_counter_that_it_shows() {
    let machine = machine("watched");
    let softnet = machine.join("proc/net/softnet_stat");
    fs::create_dir_all(softnet.parent().expect("a folder")).expect("made");
    fs::write(&softnet, "0000000a 00000001 00000002 00000000\n").expect("written");
    let socket = machine.join("counters");
    let _agent = Running::start(
        Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .args(["watch", "--every", "20s", "--lines", "1", "--root"])
            .args([&machine, Path::new("--serve"), &socket]),
    );
    let get = || wait("the counters", || metrics(&socket));
    let served = get();
    assert!(
        served.contains("\nforebay_counter_total{counter=\"softnet.dropped\"} 1\n"),
        "{served}"
    );
    // As they are when a client asks.
    fs::write(&softnet, "0000000a 00000007 00000002 00000000\n").expect("written");
    let served = get();
    assert!(
        served.contains("\nforebay_counter_total{counter=\"softnet.dropped\"} 7\n"),
        "{served}"
    );
}

#[test]
fn the_status_is_served_while_it_runs() {
    let machine = machine("served");
    let (signals, socket) = (machine.join("signals"), machine.join("metrics"));
    let (signals, at) = (signals.to_string_lossy(), socket.to_string_lossy());
    let config = machine.join("agent.toml");
    fs::write(
        &config,
        "mode = \"dry-run\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]",
    )
    .expect("written");
    let agent = Running::start(
        Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .arg("run")
            .args([&*config.to_string_lossy(), "--root", &machine.to_string_lossy()])
            .args(["--signals", &signals, "--serve", &at]),
    );
    let served = wait("the level that the law wants", || {
        metrics(&socket).filter(|text| metric(text, "forebay_level") == Some(1))
    });
    assert!(served.starts_with("HTTP/1.1 200 OK\r\n"), "{served}");
    assert!(served.contains("forebay_mode{mode=\"dry-run\"} 1\n"), "{served}");
    // Who asks a unix socket is no browser, whatever Host it sends.
    for (request, wanted) in [
        ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 404"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 200"),
    ] {
        let text = wait("an answer", || got(&socket, request));
        assert!(text.starts_with(wanted), "{request}: {text}");
    }
    drop(agent);
    // A socket without a server makes place. Any other file does not.
    let (code, _, said) = run(&machine, "", &["--serve", &at]);
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = run(&machine, "", &["--serve", &signals]);
    assert!(code == 1 && machine.join("signals").is_file(), "{said}");
    assert!(said.contains(&format!("cannot serve at {signals}: ")), "{said}");
    let (code, _, said) = run(&machine, "", &["--serve", "0.0.0.0:9099"]);
    assert!(code == 2 && said.contains("could be reached from elsewhere"), "{said}");
}

/// A period that no sleep has: refused without a core, on which the loop then spins.
#[test]
fn a_short_period_spins_on_a_core_of_its_own() {
    use forebay_linux::process;
    let machine = machine("spins");
    let signals = machine.join("signals").to_string_lossy().into_owned();
    let config = "mode = \"dry-run\"\nevery = \"10us\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]";
    let (code, _, said) = run(&machine, config, &["--signals", &signals]);
    assert!(code == 2 && said.contains("name that core with --core N"), "{said}");
    let (code, _, said) = run(&machine, config, &["--signals", &signals, "--core", "1023"]);
    assert!(code == 1 && said.contains("--core 1023: there is no such core"), "{said}");
    let core = (0..1024).find(|core| process::may_use(*core)).expect("one at least").to_string();
    let args = ["--signals", &signals, "--core", &core];
    if process::cpus() < 2 {
        let (code, _, said) = run(&machine, config, &args);
        assert!(code == 1 && said.contains("is the only core here"), "{said}");
        return;
    }
    // Between two readings of the metrics: more rounds than one that sleeps can have in that time. A busy machine leaves a core to this loop for a part of
    // the time, and a reading that comes late makes the time longer: so some readings say less, and none says more.
    let clock = Clock::start();
    let (mut before, mut spins) = (None, false);
    let (code, shown, said) = run_until(&machine, config, &args, |text| {
        let now = (clock.now(), metric(text, "forebay_rounds_total").unwrap_or(0));
        if let Some((at, rounds)) = before.replace(now) {
            let ms = (now.0 - at).as_millis() as u64;
            spins |= now.1 - rounds > 2 * ms + 50; // also the time between a reading and this
        }
        spins && metric(text, "forebay_level") == Some(1)
    });
    assert_eq!((code, said.as_str()), (0, ""), "{shown}");
    assert!(shown.contains("strongest level 1, "), "{shown}");
}

/// Without acting, too: level 0 while a cable is out or a victim has gone, a line for each, the metric, and all anew when it is back.
#[test]
fn what_had_gone_is_opened_anew_when_it_is_back() {
    let machine = machine("back");
    let (signals, socket) = (machine.join("signals"), machine.join("metrics"));
    let (carrier, batch) =
        (machine.join("sys/class/net/eth0/carrier"), machine.join("sys/fs/cgroup/batch"));
    fs::create_dir_all(carrier.parent().expect("a folder")).expect("made");
    fs::write(&carrier, "1\n").expect("written");
    let file = machine.join("agent.toml");
    let config = "mode = \"dry-run\"\n[[nic]]\nname = \"eth0\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]";
    fs::write(&file, config).expect("written");
    let mut agent = Running::start(
        Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .arg("run")
            .args([&file, Path::new("--root"), &machine, Path::new("--signals"), &signals])
            .args([Path::new("--serve"), &socket])
            .stderr(Stdio::piped()),
    );
    let shows = |wanted: &[&str]| {
        wait(&format!("{wanted:?}"), || {
            let text = metrics(&socket)?;
            wanted.iter().all(|of| text.contains(&format!("\n{of}\n"))).then_some(())
        });
    };
    shows(&["forebay_level 1", "forebay_gone 0"]);
    fs::write(&carrier, "0\n").expect("written");
    shows(&["forebay_level 0", "forebay_gone 1", "forebay_marks_wanted{stack=\"signals\"} 0"]);
    fs::write(&carrier, "1\n").expect("written");
    shows(&["forebay_level 1", "forebay_gone 0"]);
    let away = machine.join("away");
    fs::rename(&batch, &away).expect("gone");
    shows(&["forebay_gone 1"]);
    fs::rename(&away, &batch).expect("back");
    shows(&["forebay_level 1", "forebay_gone 0"]);
    signal(agent.0.id(), Signal::TERM);
    let (ended, mut said) = (agent.0.wait().expect("it ends"), String::new());
    agent.0.stderr.take().expect("it is ours").read_to_string(&mut said).expect("its lines");
    assert!(ended.success(), "{said}");
    let lines: Vec<_> = said.lines().map(|line| line.trim_start_matches("note: ")).collect();
    let gone = "gone; nothing is done to it until it is back";
    let back = "back; all files are opened again";
    let victim = "/sys/fs/cgroup/batch";
    let wanted = [("eth0", gone), ("eth0", back), (victim, gone), (victim, back)];
    assert_eq!(lines, wanted.map(|(name, what)| format!("{name}: {what}")));
}

#[test]
fn a_law_that_the_machine_cannot_feed_is_refused_by_its_signal() {
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/icx-2s");
    let config = Path::new(env!("CARGO_TARGET_TMPDIR")).join("send.toml");
    fs::write(&config, "mode = \"dry-run\"\nlaw.params.side = \"send\"\n[[nic]]\nname = \"eth0\"")
        .expect("written");
    let (config, root) = (config.to_string_lossy(), machine.to_string_lossy());
    let (code, _, said) = agent(&["run", &config, "--root", &root]);
    let wanted = "the law hostcc needs lines in the IIO buffer on the way from memory, which cannot be read here";
    assert!(code == 1 && said.contains(wanted), "{said}");
}

/// Counters of a machine made up, in files that this test moves: packets that eth0 dropped, signs of slow cores, bytes that memory moved.
struct Moving {
    stop: Arc<AtomicBool>,
    squeezed: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Moving {
    /// 5 packets dropped each millisecond, and memory at 200 Gb/s.
    fn start(machine: &Path) -> Self {
        let open = |file: &str, text: &str| {
            let file = machine.join(file);
            fs::create_dir_all(file.parent().expect("below the folder")).expect("a folder");
            fs::write(&file, text).expect("written");
            fs::File::options().write(true).open(file).expect("open")
        };
        let zero = format!("{:020}\n", 0);
        let drops = open("sys/class/net/eth0/statistics/rx_missed_errors", &zero);
        let softnet = open("proc/net/softnet_stat", "00000000 00000000 00000000\n");
        let memory = open("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", &zero);
        let (stop, squeezed) = (Arc::default(), Arc::default());
        let (stopped, slow): (Arc<AtomicBool>, Arc<AtomicBool>) =
            (Arc::clone(&stop), Arc::clone(&squeezed));
        let thread = std::thread::spawn(move || {
            let (begun, mut squeezes) = (Clock::start(), 0);
            while !stopped.load(Relaxed) {
                let us = begun.now().as_micros() as u64;
                let put = |file: &fs::File, text: String| {
                    file.write_all_at(text.as_bytes(), 0).expect("written");
                };
                // Before the drops and after them: a reader in between sees drops with their cause.
                let mut squeeze = || {
                    squeezes += u64::from(slow.load(Relaxed));
                    put(&softnet, format!("00000000 00000000 {squeezes:08x}\n"));
                };
                squeeze();
                put(&drops, format!("{:020}\n", us / 200));
                put(&memory, format!("{:020}\n", us * 25_000));
                squeeze();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { stop, squeezed, thread: Some(thread) }
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = self.thread.take().expect("it was started").join();
    }
}

/// nicdrop over counters that move: shown in a dry run, and in force by a loop that has nothing but descriptors. A machine without a count of memory
/// is refused, and so is a threshold that was not set.
#[test]
fn nicdrop_throttles_while_the_nic_drops_and_never_for_slow_cores() {
    let machine = machine("nicdrop");
    let config = |mode: &str, params: &str| {
        format!(
            "mode = \"{mode}\"\ndeadline = \"1s\"\n[law]\nname = \"nicdrop\"\nparams = {{ {params} }}\n\
             [[nic]]\nname = \"eth0\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]\n"
        )
    };
    let set = "memory_busy = \"150Gbps\", lease = \"100ms\"";
    let state = machine.join("state").to_string_lossy().into_owned();
    fs::create_dir_all(machine.join("sys/class/net/eth0/statistics")).expect("a folder");
    let (code, _, said) = run(&machine, &config("dry-run", set), &[]);
    assert!(code == 1 && said.contains("the law nicdrop needs"), "{said}");

    let moving = Moving::start(&machine);
    let throttles = |text: &str| metric(text, "forebay_level") == Some(1);
    let (code, shown, said) = run_until(&machine, &config("dry-run", set), &[], throttles);
    assert!(code == 0 && shown.contains("strongest level 1, "), "{shown} {said}");
    let freeze = machine.join("sys/fs/cgroup/batch/cgroup.freeze");
    let frozen = || fs::read_to_string(&freeze).expect("it is there").starts_with('1');
    assert!(!frozen(), "a dry run writes nothing");
    let (code, _, said) = run(&machine, &config("enforce", ""), &["--state", &state]);
    assert!(code == 2 && said.contains("law.params.memory_busy: is missing"), "{said}");

    let file = machine.join("agent.toml");
    fs::write(&file, config("enforce", set)).expect("written");
    let mut agent = Running::start(
        Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .arg("run")
            .arg(&file)
            .arg("--root")
            .arg(&machine)
            .args(["--state", &state]),
    );
    let until = |wanted: bool, why: &str| wait(why, || (frozen() == wanted).then_some(()));
    until(true, "drops while memory is busy freeze the victim");
    // That drops of slow cores freeze nothing is held on a clock of its own, by `a_law_of_drops_over_a_recording`: here counters are in files, and one may be
    // read long after another.
    moving.squeezed.store(true, Relaxed);
    until(false, "drops of slow cores do not");
    moving.squeezed.store(false, Relaxed);
    until(true, "as before");
    signal(agent.0.id(), Signal::TERM);
    assert!(agent.0.wait().expect("it ends").success() && !frozen());
    let undone = fs::read_to_string(machine.join("state/undone")).expect("it is counted");
    assert!(undone.starts_with("asked 1\n"), "{undone}");
}

/// What would have no end or keep the agent waiting is refused by its name, and what only looks like an interface is told apart.
#[test]
fn what_is_no_file_and_no_nic_is_refused() {
    let machine = machine("refused");
    fs::create_dir_all(machine.join("sys/class/net/lo/statistics")).expect("a folder");
    let pipe = machine.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().is_ok_and(|of| of.success());
    let pipes = made.then(|| pipe.to_string_lossy().into_owned());
    let root = machine.to_string_lossy().into_owned();
    let config = machine.join("agent.toml").to_string_lossy().into_owned();
    fs::write(&config, "[[nic]]\nname = \"lo\"").expect("written");
    for file in pipes.into_iter().chain(["/dev/zero".to_string()]) {
        for args in [
            &["run", &file, "--root", &root][..],
            &["run", &config, "--root", &root, "--mode", "dry-run", "--signals", &file],
            &["replay", &file],
        ] {
            let (code, _, said) = agent(args);
            let wanted = "it is a device, a pipe or a socket, not a file";
            assert!(code == 2 && said.contains(wanted) && said.contains(&file), "{args:?}: {said}");
        }
    }
    let (code, _, said) = agent(&["run", &config, "--root", &root, "--mode", "dry-run"]);
    let wanted = "nic[0].name: \"lo\": is the loopback, which has no path to memory to watch; ";
    assert!(code == 1 && said.contains(wanted), "{said}");
}

/// A law log on a disk that is full: said while the agent enforces on, and by the exit code when it ends.
#[test]
fn a_law_log_that_the_disk_refuses_is_told_of_while_the_agent_enforces_on() {
    use std::io::{BufRead, BufReader};
    let machine = machine("full");
    let out = machine.join("disk");
    fs::create_dir_all(&out).expect("a folder");
    let flags = rustix::mount::MountFlags::empty();
    let _ = rustix::mount::unmount(&out, rustix::mount::UnmountFlags::DETACH);
    if rustix::mount::mount(c"none", &out, c"tmpfs", flags, c"size=16k").is_err() {
        println!("skipped: this user may mount no small disk");
        return;
    }
    let (file, socket) = (machine.join("agent.toml"), machine.join("metrics"));
    let config = "mode = \"enforce\"\ndeadline = \"10s\"\nlaw.params.stale_after = \"600s\"\n[[victim]]\ncgroup = \"/batch\"\nladder = [\"freeze\"]";
    fs::write(&file, config).expect("written");
    let mut agent = Running::start(
        Command::new(env!("CARGO_BIN_EXE_forebay-agent"))
            .arg("run")
            .args([&file, Path::new("--root"), &machine, Path::new("--serve"), &socket])
            .args([Path::new("--signals"), &machine.join("signals"), Path::new("--out"), &out])
            .args([Path::new("--state"), &machine.join("state")])
            .stderr(Stdio::piped()),
    );
    let mut said = BufReader::new(agent.0.stderr.take().expect("it is ours"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a note");
    assert!(line.contains("a law log cannot be written: ") && line.contains("No space"), "{line}");
    let rounds = || {
        let text = wait("its metrics", || metrics(&socket));
        assert_eq!(metric(&text, "forebay_level"), Some(1), "it enforces on: {text}");
        metric(&text, "forebay_rounds_total").expect("a number")
    };
    let before = rounds();
    wait("more rounds", || (rounds() > before).then_some(()));
    signal(agent.0.id(), Signal::TERM);
    let code = agent.0.wait().expect("it ends").code();
    line.clear();
    said.read_to_string(&mut line).expect("its last lines");
    assert_eq!(
        (code, line.as_str()),
        (Some(1), "error: a law log could not be written to its end\n")
    );
    let freeze = fs::read_to_string(machine.join("sys/fs/cgroup/batch/cgroup.freeze"));
    assert_eq!(freeze.expect("it is there"), "0\n", "all is lifted");
    let _ = rustix::mount::unmount(&out, rustix::mount::UnmountFlags::DETACH);
}
