//! Files that throttle: made ready and tried by the guard, written by the loop through descriptors.

use super::inside::OwnCgroups;
use super::journal::{Change, Journal, Kind, Tree};
use super::marks::Leases;
use super::plan::{Actuator, Plan};
use crate::law::levels::{Levels, Throttle};
use forebay_linux::resctrl::memory_line;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Makes resctrl groups, moves the victims' tasks into them, and tries each file: what is written is there when it is read. Every
/// change is in the journal before. The error is a sentence; what was changed by then is left to undoing.
pub fn prepare<W: Write>(
    tree: &mut impl Tree,
    journal: &mut Journal<W>,
    plan: &Plan,
) -> Result<(), String> {
    for (nth, actuator) in plan.actuators.iter().enumerate() {
        let path = &actuator.path;
        // A group has a part for each socket: it is made with the first, and gets its tasks when all of them have been tried.
        let shares = |of: &[Actuator]| of.iter().any(|other| other.path == *path);
        let (first, last) = (!shares(&plan.actuators[..nth]), !shares(&plan.actuators[nth + 1..]));
        let refuse = |what: &str, error: io::Error| format!("{path}: cannot {what}: {error}");
        let neutral = &actuator.values[0];
        let mut ours = actuator.values[1..].to_vec();
        ours.retain(|value| value != neutral);
        ours.dedup();
        let group = path.strip_suffix("/schemata");
        let change = Change {
            kind: actuator.kind,
            path: group.unwrap_or(path).into(),
            before: neutral.clone(),
            ours: ours.clone(),
            id: group.is_none().then(|| tree.id(&actuator.cgroup)).flatten(),
        };
        if first {
            journal.add(change).map_err(|error| refuse("write the journal for it", error))?;
        }
        // Of a victim nothing is tried but the value that it has: it has done no harm yet. A group of ours has no task so far.
        let mut tried = vec![neutral.clone()];
        if let Some(group) = group {
            if first {
                tree.make(group).map_err(|error| refuse("make the group", error))?;
            }
            tried = [ours, tried].concat();
        }
        for value in &tried {
            tree.write(path, value).map_err(|error| refuse(&format!("write {value:?}"), error))?;
            let found = tree.read(path).map_err(|error| refuse("read it back", error))?;
            if !same(actuator.kind, value, &found) {
                return Err(format!("{path}: {value:?} was written, and {found:?} is read back"));
            }
        }
        if let Some(group) = group.filter(|_| last) {
            move_tasks(tree, &actuator.cgroup, group)
                .map_err(|error| refuse("move the victim's tasks", error))?;
        }
    }
    Ok(())
}

/// Threads of a cgroup and of those below it go into a resctrl group. What they start later follows them; what enters the cgroup later
/// from elsewhere does not.
fn move_tasks(tree: &mut impl Tree, cgroup: &str, group: &str) -> io::Result<()> {
    let mut moved: Vec<String> = Vec::new();
    for _ in 0..8 {
        let mut new = Vec::new();
        let mut folders = vec![cgroup.to_string()];
        while let Some(folder) = folders.pop() {
            let text = tree.read(&format!("{folder}/cgroup.threads"))?;
            new.extend(
                text.split_whitespace()
                    .filter(|id| !moved.iter().any(|old| old == id))
                    .map(str::to_string),
            );
            folders
                .extend(tree.folders(&folder).into_iter().map(|name| format!("{folder}/{name}")));
        }
        if new.is_empty() {
            return Ok(());
        }
        for thread in &new {
            match tree.write(&format!("{group}/tasks"), thread) {
                Err(error) if error.raw_os_error() != Some(3) => return Err(error), // ESRCH: it has ended
                _ => {}
            }
        }
        moved.extend(new);
    }
    Ok(())
}

/// Whether a file holds what was written: kernels print `schemata` with blanks, other lines, and the caches of other sockets.
fn same(kind: Kind, written: &str, found: &str) -> bool {
    match kind {
        Kind::Memory => {
            let line = found.lines().find_map(memory_line);
            let (found, written) = (line.unwrap_or_default(), memory_line(written));
            written.is_some_and(|of| !of.is_empty() && of.iter().all(|of| found.contains(of)))
        }
        Kind::Freeze | Kind::Cpu | Kind::Mark => found.lines().next() == Some(written),
    }
}

