//! A configuration on a machine: which counters there are, and what each level writes where.
//!
//! Nothing here changes the machine.

use super::claims;
use super::journal::Kind;
use crate::config::{Config, Echo, Victim};
use crate::failure::Failure;
use crate::law::ladder::{Rung, line};
use crate::law::levels::MOST_SOCKETS;
use crate::sense::drops::Machine;
use crate::sense::inputs::Input;
use forebay_laws::host::{HostParams, Signal};
use forebay_linux::Root;
use forebay_linux::capabilities::{Capabilities, Capability, MARKS};
use forebay_linux::cgroup::{self, Cgroups};
use forebay_linux::counters::Counters;
use forebay_linux::machine::Machine as Kernel;
use forebay_linux::netlink;
use forebay_linux::nic::Nic;
use forebay_linux::perf::Group;
use forebay_linux::pmu::{Pmu, iio_of, uncore};
use forebay_linux::resctrl::{Bandwidth, MOUNT, Resctrl, sockets_of_caches};
use std::io::ErrorKind;

/// A file that levels are written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actuator {
    /// What it is.
    pub kind: Kind,
    /// The victim's folder in the cgroup tree.
    pub cgroup: String,
    /// The file.
    pub path: String,
    /// The socket whose level counts; none: the strongest of all.
    pub socket: Option<usize>,
    /// What it holds at each level, from 0 on. Of `schemata`, which another socket has a part of, the values of its own caches.
    pub values: Vec<String>,
}

/// All that levels write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order in which they are written.
    pub actuators: Vec<Actuator>,
    /// The strongest level.
    pub max_level: u8,
}

/// Packets that are to be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Name of the interface that they arrive at.
    pub nic: String,
    /// Index of the interface.
    pub interface: u32,
    /// Where they are marked.
    pub echo: Echo,
    /// Folder of the cgroup whose packets they are, where they are marked there.
    pub folder: Option<String>,
    /// Share of them, in units of 1/65536.
    pub share: u64,
    /// The stack whose law decides.
    pub stack: usize,
}

/// What the configuration wants marked, with the stacks as they are named here.
pub fn markings(root: &Root, config: &Config, stacks: &[String]) -> Result<Vec<Marking>, Failure> {
    let mut found = Vec::new();
    for (nth, nic) in config.nic.iter().enumerate().filter(|(_, nic)| nic.echo != Echo::Off) {
        let key = format!("nic[{nth}].echo: {:?}", nic.echo.name());
        let refuse = |why: String| Failure::Run(format!("{key}: {why}"));
        if !root.is_machine() {
            return Err(refuse(
                "packets are marked on the machine itself, not in a tree (--root)".into(),
            ));
        }
        let missing = Capabilities::read(root).missing(&MARKS);
        if !missing.is_empty() {
            return Err(refuse(format!(
                "{missing} is missing, for the program that marks; setcap {missing}+ep forebay-agent"
            )));
        }
        let interface = netlink::interface(&nic.name)
            .map_err(|error| refuse(format!("the interface {:?}: {error}", nic.name)))?;
        if nic.echo != Echo::Cgroup && !interface.ethernet {
            let why = "is not an Ethernet interface; marking needs Ethernet headers";
            return Err(refuse(format!("{} {why}; use \"cgroup\"", nic.name)));
        }
        let folder = match (&nic.cgroup, Cgroups::find(root)) {
            (None, _) => None,
            (Some(_), None) => return Err(refuse("no cgroup v2 tree is mounted".into())),
            (Some(path), Some(Cgroups { mount, .. })) if root.has(&format!("{mount}{path}")) => {
                Some(format!("{mount}{path}"))
            }
            (Some(path), Some(Cgroups { mount, .. })) => {
                return Err(refuse(format!("there is no cgroup {path} below {mount}")));
            }
        };
        let stack = number_of(root, &nic.name, stacks)
            .ok_or_else(|| refuse("no stack's law decides about its packets".into()))?;
        let (name, share) = (nic.name.clone(), nic.share().expect("it has been checked"));
        let (interface, echo) = (interface.number, nic.echo);
        found.push(Marking { nic: name, interface, echo, folder, share, stack });
    }
    Ok(found)
}

/// The stacks that the configuration's interfaces are behind, as they are named here.
pub fn stacks_of(root: &Root, config: &Config, stacks: &[String]) -> Vec<Option<usize>> {
    config.nic.iter().map(|nic| number_of(root, &nic.name, stacks)).collect()
}

/// The stack that an interface is behind; readings of the whole machine, or of a file, stand for every interface.
fn number_of(root: &Root, nic: &str, stacks: &[String]) -> Option<usize> {
    let named = stack_of(root, nic).and_then(|name| stacks.iter().position(|of| *of == name));
    named.or((stacks.len() == 1).then_some(0))
}

