//! What lifts everything when guard, loop or signals fail, in which order, and in which time of the agent's own.
//!
//! On a machine where root may make cgroups, a process is frozen for real; elsewhere the files are plain ones in a folder. Memory bandwidth is that of a
//! resctrl made up ([`fake_resctrl`]), where root may mount one. Each fault is tried twice. What is asserted comes from the agent's event log
//! (`state/events`): who lifted, why, and when by the agent's clock. Time in which the machine ran nothing does not count ([`own_time`]).
//!
//! Times until the victim runs again are printed and fail nothing: `FOREBAY_FAULTS=20 cargo test -p forebay-agent --test faults -- --nocapture
//! --test-threads 1` tries each fault 20 times. `FOREBAY_DEADLINE=1s` has another deadline than 50 ms. A second is also the deadline where neither guard
//! nor loop may be real-time: there a busy machine keeps one of them waiting for longer than 50 ms, and the other one rightly lifts everything.

mod fake_resctrl;

use fake_resctrl::Fake;
use forebay_linux::capabilities::{Capabilities, Capability};
use forebay_linux::cgroup::Cgroups;
use forebay_linux::process::{PinnedThread, may_use};
use forebay_linux::{Clock, Root, boot_ns};
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// How long a condition may take to come true at least, and how often this looks: no verdict on the agent, but on a test that hangs. On a busy machine looks
/// take longer.
const LIMIT: Duration = Duration::from_secs(60);
const LOOKS: u32 = 100_000;

/// Waits until something is so.
fn wait<T>(what: &str, mut so: impl FnMut() -> Option<T>) -> T {
    let clock = Clock::start();
    for look in 0.. {
        if let Some(found) = so() {
            return found;
        }
        assert!(look < LOOKS || clock.now() < LIMIT, "{what}: not within {:?}", clock.now());
        std::thread::sleep(MS / 5);
    }
    unreachable!("it has failed before")
}

/// Whether a process has ended; also one that has not been waited for.
fn is_over(pid: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"));
    text.is_ok_and(|text| text.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['Z', 'X'])))
        || !Path::new(&format!("/proc/{pid}")).exists()
}

/// The first line of the event log that says that everything was lifted.
#[derive(Debug)]
struct Lifted {
    by: String,
    cause: String,
    at: u64,
    beat: u64, // the last sign of life of the other process
    late: Vec<(u64, u64)>,
}

impl Lifted {
    fn of(events: &str) -> Option<Self> {
        let line = events.lines().find(|line| line.contains(" lifted "))?;
        let mut words = line.split(' ');
        let (at, by) = (words.next()?.parse().ok()?, words.next()?.to_string());
        let value = |key: &str| words.clone().find_map(|word| word.strip_prefix(key));
        let late = words.clone().filter_map(|word| {
            let (due, awake) = word.strip_prefix("late=")?.split_once('-')?;
            Some((due.parse().ok()?, awake.parse().ok()?))
        });
        let (cause, beat) = (value("cause=")?.into(), value("beat=")?.parse().ok()?);
        Some(Self { by, cause, at, beat, late: late.collect() })
    }
}

/// Time from the last sign of life to the lift, without that in which the machine ran nothing on some CPU: late wake-ups of the process that lifted, by its own
/// log, and those that `stalls` has.
fn own_time(of: &Lifted, stalls: &[(u64, u64)]) -> Duration {
    let mut all: Vec<_> = of.late.iter().chain(stalls).copied().collect();
    all.sort_unstable();
    let (mut own, mut from) = (0, of.beat);
    for (due, awake) in all {
        let (due, awake) = (due.clamp(from, of.at.max(from)), awake.clamp(from, of.at.max(from)));
        own += due - from;
        from = awake;
    }
    Duration::from_nanos(own + of.at.saturating_sub(from))
}

#[test]
fn own_time_leaves_out_each_late_wake_up_once() {
    let of = |late: &[(u64, u64)]| Lifted {
        by: "guard".into(),
        cause: "loop_silent".into(),
        at: 1_000,
        beat: 100,
        late: late.into(),
    };
    let ns = Duration::from_nanos;
    assert_eq!(own_time(&of(&[]), &[]), ns(900));
    assert_eq!(own_time(&of(&[(300, 500)]), &[(400, 600), (450, 550)]), ns(600));
    assert_eq!(own_time(&of(&[]), &[(0, 200), (900, 2_000), (3_000, 4_000)]), ns(700));
    assert_eq!(own_time(&of(&[(0, 5_000)]), &[]), ns(0));
}

