//! Flow files of the public HPCC simulator and its forks, and the whole scenario.
//!
//! Source: alibaba-edu/High-Precision-Congestion-Control, `simulation/scratch/third.cc` (how the files are read) and the notes at
//! the end of `mix/topology.txt` and `mix/flow.txt`. Files are read word by word, as there: line breaks mean nothing, and what
//! follows the promised number of entries is not read. Only the form of a fork is told by lines (`hpcc_forks.rs`).

use super::draft::{self, Draft, List, node_name};
use super::hpcc_forks::{FlowForm, Header};
use super::words::{self, LONGEST, Word, Words, seconds};
use super::{Fate, Hpcc, HpccConfig, Import, Note, Source, Topology, hpcc_config, paths};
use crate::Error;
use crate::program::ListedFlow;
use crate::workload::FIRST_SPORT;
use forebay_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Where ConWeave begins to count destination ports.
const CONWEAVE_DPORT: u16 = 100;
/// A start that is worth a word.
const IDLE: Span = Span::from_ms(10);
/// The flows of a file, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows(pub Vec<Flow>);

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Priority group.
    pub pg: u8,
    /// Destination port.
    pub dport: u16,
    /// Payload.
    pub size: u64,
    /// Start.
    pub start: Time,
}

/// What the lines of a fork's flows are.
fn form_note(form: FlowForm, payload: u64) -> Option<(Fate, String)> {
    match form {
        FlowForm::Hpcc => None,
        FlowForm::ConWeave => Some((Fate::Carried, format!(
            "five columns, the form of ConWeave: sender, receiver, priority group, bytes, start; source ports are counted from {FIRST_SPORT} for each sender and destination ports from {CONWEAVE_DPORT} for each receiver, as there"
        ))),
        FlowForm::Dcqcn => Some((Fate::Changed, format!(
            "six columns, the form of ns3-rdma (DCQCN): sender, receiver, priority, packets of {payload} B, start, end; here a flow goes on after its end until all its packets are there or the run ends, and ports, drawn at random there, are counted"
        ))),
        FlowForm::Numbered => Some((Fate::Carried, "seven columns, the form of m3 and Parsimon: number of the flow, sender, receiver, priority group, destination port, bytes, start".into())),
    }
}

/// A flow file as it was read.
pub(super) struct FlowFile {
    pub flows: Flows,
    /// The line of each.
    pub lines: Vec<usize>,
    pub notes: Vec<Note>,
    pub form: FlowForm,
}

impl Flows {
    /// Reads one; also notes, with lines. The second list holds the line of each flow.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(
        source: Source<'_>,
        topology: &Topology,
    ) -> Result<(Self, Vec<usize>, Vec<Note>), Error> {
        let read = FlowFile::parse(source, topology, Reading::default())?;
        Ok((read.flows, read.lines, read.notes))
    }
}

/// What a flow file itself does not say.
#[derive(Clone, Copy, Default)]
struct Reading {
    /// Its form, where lines do not tell.
    told: Option<FlowForm>,
    /// Bytes of a packet, where flows count those; `None`: 1000, the default of the source.
    payload: Option<u64>,
    /// Whether the source keeps 64 bits of a size.
    wide: bool,
}

