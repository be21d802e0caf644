//! `forebay-agent probe`: what this machine can sense, do and mark; each "no" with its cause and a remedy.
//!
//! Invariant: nothing is opened but for reading, and nothing is changed.

mod credits;

use crate::args;
use crate::failure::{self, Failure};
use forebay_linux::Root;
use forebay_linux::capabilities::{Capabilities, Capability, MARKS};
use forebay_linux::cgroup::Cgroups;
use forebay_linux::ethtool::DriverCounters;
use forebay_linux::machine::Machine;
use forebay_linux::nic::{Nic, STATISTICS};
use forebay_linux::pmu::{Event, Pmu, Uncore, iio_of, uncore};
use forebay_linux::resctrl::{MOUNT, Resctrl};
use serde_json::{Value, json};
use std::fmt::Write;

/// One thing that the machine can or cannot do.
#[derive(Clone, Debug)]
struct Finding {
    area: &'static str,
    name: String,
    can: bool,
    why: String,            // where it is, or the cause of a no
    remedy: Option<String>, // of a no; none: nothing helps on this machine
}

/// `forebay-agent probe`.
pub fn probe(args: &args::Probe) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let machine = Machine::read(&root);
    let found = findings(&root, &machine);
    if args.json {
        failure::json(&as_json(&machine, &found))
    } else {
        failure::data(&page(&machine, &found))
    }
}

/// The machine, or the tree that stands for it.
pub fn root(from: &args::SystemFolders) -> Result<Root, Failure> {
    let Some(folder) = &from.root else { return Ok(Root::machine()) };
    let root = Root::at(folder);
    if root.has("/proc") || root.has("/sys") {
        return Ok(root);
    }
    let folder = folder.display();
    Err(Failure::Input(format!(
        "--root {folder}: there is no proc and no sys in it; name a folder that has them"
    )))
}

/// The machine as JSON, for people and for the folder of a recording.
pub fn described(root: &Root) -> Value {
    let machine = Machine::read(root);
    as_json(&machine, &findings(root, &machine))
}

fn findings(root: &Root, machine: &Machine) -> Vec<Finding> {
    let mut found = Vec::new();
    sense(root, machine, &mut found);
    act(root, machine, &mut found);
    mark(root, machine, &mut found);
    credits::credits(root, machine, &mut FindingSection(&mut found, "credits"));
    found
}

struct FindingSection<'a>(&'a mut Vec<Finding>, &'static str);

impl FindingSection<'_> {
    fn yes(&mut self, name: impl Into<String>, why: impl Into<String>) {
        let (name, why) = (name.into(), why.into());
        self.0.push(Finding { area: self.1, name, can: true, why, remedy: None });
    }

    fn no(&mut self, name: impl Into<String>, why: impl Into<String>, remedy: Option<String>) {
        let (name, why) = (name.into(), why.into());
        self.0.push(Finding { area: self.1, name, can: false, why, remedy });
    }
}

fn sense(root: &Root, machine: &Machine, found: &mut Vec<Finding>) {
    let mut sense = FindingSection(found, "sense");
    uncore_signals(root, machine, &mut sense);
    for (name, path, remedy) in [
        ("softnet", "/proc/net/softnet_stat", None),
        ("TCP", "/proc/net/netstat", None),
        ("PSI", "/proc/pressure/cpu", Some("boot with psi=1, on a kernel with CONFIG_PSI")),
    ] {
        match root.read(path) {
            Ok(_) => sense.yes(name, path),
            Err(error) => sense.no(name, format!("{path}: {error}"), remedy.map(str::to_string)),
        }
    }
    match Resctrl::read(root) {
        Some(of) if !of.counted.is_empty() => {
            sense.yes("MBM", format!("{MOUNT}/mon_data, L3 {}", list(&of.counted)));
        }
        Some(_) => sense.no("MBM", "resctrl counts no memory bandwidth on this processor", None),
        None => sense.no("MBM", no_resctrl(root, machine).0, no_resctrl(root, machine).1),
    }
    let nics = Nic::all(root);
    for nic in &nics {
        let driver = nic.driver.as_deref().unwrap_or("no device");
        let iio = nic.pci.as_deref().and_then(|pci| iio_of(root, pci));
        let iio = iio.map_or(String::new(), |(unit, _)| format!(", behind {unit}"));
        let own = if root.is_machine() { DriverCounters::open(&nic.name).ok() } else { None };
        let own = own.map_or(0, |of| of.names().len());
        let there = STATISTICS
            .iter()
            .filter(|name| root.has(&format!("/sys/class/net/{}/statistics/{name}", nic.name)));
        sense.yes(
            format!("NIC {}", nic.name),
            format!(
                "{driver}, {} standard counters, {own} counters of the driver{iio}",
                there.count()
            ),
        );
    }
    if nics.is_empty() {
        sense.no("NIC", "/sys/class/net has none but the loopback", None);
    }
}

