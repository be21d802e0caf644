//! Links in bundles, so that a fabric of any size has a picture: each link by itself while there are few, else those between two groups
//! of neighbouring nodes together.
//!
//! Nodes stand in rows by their distance from hosts. Groups are of one row: the switches of a pod (`pod[3].edge[0..15]`), else as many
//! neighbours in canonical order as it takes (`core[0..7]`), and the hosts of one switch. Invariant: the bundles follow from names and
//! cables alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Groups of switches in a picture at most, and bundles between them.
const MAX_SWITCHES: usize = 160;
const MAX_CABLES: usize = 1_700;
/// Hosts that stand by themselves at most, and groups of hosts.
const MAX_HOSTS: usize = 1_100;
const MAX_HOST_GROUPS: usize = 2_000;
/// Groups in a row at most, tried one after another until bundles are few enough: beside more than 16, no name finds room.
const IN_A_ROW: [usize; 3] = [usize::MAX, 16, 8];

/// Nodes that stand together in a picture; most often one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The node's name, or those of all: `pod[3].edge[0..15]`.
    pub name: String,
    /// Distance from hosts: 0 for hosts.
    pub row: usize,
}

/// Links from one group to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The group that sends.
    pub from: usize,
    /// The group that receives.
    pub to: usize,
    /// How many links they are.
    pub links: u32,
}

/// All groups and bundles of a fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundles {
    /// Groups of hosts, then those of switches, in canonical order of their first nodes.
    pub groups: Vec<Group>,
    /// Bundles, in canonical order of their first ports.
    pub all: Vec<Bundle>,
    /// Of each port, its bundle.
    pub of_port: Vec<u32>,
}

impl Bundles {
    /// Of nodes by name, the first of which are hosts, and of ports by the nodes at their ends: who sends, and who receives. None
    /// if there is a node without a way to hosts, a host whose first cable does not lead to a switch, or the fabric is too large even in groups.
    pub fn of(names: &[&str], hosts: usize, ports: &[(u32, u32)]) -> Option<Self> {
        let rows = rows(names.len(), hosts, ports)?;
        IN_A_ROW.iter().find_map(|most| {
            let bundles = Self::with(names, hosts, ports, (&rows, *most))?;
            let switches = bundles.groups.iter().filter(|group| group.row > 0).count();
            let row_of = |group: usize| bundles.groups[group].row;
            let between = |b: &&Bundle| row_of(b.from) > 0 && row_of(b.to) > 0;
            let cables = bundles.all.iter().filter(between).count();
            (switches <= MAX_SWITCHES && cables <= MAX_CABLES).then_some(bundles)
        })
    }

    fn with(
        names: &[&str],
        hosts: usize,
        ports: &[(u32, u32)],
        (rows, most): (&[Vec<usize>], usize),
    ) -> Option<Self> {
        let mut of_node = vec![usize::MAX; names.len()];
        let mut groups = Vec::new();
        let mut add = |of_node: &mut [usize], row: usize, nodes: &[usize]| {
            nodes.iter().for_each(|node| of_node[*node] = groups.len());
            let (first, last) = (names[nodes[0]], names[nodes[nodes.len() - 1]]);
            groups.push(Group { name: name_of(first, last), row });
        };
        let below = below(hosts, ports)?;
        match hosts > MAX_HOSTS {
            true if below.len() > MAX_HOST_GROUPS => return None,
            true => below.values().for_each(|hosts| add(&mut of_node, 0, hosts)),
            false => (0..hosts).for_each(|host| add(&mut of_node, 0, &[host])),
        }
        for (up, row) in rows.iter().enumerate() {
            for range in in_ranges(row, names, most) {
                add(&mut of_node, up + 1, &row[range]);
            }
        }
        let mut index: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        let mut all: Vec<Bundle> = Vec::new();
        let of_port = ports
            .iter()
            .map(|(from, to)| {
                let (from, to) = (of_node[*from as usize], of_node[*to as usize]);
                let at = *index.entry((from, to)).or_insert_with(|| {
                    all.push(Bundle { from, to, links: 0 });
                    all.len() as u32 - 1
                });
                all[at as usize].links += 1;
                at
            })
            .collect();
        Some(Self { groups, all, of_port })
    }
}

/// Switches by their distance from hosts, the nearest first, each row in canonical order.
fn rows(nodes: usize, hosts: usize, ports: &[(u32, u32)]) -> Option<Vec<Vec<usize>>> {
    let mut peers = vec![Vec::new(); nodes];
    for (from, to) in ports {
        peers[*from as usize].push(*to as usize);
    }
    let mut distance = vec![usize::MAX; nodes];
    distance[..hosts].fill(0);
    let mut next: VecDeque<usize> = (0..hosts).collect();
    while let Some(node) = next.pop_front() {
        for peer in &peers[node] {
            if distance[*peer] == usize::MAX {
                distance[*peer] = distance[node] + 1;
                next.push_back(*peer);
            }
        }
    }
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (node, far) in distance.iter().enumerate().skip(hosts) {
        if *far == usize::MAX {
            return None;
        }
        rows.resize(rows.len().max(*far), Vec::new());
        rows[far - 1].push(node);
    }
    (!rows.is_empty()).then_some(rows)
}

/// Hosts by the switch that the first cable of each leads to.
fn below(hosts: usize, ports: &[(u32, u32)]) -> Option<BTreeMap<u32, Vec<usize>>> {
    let mut below: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    for (from, to) in ports.iter().filter(|(from, _)| (*from as usize) < hosts) {
        if placed.insert(*from) {
            (*to as usize >= hosts).then_some(())?;
            below.entry(*to).or_default().push(*from as usize);
        }
    }
    (placed.len() == hosts).then_some(below)
}

