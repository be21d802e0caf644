//! Victims and interfaces that an agent has for itself, whatever its state folder: a lock on each folder of theirs in the kernel's file systems.
//!
//! The lock on a victim's cgroup is exclusive, that on each cgroup above it is shared. So another agent gets neither the victim, nor a
//! cgroup within it, nor one that holds it. The kernel unlocks all of them when the process ends, however it ends.
//!
//! Source: flock(2). `/proc/locks` says who has a lock.

use super::journal::STATE;
use crate::config::{Config, Echo};
use crate::failure::Failure;
use forebay_linux::Root;
use forebay_linux::cgroup::Cgroups;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Locks, as long as they are held.
#[derive(Debug)]
pub struct Claims(#[expect(dead_code, reason = "it is held")] Vec<File>);

impl Claims {
    /// Of all victims and marked interfaces of a configuration. What is not there has no lock.
    ///
    /// # Errors
    /// Another process has one of them.
    pub fn take(root: &Root, config: &Config) -> Result<Self, Failure> {
        let mut held = Vec::new();
        let mount = Cgroups::find(root).map(|of| of.mount);
        // Two locks of one process on a folder exclude each other, too.
        let mut done: BTreeSet<&Path> = BTreeSet::new();
        for alone in [true, false] {
            for (nth, victim) in config.victim.iter().enumerate() {
                let Some(mount) = &mount else { break };
                let key = format!("victim[{nth}].cgroup: {:?}", victim.cgroup);
                let mut all = Path::new(&victim.cgroup).ancestors();
                let own = all.next();
                let folders: Vec<&Path> =
                    if alone { own.into_iter().collect() } else { all.collect() };
                for path in folders.into_iter().filter(|path| done.insert(path)) {
                    let folder = format!("{mount}{}", path.display());
                    held.extend(lock(root, folder.trim_end_matches('/'), alone, &key)?);
                }
            }
        }
        for (nth, nic) in config.nic.iter().enumerate().filter(|(_, nic)| nic.echo != Echo::Off) {
            let key = format!("nic[{nth}].name: {:?}", nic.name);
            held.extend(lock(root, &format!("/sys/class/net/{}", nic.name), true, &key)?);
        }
        Ok(Self(held))
    }
}

/// Locks a folder for this process, or with others. `None`: there is no such folder, or its file system has no locks.
fn lock(root: &Root, folder: &str, alone: bool, key: &str) -> Result<Option<File>, Failure> {
    let Ok(file) = root.open(folder) else { return Ok(None) };
    match if alone { file.try_lock() } else { file.try_lock_shared() } {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let whom = holder(&file).unwrap_or_else(|| "another agent".into());
            let what = if alone { "acts on it" } else { "acts on a cgroup that holds it" };
            Err(Failure::Run(format!(
                "{key}: {whom} {what}; end that one first, or write another one here"
            )))
        }
    }
}

/// Who has a lock on a folder of a victim, for sentences.
pub fn holder_of(root: &Root, folder: &str) -> Option<String> {
    holder(&root.open(folder).ok()?)
}

/// Who has an exclusive lock on a file, or a shared one.
fn holder(file: &File) -> Option<String> {
    let inode = file.metadata().ok()?.ino();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = holders(&locks, inode).next()?;
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    Some(match state_of(&words) {
        Some(state) => format!(
            "another agent, process {pid} with its state in {state} (forebay-agent undo --state {state} ends one that hangs),"
        ),
        None => format!("process {pid}, which is no agent,"),
    })
}

/// Processes with a lock on the file of this number, of `/proc/locks`.
fn holders(locks: &str, inode: u64) -> impl Iterator<Item = u32> {
    let end = format!(":{inode}");
    locks.lines().filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "->").collect();
        let [_, "FLOCK", _, _, pid, file, ..] = words[..] else { return None };
        pid.parse().ok().filter(|_| file.ends_with(&end))
    })
}

/// The state folder of an agent with these words of its command, each ended by a zero.
fn state_of(words: &str) -> Option<&str> {
    let words: Vec<&str> = words.split('\0').collect();
    Path::new(words.first()?).file_name().filter(|name| *name == "forebay-agent")?;
    let at = words.iter().position(|word| *word == "--state");
    let own = at.and_then(|at| words.get(at + 1).copied());
    Some(own.or(words.iter().find_map(|word| word.strip_prefix("--state="))).unwrap_or(STATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_by_the_files_number() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 00:1b:55 0 EOF\n2: FLOCK  ADVISORY  WRITE 812 00:1b:55 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 00:1b:5 0 EOF\n3: FLOCK  ADVISORY  READ  13 08:01:155 0 EOF\n";
        let of = |inode| holders(locks, inode).collect::<Vec<_>>();
        assert_eq!((of(55), of(5), of(155), of(1)), (vec![812], vec![9], vec![13], vec![]));
    }

    #[test]
    fn an_agent_is_known_by_its_command_and_its_state_folder() {
        let of = |words: &str| state_of(&words.replace(' ', "\0")).map(String::from);
        assert_eq!(of("/usr/bin/forebay-agent run a.toml --state /run/b"), Some("/run/b".into()));
        assert_eq!(of("forebay-agent run --state=/c a.toml"), Some("/c".into()));
        assert_eq!(of("forebay-agent run a.toml"), Some(STATE.into()));
        assert_eq!((of("sleep 600"), of("")), (None, None));
    }
}
