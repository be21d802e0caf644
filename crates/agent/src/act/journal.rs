//! What the guard is about to change, on disk before it does, and how all of it is undone.
//!
//! A line for each change, with a checksum: a line that is not whole was never acted upon, since the change comes after the line.
//!
//! Invariant: undoing touches nothing but what whole lines name, and of that nothing that another process has changed or made again since. Done
//! twice, it does nothing the second time.

use super::unmark;
use crate::config;
use forebay_linux::Root;
use forebay_linux::resctrl::MOUNT;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;

/// Where the journal is and who runs: gone with the machine, as is what it speaks of.
pub const STATE: &str = "/run/forebay";

/// Name of the file in the state folder.
pub const FILE: &str = "journal";

/// A tree of files that can be changed: the machine's, or one made up.
pub trait Tree {
    /// Text of a file.
    fn read(&mut self, path: &str) -> io::Result<String>;
    /// Writes a line into a file that is there.
    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;
    /// Makes a folder.
    fn make(&mut self, folder: &str) -> io::Result<()>;
    /// Removes a folder that the kernel made full.
    fn remove(&mut self, folder: &str) -> io::Result<()>;
    /// Folders in a folder.
    fn folders(&mut self, folder: &str) -> Vec<String>;
    /// What the kernel knows a folder by: another one of the same name has another number.
    fn id(&mut self, folder: &str) -> Option<u64>;
    /// Ends marks on packets of an interface that programs of these names make, attached like this. Whether there were any.
    fn unmark(&mut self, nic: &str, how: &str, names: &[String]) -> io::Result<bool>;
}

impl Tree for Root {
    fn read(&mut self, path: &str) -> io::Result<String> {
        Self::read(self, path)
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        Self::write(self, path, text)
    }

    fn make(&mut self, folder: &str) -> io::Result<()> {
        Self::make(self, folder)
    }

    fn remove(&mut self, folder: &str) -> io::Result<()> {
        Self::remove(self, folder)
    }

    fn folders(&mut self, folder: &str) -> Vec<String> {
        let names = self.names(folder).into_iter();
        names.filter(|name| self.path(&format!("{folder}/{name}")).is_dir()).collect()
    }

    fn id(&mut self, folder: &str) -> Option<u64> {
        std::fs::metadata(self.path(folder)).ok().map(|of| of.ino())
    }

    fn unmark(&mut self, nic: &str, how: &str, names: &[String]) -> io::Result<bool> {
        if self.is_machine() { unmark::undo(nic, how, names) } else { Ok(false) }
    }
}

/// What a file under a throttle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// `cgroup.freeze` of a victim.
    Freeze,
    /// `cpu.max` of a victim.
    Cpu,
    /// `schemata` of the resctrl group with a victim's tasks.
    Memory,
    /// No file: a program that marks packets.
    Mark,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What kind of file.
    pub kind: Kind,
    /// The file; for memory bandwidth the resctrl group's folder; for marks the interface.
    pub path: String,
    /// What it held before; for marks how they are made.
    pub before: String,
    /// What the agent may write there; for marks names of programs.
    pub ours: Vec<String>,
    /// What the kernel knew the victim's cgroup by, where the change is of one.
    pub id: Option<u64>,
}

const WORDS: [(Kind, &str); 4] =
    [(Kind::Mark, "mark"), (Kind::Freeze, "freeze"), (Kind::Cpu, "cpu"), (Kind::Memory, "memory")];

