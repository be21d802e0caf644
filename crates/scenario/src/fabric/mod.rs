//! `[fabric]`: nodes, cables and routing; one type for each table of the file, the checked scenario and the resolved file.

mod shaper;

pub use shaper::*;

pub(crate) use forebay_settings::PAUSES_NOTHING;
pub use forebay_settings::{
    AlikePause, Buffer, ClassLimit, ClassMarking, ClassPause, ClassWeight, Clock, CreditClass,
    CreditFor, DeadPort, Ecn, EcnMarking, Ect, HashSeed, Headroom, Hierarchical, IngressAccount,
    MarkAt, NextHops, NotEct, OverLimit, Pause, PauseSettings, Policy, PoolThreshold, PortRules,
    QueueFor, Release, Requests, Routing, SharedBuffer, ShortHeadroom, Switch, Threshold,
    TokenBucket, Trim, Turns, Watchdog, WatchdogAction, WireSettings, Xoff,
};

use crate::judge::Judge;
use crate::quantity::QueueLength;
use crate::topology::{Link, Topology};
use forebay_laws::RoleName;
use forebay_units::{BitsPerSec, Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes and cables.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Fabric {
    /// Shape, which names hosts and switches.
    #[serde(flatten)]
    pub topology: Topology,
    /// Cables between hosts and their switch.
    pub host_link: Link,
    /// Cables between switches, and the bottleneck of a dumbbell. Default: as host_link.
    #[serde(default)]
    pub fabric_link: Link,
    /// Path choice among equal-cost next hops. Default: "ecmp".
    #[serde(default)]
    pub routing: Routing,
    /// Order in which "ecmp-murmur3" lists equal-cost next hops, by the numbers of switches; other routing has no such list. The public HPCC simulator sorts them by memory address: "descending" on Linux, where each of its switches is a mapping of its own and mappings grow downwards. Default: "ascending".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hops: Option<NextHops>,
    /// Switches that hash with the same seed, for routing "ecmp" and "ecmp-symmetric". Default: "per-switch" for "ecmp", "per-tier" for
    /// "ecmp-symmetric".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_seed: Option<HashSeed>,
    /// Time from the failure or return of a link to new routes. Default: routes never change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reroute_after: Option<Span>,
    /// Switches that single flows take, instead of the choice of routing: a list, or the path (relative to this file) of a CSV file with
    /// the columns flow, data, ack. Default: routing chooses.
    #[serde(default, skip_serializing_if = "Paths::is_empty")]
    pub paths: Paths,
    /// Keys of all ports.
    #[serde(flatten)]
    pub wire: WireSettings,
    /// Settings of all switches.
    #[serde(default)]
    pub switch: Switch,
    /// Settings of single cables and nodes; later entries win.
    #[serde(default, rename = "override", skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Token buckets at ports.
    #[serde(default, rename = "shaper", skip_serializing_if = "Vec::is_empty")]
    pub shapers: Vec<Shaper>,
}

/// Paths of single flows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// A file of them, until the scenario has been checked.
    File(String),
    /// The paths, sorted by flow once the scenario has been checked.
    List(Vec<FlowPath>),
}

impl Default for Paths {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Paths {
    /// All paths.
    pub fn all(&self) -> &[FlowPath] {
        match self {
            Self::List(all) => all,
            Self::File(_) => &[],
        }
    }

    fn is_empty(&self) -> bool {
        self == &Self::default()
    }
}

/// Switches that a flow takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct FlowPath {
    /// Number of the flow in flows.csv.
    pub flow: u32,
    /// Switches of its data, from the sender's to the receiver's. Default: as routing chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Switches of its ACKs, from the receiver's to the sender's. Default: as routing chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ack: Vec<String>,
}

