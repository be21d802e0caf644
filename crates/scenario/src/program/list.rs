//! Traffic of kind `list`: flows in the scenario or in a file beside it, and the triggers between them.

use super::{
    DPORT, Error, FlowSpec, Kind, Layout, MOST_FLOWS, Surroundings, control_delay, is_never, never,
    too_many,
};
use crate::judge::{Judge, LARGEST_FLOW};
use crate::names::{OneOrMore, one_or_more};
use crate::tree::shorten;
use forebay_units::{Bytes, ParseError, Span, Time, human};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A list of flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct List {
    /// The flows.
    #[serde(default)]
    pub flows: Vec<ListedFlow>,
    /// A CSV file with the columns from, to, size, at and where needed sport, dport, after, compute, fires; its path is relative to
    /// this file. Not with flows.
    #[serde(default, skip_serializing)]
    pub file: Option<String>,
    /// From the last delivery that fires a trigger until the senders that wait for it learn of it. Default: 1us (our
    /// choice).
    #[serde(default = "control_delay")]
    pub control_delay: Span,
}

/// One flow of a list.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ListedFlow {
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Payload bytes, 1B to 1000TB.
    pub size: Bytes,
    /// When the application hands it over. Default: 0s.
    #[serde(default, skip_serializing_if = "is_never")]
    pub at: Time,
    /// Source port. Default: each host counts its flows of this entry from 10000, as the public HPCC simulator does.
    #[serde(default, skip_serializing_if = "is_counted")]
    #[schemars(range(min = 1, max = 65_535))]
    pub sport: u16,
    /// Destination port. Default: 100.
    #[serde(default = "dport", skip_serializing_if = "is_usual")]
    #[schemars(range(min = 1, max = 65_535))]
    pub dport: u16,
    /// Instead of `at`: the trigger that starts it, once every flow that fires it has been delivered. A trigger of this entry, or else of all
    /// other lists that fire it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// With `after`: how long its sender computes before it hands the flow over, once the trigger has reached it. Default: 0s.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub compute: Span,
    /// Triggers that its delivery helps to fire; each fires once all flows that name it have been delivered.
    #[serde(default, deserialize_with = "one_or_more", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<OneOrMore>")]
    pub fires: Vec<String>,
}

fn dport() -> u16 {
    DPORT
}

fn is_usual(port: &u16) -> bool {
    *port == DPORT
}

/// No time to compute.
fn is_nothing(span: &Span) -> bool {
    *span == Span::ZERO
}

/// 0: its host counts.
fn is_counted(port: &u16) -> bool {
    *port == 0
}

impl ListedFlow {
    /// Of these ends, size and start; all else as usual.
    pub fn new(from: impl Into<String>, to: impl Into<String>, size: Bytes, at: Time) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            size,
            at,
            sport: 0,
            dport: DPORT,
            after: None,
            compute: Span::ZERO,
            fires: Vec::new(),
        }
    }
}

impl Kind for List {
    fn check(&mut self, judge: &mut Judge<'_>, path: &str, around: &Surroundings<'_>) {
        judge.span(&format!("{path}.control_delay"), self.control_delay);
        check(judge, path, (&mut self.flows, &mut self.file), around);
    }

    fn title(&self) -> String {
        format!("list of {}", human::counted(self.flows.len(), "flow"))
    }

    fn forecast(&self, _layout: &Layout<'_>) -> u128 {
        self.flows.len() as u128
    }

    fn mean_size(&self) -> Option<f64> {
        let sum: f64 = self.flows.iter().map(|flow| flow.size.get() as f64).sum();
        Some(sum / (self.flows.len() as f64).max(1.0))
    }

    fn largest(&self) -> Option<Bytes> {
        self.flows.iter().map(|flow| flow.size).max()
    }

    fn last_start(&self, _start: Time, _end: Time) -> Time {
        let starts = self.flows.iter().filter(|flow| flow.after.is_none());
        starts.map(|flow| flow.at).max().unwrap_or(Time::ZERO)
    }

