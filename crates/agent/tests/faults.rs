//! What lifts everything when guard, loop or signals fail, and in which time.
//!
//! On a machine where root may make cgroups, a process is frozen for real; elsewhere the files are plain ones in a folder. Each fault
//! is tried twice; `FOREBAY_FAULTS=20 cargo test -p forebay-agent --test faults -- --nocapture` tries each 20 times, prints the times and
//! takes none above 100 ms. `FOREBAY_DEADLINE=1s` has another deadline than 50 ms, and promises as much more.

use forebay_linux::cgroup::Cgroups;
use forebay_linux::{Clock, Root};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// The heartbeat's deadline; another one for machines so slow that a loop misses this.
fn deadline() -> Duration {
    let asked = std::env::var("FOREBAY_DEADLINE").ok();
    asked.map_or(MS * 50, |text| {
        let span: forebay_units::Span = text.parse().expect("a time, such as 1s");
        Duration::from_micros(span.as_us())
    })
}

/// The time that is promised for one fault.
fn promise() -> Duration {
    deadline() + MS * 50
}

/// A victim to be frozen, and where the agent keeps its state.
struct Place {
    folder: PathBuf,
    root: PathBuf,
    cgroup: String,
    victim: Option<Child>,
    folder_of_cgroup: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let cgroup = format!("/forebay-{name}-{}", std::process::id());
        let mount = Cgroups::find(&Root::machine()).map(|of| of.mount);
        if let Some(at) = mount.map(|mount| PathBuf::from(mount + &cgroup))
            && fs::create_dir(&at).is_ok()
        {
            let victim = Command::new("sleep").arg("600").spawn().expect("it runs");
            fs::write(at.join("cgroup.procs"), victim.id().to_string()).expect("moved");
            let victim = Some(victim);
            return Self { folder, root: "/".into(), cgroup, victim, folder_of_cgroup: at };
        }
        let root = folder.join("root");
        let at = root.join("sys/fs/cgroup").join(&cgroup[1..]);
        fs::create_dir_all(&at).expect("a folder");
        fs::create_dir_all(root.join("proc/self")).expect("a folder");
        fs::write(root.join("proc/mounts"), "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
            .expect("written");
        fs::write(at.join("cgroup.freeze"), "0\n").expect("written");
        Self { folder, root, cgroup, victim: None, folder_of_cgroup: at }
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

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
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

    /// How long until the victim is frozen, or runs.
    fn until(&self, frozen: bool) -> Option<Duration> {
        let clock = Clock::start();
        while self.frozen() != frozen {
            if clock.now() > MS * 5000 {
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

    /// An agent that enforces, with the victim frozen: itself and the numbers of guard and loop.
    fn start(&self) -> (Child, i32, i32) {
        let config = format!(
            "mode = \"enforce\"\ndeadline = \"{}us\"\n[[victim]]\ncgroup = \"{}\"\nladder = [\"freeze\"]\n",
            deadline().as_micros(),
            self.cgroup
        );
        fs::write(self.file("agent.toml"), config).expect("written");
        fs::write(self.file("signals"), "93 43Gbps\n").expect("written");
        let (config, signals) = (self.file("agent.toml"), self.file("signals"));
        let args = ["run", &config.to_string_lossy(), "--signals", &signals.to_string_lossy()];
        let mut command = self.agent(&args);
        command.env("NOTIFY_SOCKET", self.file("notify"));
        let agent = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
        let pids = || {
            let text = fs::read_to_string(self.file("state/pid")).ok()?;
            let (guard, of_loop) = text.trim_end().split_once(' ')?;
            Some((guard.parse::<i32>().ok()?, of_loop.parse().ok()?))
        };
        let own = agent.id() as i32;
        let (guard, of_loop) = (0..5000)
            .find_map(|_| {
                std::thread::sleep(MS);
                pids().filter(|(guard, _)| *guard == own)
            })
            .expect("the agent says who runs");
        assert!(self.until(true).is_some(), "the law freezes the victim");
        (agent, guard, of_loop)
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

fn signal(pid: i32, of: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), of).expect("it is ours");
}

/// Tries, and whether none may be above the promise.
fn tries() -> (u32, bool) {
    let asked = std::env::var("FOREBAY_FAULTS").ok().and_then(|text| text.parse().ok());
    (asked.unwrap_or(2), asked.is_some())
}

/// Tries a fault; gives the exit code of the last agent and what it said.
fn fault(name: &str, inflict: impl Fn(&Place, i32, i32)) -> (Option<i32>, String) {
    let place = Place::new(name);
    let (count, strict) = tries();
    let mut times = Vec::new();
    let mut last = (None, String::new());
    for _ in 0..count {
        let (agent, guard, of_loop) = place.start();
        inflict(&place, guard, of_loop);
        let took = place.until(false).unwrap_or_else(|| panic!("{name}: still frozen after 5 s"));
        times.push(took);
        std::thread::sleep(MS * 20); // a loop that has lifted is about to end
        signal_if_there(guard, Signal::CONT);
        signal_if_there(guard, Signal::TERM);
        let out = agent.wait_with_output().expect("it ends");
        last = (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned());
        place.undo(); // a loop whose guard was killed leaves the journal
    }
    times.sort();
    let ms = |at: usize| times[at].as_secs_f64() * 1e3;
    let kind = if place.victim.is_some() { "a frozen process" } else { "plain files" };
    println!(
        "{name}: median {:.1} ms, worst {:.1} ms of {count}, {kind}",
        ms(times.len() / 2),
        ms(times.len() - 1)
    );
    let held = if strict { times.last() } else { times.first() };
    assert!(held.is_some_and(|time| *time <= promise()), "{name}: {times:?}");
    last
}

fn signal_if_there(pid: i32, of: Signal) {
    let _ = kill_process(Pid::from_raw(pid).expect("a process"), of);
}

#[test]
fn the_guard_lifts_everything_when_the_loop_is_killed() {
    let (code, said) = fault("kill-loop", |_, _, of_loop| signal(of_loop, Signal::KILL));
    assert!(
        code == Some(1) && said.contains("the loop has ended by itself: everything was lifted"),
        "{said}"
    );
}

#[test]
fn the_guard_lifts_everything_when_the_loop_gives_no_sign_of_life() {
    let (code, said) = fault("stop-loop", |_, _, of_loop| signal(of_loop, Signal::STOP));
    assert!(code == Some(1) && said.contains("no sign of life within the deadline"), "{said}");
}

#[test]
fn the_loop_lifts_everything_when_the_guard_is_killed() {
    fault("kill-guard", |_, guard, _| signal(guard, Signal::KILL));
}

#[test]
fn the_loop_lifts_everything_when_the_guard_gives_no_sign_of_life() {
    let (code, said) = fault("stop-guard", |_, guard, _| signal(guard, Signal::STOP));
    let wanted = "the guard gave no sign of life within the deadline; everything was lifted";
    assert!(code == Some(1) && said.contains(wanted), "{said}");
}

#[test]
fn the_law_lifts_everything_when_its_signals_end() {
    let (code, said) =
        fault("signals-end", |place, _, _| fs::write(place.file("signals"), "").expect("written"));
    assert!(code == Some(0), "{said}");
}

#[test]
fn an_interrupt_lifts_everything() {
    let (code, said) = fault("interrupt", |_, guard, _| signal(guard, Signal::TERM));
    assert!(code == Some(0) && said.is_empty(), "{said}");
}

/// Both at once are beyond the agent: the service manager runs `undo` then, or the next start does.
#[test]
fn what_two_dead_processes_left_is_undone_by_undo_and_by_the_next_start() {
    let place = Place::new("kill-both");
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
    let place = Place::new("rights");
    let manager = UnixDatagram::bind(place.file("notify")).expect("a socket");
    manager.set_read_timeout(Some(MS * 5000)).expect("set");
    let (agent, guard, of_loop) = place.start();
    for wanted in ["READY=1", "WATCHDOG=1"] {
        let mut bytes = [0; 64];
        let len = manager.recv(&mut bytes).expect("the service manager is told");
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
    assert_eq!(agent.wait_with_output().expect("it ends").status.code(), Some(0));
}

/// A victim that goes is left alone; one that comes back under its name is throttled again, by a start of its own. The metric counts both.
#[test]
fn a_victim_that_is_back_is_throttled_again() {
    let mut place = Place::new("back");
    let (agent, guard, before) = place.start();
    place.take_away();
    std::thread::sleep(MS * 600); // two looks of the guard
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