/// A thread on each CPU that wakes every millisecond, and notes when it wakes late: then the machine ran others there, or nothing.
struct Witness {
    stalls: Arc<Mutex<Vec<(u64, u64)>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Witness {
    fn start() -> Self {
        let (stalls, stop) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let threads = (0..1024).filter(|cpu| may_use(*cpu)).take(16).map(|cpu| {
            let (stalls, stop) = (Arc::clone(&stalls), Arc::clone(&stop));
            std::thread::spawn(move || {
                let _pinned = PinnedThread::to(cpu);
                while !stop.load(Relaxed) {
                    let due = boot_ns() + 1_000_000;
                    std::thread::sleep(MS);
                    let awake = boot_ns();
                    if awake > due + 2_000_000 {
                        stalls.lock().expect("nobody panics").push((due, awake));
                    }
                }
            })
        });
        let threads = threads.collect();
        Self { stalls, stop, threads }
    }

    fn stalls(&self) -> Vec<(u64, u64)> {
        std::thread::sleep(MS * 5); // those that are about to end
        self.stalls.lock().expect("nobody panics").clone()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.threads.drain(..).for_each(|of| of.join().expect("it does not panic"));
    }
}

/// The heartbeat's deadline; another one for machines so slow that a loop misses this.
fn deadline() -> Duration {
    let realtime = Capabilities::read(&Root::machine()).has(Capability::SysNice);
    let asked = std::env::var("FOREBAY_DEADLINE").ok();
    asked.map_or(if realtime { MS * 50 } else { MS * 1000 }, |text| {
        let span: forebay_units::Span = text.parse().expect("a time, such as 1s");
        Duration::from_micros(span.as_us())
    })
}

/// A victim to be frozen, or to have less memory bandwidth, and where the agent keeps its state.
struct Place {
    folder: PathBuf,
    root: PathBuf,
    cgroup: String,
    victim: Option<Child>,
    folder_of_cgroup: PathBuf,
    memory: Option<Fake>,
    patient: Duration,               // its agents have this deadline at least
    lifts_by_law: bool,              // when its signals end
    calm: bool,                      // agents begin without congestion
    running: Cell<Option<[i32; 2]>>, // guard and loop that were started last
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = Self::empty(name);
        let cgroup = format!("/forebay-{name}-{}", std::process::id());
        let mount = Cgroups::find(&Root::machine()).map(|of| of.mount);
        if let Some(at) = mount.map(|mount| PathBuf::from(mount + &cgroup))
            && fs::create_dir(&at).is_ok()
        {
            let victim = Command::new("sleep").arg("600").spawn().expect("it runs");
            fs::write(at.join("cgroup.procs"), victim.id().to_string()).expect("moved");
            return Self {
                folder,
                root: "/".into(),
                cgroup,
                victim: Some(victim),
                folder_of_cgroup: at,
                memory: None,
                patient: Duration::ZERO,
                lifts_by_law: false,
                calm: false,
                running: Cell::default(),
            };
        }
        Self::of_files(folder)
    }

    /// A place whose victim has tasks 11 and 12 of a made-up resctrl. `None`: this machine mounts none.
    fn of_memory(name: &str) -> Option<Self> {
        // Where a test was killed, its mount is still there.
        let at = Self::at(name).join("root/sys/fs/resctrl");
        unmount(&at, UnmountFlags::DETACH);
        let mut place = Self::of_files(Self::empty(name));
        fs::create_dir_all(&at).expect("a folder");
        place.memory = Some(Fake::mount(&at)?);
        place.patient = MS * 1000; // what is made up waits for a core like any process
        Some(place)
    }

    /// Where neither process is to be found silent, a machine that stands still for a moment is to change nothing.
    fn patient(mut self) -> Self {
        self.patient = MS * 10_000;
        self
    }