/// A throttle of files that are open.
#[derive(Debug)]
pub struct Files {
    of: Vec<HeldLevel>,
}

/// What a file that throttles is, beside its descriptor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThrottleFile {
    kind: Kind,
    socket: Option<usize>,
    values: Vec<String>, // by level
}

impl ThrottleFile {
    /// The description of a planned actuator.
    pub fn of(of: &Actuator) -> Self {
        Self { kind: of.kind, socket: of.socket, values: of.values.clone() }
    }
}

#[derive(Debug)]
struct HeldLevel {
    of: ThrottleFile,
    file: File,
    last: usize, // the level that it stands at
    left: bool,  // gone, or changed by another process
}

impl Files {
    /// Whether these levels freeze something that is not frozen.
    fn freezes(&self, levels: Levels) -> bool {
        self.of.iter().filter(|held| held.of.kind == Kind::Freeze && !held.left).any(|held| {
            let values = &held.of.values;
            let new = values.get(usize::from(levels.of(held.of.socket))).or(values.last());
            new.is_some_and(|new| new == "1") && new != values.get(held.last)
        })
    }

    /// Over open files, which stand at level 0.
    pub fn new(of: impl IntoIterator<Item = (ThrottleFile, File)>) -> Self {
        let held = |(of, file)| HeldLevel { of, file, last: 0, left: false };
        Self { of: of.into_iter().map(held).collect() }
    }
}

impl HeldLevel {
    /// Whether the file belongs to a group that the agent made, which no other program has a reason to remove.
    fn is_of_a_group(&self) -> bool {
        self.of.kind == Kind::Memory
    }

    /// Writes the value of a level, unless it stands already.
    fn set(&mut self, level: usize) -> io::Result<()> {
        let values = &self.of.values;
        let value = values.get(level).or(values.last());
        if self.left || value == values.get(self.last) {
            self.last = level;
            return Ok(());
        }
        self.file.write_all_at(format!("{}\n", value.map_or("", String::as_str)).as_bytes(), 0)?;
        self.last = level;
        Ok(())
    }

    /// Whether what was written last still stands.
    fn stands(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let len = self.file.read_at(&mut bytes, 0)?;
        Ok(same(
            self.of.kind,
            &self.of.values[self.last],
            String::from_utf8_lossy(&bytes[..len]).trim_end(),
        ))
    }
}

impl Throttle for Files {
    /// Weakest rungs first on the way up, strongest first on the way down. A victim that has gone is left out from then on.
    fn set(&mut self, levels: Levels) -> bool {
        let level = |held: &HeldLevel| usize::from(levels.of(held.of.socket));
        let down = self.of.iter().any(|held| level(held) < held.last);
        let mut done = true;
        let mut each = |held: &mut HeldLevel| match held.set(level(held)) {
            Ok(()) => {}
            // ENODEV: a victim has gone, or its group was removed. The next look reports that.
            Err(error) if error.raw_os_error() == Some(19) => held.left = !held.is_of_a_group(),
            Err(_) => done = false,
        };
        if down {
            self.of.iter_mut().rev().for_each(&mut each);
        } else {
            self.of.iter_mut().for_each(&mut each);
        }
        done
    }

    fn stands(&mut self) -> bool {
        let mut stand = true;
        for held in self.of.iter_mut().filter(|held| !held.left) {
            match held.stands() {
                Ok(true) => {}
                Ok(false) => (held.left, stand) = (true, false),
                Err(_) => {
                    held.left = true;
                    stand &= !held.is_of_a_group();
                }
            }
        }
        stand
    }
}

/// All that a loop acts by: files that throttle, and leases of marks.
#[derive(Debug)]
pub struct Actuation<'a> {
    /// Where guard and loop are.
    pub inside: &'a OwnCgroups,
    /// See [`Files`].
    pub files: &'a mut Files,
    /// See [`Leases`].
    pub leases: &'a Leases,
}

