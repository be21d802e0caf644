//! Lists of flows, in the scenario or in a file beside it, and the triggers between them.

use super::Judge;
use super::traffic::{HostIndex, LARGEST_FLOW, MOST_FLOWS, too_many};
use crate::model::{ListedFlow, Stop};
use crate::raw;
use crate::tree::shorten;
use crate::workload::DPORT;
use forebay_units::{Bytes, ParseError, Time};
use std::collections::BTreeMap;

/// Columns that a list needs, and those that it may have.
const COLUMNS: [&str; 4] = ["from", "to", "size", "at"];
const OPTIONAL: [&str; 4] = ["sport", "dport", "after", "fires"];

impl Judge<'_> {
    pub(super) fn list(
        &mut self,
        path: &str,
        flows: Option<&[raw::ListedFlow]>,
        file: Option<&str>,
        stop: Stop,
        hosts: &HostIndex<'_>,
    ) -> Vec<ListedFlow> {
        // The line of each flow of a file.
        let mut lines = Vec::new();
        let flows: Vec<ListedFlow> = match (flows, file) {
            (Some(flows), None) => {
                let all = flows.iter().enumerate();
                all.map(|(i, flow)| self.listed(&format!("{path}.flows[{i}]"), flow)).collect()
            }
            (None, Some(file)) => {
                let listed = self.flow_file(&format!("{path}.file"), file);
                let (numbers, flows) = listed.into_iter().unzip();
                lines = numbers;
                flows
            }
            _ => {
                self.say(
                    path,
                    "needs either flows or a file; write for instance file = \"flows.csv\"",
                );
                Vec::new()
            }
        };
        if flows.is_empty() && self.findings.is_empty() {
            self.say(path, "lists no flows; write at least one");
        }
        if flows.len() as u128 > MOST_FLOWS {
            self.say(path, too_many(flows.len() as u128));
        }
        for (i, flow) in flows.iter().enumerate() {
            // A flow of a file is named by its number there; one of the list has a place of its own.
            let one = match file {
                Some(_) => format!("{path}.file"),
                None => format!("{path}.flows[{i}]"),
            };
            let key =
                |name: &str| if file.is_some() { one.clone() } else { format!("{one}.{name}") };
            // What comes before a sentence about a flow of a file.
            let line = match (file, lines.get(i)) {
                (Some(file), Some(line)) => format!("{:?} line {line}: ", shorten(file)),
                _ => String::new(),
            };
            for (end, name) in [("from", &flow.from), ("to", &flow.to)] {
                if !hosts.knows(name) {
                    let why = Self::no_node_text(name, hosts.plan, true);
                    self.say(&key(end), format!("{line}{why}"));
                }
            }
            if file.is_none() {
                self.flow_size(&key("size"), flow.size);
            } else if flow.size == Bytes::ZERO || flow.size.get() > LARGEST_FLOW {
                let text = format!("{line}{} is no size of a flow; write 1B to 1000TB", flow.size);
                self.say(&one, text);
            }
            if flow.from == flow.to {
                let text =
                    format!("flow {i} goes from {:?} to itself; write another host", flow.from);
                self.say(&one, format!("{line}{text}"));
            }
            if flow.after.is_none() && flow.at >= stop.time {
                let text = format!(
                    "flow {i} starts at {}, not before the end of the run, stop.time = {}",
                    flow.at, stop.time
                );
                self.say(&key("at"), format!("{line}{text}"));
            }
            if self.findings.len() > 100 {
                break;
            }
        }
        self.triggers(path, &flows);
        flows
    }

    fn listed(&mut self, path: &str, f: &raw::ListedFlow) -> ListedFlow {
        if let (Some(_), Some(after)) = (f.at, &f.after) {
            let text = format!("and after = {after:?} are two ways to start; write one of them");
            self.wrong(&format!("{path}.at"), text);
        }
        let usual = if f.after.is_some() { Time::MAX } else { Time::ZERO };
        ListedFlow {
            sport: f.sport.unwrap_or(0) as u16,
            dport: f.dport.map_or(DPORT, |port| port as u16),
            after: f.after.clone(),
            fires: f.fires.as_ref().map(raw::OneOrMore::list).unwrap_or_default(),
            ..ListedFlow::new(&*f.from, &*f.to, f.size.0, f.at.map_or(usual, |at| at.0))
        }
    }

    /// `from,to,size,at` with a header line. Each flow with its line.
    fn flow_file(&mut self, path: &str, file: &str) -> Vec<(usize, ListedFlow)> {
        match (self.read_file)(file).and_then(|text| parse_flows(&text)) {
            Ok(flows) => flows,
            Err(why) => {
                self.say(path, format!("{:?} {why}", shorten(file)));
                Vec::new()
            }
        }
    }

    /// Every trigger that is waited for must be able to fire.
    fn triggers(&mut self, path: &str, flows: &[ListedFlow]) {
        // Of each trigger, the flows that it still waits for.
        let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
        for flow in flows {
            flow.fires.iter().for_each(|name| *missing.entry(name).or_default() += 1);
        }
        let mut waiting: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, flow) in flows.iter().enumerate() {
            let Some(name) = &flow.after else { continue };
            if !missing.contains_key(name.as_str()) {
                let text = format!(
                    "flow {i} waits for the trigger {name:?}, which no flow fires; name it in fires"
                );
                return self.say(path, text);
            }
            waiting.entry(name).or_default().push(i);
        }
        let mut started: Vec<usize> =
            (0..flows.len()).filter(|i| flows[*i].after.is_none()).collect();
        while let Some(flow) = started.pop() {
            for name in &flows[flow].fires {
                let left = missing.get_mut(name.as_str()).expect("every name was counted");
                *left -= 1;
                if *left == 0 {
                    started.extend(waiting.remove(name.as_str()).into_iter().flatten());
                }
            }
        }
        if let Some((name, flows)) = waiting.first_key_value() {
            let text = format!(
                "flow {} waits for the trigger {name:?}, which in the end waits for that flow; break the circle",
                flows[0]
            );
            self.say(path, text);
        }
    }
}