    fn lay_out(&self, layout: &mut Layout<'_>) -> Result<(), Error> {
        for one in &self.flows {
            let (src, dst) = (layout.host(&one.from)?, layout.host(&one.to)?);
            let (sport, dport) = (one.sport, one.dport);
            let flow = FlowSpec { sport, dport, ..layout.flow(src, dst, one.size, one.at) };
            let fits = one.at >= layout.start && one.at < layout.end;
            let made = (fits || one.after.is_some()).then(|| layout.push(flow));
            one.fires.iter().for_each(|name| layout.fires(name, made));
            if let (Some(name), Some(flow)) = (&one.after, made) {
                layout.starts_after(name, flow, (self.control_delay, one.compute));
            }
        }
        layout.note_missing(self.flows.len());
        Ok(())
    }
}

/// Columns that a list needs, and those that it may have.
const COLUMNS: [&str; 4] = ["from", "to", "size", "at"];
const OPTIONAL: [&str; 5] = ["sport", "dport", "after", "compute", "fires"];

/// Checks the flows of the entry at `path`, and puts those of a file in its place.
fn check(
    judge: &mut Judge<'_>,
    path: &str,
    (flows, file): (&mut Vec<ListedFlow>, &mut Option<String>),
    around: &Surroundings<'_>,
) {
    let file = file.take();
    // Of each flow of a file its line and its number; and what is wrong with other lines.
    let (mut places, mut broken) = (Vec::new(), Vec::new());
    match (judge.given(&format!("{path}.flows")), &file) {
        (true, None) => {
            for (i, flow) in flows.iter_mut().enumerate() {
                flow.starts(judge, &format!("{path}.flows[{i}].at"));
            }
        }
        (false, Some(name)) => match (judge.read_file)(name).and_then(|text| parse_flows(&text)) {
            Ok(listed) => {
                for (number, (line, flow)) in listed.into_iter().enumerate() {
                    match flow {
                        Ok(flow) => {
                            places.push((line, number));
                            flows.push(flow);
                        }
                        Err(why) => broken.push((line, why)),
                    }
                }
            }
            Err(why) => judge.say(&format!("{path}.file"), format!("{:?} {why}", shorten(name))),
        },
        _ => {
            let text = "needs either flows or a file; write for instance file = \"flows.csv\"";
            judge.say(path, text);
        }
    }
    if flows.is_empty() && broken.is_empty() && judge.findings.is_empty() {
        judge.say(path, "lists no flows; write at least one");
    }
    if flows.len() as u128 > MOST_FLOWS {
        judge.say(path, too_many(flows.len() as u128));
    }
    let name = file.as_deref().map(shorten).unwrap_or_default();
    let mut broken = broken.into_iter().peekable();
    let say = |judge: &mut Judge<'_>, (line, why): (usize, String)| {
        judge.say(&format!("{path}.file"), format!("{name:?} line {line}{why}"));
    };
    for (i, flow) in flows.iter().enumerate() {
        let (number, line) = match places.get(i) {
            Some((line, number)) => {
                while let Some(before) = broken.next_if(|(other, _)| other < line) {
                    say(judge, before);
                }
                (*number, Some(format!("{name:?} line {line}: ")))
            }
            None => (i, None),
        };
        flow.check(judge, path, (number, line.as_deref()), around);
        if judge.findings.len() > 100 {
            return;
        }
    }
    broken.take(100).for_each(|one| say(judge, one));
}

impl ListedFlow {
    /// A flow that waits for a trigger has no time of its own.
    fn starts(&mut self, judge: &mut Judge<'_>, path: &str) {
        let Some(after) = &self.after else { return };
        if judge.given(path) {
            let text = format!("and after = {after:?} are two ways to start; write one of them");
            judge.wrong(path, text);
        }
        self.at = never();
    }