    fn at(name: &str) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{name}"))
    }

    fn empty(name: &str) -> PathBuf {
        let folder = Self::at(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// A place whose cgroup is plain files.
    fn of_files(folder: PathBuf) -> Self {
        let (root, cgroup) = (folder.join("root"), "/victim".to_string());
        let at = root.join("sys/fs/cgroup/victim");
        fs::create_dir_all(&at).expect("a folder");
        fs::create_dir_all(root.join("proc/self")).expect("a folder");
        fs::write(root.join("proc/self/cgroup"), "0::/agent\n").expect("written");
        fs::write(root.join("proc/mounts"), "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
            .expect("written");
        fs::write(at.join("cgroup.freeze"), "0\n").expect("written");
        fs::write(at.join("cgroup.threads"), "11\n12\n").expect("written");
        Self {
            folder,
            root,
            cgroup,
            victim: None,
            folder_of_cgroup: at,
            memory: None,
            patient: Duration::ZERO,
            lifts_by_law: false,
            calm: false,
            running: Cell::default(),
        }
    }

    /// The cgroup goes, and its process.
    fn take_away(&mut self) {
        match &mut self.victim {
            None => fs::remove_dir_all(&self.folder_of_cgroup).expect("removed"),
            Some(victim) => {
                victim.kill().expect("killed");
                victim.wait().expect("it has ended");
                wait("its cgroup goes", || fs::remove_dir(&self.folder_of_cgroup).ok());
            }
        }
    }

    /// Another one of the same name.
    fn put_back(&mut self) {
        fs::create_dir(&self.folder_of_cgroup).expect("made");
        if let Some(victim) = &mut self.victim {
            *victim = Command::new("sleep").arg("600").spawn().expect("it runs");
            let procs = self.folder_of_cgroup.join("cgroup.procs");
            fs::write(procs, victim.id().to_string()).expect("moved");
        } else {
            fs::write(self.folder_of_cgroup.join("cgroup.freeze"), "0\n").expect("written");
        }
    }

    /// The heartbeat's deadline.
    fn deadline(&self) -> Duration {
        deadline().max(self.patient)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether it is as the agent found it.
    fn is_lifted(&self) -> bool {
        match &self.memory {
            Some(fake) => fake.percent(11) == [100; 2],
            None => !self.frozen(),
        }
    }

    /// Whether it is throttled as much as the ladder allows.
    fn is_throttled(&self) -> bool {
        match &self.memory {
            Some(fake) => fake.percent(11) == [10; 2],
            None => self.frozen(),
        }
    }

    fn frozen(&self) -> bool {
        let events = self.folder_of_cgroup.join("cgroup.events");
        match fs::read_to_string(events) {
            Ok(text) => text.contains("frozen 1"),
            Err(_) => {
                let text = fs::read_to_string(self.folder_of_cgroup.join("cgroup.freeze"));
                text.is_ok_and(|text| text.starts_with('1'))
            }
        }
    }

    /// Waits until the victim is throttled, or is not any more; how long that took.
    fn until(&self, throttled: bool) -> Duration {
        let clock = Clock::start();
        let what = if throttled { "it is throttled" } else { "it is lifted" };
        wait(what, || {
            let so = if throttled { self.is_throttled() } else { self.is_lifted() };
            let nobody = || self.running.get().is_some_and(|of| of.into_iter().all(is_over));
            assert!(so || throttled || !nobody() || self.is_lifted(), "nobody is left to lift it");
            so.then_some(())
        });
        clock.now()
    }

    /// The agent's event log.
    fn events(&self) -> String {
        fs::read_to_string(self.file("state/events")).unwrap_or_default()
    }

    /// Waits until the event log says this.
    fn until_event(&self, what: &str) {
        wait(what, || self.events().contains(what).then_some(()));
    }

    /// The readings, replaced by one write.
    fn congested(&self, yes: bool) {
        let file = self.file("signals");
        let of = fs::File::options().write(true).create(true).truncate(false).open(file);
        let text: &[u8] = if yes { b"93 43Gbps\n" } else { b"10 43Gbps\n" };
        std::os::unix::fs::FileExt::write_all_at(&of.expect("open"), text, 0).expect("written");
    }

    /// Moves guard and loop into the victim's cgroup, or says so in a tree made up. Whether the kernel lets them: one that has budgets of real-time for each
    /// cgroup (`CONFIG_RT_GROUP_SCHED`) does not.
    fn move_in(&self, guard: i32, of_loop: i32) -> bool {
        if self.victim.is_none() {
            fs::write(self.root.join("proc/self/cgroup"), "0::/victim\n").expect("written");
            return true;
        }
        let procs = self.folder_of_cgroup.join("cgroup.procs");
        [of_loop, guard].into_iter().all(|id| match fs::write(&procs, id.to_string()) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                println!("skipped: this kernel moves no real-time process into that cgroup");
                false
            }
            done => done.is_ok(),
        })
    }

    fn agent(&self, args: &[&str]) -> Command {
        self.agent_from(Path::new(env!("CARGO_BIN_EXE_forebay-agent")), args)
    }

    fn agent_from(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        let state = self.file("state");
        command.args(args).arg("--root").arg(&self.root).arg("--state").arg(state);
        command
    }

    /// An agent that enforces, with the victim throttled: itself and the numbers of guard and loop. One that ends before, as guard or loop had no core for
    /// the length of the deadline, has to leave nothing, and another one is started.
    fn start(&self) -> (Child, i32, i32) {
        wait("the law throttles the victim", || self.started())
    }

    fn spawn(&self) -> Child {
        self.spawn_from(Path::new(env!("CARGO_BIN_EXE_forebay-agent")))
    }

    fn spawn_from(&self, program: &Path) -> Child {
        // A loop that wakes late, and so has had no readings, is to lift nothing: the law waits longer than guard and loop do for each other.
        let us = self.deadline().as_micros();
        let stale = if self.lifts_by_law { us } else { 20 * us };
        let config = format!(
            "mode = \"enforce\"\ndeadline = \"{us}us\"\nlaw.params.stale_after = \"{stale}us\"\n[[victim]]\ncgroup = \"{}\"\nladder = {}\n",
            self.cgroup,
            if self.memory.is_some() { r#"["mb:70%", "mb:10%"]"# } else { r#"["freeze"]"# }
        );
        fs::write(self.file("agent.toml"), config).expect("written");
        self.congested(!self.calm);
        let (config, signals) = (self.file("agent.toml"), self.file("signals"));
        let args = ["run", &config.to_string_lossy(), "--signals", &signals.to_string_lossy()];
        let mut command = self.agent_from(program, &args);
        if self.lifts_by_law {
            let _ = fs::remove_dir_all(self.file("law"));
            command.arg("--out").arg(self.file("law"));
        }
        command.env("NOTIFY_SOCKET", self.file("notify"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    }

    fn started(&self) -> Option<(Child, i32, i32)> {
        let mut agent = self.spawn();
        let (guard, of_loop) = self.throttling(&mut agent)?;
        Some((agent, guard, of_loop))
    }

    /// The numbers of guard and loop of this agent, once it has written them.
    fn running(&self, agent: &Child) -> Option<(i32, i32)> {
        let text = fs::read_to_string(self.file("state/pid")).ok()?;
        let (guard, of_loop) = text.trim_end().split_once(' ')?;
        let (guard, of_loop) = (guard.parse::<i32>().ok()?, of_loop.parse().ok()?);
        let (own, begun) = (guard == agent.id() as i32, self.events().contains(" started "));
        (own && begun).then(|| {
            self.running.set(Some([guard, of_loop]));
            (guard, of_loop)
        })
    }

    /// The numbers of guard and loop once the victim is throttled; none if the agent has ended before.
    fn throttling(&self, agent: &mut Child) -> Option<(i32, i32)> {
        let clock = Clock::start();
        while clock.now() < LIMIT {
            if let Some((guard, of_loop)) = self.running(agent)
                && (self.calm || self.is_throttled())
            {
                return Some((guard, of_loop));
            }
            if agent.try_wait().expect("it is ours").is_some() {
                self.undo(); // of a loop that saw no guard
                assert!(self.is_lifted(), "it has ended by itself");
                return None;
            }
            std::thread::sleep(MS / 5);
        }
        let _ = agent.kill(); // the loop ends with it
        let mut said = String::new();
        let read = agent.stderr.take().map(|mut from| from.read_to_string(&mut said));
        panic!("the law does not throttle the victim: {said} {read:?}");
    }

    /// `undo`: exit code and what it says.
    fn undo(&self) -> (Option<i32>, String) {
        let out = self.agent(&["undo"]).output().expect("it runs");
        let said = [out.stdout, out.stderr].concat();
        (out.status.code(), String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Else they would go on without the test.
            self.running
                .take()
                .into_iter()
                .flatten()
                .for_each(|of| signal_if_there(of, Signal::KILL));
        }
        if let Some(victim) = &mut self.victim {
            let _ = fs::write(self.folder_of_cgroup.join("cgroup.freeze"), "0");
            let _ = victim.kill();
            let _ = victim.wait();
            for _ in 0..100 {
                if fs::remove_dir(&self.folder_of_cgroup).is_ok() {
                    break;
                }
                std::thread::sleep(MS);
            }
        }
    }
}

/// By the kernel; or, for a user who may not, by the program that has the right.
fn unmount(at: &Path, how: UnmountFlags) -> bool {
    let lazily = (how == UnmountFlags::DETACH).then_some("-l");
    let mut program = Command::new("umount");
    program.args(lazily).arg(at).stderr(Stdio::null());
    rustix::mount::unmount(at, how).is_ok() || program.status().is_ok_and(|of| of.success())
}

/// Tries of each fault.
fn tries() -> usize {
    let asked = std::env::var("FOREBAY_FAULTS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(2)
}

/// How a fault has to end: who lifts and why, by the event log; the exit code, and what the agent says.
type Wanted<'a> = ((&'a str, &'a str), Option<i32>, &'a str);

/// Tries a fault.
fn fault(name: &str, wanted: Wanted<'_>, inflict: impl Fn(&Place, i32, i32)) {
    fault_at(&Place::new(name), name, wanted, inflict);
}

fn fault_at(
    place: &Place,
    name: &str,
    ((by, cause), code, said): Wanted<'_>,
    inflict: impl Fn(&Place, i32, i32),
) {
    let (count, witness) = (tries(), Witness::start());
    let (mut times, mut others) = (Vec::new(), Vec::new());
    while times.len() < count {
        let (agent, guard, of_loop) = place.start();
        inflict(place, guard, of_loop);
        let took = place.until(false);
        // The process that lifted says so next, and then ends. Where the law has lifted, that is all.
        if !place.lifts_by_law {
            wait("the event log", || Lifted::of(&place.events()));
            let silent = if by == "loop" { of_loop } else { guard };
            wait("the end of who has lifted", || is_over(silent).then_some(()));
        }
        signal_if_there(guard, Signal::CONT);
        signal_if_there(guard, Signal::TERM);
        let out = agent.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        let of = Lifted::of(&place.events()).expect("the event log");
        place.undo(); // a loop whose guard was killed leaves the journal
        assert!(place.is_lifted(), "{name}: {of:?}");
        assert!(place.memory.as_ref().is_none_or(Fake::is_as_before), "{name}: a group is left");
        // Where the machine stood still, one of the two was silent before the fault, or meanwhile: lifted all the same, but by another fault.
        if (of.by.as_str(), of.cause.as_str()) != (by, cause) {
            others.push(of);
            assert!(others.len() < 50, "{name}: never by {by} for {cause}, but {others:?}");
            continue;
        }
        assert_eq!(out.status.code(), code, "{name}: {stderr}");
        assert!(stderr.contains(said), "{name}: {stderr}");
        if place.memory.is_none() && !place.lifts_by_law {
            let (own, most) = (own_time(&of, &witness.stalls()), place.deadline() + MS * 50);
            assert!(
                own <= most,
                "{name}: {own:?} of the agent's own, promised are {most:?}: {of:?}"
            );
        }
        times.push(took);
    }
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    let kind = match (&place.memory, &place.victim) {
        (Some(_), _) => "memory bandwidth made up",
        (None, Some(_)) => "a frozen process",
        (None, None) => "plain files",
    };
    println!(
        "{name}: measured: median {:.1} ms, worst {:.1} ms of {count}, {kind}; {} tries met another fault",
        ms(times.len() / 2),
        ms(times.len() - 1),
        others.len(),
    );
}

fn signal_if_there(pid: i32, of: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a process"), of);
}

/// By the guard, whose loop has gone; by the loop, whose guard has gone; and so on.
const LOOP_GONE: Wanted<'_> =
    (("guard", "loop_gone"), Some(1), "the loop has ended by itself: everything was lifted");
const LOOP_SILENT: Wanted<'_> =
    (("guard", "loop_silent"), Some(1), "no sign of life within the deadline");
const GUARD_GONE: Wanted<'_> = (("loop", "guard_gone"), None, "");
const GUARD_SILENT: Wanted<'_> = (
    ("loop", "guard_silent"),
    Some(1),
    "the guard gave no sign of life within the deadline; everything was lifted",
);
const ASKED: Wanted<'_> = (("loop", "asked"), Some(0), "");

#[test]
fn the_guard_lifts_everything_when_the_loop_is_killed() {
    fault("kill-loop", LOOP_GONE, |_, _, of_loop| signal_if_there(of_loop, Signal::KILL));
}

#[test]
fn the_guard_lifts_everything_when_the_loop_gives_no_sign_of_life() {
    fault("stop-loop", LOOP_SILENT, |_, _, of_loop| signal_if_there(of_loop, Signal::STOP));
}

#[test]
fn the_loop_lifts_everything_when_the_guard_is_killed() {
    fault("kill-guard", GUARD_GONE, |_, guard, _| signal_if_there(guard, Signal::KILL));
}

#[test]
fn the_loop_lifts_everything_when_the_guard_gives_no_sign_of_life() {
    fault("stop-guard", GUARD_SILENT, |_, guard, _| signal_if_there(guard, Signal::STOP));
}

#[test]
fn an_interrupt_lifts_everything() {
    fault("interrupt", ASKED, |_, guard, _| signal_if_there(guard, Signal::TERM));
}

/// A terminal that closes, while the loop hangs or does not.
#[test]
fn a_hangup_lifts_everything_as_an_interrupt_does() {
    fault("hangup", ASKED, |_, guard, _| signal_if_there(guard, Signal::HUP));
    let interrupted = (("loop", "interrupted"), Some(1), "the loop has ended by itself");
    fault("hangup-loop", interrupted, |_, guard, of_loop| {
        signal_if_there(of_loop, Signal::HUP);
        wait("the guard finds that", || is_over(guard).then_some(()));
    });
}

/// Two faults, of which the kernel mends one: it continues a loop whose guard has died.
#[test]
fn a_stopped_loop_goes_on_when_its_guard_is_killed_and_lifts_everything() {
    let place = Place::new("stop-loop-kill-guard").patient();
    fault_at(&place, "stop-loop, kill-guard", GUARD_GONE, |_, guard, of_loop| {
        signal_if_there(of_loop, Signal::STOP);
        signal_if_there(guard, Signal::KILL);
    });
}

/// Lifted by the law, `stale_after` after its last readings, as its log has it. In which round that is, `law::control::tests` has on a clock of its own.
#[test]
fn the_law_lifts_everything_when_its_signals_end() {
    let mut place = Place::new("signals-end");
    place.lifts_by_law = true;
    fault_at(&place, "signals-end", ASKED, end_signals);
    let mut replay = Command::new(env!("CARGO_BIN_EXE_forebay-agent"));
    let rows = replay.args(["replay", "--rows"]).arg(place.file("law")).output().expect("it runs");
    assert!(rows.status.success(), "the law's log replays");
    let rows = String::from_utf8_lossy(&rows.stdout).into_owned();
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
    let ps = |text: &str| text.parse::<u64>().expect("picoseconds");
    let lift = rows.iter().rposition(|row| row[2] == "wake" && row[5].contains("level=0"));
    let lift = lift.expect("a wake-up by which it lifts");
    let last = |event: &str| {
        let row = rows[..lift].iter().rev().find(|row| row[2] == event).expect("a reading");
        ps(row[3])
    };
    let (last, stale) = (last("write_occupancy").min(last("write_inserts")), place.deadline());
    assert!(ps(rows[lift][1]) >= last + stale.as_nanos() as u64 * 1000, "{rows:?}");
    let after = rows[lift..].iter().find(|row| row[2].starts_with("write_"));
    assert_eq!(after, None, "no reading comes after it");
}

fn end_signals(place: &Place, _: i32, _: i32) {
    fs::write(place.file("signals"), "").expect("written");
}

/// Guard and loop killed, the loop stopped before so that it lifts nothing. Not by a try in which the machine stood still meanwhile: the agent's log
/// tells of that.
fn kill_both(place: &Place) {
    wait("both are killed at once", || {
        let (mut agent, guard, of_loop) = place.start();
        signal_if_there(guard, Signal::STOP);
        signal_if_there(of_loop, Signal::KILL);
        signal_if_there(guard, Signal::KILL);
        agent.wait().expect("it has ended");
        wait("the loop has ended", || is_over(of_loop).then_some(()));
        Lifted::of(&place.events()).is_none().then_some(())
    });
}

/// Both at once are beyond the agent: the service manager runs `undo` then, or the next start does.
#[test]
fn what_two_dead_processes_left_is_undone_by_undo_and_by_the_next_start() {
    let place = Place::new("kill-both").patient();
    let (agent, guard, _) = place.start();
    assert!(place.undo().1.contains(&format!("an agent runs already, as process {guard}")));
    signal_if_there(guard, Signal::TERM);
    assert!(agent.wait_with_output().is_ok_and(|out| out.status.success()));
    for _ in 0..2 {
        kill_both(&place);
        assert!(place.frozen(), "nobody is left to lift it");
    }
    let (code, said) = place.undo();
    assert!(code == Some(0) && said.starts_with("lifted what a dead agent left: "), "{said}");
    assert!(!place.frozen());
    let (code, said) = place.undo();
    assert!(code == Some(0) && said.starts_with("there was nothing to undo\n"), "{said}");
}

/// Where the journal has gone, too, no record says who froze the victim: `undo` and the next start say what is frozen, and what thaws it.
#[test]
fn a_victim_whose_journal_is_lost_is_named_with_what_thaws_it() {
    let place = Place::new("lost").patient();
    kill_both(&place);
    fs::remove_dir_all(place.file("state")).expect("removed");
    let file = place.folder_of_cgroup.join("cgroup.freeze");
    let file = file.strip_prefix(&place.root).map_or(file.clone(), |of| Path::new("/").join(of));
    let thaws = format!("to thaw it: echo 0 > {}", file.display());
    let (code, said) = place.undo();
    assert!(code == Some(0) && said.contains("there was nothing to undo\n"), "{said}");
    assert!(said.contains(&thaws), "{said}, not {thaws}");
    let out = place.spawn().wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && said.contains(&thaws), "{said}, not {thaws}");
    fs::write(place.folder_of_cgroup.join("cgroup.freeze"), "0\n").expect("as it was told");
    wait("it is thawed", || place.is_lifted().then_some(()));
}

/// A victim that goes while its agent is dead, and a cgroup of the same name that another process has frozen.
#[test]
fn a_cgroup_of_a_victims_name_that_somebody_else_froze_stays_frozen() {
    let mut place = Place::new("anew").patient();
    kill_both(&place);
    if place.victim.is_some() {
        place.take_away();
        place.put_back();
    } else {
        // The other one is made before the first one goes: so it has another number, as in the kernel.
        let other = place.folder_of_cgroup.with_extension("other");
        fs::create_dir(&other).expect("made");
        fs::remove_dir_all(&place.folder_of_cgroup).expect("removed");
        fs::rename(&other, &place.folder_of_cgroup).expect("renamed");
    }
    fs::write(place.folder_of_cgroup.join("cgroup.freeze"), "1\n").expect("by somebody else");
    wait("it is frozen", || place.frozen().then_some(()));
    let out = place.spawn().wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    let wanted = "note: a dead agent's journal was undone first: all had been lifted\n";
    assert!(out.status.code() == Some(1) && said.contains(wanted), "{said}");
    assert!(place.frozen(), "not the agent's to thaw");
}

/// Two processes that hang: neither is left to find that, but `undo` does, by their signs of life.
#[test]
fn undo_ends_an_agent_that_hangs_and_lifts_what_it_left() {
    let place = Place::new("stop-both");
    let hangs = |place: &Place, agent: Child, guard: i32, of_loop: i32| {
        let (code, said) = place.undo();
        let ended = format!("s: process {guard} and {of_loop}\n");
        assert!(
            code == Some(0) && said.contains("ended an agent that gave no sign of life for "),
            "{said}"
        );
        assert!(
            said.contains(&ended) && said.contains("lifted what a dead agent left: "),
            "{said}"
        );
        assert!(place.is_lifted() && is_over(of_loop));
        agent.wait_with_output().expect("it has been killed");
    };
    wait("both are stopped at once", || {
        let (agent, guard, of_loop) = place.start();
        // The loop first, and the guard before it can find that: a pair that is lifted before is no pair that hangs.
        signal_if_there(of_loop, Signal::STOP);
        signal_if_there(guard, Signal::STOP);
        if Lifted::of(&place.events()).is_some() || is_over(of_loop) {
            signal_if_there(guard, Signal::CONT);
            agent.wait_with_output().expect("it ends");
            place.undo();
            return None;
        }
        hangs(&place, agent, guard, of_loop);
        Some(())
    });
    if place.victim.is_some() {
        let (agent, guard, of_loop) = place.start();
        // That freezes both at once.
        if place.move_in(guard, of_loop) {
            hangs(&place, agent, guard, of_loop);
        } else {
            signal_if_there(guard, Signal::TERM);
            agent.wait_with_output().expect("it ends");
        }
    }
}

/// Agents with state folders of their own know nothing of each other's journals: the second one gets no victim of the first, nor a cgroup that holds one.
#[test]
fn a_second_agent_with_another_state_folder_gets_no_victim_of_the_first() {
    let mut place = Place::new("second").patient();
    place.calm = true;
    let (agent, guard, _) = place.start();
    let of = |name: &str, cgroup: &str| {
        let config = format!(
            "mode = \"enforce\"\n[[victim]]\ncgroup = \"{cgroup}\"\nladder = [\"freeze\"]\n"
        );
        fs::write(place.file(name), config).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay-agent"));
        let (config, signals) = (place.file(name), place.file("signals"));
        let args = [Path::new("run"), &config, Path::new("--signals"), &signals];
        command.args(args).args(["--for", "1s"]).arg("--root").arg(&place.root);
        command.arg("--state").arg(place.file("other")).output().expect("it runs")
    };
    let below = place.folder_of_cgroup.join("below");
    fs::create_dir(&below).expect("made");
    if place.victim.is_none() {
        fs::write(below.join("cgroup.freeze"), "0\n").expect("written");
    }
    let state = place.file("state");
    for (cgroup, what) in [
        (place.cgroup.clone(), "acts on it"),
        (format!("{}/below", place.cgroup), "acts on a cgroup that holds it"),
    ] {
        let out = of("second.toml", &cgroup);
        let said = String::from_utf8_lossy(&out.stderr);
        let whom = format!("another agent, process {guard} with its state in {}", state.display());
        assert!(
            out.status.code() == Some(1) && said.contains(&whom) && said.contains(what),
            "{said}"
        );
        assert!(!place.file("other").join("journal").exists(), "nothing has begun");
    }
    // Once the first one is gone, by whatever, the victim is free.
    signal_if_there(guard, Signal::KILL);
    agent.wait_with_output().expect("it has been killed");
    wait("the second one gets it", || {
        let out = of("second.toml", &place.cgroup);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!said.contains("another agent"), "{said}");
        (out.status.code() == Some(0)).then_some(())
    });
    let _ = fs::remove_dir_all(&below).or_else(|_| fs::remove_dir(&below));
}

/// A process that freezes its own cgroup never runs again. Nothing is frozen once the agent has been moved into the victim.
#[test]
fn an_agent_that_is_moved_into_its_victim_freezes_nothing_and_ends() {
    let mut place = Place::new("moved").patient();
    place.calm = true;
    let (mut agent, guard, of_loop) = place.start();
    if !place.move_in(guard, of_loop) {
        signal_if_there(guard, Signal::TERM);
        agent.wait_with_output().expect("it ends");
        return;
    }
    place.congested(true);
    wait("its end", || agent.try_wait().expect("it is ours"));
    let out = agent.wait_with_output().expect("it has ended");
    let (said, shown) =
        (String::from_utf8_lossy(&out.stderr), String::from_utf8_lossy(&out.stdout));
    let wanted = "the agent was moved into its victim ";
    assert!(out.status.code() == Some(1) && said.contains(wanted), "{said}");
    assert!(shown.contains("strongest level 0, 0 level writes made"), "{shown}");
    assert!(
        place.is_lifted() && place.events().contains(" lifted cause=inside "),
        "{}",
        place.events()
    );
}

/// A folder or a journal that another user may have written is ignored.
#[test]
fn a_journal_of_another_user_or_of_other_files_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("forged");
    let (state, target) = (place.file("state"), place.file("target"));
    let journal = state.join("journal");
    fs::create_dir_all(&state).expect("made");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).expect("set");
    fs::write(&target, "mine\n").expect("written");
    let line = format!("freeze\t{}\tOWNED\tmine", target.display());
    let sum = line
        .bytes()
        .fold(0x811c_9dc5u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    fs::write(&journal, format!("{line}\t{sum:08x}\n")).expect("written");
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).expect("set");
    let refused = |why: &str, code: i32| {
        let (found, said) = place.undo();
        assert!(found == Some(code) && said.contains(why), "{said}, not {why}");
        let out = place.spawn().wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(code) && said.contains(why), "{said}, not {why}");
        assert_eq!(fs::read_to_string(&target).expect("it is there"), "mine\n");
    };
    refused("which no agent changes: left alone", 1);
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o666)).expect("set");
    refused("other users may write it", 1);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).expect("set");
    refused("other users may write it", 2);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).expect("set");
    if std::os::unix::fs::chown(&journal, Some(65_534), None).is_ok() {
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).expect("set");
        refused("belongs to user 65534", 1);
        std::os::unix::fs::chown(&state, Some(65_534), None).expect("as root");
        refused("belongs to user 65534", 2);
        std::os::unix::fs::chown(&state, Some(0), None).expect("as root");
    }
    fs::remove_file(&journal).expect("removed");
    fs::create_dir(&journal).expect("made");
    assert!(place.undo().1.contains("it is a folder, not a file"));
}