impl FlowFile {
    fn parse(source: Source<'_>, topology: &Topology, reading: Reading) -> Result<Self, Error> {
        let Reading { told, payload, wide } = reading;
        let payload = payload.unwrap_or(1000);
        let mut words = Words::of(source);
        let form = FlowForm::of(&words::lines(source.text), told)
            .map_err(|(line, text)| words.wrong(line, text))?;
        let (mut flows, mut lines, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let mut arrived: BTreeMap<u32, u16> = BTreeMap::new();
        let (count, first) = words.number::<u64>("the number of flows")?;
        if let Some((fate, text)) = form_note(form, payload) {
            notes.push(words.note(first, fate, text));
        }
        for i in 0..count {
            let what = |of: &str| format!("{of} of a flow ({i} of {count} are there)");
            if form == FlowForm::Numbered {
                words.number::<u64>(&what("the number"))?;
            }
            let (src, line) = words.number::<u32>(&what("the sender"))?;
            let (dst, _) = words.number::<u32>(&what("the receiver"))?;
            for end in [src, dst] {
                if end >= topology.nodes {
                    return Err(
                        words.wrong(line, format!("flow {i}: {}", unknown_host(end, topology)))
                    );
                }
                if topology.is_switch(end) {
                    return Err(words.wrong(
                        line,
                        format!("flow {i}: node {end} is a switch; flows go from host to host"),
                    ));
                }
            }
            if src == dst {
                return Err(words.wrong(
                    line,
                    format!("flow {i} goes from host {src} to itself; write another host"),
                ));
            }
            let pg = words.next(&what("the priority group"))?;
            let pg = small(&words, pg, 7, "is not a priority group; write 0 to 7")? as u8;
            let dport = match form {
                FlowForm::Hpcc | FlowForm::Numbered => {
                    let word = words.next(&what("the destination port"))?;
                    let dport: u64 = word
                        .text
                        .parse()
                        .map_err(|_| words.bad(word, "is not a port; write 0 to 65535"))?;
                    if dport > 65_535 {
                        let text = format!(
                            "flow {i}: port {dport} has more than 16 bits; {} is used, as there",
                            dport as u16
                        );
                        notes.push(words.note(word.line, Fate::Changed, text));
                    }
                    dport as u16
                }
                FlowForm::ConWeave => {
                    let next = arrived.entry(dst).or_insert(CONWEAVE_DPORT);
                    *next = next.wrapping_add(1);
                    next.wrapping_sub(1)
                }
                FlowForm::Dcqcn => CONWEAVE_DPORT,
            };
            let (size, start) = match form {
                FlowForm::Dcqcn => {
                    let word = words.next(&what("the number of packets"))?;
                    let packets: u64 = word.text.parse().map_err(|_| {
                        words.bad(word, "is not a number of packets; write a whole number")
                    })?;
                    let size = packets.checked_mul(payload).ok_or_else(|| {
                        words.bad(word, "packets are more bytes than 64 bits hold; write fewer")
                    })?;
                    let word = words.next(&what("the start"))?;
                    let start = self::start(&words, word)?;
                    let word = words.next(&what("the end"))?;
                    let end = seconds(word.text).ok_or_else(|| {
                        words.bad(word, "is not an end; write seconds, for instance 9.5")
                    })?;
                    if end < start {
                        return Err(
                            words.bad(word, "is before the start of the flow; write a later end")
                        );
                    }
                    (size, start)
                }
                _ => {
                    let word = words.next(&what("the size"))?;
                    let size: u64 = word.text.parse().map_err(|_| {
                        words.bad(word, "is not a size; write a whole number of bytes")
                    })?;
                    let wide = wide || form == FlowForm::Numbered;
                    if size > u64::from(u32::MAX) && !wide {
                        let text = format!(
                            "flow {i}: all {size} B are sent; the source keeps 32 bits of a size and would send {} B",
                            size as u32
                        );
                        notes.push(words.note(word.line, Fate::Changed, text));
                    }
                    let word = words.next(&what("the start"))?;
                    // ConWeave makes one byte of none.
                    let least = u64::from(form == FlowForm::ConWeave);
                    (size.max(least), self::start(&words, word)?)
                }
            };
            flows.push(Flow { src, dst, pg, dport, size, start });
            lines.push(line);
        }
        if let Some(line) = words.line() {
            let text = format!("what follows the {count} flows is not read, as there");
            notes.push(words.note(line, Fate::Left, text));
        }
        Ok(Self { flows: Flows(flows), lines, notes, form })
    }
}

/// A time in seconds, of a run.
fn start(words: &Words<'_>, word: Word<'_>) -> Result<Time, Error> {
    let time = seconds(word.text)
        .ok_or_else(|| words.bad(word, "is not a start; write seconds, for instance 2.000001"))?;
    if time.since(Time::ZERO) > LONGEST {
        return Err(words.bad(word, "is after the longest run, 86400 s; write an earlier time"));
    }
    Ok(time)
}

impl Flows {
    /// Moves all starts so that the first is at `at`; says by how much they are earlier.
    fn begin_at(&mut self, at: Time) -> Result<Span, String> {
        let first = self.0.iter().map(|flow| flow.start).min().unwrap_or(at);
        if first < at {
            return Err(format!(
                "the first flow starts at {first}; write --start-at {first} or less"
            ));
        }
        let earlier = first.since(at);
        for flow in &mut self.0 {
            flow.start = Time::ZERO + flow.start.since(Time::ZERO + earlier);
        }
        Ok(earlier)
    }

    /// As the simulator reads it. Starts are in seconds.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut text = format!("{}\n", self.0.len());
        for Flow { src, dst, pg, dport, size, start } in &self.0 {
            let ps = start.as_ps();
            let seconds = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
            let _ = writeln!(text, "{src} {dst} {pg} {dport} {size} {seconds}");
        }
        text
    }
}

fn small(words: &Words<'_>, word: Word<'_>, most: u64, text: &str) -> Result<u64, Error> {
    word.text.parse().ok().filter(|n| *n <= most).ok_or_else(|| words.bad(word, text))
}

fn unknown_host(node: u32, topology: &Topology) -> String {
    format!(
        "host {node} does not exist; the topology has {} nodes, so write 0 to {}",
        topology.nodes,
        topology.nodes.saturating_sub(1)
    )
}

