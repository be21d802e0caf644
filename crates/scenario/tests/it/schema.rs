//! The schema that editors use is the one that the loader checks against.

use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::Plan;
use forebay_scenario::reference;
use forebay_scenario::workload::{Hosts, flows};
use std::path::Path;

/// Rewrite the file with `FOREBAY_BLESS=1 cargo test -p forebay-scenario --test it schema::`.
#[test]
fn the_published_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.schema.json");
    let now = serde_json::to_string_pretty(&forebay_scenario::schema()).unwrap() + "\n";
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == now, "docs/scenario.schema.json is out of date; see the top of this test");
}

/// Rewritten in the same way.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let now = reference::page();
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == now, "docs/scenario.md is out of date; see the top of this file");
}

/// Heading and text of each task of the page.
fn tasks() -> Vec<(&'static str, &'static str)> {
    let split = |task: &'static str| task.split_once('\n').unwrap();
    let all = reference::TASKS.split("\n## ").skip(1).map(split);
    all.filter(|(heading, _)| *heading != "Reference").collect()
}

#[test]
fn each_task_of_the_page_has_one_example_that_passes_check_and_makes_flows() {
    assert_eq!(
        tasks().iter().map(|task| task.0).collect::<Vec<_>>(),
        ["Topology", "ECN", "PFC", "Traffic", "Sampling", "Hosts", "Transports"]
    );
    for (heading, text) in tasks() {
        let examples: Vec<&str> = text.split("```toml\n").skip(1).collect();
        assert_eq!(examples.len(), 1, "{heading}");
        let example = examples[0].split("```").next().unwrap();
        let loaded = forebay_scenario::text(heading, example).unwrap_or_else(|e| panic!("{e}"));
        let scenario = &loaded.scenario;
        let table = flows(scenario, &Hosts::of(scenario), 1).unwrap();
        assert!(!table.flows.is_empty(), "{heading}");
        assert_eq!(table.warnings, Vec::<String>::new(), "{heading}");
        let found = pitfalls(scenario, &Plan::of(&scenario.fabric));
        assert!(
            found.is_empty(),
            "{heading}: {:?}",
            found.iter().map(|one| &one.text).collect::<Vec<_>>()
        );
    }
}

#[test]
fn each_task_of_the_page_has_five_keys_with_the_defaults_that_explain_names() {
    for (heading, text) in tasks() {
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), 5, "{heading}");
        for row in rows {
            let key = row[0].trim_matches('`');
            let said = reference::explain(key).unwrap_or_else(|| panic!("{heading}: no key {key}"));
            let first = said.lines().next().unwrap();
            match row[2] {
                "" => assert!(!first.ends_with(", required"), "{key}: {said}"),
                "required" => assert!(first.ends_with(", required"), "{key}: {said}"),
                default => {
                    let about = said.split_once("Default: ").map_or("", |(_, text)| text);
                    let text = about.lines().next().unwrap_or_default();
                    assert!(text.contains(default), "{key}: {default} is not in {text:?}");
                }
            }
        }
    }
}

/// Python-Markdown, which makes the site, nests a list by four spaces.
#[test]
fn lists_of_the_page_are_nested_by_four_spaces() {
    let page = reference::page();
    let (mut nested, mut before) = (0, "");
    for line in page.lines() {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start().starts_with("- ") {
            assert!(indent == 0 || indent == 4, "{line}");
            let in_list = before.trim_start().starts_with("- ");
            assert!(before.is_empty() || in_list, "no blank line before {line}");
            assert!(indent == 0 || in_list, "nested under nothing: {line}");
            nested += u32::from(indent == 4);
        }
        before = line;
    }
    assert!(nested > 100, "{nested}");
}

#[test]
fn every_key_is_explained() {
    let keys = reference::keys();
    assert!(keys.len() > 300, "{}", keys.len());
    for key in keys {
        let said = reference::explain(&key.path).unwrap_or_default();
        assert!(said.contains(&key.path) && said.contains(&key.about), "{}: {said}", key.path);
        assert!(!key.about.is_empty() && !key.takes.is_empty(), "{}", key.path);
    }
    let said = |name: &str| reference::explain(name).unwrap_or_default();
    let base_rtt = said("transport.base_rtt");
    assert!(base_rtt.starts_with("transport.base_rtt (kind = \"rdma\"): "), "{base_rtt}");
    assert!(base_rtt.contains("\"path\": Time of each flow's own path."), "{base_rtt}");
    assert_eq!(said("base_rtt"), base_rtt);
    assert!(said("transports.storage.rto_min").starts_with("transports.NAME.rto_min"));
    assert!(said("traffic[0].load").starts_with("traffic.load (kind = \"poisson\"): a number"));
    assert!(said("fabric.switch.ecn").contains("keys: "), "{}", said("fabric.switch.ecn"));
    assert_eq!(reference::explain("transport.colour"), None);
    assert_eq!(reference::close("transport.rto_mim").as_deref(), Some("transport.rto_min"));
}

/// Walks every subschema.
fn each(schema: &serde_json::Value, path: &str, say: &mut dyn FnMut(&str, &serde_json::Value)) {
    say(path, schema);
    match schema {
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(k, v)| each(v, &format!("{path}/{k}"), say))
        }
        serde_json::Value::Array(all) => {
            all.iter().enumerate().for_each(|(i, v)| each(v, &format!("{path}/{i}"), say))
        }
        _ => {}
    }
}

#[test]
fn every_key_is_described_and_every_table_is_closed() {
    let schema = forebay_scenario::schema();
    each(&schema, "", &mut |path, part| {
        let Some(properties) = part["properties"].as_object() else { return };
        if path.ends_with("/properties") {
            return;
        }
        for (key, property) in properties {
            let described = property["description"].is_string() || key == "kind";
            assert!(described, "{path}: {key} has no description");
        }
        let variant = properties.get("kind").is_some_and(|kind| kind["const"].is_string());
        let closed =
            part["additionalProperties"] == false || part["unevaluatedProperties"] == false;
        assert!(closed || variant, "{path} takes any key");
    });
}

#[test]
fn quantities_have_a_pattern_that_their_examples_match() {
    let schema = forebay_scenario::schema();
    let mut quantities = 0;
    each(&schema, "", &mut |path, part| {
        if part["x-quantity"].is_string() {
            quantities += 1;
            let pattern = part["pattern"].as_str().unwrap();
            let unit =
                part["examples"][0].as_str().unwrap().trim_matches(|c: char| c.is_ascii_digit());
            assert!(pattern.contains(unit), "{path}: {pattern} against {unit}");
        }
    });
    assert!(quantities > 30, "{quantities}");
}
