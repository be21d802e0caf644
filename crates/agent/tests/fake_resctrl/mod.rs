//! resctrl made up, as a file system that the kernel mounts (FUSE), with the rules of the real one: a group that is made comes with its files, bandwidth
//! has steps of 10 %, a group that is removed gives its tasks back, and who still has a file of it open gets ENODEV.
//!
//! Source: kernel documentation, `filesystems/resctrl.rst`; what no document says is what kernfs does with other files.

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, SessionACL, WriteFlags,
};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};

/// Nothing is kept by the kernel: other names and contents come without it.
const TTL: Duration = Duration::ZERO;

/// Folders of `info`, and what its files hold.
const FOLDERS: [(u64, u64, &str); 2] = [(4, 1, "info"), (5, 4, "MB")];
const FACTS: [(u64, &str, &str); 3] =
    [(6, "min_bandwidth", "10\n"), (7, "bandwidth_gran", "10\n"), (8, "num_closids", "8\n")];

/// A group: its folder's number, a multiple of 16, and behind it those of its two files. The root group has 0.
#[derive(Debug)]
struct Group {
    ino: u64,
    name: String,
    percent: [u64; 2], // of two L3 caches
    tasks: Vec<u32>,
}

/// What is behind a number.
enum Node {
    Folder,
    Fact(&'static str),
    Schemata(usize),
    Tasks(usize),
}

#[derive(Debug)]
struct State {
    groups: Vec<Group>, // the root group first
    made: u64,
}

impl State {
    fn node(&self, ino: u64) -> Option<Node> {
        if ino == 1 || FOLDERS.iter().any(|of| of.0 == ino) {
            return Some(Node::Folder);
        }
        if let Some(fact) = FACTS.iter().find(|of| of.0 == ino) {
            return Some(Node::Fact(fact.2));
        }
        let nth = self.groups.iter().position(|of| of.ino == ino / 16 * 16)?;
        Some(match ino % 16 {
            0 => Node::Folder,
            2 => Node::Schemata(nth),
            _ => Node::Tasks(nth),
        })
    }

    /// Names in a folder.
    fn names(&self, folder: u64) -> Vec<(u64, String)> {
        let own = if folder == 1 { 0 } else { folder };
        let mut found = Vec::new();
        if self.groups.iter().any(|of| of.ino == own) {
            found.extend([(own + 2, "schemata".into()), (own + 3, "tasks".into())]);
        }
        if folder == 1 {
            found.extend(self.groups[1..].iter().map(|of| (of.ino, of.name.clone())));
        }
        found.extend(FOLDERS.iter().filter(|of| of.1 == folder).map(|of| (of.0, of.2.to_string())));
        if folder == 5 {
            found.extend(FACTS.iter().map(|of| (of.0, of.1.to_string())));
        }
        found
    }

    fn text(&self, node: &Node) -> String {
        match node {
            Node::Folder => String::new(),
            Node::Fact(text) => (*text).into(),
            Node::Schemata(nth) => {
                let [first, second] = self.groups[*nth].percent;
                format!("    L3:0=7ff;1=7ff\n    MB:0={first:>3};1={second:>3}\n")
            }
            Node::Tasks(nth) => {
                self.groups[*nth].tasks.iter().map(|of| format!("{of}\n")).collect()
            }
        }
    }

    /// One line of text into a file.
    fn write(&mut self, node: &Node, line: &str) -> Result<(), Errno> {
        match node {
            Node::Schemata(nth) => {
                let values = forebay_linux::resctrl::memory_line(line).ok_or(Errno::EINVAL)?;
                let fits = |of: &(u32, u64)| {
                    of.0 < 2 && (10..=100).contains(&of.1) && of.1.is_multiple_of(10)
                };
                if values.is_empty() || !values.iter().all(fits) {
                    return Err(Errno::EINVAL);
                }
                for (cache, percent) in values {
                    self.groups[*nth].percent[cache as usize] = percent;
                }
                Ok(())
            }
            Node::Tasks(nth) => {
                let task: u32 = line.trim().parse().map_err(|_| Errno::EINVAL)?;
                let from = self.groups.iter_mut().find(|of| of.tasks.contains(&task));
                from.ok_or(Errno::ESRCH)?.tasks.retain(|of| *of != task);
                self.groups[*nth].tasks.push(task);
                Ok(())
            }
            Node::Folder | Node::Fact(_) => Err(Errno::EPERM),
        }
    }

