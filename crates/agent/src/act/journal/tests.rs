//! Undoing on a machine made up, whose calls fail one after the other, and from journals that were cut.

use super::*;
use crate::act::actuators::prepare;
use crate::act::plan::{Actuator, Plan};
use std::collections::BTreeMap;

/// A machine of files in memory, with resctrl's rules: groups come with their files, take `MB:` in steps of 10, and give tasks back.
#[derive(Clone, Debug, Default, PartialEq)]
struct FakeMachine {
    files: BTreeMap<String, String>,
    calls: usize,
    fails: Option<usize>,
    id: u64, // of the victim's cgroup
}

const GROUP: &str = "/sys/fs/resctrl/forebay-0";

impl FakeMachine {
    fn new() -> Self {
        let files = [
            ("/cg/a/cgroup.freeze", "0"),
            ("/cg/a/cpu.max", "max 100000"),
            ("/cg/a/cgroup.threads", "11 12"),
            ("/cg/a/below/cgroup.threads", "13"),
            ("/cg/b/cgroup.freeze", "1"),
            ("/sys/fs/resctrl/tasks", "1 11 12 13"),
        ];
        let files = files.map(|(path, text)| (path.to_string(), text.to_string()));
        Self { files: files.into(), ..Self::default() }
    }

    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        if self.fails == Some(self.calls) { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    /// As a machine without us has it.
    fn whole(&self) -> bool {
        self.files == Self::new().files
    }
}

impl Tree for FakeMachine {
    fn read(&mut self, path: &str) -> io::Result<String> {
        self.call()?;
        self.files.get(path).cloned().ok_or(ErrorKind::NotFound.into())
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.call()?;
        if path == format!("{GROUP}/schemata") {
            let values = forebay_linux::resctrl::memory_line(text);
            let fits = values.is_some_and(|of| of.iter().all(|(_, value)| value % 10 == 0));
            if !fits {
                return Err(io::Error::from_raw_os_error(22));
            }
        }
        if path == format!("{GROUP}/schemata") {
            // Caches that the line does not name keep their values.
            let values = |text: &str| forebay_linux::resctrl::memory_line(text).unwrap_or_default();
            let file = self.files.get_mut(path).ok_or(ErrorKind::NotFound)?;
            let (new, mut all) = (values(text), values(file));
            all.retain(|(cache, _)| new.iter().all(|(of, _)| of != cache));
            all.extend(new);
            all.sort_unstable();
            let pairs: Vec<_> = all.iter().map(|(cache, of)| format!("{cache}={of}")).collect();
            *file = format!("MB:{}", pairs.join(";"));
            return Ok(());
        }
        if path == format!("{GROUP}/tasks") {
            let root = self.files.get_mut("/sys/fs/resctrl/tasks").expect("it is there");
            *root = root.split(' ').filter(|id| *id != text).collect::<Vec<_>>().join(" ");
            let tasks = self.files.get_mut(path).ok_or(ErrorKind::NotFound)?;
            *tasks = format!("{tasks} {text}");
            return Ok(());
        }
        *self.files.get_mut(path).ok_or(ErrorKind::NotFound)? = text.into();
        Ok(())
    }

    fn make(&mut self, folder: &str) -> io::Result<()> {
        self.call()?;
        self.files.insert(format!("{folder}/schemata"), "MB:0=100;1=100".into());
        self.files.insert(format!("{folder}/tasks"), String::new());
        Ok(())
    }

    fn remove(&mut self, folder: &str) -> io::Result<()> {
        self.call()?;
        self.files.remove(&format!("{folder}/schemata")).ok_or(ErrorKind::NotFound)?;
        let tasks = self.files.remove(&format!("{folder}/tasks")).unwrap_or_default();
        let root = self.files.get_mut("/sys/fs/resctrl/tasks").expect("it is there");
        let mut all: Vec<u32> =
            format!("{root} {tasks}").split_whitespace().filter_map(|id| id.parse().ok()).collect();
        all.sort_unstable();
        *root = all.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        Ok(())
    }

