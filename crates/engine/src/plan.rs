//! Which nodes form a logical process, which processes form a shard, and how long a window is.
//!
//! Grouping changes speed only: the order of events at a node never depends on it.

use crate::link::{LinkId, LinkSpec, NodeId};
use crate::spread::spread;
use forebay_units::{Span, Time};
use std::fmt;

/// What may be chosen about the execution. None of it changes a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Threads, and so shards. No more are used than there are logical processes.
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
    /// Nodes of each process, ascending; processes in the order of visits.
    pub processes: Vec<Vec<NodeId>>,
    /// Shard of each process.
    pub shard: Vec<u16>,
    /// Shards: as many as threads were given, but no more than there are processes.
    pub shards: usize,
    /// How far the two sides may run.
    pub pace: Pace,
    /// Which side each process is on.
    pub side: Vec<Side>,
    /// Whether a process has to wait until all even ones have run, and not only those of its place.
    pub last: Vec<bool>,
    /// Share of the expected work that the busiest shard has, times the number of shards: 1 is perfect.
    pub imbalance: f64,
}

/// Why the links cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// Links without lookahead join two processes, so neither can run ahead of the other. Only a cut of zero that is forced
    /// does that, and no scenario can: a cut that is chosen is above zero, so such links join one process.
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
        let mut weight = vec![0.0; processes.len()];
        for link in links {
            weight[process_of[link.to.0 as usize] as usize] += link.busy_rate.max(1.0);
        }
        let mut places: Vec<u32> = processes
            .iter()
            .map(|p| p.iter().map(|n| places[n.0 as usize]).min().unwrap_or(u32::MAX))
            .collect();
        let mut arcs: Vec<Arc> = links
            .iter()
            .filter(|l| crossing(l))
            .map(|l| Arc {
                lookahead: l.lookahead.min(LONGEST),
                from: process_of[l.from.0 as usize],
                to: process_of[l.to.0 as usize],
            })
            .collect();
        arcs.sort_unstable();
        let listeners = listeners(&arcs, processes.len());
        let shards = tuning.threads.clamp(1, processes.len().max(1));
        let (shard, imbalance) = spread(&weight, &mut places, &listeners, shards);
        let (side, pace) = sides(&arcs, &places);
        let (order, last) = order(&arcs, &side, &places, &listeners);
        let mut processes: Vec<Option<Vec<NodeId>>> = processes.into_iter().map(Some).collect();
        let mut take = |p: &u32| processes[*p as usize].take().expect("each comes once");
        Ok(Plan {
            processes: order.iter().map(&mut take).collect(),
            shard: order.iter().map(|p| shard[*p as usize]).collect(),
            shards,
            pace,
            side: order.iter().map(|p| side[*p as usize]).collect(),
            last: order.iter().map(|p| last[*p as usize]).collect(),
            imbalance,
        })
    }
}

/// Processes that may influence each other soonest are on different sides, as far as that is possible: the even side runs,
/// then the odd side, and so on by turns.
///
/// An influence of a side on itself has to cross two links, so a visit may cover twice the lookahead of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Runs first.
    Even = 0,
    /// Runs on what the even side has sent.
    Odd = 1,
}

/// How far the sides may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Least lookahead from one side to the other.
    pub hop: Span,
    /// Least lookahead from a side to itself, directly or by way of the other.
    pub turn: Span,
}

impl Pace {
    /// Ends of the windows of both sides, if no event comes before `next`, everything before `reached` has been handled
    /// on each side, and the even side runs first.
    ///
    /// Let e and o be the earliest events of the two sides. The even side handles what is before
    /// `min(o + hop, e + turn)`, which neither side can influence any more; then the odd side knows all arrivals up to one hop
    /// beyond that. What it sends back starts from min(o, e + hop), so it arrives after the end of the even side.
    pub fn ends(&self, next: Time, reached: [Time; 2]) -> [Time; 2] {
        let [even, odd] = reached.map(|side| side.max(next));
        let first = odd.saturating_add(self.hop).min(even.saturating_add(self.turn));
        [first, first.saturating_add(self.hop).min(odd.saturating_add(self.turn))]
    }
}

/// A link between two processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arc {
    lookahead: Span,
    from: u32,
    to: u32,
}

/// Two-colours the processes along ever longer links until one joins two processes of one side. Of the two colourings of
/// each connected part, the one with more processes of no place on the odd side.
fn sides(arcs: &[Arc], places: &[u32]) -> (Vec<Side>, Pace) {
    // Union-find with parity: of each process, another one of its part and whether they differ.
    let mut parent: Vec<(u32, bool)> = (0..places.len() as u32).map(|p| (p, false)).collect();
    fn root(parent: &mut [(u32, bool)], of: u32) -> (u32, bool) {
        let (mut at, mut differs) = (of, false);
        while parent[at as usize].0 != at {
            let (up, by) = parent[at as usize];
            let (above, more) = parent[up as usize];
            parent[at as usize] = (above, by ^ more); // halves the path
            differs ^= by ^ more;
            at = above;
        }
        (at, differs)
    }
    let mut pace = Pace { hop: LONGEST, turn: LONGEST };
    for arc in arcs {
        let (a, b) = (root(&mut parent, arc.from), root(&mut parent, arc.to));
        if a.0 != b.0 {
            parent[a.0.max(b.0) as usize] = (a.0.min(b.0), a.1 == b.1);
        } else if a.1 == b.1 {
            pace.turn = arc.lookahead;
            break;
        }
    }
    let mut homeless = vec![0i32; places.len()]; // of each part: how many of no place are unlike its root, less those like it
    for p in (0..places.len()).filter(|p| places[*p] == u32::MAX) {
        let (root, differs) = root(&mut parent, p as u32);
        homeless[root as usize] += if differs { 1 } else { -1 };
    }
    let side = (0..places.len() as u32)
        .map(|p| {
            let (root, differs) = root(&mut parent, p);
            if differs == (homeless[root as usize] >= 0) { Side::Odd } else { Side::Even }
        })
        .collect::<Vec<_>>();
    let crosses = |arc: &&Arc| side[arc.from as usize] != side[arc.to as usize];
    if let Some(shortest) = arcs.iter().find(crosses) {
        pace.hop = shortest.lookahead;
    }
    pace.turn = pace.turn.min(pace.hop.saturating_mul(2));
    (side, pace)
}