    /// The `i`-th flow of the entry at `path`. `line`: what comes before a sentence about a flow of a file.
    fn check(
        &self,
        judge: &mut Judge<'_>,
        path: &str,
        (i, line): (usize, Option<&str>),
        around: &Surroundings<'_>,
    ) {
        let one = match line {
            Some(_) => format!("{path}.file"),
            None => format!("{path}.flows[{i}]"),
        };
        let key = |name: &str| if line.is_some() { one.clone() } else { format!("{one}.{name}") };
        let line_text = line.unwrap_or_default();
        for (end, name) in [("from", &self.from), ("to", &self.to)] {
            if !around.knows(name) {
                let why = Judge::no_node_text(name, around.plan, true);
                judge.say(&key(end), format!("{line_text}{why}"));
            }
        }
        if line.is_none() {
            judge.flow_size(&key("size"), self.size);
        } else if self.size == Bytes::ZERO || self.size.get() > LARGEST_FLOW {
            let size = self.size;
            let text = format!("{line_text}{size} is not a size of a flow; write 1B to 1000TB");
            judge.say(&one, text);
        }
        if self.from == self.to {
            let from = &self.from;
            let text =
                format!("{line_text}flow {i} goes from {from:?} to itself; write another host");
            judge.say(&one, text);
        }
        if line.is_none() {
            judge.short(&key("compute"), self.compute);
        }
        if self.after.is_none() && self.compute > Span::ZERO {
            let compute = self.compute;
            let text = format!(
                "{line_text}flow {i} computes for {compute}, but waits for nothing; write after, or a later at"
            );
            judge.say(&key("compute"), text);
        }
        if self.after.is_none() && self.at >= around.stop.time {
            let (at, stop) = (self.at, around.stop.time);
            let text = format!(
                "{line_text}flow {i} starts at {at}, not before the end of the run, stop.time = {stop}"
            );
            judge.say(&key("at"), text);
        }
    }
}

/// Says which triggers of lists, given by the indices of their entries, cannot fire although a flow waits for them.
pub(crate) fn check_triggers(judge: &mut Judge<'_>, lists: &[(usize, &List)]) {
    // A line that could not be read may be what fires a trigger.
    let path = |list: usize| format!("traffic[{}]", lists[list].0);
    let is_broken = |list: usize| judge.findings.iter().any(|of| of.1 == path(list) + ".file");
    if (0..lists.len()).any(is_broken) {
        return;
    }
    let mut fired: BTreeMap<&str, BTreeMap<usize, usize>> = BTreeMap::new();
    for (list, (_, of)) in lists.iter().enumerate() {
        for name in of.flows.iter().flat_map(|flow| &flow.fires) {
            *fired.entry(name).or_default().entry(list).or_default() += 1;
        }
    }
    // Of each trigger that a list waits for: flows that it still waits for, by the lists that fire it; and flows that wait.
    type Waiting<'a> = BTreeMap<(&'a str, usize), (BTreeMap<usize, usize>, Vec<usize>)>;
    let mut waiting: Waiting<'_> = BTreeMap::new();
    for (list, (_, of)) in lists.iter().enumerate() {
        for (i, flow) in of.flows.iter().enumerate() {
            let Some(name) = &flow.after else { continue };
            let Some(mut by) = fired.get(name.as_str()).cloned() else {
                let text = format!(
                    "flow {i} waits for the trigger {name:?}, which no flow fires; name it in fires"
                );
                return judge.say(&path(list), text);
            };
            if by.contains_key(&list) {
                by.retain(|other, _| *other == list);
            }
            waiting.entry((name.as_str(), list)).or_insert((by, Vec::new())).1.push(i);
        }
    }
    let of = |list: usize| (0..lists[list].1.flows.len()).map(move |i| (list, i));
    let mut started: Vec<(usize, usize)> = (0..lists.len()).flat_map(of).collect();
    started.retain(|(list, i)| lists[*list].1.flows[*i].after.is_none());
    while let Some((list, flow)) = started.pop() {
        for name in &lists[list].1.flows[flow].fires {
            let mut met = Vec::new();
            let all = waiting.range_mut((name.as_str(), 0)..=(name.as_str(), usize::MAX));
            for (key, (by, _)) in all {
                if let Some(left) = by.get_mut(&list) {
                    *left -= 1;
                    if by.values().all(|left| *left == 0) {
                        met.push(*key);
                    }
                }
            }
            for key in met {
                let flows = waiting.remove(&key).map(|of| of.1).unwrap_or_default();
                started.extend(flows.into_iter().map(|flow| (key.1, flow)));
            }
        }
    }
    let first = waiting.iter().min_by_key(|((name, list), _)| (*list, *name));
    if let Some(((name, list), (_, flows))) = first {
        let text = format!(
            "flow {} waits for the trigger {name:?}, which in the end waits for that flow; break the circle",
            flows[0]
        );
        judge.say(&path(*list), text);
    }
}

