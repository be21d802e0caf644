//! Hosts: profiles, single keys, and settings of some hosts only.

use crate::judge::Judge;
use crate::model::{
    Host, HostChange, HostOverride, HostProfile, HostSettings, Memory, NicOrder, Pacing,
};
use crate::plan::{Plan, matches};
use crate::raw;
use forebay_units::{Bytes, Span};
use std::collections::BTreeMap;

/// Longest wait for an interrupt; drivers allow some milliseconds.
const LONGEST_WAIT: Span = Span::from_secs(1);

/// `GSO_MAX_SIZE` of Linux with large TCP packets, rounded up.
const MOST_GSO: Bytes = Bytes::new(512 << 10);

/// Whether the ACKs of a host may wait where nothing says so: as its profile has it.
pub(super) fn delayed_ack(host: Option<&raw::Host>) -> bool {
    host.and_then(|h| h.keys.profile) == Some(HostProfile::Linux)
}

impl Judge<'_> {
    /// All of `[host]`. `mss` is the largest, `said` tells whether a transport says how ACKs wait.
    pub(super) fn hosts_of(
        &mut self,
        host: Option<&raw::Host>,
        (mss, said): (Bytes, bool),
        plan: &Plan,
    ) -> Host {
        let Some(host) = host else {
            return Host {
                settings: HostSettings::IDEAL,
                memory: None,
                overrides: Vec::new(),
                machines: Vec::new(),
            };
        };
        let settings = host.keys.change.with(host.keys.profile).over(HostSettings::IDEAL);
        self.host_keys("host", &host.keys, settings, mss);
        let testbed = Memory::default();
        let memory = host.keys.memory.as_ref();
        let memory = memory.map(|keys| self.memory("host.memory", keys, &testbed));
        let mut overrides = Vec::with_capacity(host.overrides.len());
        for (i, o) in host.overrides.iter().enumerate() {
            let path = format!("host.override[{i}]");
            let change = o.keys.change.with(o.keys.profile);
            if change == HostChange::default() && o.delayed_ack.is_none() && o.keys.memory.is_none()
            {
                self.say(&path, "changes nothing; write for instance profile = \"linux\"");
            }
            if !plan.names[..plan.hosts].iter().any(|name| matches(&o.place, name)) {
                self.no_such_node(&format!("{path}.where"), &o.place, plan, true);
            }
            self.host_keys(&path, &o.keys, change.over(settings), mss);
            let by_profile = || {
                let profile = o.keys.profile.filter(|_| !said)?;
                Some(profile == HostProfile::Linux)
            };
            let delayed_ack = o.delayed_ack.or_else(by_profile);
            let base = memory.as_ref().unwrap_or(&testbed);
            let own = o.keys.memory.as_ref();
            let own = own.map(|keys| self.memory(&format!("{path}.memory"), keys, base));
            let place = o.place.clone();
            overrides.push(HostOverride { place, change, delayed_ack, memory: own });
        }
        let machines = host.machines.iter().map(|machine| machine.nics.clone()).collect();
        let host = Host { settings, memory, overrides, machines };
        self.machines(&host, plan);
        host
    }

    /// NICs of a machine are hosts that have one memory and can share it.
    fn machines(&mut self, host: &Host, plan: &Plan) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, nics) in host.machines.iter().enumerate() {
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

    /// What must fit together in the settings that the keys at `path` lead to.
    fn host_keys(&mut self, path: &str, keys: &raw::HostKeys, settings: HostSettings, mss: Bytes) {
        if keys.change.nic.is_some()
            && settings.pacing == Pacing::Fq
            && settings.nic != NicOrder::RoundRobin
        {
            self.wrong(
                &format!("{path}.nic"),
                "is an order of its own, as pacing = \"fq\" is; leave out nic, or pace by \"internal\"",
            );
        }
        let gso_max = format!("{path}.gso_max");
        if keys.change.gso_max.is_some() && settings.gso_max > MOST_GSO {
            self.wrong(
                &gso_max,
                format!("is more than Linux allows; write at most \"{MOST_GSO}\""),
            );
        }
        if settings.gso_max < mss && (settings.tso || keys.change.gso_max.is_some()) {
            let path = if keys.change.gso_max.is_some() { gso_max } else { path.into() };
            let text = format!(
                "{} holds less than one segment; write gso_max = \"{mss}\" or more",
                settings.gso_max
            );
            self.say(&path, text);
        }
        for (key, wait) in
            [("rx_usecs", keys.change.rx_usecs), ("rx_jitter", keys.change.rx_jitter)]
        {
            if wait.is_some_and(|wait| wait > LONGEST_WAIT) {
                self.wrong(
                    &format!("{path}.{key}"),
                    format!("is longer than any driver waits; write at most \"{LONGEST_WAIT}\""),
                );
            }
        }
        if keys.change.rx_frames.is_some() && settings.rx_usecs == Span::ZERO {
            self.wrong(
                &format!("{path}.rx_frames"),
                "alone would leave the last packets waiting for ever; write rx_usecs = \"8us\" as well",
            );
        }
        if keys.change.gro == Some(true) && settings.rx_usecs == Span::ZERO {
            self.wrong(
                &format!("{path}.gro"),
                "merges nothing where every packet is taken at once; write rx_usecs = \"8us\" as well",
            );
        }
    }
}
