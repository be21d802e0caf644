//! Paths that some flows take: each must lead from its sender's switch to its receiver's, over cables that are there.

use crate::fabric::{FlowPath, Paths};
use crate::judge::Judge;
use crate::plan::Plan;
use crate::tree::{did_you_mean, shorten};
use crate::workload::FlowSpec;
use std::collections::{BTreeMap, BTreeSet};

/// Puts the paths of a file in its place, sorts them by flow, and says which lead nowhere. `tables`: the flows of each seed.
pub(crate) fn check(
    paths: &mut Paths,
    judge: &mut Judge<'_>,
    plan: &Plan,
    tables: &[(u64, Vec<FlowSpec>)],
) {
    // Each with what goes before a sentence about it.
    let said: Vec<(String, String, FlowPath)> = match std::mem::take(paths) {
        Paths::File(file) => match (judge.read_file)(&file).and_then(|text| parse(&text)) {
            Ok(paths) => paths
                .into_iter()
                .map(|(line, path)| {
                    let place = format!("{:?} line {line}: ", shorten(&file));
                    ("fabric.paths".into(), place, path)
                })
                .collect(),
            Err(why) => {
                return judge.say("fabric.paths", format!("{:?} {why}", shorten(&file)));
            }
        },
        Paths::List(paths) => paths
            .into_iter()
            .enumerate()
            .map(|(i, path)| (format!("fabric.paths[{i}]"), String::new(), path))
            .collect(),
    };
    let known = NodeIndex::of(plan);
    let mut seen = BTreeSet::new();
    for (key, place, path) in &said {
        let twice = || format!("flow {} has a path already; write each flow once", path.flow);
        let wrong = if seen.insert(path.flow) {
            tables.iter().find_map(|(seed, flows)| known.wrong(path, flows, *seed))
        } else {
            Some(twice())
        };
        if let Some(wrong) = wrong {
            judge.say(key, format!("{place}{wrong}"));
        }
        if judge.findings.len() > 100 {
            break;
        }
    }
    let mut all: Vec<FlowPath> = said.into_iter().map(|(_, _, path)| path).collect();
    all.sort_by_key(|path| path.flow);
    *paths = Paths::List(all);
}

/// Names and cables of a plan, to look up.
struct NodeIndex<'p> {
    plan: &'p Plan,
    nodes: BTreeMap<&'p str, u32>,
    joined: BTreeSet<(u32, u32)>,
}

impl<'p> NodeIndex<'p> {
    fn of(plan: &'p Plan) -> Self {
        let nodes = (0u32..).zip(&plan.names).map(|(i, name)| (name.as_str(), i)).collect();
        let joined = plan.cables.iter().flat_map(|c| [(c.a, c.b), (c.b, c.a)]).collect();
        Self { plan, nodes, joined }
    }

    /// What is wrong with a path, with the flows of one seed.
    fn wrong(&self, path: &FlowPath, flows: &[FlowSpec], seed: u64) -> Option<String> {
        let Some(flow) = flows.get(path.flow as usize) else {
            return Some(format!(
                "there is no flow {} with seed {seed}, whose flows are 0 to {}",
                path.flow,
                flows.len().saturating_sub(1)
            ));
        };
        if path.data.is_empty() && path.ack.is_empty() {
            return Some(format!("flow {} has no switches; name them", path.flow));
        }
        let data = self.leads("data", path, &path.data, (flow.src, flow.dst));
        data.or_else(|| self.leads("ack", path, &path.ack, (flow.dst, flow.src)))
    }

    /// Why these switches do not lead from one host to the other.
    fn leads(
        &self,
        what: &str,
        path: &FlowPath,
        switches: &[String],
        ends: (u32, u32),
    ) -> Option<String> {
        if switches.is_empty() {
            return None;
        }
        let name = |node: u32| &self.plan.names[node as usize];
        let mut at = ends.0;
        let mut seen = BTreeSet::new();
        for switch in switches {
            let Some(next) = self.nodes.get(switch.as_str()).copied() else {
                let close = did_you_mean(switch, self.nodes.keys().copied());
                return Some(format!(
                    "flow {}, {what}: no switch is called {:?}{close}",
                    path.flow,
                    shorten(switch)
                ));
            };
            if (next as usize) < self.plan.hosts {
                return Some(format!(
                    "flow {}, {what}: {switch:?} is a host; name only switches",
                    path.flow
                ));
            }
            if !self.joined.contains(&(at, next)) {
                return Some(self.gap(what, path, name(at), switch));
            }
            if !seen.insert(next) {
                return Some(format!(
                    "flow {}, {what}: the path comes to {switch:?} twice; leave the circle out",
                    path.flow
                ));
            }
            at = next;
        }
        let joined = self.joined.contains(&(at, ends.1));
        (!joined).then(|| self.gap(what, path, name(at), name(ends.1)))
    }

    fn gap(&self, what: &str, path: &FlowPath, a: &str, b: &str) -> String {
        format!(
            "flow {}, {what}: no cable joins {a:?} and {b:?}, so the path does not connect",
            path.flow
        )
    }
}

/// `flow,data,ack` with a header line, switches parted by spaces; each with its line.
fn parse(text: &str) -> Result<Vec<(usize, FlowPath)>, String> {
    let mut lines =
        text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let header =
        lines.next().map(|(_, l)| l.trim().trim_start_matches('\u{feff}')).unwrap_or_default();
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    if columns != ["flow", "data", "ack"] {
        return Err(format!(
            "begins with {:?}; its first line must be flow,data,ack",
            shorten(header)
        ));
    }
    lines
        .map(|(i, line)| {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let line = i + 1;
            let [flow, data, ack] = cells[..] else {
                return Err(format!("line {line}: has {} columns, the header has 3", cells.len()));
            };
            let number = flow.parse().map_err(|_| {
                format!("line {line}: {:?} is not the number of a flow", shorten(flow))
            })?;
            let names = |cell: &str| cell.split_whitespace().map(String::from).collect();
            Ok((line, FlowPath { flow: number, data: names(data), ack: names(ack) }))
        })
        .collect()
}
