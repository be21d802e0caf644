//! A scenario while it is put together, and its text.

use super::{Fate, Import, Note};
use crate::program::ListedFlow;
use crate::quantity::Measure;
use crate::{Error, LoadedScenario};
use forebay_units::{BitsPerSec, Span, Time};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A cable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cable {
    pub a: String,
    pub b: String,
    pub rate: BitsPerSec,
    pub delay: Span,
    pub loss: f64,
}

/// A list of flows in a file of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    pub file: String,
    pub class: Option<u8>,
    pub control_delay: Option<Span>,
    pub flows: Vec<ListedFlow>,
}

/// A scenario to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub name: String,
    /// First lines, as comments.
    pub title: String,
    pub stop: Option<Time>,
    pub hosts: Vec<String>,
    pub switches: Vec<String>,
    pub cables: Vec<Cable>,
    /// `key = value` lines under their headings.
    pub fabric: Vec<String>,
    pub switch: Vec<String>,
    pub transport: Vec<String>,
    pub lists: Vec<List>,
    /// Tables after those, whole.
    pub tables: Vec<String>,
    /// Files beside it.
    pub files: Vec<(String, String)>,
    pub notes: Vec<Note>,
}

/// Name of a node of this kind and number, of `all`; padded with zeros, so that names sort by number.
pub(super) fn node_name(kind: &str, number: u32, all: u32) -> String {
    let width = all.saturating_sub(1).to_string().len();
    format!("{kind}[{number:0width$}]")
}

impl Draft {
    pub fn note(&mut self, place: impl Into<String>, fate: Fate, text: impl Into<String>) {
        self.notes.push(Note { place: place.into(), fate, text: text.into() });
    }

    /// Text of the draft. The commonest link of each tier is written once; cables say only where they differ.
    fn text(&self) -> String {
        let mut text = String::new();
        for line in self.title.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let quoted = |s: &str| serde_json::Value::from(s).to_string();
        let stop = self.stop.unwrap_or(Time::from_ps(1_000_000_000_000)).text();
        let _ = write!(
            text,
            "version = 1\nname = {}\nstop = {{ time = \"{stop}\", flows = \"all\" }}\n\n[fabric]\nkind = \"graph\"\n",
            quoted(&self.name)
        );
        let is_host = |cable: &Cable| self.hosts.binary_search(&cable.a).is_ok();
        let link = |hosts: bool| {
            commonest(self.cables.iter().filter(|c| is_host(c) == hosts).map(|c| (c.rate, c.delay)))
        };
        let host_link = link(true).unwrap_or((BitsPerSec::from_gbps(100), Span::from_us(1)));
        let fabric_link = link(false).unwrap_or(host_link);
        for (key, (rate, delay)) in [("host_link", host_link), ("fabric_link", fabric_link)] {
            let delay = delay.text();
            let _ = writeln!(text, "{key} = {{ rate = \"{rate}\", delay = \"{delay}\" }}");
        }
        for line in &self.fabric {
            let _ = writeln!(text, "{line}");
        }
        for (key, names) in [("hosts", &self.hosts), ("switches", &self.switches)] {
            let _ = writeln!(text, "{key} = [");
            for some in names.chunks(8) {
                let some: Vec<String> = some.iter().map(|name| quoted(name)).collect();
                let _ = writeln!(text, "    {},", some.join(", "));
            }
            text.push_str("]\n");
        }
        text.push_str("cables = [\n");
        for cable in &self.cables {
            let usual = if is_host(cable) { host_link } else { fabric_link };
            let _ = write!(text, "    {{ a = {}, b = {}", quoted(&cable.a), quoted(&cable.b));
            if cable.rate != usual.0 {
                let _ = write!(text, ", rate = \"{}\"", cable.rate);
            }
            if cable.delay != usual.1 {
                let _ = write!(text, ", delay = \"{}\"", cable.delay.text());
            }
            text.push_str(" },\n");
        }
        text.push_str("]\n");
        for (heading, lines) in [("fabric.switch", &self.switch), ("transport", &self.transport)] {
            let _ = writeln!(text, "\n[{heading}]\n{}", lines.join("\n"));
        }
        for cable in self.cables.iter().filter(|c| c.loss > 0.0) {
            let place = format!("{}-{}", cable.a, cable.b);
            let _ = writeln!(
                text,
                "\n[[fabric.override]]\nwhere = {}\nloss = {}",
                quoted(&place),
                toml::Value::Float(cable.loss)
            );
        }
        for list in self.lists.iter().filter(|list| !list.flows.is_empty()) {
            let _ = writeln!(text, "\n[[traffic]]\nkind = \"list\"\nfile = {}", quoted(&list.file));
            if let Some(class) = list.class {
                let _ = writeln!(text, "class = {class}");
            }
            if let Some(delay) = list.control_delay {
                let _ = writeln!(text, "control_delay = \"{}\"", delay.text());
            }
        }
        for table in &self.tables {
            let _ = write!(text, "\n{table}");
        }
        text
    }