#[test]
fn the_loop_has_no_right_and_what_others_do_ends_the_law() {
    let place = Place::new("rights").patient();
    let manager = UnixDatagram::bind(place.file("notify")).expect("a socket");
    manager.set_read_timeout(Some(LIMIT)).expect("set");
    let (agent, guard, of_loop) = place.start();
    for wanted in ["READY=1", "WATCHDOG=1"] {
        let mut bytes = [0; 64];
        let len = loop {
            match manager.recv(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                told => break told.expect("the service manager is told"),
            }
        };
        assert_eq!(&bytes[..len], wanted.as_bytes());
    }
    let status = fs::read_to_string(format!("/proc/{of_loop}/status")).expect("it runs");
    for line in ["CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{line} is not in {status}");
    }
    if place.victim.is_some() {
        assert!(status.contains("Uid:\t65534"), "nobody: {status}");
    }
    fs::write(place.folder_of_cgroup.join("cgroup.freeze"), "0\n").expect("written");
    place.until_event("guard foreign");
    signal_if_there(guard, Signal::TERM);
    let out = agent.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("another process changed a throttle"), "{said}");
    // The level was written once, and what another process thawed was thawed from then on, though the host is congested.
    assert!(said.contains("strongest level 1, 1 level writes made"), "{said}");
    assert!(!place.frozen());
}