    fn make(&mut self, name: &str) -> Result<u64, Errno> {
        if self.groups.iter().any(|of| of.name == name) {
            return Err(Errno::EEXIST);
        }
        self.made += 1;
        let ino = self.made * 16;
        self.groups.push(Group { ino, name: name.into(), percent: [100; 2], tasks: Vec::new() });
        Ok(ino)
    }

    fn remove(&mut self, name: &str) -> Result<(), Errno> {
        let nth = self.groups.iter().skip(1).position(|of| of.name == name);
        let gone = self.groups.remove(nth.ok_or(Errno::ENOENT)? + 1);
        self.groups[0].tasks.extend(gone.tasks);
        self.groups[0].tasks.sort_unstable();
        Ok(())
    }
}

/// The file system while it is mounted, with tasks 11 and 12 in the root group.
#[derive(Debug)]
pub struct Fake {
    state: Arc<Mutex<State>>,
    _mount: BackgroundSession, // unmounted when it is dropped
}

impl Fake {
    /// Mounts a resctrl there. `None`: this machine does not allow FUSE mounts.
    pub fn mount(at: &Path) -> Option<Self> {
        let root = Group { ino: 0, name: String::new(), percent: [100; 2], tasks: vec![11, 12] };
        let state = Arc::new(Mutex::new(State { groups: vec![root], made: 0 }));
        let mut config = Config::default();
        config.acl = SessionACL::All; // the loop is another user's
        match fuser::spawn_mount(Served(Arc::clone(&state)), at, &config) {
            Ok(mount) => Some(Self { state, _mount: mount }),
            Err(error) => {
                println!("skipped: resctrl made up: no FUSE can be mounted here: {error}");
                None
            }
        }
    }

    /// Percent of the memory bandwidth that a task may use.
    pub fn percent(&self, task: u32) -> [u64; 2] {
        let state = state(&self.state);
        let group = state.groups.iter().find(|of| of.tasks.contains(&task));
        group.expect("it is in some group").percent
    }

    /// Whether it is as at the mounting: no group but the root group, which has all tasks.
    pub fn is_as_before(&self) -> bool {
        let state = state(&self.state);
        state.groups.len() == 1 && state.groups[0].tasks == [11, 12]
    }
}

fn state(of: &Mutex<State>) -> MutexGuard<'_, State> {
    of.lock().expect("nobody panics")
}

struct Served(Arc<Mutex<State>>);

impl Served {
    fn attributes(&self, ino: u64) -> Option<FileAttr> {
        let folder = matches!(state(&self.0).node(ino)?, Node::Folder);
        let (kind, perm) =
            if folder { (FileType::Directory, 0o755) } else { (FileType::RegularFile, 0o644) };
        Some(FileAttr {
            ino: INodeNo(ino),
            size: 0,
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let names = state(&self.0).names(parent.0);
        let found = names.into_iter().find(|(_, of)| OsStr::new(of) == name);
        match found.and_then(|(ino, _)| self.attributes(ino)) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino.0) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENODEV),
        }
    }

    /// Files are opened as if to be made empty, which does nothing.
    fn setattr(
        &self,
        of: &Request,
        ino: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<fuser::TimeOrNow>,
        _mtime: Option<fuser::TimeOrNow>,
        _ctime: Option<std::time::SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<std::time::SystemTime>,
        _chgtime: Option<std::time::SystemTime>,
        _bkuptime: Option<std::time::SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(of, ino, fh, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = state(&self.0);
        let Some(node) = state.node(ino.0) else { return reply.error(Errno::ENODEV) };
        let text = state.text(&node);
        let rest = text.as_bytes().get(offset as usize..).unwrap_or_default();
        reply.data(&rest[..rest.len().min(size as usize)]);
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = state(&self.0);
        let Some(node) = state.node(ino.0) else { return reply.error(Errno::ENODEV) };
        match state.write(&node, &String::from_utf8_lossy(data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let made = state(&self.0).make(&name.to_string_lossy());
        match made.map(|ino| self.attributes(ino).expect("it was made")) {
            Ok(attr) => reply.entry(&TTL, &attr, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn rmdir(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match state(&self.0).remove(&name.to_string_lossy()) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let state = state(&self.0);
        for (nth, (ino, name)) in state.names(ino.0).into_iter().enumerate() {
            let folder = matches!(state.node(ino), Some(Node::Folder));
            let kind = if folder { FileType::Directory } else { FileType::RegularFile };
            if nth as u64 >= offset && reply.add(INodeNo(ino), nth as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}
