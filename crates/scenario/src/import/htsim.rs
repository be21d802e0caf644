//! Connection matrices (`.cm`) of csg-htsim: flows, triggers between them, and links that have failed.
//!
//! Source: Broadcom/csg-htsim, `sim/datacenter/connection_matrix.cpp` (`load`) and `sim/trigger.cpp`. Starts are in picoseconds, sizes in
//! bytes. A trigger acts at once there, wherever its flows are; here word of it travels for [`CONTROL_DELAY`].

use super::draft::{Draft, List, node_name};
use super::htsim_command::Ndp;
use super::htsim_topo::{Topo, by_nodes};
use super::words::{picoseconds, without_mark};
use super::{Fate, Htsim, Import, Source};
use crate::Error;
use crate::program::ListedFlow;
use crate::quantity::Measure;
use crate::tree::shorten;
use forebay_units::{Bytes, Span, Time};
use std::collections::BTreeMap;

/// From a delivery until the senders that wait for it know. Our choice: a microsecond, the source's default link.
const CONTROL_DELAY: Span = Span::from_us(1);

/// Keys of a connection, a trigger and a failure.
const CONNECTION: [&str; 8] =
    ["start", "size", "id", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "addon"];
const TRIGGER: [&str; 5] = ["id", "count", "oneshot", "multishot", "barrier"];
const FAILURE: [&str; 3] = ["switch_type", "switch_id", "link_id"];

/// A connection.
#[derive(Clone, Debug)]
struct Connection {
    line: usize,
    src: u64,
    dst: u64,
    size: u64,
    start: Option<Time>,
    trigger: Option<u64>,
    /// Triggers that its end fires, with the line's word for it.
    fires: Vec<(u64, &'static str)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Oneshot,
    Multishot,
    Barrier(usize),
}

#[derive(Debug, Default)]
struct Matrix {
    nodes: u64,
    promised: [(usize, usize); 3], // connections, triggers, failures: how many, on which line
    connections: Vec<Connection>,
    triggers: BTreeMap<u64, (Kind, usize)>,
    failures: Vec<(usize, String, u64, u64)>,
    notes: Vec<(usize, Fate, String)>,
}

/// The whole scenario.
pub(super) fn import(name: &str, files: &Htsim<'_>) -> Result<Import, Error> {
    let Htsim { matrix, topology, command } = *files;
    let ndp = command.ndp()?;
    let links = command.links(topology.map(|source| source.name))?;
    let parsed = Matrix::parse(matrix)?;
    let topo = match topology {
        Some(source) => Topo::parse(source)?,
        None => by_nodes(parsed.nodes, links, &format!("{}:1", matrix.name))?,
    };
    let place = |line: usize| format!("{}:{line}", matrix.name);
    if topo.nodes < parsed.nodes {
        let text = format!("Nodes {} is more than the topology has, {}", parsed.nodes, topo.nodes);
        return Err(Error::one(place(1), text));
    }
    let mut draft = Draft { name: name.into(), ..Draft::default() };
    draft.title = format!(
        "Imported from {}{} (csg-htsim).\nimport.txt says what became of each line; docs/import.md, of each format.",
        matrix.name,
        topology.map(|t| format!(", {}", t.name)).unwrap_or_default()
    );
    match topology {
        Some(source) => topo.draw(&mut draft, source.name)?,
        None => {
            topo.draw(&mut draft, matrix.name)?;
            draft.note(place(1), Fate::Changed, format!("no .topo file was given: a fat tree of {} Gb/s links of {}, as the source makes it", links.speed, Span::from_ns(links.latency).text()));
        }
    }
    for (line, kind, switch, link) in &parsed.failures {
        let found = if kind == "AGG" { topo.failed(&draft, *switch, *link) } else { None };
        match found {
            Some(at) => {
                let cable = draft.cables.remove(at);
                draft.note(
                    place(*line),
                    Fate::Carried,
                    format!("failure: {}-{} is not there", cable.a, cable.b),
                );
            }
            None => draft.note(
                place(*line),
                Fate::Left,
                format!("failure: {kind} switch {switch} has no uplink {link}"),
            ),
        }
    }
    for (line, fate, text) in &parsed.notes {
        draft.note(place(*line), *fate, text.clone());
    }
    parsed.flows(&mut draft, &place, topo.nodes as u32, ndp.as_ref());
    match ndp {
        Some(ndp) => ndp.draw(&mut draft),
        None => stand_in(&mut draft),
    }
    draft.finish(None)
}

/// Default transport where the import names none.
fn stand_in(draft: &mut Draft) {
    draft.transport.push("kind = \"tcp\"\nlaw = \"dctcp\"\nmss = \"4000B\"\nheader = \"64B\"\nack_size = \"64B\"\ndelayed_ack = false".into());
    draft.note("settings", Fate::Left, "transport, packet size, queues and marks are on the source's command line, not in its files; law = \"dctcp\" with 4000 B of payload and 64 B of header stands in; --transport ndp and its flags carry them over");
    draft.note("settings", Fate::Left, "routing is on the source's command line; routing = \"ecmp\", one path for each flow, stands in");
}

impl Matrix {
    fn parse(source: Source<'_>) -> Result<Self, Error> {
        let mut matrix = Self::default();
        let mut last = 1;
        for (line, text) in (1..).zip(without_mark(source.text).lines()) {
            last = line;
            let words: Vec<&str> = text.split_whitespace().collect();
            let Some(first) = words.first().filter(|word| !word.starts_with('#')) else { continue };
            let read = match *first {
                "Nodes" | "Connections" | "Triggers" | "Failures" => matrix.header(&words, line),
                "trigger" => matrix.trigger(&words, line),
                "failure" => matrix.failure(&words, line),
                pair if pair.contains("->") => matrix.connection(&words, line),
                other => Err(format!(
                    "{:?} cannot begin a line of a connection matrix; write Nodes, Connections, Triggers, Failures, trigger, failure or 0->1",
                    shorten(other)
                )),
            };
            read.map_err(|what| Error::one(format!("{}:{line}", source.name), what))?;
        }
        let wrong =
            |line: usize, what: String| Err(Error::one(format!("{}:{line}", source.name), what));
        if matrix.nodes == 0 {
            return wrong(last, "the file ends without Nodes; is it cut off?".into());
        }
        if matrix.connections.is_empty() {
            return wrong(last, "the file has no connection; a scenario needs at least one".into());
        }
        let found = [matrix.connections.len(), matrix.triggers.len(), matrix.failures.len()];
        for ((found, (promised, line)), what) in
            found.into_iter().zip(matrix.promised).zip(["Connections", "Triggers", "Failures"])
        {
            if found != promised {
                return wrong(
                    line.max(1),
                    format!(
                        "{what} {promised} is promised, {found} are there; is the file cut off?"
                    ),
                );
            }
        }
        for one in &matrix.connections {
            let unknown = |id: &&u64| !matrix.triggers.contains_key(id);
            let named: Vec<u64> =
                one.trigger.into_iter().chain(one.fires.iter().map(|f| f.0)).collect();
            if let Some(id) = named.iter().find(unknown) {
                return wrong(
                    one.line,
                    format!(
                        "trigger {id} is named and not described; add a line trigger id {id} oneshot"
                    ),
                );
            }
        }
        Ok(matrix)
    }

