//! Logs of laws, written while a simulation runs: `law-7-seed-1.log` of flow 7, one file for each law that is logged.
//!
//! Invariant: a file holds whole lines, whatever went wrong, and memory holds no more than a piece of each.

use crate::error::RecordError;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where the law of one flow or host writes its log.
pub trait LawLog: Send + Sync + fmt::Debug {
    /// Takes the head, or a line.
    fn write(&self, line: &[u8]);
}

/// Opens the logs of one simulation.
pub trait LawLogs: Sync {
    /// The log of a law that starts. `whose` is the number of a flow, `pool-` and that of a connection, or `host-` or `grant-` and the name of a host.
    fn open(&self, whose: &str) -> Arc<dyn LawLog>;
}

/// The logs of one simulation in memory, where there is no file system.
#[derive(Debug, Default)]
pub struct LawLogsInMemory(Mutex<BTreeMap<String, Arc<InMemory>>>);

#[derive(Debug, Default)]
struct InMemory(Mutex<Vec<u8>>);

impl LawLogsInMemory {
    /// Logs of the laws that have started, by whose they are.
    pub fn finish(self) -> BTreeMap<String, Vec<u8>> {
        let logs = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let bytes = |log: &InMemory| {
            std::mem::take(&mut *log.0.lock().unwrap_or_else(PoisonError::into_inner))
        };
        let all = logs.into_iter().map(|(whose, log)| (whose, bytes(&log)));
        all.filter(|(_, log)| !log.is_empty()).collect()
    }
}

impl LawLogs for LawLogsInMemory {
    fn open(&self, whose: &str) -> Arc<dyn LawLog> {
        let log = Arc::new(InMemory::default());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(whose.into(), Arc::clone(&log));
        log
    }
}

impl LawLog for InMemory {
    fn write(&self, line: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(line);
    }
}

/// Lines are handed to the system in pieces of about this size.
const PIECE: usize = 4096;

/// The logs of one simulation as files.
#[derive(Debug)]
pub struct LawLogFiles {
    run: PathBuf,
    seed: u64,
    files: Mutex<BTreeMap<String, Arc<OpenLog>>>,
}

#[derive(Debug)]
struct OpenLog {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>, // made with the first piece
    pending: Vec<u8>,
    good: u64, // bytes that are written
    failure: Option<RecordError>,
}

impl LawLogFiles {
    /// Logs of the simulation with this seed, in the run directory `run`.
    pub fn new(run: &Path, seed: u64) -> Self {
        Self { run: run.into(), seed, files: Mutex::default() }
    }

    /// Writes what is pending, so that a process that is killed loses no line written before. A failure is that of
    /// [`LawLogFiles::finish`].
    pub fn flush(&self) {
        for file in self.files.lock().unwrap_or_else(PoisonError::into_inner).values() {
            file.flush(&mut file.lock());
        }
    }

    /// Writes what is pending. Gives whose laws have a log.
    ///
    /// # Errors
    /// The first thing that went wrong, here or earlier. Lines that had been written by then are kept.
    pub fn finish(self) -> Result<Vec<String>, RecordError> {
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut written = Vec::new();
        for (whose, file) in files {
            let mut state = file.lock();
            file.flush(&mut state);
            match state.failure.take() {
                Some(failure) => return Err(failure),
                None if state.good > 0 => written.push(whose),
                None => {} // a flow that never began
            }
        }
        Ok(written)
    }
}

impl LawLogs for LawLogFiles {
    fn open(&self, whose: &str) -> Arc<dyn LawLog> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let plain = plain(whose);
        // Some file systems take capital and small letters for the same.
        let alike = files.keys().filter(|other| self::plain(other).eq_ignore_ascii_case(&plain));
        let nth = match alike.count() {
            0 => String::new(),
            n => format!("-{}", n + 1),
        };
        let path = self.run.join(format!("law-{plain}{nth}-seed-{}.log", self.seed));
        let open = Arc::new(OpenLog { path, state: Mutex::default() });
        files.insert(whose.into(), Arc::clone(&open));
        open
    }
}