    fn unmark(&mut self, nic: &str, how: &str, names: &[String]) -> io::Result<bool> {
        self.call()?;
        let made =
            |(path, of): (&String, &String)| path == &format!("{how} {nic}") && names.contains(of);
        let found = self.files.iter().find(|of| made(*of)).map(|(path, _)| path.clone());
        Ok(found.is_some_and(|path| self.files.remove(&path).is_some()))
    }

    fn id(&mut self, folder: &str) -> Option<u64> {
        (folder == "/cg/a").then_some(self.id)
    }

    fn folders(&mut self, folder: &str) -> Vec<String> {
        if folder == "/cg/a" { vec!["below".into()] } else { Vec::new() }
    }
}

fn plan() -> Plan {
    let of = |kind, path: &str, values: [&str; 4]| Actuator {
        kind,
        cgroup: "/cg/a".into(),
        path: path.into(),
        socket: None,
        values: values.map(String::from).into(),
    };
    Plan {
        actuators: vec![
            of(
                Kind::Memory,
                &format!("{GROUP}/schemata"),
                ["MB:0=100", "MB:0=40", "MB:0=40", "MB:0=10"],
            ),
            of(
                Kind::Cpu,
                "/cg/a/cpu.max",
                ["max 100000", "max 100000", "20000 100000", "20000 100000"],
            ),
            of(Kind::Freeze, "/cg/a/cgroup.freeze", ["0", "0", "0", "1"]),
        ],
        max_level: 3,
    }
}

/// What the loop would have left in the worst case.
fn throttle(made: &mut FakeMachine) {
    made.fails = None;
    for actuator in plan().actuators {
        if let Some(file) = made.files.get_mut(&actuator.path) {
            file.clone_from(&actuator.values[3]);
        }
    }
}

#[test]
fn what_was_prepared_is_undone_and_once_is_enough() {
    let mut made = FakeMachine::new();
    let mut journal = Journal::new(Vec::new());
    prepare(&mut made, &mut journal, &plan()).expect("it works");
    assert_eq!(made.files[&format!("{GROUP}/tasks")].split_whitespace().count(), 3);
    throttle(&mut made);
    let changes = read(&journal.to);
    assert_eq!(changes, journal.changes);
    assert_eq!(undo(&mut made, &changes).lifted.len(), 3);
    assert!(made.whole(), "{made:?}");
    assert_eq!(undo(&mut made, &changes), UndoReport::default());
    assert!(made.whole());
}

/// A group whose memory has a level for each socket: one group, one line of the journal, and tasks enter when all has been tried.
#[test]
fn a_group_with_a_part_for_each_socket_is_made_and_undone_once() {
    let mut plan = plan();
    let mut other = plan.actuators[0].clone();
    (plan.actuators[0].socket, other.socket) = (Some(0), Some(1));
    other.values = ["MB:1=100", "MB:1=70", "MB:1=70", "MB:1=10"].map(String::from).into();
    plan.actuators.insert(1, other);
    let (mut made, mut journal) = (FakeMachine::new(), Journal::new(Vec::new()));
    prepare(&mut made, &mut journal, &plan).expect("it works");
    assert_eq!(made.files[&format!("{GROUP}/schemata")], "MB:0=100;1=100", "after all tries");
    assert_eq!(made.files[&format!("{GROUP}/tasks")].split_whitespace().count(), 3);
    assert_eq!(journal.changes.len(), 3);
    let calls = made.calls;
    assert!(undo(&mut made, &journal.changes).failed.is_empty() && made.whole());
    for fails in 1..=calls {
        let mut made = FakeMachine { fails: Some(fails), ..FakeMachine::new() };
        let mut journal = Journal::new(Vec::new());
        assert!(prepare(&mut made, &mut journal, &plan).is_err(), "call {fails}");
        made.fails = None;
        undo(&mut made, &read(&journal.to));
        assert!(made.whole(), "call {fails}: {made:?}");
    }
}

#[test]
fn whichever_call_fails_all_is_undone() {
    let calls = {
        let mut made = FakeMachine::new();
        prepare(&mut made, &mut Journal::new(Vec::new()), &plan()).expect("it works");
        made.calls
    };
    assert!(calls > 15, "{calls}");
    for fails in 1..=calls {
        let mut made = FakeMachine { fails: Some(fails), ..FakeMachine::new() };
        let mut journal = Journal::new(Vec::new());
        assert!(prepare(&mut made, &mut journal, &plan()).is_err(), "call {fails}");
        made.fails = None;
        undo(&mut made, &read(&journal.to));
        assert!(made.whole(), "call {fails}: {made:?}");
    }
}

#[test]
fn undoing_that_fails_is_done_the_next_time() {
    let mut ready = FakeMachine::new();
    let mut journal = Journal::new(Vec::new());
    prepare(&mut ready, &mut journal, &plan()).expect("it works");
    throttle(&mut ready);
    for fails in 1..=5 {
        let mut made = FakeMachine { calls: 0, fails: Some(fails), ..ready.clone() };
        let done = undo(&mut made, &journal.changes);
        assert_eq!(done.failed.len(), 1, "call {fails}: {done:?}");
        made.fails = None;
        assert!(
            undo(&mut made, &journal.changes).failed.is_empty() && made.whole(),
            "call {fails}"
        );
    }
}

/// The guard dies at any byte of the journal: what whole lines name may have been changed, and nothing else.
#[test]
fn a_journal_cut_at_any_byte_undoes_what_can_have_been_done() {
    let mut ready = FakeMachine::new();
    let mut journal = Journal::new(Vec::new());
    prepare(&mut ready, &mut journal, &plan()).expect("it works");
    for cut in 0..=journal.to.len() {
        let changes = read(&journal.to[..cut]);
        let lines = journal.to[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(changes, journal.changes[..lines], "cut at {cut}");
        let mut made = FakeMachine::new();
        let part = Plan { actuators: plan().actuators[..lines].to_vec(), max_level: 3 };
        prepare(&mut made, &mut Journal::new(Vec::new()), &part).expect("it works");
        throttle_those(&mut made, &part);
        assert!(undo(&mut made, &changes).failed.is_empty() && made.whole(), "cut at {cut}");
    }
    for flipped in 0..journal.to.len() {
        let mut damaged = journal.to.clone();
        damaged[flipped] ^= 1;
        let right = read(&damaged).iter().all(|change| journal.changes.contains(change));
        assert!(right, "byte {flipped}");
    }
}

fn throttle_those(made: &mut FakeMachine, plan: &Plan) {
    for actuator in &plan.actuators {
        made.files.insert(actuator.path.clone(), actuator.values[3].clone());
    }
}

#[test]
fn what_somebody_else_set_stays() {
    let mut made = FakeMachine::new();
    let mut journal = Journal::new(Vec::new());
    prepare(&mut made, &mut journal, &plan()).expect("it works");
    made.files.insert("/cg/a/cpu.max".into(), "70000 100000".into());
    assert!(undo(&mut made, &journal.changes).failed.is_empty());
    assert_eq!(made.files["/cg/a/cpu.max"], "70000 100000");
}

/// By the cgroup's number, which the kernel never gives twice. Once a name is made again, it belongs to another cgroup.
#[test]
fn a_cgroup_made_anew_under_the_name_of_a_victim_is_left_alone() {
    let mut made = FakeMachine::new();
    let mut journal = Journal::new(Vec::new());
    prepare(&mut made, &mut journal, &plan()).expect("it works");
    throttle(&mut made);
    made.id += 1;
    let undone = undo(&mut made, &read(&journal.to));
    assert_eq!((undone.lifted, undone.failed), (vec![GROUP.to_string()], Vec::new()));
    assert_eq!(made.files["/cg/a/cgroup.freeze"], "1", "of somebody else");
    assert_eq!(made.files["/cg/a/cpu.max"], "20000 100000");
    made.id -= 1;
    assert_eq!(undo(&mut made, &read(&journal.to)).lifted.len(), 2, "and of the victim itself");
}

/// A forged journal causes no write that an agent could not have made.
#[test]
fn only_victims_and_groups_of_resctrl_are_an_agents() {
    let change = |kind, path: &str, before: &str, ours: &str| Change {
        kind,
        path: path.into(),
        before: before.into(),
        ours: vec![ours.into()],
        id: None,
    };
    let (mount, group) = (Some("/cg"), "/sys/fs/resctrl/forebay-3");
    for (right, of) in [
        (true, change(Kind::Freeze, "/cg/a/b/cgroup.freeze", "0", "1")),
        (false, change(Kind::Freeze, "/cg/a/cgroup.freeze", "1", "0")),
        (false, change(Kind::Freeze, "/cg/../etc/cgroup.freeze", "0", "1")),
        (false, change(Kind::Freeze, "/cg/cgroup.freeze", "0", "1")),
        (false, change(Kind::Freeze, "/etc/passwd", "0", "1")),
        (false, change(Kind::Freeze, "/cg/a/cgroup.kill", "0", "1")),
        (true, change(Kind::Cpu, "/cg/a/cpu.max", "max 100000", "20000 100000")),
        (true, change(Kind::Cpu, "/cg/a/cpu.max", "7000 100000", "20000 100000")),
        (false, change(Kind::Cpu, "/cg/a/cpu.max", "OWNED", "20000 100000")),
        (false, change(Kind::Cpu, "/tmp/a/cpu.max", "max 100000", "20000 100000")),
        (true, change(Kind::Memory, group, "MB:0=100", "MB:0=40")),
        (false, change(Kind::Memory, "/sys/fs/resctrl/batch", "MB:0=100", "MB:0=40")),
        (false, change(Kind::Memory, "/sys/fs/resctrl/forebay-3/../x", "MB:0=100", "MB:0=40")),
        (false, change(Kind::Memory, "/home/forebay-3", "MB:0=100", "MB:0=40")),
        (true, change(Kind::Mark, "eth0", "tcx", "forebay_7")),
        (false, change(Kind::Mark, "eth0", "tcx", "cilium_host")),
    ] {
        assert_eq!(of.is_an_agents(mount), right, "{of:?}");
        assert!(!of.is_an_agents(None) || matches!(of.kind, Kind::Memory | Kind::Mark), "{of:?}");
    }
}

#[test]
fn nothing_is_changed_that_the_journal_could_not_take() {
    struct FullDisk;
    impl Write for FullDisk {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut made = FakeMachine::new();
    let said = prepare(&mut made, &mut Journal::new(FullDisk), &plan()).expect_err("no space");
    assert!(said.contains("cannot write the journal for it"), "{said}");
    assert!(made.whole() && made.calls == 0);
}

#[test]
fn marks_are_undone_by_interface_and_name() {
    let mut made = FakeMachine::new();
    for (path, name) in [("clsact eth0", "forebay_7"), ("tcx eth1", "forebay_8")] {
        made.files.insert(path.into(), name.into());
    }
    let mark = |nic: &str, how: &str| Change {
        kind: Kind::Mark,
        path: nic.into(),
        before: how.into(),
        ours: vec!["forebay_7".into()],
        id: None,
    };
    let mut journal = Journal::new(Vec::new());
    for change in [mark("eth0", "clsact"), mark("eth1", "tcx")] {
        journal.add(change).expect("in memory");
    }
    let changes = read(&journal.to);
    assert_eq!(changes, journal.changes);
    let undone = undo(&mut made, &changes);
    assert_eq!((undone.lifted, undone.failed), (vec!["eth0".to_string()], Vec::new()));
    assert_eq!(made.files.remove("tcx eth1").as_deref(), Some("forebay_8"), "another agent's");
    assert!(made.whole() && undo(&mut made, &changes).lifted.is_empty());
}