/// The order of visits, and which processes come last.
///
/// A place is visited as a whole, so that what its processes send each other is still in cache: first its even processes,
/// then the odd ones that hear of no other place, each after those that talk to it alone. Processes that hear of several places
/// come last.
fn order(
    arcs: &[Arc],
    side: &[Side],
    places: &[u32],
    listeners: &[Option<u32>],
) -> (Vec<u32>, Vec<bool>) {
    let mut last: Vec<bool> = places.iter().map(|place| *place == u32::MAX).collect();
    for Arc { from, to, .. } in arcs {
        last[*to as usize] |= places[*from as usize] != places[*to as usize];
    }
    for (last, side) in last.iter_mut().zip(side) {
        *last &= *side == Side::Odd;
    }
    let key = |p: &u32| {
        let at = *p as usize;
        let after = match (side[at], listeners[at]) {
            (Side::Odd, _) => *p,
            (Side::Even, Some(to)) if !last[to as usize] => to,
            _ => return (last[at], places[at], 0, false, *p),
        };
        (last[at], places[at], after + 1, side[at] == Side::Odd, *p)
    };
    let mut order: Vec<u32> = (0..side.len() as u32).collect();
    order.sort_by_cached_key(key);
    (order, last)
}

/// Of each process, the only one that it sends to.
fn listeners(arcs: &[Arc], processes: usize) -> Vec<Option<u32>> {
    let mut all = vec![(None, true); processes];
    for Arc { from, to, .. } in arcs {
        let (one, only) = &mut all[*from as usize];
        *only &= one.replace(*to).is_none_or(|before| before == *to);
    }
    all.into_iter().map(|(one, only)| one.filter(|_| only)).collect()
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
        assert_eq!(plan.pace, Pace { hop: Span::from_us(1), turn: Span::from_us(2) });
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
        let mut of_node = [0; 65];
        for (members, shard) in plan.processes.iter().zip(&plan.shard) {
            of_node[members[0].0 as usize] = *shard;
        }
        assert!(of_node[1..].chunks(8).all(|hosts| hosts.windows(2).all(|w| w[0] == w[1])));
        assert!(plan.shard.contains(&0) && plan.shard.contains(&1));
    }

    #[test]
    fn a_place_too_many_is_split_and_so_is_what_has_no_place() {
        // Five pods of two racks with eight hosts, two switches above the racks of each, and four above all.
        let (hosts, racks) = (80, 10);
        let both = |a: u32, b: u32| [link(a, b, 1000), link(b, a, 1000)];
        let rack = |n: u32| hosts + n;
        let agg = |n: u32| hosts + racks + n;
        let core = |n: u32| hosts + 2 * racks + n;
        let mut links: Vec<_> = (0..hosts).flat_map(|h| both(h, rack(h / 8))).collect();
        links.extend(
            (0..racks).flat_map(|r| [0, 1].map(|a| both(rack(r), agg(r / 2 * 2 + a)))).flatten(),
        );
        links.extend(
            (0..racks).flat_map(|a| [0, 1].map(|c| both(agg(a), core(a % 2 * 2 + c)))).flatten(),
        );
        links.sort_by_key(|l| l.to);
        let of = |n: u32| match n {
            0..80 => n / 16,
            80..90 => (n - 80) / 2,
            90..100 => (n - 90) / 2,
            _ => u32::MAX,
        };
        let places: Vec<u32> = (0..104).map(of).collect();
        let plan = Plan::new(104, &links, &places, Tuning { threads: 2, cut: None }).unwrap();
        assert!(plan.imbalance < 1.02, "{}", plan.imbalance);
        let mut shard = [0; 104];
        for (members, of) in plan.processes.iter().zip(&plan.shard) {
            shard[members[0].0 as usize] = *of;
        }
        let ones = |range: std::ops::Range<usize>| shard[range].iter().filter(|s| **s == 1).count();
        assert_eq!([ones(0..80), ones(80..90), ones(90..100), ones(100..104)], [40, 5, 5, 2]);
        assert!((0..80).all(|h| shard[h] == shard[80 + h / 8]), "hosts stay with their rack");
        assert_eq!((ones(0..32), ones(48..80)), (0, 32), "one pod of five is split");
        // No process hears anything in the first phase of a shard that runs at the same time.
        let late = |node: u32| {
            let at = plan.processes.iter().position(|p| p[0].0 == node).unwrap();
            plan.last[at] || plan.side[at] == Side::Even
        };
        let crossing = links.iter().filter(|l| shard[l.from.0 as usize] != shard[l.to.0 as usize]);
        assert!(crossing.clone().count() > 0 && crossing.into_iter().all(|l| late(l.to.0)));
    }
}