impl OpenLog {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush(&self, state: &mut State) {
        if state.failure.is_some() || state.pending.is_empty() {
            return;
        }
        if let Err(source) = state.append(&self.path) {
            // Shrinking needs no space; if even that fails the error that led here is the one to report.
            let _ = state.file.as_ref().map(|file| file.set_len(state.good));
            let left = match state.good {
                0 => String::new(),
                bytes => format!("its first {bytes} bytes are kept"),
            };
            let path = self.path.clone();
            state.failure = Some(RecordError::Io { action: "write", path, source, left });
        }
    }
}

impl State {
    fn append(&mut self, path: &Path) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(path)?),
        };
        file.write_all(&self.pending)?;
        self.good += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

impl LawLog for OpenLog {
    fn write(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.failure.is_some() {
            return;
        }
        state.pending.extend_from_slice(line);
        if state.pending.len() >= PIECE {
            self.flush(&mut state);
        }
    }
}

/// `host-leaf[0].host[1]` as part of the name of a file: `host-leaf0.host1`.
fn plain(whose: &str) -> String {
    let known = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    whose.chars().filter(known).collect()
}

/// Whether a file of this name in a run directory is a log.
pub(crate) fn is_name(name: &str) -> bool {
    let of = name.strip_prefix("law-").and_then(|rest| rest.strip_suffix(".log"));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whose = |whose: &str| match whose.split_once('-') {
        None => number(whose),
        Some(("pool", rest)) => number(rest),
        Some((role, host)) => ["host", "grant"].contains(&role) && !host.is_empty(),
    };
    of.and_then(|rest| rest.rsplit_once("-seed-"))
        .is_some_and(|(of, seed)| number(seed) && whose(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("forebay-law-logs-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        path
    }

    #[test]
    fn lines_reach_the_disk_while_the_simulation_runs() {
        let run = folder("stream");
        let logs = LawLogFiles::new(&run, 3);
        let flow = logs.open("7");
        let (line, path) = ([1u8; 100], run.join("law-7-seed-3.log"));
        (0..1000).for_each(|_| flow.write(&line));
        let early = fs::metadata(&path).expect("written already").len();
        assert!(early > 100_000 - PIECE as u64 && early % 100 == 0, "{early}: whole lines");
        assert!(logs.files.lock().unwrap()["7"].lock().pending.len() < PIECE);
        logs.flush();
        assert_eq!(fs::metadata(&path).expect("flushed").len(), 100_000);
        assert_eq!(logs.finish().expect("written"), ["7"]);
        assert_eq!(fs::metadata(&path).expect("whole").len(), 100_000);
        fs::remove_dir_all(&run).expect("removed");
    }

    #[test]
    fn every_law_has_a_file_of_its_own_and_each_is_known_for_a_log() {
        let run = folder("names");
        let logs = LawLogFiles::new(&run, 1);
        for whose in ["0", "host-leaf[0].host[1]", "host-leaf0.host1", "host-Leaf0.host1"] {
            logs.open(whose).write(whose.as_bytes());
        }
        logs.finish().expect("written");
        let names = |run: &Path| {
            let entries = fs::read_dir(run).expect("a folder").flatten();
            let mut names: Vec<_> =
                entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        let second = "law-host-leaf0.host1-2-seed-1.log";
        let third = "law-host-Leaf0.host1-3-seed-1.log";
        assert_eq!(
            names(&run),
            ["law-0-seed-1.log", third, second, "law-host-leaf0.host1-seed-1.log"]
        );
        assert_eq!(fs::read(run.join(second)).expect("there"), b"host-leaf0.host1");
        assert!(
            names(&run).iter().all(|name| is_name(name)),
            "a run that replaces this one finds them"
        );
        fs::remove_dir_all(&run).expect("removed");
    }

    #[test]
    fn a_log_that_cannot_be_written_fails_the_run_and_nothing_else() {
        let run = folder("fails");
        fs::create_dir(run.join("law-0-seed-1.log")).expect("in the way");
        let logs = LawLogFiles::new(&run, 1);
        let flow = logs.open("0");
        (0..1000).for_each(|_| flow.write(&[0; 100]));
        assert!(logs.files.lock().unwrap()["0"].lock().pending.len() <= PIECE + 100);
        let error = logs.finish().expect_err("a folder is in the way");
        assert!(error.to_string().contains("law-0-seed-1.log"), "{error}");
        fs::remove_dir_all(&run).expect("removed");
    }
}