/// A victim that goes is left alone; one that comes back under its name is throttled again, by a start of its own. The metric counts both. An upgrade
/// that has replaced the program meanwhile keeps none from that.
#[test]
fn a_victim_that_is_back_is_throttled_again() {
    let mut place = Place::new("back").patient();
    let program = place.file("agent-before-an-upgrade");
    fs::copy(env!("CARGO_BIN_EXE_forebay-agent"), &program).expect("copied");
    let mut agent = place.spawn_from(&program);
    let (guard, before) = place.throttling(&mut agent).expect("it runs");
    fs::remove_file(&program).expect("replaced");
    place.take_away();
    place.until_event("guard gone=1");
    place.put_back();
    place.until(true);
    let text = fs::read_to_string(place.file("state/pid")).expect("it says who runs");
    assert!(text.starts_with(&format!("{guard} ")) && !text.contains(&format!(" {before}\n")));
    let name = fs::read_to_string(format!(
        "/proc/{}/comm",
        text.trim_end().rsplit(' ').next().unwrap_or_default()
    ));
    assert_eq!(name.expect("the loop runs"), "forebay-agent\n");
    signal_if_there(guard, Signal::TERM);
    let out = agent.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains(": gone; nothing is done to it") && said.contains(": back; "), "{said}");
    assert!(!place.frozen());
    let undone = fs::read_to_string(place.file("state/undone")).expect("it is counted");
    assert!(undone.contains("asked 1\n") && undone.contains("back 1\n"), "{undone}");
}

