//! What happened to what an agent changed: a file of lines in the state folder, for who asks afterwards, by the agent's own clock.
//!
//! `BOOT_NS WHO WHAT KEY=VALUE...`, with nanoseconds of CLOCK_BOOTTIME. Guard and loop append to the same file; a start begins it anew. A line comes after
//! what it tells of, so that nothing waits for the disk.

use super::detector::Detector;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Name of the file.
pub const FILE: &str = "events";

/// Lines of one start at most: a cable may come and go for days.
const MOST: u32 = 1000;

/// See the top of this file.
#[derive(Debug)]
pub struct Events {
    file: File,
    lines: AtomicU32,
}

impl Events {
    /// An empty file in a folder.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options().append(true).create_new(true).mode(0o644).open(path)?;
        Ok(Self::of(file))
    }

    /// Over an open file, which is written at its end.
    pub fn of(file: File) -> Self {
        Self { file, lines: AtomicU32::new(0) }
    }

    /// Adds a line. Nothing depends on it, so a disk that refuses does no harm.
    pub fn add(&self, at: u64, what: &str) {
        if self.lines.fetch_add(1, Ordering::Relaxed) < MOST {
            let _ = (&self.file).write_all(format!("{at} {what}\n").as_bytes());
        }
    }

    /// All was lifted at `at`: who did it and why, the last sign of life of the other process, and own late wake-ups since then.
    pub fn lifted(&self, at: u64, who: &str, cause: &str, of: &Detector) {
        let mut late = String::new();
        for (due, awake) in of.late() {
            let _ = write!(late, " late={due}-{awake}");
        }
        self.add(at, &format!("{who} lifted cause={cause} beat={}{late}", of.last()));
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_begins_anew_both_processes_append_and_the_file_stays_short() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/events-test");
        fs::create_dir_all(&folder).expect("a folder");
        for _ in 0..2 {
            let guard = Events::begin(&folder).expect("made");
            let other = guard.as_fd().try_clone_to_owned().expect("a descriptor");
            let mut life = Detector::new(0, 50, 10);
            life.hear(7, 9);
            life.woke(20, 40);
            guard.add(3, "guard started loop=11");
            Events::of(File::from(other)).lifted(41, "loop", "guard_gone", &life);
            let text = fs::read_to_string(folder.join(FILE)).expect("it is there");
            let wanted =
                "3 guard started loop=11\n41 loop lifted cause=guard_gone beat=7 late=20-40\n";
            assert_eq!(text, wanted);
            (0..2 * MOST).for_each(|at| guard.add(at.into(), "guard gone"));
        }
        let text = fs::read_to_string(folder.join(FILE)).expect("it is there");
        assert_eq!(text.lines().count() as u32, MOST + 1);
        fs::remove_dir_all(folder).expect("removed");
    }
}