/// Settings of single cables and nodes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Override {
    /// A node, `leaf[0]`; a cable, `leaf[0]-spine[1]`; either with `*` as an index.
    #[serde(rename = "where")]
    pub place: String,
    /// Rate of the cable, or of all cables of the node. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitsPerSec>,
    /// Propagation delay of these cables. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Limit of the queues at both ends, in bytes or packets. Default: fabric.switch.port_limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_limit: Option<QueueLength>,
    /// Probability that a packet is lost on the cable, both ways, 0 to 1. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Pause by the ingress ports of this switch, or of the switches at both ends of this cable. Default: fabric.switch.pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

impl Fabric {
    /// Settings of pause that are in force somewhere, those of all switches first.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = &Pause> {
        let of_overrides = self.overrides.iter().filter_map(|o| o.pause.as_ref());
        core::iter::once(&self.switch.pause).chain(of_overrides).filter_map(Pause::on)
    }

    /// Fills in the defaults that depend on other keys, and says what is wrong with the table. `packet`: a full packet of
    /// `[transport]`.
    pub(crate) fn check(&mut self, judge: &mut Judge<'_>, packet: Bytes) {
        let before = judge.findings.len();
        self.topology.check(judge);
        let laid_out = (judge.findings.len() == before).then_some(&self.topology);
        let ports = || laid_out.map_or(1, Topology::most_ports);
        self.switch.check(&mut judge.table("fabric.switch"), ports, packet);
        if let Some(hierarchical) = &self.switch.hierarchical {
            judge.group_law("fabric.switch.hierarchical", hierarchical);
        }
        judge.link("fabric.host_link", self.host_link);
        let path = "fabric.fabric_link";
        match self.topology.take_link() {
            Some((alias, link)) => {
                let alias = format!("fabric.{alias}");
                if judge.given(path) {
                    let text = "and fabric_link say the same thing twice; write one of them";
                    judge.wrong(&alias, text);
                }
                judge.link(&alias, link);
                self.fabric_link = link;
            }
            None if judge.given(path) => judge.link(path, self.fabric_link),
            None => self.fabric_link = self.host_link,
        }
        // Other routing has no list of next hops; the key is ignored, so that routing alone can be swept.
        let listed = self.routing == Routing::EcmpMurmur3;
        self.next_hops = listed.then(|| self.next_hops.unwrap_or_default());
        if let Some(span) = self.reroute_after {
            judge.short("fabric.reroute_after", span);
        }
        self.wire.check(&mut judge.table("fabric"));
        for (i, one) in self.overrides.iter_mut().enumerate() {
            one.check(judge, &format!("fabric.override[{i}]"));
        }
    }
}

impl Override {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str) {
        if let Some(rate) = self.rate {
            judge.rate(&format!("{path}.rate"), rate);
        }
        if let Some(delay) = self.delay {
            judge.delay(&format!("{path}.delay"), delay);
        }
        if let Some(loss) = self.loss {
            judge.share(&format!("{path}.loss"), loss);
        }
        if let Some(pause) = &mut self.pause {
            pause.check(&mut judge.table(path), "pause");
        }
        let Self { place: _, rate, delay, port_limit, loss, pause } = self;
        let keys = [rate.is_some(), delay.is_some(), port_limit.is_some(), loss.is_some()];
        if !keys.contains(&true) && pause.is_none() {
            let text = "changes nothing; write a rate, a delay, a port_limit, a loss or pause";
            judge.say(path, text);
        }
    }
}

impl Judge<'_> {
    /// Says what is wrong with the law of a table.
    fn group_law(&mut self, path: &str, of: &Hierarchical) {
        match self.laws.group(&of.law) {
            Ok(mut law) => self.set_params(&format!("{path}.params"), &mut law, &of.params),
            Err(_) => self.no_such_law(&format!("{path}.law"), RoleName::Group, &of.law),
        }
    }

    fn link(&mut self, path: &str, link: Link) {
        self.rate(&format!("{path}.rate"), link.rate);
        self.delay(&format!("{path}.delay"), link.delay);
    }
}