/// The whole scenario.
pub(super) fn import(name: &str, files: &Hpcc<'_>) -> Result<Import, Error> {
    let (topology, topology_notes) = Topology::parse(files.topology)?;
    let header = Header::of(&words::lines(files.topology.text)).unwrap_or(Header::Original);
    let reading = Reading {
        told: files.flow_form,
        payload: files.config.and_then(HpccConfig::payload),
        wide: matches!(header, Header::Tors | Header::Rates),
    };
    let FlowFile { mut flows, lines, notes: flow_notes, form } =
        FlowFile::parse(files.flows, &topology, reading)?;
    let earlier = match files.start_at {
        Some(at) => flows
            .begin_at(at)
            .map_err(|text| Error::one(format!("{}:1", files.flows.name), text))?,
        None => Span::ZERO,
    };
    if flows.0.iter().all(|flow| flow.size == 0) {
        let text = "the file has no flow that sends anything; a scenario needs at least one";
        return Err(Error::one(format!("{}:1", files.flows.name), text));
    }
    let mut draft = Draft { name: name.into(), ..Draft::default() };
    let config = files.config.map(HpccConfig::name);
    let paths = files.paths.map(|source| source.name);
    let names = [Some(files.topology.name), Some(files.flows.name), config, paths];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    draft.title = format!(
        "Imported from {} (public HPCC simulator).\nimport.txt says what became of each line; docs/import.md, of each format.",
        names.join(", ")
    );
    draft.notes = topology_notes;
    fabric(&mut draft, files, &topology, &flows)?;
    draft.notes.extend(flow_notes);
    let first = flows.0.iter().map(|flow| flow.start).min().unwrap_or(Time::ZERO);
    if files.start_at.is_none() && first.since(Time::ZERO) >= IDLE {
        let text = format!(
            "the first flow starts at {first}, as there; averages of a run include the idle time before it, which --start-at 0s removes"
        );
        draft.note(format!("{}:1", files.flows.name), Fate::Carried, text);
    }
    if let Some(at) = files.start_at {
        let text =
            format!("everything happens {earlier} earlier than the file says: --start-at {at}");
        draft.note(format!("{}:1", files.flows.name), Fate::Changed, text);
    }
    let numbers = list(&mut draft, files.flows.name, &topology, (&flows, &lines, form));
    let settings = hpcc_config::settings(&mut draft, files.config, (header, form));
    let own_routing = settings.routing();
    if own_routing.is_none() {
        draft.fabric.push(
            "routing = \"ecmp-murmur3\"\nnext_hops = \"descending\"\nclock = \"truncate-ns\""
                .into(),
        );
    }
    draft.note(
        "clock",
        Fate::Carried,
        "a clock of whole ns: clock = \"truncate-ns\"; each transmission is rounded down",
    );
    match own_routing {
        None => draft.note(
            "routing",
            Fate::Carried,
            "murmur3-32 of addresses and ports with the number of the switch as its seed, next hops as they lie in memory on Linux: routing = \"ecmp-murmur3\", next_hops = \"descending\"",
        ),
        Some((routing, fate, text)) => {
            draft.fabric.push(format!("routing = \"{routing}\"\nclock = \"truncate-ns\""));
            draft.note("routing", fate, text);
        }
    }
    if let Some(source) = files.paths {
        paths::import(&mut draft, source, &topology, &numbers)?;
    }
    let classes = draft.lists.iter().filter_map(|list| list.class).max();
    let without_pause =
        hpcc_config::apply(&mut draft, (files.config, &settings), &topology, classes, earlier)?;
    draft.finish(without_pause)
}

fn fabric(
    draft: &mut Draft,
    files: &Hpcc<'_>,
    topology: &Topology,
    flows: &Flows,
) -> Result<(), Error> {
    let joined: BTreeSet<u32> = topology.links.iter().flat_map(|l| [l.a, l.b]).collect();
    let used: BTreeSet<u32> = flows.0.iter().flat_map(|f| [f.src, f.dst]).collect();
    let place = files.topology.name;
    if let Some(lost) = used.iter().find(|host| !joined.contains(host)) {
        let text = format!("host {lost} has flows and no link; give it one, to a switch");
        return Err(Error::one(format!("{place}:1"), text));
    }
    let all = topology.nodes;
    let name =
        |node: u32| node_name(if topology.is_switch(node) { "switch" } else { "host" }, node, all);
    for node in 0..all {
        if topology.is_switch(node) {
            draft.switches.push(name(node));
        } else if joined.contains(&node) {
            draft.hosts.push(name(node));
        } else {
            let text = format!("host {node} has no link and no flows");
            draft.note(format!("{place}:1"), Fate::Left, text);
        }
    }
    for link in &topology.links {
        let (a, b) = if topology.is_switch(link.a) { (link.b, link.a) } else { (link.a, link.b) };
        let (rate, delay, loss) = (link.rate, link.delay, link.loss);
        draft.cables.push(draft::Cable { a: name(a), b: name(b), rate, delay, loss });
    }
    let text = format!(
        "{} hosts, {} switches and {} links with their rates, delays and error rates; node n is host[n] or switch[n]",
        draft.hosts.len(),
        draft.switches.len(),
        draft.cables.len()
    );
    draft.note(format!("{place}:1"), Fate::Carried, text);
    Ok(())
}

