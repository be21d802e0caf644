//! Rows of the Linux suite say what was recorded.

use forebay_validate::rows;
use std::collections::BTreeMap;

/// Published numbers are the recorded means, and tolerances follow the rules at the head of the file.
#[test]
fn rows_are_what_was_recorded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/linux/recordings");
    let mut recordings = BTreeMap::new();
    for row in rows("linux") {
        let (scenario, key) = KINDS
            .iter()
            .find_map(|(kind, key)| Some((row.id.strip_suffix(kind)?.to_string(), *key)))
            .unwrap_or_else(|| panic!("{} measures nothing that is recorded", row.id));
        let summary = recordings.entry(scenario.clone()).or_insert_with(|| {
            let path = format!("{folder}/{scenario}.json");
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
            let all: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert!(all["repeats"].as_array().unwrap().len() >= 5, "{path}: too few repeats");
            all["summary"].clone()
        });
        let of = &summary[key];
        let of = of.get(0).unwrap_or(of); // windows are of each flow
        let number = |what: &str| of[what].as_f64().unwrap();
        let (mean, sd) = (number("mean"), number("sd"));
        assert_eq!(row.published, mean, "{}", row.id);
        let (share, least) = match key {
            "goodput_mbps" => (0.05, 0.0),
            "rtt_ms" | "cwnd" => (0.15, 0.0),
            "queue_packets" => (0.15, 2.0),
            "share_percent" => (0.0, 10.0),
            _ => (0.25, 3.0),
        };
        let allowed = f64::max(share * mean, f64::max(2.0 * sd, least));
        for (factor, holds) in [(0.999, true), (1.001, false)] {
            for side in [-1.0, 1.0] {
                let measured = mean + side * factor * allowed;
                assert_eq!(row.tolerance.holds(mean, measured), holds, "{}", row.id);
            }
        }
    }
}

/// How a row's id ends, and the recording's name for that. Longer endings first.
const KINDS: &[(&str, &str)] = &[
    ("-start-retransmits", "start_retransmits"),
    ("-retransmits", "retransmits"),
    ("-goodput", "goodput_mbps"),
    ("-rtt", "rtt_ms"),
    ("-queue", "queue_packets"),
    ("-marks", "marks"),
    ("-share", "share_percent"),
    ("-cwnd", "cwnd"),
];