fn parse_flows(text: &str) -> Result<Vec<(usize, ListedFlow)>, String> {
    let mut lines =
        text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let header =
        lines.next().map(|(_, l)| l.trim().trim_start_matches('\u{feff}')).unwrap_or_default();
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let column = |name: &str| {
        columns.iter().position(|c| *c == name).ok_or_else(|| {
            format!("has no column {name:?}; its first line must be from,to,size,at")
        })
    };
    let [from, to, size, at] = COLUMNS.map(column);
    let (from, to, size, at) = (from?, to?, size?, at?);
    let [sport, dport, after, fires] = OPTIONAL.map(|name| column(name).ok());
    lines
        .map(|(i, line)| {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            let line = i + 1;
            if cells.len() != columns.len() {
                return Err(format!(
                    "line {line}: has {} columns, the header has {}",
                    cells.len(),
                    columns.len()
                ));
            }
            let bad = |c: usize, e: ParseError| {
                format!("line {line}, {}: {:?} {e}", columns[c], cells[c])
            };
            let cell = |c: Option<usize>| c.map(|c| cells[c]).filter(|cell| !cell.is_empty());
            let port = |c: Option<usize>, usual: u16| match cell(c) {
                None => Ok(usual),
                Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                    format!("line {line}, {}: {text:?} is no port; write 1 to 65535", columns[c.unwrap_or(0)])
                }),
            };
            let after = cell(after).map(String::from);
            let at = match (cell(Some(at)), &after) {
                (None, Some(_)) => Time::MAX,
                (Some(text), Some(name)) => {
                    return Err(format!(
                        "line {line}: at {text:?} and after {name:?} are two ways to start; leave one empty"
                    ));
                }
                (_, None) => cells[at].parse().map_err(|e| bad(at, e))?,
            };
            let flow = ListedFlow {
                from: cells[from].into(),
                to: cells[to].into(),
                size: cells[size].parse().map_err(|e| bad(size, e))?,
                at,
                sport: port(sport, 0)?,
                dport: port(dport, DPORT)?,
                after,
                fires: cell(fires).unwrap_or_default().split_whitespace().map(String::from).collect(),
            };
            Ok((line, flow))
        })
        .collect()
}