    fn header(&mut self, words: &[&str], line: usize) -> Result<(), String> {
        let value =
            words.get(1).ok_or(format!("{0} has no value; write for instance {0} 16", words[0]))?;
        let number = whole(words[0], value, 1 << 30)?;
        match words[0] {
            "Nodes" => self.nodes = number,
            "Connections" => self.promised[0] = (number as usize, line),
            "Triggers" => self.promised[1] = (number as usize, line),
            _ => self.promised[2] = (number as usize, line),
        }
        Ok(())
    }

    fn connection(&mut self, words: &[&str], line: usize) -> Result<(), String> {
        let (src, dst) = words[0].split_once("->").unwrap_or((words[0], ""));
        let host = |text: &str| {
            let host = whole("host", text, u64::MAX)?;
            if host >= self.nodes {
                return Err(format!(
                    "host {host} does not exist; Nodes is {}, so write 0 to {}",
                    self.nodes,
                    self.nodes.saturating_sub(1)
                ));
            }
            Ok(host)
        };
        let (src, dst) = (host(src)?, host(dst)?);
        if src == dst {
            return Err(format!(
                "the connection goes from host {src} to itself; write another host"
            ));
        }
        let mut one =
            Connection { line, src, dst, size: 0, start: None, trigger: None, fires: Vec::new() };
        let mut rest = words[1..].iter();
        while let Some(key) = rest.next() {
            if *key == "addon" {
                self.notes.push((
                    line,
                    Fate::Left,
                    "addon: a trigger adds no bytes to a flow here".into(),
                ));
                continue;
            }
            let value = rest
                .next()
                .ok_or(format!("{:?} has no value; write one after it", shorten(key)))?;
            match *key {
                "start" => {
                    let at = picoseconds(value);
                    one.start = Some(at.ok_or(format!(
                        "start {:?} is not a number of picoseconds; write for instance start 2000000 for 2 us",
                        shorten(value)
                    ))?);
                }
                "size" => {
                    one.size = whole("size", value, u64::MAX)?;
                    if one.size > i32::MAX as u64 {
                        let text = format!(
                            "size {}: the source reads sizes of 31 bits; here all of it is sent",
                            one.size
                        );
                        self.notes.push((line, Fate::Changed, text));
                    }
                }
                "id" => drop(whole("id", value, u64::MAX)?),
                "trigger" => one.trigger = Some(whole("trigger", value, u64::MAX)?),
                "send_done_trigger" => {
                    one.fires.push((whole(key, value, u64::MAX)?, "send_done_trigger"))
                }
                "recv_done_trigger" => {
                    one.fires.push((whole(key, value, u64::MAX)?, "recv_done_trigger"))
                }
                "prio" => {
                    let text =
                        format!("prio {}: flows of one host share its link evenly", shorten(value));
                    self.notes.push((line, Fate::Left, text));
                }
                _ => return Err(unknown(key, "connection", &CONNECTION)),
            }
        }
        match (one.start, one.trigger) {
            (None, None) => Err("the connection has neither start nor trigger; write start and picoseconds, or trigger and its id".into()),
            (Some(_), Some(_)) => {
                Err("start and trigger are two ways to begin; write one of them".into())
            }
            _ => {
                self.connections.push(one);
                Ok(())
            }
        }
    }