/// I_S, B_S and memory bandwidth by the counters outside the cores.
fn uncore_signals(root: &Root, machine: &Machine, sense: &mut FindingSection<'_>) {
    const SIGNALS: [&str; 3] = ["I_S", "B_S", "memory bandwidth"];
    let Some(of) = machine.generation().map(uncore) else {
        let Machine { vendor, family, model, .. } = machine;
        let seen = if machine.virtual_machine { ", as the hypervisor shows it" } else { "" };
        let of = format!("{vendor} family {family} model {model}{seen}");
        for name in SIGNALS {
            let why = format!("no codes are known for this processor ({of})");
            sense.no(name, why, None);
        }
        return;
    };
    let Uncore { occupancy, clock, inserts, memory } = of;
    match occupancy.zip(clock) {
        Some((occupancy, clock)) => unit(root, machine, sense, SIGNALS[0], &[occupancy, clock]),
        None => sense.no(
            SIGNALS[0],
            "this processor has no counter of the lines that wait in the IIO",
            None,
        ),
    }
    unit(root, machine, sense, SIGNALS[1], &[inserts]);
    unit(root, machine, sense, SIGNALS[2], &memory);
}

/// Whether the units of these events are there and have their fields, and whether this process may read them.
fn unit(
    root: &Root,
    machine: &Machine,
    sense: &mut FindingSection<'_>,
    name: &str,
    events: &[Event],
) {
    let unit = events[0].unit;
    let pmus = Pmu::all(root, unit);
    let Some(first) = pmus.first() else {
        let why = format!("/sys/bus/event_source/devices has no {unit}");
        return if machine.virtual_machine {
            sense.no(
                name,
                format!("{why}: the hypervisor hides it"),
                Some("run on the machine itself, not in a VM".into()),
            );
        } else {
            let module = if unit.starts_with("amd") { "amd-uncore" } else { "intel-uncore" };
            sense.no(
                name,
                why,
                Some(format!("modprobe {module}, or a kernel that knows this processor")),
            );
        };
    };
    let codes =
        events.iter().map(|event| first.encode(event.fields)).collect::<Result<Vec<_>, _>>();
    let codes = match codes {
        Ok(codes) => codes,
        Err(field) => {
            let why =
                format!("{} has no field \"{field}\" that takes the published code", first.name);
            return sense.no(name, why, None);
        }
    };
    let may = Capabilities::read(root).has(Capability::Perfmon);
    let paranoid =
        root.read("/proc/sys/kernel/perf_event_paranoid").ok().and_then(|p| p.parse::<i32>().ok());
    if !may && paranoid.is_none_or(|level| level > 0) {
        let remedy = format!("setcap {}+ep forebay-agent", Capability::Perfmon.name());
        return sense.no(
            name,
            format!("{} units {unit}, which this process may not read", pmus.len()),
            Some(remedy),
        );
    }
    let codes: Vec<_> = codes.iter().map(|[config, ..]| format!("{config:#x}")).collect();
    sense.yes(
        name,
        format!(
            "{} units {unit}, config {} ({})",
            pmus.len(),
            codes.join(" and "),
            events[0].source
        ),
    );
}

/// Why there is no resctrl, and what helps.
fn no_resctrl(root: &Root, machine: &Machine) -> (String, Option<String>) {
    let known = root.read("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some("resctrl")) {
        let why = format!("resctrl is not mounted on {MOUNT}");
        return (why, Some(format!("mount -t resctrl resctrl {MOUNT}")));
    }
    let why = "the kernel has no resctrl";
    if machine.virtual_machine {
        (
            format!("{why}: the hypervisor hides it"),
            Some("run on the machine itself, not in a VM".into()),
        )
    } else {
        (
            why.into(),
            Some("a kernel with CONFIG_X86_CPU_RESCTRL on a processor with MBA or MBE".into()),
        )
    }
}