/// The flows of a table with the lines that they are on, or the end of a sentence about a line.
type Lines = Vec<(usize, Result<ListedFlow, String>)>;

/// Reads a table of flows. The error is about the table as a whole.
fn parse_flows(text: &str) -> Result<Lines, String> {
    let mut lines =
        text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let header =
        lines.next().map(|(_, l)| l.trim().trim_start_matches('\u{feff}')).unwrap_or_default();
    let columns: Vec<&str> = header.split(',').map(cell).collect();
    let column = |name: &str| {
        columns.iter().position(|c| *c == name).ok_or_else(|| {
            let separated = header.contains(';') && !header.contains(',');
            let why = if separated { " (columns end with commas, not semicolons)" } else { "" };
            format!("has no column {name:?}{why}; its first line must be from,to,size,at")
        })
    };
    let [from, to, size, at] = COLUMNS.map(column);
    let required = [from?, to?, size?, at?];
    let optional = OPTIONAL.map(|name| column(name).ok());
    let flow = |line: &str| parse_flow(line, &columns, required, optional);
    Ok(lines.map(|(i, line)| (i + 1, flow(line))).collect())
}

/// What stands between two commas, without quotation marks around it.
fn cell(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).trim()
}

/// One line. The error goes on after its number.
fn parse_flow(
    line: &str,
    columns: &[&str],
    [from, to, size, at]: [usize; 4],
    [sport, dport, after, compute, fires]: [Option<usize>; 5],
) -> Result<ListedFlow, String> {
    let cells: Vec<&str> = line.split(',').map(cell).collect();
    if cells.len() != columns.len() {
        return Err(format!(": has {} columns, the header has {}", cells.len(), columns.len()));
    }
    let bad = |c: usize, e: ParseError| {
        let (column, text) = (columns[c], cells[c]);
        match e {
            ParseError::NoUnit { .. } if c == size => {
                format!(", {column}: {text:?} has no unit; if these are bytes, write {text}B")
            }
            _ => format!(", {column}: {text:?} {e}"),
        }
    };
    let there = |c: Option<usize>| c.map(|c| cells[c]).filter(|cell| !cell.is_empty());
    let port = |c: Option<usize>, usual: u16| match there(c) {
        None => Ok(usual),
        Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
            format!(", {}: {text:?} is not a port; write 1 to 65535", columns[c.unwrap_or(0)])
        }),
    };
    let after = there(after).map(String::from);
    let at = match (there(Some(at)), &after) {
        (None, Some(_)) => Time::MAX,
        (Some(text), Some(name)) => {
            return Err(format!(
                ": at {text:?} and after {name:?} are two ways to start; leave one empty"
            ));
        }
        (_, None) => cells[at].parse().map_err(|e| bad(at, e))?,
    };
    Ok(ListedFlow {
        from: cells[from].into(),
        to: cells[to].into(),
        size: cells[size].parse().map_err(|e| bad(size, e))?,
        at,
        sport: port(sport, 0)?,
        dport: port(dport, DPORT)?,
        after,
        compute: match (there(compute), compute) {
            (Some(text), Some(column)) => text.parse().map_err(|e| bad(column, e))?,
            _ => Span::ZERO,
        },
        fires: there(fires).unwrap_or_default().split_whitespace().map(String::from).collect(),
    })
}
