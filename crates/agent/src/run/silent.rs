//! An agent that hangs: both processes stopped, or frozen with their own victim. Neither can end the other; `undo` does.
//!
//! Signs of life are in memory that guard and loop share, and any process that may open the guard's descriptors can read it.
//!
//! Invariant: a process is killed only if it holds the lock of the state folder, or a board of the one that does.

use forebay_linux::board::Board;
use forebay_linux::{boot_ns, process};
use std::fs::{self, File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

/// Time between two looks. Looks are counted, so that a machine that stands still proves nothing.
const LOOK: Duration = Duration::from_millis(10);

/// Fewest looks without a sign of life.
const LOOKS: u64 = 50;

/// Time for a killed process to end.
const END: Duration = Duration::from_secs(10);

/// An agent's process with its boards.
struct Process {
    id: u32,
    watched: OwnedFd,
    boards: Vec<(Metadata, Board)>,
}

impl Process {
    /// `None`: there is none, or it may not be looked at.
    fn find(id: u32) -> Option<(Self, Vec<Metadata>)> {
        // Watched before anything else: a number that is another process's afterwards is not what is killed.
        let watched = process::watch(id).ok()?;
        let (mut boards, mut files) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(format!("/proc/{id}/fd")).ok()?.flatten() {
            let path = entry.path();
            let Ok(of) = fs::metadata(&path) else { continue };
            let is_board = fs::read_link(&path)
                .is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:forebay"));
            if is_board && let Ok(file) = File::options().read(true).write(true).open(&path) {
                boards.extend(Board::of(file.into()).ok().map(|board| (of.clone(), board)));
            }
            files.push(of);
        }
        Some((Self { id, watched, boards }, files))
    }

    fn end(&self) -> Result<(), String> {
        process::kill(&self.watched).map_err(|error| {
            format!("; it hangs, and process {} cannot be killed: {error}", self.id)
        })?;
        if process::ended(&self.watched, END) {
            Ok(())
        } else {
            Err(format!("; it hangs, and process {} does not end when it is killed", self.id))
        }
    }
}

fn same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Ends guard and loop if neither gives a sign of life, and says so. The error goes on where a sentence says that an agent runs.
pub fn end(lock: &File) -> Result<String, String> {
    let mut bytes = [0; 64];
    let len = lock.read_at(&mut bytes, 0).unwrap_or(0);
    let mut ids = str::from_utf8(&bytes[..len]).unwrap_or_default().split_whitespace();
    let mut next = || ids.next()?.parse::<u32>().ok();
    let (Some(guard), of_loop) = (next(), next()) else { return Err(String::new()) };
    let own = lock.metadata().map_err(|_| String::new())?;
    let unseen = || {
        format!(
            "; whether it hangs cannot be seen from here: if it does, kill -9 {guard}{} and run undo again",
            of_loop.map(|id| format!(" {id}")).unwrap_or_default()
        )
    };
    let (guard, files) = Process::find(guard).ok_or_else(unseen)?;
    if guard.boards.is_empty() || !files.iter().any(|of| same(of, &own)) {
        return Err(unseen());
    }
    let shares = |of: &Process| {
        of.boards.iter().any(|(of, _)| guard.boards.iter().any(|(own, _)| same(of, own)))
    };
    let of_loop = of_loop.and_then(Process::find).map(|(of, _)| of).filter(shares);
    let beats = || guard.boards.iter().map(|(_, board)| board.last_beat()).collect::<Vec<_>>();
    let deadlines = guard.boards.iter().map(|(_, board)| board.number(super::watched::DEADLINE));
    // The loop's board has its own number there, which is no time: the greatest deadline that can be configured bounds both.
    let deadline = deadlines.max().unwrap_or(0).min(10_000_000_000);
    let first = beats();
    let looks = (2 * deadline / LOOK.as_nanos() as u64).max(LOOKS);
    for _ in 0..looks {
        std::thread::sleep(LOOK);
        if beats() != first {
            return Err(String::new()); // it lives
        }
    }
    let last = first.iter().copied().max().unwrap_or(0);
    let seconds = boot_ns().saturating_sub(last) as f64 * 1e-9;
    if let Some(of) = &of_loop {
        of.end()?;
    }
    guard.end()?;
    let both = of_loop.map_or(String::new(), |of| format!(" and {}", of.id));
    Ok(format!(
        "ended an agent that gave no sign of life for {seconds:.1} s: process {}{both}",
        guard.id
    ))
}