/// The socket of a stack, by its name; the whole machine and a file have none.
pub fn socket_of(stack: &str) -> Option<usize> {
    stack.rsplit_once(".socket")?.1.parse().ok()
}

/// Name of the stack that an interface is behind.
fn stack_of(root: &Root, nic: &str) -> Option<String> {
    let nic = Nic::all(root).into_iter().find(|of| of.name == nic)?;
    let (iio, socket) = iio_of(root, nic.pci.as_deref()?)?;
    Some(format!("{}.socket{socket}", iio.replace("_iio_", "_irp_")))
}

/// What levels write on this machine. A victim with a shorter ladder stays at its last rung.
pub fn plan(root: &Root, config: &Config) -> Result<Plan, Failure> {
    let most = config.victim.iter().map(|victim| victim.ladder.len()).max().unwrap_or(0);
    let mut plan = Plan { actuators: Vec::new(), max_level: most as u8 };
    for (nth, victim) in config.victim.iter().enumerate() {
        of_victim(root, nth, victim, most, &mut plan.actuators)?;
    }
    Ok(plan)
}

fn of_victim(
    root: &Root,
    nth: usize,
    victim: &Victim,
    most: usize,
    into: &mut Vec<Actuator>,
) -> Result<(), Failure> {
    let key = format!("victim[{nth}].cgroup");
    let refuse = |why: String| Failure::Run(format!("{key}: {:?}: {why}", victim.cgroup));
    let Some(Cgroups { mount, .. }) = Cgroups::find(root) else {
        return Err(refuse(
            "no cgroup v2 tree is mounted; mount -t cgroup2 none /sys/fs/cgroup".into(),
        ));
    };
    let own = own_cgroup(root);
    if format!("{own}/").starts_with(&format!("{}/", victim.cgroup)) {
        return Err(Failure::Input(format!(
            "{key}: {:?} holds the agent itself, which is in {own}; write one without it",
            victim.cgroup
        )));
    }
    let cgroup = format!("{mount}{}", victim.cgroup);
    match root.read(&format!("{cgroup}/cgroup.freeze")) {
        Err(error) if error.kind() == ErrorKind::NotFound && !root.has(&cgroup) => {
            return Err(refuse(format!("there is no such cgroup below {mount}")));
        }
        Err(error) => return Err(refuse(format!("cgroup.freeze cannot be read: {error}"))),
        Ok(frozen) if frozen != "0" => {
            if let Some(whom) = claims::holder_of(root, &cgroup) {
                return Err(refuse(format!("{whom} has frozen it; end that one first")));
            }
            return Err(refuse(format!(
                "is frozen already, and no journal here says by whom; to thaw it: echo 0 > {cgroup}/cgroup.freeze"
            )));
        }
        Ok(_) => {}
    }
    let mut rungs = Vec::new();
    for (j, text) in victim.ladder.iter().enumerate() {
        let rung = Rung::parse(text).expect("the configuration has been checked");
        let at = format!("victim[{nth}].ladder[{j}]: {text:?}");
        rungs.push((rung, at));
    }
    let resctrl = Resctrl::read(root).and_then(|of| of.bandwidth);
    let cpus = Kernel::read(root).cpus.max(1);
    let memory = match &resctrl {
        Some(of) => by_socket(of, &sockets_of_caches(root)),
        None => vec![(None, None)],
    };
    let memory = memory.into_iter().map(|(socket, of)| (Kind::Memory, socket, of));
    for (kind, socket, caches) in memory.chain([Kind::Cpu, Kind::Freeze].map(|of| (of, None, None)))
    {
        let mut neutral = match kind {
            Kind::Freeze => Some("0".to_string()),
            Kind::Memory => caches.as_ref().map(|of| line(of, of.unlimited)),
            Kind::Cpu | Kind::Mark => None,
        };
        let mut values: Vec<Option<String>> = vec![None; most + 1];
        for (level, (rung, at)) in rungs.iter().enumerate() {
            let bad = |why: String| Failure::Input(format!("{at}: {why}"));
            values[level + 1] = match (kind, *rung) {
                (Kind::Freeze, Rung::Freeze) => Some("1".into()),
                (Kind::Cpu, Rung::Cpu(share)) => {
                    let now = root.read(&format!("{cgroup}/cpu.max")).map_err(|_| {
                        Failure::Run(format!("{at}: {cgroup} has no cpu.max: enable the controller cpu for it, in cgroup.subtree_control above"))
                    })?;
                    neutral = Some(now);
                    Some(Rung::quota(share, cpus).map_err(bad)?)
                }
                (Kind::Memory, Rung::MemoryPercent(_) | Rung::MemoryGbps(_)) => {
                    let of = caches.as_ref().ok_or_else(|| {
                        Failure::Run(format!("{at}: this machine throttles no memory bandwidth, or {MOUNT} is not mounted; see forebay agent probe"))
                    })?;
                    Some(rung.schemata(of).map_err(bad)?)
                }
                _ => None,
            };
        }
        let (Some(neutral), true) = (neutral, values.iter().any(Option::is_some)) else { continue };
        let path = match kind {
            Kind::Freeze => format!("{cgroup}/cgroup.freeze"),
            Kind::Cpu => format!("{cgroup}/cpu.max"),
            Kind::Memory => format!("{MOUNT}/forebay-{nth}/schemata"),
            Kind::Mark => continue,
        };
        let mut last = neutral;
        let values = values.into_iter().map(|value| {
            last = value.unwrap_or_else(|| last.clone());
            last.clone()
        });
        let (cgroup, values) = (cgroup.clone(), values.collect());
        into.push(Actuator { kind, cgroup, path, socket, values });
    }
    Ok(())
}