    fn trigger(&mut self, words: &[&str], line: usize) -> Result<(), String> {
        let (mut id, mut kind, mut count) = (None, None, 0);
        let mut rest = words[1..].iter();
        while let Some(key) = rest.next() {
            match *key {
                "oneshot" => kind = Some(Kind::Oneshot),
                "multishot" => kind = Some(Kind::Multishot),
                "barrier" => kind = Some(Kind::Barrier(0)),
                "id" | "count" => {
                    let value =
                        rest.next().ok_or(format!("{key} has no value; write one after it"))?;
                    let number = whole(key, value, u64::MAX)?;
                    if *key == "id" {
                        id = Some(number);
                    } else {
                        count = number as usize;
                    }
                }
                _ => return Err(unknown(key, "trigger", &TRIGGER)),
            }
        }
        let id = id.ok_or("the trigger has no id; write id and a number")?;
        let kind =
            match kind.ok_or("the trigger has no kind; write oneshot, multishot or barrier")? {
                Kind::Barrier(_) => Kind::Barrier(count),
                kind => kind,
            };
        match self.triggers.insert(id, (kind, line)) {
            None => Ok(()),
            Some((_, first)) => {
                Err(format!("trigger {id} is on line {first} already; write another id"))
            }
        }
    }

    fn failure(&mut self, words: &[&str], line: usize) -> Result<(), String> {
        let mut failure = (line, String::new(), 0, 0);
        for pair in words[1..].chunks(2) {
            let [key, value] = pair else {
                return Err(format!("{:?} has no value; write one after it", shorten(pair[0])));
            };
            match *key {
                "switch_type" => failure.1 = shorten(value),
                "switch_id" => failure.2 = whole(key, value, 1 << 30)?,
                "link_id" => failure.3 = whole(key, value, 1 << 30)?,
                _ => return Err(unknown(key, "failure", &FAILURE)),
            }
        }
        self.failures.push(failure);
        Ok(())
    }

