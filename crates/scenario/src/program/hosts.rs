//! What traffic needs to know of a fabric: names, rates, and the cuts that traffic between racks crosses.

use crate::plan::Plan;
use crate::topology::Topology;
use forebay_units::BitsPerSec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reference of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadRef {
    /// The sum of the hosts' link rates.
    #[default]
    Host,
    /// The rate at which the tightest tier between racks would be full.
    Core,
}

/// Hosts in canonical order, and the tiers above them.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosts {
    /// Name of each host.
    pub names: Vec<String>,
    /// Rate of each host's link.
    pub rates: Vec<BitsPerSec>,
    /// Rack of each host: the index of its switch among switches with hosts.
    pub racks: Vec<u32>,
    /// Tiers between racks, from the hosts up; none where there is one switch.
    pub tiers: Vec<Tier>,
    /// Indices into `names`, by name.
    by_name: Vec<u32>,
}

/// A cut of the fabric: hosts in groups, and the capacity out of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// Name for people: `between leaf and spine`.
    pub name: String,
    /// Group of each host.
    pub group: Vec<u32>,
    /// Capacity out of (and into) each group, in bit/s.
    pub capacity: Vec<u64>,
}

impl Hosts {
    /// From parts, so that a caller with its own layout may fill it.
    pub fn new(
        names: Vec<String>,
        rates: Vec<BitsPerSec>,
        racks: Vec<u32>,
        tiers: Vec<Tier>,
    ) -> Self {
        let mut by_name: Vec<u32> = (0..names.len() as u32).collect();
        by_name.sort_by_key(|i| &names[*i as usize]);
        Self { names, rates, racks, tiers, by_name }
    }

    /// The hosts of a scenario whose plan is at hand.
    pub fn of_plan(plan: &Plan, topology: &Topology) -> Self {
        let n = plan.hosts;
        let mut rates = vec![BitsPerSec::default(); n];
        let mut switch = vec![0u32; n];
        for cable in plan.cables.iter().filter(|c| (c.a as usize) < n) {
            rates[cable.a as usize] = cable.link.rate;
            switch[cable.a as usize] = cable.b;
        }
        // Racks are numbered in the order of their switches.
        let mut rack_of = vec![u32::MAX; plan.names.len()];
        switch.iter().for_each(|s| rack_of[*s as usize] = 0);
        let with_hosts: Vec<usize> = (n..plan.names.len()).filter(|s| rack_of[*s] == 0).collect();
        for (rack, s) in with_hosts.iter().enumerate() {
            rack_of[*s] = rack as u32;
        }
        let racks: Vec<u32> = switch.iter().map(|s| rack_of[*s as usize]).collect();

        let mut tiers = Vec::new();
        if with_hosts.len() > 1 {
            tiers.push(Tier {
                name: topology.above_racks().into(),
                capacity: out_of(plan, with_hosts.len(), |node| rack_of[node]),
                group: racks.clone(),
            });
        }
        if let Some(clos) = topology.clos()
            && with_hosts.len() > 1
            && clos.pods > 1
        {
            let edges = n as u32; // the first edge switch; aggregation follows, then the core
            let racks_in_all = clos.pods * clos.edges;
            let pod_of = |node: usize| match (node as u32).checked_sub(edges) {
                Some(s) if s < racks_in_all => s / clos.edges,
                Some(s) if s < racks_in_all + clos.pods * clos.aggs => {
                    (s - racks_in_all) / clos.aggs
                }
                _ => u32::MAX,
            };
            tiers.push(Tier {
                name: "between pods and core".into(),
                capacity: out_of(plan, clos.pods as usize, pod_of),
                group: racks.iter().map(|rack| rack / clos.edges).collect(),
            });
        }
        Self::new(plan.names[..n].to_vec(), rates, racks, tiers)
    }

    /// Index of the host of this name.
    pub fn index(&self, name: &str) -> Option<u32> {
        let found = self.by_name.binary_search_by(|i| self.names[*i as usize].as_str().cmp(name));
        found.ok().map(|at| self.by_name[at])
    }

    /// Rate in bit/s that load 1 means.
    ///
    /// `host`: the sum of the hosts' rates. `core`: the total rate at which uniform traffic fills the first
    /// group of any tier between racks; in an even fabric, capacity between racks divided by the share of
    /// traffic that leaves its rack.
    pub fn reference(&self, load_ref: LoadRef) -> f64 {
        let core = self.tiers.iter().map(|t| self.full_at(t)).fold(f64::INFINITY, f64::min);
        match load_ref {
            LoadRef::Core if core.is_finite() => core,
            _ => self.rates.iter().copied().map(bits).sum(),
        }
    }

    /// Total rate of uniform traffic at which the tightest group of a tier is full.
    pub(crate) fn full_at(&self, tier: &Tier) -> f64 {
        let n = self.names.len() as f64;
        let mut members = vec![0u32; tier.capacity.len()];
        tier.group.iter().for_each(|g| members[*g as usize] += 1);
        let mut least = f64::INFINITY;
        for (members, capacity) in members.iter().zip(&tier.capacity) {
            let inside = f64::from(*members);
            // Share of all traffic that leaves this group: one end inside, the other not.
            let share = inside * (n - inside) / (n * (n - 1.0));
            if share > 0.0 {
                least = least.min(*capacity as f64 / share);
            }
        }
        least
    }
}

/// Capacity of the cables from each group of nodes to nodes outside it. Hosts' cables do not count.
fn out_of(plan: &Plan, groups: usize, group: impl Fn(usize) -> u32) -> Vec<u64> {
    let mut capacity = vec![0u64; groups];
    for cable in plan.cables.iter().filter(|c| c.a as usize >= plan.hosts) {
        let (a, b) = (group(cable.a as usize), group(cable.b as usize));
        for end in [a, b] {
            if a != b && end != u32::MAX {
                let sum = &mut capacity[end as usize];
                *sum = sum.saturating_add(cable.link.rate.get());
            }
        }
    }
    capacity
}

/// Rates of hosts as bits per second.
pub(crate) fn bits(rate: BitsPerSec) -> f64 {
    rate.get() as f64
}