/// Every rung of memory bandwidth, through a resctrl made up: in force one after the other, and back whatever fails.
#[test]
fn memory_bandwidth_is_back_whatever_fails() {
    let Some(mut place) = Place::of_memory("memory") else { return };
    fault_at(&place, "memory, interrupt", ASKED, |_, guard, _| {
        signal_if_there(guard, Signal::TERM)
    });
    fault_at(&place, "memory, kill-loop", LOOP_GONE, |_, _, of| signal_if_there(of, Signal::KILL));
    fault_at(&place, "memory, stop-loop", LOOP_SILENT, |_, _, of| {
        signal_if_there(of, Signal::STOP)
    });
    fault_at(&place, "memory, kill-guard", GUARD_GONE, |_, of, _| {
        signal_if_there(of, Signal::KILL)
    });
    fault_at(&place, "memory, stop-guard", GUARD_SILENT, |_, of, _| {
        signal_if_there(of, Signal::STOP)
    });
    place.lifts_by_law = true;
    fault_at(&place, "memory, signals-end", ASKED, end_signals);
}

/// What two dead processes left of memory bandwidth goes by `undo`, and by the next start.
#[test]
fn memory_bandwidth_of_two_dead_processes_is_undone() {
    let Some(place) = Place::of_memory("memory-both").map(Place::patient) else { return };
    for _ in 0..2 {
        kill_both(&place);
        assert!(place.is_throttled(), "nobody is left to lift it");
    }
    let (code, said) = place.undo();
    let wanted = "lifted what a dead agent left: /sys/fs/resctrl/forebay-0\n";
    assert_eq!((code, said.as_str()), (Some(0), wanted));
    assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
}