impl Change {
    /// Line of the journal. Neither paths nor values have control characters.
    fn line(&self) -> String {
        let kind = WORDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, word)| word);
        let id = self.id.map(|id| format!("\t{id}")).unwrap_or_default();
        let text = format!("{kind}\t{}\t{}\t{}{id}", self.path, self.before, self.ours.join("|"));
        format!("{text}\t{:08x}\n", checksum(&text))
    }

    fn of(line: &str) -> Option<Self> {
        let (text, sum) = line.rsplit_once('\t')?;
        let sum = (sum.len() == 8).then(|| u32::from_str_radix(sum, 16).ok()).flatten()?;
        let mut words = text.split('\t');
        let kind = words.next()?;
        let kind = WORDS.iter().find(|(_, word)| *word == kind)?.0;
        let (path, before) = (words.next()?.to_string(), words.next()?.to_string());
        let ours = words.next()?.split('|').map(str::to_string).collect();
        let id = words.next().map(|id| id.parse().ok()); // none: a journal of an earlier version
        let whole = sum == checksum(text) && words.next().is_none() && id != Some(None);
        whole.then_some(Self { kind, path, before, ours, id: id.flatten() })
    }

    /// Whether an agent makes such changes, where the cgroup v2 tree is mounted there: a forged journal has others.
    pub fn is_an_agents(&self, mount: Option<&str>) -> bool {
        let is_cgroup = |file: &str| {
            let below = mount.and_then(|mount| self.path.strip_prefix(mount)?.strip_suffix(file));
            below.is_some_and(config::is_cgroup)
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|of| of.is_ascii_digit());
        match self.kind {
            Kind::Freeze => is_cgroup("/cgroup.freeze") && self.before == "0",
            Kind::Cpu => {
                let quota = self.before.split_once(' ').is_some_and(|(quota, period)| {
                    (quota == "max" || is_number(quota)) && is_number(period)
                });
                is_cgroup("/cpu.max") && quota
            }
            Kind::Memory => {
                let nth = self.path.strip_prefix(MOUNT).and_then(|of| of.strip_prefix("/forebay-"));
                nth.is_some_and(is_number)
            }
            Kind::Mark => self.ours.iter().all(|name| name.starts_with("forebay_")),
        }
    }
}

/// FNV-1a of 32 bits.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Adds changes to come to a file.
#[derive(Debug)]
pub struct Journal<W> {
    to: W,
    /// What it has so far.
    pub changes: Vec<Change>,
}

impl<W: Write> Journal<W> {
    /// Into this file.
    pub fn new(to: W) -> Self {
        Self { to, changes: Vec::new() }
    }

    /// Adds a change; it may be made once this has come back.
    pub fn add(&mut self, change: Change) -> io::Result<()> {
        self.changes.push(change.clone()); // a line that may be there in part is undone too
        self.to.write_all(change.line().as_bytes())?;
        self.to.flush()
    }
}

/// The whole lines of a journal, up to the first that is not.
pub fn read(text: &[u8]) -> Vec<Change> {
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(&text[..0], |end| &text[..end]);
    let whole = String::from_utf8_lossy(whole);
    whole.split('\n').map_while(Change::of).collect()
}

/// What undoing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// What was lifted, a clause for each.
    pub lifted: Vec<String>,
    /// What could not be.
    pub failed: Vec<String>,
}

/// Undoes changes: marks end first, then victims run again, then CPU time, then memory bandwidth.
pub fn undo(tree: &mut impl Tree, changes: &[Change]) -> UndoReport {
    let mut done = UndoReport::default();
    for kind in WORDS.map(|(kind, _)| kind) {
        for change in changes.iter().filter(|change| change.kind == kind) {
            let path = &change.path;
            match undo_one(tree, change) {
                Ok(true) => done.lifted.push(path.clone()),
                Ok(false) => {}
                Err(error) if gone(&error) => {}
                Err(error) => done.failed.push(format!("{path}: {error}")),
            }
        }
    }
    done
}

/// Whether there was something to undo.
fn undo_one(tree: &mut impl Tree, change: &Change) -> io::Result<bool> {
    let path = &change.path;
    if change.kind == Kind::Memory {
        return tree.remove(path).map(|()| true);
    }
    if change.kind == Kind::Mark {
        return tree.unmark(path, &change.before, &change.ours);
    }
    // A cgroup that was made again under the name of a victim was never the agent's.
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if change.id.is_some_and(|id| tree.id(folder).is_some_and(|now| now != id)) {
        return Ok(false);
    }
    let ours = change.ours.contains(&tree.read(path)?);
    if ours {
        tree.write(path, &change.before)?;
    }
    Ok(ours)
}

/// What is not there any more needs no undoing.
fn gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(19) // ENODEV: a cgroup that was removed
}

#[cfg(test)]
pub mod tests;