    /// The files, once they have been read back as a user will read them. Where `fallback` gives another draft, it is tried if
    /// this one cannot be run.
    pub fn finish(self, fallback: Option<Draft>) -> Result<Import, Error> {
        let text = self.text();
        let mut files = vec![("scenario.toml".to_string(), text)];
        for list in self.lists.iter().filter(|list| !list.flows.is_empty()) {
            files.push((list.file.clone(), csv(&list.flows)));
        }
        files.extend(self.files.iter().cloned());
        match (read_back(&files), fallback) {
            (Ok(_), _) => Ok(Import { files, notes: self.notes }),
            (Err(_), Some(other)) => other.finish(None),
            (Err(error), None) => Err(error),
        }
    }
}

/// The scenario of these files.
pub(super) fn read_back(files: &[(String, String)]) -> Result<LoadedScenario, Error> {
    let find = |name: &str| {
        let found = files.iter().find(|(file, _)| file == name);
        let bytes = found.map(|(_, text)| text.clone().into_bytes());
        bytes.ok_or_else(|| "is missing; check the path".to_string())
    };
    crate::load::text_from::<&str>(&files[0].0, &files[0].1, &[], &find)
}

/// What stands there most often; of equals the least.
fn commonest(all: impl Iterator<Item = (BitsPerSec, Span)>) -> Option<(BitsPerSec, Span)> {
    let mut counts: BTreeMap<(u64, Span), usize> = BTreeMap::new();
    all.for_each(|(rate, delay)| *counts.entry((rate.get(), delay)).or_default() += 1);
    let most = counts.values().max().copied()?;
    let ((rate, delay), _) = counts.into_iter().find(|(_, n)| *n == most)?;
    Some((BitsPerSec::new(rate), delay))
}

/// A list of flows as `file = ...` reads it; columns that all flows leave empty are left out.
pub fn csv(flows: &[ListedFlow]) -> String {
    let sport = flows.iter().any(|f| f.sport != 0);
    let dport = flows.iter().any(|f| f.dport != crate::workload::DPORT);
    let triggers = flows.iter().any(|f| f.after.is_some() || !f.fires.is_empty());
    let mut text = String::from("from,to,size,at");
    for (column, there) in
        [("sport", sport), ("dport", dport), ("after", triggers), ("fires", triggers)]
    {
        if there {
            let _ = write!(text, ",{column}");
        }
    }
    text.push('\n');
    for f in flows {
        let at = if f.after.is_some() { String::new() } else { f.at.text() };
        let _ = write!(text, "{},{},{},{at}", f.from, f.to, f.size.text());
        if sport {
            let port = if f.sport == 0 { String::new() } else { f.sport.to_string() };
            let _ = write!(text, ",{port}");
        }
        if dport {
            let _ = write!(text, ",{}", f.dport);
        }
        if triggers {
            let after = f.after.as_deref().unwrap_or_default();
            let _ = write!(text, ",{after},{}", f.fires.join(" "));
        }
        text.push('\n');
    }
    text
}
