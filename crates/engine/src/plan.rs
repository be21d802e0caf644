//! Which nodes form a logical process, which processes form a shard, and how long a window is.
//!
//! Grouping changes speed only: the order of events at a node never depends on it.

use crate::node::{LinkId, LinkSpec, NodeId};
use forebay_units::{Span, Time};
use std::fmt;

/// What may be chosen about the execution. None of it changes a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Threads, and so shards.
    pub threads: usize,
    /// Links with less lookahead than this are contracted; `None`: chosen from the links and their busy rates.
    pub cut: Option<Span>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { threads: 1, cut: None }
    }
}

/// How nodes are grouped.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Nodes of each process, ascending; processes ordered by their first node.
    pub processes: Vec<Vec<NodeId>>,
    /// Shard of each process.
    pub shard: Vec<u16>,
    /// Least lookahead between processes; the longest window. At most one second.
    pub window: Span,
    /// Share of the expected work that the busiest shard has, times the number of shards: 1 is perfect.
    pub imbalance: f64,
}

/// Why the links cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Links without lookahead join two processes, so neither can run ahead of the other.
    ZeroLookahead(Vec<LinkId>),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::ZeroLookahead(links) = self;
        write!(
            f,
            "{} link(s) between logical processes have no lookahead (delay plus switch latency is 0)",
            links.len()
        )
    }
}

impl std::error::Error for PlanError {}

/// Longest window, so that times within one fit 48 bits.
const LONGEST: Span = Span::from_secs(1);

/// Share of its busy rate at which a link is expected to run, for the choice of a cut.
const EXPECTED_USE: f64 = 0.5;

/// Cost of visiting a process once, and of one level of a heap, in the same unit (about a nanosecond).
const VISIT_COST: f64 = 25.0;
const HEAP_LEVEL_COST: f64 = 6.0;

impl Plan {
    /// Groups `nodes` nodes. `places[n]` is a hint: nodes of one place (a pod, a rack) should share a shard;
    /// `u32::MAX` has no preference.
    ///
    /// # Errors
    /// If a forced cut leaves links without lookahead between processes.
    pub fn new(
        nodes: usize,
        links: &[LinkSpec],
        places: &[u32],
        tuning: Tuning,
    ) -> Result<Plan, PlanError> {
        let cut = tuning.cut.unwrap_or_else(|| cheapest_cut(nodes, links));
        let (processes, process_of) = contract(nodes, links, cut);
        let crossing = |l: &LinkSpec| process_of[l.from.0 as usize] != process_of[l.to.0 as usize];
        let stuck: Vec<LinkId> = (0u32..)
            .zip(links)
            .filter(|(_, l)| crossing(l) && l.lookahead == Span::ZERO)
            .map(|(index, _)| LinkId(index))
            .collect();
        if !stuck.is_empty() {
            return Err(PlanError::ZeroLookahead(stuck));
        }
        let window = links
            .iter()
            .filter(|l| crossing(l))
            .map(|l| l.lookahead)
            .min()
            .unwrap_or(LONGEST)
            .min(LONGEST);
        let mut weight = vec![0.0; processes.len()];
        for link in links {
            weight[process_of[link.to.0 as usize] as usize] += link.busy_rate.max(1.0);
        }
        let (shard, imbalance) = spread(&processes, &weight, places, tuning.threads.max(1));
        Ok(Plan { processes, shard, window, imbalance })
    }
}

/// Union-find over the links shorter than `cut`.
fn contract(nodes: usize, links: &[LinkSpec], cut: Span) -> (Vec<Vec<NodeId>>, Vec<u32>) {
    let mut parent: Vec<u32> = (0..nodes as u32).collect();
    fn root(parent: &mut [u32], mut n: u32) -> u32 {
        while parent[n as usize] != n {
            parent[n as usize] = parent[parent[n as usize] as usize];
            n = parent[n as usize];
        }
        n
    }
    for link in links.iter().filter(|l| l.lookahead < cut) {
        let (a, b) = (root(&mut parent, link.from.0), root(&mut parent, link.to.0));
        parent[a.max(b) as usize] = a.min(b); // the least node of a process stays its root
    }
    let mut processes: Vec<Vec<NodeId>> = Vec::new();
    let mut process_of = vec![u32::MAX; nodes];
    for node in 0..nodes as u32 {
        let first = root(&mut parent, node) as usize;
        if process_of[first] == u32::MAX {
            process_of[first] = processes.len() as u32;
            processes.push(Vec::new());
        }
        process_of[node as usize] = process_of[first];
        processes[process_of[first] as usize].push(NodeId(node));
    }
    (processes, process_of)
}

