//! The state folder: the lock that one agent holds at a time, the numbers of its processes, and the journal.
//!
//! Invariant: nothing is undone by a folder or a journal that another user may have written, nor beyond cgroups and groups of resctrl.

use super::silent;
use crate::act::journal::{self, Change};
use crate::act::undoings::{Cause, Undoings};
use crate::args;
use crate::failure::{self, Failure};
use forebay_linux::cgroup::Cgroups;
use forebay_linux::resctrl::MOUNT;
use forebay_linux::{Root, file, process};
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Longest journal that is read.
const LONGEST: u64 = 1 << 20;

/// Frozen cgroups that are named where no journal says who froze them.
const NAMED: usize = 8;

/// The state folder, locked.
#[derive(Debug)]
pub struct State<'a> {
    folder: &'a Path,
    lock: File,
}

/// What opening a folder gives.
#[derive(Debug)]
enum OpenedFolder<'a> {
    Free(State<'a>),
    Held(File), // by an agent that runs, or hangs
}

impl<'a> State<'a> {
    /// The state of a new agent: what a dead one left is undone first.
    pub fn begin(folder: &'a Path, root: &Root) -> Result<Self, Failure> {
        let state = match Self::open(folder)? {
            OpenedFolder::Free(state) => state,
            OpenedFolder::Held(_) => {
                return Err(runs(folder, "; if it hangs, forebay-agent undo ends it"));
            }
        };
        if let Some(undone) = state.undo_stale(root)? {
            Undoings::count(state.folder, Cause::Dead);
            let lifted = match undone.lifted.join(", ") {
                none if none.is_empty() => "all had been lifted".into(),
                lifted => format!("lifted {lifted}"),
            };
            failure::note(&format!("a dead agent's journal was undone first: {lifted}"));
        }
        Ok(state)
    }

    /// Makes the folder and takes the lock.
    fn open(folder: &'a Path) -> Result<OpenedFolder<'a>, Failure> {
        let shown = folder.display();
        let made = DirBuilder::new().recursive(true).mode(0o755).create(folder);
        made.map_err(|error| Failure::io(format!("make {shown}"), &error))?;
        let of = fs::metadata(folder)
            .map_err(|error| Failure::io(format!("look at {shown}"), &error))?;
        trusted(&of).map_err(|why| Failure::Input(format!("--state {shown}: {why}")))?;
        let path = folder.join("pid");
        let lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .open(&path)
            .map_err(|error| Failure::io(format!("open {}", path.display()), &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(OpenedFolder::Free(Self { folder, lock })),
            Err(TryLockError::WouldBlock) => Ok(OpenedFolder::Held(lock)),
            Err(TryLockError::Error(error)) => {
                Err(Failure::io(format!("lock {}", path.display()), &error))
            }
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.folder
    }

    /// An empty file in the folder, writable by this user alone.
    pub fn begin_file(&self, name: &str) -> Result<File, Failure> {
        let path = self.folder.join(name);
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o644);
        options
            .open(&path)
            .map_err(|error| Failure::io(format!("write {}", path.display()), &error))
    }

    /// Notes the processes of guard and loop, for `status` and `undo`.
    pub fn note(&mut self, loop_pid: u32) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.write_all_at(format!("{} {loop_pid}\n", std::process::id()).as_bytes(), 0)
    }

    /// Undoes what a dead agent left, by its journal. `None`: there is none.
    fn undo_stale(&self, root: &Root) -> Result<Option<journal::UndoReport>, Failure> {
        let path = self.folder.join(journal::FILE);
        let shown = path.display();
        let failed = |error: io::Error| Failure::io(format!("read {shown}"), &error);
        let file = match file::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        trusted(&file.metadata().map_err(failed)?)
            .map_err(|why| Failure::Run(format!("{shown}: {why}; nothing was undone")))?;
        let text = file::read(&path, LONGEST).map_err(failed)?;
        let changes = journal::read(&text);
        let mount = Cgroups::find(root).map(|of| of.mount);
        let (ours, others): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.is_an_agents(mount.as_deref()));
        let mut undone = self.lift(root, &ours);
        undone.failed.extend(others.iter().map(|change| {
            format!("{shown} names {}, which no agent changes: left alone", change.path)
        }));
        self.undone(undone).map(Some)
    }

