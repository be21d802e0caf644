//! What lifts everything when guard, loop or signals fail, and in which time.
//!
//! On a machine where root may make cgroups, a process is frozen for real; elsewhere the files are plain ones in a folder. Memory bandwidth is that of a
//! resctrl made up ([`fake_resctrl`]), where root may mount one. Each fault
//! is tried twice; `FOREBAY_FAULTS=20 cargo test -p forebay-agent --test faults -- --nocapture` tries each 20 times, prints the times and
//! takes none above 100 ms. `FOREBAY_DEADLINE=1s` has another deadline than 50 ms, and promises as much more. A second is also the deadline where
//! neither guard nor loop may be real-time: there a busy machine keeps one of them waiting for longer than 50 ms, and then the other one rightly lifts
//! everything, before any fault.

mod fake_resctrl;

use fake_resctrl::Fake;
use forebay_linux::capabilities::{Capabilities, Capability};
use forebay_linux::cgroup::Cgroups;
use forebay_linux::{Clock, Root};
use rustix::mount::UnmountFlags;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::Cell;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

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
    patient: bool,                   // its agents have a deadline of a second
    lifts_by_law: bool,              // when its signals end
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
                patient: false,
                lifts_by_law: false,
                running: Cell::default(),
            };
        }
        Self::of_files(folder)
    }

    /// Its victim has tasks 11 and 12 of a resctrl made up. `None`: this machine mounts none.
    fn of_memory(name: &str) -> Option<Self> {
        // Where a test was killed, its mount is still there.
        let at = Self::at(name).join("root/sys/fs/resctrl");
        unmount(&at, UnmountFlags::DETACH);
        let mut place = Self::of_files(Self::empty(name));
        fs::create_dir_all(&at).expect("a folder");
        place.memory = Some(Fake::mount(&at)?);
        Some(place.patient()) // what is made up waits for a core like any process
    }

    /// Where no time is measured, a machine that stands still for a moment is to change nothing.
    fn patient(mut self) -> Self {
        self.patient = true;
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

    /// Its cgroup is plain files.
    fn of_files(folder: PathBuf) -> Self {
        let (root, cgroup) = (folder.join("root"), "/victim".to_string());
        let at = root.join("sys/fs/cgroup/victim");
        fs::create_dir_all(&at).expect("a folder");
        fs::create_dir_all(root.join("proc/self")).expect("a folder");
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
            patient: false,
            lifts_by_law: false,
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
                while fs::remove_dir(&self.folder_of_cgroup).is_err() {
                    std::thread::sleep(MS);
                }
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
        if self.patient { deadline().max(MS * 1000) } else { deadline() }
    }

    /// The time that is promised for one fault.
    fn promise(&self) -> Duration {
        self.deadline() + MS * 50
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

    /// How long until the victim is throttled, or is not any more.
    fn until(&self, throttled: bool) -> Option<Duration> {
        let clock = Clock::start();
        while !(if throttled { self.is_throttled() } else { self.is_lifted() }) {
            if clock.now() > MS * 10_000 {
                return None;
            }
            std::thread::sleep(MS / 5);
        }
        Some(clock.now())
    }

    fn agent(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay-agent"));
        let state = self.file("state");
        command.args(args).arg("--root").arg(&self.root).arg("--state").arg(state);
        command
    }

    /// An agent that enforces, with the victim throttled: itself and the numbers of guard and loop. One that ends before, as guard or loop had no core for
    /// the length of the deadline, has to leave nothing, and another one is started.
    fn start(&self) -> (Child, i32, i32) {
        (0..5).find_map(|_| self.started()).expect("the law throttles the victim")
    }

    fn spawn(&self) -> Child {
        // As by default where times are held against the promise. Elsewhere a loop that wakes late, and so has had no readings, is to lift nothing: the law
        // waits longer than guard and loop do for each other.
        let us = self.deadline().as_micros();
        let stale = if self.lifts_by_law || tries().1 { us } else { 20 * us };
        let config = format!(
            "mode = \"enforce\"\ndeadline = \"{us}us\"\nlaw.params.stale_after = \"{stale}us\"\n[[victim]]\ncgroup = \"{}\"\nladder = {}\n",
            self.cgroup,
            if self.memory.is_some() { r#"["mb:70%", "mb:10%"]"# } else { r#"["freeze"]"# }
        );
        fs::write(self.file("agent.toml"), config).expect("written");
        fs::write(self.file("signals"), "93 43Gbps\n").expect("written");
        let (config, signals) = (self.file("agent.toml"), self.file("signals"));
        let args = ["run", &config.to_string_lossy(), "--signals", &signals.to_string_lossy()];
        let mut command = self.agent(&args);
        command.env("NOTIFY_SOCKET", self.file("notify"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    }

    fn started(&self) -> Option<(Child, i32, i32)> {
        let mut agent = self.spawn();
        let (guard, of_loop) = self.throttling(&mut agent)?;
        Some((agent, guard, of_loop))
    }

    /// The numbers of guard and loop once the victim is throttled; none if the agent has ended before.
    fn throttling(&self, agent: &mut Child) -> Option<(i32, i32)> {
        let pids = || {
            let text = fs::read_to_string(self.file("state/pid")).ok()?;
            let (guard, of_loop) = text.trim_end().split_once(' ')?;
            Some((guard.parse::<i32>().ok()?, of_loop.parse().ok()?))
        };
        let (own, clock) = (agent.id() as i32, Clock::start());
        while clock.now() < MS * 20_000 {
            if let Some((guard, of_loop)) = pids().filter(|(guard, _)| *guard == own) {
                self.running.set(Some([guard, of_loop]));
                if self.is_throttled() {
                    return Some((guard, of_loop));
                }
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

fn signal(pid: i32, of: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), of).expect("it is ours");
}

/// Tries, and whether none may be above the promise.
fn tries() -> (u32, bool) {
    let asked = std::env::var("FOREBAY_FAULTS").ok().and_then(|text| text.parse().ok());
    (asked.unwrap_or(2), asked.is_some())
}

/// How agents ended: exit code, and what each said.
struct Ends(Vec<(Option<i32>, String)>);

impl Ends {
    /// One of them ended like this. Not each: a machine that stands still at the wrong moment is a fault of its own.
    fn has(&self, code: i32, said: &str) {
        let like = |of: &(Option<i32>, String)| of.0 == Some(code) && of.1.contains(said);
        assert!(self.0.iter().any(like), "{:?}", self.0);
    }
}

/// Tries a fault.
fn fault(name: &str, inflict: impl Fn(&Place, i32, i32)) -> Ends {
    fault_at(&Place::new(name), name, inflict)
}

fn fault_at(place: &Place, name: &str, inflict: impl Fn(&Place, i32, i32)) -> Ends {
    let (count, strict) = tries();
    let mut times = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..count {
        let (agent, guard, of_loop) = place.start();
        inflict(place, guard, of_loop);
        let took =
            place.until(false).unwrap_or_else(|| panic!("{name}: still throttled after 10 s"));
        times.push(took);
        std::thread::sleep(MS * 20); // a loop that has lifted is about to end
        signal_if_there(guard, Signal::CONT);
        signal_if_there(guard, Signal::TERM);
        let out = agent.wait_with_output().expect("it ends");
        ends.push((out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned()));
        place.undo(); // a loop whose guard was killed leaves the journal
        assert!(place.memory.as_ref().is_none_or(Fake::is_as_before), "{name}: a group is left");
    }
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    let kind = match (&place.memory, &place.victim) {
        (Some(_), _) => "memory bandwidth made up",
        (None, Some(_)) => "a frozen process",
        (None, None) => "plain files",
    };
    println!(
        "{name}: median {:.1} ms, worst {:.1} ms of {count}, {kind}",
        ms(times.len() / 2),
        ms(times.len() - 1)
    );
    let held = if strict { times.last() } else { times.first() };
    assert!(held.is_some_and(|time| *time <= place.promise()), "{name}: {times:?}");
    Ends(ends)
}

fn signal_if_there(pid: i32, of: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a process"), of);
}

#[test]
fn the_guard_lifts_everything_when_the_loop_is_killed() {
    let ends = fault("kill-loop", |_, _, of_loop| signal(of_loop, Signal::KILL));
    ends.has(1, "the loop has ended by itself: everything was lifted");
}

#[test]
fn the_guard_lifts_everything_when_the_loop_gives_no_sign_of_life() {
    let ends = fault("stop-loop", |_, _, of_loop| signal(of_loop, Signal::STOP));
    ends.has(1, "no sign of life within the deadline");
}

#[test]
fn the_loop_lifts_everything_when_the_guard_is_killed() {
    fault("kill-guard", |_, guard, _| signal(guard, Signal::KILL));
}

#[test]
fn the_loop_lifts_everything_when_the_guard_gives_no_sign_of_life() {
    let ends = fault("stop-guard", |_, guard, _| signal(guard, Signal::STOP));
    ends.has(1, "the guard gave no sign of life within the deadline; everything was lifted");
}

#[test]
fn the_law_lifts_everything_when_its_signals_end() {
    let mut place = Place::new("signals-end");
    place.lifts_by_law = true;
    fault_at(&place, "signals-end", end_signals).has(0, "");
}

fn end_signals(place: &Place, _: i32, _: i32) {
    fs::write(place.file("signals"), "").expect("written");
}

#[test]
fn an_interrupt_lifts_everything() {
    fault("interrupt", |_, guard, _| signal(guard, Signal::TERM)).has(0, "");
}

/// Both at once are beyond the agent: the service manager runs `undo` then, or the next start does.
#[test]
fn what_two_dead_processes_left_is_undone_by_undo_and_by_the_next_start() {
    let place = Place::new("kill-both").patient();
    for _ in 0..2 {
        let (mut agent, guard, of_loop) = place.start();
        assert!(place.undo().1.contains(&format!("an agent runs already, as process {guard}")));
        signal(of_loop, Signal::STOP);
        signal(guard, Signal::KILL);
        signal(of_loop, Signal::KILL);
        agent.wait().expect("it has ended");
        std::thread::sleep(MS * 20);
        assert!(place.frozen(), "nobody is left to lift it");
    }
    let (code, said) = place.undo();
    assert!(code == Some(0) && said.starts_with("lifted what a dead agent left: "), "{said}");
    assert!(!place.frozen());
    assert_eq!(place.undo(), (Some(0), "there was nothing to undo\n".into()));
}

#[test]
fn the_loop_has_no_right_and_what_others_do_ends_the_law() {
    let place = Place::new("rights").patient();
    let manager = UnixDatagram::bind(place.file("notify")).expect("a socket");
    manager.set_read_timeout(Some(MS * 10_000)).expect("set");
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
    std::thread::sleep(MS * 600);
    assert!(!place.frozen(), "what somebody else thawed stays so, though the host is congested");
    signal(guard, Signal::TERM);
    let out = agent.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("somebody else changed what was throttled"), "{said}");
}

/// A victim that goes is left alone; one that comes back under its name is throttled again, by a start of its own. The metric counts both.
#[test]
fn a_victim_that_is_back_is_throttled_again() {
    let mut place = Place::new("back").patient();
    let (agent, guard, before) = place.start();
    place.take_away();
    std::thread::sleep(MS * 1000); // four looks of the guard
    place.put_back();
    assert!(place.until(true).is_some(), "it is frozen again");
    let text = fs::read_to_string(place.file("state/pid")).expect("it says who runs");
    assert!(text.starts_with(&format!("{guard} ")) && !text.contains(&format!(" {before}\n")));
    signal(guard, Signal::TERM);
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
    fault_at(&place, "memory, interrupt", |_, guard, _| signal(guard, Signal::TERM)).has(0, "");
    fault_at(&place, "memory, kill-loop", |_, _, of_loop| signal(of_loop, Signal::KILL));
    fault_at(&place, "memory, stop-loop", |_, _, of_loop| signal(of_loop, Signal::STOP));
    fault_at(&place, "memory, kill-guard", |_, guard, _| signal(guard, Signal::KILL));
    fault_at(&place, "memory, stop-guard", |_, guard, _| signal(guard, Signal::STOP));
    place.lifts_by_law = true;
    fault_at(&place, "memory, signals-end", end_signals).has(0, "");
}

/// What two dead processes left of memory bandwidth goes by `undo`, and by the next start.
#[test]
fn memory_bandwidth_of_two_dead_processes_is_undone() {
    let Some(place) = Place::of_memory("memory-both") else { return };
    for _ in 0..2 {
        let (mut agent, guard, of_loop) = place.start();
        signal(of_loop, Signal::STOP);
        signal(guard, Signal::KILL);
        signal(of_loop, Signal::KILL);
        agent.wait().expect("it has ended");
        std::thread::sleep(MS * 20);
        assert!(place.is_throttled(), "nobody is left to lift it");
    }
    let (code, said) = place.undo();
    let wanted = "lifted what a dead agent left: /sys/fs/resctrl/forebay-0\n";
    assert_eq!((code, said.as_str()), (Some(0), wanted));
    assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
}

/// Other values in the group, and a group that somebody removes, end the law; nobody unmounts what the agent uses.
#[test]
fn what_others_do_to_memory_bandwidth_ends_the_law() {
    let Some(place) = Place::of_memory("memory-others") else { return };
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
        std::thread::sleep(MS * 600); // two looks of the loop
        let found = place.memory.as_ref().map(|fake| fake.percent(11));
        assert_eq!(found, Some(percent), "though the host is congested");
        signal(guard, Signal::TERM);
        let out = agent.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{said}");
        assert!(said.contains("somebody else changed what was throttled"), "{said}");
        assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
    }
}

/// A lazy unmount leaves the group in force for who has it open: the agent lifts it, closes everything, and throttles by the next resctrl.
#[test]
fn resctrl_that_goes_is_closed_and_throttles_again_when_it_is_back() {
    let Some(mut place) = Place::of_memory("memory-back") else { return };
    let mount = place.root.join("sys/fs/resctrl");
    let (agent, guard, before) = place.start();
    assert!(unmount(&mount, UnmountFlags::DETACH) && place.until(false).is_some(), "it is lifted");
    place.memory = None; // before the next one, as it unmounts what is there
    place.memory = Fake::mount(&mount);
    assert!(place.until(true).is_some(), "the other one throttles");
    let text = fs::read_to_string(place.file("state/pid")).expect("it says who runs");
    assert!(text.starts_with(&format!("{guard} ")) && !text.contains(&format!(" {before}\n")));
    signal(guard, Signal::TERM);
    let out = agent.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    let (gone, back) = ("/sys/fs/resctrl: gone; ", "/sys/fs/resctrl: back; ");
    assert!(said.contains(gone) && said.contains(back), "{said}");
    assert!(place.memory.as_ref().is_some_and(Fake::is_as_before));
}