fn act(root: &Root, machine: &Machine, found: &mut Vec<Finding>) {
    let mut act = FindingSection(found, "act");
    let name = if machine.vendor == "AuthenticAMD" { "MBE" } else { "MBA" };
    match Resctrl::read(root) {
        None => act.no(name, no_resctrl(root, machine).0, no_resctrl(root, machine).1),
        Some(Resctrl { bandwidth: None, .. }) => {
            act.no(name, "resctrl throttles no memory bandwidth on this processor", None)
        }
        Some(Resctrl { bandwidth: Some(of), .. }) => {
            let unit = if of.unlimited > 100 { "/8 GB/s" } else { "%" };
            act.yes(
                name,
                format!(
                    "{MOUNT}, {} to {}{unit} in steps of {}, L3 {}, {} groups",
                    of.min,
                    of.unlimited,
                    of.step,
                    list(&of.caches),
                    of.groups
                ),
            );
        }
    }
    let missing = Capabilities::read(root).missing(&MARKS);
    let btf = "/sys/kernel/btf/vmlinux";
    if machine.kernel < (6, 4) {
        let why = format!("needs Linux 6.4, this is {}", machine.release);
        act.no("struct_ops", why, Some("a later kernel".into()));
    } else if !root.has(btf) {
        let remedy = "a kernel with CONFIG_DEBUG_INFO_BTF";
        act.no("struct_ops", format!("the kernel has no {btf}"), Some(remedy.into()));
    } else if !missing.is_empty() {
        let remedy = format!("setcap {missing}+ep forebay-agent");
        act.no("struct_ops", format!("this process lacks {missing}"), Some(remedy));
    } else {
        act.yes("struct_ops", format!("{btf}; nothing was registered"));
    }
    let Some(cgroups) = Cgroups::find(root) else {
        for name in ["cpu.max", "cgroup.freeze"] {
            act.no(
                name,
                "no cgroup v2 tree is mounted",
                Some("mount -t cgroup2 none /sys/fs/cgroup".into()),
            );
        }
        return;
    };
    let Cgroups { mount, controllers } = cgroups;
    if controllers.iter().any(|name| name == "cpu") {
        act.yes("cpu.max", mount.as_str());
    } else {
        let why = format!("the cgroup v2 tree at {mount} has no controller cpu");
        act.no("cpu.max", why, Some("boot with systemd.unified_cgroup_hierarchy=1".into()));
    }
    if machine.kernel >= (5, 2) {
        act.yes("cgroup.freeze", mount);
    } else {
        act.no("cgroup.freeze", "needs Linux 5.2", Some("a later kernel".into()));
    }
}

fn mark(root: &Root, machine: &Machine, found: &mut Vec<Finding>) {
    let mut mark = FindingSection(found, "mark");
    let has = Capabilities::read(root);
    // Linux 5.8: CAP_BPF, and the clock that leases end by.
    for (name, kernel) in [("tcx", (6, 6)), ("clsact", (5, 8)), ("cgroup", (5, 8))] {
        let missing = has.missing(&MARKS);
        if machine.kernel < kernel {
            let why = format!("needs Linux {}.{}, this is {}", kernel.0, kernel.1, machine.release);
            mark.no(name, why, Some("a later kernel".into()));
        } else if !missing.is_empty() {
            mark.no(
                name,
                format!("this process lacks {missing}"),
                Some(format!("setcap {missing}+ep forebay-agent")),
            );
        } else {
            mark.yes(
                name,
                format!("by version ({}) and capabilities; no program was loaded", machine.release),
            );
        }
    }
}

/// `0, 1`.
fn list(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn as_json(machine: &Machine, found: &[Finding]) -> Value {
    let findings: Vec<_> = found
        .iter()
        .map(|of| json!({ "area": of.area, "name": of.name, "can": of.can, "why": of.why, "remedy": of.remedy }))
        .collect();
    json!({
        "format": 1,
        "kernel": machine.release,
        "vendor": machine.vendor,
        "processor": machine.model_name,
        "family": machine.family,
        "model": machine.model,
        "cpus": machine.cpus,
        "sockets": machine.sockets,
        "virtual_machine": machine.virtual_machine,
        "findings": findings,
    })
}

fn page(machine: &Machine, found: &[Finding]) -> String {
    let place =
        if machine.virtual_machine { "in a virtual machine" } else { "on the machine itself" };
    let mut text = format!(
        "Linux {} {place}; {}, {} CPUs, {} socket{}\n",
        machine.release,
        machine.model_name,
        machine.cpus,
        machine.sockets,
        if machine.sockets == 1 { "" } else { "s" },
    );
    let width = found.iter().map(|of| of.name.len()).max().unwrap_or(0);
    let mut area = "";
    for of in found {
        if of.area != area {
            area = of.area;
            let _ = writeln!(text, "\n{area}");
        }
        let can = if of.can { "yes" } else { "no " };
        let _ = writeln!(text, "  {:width$}  {can}  {}", of.name, of.why);
        if let Some(remedy) = &of.remedy {
            let _ = writeln!(text, "  {:width$}       try: {remedy}", "");
        }
    }
    text += LIMITS;
    text
}

/// What a yes does not mean.
const LIMITS: &str =
    "\nyes: the machine has what it needs. run --mode enforce tests each part before it acts.\n";
