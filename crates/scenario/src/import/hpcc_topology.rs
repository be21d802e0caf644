//! Topology files of the public HPCC simulator and its forks.
//!
//! Source: as for flow files (`hpcc.rs`).

use super::hpcc_forks::{Header, link_columns};
use super::words::{self, Line, Words, delay, rate};
use super::{Fate, Note, Source};
use crate::Error;
use forebay_units::{BitsPerSec, Span};
use std::collections::{BTreeMap, BTreeSet};

/// More nodes than this are taken for a mistake.
const MOST_NODES: u32 = 1 << 20;

/// A topology: nodes are numbered from 0, and those that are no switches are hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// How many nodes there are.
    pub nodes: u32,
    /// Numbers of the switches, ascending.
    pub switches: Vec<u32>,
    /// Links.
    pub links: Vec<Link>,
}

/// A link, the same both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Rate.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Span,
    /// Share of packets lost.
    pub loss: f64,
}

impl Topology {
    /// Reads one; also notes, with lines.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(source: Source<'_>) -> Result<(Self, Vec<Note>), Error> {
        let mut words = Words::of(source);
        let mut notes = Vec::new();
        let lines = words::lines(source.text);
        let header = Header::of(&lines).map_err(|(line, text)| words.wrong(line, text))?;
        let (nodes, line) = words.number::<u32>("the number of nodes")?;
        let mut inner_switches = 0;
        if header == Header::Servers {
            words.number::<u32>("the number of GPUs of a server")?;
            inner_switches = words.number::<u32>("the number of NVSwitches")?.0;
        }
        let (switch_count, _) = words.number::<u32>("the number of switches")?;
        let switch_count = switch_count.saturating_add(inner_switches);
        if matches!(header, Header::Tors | Header::Rates) {
            words.number::<u32>("the number of ToR switches")?;
        }
        let (link_count, _) = words.number::<u32>("the number of links")?;
        let rest = match header {
            Header::Original | Header::Tors => 0,
            Header::Rates => 2,
            Header::Servers => lines[0].1.len() - 5,
        };
        for _ in 0..rest {
            words.next("the rest of the first line")?;
        }
        if let Some(text) = header_note(header) {
            notes.push(words.note(line, Fate::Carried, text));
        }
        if nodes > MOST_NODES {
            return Err(words.wrong(
                line,
                format!("{nodes} nodes are too many; at most {MOST_NODES} are read"),
            ));
        }
        if switch_count > nodes {
            let text = format!(
                "{switch_count} of {nodes} nodes cannot be switches; the first line is nodes, switches, links"
            );
            return Err(words.wrong(line, text));
        }
        let mut switches = BTreeSet::new();
        for i in 0..switch_count {
            let what = format!("the number of a switch ({i} of {switch_count} are there)");
            let (switch, line) = words.number::<u32>(&what)?;
            if switch >= nodes {
                return Err(words.wrong(line, no_node(switch, nodes)));
            }
            if !switches.insert(switch) {
                return Err(
                    words.wrong(line, format!("switch {switch} is listed twice; write it once"))
                );
            }
        }
        check_columns(&words, &lines, link_count)?;
        let mut links = Vec::new();
        let mut joined: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut cables_of: BTreeMap<u32, usize> = BTreeMap::new();
        for i in 0..link_count {
            let what = |end: &str| format!("{end} of a link ({i} of {link_count} are there)");
            let (a, line) = words.number::<u32>(&what("one end"))?;
            let (b, _) = words.number::<u32>(&what("the other end"))?;
            for end in [a, b] {
                if end >= nodes {
                    return Err(words.wrong(line, no_node(end, nodes)));
                }
                if !switches.contains(&end)
                    && let Some(first) = cables_of.insert(end, line)
                {
                    let what = if header == Header::Servers {
                        ", as the GPUs of SimAI have NVLinks beside their NIC"
                    } else {
                        ""
                    };
                    let text = format!(
                        "host {end} has a second link here, the first on line {first}{what}; only hosts with one link can be carried over"
                    );
                    return Err(words.wrong(line, text));
                }
            }
            if a == b {
                return Err(words.wrong(
                    line,
                    format!("the link joins node {a} to itself; write two different ends"),
                ));
            }
            if !switches.contains(&a) && !switches.contains(&b) {
                return Err(words.wrong(
                    line,
                    format!("the link joins the hosts {a} and {b}; a host's link goes to a switch"),
                ));
            }
            if let Some(first) = joined.insert((a.min(b), a.max(b)), line) {
                let text = format!(
                    "the link joins {a} and {b} a second time, first on line {first}; write one link with the sum of the rates"
                );
                return Err(words.wrong(line, text));
            }
            let word = words.next(&what("the rate"))?;
            let rate = rate(word.text)
                .ok_or_else(|| words.bad(word, "is not a rate; write for instance 100Gbps"))?;
            let word = words.next(&what("the delay"))?;
            let delay = delay(word.text)
                .ok_or_else(|| words.bad(word, "is not a delay; write for instance 0.001ms"))?;
            let (loss, line) = words.number::<f64>("an error rate from 0 to 1")?;
            if !(0.0..=1.0).contains(&loss) {
                return Err(words
                    .wrong(line, format!("the error rate is {loss}; write a number from 0 to 1")));
            }
            links.push(Link { a, b, rate, delay, loss });
        }
        if let Some(line) = words.line() {
            let text = format!("what follows the {link_count} links is not read, as there");
            notes.push(words.note(line, Fate::Left, text));
        }
        Ok((Self { nodes, switches: switches.into_iter().collect(), links }, notes))
    }

    pub(super) fn is_switch(&self, node: u32) -> bool {
        self.switches.binary_search(&node).is_ok()
    }

    /// As the simulator reads it.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut text = format!("{} {} {}\n", self.nodes, self.switches.len(), self.links.len());
        let switches: Vec<String> = self.switches.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "{}", switches.join(" "));
        for Link { a, b, rate, delay, loss } in &self.links {
            let delay = if *delay == Span::ZERO { "0ns".into() } else { delay.to_string() };
            let _ = writeln!(text, "{a} {b} {rate} {delay} {loss}");
        }
        text
    }
}

/// What the first line of a fork's topology is.
fn header_note(header: Header) -> Option<&'static str> {
    match header {
        Header::Original => None,
        Header::Tors => Some(
            "four numbers, the form of PowerTCP: nodes, switches, ToR switches (not used, as there), links",
        ),
        Header::Rates => Some(
            "six numbers, the form of Reverie: nodes, switches, ToR switches and links; ToR switches and the two rates serve its own traffic and are not used",
        ),
        Header::Servers => Some(
            "the form of SimAI: nodes, GPUs of a server, NVSwitches, switches, links, kind of GPU; NVSwitches are switches here",
        ),
    }
}

fn no_node(node: u32, nodes: u32) -> String {
    format!(
        "node {node} does not exist; the first line promises {nodes} nodes, so write 0 to {}",
        nodes.saturating_sub(1)
    )
}

/// The columns of the lines that hold links alone.
fn check_columns(words: &Words<'_>, lines: &[Line<'_>], count: u32) -> Result<(), Error> {
    let Some(next) = words.line() else { return Ok(()) };
    let from = lines.partition_point(|(line, _)| *line < next);
    let whole = lines.get(from).is_some_and(|(_, all)| words.at_start_of(next, all.len()));
    if !whole {
        return Ok(());
    }
    link_columns(&lines[from..], count as usize).map_err(|(line, text)| words.wrong(line, text))
}
