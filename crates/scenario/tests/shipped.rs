//! The scenarios that come with the product.

use forebay_scenario::workload::{Hosts, flows};
use std::path::{Path, PathBuf};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    all.sort();
    all
}

#[test]
fn every_shipped_scenario_loads_and_makes_flows_without_a_warning() {
    for path in shipped() {
        let loaded = forebay_scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let hosts = Hosts::of(&loaded.scenario);
        for seed in &loaded.scenario.seeds {
            let table = flows(&loaded.scenario, &hosts, *seed).unwrap();
            assert!(!table.flows.is_empty(), "{}", path.display());
            assert!(table.flows.is_sorted_by_key(|f| f.start));
            assert_eq!(table.warnings, Vec::<String>::new(), "{}", path.display());
        }
    }
}