    /// Flows as a list with triggers; those without an end as `long` entries.
    fn flows(
        &self,
        draft: &mut Draft,
        place: &dyn Fn(usize) -> String,
        nodes: u32,
        ndp: Option<&Ndp<'_>>,
    ) {
        let name = |host: u64| node_name("host", host as u32, nodes);
        let last = self.connections.iter().filter_map(|one| one.start).max().unwrap_or(Time::ZERO);
        let endless = self.connections.iter().any(|one| one.size == 0);
        let rest = if endless { Span::from_ms(10) } else { Span::from_secs(1) };
        let end = ndp.and_then(|ndp| ndp.end());
        draft.stop = Some(end.unwrap_or(last.saturating_add(rest)));
        let mut flows: Vec<(usize, ListedFlow)> = Vec::new();
        for (index, one) in self.connections.iter().enumerate() {
            let (from, to) = (name(one.src), name(one.dst));
            match (one.size, one.start) {
                (0, Some(start)) => {
                    draft.tables.push(format!(
                        "[[traffic]]\nkind = \"long\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{}\"\n",
                        start.text()
                    ));
                    draft.note(place(one.line), Fate::Carried, "size 0: a flow without an end");
                    if !one.fires.is_empty() {
                        draft.note(
                            place(one.line),
                            Fate::Left,
                            "a flow without an end fires no trigger",
                        );
                    }
                }
                (0, None) => draft.note(
                    place(one.line),
                    Fate::Left,
                    "a flow without an end that waits for a trigger",
                ),
                (size, start) => {
                    let at = start.unwrap_or(Time::MAX);
                    let size = Bytes::new(ndp.map_or(size, |ndp| ndp.size(size)));
                    flows.push((index, ListedFlow::new(from, to, size, at)));
                }
            }
        }
        for (id, (kind, line)) in &self.triggers {
            self.wire(*id, *kind, place(*line), draft, &mut flows);
        }
        // A flow whose trigger never fires has no start.
        let whole = flows.len();
        flows.retain(|(_, flow)| flow.at != Time::MAX || flow.after.is_some());
        if flows.len() < whole {
            let text =
                format!("{} connections wait for a trigger that never fires", whole - flows.len());
            draft.note(place(1), Fate::Left, text);
        }
        if self.connections.iter().any(|one| one.fires.iter().any(|f| f.1 == "send_done_trigger")) {
            draft.note(place(1), Fate::Changed, "send_done_trigger: triggers fire when the receiver has all, not when the sender knows it");
        }
        let triggers = flows.iter().any(|(_, flow)| flow.after.is_some());
        if triggers {
            let text = format!(
                "triggers take {} to reach the senders that wait for them; they act at once there",
                CONTROL_DELAY.text()
            );
            draft.note(place(1), Fate::Changed, text);
        }
        let text = format!("{} connections with their sizes and starts", flows.len());
        draft.note(place(1), Fate::Carried, text);
        let flows = flows.into_iter().map(|(_, flow)| flow).collect();
        let control_delay = triggers.then_some(CONTROL_DELAY);
        draft.lists.push(List { file: "flows.csv".into(), class: None, control_delay, flows });
    }

    /// Names one trigger in the flows that fire it and in those that wait for it.
    fn wire(
        &self,
        id: u64,
        kind: Kind,
        place: String,
        draft: &mut Draft,
        flows: &mut [(usize, ListedFlow)],
    ) {
        let fires = |one: &Connection| one.fires.iter().any(|f| f.0 == id);
        let all: Vec<usize> =
            (0..flows.len()).filter(|i| fires(&self.connections[flows[*i].0])).collect();
        let waits: Vec<usize> = (0..flows.len())
            .filter(|i| self.connections[flows[*i].0].trigger == Some(id))
            .collect();
        if waits.is_empty() {
            return draft.note(place, Fate::Left, format!("trigger {id}: nothing waits for it"));
        }
        if all.is_empty() {
            return draft.note(place, Fate::Left, format!("trigger {id}: nothing fires it"));
        }
        match kind {
            Kind::Multishot => {
                // Each end of a flow starts one more.
                let mut firing = all.into_iter();
                let mut started = 0;
                for wait in &waits {
                    let Some(fire) = firing.next().filter(|fire| fire != wait) else { break };
                    let name = format!("t{id}.{started}");
                    flows[fire].1.fires.push(name.clone());
                    flows[*wait].1.after = Some(name);
                    started += 1;
                }
                let text = format!(
                    "trigger {id} multishot: the n-th flow that fires it starts the n-th that waits, {started} in all; there the n-th to end does"
                );
                draft.note(place, Fate::Changed, text);
            }
            Kind::Barrier(count) if count > all.len() => {
                let text = format!(
                    "trigger {id} barrier: {count} must fire it and {} do, so it never fires",
                    all.len()
                );
                draft.note(place, Fate::Left, text);
            }
            _ => {
                let name = format!("t{id}");
                all.iter().for_each(|fire| flows[*fire].1.fires.push(name.clone()));
                waits.iter().for_each(|wait| flows[*wait].1.after = Some(name.clone()));
                let exact = match kind {
                    Kind::Barrier(count) => count == all.len(),
                    _ => all.len() == 1,
                };
                let text = format!(
                    "trigger {id}: {} flows start when {} have been delivered",
                    waits.len(),
                    all.len()
                );
                draft.note(place, if exact { Fate::Carried } else { Fate::Changed }, text);
            }
        }
    }
}

fn unknown(key: &str, of: &str, known: &[&str]) -> String {
    let key = shorten(key);
    format!("{key:?} is not a key of a {of}; the keys are {}", known.join(", "))
}

fn whole(what: &str, text: &str, most: u64) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number <= most => Ok(number),
        Ok(number) => Err(format!("{what} {number} is too large; write at most {most}")),
        Err(_) => {
            let text = shorten(text);
            Err(format!("{what} {text:?} is not a whole number; write for instance {what} 1"))
        }
    }
}
