//! Folded Clos of three tiers, of any widths.

use super::{ALONE, Draft, MOST_PORTS, Pods, Shape, usual};
use crate::judge::Judge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pods of racks below a core, of any widths: names as in a fat tree of three tiers. Each edge switch is joined to every
/// aggregation switch of its pod; aggregation switch `a` of each pod to the `a`-th of equal groups of core switches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Clos {
    /// Pods, 1 to 65535.
    #[schemars(range(min = 1))]
    pub pods: u64,
    /// Edge switches of a pod, each joined to every aggregation switch of it.
    #[schemars(range(min = 1))]
    pub edges_per_pod: u64,
    /// Aggregation switches of a pod; the a-th is joined to the a-th of as many equal groups of core switches.
    #[schemars(range(min = 1))]
    pub aggs_per_pod: u64,
    /// Core switches: a multiple of aggs_per_pod.
    #[schemars(range(min = 1))]
    pub cores: u64,
    /// Hosts of an edge switch.
    #[schemars(range(min = 1))]
    pub hosts_per_edge: u64,
}

impl Shape for Clos {
    fn check(&self, judge: &mut Judge<'_>) {
        let Self { pods, edges_per_pod: edges, aggs_per_pod: aggs, cores, hosts_per_edge: hosts } =
            *self;
        let fits = judge.counts(&[
            ("pods", pods, MOST_PORTS),
            ("edges_per_pod", edges, MOST_PORTS),
            ("aggs_per_pod", aggs, MOST_PORTS),
            ("hosts_per_edge", hosts, MOST_PORTS),
            ("cores", cores, MOST_PORTS * MOST_PORTS),
        ]);
        if !fits {
            return;
        }
        if cores % aggs != 0 {
            let text = format!(
                "{cores} core switches cannot be split among {aggs} aggregation switches of a pod; write a multiple of {aggs}"
            );
            judge.say("fabric.cores", text);
        }
        let racks = u128::from(pods * edges);
        let cables = racks * u128::from(aggs) + u128::from(pods * cores);
        judge.forecast("fabric.pods", racks * u128::from(hosts), cables);
        let most = (hosts + aggs).max(edges + cores / aggs).max(pods);
        if most > MOST_PORTS {
            let text = format!("{most} ports are more than a switch has; at most {MOST_PORTS}");
            judge.say("fabric.kind", text);
        }
        if racks * u128::from(hosts) == 1 {
            judge.say("fabric.hosts_per_edge", ALONE);
        }
    }

    fn lay_out(&self) -> Draft {
        lay_out(self.counts())
    }

    fn title(&self) -> String {
        format!(
            "Clos, {} pods x {} edges x {} hosts, {} aggregation switches each, {} cores",
            self.pods, self.edges_per_pod, self.hosts_per_edge, self.aggs_per_pod, self.cores
        )
    }

    fn above_racks(&self) -> &'static str {
        "between edge and aggregation"
    }

    fn pods(&self) -> Option<Pods> {
        Some(self.counts())
    }
}

impl Clos {
    fn counts(&self) -> Pods {
        Pods {
            pods: self.pods as u32,
            edges: self.edges_per_pod as u32,
            aggs: self.aggs_per_pod as u32,
            cores: self.cores as u32,
            hosts: self.hosts_per_edge as u32,
        }
    }
}

/// Hosts by pod and rack; edge, aggregation and core switches; cables from the hosts up.
pub(super) fn lay_out(counts: Pods) -> Draft {
    let Pods { pods, edges, aggs, cores, hosts } = counts;
    let [pods, edges, aggs, cores, hosts] = [pods, edges, aggs, cores, hosts].map(|n| n as usize);
    let n = pods * edges * hosts;
    let (edge, agg, core) = (n, n + pods * edges, n + pods * (edges + aggs));
    let mut draft = Draft { hosts: Vec::new(), switches: Vec::new(), cables: Vec::new() };
    for p in 0..pods {
        for e in 0..edges {
            for h in 0..hosts {
                draft.cables.push(usual(draft.hosts.len(), edge + p * edges + e));
                draft.hosts.push(format!("pod[{p}].edge[{e}].host[{h}]"));
            }
        }
    }
    for p in 0..pods {
        draft.switches.extend((0..edges).map(|e| format!("pod[{p}].edge[{e}]")));
    }
    for p in 0..pods {
        draft.switches.extend((0..aggs).map(|a| format!("pod[{p}].agg[{a}]")));
    }
    draft.switches.extend((0..cores).map(|c| format!("core[{c}]")));
    for p in 0..pods {
        for e in 0..edges {
            let up = |a| usual(edge + p * edges + e, agg + p * aggs + a);
            draft.cables.extend((0..aggs).map(up));
        }
    }
    let group = cores / aggs;
    for p in 0..pods {
        for a in 0..aggs {
            let up = |c| usual(agg + p * aggs + a, core + a * group + c);
            draft.cables.extend((0..group).map(up));
        }
    }
    draft
}