/// The caches of each socket; all of them together where there is one, or the kernel does not say which is where.
fn by_socket(of: &Bandwidth, sockets: &[(u32, usize)]) -> Vec<(Option<usize>, Option<Bandwidth>)> {
    let mut parts: Vec<(Option<usize>, Option<Bandwidth>)> = Vec::new();
    for cache in &of.caches {
        let socket = sockets.iter().find(|(id, _)| id == cache).map(|(_, socket)| *socket);
        let Some(socket) = socket.filter(|socket| *socket < MOST_SOCKETS) else {
            return vec![(None, Some(of.clone()))];
        };
        match parts.iter_mut().find(|(known, _)| *known == Some(socket)) {
            Some((_, Some(part))) => part.caches.push(*cache),
            _ => parts.push((Some(socket), Some(Bandwidth { caches: vec![*cache], ..of.clone() }))),
        }
    }
    if parts.len() > 1 { parts } else { vec![(None, Some(of.clone()))] }
}

/// The cgroup v2 of this process, without a slash at its end.
fn own_cgroup(root: &Root) -> String {
    let text = root.read("/proc/self/cgroup").unwrap_or_default();
    cgroup::of_process(&text).unwrap_or_default().to_string()
}

/// Why an interface is not one of this machine's NICs.
fn unknown(root: &Root, nic: &str) -> &'static str {
    if nic == "lo" && root.has("/sys/class/net/lo") {
        "is the loopback, which has no path to memory to watch; write an interface of a NIC"
    } else {
        "there is no such interface"
    }
}

