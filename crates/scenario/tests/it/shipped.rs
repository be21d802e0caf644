//! The scenarios that come with the product.

use forebay_scenario::pitfalls::pitfalls;
use forebay_scenario::plan::Plan;
use forebay_scenario::presets;
use forebay_scenario::workload::{Hosts, flows};
use std::path::{Path, PathBuf};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let of = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = of(folder.clone())
        .chain(of(folder.join("host")))
        .chain(of(folder.join("dilemma")))
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    all.sort();
    all
}

/// Somebody who has the program alone has these too: what is in the folder is in the list, and nothing else.
#[test]
fn every_scenario_of_the_folder_is_a_preset() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").canonicalize().unwrap();
    let here =
        shipped().into_iter().filter(|path| path.canonicalize().unwrap().parent() == Some(&folder));
    let mut here: Vec<String> =
        here.map(|path| path.file_stem().unwrap().to_str().unwrap().into()).collect();
    here.sort_unstable();
    let mut listed: Vec<&str> = presets::all().map(|preset| preset.name).collect();
    listed.sort_unstable();
    assert_eq!(listed, here);
    for preset in presets::all() {
        assert!(preset.title().ends_with('.'), "{}: {}", preset.name, preset.title());
        let path = folder.join(preset.name).with_extension("toml");
        assert_eq!(preset.text, std::fs::read_to_string(path).unwrap());
        forebay_scenario::text("preset", preset.text).unwrap_or_else(|e| panic!("{e}"));
    }
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

/// A shipped scenario has no two settings that cannot work together, nor has a point of its sweep.
#[test]
fn no_shipped_scenario_has_a_pitfall() {
    let mut said = Vec::new();
    for path in shipped() {
        let loaded = forebay_scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
        for settings in loaded.points() {
            let scenario = forebay_scenario::load_with(&path, &settings).unwrap().scenario;
            let found = pitfalls(&scenario, &Plan::of(&scenario.fabric));
            said.extend(found.into_iter().map(|one| (path.clone(), settings.clone(), one.text)));
        }
    }
    for preset in presets::all() {
        let loaded =
            forebay_scenario::text(preset.name, preset.text).unwrap_or_else(|e| panic!("{e}"));
        let found = pitfalls(&loaded.scenario, &Plan::of(&loaded.scenario.fabric));
        said.extend(found.into_iter().map(|one| (preset.name.into(), Vec::new(), one.text)));
    }
    assert!(said.is_empty(), "{said:#?}");
}

#[test]
fn every_point_of_a_shipped_sweep_loads() {
    for path in shipped() {
        let loaded = forebay_scenario::load(&path).unwrap_or_else(|e| panic!("{e}"));
        for settings in loaded.points() {
            forebay_scenario::load_with(&path, &settings)
                .unwrap_or_else(|e| panic!("{}, {settings:?}: {e}", path.display()));
        }
    }
}
