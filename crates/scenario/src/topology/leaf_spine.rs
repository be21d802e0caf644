//! Leaves, each joined to every spine.

use super::{ALONE, Draft, Link, MOST_PORTS, Shape, usual};
use crate::judge::Judge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `leaf[i].host[j]` under `leaf[i]`, each leaf joined to every `spine[s]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LeafSpine {
    /// Leaves, 1 to 65535.
    #[schemars(range(min = 1))]
    pub leaves: u64,
    /// Spines, 1 to 65535.
    #[schemars(range(min = 1))]
    pub spines: u64,
    /// Hosts under each leaf; with the spines at most 65535 ports.
    #[schemars(range(min = 1))]
    pub hosts_per_leaf: u64,
    /// Cables between leaf and spine; another name for fabric_link.
    #[serde(default, skip_serializing)]
    pub spine_link: Option<Link>,
}

impl Shape for LeafSpine {
    fn check(&self, judge: &mut Judge<'_>) {
        let Self { leaves, spines, hosts_per_leaf, .. } = *self;
        let fits = judge.counts(&[
            ("leaves", leaves, MOST_PORTS),
            ("spines", spines, MOST_PORTS),
            ("hosts_per_leaf", hosts_per_leaf, MOST_PORTS),
        ]);
        if !fits {
            return;
        }
        let leaf = u128::from(leaves);
        let (hosts, cables) = (leaf * u128::from(hosts_per_leaf), leaf * u128::from(spines));
        judge.forecast("fabric.leaves", hosts, cables);
        let ports = hosts_per_leaf + spines;
        if ports > MOST_PORTS {
            let text = format!(
                "{hosts_per_leaf} hosts and {spines} spines make {ports} ports of a leaf; at most {MOST_PORTS} are possible"
            );
            judge.say("fabric.hosts_per_leaf", text);
        }
        if hosts == 1 {
            judge.say("fabric.hosts_per_leaf", ALONE);
        }
    }

    fn lay_out(&self) -> Draft {
        leaf_spine(self.leaves as usize, self.spines as usize, self.hosts_per_leaf as usize)
    }

    fn title(&self) -> String {
        let Self { leaves, spines, hosts_per_leaf, .. } = self;
        format!("leaf-spine, {leaves} leaves x {hosts_per_leaf} hosts, {spines} spines")
    }

    fn above_racks(&self) -> &'static str {
        "between leaf and spine"
    }

    fn take_link(&mut self) -> Option<(&'static str, Link)> {
        Some(("spine_link", self.spine_link.take()?))
    }
}

/// Hosts by leaf, then their cables, then those of each leaf to all spines.
pub(super) fn leaf_spine(leaves: usize, spines: usize, per_leaf: usize) -> Draft {
    let n = leaves * per_leaf;
    let mut hosts = Vec::with_capacity(n);
    let mut cables = Vec::with_capacity(n + leaves * spines);
    for l in 0..leaves {
        for h in 0..per_leaf {
            cables.push(usual(hosts.len(), n + l));
            hosts.push(format!("leaf[{l}].host[{h}]"));
        }
    }
    for l in 0..leaves {
        cables.extend((0..spines).map(|s| usual(n + l, n + leaves + s)));
    }
    let switches = (0..leaves).map(|l| format!("leaf[{l}]"));
    let switches = switches.chain((0..spines).map(|s| format!("spine[{s}]"))).collect();
    Draft { hosts, switches, cables }
}
