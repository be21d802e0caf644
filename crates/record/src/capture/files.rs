//! The capture files of one simulation, written while it runs: `captures/seed-1/leaf0-to-spine1.pcapng`.
//!
//! Invariant: what is in a file is whole blocks, whatever went wrong, so every file can be opened at any time. A file
//! gets its name when the simulation has ended.

use super::{CapturedPort, Frame, MessageFrame, PauseFrame, PortTotals, RoceFrame, Sink, pcapng};
use crate::csv::PARTIAL;
use crate::error::RecordError;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of captures in a run directory.
pub const FOLDER: &str = "captures";

/// Blocks are handed to the system in pieces of about this size.
const PIECE: usize = 1 << 16;

/// A capture that has been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// Path in the run directory, with `/`.
    pub file: String,
    /// Frames in it.
    pub frames: u64,
}

/// All captures of one simulation.
pub struct CaptureFiles {
    run: PathBuf,
    seed: u64,
    scenario: String,
    files: Vec<OpenCapture>,
    failure: Option<RecordError>,
}

struct OpenCapture {
    name: String, // in the run directory
    target: PathBuf,
    partial: PathBuf,
    file: File,
    snap: usize,
    pending: Vec<u8>,
    pending_frames: u64,
    frames: u64,
    good: u64, // bytes that are written
}

impl CaptureFiles {
    /// Captures of the simulation with this seed, in the run directory `run`.
    pub fn new(run: &Path, scenario: &str, seed: u64) -> Self {
        let (run, scenario) = (run.into(), scenario.into());
        Self { run, seed, scenario, files: Vec::new(), failure: None }
    }

    /// Gives every file its name.
    ///
    /// # Errors
    /// The first thing that went wrong, here or earlier. What had been written by then is kept, under its name as far
    /// as the system lets us.
    pub fn finish(mut self) -> Result<Vec<CaptureFile>, RecordError> {
        let mut written = Vec::new();
        for file in self.files.drain(..) {
            let renamed = fs::rename(&file.partial, &file.target)
                .map_err(|source| RecordError::io("write", &file.target, source));
            match renamed {
                Ok(()) => written.push(CaptureFile { file: file.name, frames: file.frames }),
                Err(error) => {
                    self.failure.get_or_insert(error);
                }
            }
        }
        self.failure.map_or(Ok(written), Err)
    }

    fn note(&mut self, result: Result<(), RecordError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }

    /// Adds a frame that `fill` appends.
    fn add(&mut self, port: usize, fill: impl FnOnce(&mut Vec<u8>, usize)) {
        if self.failure.is_some() {
            return;
        }
        let file = &mut self.files[port];
        fill(&mut file.pending, file.snap);
        file.pending_frames += 1;
        if file.pending.len() >= PIECE {
            let flushed = file.flush();
            self.note(flushed);
        }
    }

    fn open(
        &mut self,
        ports: Vec<CapturedPort>,
        hosts: &[(u32, String)],
    ) -> Result<(), RecordError> {
        let folder = self.run.join(FOLDER).join(format!("seed-{}", self.seed));
        fs::create_dir_all(&folder).map_err(|source| RecordError::io("create", &folder, source))?;
        let mut taken = BTreeSet::new();
        for port in ports {
            let stem = file_name(&port, &mut taken);
            let name = format!("{FOLDER}/seed-{}/{stem}.pcapng", self.seed);
            let target = folder.join(format!("{stem}.pcapng"));
            let partial = folder.join(format!("{stem}.pcapng{PARTIAL}"));
            let file = File::create(&partial)
                .map_err(|source| RecordError::io("create", &partial, source))?;
            let about = format!("Simulated: {}, seed {}", self.scenario, self.seed);
            let mut pending = Vec::with_capacity(PIECE + 4096);
            pcapng::begin(&mut pending, &port, &about, hosts);
            self.files.push(OpenCapture {
                name,
                target,
                partial,
                file,
                snap: port.snap.get() as usize,
                pending,
                pending_frames: 0,
                frames: 0,
                good: 0,
            });
        }
        self.files.iter_mut().try_for_each(OpenCapture::flush)
    }
}

impl Sink for CaptureFiles {
    fn begin(&mut self, ports: Vec<CapturedPort>, hosts: &[(u32, String)]) {
        let opened = self.open(ports, hosts);
        self.note(opened);
    }

    fn frame(&mut self, port: usize, frame: &Frame) {
        self.add(port, |to, snap| pcapng::segment(to, frame, snap));
    }

    fn roce(&mut self, port: usize, frame: &RoceFrame) {
        self.add(port, |to, snap| pcapng::roce(to, frame, snap));
    }

    fn message(&mut self, port: usize, frame: &MessageFrame) {
        self.add(port, |to, snap| pcapng::message(to, frame, snap));
    }

    fn pause(&mut self, port: usize, frame: &PauseFrame) {
        self.add(port, |to, snap| pcapng::pause(to, frame, snap));
    }

    fn settle(&mut self) -> bool {
        self.failure.is_none()
    }

    fn end(&mut self, port: usize, totals: PortTotals) {
        if let Some(file) = self.files.get_mut(port).filter(|_| self.failure.is_none()) {
            let frames = file.frames + file.pending_frames;
            pcapng::end(&mut file.pending, frames, totals);
            let flushed = file.flush();
            self.note(flushed);
        }
    }
}

impl OpenCapture {
    fn flush(&mut self) -> Result<(), RecordError> {
        match self.file.write_all(&self.pending) {
            Ok(()) => {
                self.good += self.pending.len() as u64;
                self.frames += self.pending_frames;
                self.pending.clear();
                self.pending_frames = 0;
                Ok(())
            }
            Err(source) => {
                // Shrinking needs no space; if even that fails the error that led here is the one to report.
                let _ = self.file.set_len(self.good);
                let left = format!("its first {} frames are kept", self.frames);
                Err(RecordError::Io { action: "write", path: self.target.clone(), source, left })
            }
        }
    }
}

/// `leaf[0]->spine[1]` as the name of a file, `leaf0-to-spine1`; unlike any in `taken`, which it joins.
fn file_name(port: &CapturedPort, taken: &mut BTreeSet<String>) -> String {
    let plain = |name: &str| {
        let known = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
        name.chars().filter(known).collect::<String>()
    };
    let stem = format!("{}-to-{}", plain(&port.node), plain(&port.peer));
    let mut name = stem.clone();
    for n in 2.. {
        // Some file systems take capital and small letters for the same.
        if taken.insert(name.to_lowercase()) {
            break;
        }
        name = format!("{stem}-{n}");
    }
    name
}

/// Removes the captures of an earlier run from its directory, and the folders that this leaves empty.
pub(crate) fn remove_old(run: &Path) -> Result<(), RecordError> {
    let folder = run.join(FOLDER);
    let list = |path: &Path| -> Vec<PathBuf> {
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    for seed in list(&folder) {
        for file in list(&seed) {
            let name = file.to_string_lossy();
            if name.ends_with(".pcapng") || name.ends_with(&format!(".pcapng{PARTIAL}")) {
                fs::remove_file(&file)
                    .map_err(|source| RecordError::io("remove", &file, source))?;
            }
        }
        let _ = fs::remove_dir(&seed);
    }
    let _ = fs::remove_dir(&folder);
    Ok(())
}