/// Other values in the group, and a group that is removed, end the law. What the agent uses cannot be unmounted.
#[test]
fn what_others_do_to_memory_bandwidth_ends_the_law() {
    let Some(place) = Place::of_memory("memory-others").map(Place::patient) else { return };
    let mount = place.root.join("sys/fs/resctrl");
    let group = mount.join("forebay-0");
    type Does<'a> = &'a dyn Fn();
    let writes: Does<'_> = &|| fs::write(group.join("schemata"), "MB:0=50\n").expect("written");
    let removes: Does<'_> = &|| fs::remove_dir(&group).expect("removed");
    for (does, percent) in [(writes, [50, 10]), (removes, [100; 2])] {
        let (agent, guard, _) = place.start();
        let unmounted = unmount(&mount, UnmountFlags::empty());
        assert!(!unmounted, "it is busy while the agent has files of it open");
        does();
        place.until_event("guard foreign");
        let found = place.memory.as_ref().map(|fake| fake.percent(11));
        assert_eq!(found, Some(percent), "though the host is congested");
        signal_if_there(guard, Signal::TERM);
        let out = agent.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{said}");
        assert!(said.contains("another process changed a throttle"), "{said}");
        assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
    }
}

/// A lazy unmount leaves the group in force for who has it open: the agent lifts it, closes everything, and throttles by the next resctrl.
#[test]
fn resctrl_that_goes_is_closed_and_throttles_again_when_it_is_back() {
    let Some(mut place) = Place::of_memory("memory-back").map(Place::patient) else { return };
    let mount = place.root.join("sys/fs/resctrl");
    let (agent, guard, before) = place.start();
    assert!(unmount(&mount, UnmountFlags::DETACH));
    place.until(false);
    place.memory = None; // before the next one, as it unmounts what is there
    place.memory = Fake::mount(&mount);
    place.until(true);
    let text = fs::read_to_string(place.file("state/pid")).expect("it says who runs");
    assert!(text.starts_with(&format!("{guard} ")) && !text.contains(&format!(" {before}\n")));
    signal_if_there(guard, Signal::TERM);
    let out = agent.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    let (gone, back) = ("/sys/fs/resctrl: gone; ", "/sys/fs/resctrl: back; ");
    assert!(said.contains(gone) && said.contains(back), "{said}");
    assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
}
