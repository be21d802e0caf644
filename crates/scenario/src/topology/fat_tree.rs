//! Folded Clos of k-port switches, of two or three tiers.

use super::{Draft, MOST_PORTS, Pods, Shape, clos, leaf_spine};
use crate::judge::Judge;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two tiers: `leaf[i].host[j]`, k leaves of k/2 hosts, k/2 `spine[s]`. Three tiers: `pod[p].edge[e].host[h]`, `pod[p].agg[a]`,
/// `core[c]`, k^3/4 hosts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FatTree {
    /// Tiers of switches: 2 or 3. Default: 3.
    #[serde(default = "three")]
    pub tiers: u64,
    /// Ports of every switch; even, 2 to 65534.
    pub k: u64,
}

fn three() -> u64 {
    3
}

impl Shape for FatTree {
    fn check(&self, judge: &mut Judge<'_>) {
        let Self { tiers, k } = *self;
        if tiers != 2 && tiers != 3 {
            judge.say("fabric.tiers", format!("{tiers} is not possible; write 2 or 3"));
        }
        if k < 2 || k % 2 != 0 {
            let text = format!(
                "{k} cannot be split into ports up and down; write an even number, 4 or more"
            );
            judge.say("fabric.k", text);
        } else if k > MOST_PORTS {
            let text = format!("{k} is more than a switch has ports; write at most 65534");
            judge.say("fabric.k", text);
        } else {
            let k = u128::from(k);
            let (hosts, cables) =
                if tiers == 2 { (k * k / 2, k * k / 2) } else { (k * k * k / 4, k * k * k / 2) };
            judge.forecast("fabric.k", hosts, cables);
        }
    }

    fn lay_out(&self) -> Draft {
        let k = self.k as usize;
        match self.pods() {
            Some(pods) => clos::lay_out(pods),
            None => leaf_spine::leaf_spine(k, k / 2, k / 2),
        }
    }

    fn title(&self) -> String {
        format!("fat tree, {} tiers, k = {}", self.tiers, self.k)
    }

    fn above_racks(&self) -> &'static str {
        if self.tiers == 2 { "between leaf and spine" } else { "between edge and aggregation" }
    }

    fn pods(&self) -> Option<Pods> {
        let (k, half) = (self.k as u32, self.k as u32 / 2);
        let pods = Pods { pods: k, edges: half, aggs: half, cores: half * half, hosts: half };
        (self.tiers != 2).then_some(pods)
    }
}
