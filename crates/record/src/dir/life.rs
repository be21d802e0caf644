//! The life of a run directory: claimed under a lock, written beside its place, renamed when it is whole.
//!
//! ```text
//! NAME.partial/         the run while it is written; run.lock in it is locked as long as the writer lives
//! NAME/                 the run once it is whole
//! NAME.replaced/        the run that stood there before, for the moment between two renames
//! ```
//!
//! Invariant: a directory with its own name is whole, and a whole one goes only when another whole one takes its place.
//! The system unlocks the lock when the writer ends, however it ends, so a `NAME.partial` without a lock is what a
//! run left that did not come to its end. Files in a directory that no run writes belong to the user: [`contents`] has the list, and
//! they move on to the run that takes the place.

use super::{contents, unfinished};
use crate::csv::{LOCK, PARTIAL};
use crate::error::RecordError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do with a directory that holds a run already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Leave it alone and say so.
    Refuse,
    /// Put the new run in its place once that is whole. Files that are not of the old run stay.
    Replace,
}

const REPLACED: &str = ".replaced";
/// How often a lock is tried that somebody has, and how long is between.
const ATTEMPTS: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(5);

/// A place for a run, held by this process alone.
pub(super) struct Claim {
    target: PathBuf,
    pub work: PathBuf,
    _lock: File,
}

/// `path` with something after its last component.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    name.into()
}

/// Where a run with the name `path` is while it is written, or what is left there of one that did not end.
pub fn partial_of(path: &Path) -> PathBuf {
    beside(&clean(path), PARTIAL)
}

/// `a/` as `a`, so that something can be written after it.
fn clean(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Whether a process writes a run there now.
pub(super) fn at_work(dir: &Path) -> bool {
    let lock = OpenOptions::new().write(true).open(dir.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}

impl Claim {
    /// Claims the place for one run.
    ///
    /// # Errors
    /// If a run is at work there, if it holds a run or the rest of one and `if_exists` refuses, if it holds other
    /// files and no run, or if the system refuses.
    pub fn take(path: &Path, if_exists: IfExists) -> Result<Self, RecordError> {
        let target = real(path)?;
        check(&target, if_exists)?;
        if let Some(parent) = target.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|e| refused("create", &target, parent, e))?;
        }
        let work = beside(&target, PARTIAL);
        let (lock, fresh) = hold(&target, &work)?;
        let claim = Self { target, work, _lock: lock };
        claim.recover()?;
        if !fresh && if_exists == IfExists::Refuse {
            return Err(RecordError::Wreck { path: claim.target, left: claim.work });
        }
        if !fresh {
            remove_run(&claim.work)?;
        }
        // Another run may have ended there in the meantime.
        if let Err(error) = check(&claim.target, if_exists) {
            claim.abandon();
            return Err(error);
        }
        Ok(claim)
    }

    /// The place that the run will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Gives a run that is whole its name.
    ///
    /// # Errors
    /// If the system refuses; the run is then whole under the other name, which the error has.
    pub fn publish(self) -> Result<(), RecordError> {
        let replaced = beside(&self.target, REPLACED);
        let failed = |source| RecordError::Io {
            action: "rename a run to",
            path: self.target.clone(),
            source,
            left: format!(
                "the new run is whole in {}, and what {} holds is of the one before",
                self.work.display(),
                replaced.display()
            ),
        };
        // An empty directory is as good as none.
        let old = self.target.exists() && fs::remove_dir(&self.target).is_err();
        if old {
            fs::rename(&self.target, &replaced).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&self.work, &self.target) {
            if old {
                let _ = fs::rename(&replaced, &self.target);
            }
            return Err(failed(error));
        }
        if old {
            clear(&replaced, &self.target)?;
        }
        let _ = fs::remove_file(self.target.join(LOCK));
        Ok(())
    }

    /// Removes what has been written.
    pub fn abandon(self) {
        let _ = remove_run(&self.work);
        let _ = fs::remove_file(self.work.join(LOCK));
        let _ = fs::remove_dir(&self.work);
    }

    /// Ends what a run left that was killed between two renames.
    fn recover(&self) -> Result<(), RecordError> {
        let replaced = beside(&self.target, REPLACED);
        if !replaced.exists() {
            Ok(())
        } else if self.target.exists() {
            clear(&replaced, &self.target)
        } else {
            fs::rename(&replaced, &self.target).map_err(|source| RecordError::Io {
                action: "rename a run to",
                path: self.target.clone(),
                source,
                left: format!("the run is in {}", replaced.display()),
            })
        }
    }
}