    /// Undoes changes; the journal stays.
    pub fn lift(&self, root: &Root, changes: &[Change]) -> journal::UndoReport {
        journal::undo(&mut root.clone(), changes)
    }

    /// Takes the journal away if all was undone.
    pub fn undone(&self, undone: journal::UndoReport) -> Result<journal::UndoReport, Failure> {
        if undone.failed.is_empty() {
            match fs::remove_file(self.folder.join(journal::FILE)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(Failure::io("remove the journal", &error))
                }
                _ => Ok(undone),
            }
        } else {
            let failed = undone.failed.join("; ");
            Err(Failure::Run(format!(
                "not everything could be undone: {failed}. forebay-agent undo tries again"
            )))
        }
    }
}

/// An agent holds the lock.
fn runs(folder: &Path, more: &str) -> Failure {
    let pid = fs::read_to_string(folder.join("pid")).unwrap_or_default();
    let pid = pid.split_whitespace().next().unwrap_or("unknown").to_string();
    let shown = folder.display();
    Failure::Run(format!(
        "an agent runs already, as process {pid}, with its state in {shown}{more}"
    ))
}

/// Why the content of a file or folder may be another user's.
fn trusted(of: &Metadata) -> Result<(), String> {
    let (owner, user) = (of.uid(), process::user());
    if owner != user {
        return Err(format!(
            "belongs to user {owner}, and user {user} runs this; run it as that user, or write a folder of your own"
        ));
    }
    if of.mode() & 0o022 != 0 {
        return Err("other users may write it; check what is in it, then chmod go-w".into());
    }
    Ok(())
}

/// `forebay-agent undo`.
pub fn undo(args: &args::Undo) -> Result<(), Failure> {
    let root = crate::probe::root(&args.from)?;
    let folder = &args.state;
    let (state, ended) = match State::open(folder)? {
        OpenedFolder::Free(state) => (state, None),
        OpenedFolder::Held(lock) => {
            let ended = silent::end(&lock).map_err(|why| runs(folder, &why))?;
            match State::open(folder)? {
                OpenedFolder::Free(state) => (state, Some(ended)),
                OpenedFolder::Held(_) => return Err(runs(folder, "")),
            }
        }
    };
    if let Some(ended) = ended {
        failure::note(&ended);
    }
    let undone = state.undo_stale(&root)?;
    if undone.is_some() {
        Undoings::count(state.folder, Cause::Dead);
    }
    let text = match undone {
        None => {
            left(&root).iter().for_each(|note| failure::note(note));
            "there was nothing to undo\n".to_string()
        }
        Some(undone) if undone.lifted.is_empty() => {
            "a dead agent's journal was there; all had been lifted\n".into()
        }
        Some(undone) => format!("lifted what a dead agent left: {}\n", undone.lifted.join(", ")),
    };
    failure::data(&text)
}

/// What an agent may have left whose journal is lost: a sentence for each, with what lifts it.
fn left(root: &Root) -> Vec<String> {
    let frozen = Cgroups::find(root).map(|of| of.frozen(root, NAMED)).unwrap_or_default();
    let mut found: Vec<_> = frozen.iter().map(|folder| format!(
        "{folder} is frozen, and no journal here says by whom; to thaw it: echo 0 > {folder}/cgroup.freeze"
    )).collect();
    let groups = root.names(MOUNT).into_iter().filter(|name| name.starts_with("forebay-"));
    found.extend(groups.map(|name| format!(
        "{MOUNT}/{name} limits memory bandwidth, and no journal here says for whom; to lift it: rmdir {MOUNT}/{name}"
    )));
    found
}
