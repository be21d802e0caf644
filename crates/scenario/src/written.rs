//! A scenario written out in full: every default spelled, every distribution and list in place.
//!
//! Invariant: the text reads back to an equal scenario, on its own, with no other file beside it.

use crate::expect::Expect;
use crate::scenario::{File, Scenario};
use serde_json::Value;

/// The full TOML text of a scenario.
pub fn resolved(scenario: &Scenario) -> String {
    resolved_with(scenario, &[])
}

/// The full TOML text of a scenario, with the bands that its results must lie in.
pub fn resolved_with(scenario: &Scenario, expect: &[Expect]) -> String {
    let (scenario, expect) = (scenario.clone(), expect.to_vec());
    let file = File { version: 1, scenario, sweep: None, expect };
    let mut text = String::new();
    let tree = serde_json::to_value(&file).expect("texts, finite numbers and lists are all JSON");
    if let Value::Object(tree) = &tree {
        table(&mut text, "", tree);
    }
    text
}

type Object = serde_json::Map<String, Value>;

/// Tables under headings of their own; all others stand on one line, as people write them.
const HEADINGS: &[&str] =
    &["fabric", "fabric.switch", "fabric.switch.hierarchical", "host", "transport", "output"];
/// Lists of tables under `[[headings]]`.
const LISTS: &[&str] =
    &["fabric.override", "host.override", "host.machine", "traffic", "fault", "expect"];
/// Keys that lead their table, in this order; the rest follow by name.
const FIRST: &[&str] = &[
    "version",
    "name",
    "seeds",
    "stop",
    "time",
    "kind",
    "law",
    "every",
    "where",
    "at",
    "link",
    "change",
    "from",
    "to",
    "leaves",
    "spines",
    "hosts_per_leaf",
    "left",
    "right",
    "tiers",
    "k",
    "hosts",
    "switches",
    "cables",
    "a",
    "b",
    "host_link",
    "fabric_link",
    "rate",
    "delay",
    "size",
    "policy",
    "kmin",
    "kmax",
    "pmax",
    "fabric",
    "host",
    "transport",
    "traffic",
    "fault",
    "output",
];

fn table(text: &mut String, path: &str, object: &Object) {
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort_by_key(|key| (FIRST.iter().position(|f| f == key).unwrap_or(FIRST.len()), *key));
    let mut below = Vec::new();
    for key in keys {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if HEADINGS.contains(&inner.as_str()) || LISTS.contains(&inner.as_str()) {
            below.push((inner, &object[key]));
        } else {
            text.push_str(&format!("{} = ", bare_or_quoted(key)));
            value(text, &object[key]);
            text.push('\n');
        }
    }
    for (path, inner) in below {
        match inner {
            Value::Object(inner) => {
                text.push_str(&format!("\n[{path}]\n"));
                table(text, &path, inner);
            }
            Value::Array(items) => {
                for item in items.iter().filter_map(Value::as_object) {
                    text.push_str(&format!("\n[[{path}]]\n"));
                    table(text, &path, item);
                }
            }
            _ => {}
        }
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

/// A value on one line; a list of tables or lists has a line for each.
fn value(text: &mut String, json: &Value) {
    match json {
        Value::String(s) => text.push_str(&quoted(s)),
        Value::Array(items) => {
            let long = items.iter().any(|i| i.is_object() || i.is_array());
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                text.push_str(match (long, i) {
                    (true, _) => "\n    ",
                    (false, 0) => "",
                    (false, _) => ", ",
                });
                value(text, item);
                text.push_str(if long { "," } else { "" });
            }
            text.push_str(if long { "\n]" } else { "]" });
        }
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_by_key(|key| {
                (FIRST.iter().position(|f| f == key).unwrap_or(FIRST.len()), *key)
            });
            text.push_str("{ ");
            for (i, key) in keys.into_iter().enumerate() {
                text.push_str(if i == 0 { "" } else { ", " });
                text.push_str(&format!("{} = ", bare_or_quoted(key)));
                value(text, &object[key]);
            }
            text.push_str(" }");
        }
        Value::Number(n) => text.push_str(&number(n)),
        Value::Bool(b) => text.push_str(&b.to_string()),
        Value::Null => unreachable!("absent keys are not written"),
    }
}

/// The shortest decimal that reads back to the same number.
fn number(n: &serde_json::Number) -> String {
    match (n.as_i64(), n.as_f64()) {
        (Some(n), _) => n.to_string(),
        (None, Some(x)) => toml::Value::Float(x).to_string(),
        (None, None) => n.to_string(),
    }
}