/// Counters of the IIO stacks of the configuration's NICs, each stack once, by name.
pub fn stacks(
    root: &Root,
    config: &Config,
    law: &HostParams,
) -> Result<Vec<(String, Input)>, Failure> {
    let mut found: Vec<(String, Input)> = Vec::new();
    if config.nic.is_empty() {
        return Err(Failure::Run(
            "there is no [[nic]]: name the interface whose path to memory is watched".into(),
        ));
    }
    let cannot = |missing: &Signal| {
        format!(
            "the law {} needs {}, which cannot be read here; see forebay agent probe",
            law.name(),
            missing.name()
        )
    };
    if law.needs().contains(&Signal::MemoryBytes) {
        let known = Nic::all(root);
        for (nth, nic) in config.nic.iter().enumerate() {
            if !known.iter().any(|of| of.name == nic.name) {
                let text = format!("nic[{nth}].name: {:?}: {}", nic.name, unknown(root, &nic.name));
                return Err(Failure::Run(text));
            }
        }
        let nics: Vec<_> = config.nic.iter().map(|nic| nic.name.clone()).collect();
        let machine = Machine::new(Counters::open(root), &nics)
            .map_err(|missing| Failure::Run(cannot(&missing)))?;
        return Ok(vec![("machine".into(), Input::Machine(Box::new(machine)))]);
    }
    for (nth, nic) in config.nic.iter().enumerate() {
        let refuse = |why: String| Failure::Run(format!("nic[{nth}].name: {:?}: {why}", nic.name));
        let Some(device) = Nic::all(root).into_iter().find(|of| of.name == nic.name) else {
            return Err(refuse(unknown(root, &nic.name).into()));
        };
        let events = Kernel::read(root).generation().map(uncore);
        if let Some(missing) = law.needs().iter().find(|of| match of {
            Signal::WriteOccupancy => {
                events.is_none_or(|of| of.occupancy.is_none() || of.clock.is_none())
            }
            Signal::WriteInserts => events.is_none(),
            _ => true,
        }) {
            return Err(refuse(cannot(missing)));
        }
        let Some((events, lines, clock)) =
            events.and_then(|of| Some((of, of.occupancy?, of.clock?)))
        else {
            return Err(refuse(
                "this processor has no counter of the lines in its IIO buffers".into(),
            ));
        };
        let Some((iio, socket)) = device.pci.as_deref().and_then(|pci| iio_of(root, pci)) else {
            return Err(refuse("its IIO stack is not known: the kernel shows no uncore_iio unit for its PCI address".into()));
        };
        let irp = iio.replace("_iio_", "_irp_");
        let unit = |name: &str| {
            Pmu::all(root, name.rsplit_once('_').map_or(name, |(kind, _)| kind))
                .into_iter()
                .find(|of| of.name == name)
        };
        let (Some(irp), Some(iio)) = (unit(&irp), unit(&iio)) else {
            return Err(refuse(format!("the kernel shows no unit {irp}")));
        };
        let name = format!("{}.socket{socket}", irp.name);
        if found.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let open = |pmu: &Pmu, events: &[&[(&'static str, u64)]]| -> Result<Group, Failure> {
            let cpu = pmu.cpus.get(socket).or(pmu.cpus.first()).copied().unwrap_or(0);
            let codes =
                events.iter().map(|fields| pmu.encode(fields)).collect::<Result<Vec<_>, _>>();
            let codes =
                codes.map_err(|field| refuse(format!("{} has no field {field}", pmu.name)))?;
            Group::open(pmu.kind, cpu, &codes).map_err(|error| match error.kind() {
                ErrorKind::PermissionDenied
                    if !Capabilities::read(root).has(Capability::Perfmon) =>
                {
                    let name = Capability::Perfmon.name();
                    refuse(format!(
                        "{name} is missing, for {}; setcap {name}+ep forebay-agent",
                        pmu.name
                    ))
                }
                _ => refuse(format!("{}: {error}", pmu.name)),
            })
        };
        let lines = open(&irp, &[lines.fields, clock.fields])?;
        let inserts = open(&iio, &[events.inserts.fields])?;
        found.push((name, Input::Units(lines, inserts)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Two sockets with two caches each, as some processors number them, and a ladder of all kinds.
    #[test]
    fn memory_is_throttled_by_socket_and_all_else_by_the_machine() {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/plan-test");
        let _ = std::fs::remove_dir_all(&tree);
        let write = |file: &str, text: &str| {
            let file = tree.join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        };
        for (file, text) in [
            ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/self/cgroup", "0::/agent\n"),
            ("proc/cpuinfo", "processor : 0\nprocessor : 1\n"),
            ("sys/fs/cgroup/batch/cgroup.freeze", "0\n"),
            ("sys/fs/cgroup/batch/cpu.max", "max 100000\n"),
            ("sys/fs/resctrl/schemata", "MB:0=100;1=100;2=100;3=100\n"),
            ("sys/fs/resctrl/info/MB/min_bandwidth", "10\n"),
            ("sys/fs/resctrl/info/MB/bandwidth_gran", "10\n"),
            ("sys/fs/resctrl/info/MB/num_closids", "8\n"),
        ] {
            write(file, text);
        }
        let text =
            "[[victim]]\ncgroup = \"/batch\"\nladder = [\"mb:40%\", \"cpu:50%\", \"freeze\"]";
        let config = crate::config::parse("agent.toml", text, false).expect("it is right");
        let planned = || {
            let plan = plan(&Root::at(&tree), &config).expect("it fits");
            let of =
                plan.actuators.into_iter().map(|of| (of.kind, of.socket, of.values[1].clone()));
            of.collect::<Vec<_>>()
        };
        let rest =
            [(Kind::Cpu, None, "max 100000".to_string()), (Kind::Freeze, None, "0".to_string())];
        let whole = (Kind::Memory, None, "MB:0=40;1=40;2=40;3=40".to_string());
        assert_eq!(
            planned(),
            [&[whole][..], &rest].concat(),
            "the kernel does not say which is where"
        );
        for (cpu, cache, socket) in [(0, 0, 0), (1, 1, 1), (2, 2, 0), (3, 3, 1)] {
            let at = format!("sys/devices/system/cpu/cpu{cpu}");
            write(&format!("{at}/cache/index3/id"), &format!("{cache}\n"));
            write(&format!("{at}/topology/physical_package_id"), &format!("{socket}\n"));
        }
        let memory = [(0, "MB:0=40;2=40"), (1, "MB:1=40;3=40")];
        let memory = memory.map(|(socket, line)| (Kind::Memory, Some(socket), line.to_string()));
        assert_eq!(planned(), [&memory[..], &rest].concat());
        std::fs::remove_dir_all(tree).expect("removed");
    }
}
