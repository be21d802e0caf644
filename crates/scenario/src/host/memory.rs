//! `[host.memory]`: the path between NIC and memory, stage by stage. The stages' keys are the fields of [`MemorySettings`].

use super::trace;
use crate::judge::Judge;
use crate::problem::or_list;
use forebay_host::memory::MemorySettings;
use forebay_host::memory::settings::{LEAST_BUFFER, LONGEST_LATENCY};
use forebay_laws::RoleName;
use forebay_settings::params::{self, Param};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A host's path to memory: NIC buffer, PCIe, IIO slots, cache, memory controller, cores that copy, antagonists, and the law that
/// throttles them. Defaults are the testbed of hostCC (SIGCOMM 2023): Cascade Lake, two memory channels, 100 Gb/s on PCIe 3.0 x16.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    /// Stages of the path, and antagonists.
    #[serde(flatten)]
    pub settings: MemorySettings,
    /// Most bytes of a flow that are unread or on their way: its receive window, 64KiB or more. Default: 1MB (2 MB of tcp_rmem, half
    /// of it for headers).
    pub socket_buffer: Bytes,
    /// Throttle level for the whole run, at most throttle.slowing + throttle.pausing. Not with a control. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 255))]
    pub level: Option<u8>,
    /// Law that sets the throttle level and marks packets. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<HostControl>,
    /// Bytes in the NIC buffer above which the NIC pauses its switch, for the lossless classes of fabric.switch.pause. At half of these
    /// bytes the NIC lets the switch resume. Default: the NIC never pauses, and drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_above: Option<Bytes>,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            settings: MemorySettings::default(),
            socket_buffer: Bytes::new(1_000_000),
            level: None,
            control: None,
            pause_above: None,
        }
    }
}

/// A host law, and how it sees and acts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Control")]
pub struct HostControl {
    /// Name of a law in `forebay laws` of role host.
    pub law: String,
    /// Whether the law acts; with false the host runs as without this table, so that a sweep can compare both. Default: true.
    #[serde(default = "params::yes")]
    pub enabled: bool,
    /// Parameters of the law, by their names in `forebay laws`. Default: as published.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// Time that reading a counter takes, 100ns to 1ms; two loops, one for each counter, do nothing else. Default: 650ns (hostCC,
    /// section 4.1: 0.6 to 0.7 us).
    #[serde(default = "read")]
    pub read: Span,
}

fn read() -> Span {
    Span::from_ns(650)
}

impl Memory {
    /// The control that acts.
    pub fn acting_control(&self) -> Option<&HostControl> {
        self.control.as_ref().filter(|control| control.enabled)
    }

    /// The table at `path`; keys that were not written, and those of its throttle, are those of `base`.
    pub(super) fn over(judge: &Judge<'_>, path: &str, base: &Self) -> Self {
        let mut memory: Self = judge.over(path, base);
        let throttle = format!("{path}.throttle");
        memory.settings.throttle = judge.over(&throttle, &base.settings.throttle);
        memory
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table at `path`.
    pub(super) fn check(&mut self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        self.settings.check(&mut judge.table(path));
        for (i, one) in self.settings.antagonists.iter_mut().enumerate() {
            if let Some(trace) = &mut one.trace {
                trace::check(trace, judge, &format!("{path}.antagonist[{i}].trace"));
            }
        }
        if let Some(control) = &self.control {
            control.check(judge, &at("control"));
        }
        let (acts, most) = (self.acting_control().is_some(), self.settings.throttle.max_level());
        if judge.given(&at("level")) {
            if self.level.is_some_and(|level| level > most) {
                let text = format!("is above the strongest level, which is {most}");
                judge.wrong(&at("level"), text);
            }
            if acts {
                judge.say(&at("level"), "is set by the control; leave out one of them");
            }
        }
        self.level = (!acts).then(|| self.level.unwrap_or(0));
        if self.socket_buffer < LEAST_BUFFER {
            let text =
                format!("holds less than one large segment; write at least \"{LEAST_BUFFER}\"");
            judge.wrong(&at("socket_buffer"), text);
        }
    }
}

impl HostControl {
    fn check(&self, judge: &mut Judge<'_>, path: &str) {
        let at = |key: &str| format!("{path}.{key}");
        match judge.laws.host(&self.law) {
            Ok(mut law) => judge.set_params(&at("params"), &mut law, &self.params),
            Err(_) if judge.laws.flow(&self.law).is_ok() => {
                let (law, names) = (&self.law, or_list(judge.laws.names(RoleName::Host)));
                let text = format!("{law:?} is a law for transport.law; write {names} for a host");
                judge.say(&at("law"), text);
            }
            Err(_) => judge.no_such_law(&at("law"), RoleName::Host, &self.law),
        }
        if self.read < Span::from_ns(100) || self.read > LONGEST_LATENCY {
            let text = format!(
                "is not a time that reading a counter takes; write from \"100ns\" to \"{LONGEST_LATENCY}\""
            );
            judge.wrong(&at("read"), text);
        }
    }
}