/// The cut with the least expected cost per event: visits of processes that find little to do, against a heap.
fn cheapest_cut(nodes: usize, links: &[LinkSpec]) -> Span {
    let mut cuts: Vec<Span> = links.iter().map(|l| l.lookahead).collect();
    cuts.push(LONGEST);
    cuts.sort_unstable();
    cuts.dedup();
    cuts.retain(|cut| *cut > Span::ZERO);
    if cuts.len() > 8 {
        let step = cuts.len().div_ceil(8);
        cuts = cuts.into_iter().step_by(step).collect();
    }
    let events: f64 = links.iter().map(|l| l.busy_rate * EXPECTED_USE).sum();
    let cost = |cut: Span| {
        let (processes, process_of) = contract(nodes, links, cut);
        let crossing = |l: &&LinkSpec| process_of[l.from.0 as usize] != process_of[l.to.0 as usize];
        let window = links
            .iter()
            .filter(crossing)
            .map(|l| l.lookahead)
            .min()
            .unwrap_or(LONGEST)
            .min(LONGEST);
        let per_visit =
            events * Time::from_ps(window.as_ps()).as_secs_f64() / processes.len() as f64;
        let inner = links.len() - links.iter().filter(crossing).count();
        let heap = if inner == 0 {
            0.0
        } else {
            (links.len() as f64 / processes.len() as f64).max(2.0).log2()
        };
        VISIT_COST / per_visit.max(1e-3) + HEAP_LEVEL_COST * heap
    };
    cuts.into_iter()
        .map(|cut| (cost(cut), cut))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Span::from_ps(1), |(_, cut)| cut)
}

/// Places go whole to shards in turn, filling each to its share; nodes without a place fill what is left.
fn spread(
    processes: &[Vec<NodeId>],
    weight: &[f64],
    places: &[u32],
    shards: usize,
) -> (Vec<u16>, f64) {
    let mut shard = vec![0u16; processes.len()];
    let total: f64 = weight.iter().sum();
    if shards == 1 || total == 0.0 {
        return (shard, 1.0);
    }
    let place = |p: &Vec<NodeId>| p.iter().map(|n| places[n.0 as usize]).min().unwrap_or(u32::MAX);
    let mut rooted: Vec<(u32, usize)> = (0..processes.len())
        .map(|p| (place(&processes[p]), p))
        .filter(|(at, _)| *at != u32::MAX)
        .collect();
    rooted.sort_unstable();
    let rooted_total: f64 = rooted.iter().map(|(_, p)| weight[*p]).sum();
    let mut load = vec![0.0; shards];
    let (mut current, mut passed) = (0, 0.0);
    for group in rooted.chunk_by(|a, b| a.0 == b.0) {
        let group_weight: f64 = group.iter().map(|(_, p)| weight[*p]).sum();
        let middle = passed + group_weight / 2.0;
        while current + 1 < shards && middle > rooted_total * (current + 1) as f64 / shards as f64 {
            current += 1;
        }
        for (_, p) in group {
            shard[*p] = current as u16;
        }
        load[current] += group_weight;
        passed += group_weight;
    }
    for p in (0..processes.len()).filter(|p| place(&processes[*p]) == u32::MAX) {
        let lightest = (0..shards)
            .min_by(|a, b| load[*a].total_cmp(&load[*b]))
            .expect("there is at least one shard");
        shard[p] = lightest as u16;
        load[lightest] += weight[p];
    }
    let busiest = load.iter().copied().fold(0.0, f64::max);
    (shard, busiest * shards as f64 / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: u32, to: u32, ns: u64) -> LinkSpec {
        LinkSpec {
            from: NodeId(from),
            to: NodeId(to),
            lookahead: Span::from_ns(ns),
            busy_rate: 3e6,
        }
    }

    #[test]
    fn short_links_join_their_ends() {
        let links = [link(0, 1, 10), link(1, 2, 1000), link(2, 3, 10)];
        let tuning = Tuning { threads: 1, cut: Some(Span::from_ns(100)) };
        let plan = Plan::new(4, &links, &[0; 4], tuning).unwrap();
        assert_eq!(plan.processes, [vec![NodeId(0), NodeId(1)], vec![NodeId(2), NodeId(3)]]);
        assert_eq!(plan.window, Span::from_us(1));
    }

    #[test]
    fn a_forced_cut_names_links_without_lookahead() {
        let links = [link(0, 1, 0), link(1, 0, 0), link(1, 2, 5)];
        let tuning = Tuning { threads: 1, cut: Some(Span::ZERO) };
        let stuck = Plan::new(3, &links, &[0; 3], tuning);
        assert_eq!(stuck, Err(PlanError::ZeroLookahead(vec![LinkId(0), LinkId(1)])));
        assert!(
            Plan::new(3, &links, &[0; 3], Tuning::default()).is_ok(),
            "by itself it contracts them"
        );
    }

    #[test]
    fn long_links_stay_windows_and_short_ones_become_a_heap() {
        let star = |ns| (1..65).flat_map(|h| [link(h, 0, ns), link(0, h, ns)]).collect::<Vec<_>>();
        let processes =
            |ns| Plan::new(65, &star(ns), &[0; 65], Tuning::default()).unwrap().processes.len();
        assert_eq!(processes(1_000), 65);
        assert_eq!(processes(5), 1);
    }

    #[test]
    fn shards_get_whole_places_and_equal_work() {
        let links: Vec<_> = (1..65).flat_map(|h| [link(h, 0, 1000), link(0, h, 1000)]).collect();
        let places: Vec<u32> =
            (0..65).map(|n| if n == 0 { u32::MAX } else { (n - 1) / 8 }).collect();
        let plan = Plan::new(65, &links, &places, Tuning { threads: 2, cut: None }).unwrap();
        for hosts in (1..65).collect::<Vec<_>>().chunks(8) {
            assert!(hosts.windows(2).all(|w| plan.shard[w[0]] == plan.shard[w[1]]));
        }
        assert!(plan.shard.contains(&0) && plan.shard.contains(&1));
    }
}