/// The directory itself, where a link names it; the rename would take the link away and not the directory.
fn real(path: &Path) -> Result<PathBuf, RecordError> {
    let path = clean(path);
    let link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
    let target = if link || path.file_name().is_none() {
        fs::canonicalize(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound if link => RecordError::Exists {
                path: path.clone(),
                remedy: "is a symbolic link to something that is not there; remove it, or make the directory",
            },
            _ => RecordError::io("use", &path, e),
        })?
    } else {
        path
    };
    if is_mount_point(&target) {
        return Err(RecordError::Exists {
            path: target,
            remedy: "is the root of a file system, where a run cannot be renamed when it is whole; name a directory below it",
        });
    }
    Ok(target)
}

#[cfg(unix)]
fn is_mount_point(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(here) = fs::metadata(path) else { return false };
    let above = path.canonicalize().ok().and_then(|path| fs::metadata(path.parent()?).ok());
    here.is_dir() && above.is_none_or(|above| above.dev() != here.dev())
}

#[cfg(not(unix))]
fn is_mount_point(path: &Path) -> bool {
    path.file_name().is_none()
}

/// Makes the working directory, or takes over one without a lock. Also says whether nothing was in it.
fn hold(target: &Path, work: &Path) -> Result<(File, bool), RecordError> {
    let path = work.join(LOCK);
    loop {
        match fs::create_dir(work) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(refused("create", target, work, error));
            }
            _ => {}
        }
        let lock = match OpenOptions::new().create(true).truncate(false).write(true).open(&path) {
            Ok(lock) => lock,
            // Its holder has just ended and renamed it.
            Err(error) if error.kind() == ErrorKind::NotFound && !work.exists() => continue,
            Err(error) => return Err(RecordError::io("write", &path, error)),
        };
        match patient(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RecordError::AtWork { path: target.into() });
            }
            Err(TryLockError::Error(error)) => return Err(RecordError::io("lock", &path, error)),
        }
        if same_file(&lock, &path) {
            let others = fs::read_dir(work).map_err(|e| RecordError::io("use", work, e))?;
            let fresh = others.flatten().all(|entry| entry.file_name() == LOCK);
            return Ok((lock, fresh));
        }
    }
}

/// Takes a lock. Whoever asks whether somebody has it, has it for a moment: so once is not enough.
fn patient(lock: &File) -> Result<(), TryLockError> {
    for _ in 0..ATTEMPTS {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            taken => return taken,
        }
    }
    lock.try_lock()
}

/// Whether an open file still is what a path names.
fn same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => same_inode(&held, &named),
        _ => false,
    }
}

#[cfg(unix)]
fn same_inode(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn same_inode(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

/// Why a run cannot have its place: in words where those of the system would puzzle.
fn refused(action: &'static str, target: &Path, path: &Path, error: io::Error) -> RecordError {
    let remedy = match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "is a file or lies below one; name another folder"
        }
        // As in /proc: the folder above is there and takes none.
        ErrorKind::NotFound => {
            "cannot be made, since the folder above it takes no new ones; name another place"
        }
        _ => return RecordError::io(action, path, error),
    };
    RecordError::Exists { path: target.into(), remedy }
}

/// Checks what is in a place already.
fn check(path: &Path, if_exists: IfExists) -> Result<(), RecordError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.count(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused("use", path, path, error)),
    };
    let exists = |remedy| Err(RecordError::Exists { path: path.into(), remedy });
    if let Some(path) = contents::in_the_way(path) {
        let remedy = "is a folder with the name of a file that a run writes; move it away";
        return Err(RecordError::Exists { path, remedy });
    }
    match if_exists {
        _ if entries == 0 => Ok(()),
        _ if !path.join("manifest.json").exists() => {
            exists("has files and is not a run directory; name another")
        }
        IfExists::Refuse => {
            exists("holds a run already; name another directory, or ask to replace it")
        }
        IfExists::Replace => Ok(()),
    }
}

/// Removes the run in a directory, and nothing else.
fn remove_run(dir: &Path) -> Result<(), RecordError> {
    unfinished::forget_all(dir)?;
    contents::remove(dir)
}

/// Removes a run that has been replaced, and moves what else was there to the new one.
///
/// # Errors
/// If the system refuses, or if the two have files of the same name that are of no run. Both are kept then.
fn clear(replaced: &Path, target: &Path) -> Result<(), RecordError> {
    remove_run(replaced)?;
    let _ = fs::remove_file(replaced.join(LOCK));
    move_into(replaced, target)?;
    match fs::remove_dir(replaced) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Err(RecordError::Exists {
            path: replaced.into(),
            remedy: "holds files of yours under names that the run in its place has too; move them away",
        }),
        Err(error) => Err(RecordError::io("remove", replaced, error)),
    }
}

/// Moves what is in a folder into another one, folders that both have entry by entry. Files that both have stay.
fn move_into(from: &Path, to: &Path) -> Result<(), RecordError> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if fs::symlink_metadata(&to).is_err() {
            fs::rename(&from, &to).map_err(|e| RecordError::io("rename", &to, e))?;
        } else if folder(&from) && folder(&to) {
            move_into(&from, &to)?;
            let _ = fs::remove_dir(&from);
        }
    }
    Ok(())
}
