//! A scenario written out in full: every default spelled, every distribution and list in place.
//!
//! Keys have the order of the fields of their types. Invariant: the text reads back to an equal scenario, on its own, with no other file
//! beside it.

use crate::expect::Expect;
use crate::scenario::{File, Scenario};
use crate::tree::{Document, Entry, Node, Value};

/// Tables under headings of their own; all others stand on one line, as people write them.
const HEADINGS: &[&str] =
    &["fabric", "fabric.switch", "fabric.switch.hierarchical", "host", "transport", "output"];
/// Lists of tables under `[[headings]]`.
const LISTS: &[&str] =
    &["fabric.override", "host.override", "host.machine", "traffic", "fault", "expect"];

/// The full TOML text of a scenario.
pub fn resolved(scenario: &Scenario) -> String {
    resolved_with(scenario, &[])
}

/// The full TOML text of a scenario, with the bands that its results must lie in.
pub fn resolved_with(scenario: &Scenario, expect: &[Expect]) -> String {
    let (scenario, expect) = (scenario.clone(), expect.to_vec());
    let file = File { version: 1, scenario, sweep: None, expect };
    let plain = toml::to_string(&file).expect("texts, finite numbers, lists and tables are TOML");
    let document = Document::parse("resolved.toml", &plain).expect("it was just written");
    let mut text = String::new();
    if let Value::Table(entries) = &document.root.value {
        table(&mut text, "", entries);
    }
    text
}

fn table(text: &mut String, path: &str, entries: &[Entry]) {
    let mut below = Vec::new();
    for Entry { key, node, .. } in in_order(entries) {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if HEADINGS.contains(&inner.as_str()) || LISTS.contains(&inner.as_str()) {
            below.push((inner, &node.value));
        } else {
            text.push_str(&format!("{} = {}\n", bare_or_quoted(key), value(&node.value)));
        }
    }
    for (path, inner) in below {
        match inner {
            Value::Table(inner) => {
                text.push_str(&format!("\n[{path}]\n"));
                table(text, &path, inner);
            }
            Value::List(items) => {
                for item in items {
                    let Value::Table(inner) = &item.value else { continue };
                    text.push_str(&format!("\n[[{path}]]\n"));
                    table(text, &path, inner);
                }
            }
            _ => {}
        }
    }
}

/// Entries as they were written, which is the order of the fields of their type: values first, then tables.
fn in_order(entries: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

/// A value on one line; a list of tables or lists has a line for each.
fn value(of: &Value) -> String {
    match of {
        Value::Text(text) => quoted(text),
        Value::List(items) => {
            let is_long = |item: &Node| matches!(item.value, Value::Table(_) | Value::List(_));
            let texts = items.iter().map(|item| value(&item.value));
            if items.iter().any(is_long) {
                format!("[{}\n]", texts.map(|text| format!("\n    {text},")).collect::<String>())
            } else {
                format!("[{}]", texts.collect::<Vec<_>>().join(", "))
            }
        }
        Value::Table(entries) => {
            let entry =
                |of: &Entry| format!("{} = {}", bare_or_quoted(&of.key), value(&of.node.value));
            let texts: Vec<String> = in_order(entries).into_iter().map(entry).collect();
            format!("{{ {} }}", texts.join(", "))
        }
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Date(_) => of.toml(),
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(bare) { key.into() } else { quoted(key) }
}

/// A basic string: on one line whatever it holds.
fn quoted(text: &str) -> String {
    let mut all = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => all.extend(['\\', c]),
            c if c.is_control() => all.push_str(&format!("\\u{:04X}", c as u32)),
            c => all.push(c),
        }
    }
    all.push('"');
    all
}
