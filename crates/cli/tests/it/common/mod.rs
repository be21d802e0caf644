//! What all tests of the command share: a scratch directory, and the command run in it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Path of the binary under test.
pub const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");

/// A directory of its own, removed at the end.
pub struct Scratch {
    pub path: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    pub fn new() -> Self {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("forebay-cli-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// The command, to be run here.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FOREBAY);
        command.current_dir(&self.path).args(args).stdin(Stdio::null());
        for name in ["NO_COLOR", "TERM", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Starts it, its outputs in pipes.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What a command left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Asserts the exit code, and that nothing looks like a crash.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(
            !self.err.contains("panicked") && !self.err.contains("RUST_BACKTRACE"),
            "{self:#?}"
        );
        self
    }
}

/// Sends a signal by name.
pub fn signal(pid: u32, name: &str) {
    assert!(try_signal(pid, name), "{pid} has ended");
}

/// Sends a signal by name; whether the process was there.
pub fn try_signal(pid: u32, name: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{name}"), &pid.to_string()]).stderr(Stdio::null());
    kill.status().unwrap().success()
}

/// Waits until something holds. It takes as long as a busy machine needs; the limit of five minutes ends a test that hangs.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: not within five minutes");
}

/// Tries again until something came in time, where two processes race. A busy machine makes one late, but not always.
#[track_caller]
pub fn try_until<T>(what: &str, mut tried: impl FnMut() -> Option<T>) -> T {
    (0..50).find_map(|_| tried()).unwrap_or_else(|| panic!("{what}: not in 50 tries"))
}

/// Waits until seeds of a run into `out` have sent frames of host 0, which the run captures: their simulations are at work.
#[track_caller]
pub fn wait_for_frames(here: &Scratch, seeds: &[u32]) {
    let frames = |seed: &u32| {
        let folder = here.path.join(format!("out.partial/captures/seed-{seed}"));
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).any(|file| file.len() > 200_000)
    };
    wait_until("frames are on disk", || seeds.iter().all(frames));
}

/// Whether a test looks at this one of many: a third of them, which the commit chooses, and all in `./test --all`.
pub fn in_sample(index: usize) -> bool {
    let seed = std::env::var("FOREBAY_SAMPLE").ok().and_then(|seed| seed.parse::<usize>().ok());
    let whole = std::env::var_os("FOREBAY_WHOLE").is_some();
    whole || seed.is_none_or(|seed| index % 3 == seed % 3)
}

/// All files below a directory with their contents, by relative path, volatile ones left out.
pub fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.file_name().unwrap() != "volatile.json" {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                all.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

/// Compares two directories, naming the first file that differs.
#[track_caller]
pub fn same_files(a: &Path, b: &Path) {
    let (one, two) = (files(a), files(b));
    let names = |all: &[(String, Vec<u8>)]| all.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&one), names(&two));
    for ((name, x), (_, y)) in one.iter().zip(&two) {
        assert!(x == y, "{name} differs");
    }
}

/// A star of eight hosts, each sending to one other; milliseconds of work.
pub const SMALL: &str = r#"
version = 1
name = "small"
seeds = [1, 2, 3]
stop = { time = "2ms", flows = "all" }

[fabric]
kind = "star"
hosts = 8
host_link = { rate = "10Gbps", delay = "1us" }

[transport]
kind = "tcp"
law = "dctcp"
rto_min = "1ms"

[[traffic]]
kind = "permutation"
size = "200KB"

[output]
queues = { every = "50us" }
"#;

/// A star of eight hosts that sends for longer than any test waits. Eight short flows are done within its first millisecond.
pub const LONG: &str = r#"
version = 1
name = "long"
seeds = [1, 2, 3]
stop = { time = "200s" }

[fabric]
kind = "star"
hosts = 8
host_link = { rate = "10Gbps", delay = "1us" }

[transport]
kind = "tcp"
law = "dctcp"
rto_min = "1ms"

[[traffic]]
kind = "permutation"
size = "10KB"

[[traffic]]
kind = "poisson"
sizes = "10MB"
load = 0.3
until = "100s"
"#;