impl Throttle for Actuation<'_> {
    /// Nothing is frozen while guard or loop would be frozen with it.
    fn set(&mut self, levels: Levels) -> bool {
        !(self.files.freezes(levels) && self.inside.victim().is_some()) && self.files.set(levels)
    }

    fn stands(&mut self) -> bool {
        self.files.stands()
    }

    fn mark(&mut self, stack: usize, on: bool) {
        self.leases.mark(stack, on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    type Of<'a> = (Kind, Option<usize>, &'a [&'a str]);

    fn files(values: &[Of<'_>]) -> (Files, Vec<std::path::PathBuf>) {
        let mut of = Vec::new();
        let mut paths = Vec::new();
        for (nth, (kind, socket, values)) in values.iter().enumerate() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(format!("../../target/held-{kind:?}-{nth}"));
            std::fs::write(&path, format!("{}\n", values[0])).expect("written");
            let file = File::options().read(true).write(true).open(&path).expect("open");
            let values = values.iter().map(|value| value.to_string()).collect();
            of.push((ThrottleFile { kind: *kind, socket: *socket, values }, file));
            paths.push(path);
        }
        (Files::new(of), paths)
    }

    #[test]
    fn levels_are_written_and_what_others_wrote_is_noticed_and_left_alone() {
        let (mut files, paths) = files(&[
            (Kind::Cpu, None, &["9 1", "4 1", "4 1"]),
            (Kind::Freeze, None, &["0", "0", "1"]),
        ]);
        let read = |nth: usize| std::fs::read_to_string(&paths[nth]).expect("it reads");
        assert!(files.set(Levels::all(1)) && files.stands());
        assert_eq!((read(0).as_str(), read(1).as_str()), ("4 1\n", "0\n"));
        assert!(files.set(Levels::all(2)) && files.stands());
        assert_eq!((read(0).as_str(), read(1).as_str()), ("4 1\n", "1\n"));
        std::fs::write(&paths[0], "7 1\n").expect("written");
        assert!(!files.stands(), "somebody else was here");
        assert!(files.stands(), "which is said once");
        assert!(files.set(Levels::all(0)));
        assert_eq!((read(0).as_str(), read(1).as_str()), ("7 1\n", "0\n"));
        paths.iter().for_each(|path| std::fs::remove_file(path).expect("removed"));
    }

    /// A write that fails, as one to a full or a broken file system does, is not in force, and everything else is written all the same.
    #[test]
    fn a_file_that_cannot_be_written_keeps_no_other_from_being_lifted() {
        let (mut files, paths) = files(&[(Kind::Freeze, Some(1), &["0", "1"])]);
        let full = File::options().read(true).write(true).open("/dev/full").expect("it is there");
        let values = vec!["0".to_string(), "1".to_string()];
        files.of.insert(
            0,
            HeldLevel {
                of: ThrottleFile { kind: Kind::Freeze, socket: None, values },
                file: full,
                last: 0,
                left: false,
            },
        );
        let read = || std::fs::read_to_string(&paths[0]).expect("it reads");
        assert!(!files.set(Levels::all(1)));
        assert_eq!(read(), "1\n");
        files.of[0].last = 1;
        assert!(!files.set(Levels::default()));
        assert_eq!(read(), "0\n");
        std::fs::remove_file(&paths[0]).expect("removed");
    }

    #[test]
    fn schemata_are_compared_as_the_kernel_prints_them() {
        assert!(same(Kind::Memory, "MB:0=40;1=40", "    L3:0=7ff;1=7ff\n    MB:0= 40;1= 40"));
        assert!(!same(Kind::Memory, "MB:0=40;1=40", "MB:0=40;1=50"));
        assert!(!same(Kind::Memory, "MB:0=40", "L3:0=7ff"));
        assert!(
            same(Kind::Memory, "MB:1=40", "MB:0=100;1=40"),
            "another socket has a level of its own"
        );
        assert!(!same(Kind::Memory, "MB:1=40;2=40", "MB:0=100;1=40"));
    }
}
