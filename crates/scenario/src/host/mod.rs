//! `[host]`: hosts between cable and transport, their paths to memory, and machines of several NICs.

mod memory;
mod trace;

pub use forebay_settings::{HostChange, HostProfile, HostSettings, NicOrder, Pacing, TxQueues};
pub use memory::{HostControl, Memory};

use crate::judge::Judge;
use crate::plan::{Plan, matches};
use forebay_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// Profile that gives the other keys their defaults. Default: "ideal".
    #[serde(skip_serializing)]
    pub profile: Option<HostProfile>,
    /// Settings of hosts that no override names.
    #[serde(flatten)]
    pub settings: HostSettings,
    /// Path between NIC and memory. Default: no model; memory causes no delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Settings of single hosts; later entries win.
    #[serde(rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<HostOverride>,
    /// Hosts that are NICs of one machine.
    #[serde(rename = "machine", skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
}

/// Settings of single hosts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct HostOverride {
    /// A host, or a pattern with `*` as an index.
    #[serde(rename = "where")]
    pub place: String,
    /// Profile that gives the other keys values. Default: as [host] has them.
    #[serde(default, skip_serializing)]
    pub profile: Option<HostProfile>,
    /// Settings that differ from those of `[host]`.
    #[serde(flatten)]
    pub change: HostChange,
    /// Path between NIC and memory. Keys that are left out come from host.memory. Default: host.memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Whether ACKs of these hosts may wait for a second segment. Default: as transport.delayed_ack, or by profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<bool>,
}

/// A machine with several NICs, which share its cache, its memory, its cores and its antagonists. Each NIC has a cable, a buffer, a PCIe link,
/// IIO slots and a control law of its own; the strongest level that a law requests is in force.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Machine {
    /// The hosts, by name, two or more. Each needs a path to memory.
    pub nics: Vec<String>,
}

impl Host {
    /// The path to memory of the host with this name; `None`: memory is out of the way.
    pub fn memory_at(&self, name: &str) -> Option<&Memory> {
        let named = |o: &&HostOverride| o.memory.is_some() && crate::plan::matches(&o.place, name);
        let over = self.overrides.iter().rev().find(named).and_then(|o| o.memory.as_ref());
        over.or(self.memory.as_ref())
    }

    /// Whether a law controls the memory of some host, if there is one of each place that is named.
    pub fn has_control(&self) -> bool {
        let all = self.memory.iter().chain(self.overrides.iter().filter_map(|o| o.memory.as_ref()));
        all.filter_map(Memory::acting_control).next().is_some()
    }

    /// Settings of the host with this name, and whether its ACKs wait, where that is not as its transport has it.
    pub fn at(&self, name: &str) -> (HostSettings, Option<bool>) {
        let of = self.overrides.iter().filter(|o| crate::plan::matches(&o.place, name));
        of.fold((self.settings, None), |(settings, delayed_ack), o| {
            (o.change.over(settings), o.delayed_ack.or(delayed_ack))
        })
    }

    /// Whether ACKs may wait where nothing says so: as the profile has it.
    pub(crate) fn delays_acks(&self) -> bool {
        self.profile == Some(HostProfile::Linux)
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table. `mss` is the largest, `said` tells
    /// whether a transport says how ACKs wait.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, (mss, said): (Bytes, bool), plan: &Plan) {
        self.settings.fill(self.profile.take(), &judge.table("host"));
        let settings = self.settings;
        settings.check(&mut judge.table("host"), mss);
        if let Some(memory) = &mut self.memory {
            memory.check(judge, "host.memory");
        }
        let base = self.memory.clone().unwrap_or_default();
        for (i, one) in self.overrides.iter_mut().enumerate() {
            let path = format!("host.override[{i}]");
            one.check(judge, &path, (said, &base), plan);
            one.change.over(settings).check(&mut judge.table(&path), mss);
        }
        judge.machines(self, plan);
    }
}

impl HostOverride {
    fn check(
        &mut self,
        judge: &mut Judge<'_>,
        path: &str,
        (said, base): (bool, &Memory),
        plan: &Plan,
    ) {
        let profile = self.profile.take();
        self.change = self.change.with(profile);
        let nothing = self.change == HostChange::default() && self.delayed_ack.is_none();
        if nothing && self.memory.is_none() {
            judge.say(path, "changes nothing; write for instance profile = \"linux\"");
        }
        if !plan.names[..plan.hosts].iter().any(|name| matches(&self.place, name)) {
            judge.no_such_node(&format!("{path}.where"), &self.place, plan, true);
        }
        let by_profile = profile.filter(|_| !said).map(|one| one == HostProfile::Linux);
        self.delayed_ack = self.delayed_ack.or(by_profile);
        if let Some(memory) = &mut self.memory {
            let path = format!("{path}.memory");
            *memory = Memory::over(judge, &path, base);
            memory.check(judge, &path);
        }
    }
}

impl Judge<'_> {
    /// NICs of a machine are hosts that have one memory and can share it.
    fn machines(&mut self, host: &Host, plan: &Plan) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, Machine { nics }) in host.machines.iter().enumerate() {
            let path = format!("host.machine[{i}].nics");
            if nics.len() < 2 {
                let text =
                    "needs two hosts or more; one by itself has one NIC without being named here";
                self.say(&path, text);
            }
            for (n, name) in nics.iter().enumerate() {
                let path = format!("{path}[{n}]");
                if !plan.names[..plan.hosts].contains(name) {
                    self.no_such_node(&path, name, plan, true);
                    continue;
                }
                match seen.insert(name, i) {
                    Some(before) if before == i => {
                        self.wrong(&path, "is named twice; a host has one NIC")
                    }
                    Some(before) => {
                        let text = format!(
                            "is a NIC of host.machine[{before}] already; leave it out of one of them"
                        );
                        self.wrong(&path, text);
                    }
                    None => {}
                }
                let Some(memory) = host.memory_at(name) else {
                    let text =
                        "has no path to memory that it could share; write [host.memory] as well";
                    self.wrong(&path, text);
                    continue;
                };
                let first = host
                    .memory_at(&nics[0])
                    .and_then(|first| first.settings.differs(&memory.settings));
                if let Some(what) = first {
                    let text = format!(
                        "has not the {what} of {}, which NICs of one machine share; write it in [host.memory], for both",
                        nics[0]
                    );
                    self.wrong(&path, text);
                }
            }
        }
    }
}