/// The flows as lists, one for each priority group. Gives for each flow of the file its number in the run.
fn list(
    draft: &mut Draft,
    place: &str,
    topology: &Topology,
    (Flows(flows), lines, form): (&Flows, &[usize], FlowForm),
) -> Vec<Option<u32>> {
    let name = |node: u32| node_name("host", node, topology.nodes);
    let groups: BTreeSet<u8> = flows.iter().filter(|f| f.size > 0).map(|f| f.pg).collect();
    let several = groups.len() > 1;
    // Ports are counted by pair of hosts, in the order of the file; by ConWeave, by sender.
    let mut next: BTreeMap<(u32, u32), u16> = BTreeMap::new();
    let pair = |flow: &Flow| match form {
        FlowForm::ConWeave => (flow.src, 0),
        _ => (flow.src, flow.dst),
    };
    let mut kept = Vec::new();
    for (i, flow) in flows.iter().enumerate() {
        let sport = next.entry(pair(flow)).or_insert(FIRST_SPORT);
        if flow.size == 0 {
            let text = format!("flow {i} sends 0 B and would never be over");
            draft.note(format!("{place}:{}", lines[i]), Fate::Left, text);
        } else {
            let group = groups.iter().position(|pg| *pg == flow.pg).unwrap_or(0);
            kept.push((flow.start, flow.src, flow.dst, group, flow.size, *sport, flow.dport, i));
        }
        *sport = sport.wrapping_add(1);
    }
    let ascending = flows.windows(2).all(|pair| pair[0].start <= pair[1].start);
    kept.sort_unstable(); // the order of a run's flow table
    let mut numbers = vec![None; flows.len()];
    for (number, one) in (0u32..).zip(&kept) {
        numbers[one.7] = Some(number);
    }
    let lines_of = |group: usize| {
        kept.iter().filter(move |one| one.3 == group).map(|one| {
            let size = Bytes::new(one.4);
            ListedFlow {
                sport: one.5,
                dport: one.6,
                ..ListedFlow::new(name(one.1), name(one.2), size, one.0)
            }
        })
    };
    let mut text = String::from("flow,source_flow,source_line,sport,dport\n");
    for (number, one) in kept.iter().enumerate() {
        text += &format!("{number},{},{},{},{}\n", one.7, lines[one.7], one.5, one.6);
    }
    draft.files.push(("numbers.csv".into(), text));
    for (group, pg) in groups.iter().enumerate() {
        let file = if several { format!("flows-{pg}.csv") } else { "flows.csv".into() };
        let class = several.then_some(*pg);
        draft.lists.push(List {
            file,
            class,
            control_delay: None,
            flows: lines_of(group).collect(),
        });
    }
    let ports = match form {
        FlowForm::Hpcc | FlowForm::Numbered => format!(
            ", starts and destination ports; source ports are counted from {FIRST_SPORT} for each pair of hosts, as there"
        ),
        FlowForm::ConWeave | FlowForm::Dcqcn => " and starts".into(),
    };
    let text = format!("{} flows with their sizes{ports}", kept.len());
    draft.note(format!("{place}:1"), Fate::Carried, text);
    let same = numbers.iter().enumerate().all(|(i, n)| *n == Some(i as u32));
    if !ascending {
        draft.note(format!("{place}:1"), Fate::Changed, "flows do not stand in the order of their starts, which the source needs; here each starts when it says");
    }
    if !same {
        draft.note(format!("{place}:1"), Fate::Changed, "a run numbers flows by start, sender and receiver; numbers.csv says which flow of the file each is");
    }
    match (&groups.iter().collect::<Vec<_>>()[..], several) {
        ([only], _) => {
            let text = format!("priority group {only}, that of all flows, is traffic class 0");
            draft.note(format!("{place}:1"), Fate::Changed, text);
        }
        (_, true) => draft.note(
            format!("{place}:1"),
            Fate::Changed,
            "each priority group is the traffic class of its number; at switches groups 1 to 7 have equal weights, so they take turns by bytes, there by packets; at hosts the highest goes first",
        ),
        _ => {}
    }
    if let Some(last) = kept.iter().map(|one| one.0).max() {
        draft.stop = Some(last.saturating_add(Span::from_secs(1)));
    }
    numbers
}