/// A row of switches in parts that stand together, `most` at most.
fn in_ranges(row: &[usize], names: &[&str], most: usize) -> Vec<Range<usize>> {
    if row.len() <= most {
        return (0..row.len()).map(|at| at..at + 1).collect();
    }
    // Where each begins of those that share what stands before the last point of their names; all of them, where names have none.
    let parent = |at: usize| names[row[at]].rsplit_once('.').map(|(parent, _)| parent);
    let first = |at: &usize| *at == 0 || parent(*at).is_none() || parent(*at) != parent(at - 1);
    let begins: Vec<usize> = (0..row.len()).filter(first).collect();
    let each = begins.len().div_ceil(most);
    let begins: Vec<usize> = begins.into_iter().step_by(each).collect();
    let ends = begins.iter().skip(1).copied().chain([row.len()]);
    begins.iter().zip(ends).map(|(begin, end)| *begin..end).collect()
}

/// A name for all nodes from the first to the last: `pod[3].edge[0..15]`.
fn name_of(first: &str, last: &str) -> String {
    if first == last {
        return first.into();
    }
    let (a, b) = (pieces(first), pieces(last));
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let fits = |(a, b): (&&str, &&str)| a == b || (number(a) && number(b));
    if a.len() != b.len() || !a.iter().zip(&b).all(fits) {
        return format!("{first}..{last}");
    }
    let piece =
        |(a, b): (&&str, &&str)| if a == b { (*a).to_string() } else { format!("{a}..{b}") };
    a.iter().zip(&b).map(piece).collect()
}

/// A name cut where digits begin and end.
fn pieces(name: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let bytes = name.as_bytes();
    for at in 1..bytes.len() {
        if bytes[at].is_ascii_digit() != bytes[at - 1].is_ascii_digit() {
            pieces.push(&name[from..at]);
            from = at;
        }
    }
    pieces.push(&name[from..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fat tree of `k` pods with all its hosts: names, number of hosts, and ports.
    fn fat_tree(k: usize) -> (Vec<String>, usize, Vec<(u32, u32)>) {
        let half = k / 2;
        let pods = || (0..k).flat_map(|pod| (0..half).map(move |at| (pod, at)));
        let mut names: Vec<String> = Vec::new();
        for (pod, edge) in pods() {
            names.extend((0..half).map(|host| format!("pod[{pod}].edge[{edge}].host[{host}]")));
        }
        let hosts = names.len();
        names.extend(pods().map(|(pod, at)| format!("pod[{pod}].edge[{at}]")));
        names.extend(pods().map(|(pod, at)| format!("pod[{pod}].agg[{at}]")));
        names.extend((0..half * half).map(|core| format!("core[{core}]")));
        let (edges, aggs) = (hosts, hosts + k * half);
        let cores = aggs + k * half;
        let mut cables: Vec<(usize, usize)> =
            (0..hosts).map(|host| (host, edges + host / half)).collect();
        for (pod, at) in pods() {
            cables.extend((0..half).map(|agg| (edges + pod * half + at, aggs + pod * half + agg)));
            cables.extend((0..half).map(|core| (aggs + pod * half + at, cores + at * half + core)));
        }
        let both = |(a, b): (usize, usize)| [(a as u32, b as u32), (b as u32, a as u32)];
        (names, hosts, cables.into_iter().flat_map(both).collect())
    }

    fn bundles(k: usize) -> Bundles {
        let (names, hosts, ports) = fat_tree(k);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let bundles = Bundles::of(&names, hosts, &ports).unwrap();
        assert_eq!(bundles.of_port.len(), ports.len());
        let links: u32 = bundles.all.iter().map(|bundle| bundle.links).sum();
        assert_eq!(links as usize, ports.len(), "each link is in one bundle");
        bundles
    }

    #[test]
    fn small_fabrics_have_a_bundle_for_each_link() {
        let bundles = bundles(4);
        assert!(bundles.all.iter().all(|bundle| bundle.links == 1));
        assert_eq!(bundles.groups.len(), 16 + 20);
    }

    #[test]
    fn a_fat_tree_of_1024_hosts_is_grouped_by_pod() {
        let bundles = bundles(16);
        let names: Vec<&str> = bundles.groups.iter().map(|group| group.name.as_str()).collect();
        assert!(names.contains(&"pod[3].edge[0..7]") && names.contains(&"core[0..3]"));
        assert!(names.contains(&"pod[15].edge[7].host[7]"), "hosts stand by themselves");
        assert_eq!(bundles.groups.iter().filter(|group| group.row == 3).count(), 16);
    }

    #[test]
    fn a_fat_tree_of_8192_hosts_has_their_hosts_by_switch() {
        let bundles = bundles(32);
        let hosts: Vec<&Group> = bundles.groups.iter().filter(|group| group.row == 0).collect();
        assert_eq!((hosts.len(), hosts[1].name.as_str()), (512, "pod[0].edge[1].host[0..15]"));
        assert!(bundles.all.len() < 3_000, "{}", bundles.all.len());
    }

    #[test]
    fn what_is_no_tree_of_switches_above_hosts_has_none() {
        assert_eq!(Bundles::of(&["a", "b"], 2, &[(0, 1), (1, 0)]), None, "no switch");
        assert_eq!(Bundles::of(&["h", "s", "t"], 1, &[(0, 1), (1, 0)]), None, "t has no cable");
        assert_eq!(Bundles::of(&[], 0, &[]), None);
    }
}
