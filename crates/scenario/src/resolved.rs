//! A scenario written out in full: every default spelled, every distribution and list in place.
//!
//! Invariant: the text reads back to an equal scenario, on its own, with no other file beside it.

mod hierarchical;
mod host;
mod memory;

use crate::load::Expect;
use crate::model::{self, Scenario};
use crate::quantity::{Length, Qty};
use crate::raw;
use serde_json::Value;

/// The full TOML text of a scenario.
pub fn resolved(scenario: &Scenario) -> String {
    resolved_with(scenario, &[])
}

/// The same, with the bands that its results must lie in.
pub fn resolved_with(scenario: &Scenario, expect: &[Expect]) -> String {
    let file = raw::File { expect: expect.to_vec(), ..file(scenario) };
    let mut text = String::new();
    let tree = serde_json::to_value(&file).expect("texts, finite numbers and lists are all JSON");
    if let Value::Object(tree) = &tree {
        table(&mut text, "", tree);
    }
    text
}

fn file(s: &Scenario) -> raw::File {
    raw::File {
        version: 1,
        name: Some(s.name.clone()),
        seeds: s.seeds.clone(),
        stop: s.stop,
        fabric: fabric(&s.fabric),
        host: Some(host::host(&s.host)),
        transport: s.transport.clone(),
        transports: s.transports.iter().cloned().collect(),
        traffic: s.traffic.clone(),
        fault: s.faults.clone(),
        output: s.output.clone(),
        sweep: None,
        expect: Vec::new(),
    }
}

fn flow_path(path: &model::FlowPath) -> raw::FlowPath {
    let model::FlowPath { flow, data, ack } = path.clone();
    raw::FlowPath { flow: i64::from(flow), data, ack }
}

fn fabric(f: &model::Fabric) -> raw::Fabric {
    raw::Fabric {
        shape: f.topology.clone(),
        host_link: f.host_link,
        fabric_link: Some(f.fabric_link),
        routing: Some(f.routing),
        next_hops: (f.routing == model::Routing::EcmpMurmur3).then_some(f.next_hops),
        reroute_after: f.reroute_after.map(Qty),
        paths: (!f.paths.is_empty())
            .then(|| raw::Paths::List(f.paths.iter().map(flow_path).collect())),
        clock: Some(f.clock),
        dead_port: Some(f.dead_port),
        wire_overhead: Some(Qty(f.wire_overhead)),
        switch: Some(raw::Switch {
            hierarchical: f.hierarchical.as_ref().map(hierarchical::hierarchical),
            ..switch(&f.switch)
        }),
        overrides: f
            .overrides
            .iter()
            .map(|o| raw::Override {
                place: o.place.clone(),
                rate: o.rate.map(Qty),
                delay: o.delay.map(Qty),
                port_limit: o.port_limit.map(Length),
                loss: o.loss,
                pause: o.pause.map(pause),
            })
            .collect(),
    }
}

fn pause(p: Option<model::Pause>) -> raw::Pause {
    let by_class = match &p {
        None => return raw::Pause::Word(raw::PauseWord::Off),
        Some(model::Pause::Link(all)) => {
            let account = pause_account(all);
            return raw::Pause::Settings(raw::PauseSettings { classes: None, account });
        }
        Some(model::Pause::ByClass(by_class)) => by_class,
    };
    // Classes of equal settings stand together.
    let mut groups: Vec<(Vec<i64>, &model::PauseSettings)> = Vec::new();
    for (class, of) in (0..).zip(by_class).filter_map(|(class, of)| Some((class, of.as_ref()?))) {
        match groups.iter_mut().find(|(_, like)| *like == of) {
            Some((classes, _)) => classes.push(class),
            None => groups.push((vec![class], of)),
        }
    }
    if let [(classes, all)] = &groups[..] {
        let (classes, account) = (Some(classes.clone()), pause_account(all));
        return raw::Pause::Settings(raw::PauseSettings { classes, account });
    }
    let one = |(classes, of)| raw::ClassPause { classes, account: pause_account(of) };
    raw::Pause::ByClass(groups.into_iter().map(one).collect())
}

fn pause_account(p: &model::PauseSettings) -> raw::PauseAccount {
    let (xoff, alpha) = match p.xoff {
        model::Xoff::Dynamic(alpha) => (raw::Xoff::Word(raw::DynamicXoff::Dynamic), alpha),
        model::Xoff::Fixed(bytes) => (raw::Xoff::Fixed(Qty(bytes)), None),
    };
    raw::PauseAccount {
        xoff: Some(xoff),
        alpha,
        resume_offset: Some(Qty(p.resume_offset)),
        reserved: Some(Qty(p.reserved)),
        headroom: Some(match p.headroom {
            model::Headroom::Auto => raw::Headroom::Word(raw::AutoHeadroom::Auto),
            model::Headroom::ThreeDelays => raw::Headroom::Word(raw::AutoHeadroom::ThreeDelays),
            model::Headroom::Fixed(bytes) => raw::Headroom::Fixed(Qty(bytes)),
        }),
        short_headroom: Some(match p.may_be_short {
            true => raw::ShortHeadroom::Warn,
            false => raw::ShortHeadroom::Refuse,
        }),
        watchdog: p.watchdog.map(|watchdog| raw::Watchdog {
            after: Qty(watchdog.after),
            action: Some(match watchdog.drops {
                true => raw::WatchdogAction::Drop,
                false => raw::WatchdogAction::Ignore,
            }),
        }),
    }
}

fn ecn(s: &model::Switch) -> raw::Ecn {
    let by_class = (0..).zip(&s.class_ecn).filter_map(|(class, m)| {
        m.map(|m| raw::ClassMarking { classes: vec![class], marking: marking(m) })
    });
    let by_class: Vec<_> = by_class.collect();
    match s.ecn {
        Some(m) => raw::Ecn::Marking(marking(m)),
        None if by_class.is_empty() => raw::Ecn::Word(raw::NoEcn::Off),
        None => raw::Ecn::ByClass(by_class),
    }
}

fn marking(m: model::EcnMarking) -> raw::Marking {
    raw::Marking {
        k: None,
        kmin: Some(Length(m.kmin)),
        kmax: Some(Length(m.kmax)),
        pmax: Some(m.pmax),
        for_rate: m.for_rate.map(Qty),
        at: Some(m.at),
        not_ect: Some(m.not_ect),
    }
}

fn weights(weights: &[u8; 8]) -> Option<Vec<raw::ClassWeight>> {
    let shares = (0..).zip(weights).filter(|(_, weight)| **weight > 0);
    let shares = shares.map(|(class, w)| raw::ClassWeight { class, weight: i64::from(*w) });
    Some(shares.collect()).filter(|shares: &Vec<_>| !shares.is_empty())
}

fn switch(s: &model::Switch) -> raw::Switch {
    raw::Switch {
        hierarchical: None,
        latency: Some(Qty(s.latency)),
        buffer: Some(match s.shared_buffer {
            None => raw::Buffer::Word(raw::NoBuffer::None),
            Some(pool) => raw::Buffer::Pool(raw::Pool {
                size: Qty(pool.size),
                policy: Some(match pool.alpha {
                    Some(_) => raw::Policy::DynamicThreshold,
                    None => raw::Policy::Shared,
                }),
                alpha: pool.alpha,
            }),
        }),
        port_limit: s.port_limit.map(Length),
        ecn: Some(ecn(s)),
        classes: Some(i64::from(s.classes)),
        weights: weights(&s.weights),
        release: Some(s.release),
        pause: Some(pause(s.pause)),
    }
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
