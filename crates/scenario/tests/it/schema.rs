//! The schema that editors use is the one that the loader checks against.

use forebay_scenario::reference;
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
    assert!(base_rtt.contains("\"path\": That of each flow's own path."), "{base_rtt}");
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
