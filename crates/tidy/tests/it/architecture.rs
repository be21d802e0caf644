//! ARCHITECTURE.md as a test: which crate uses which, and what is absent where.
//!
//! A crate that uses another one, or a file that parses, is named here and in ARCHITECTURE.md in the same commit.

use forebay_tidy::source::{code, crates, read};
use std::collections::BTreeSet;
use std::fs;

/// Each crate, and those that it may use: the arrows of the picture. None points up.
const USES: [(&str, &[&str]); 31] = [
    ("units", &[]),
    ("laws", &["units"]),
    ("credits", &["units", "laws"]),
    ("wire", &["units"]),
    ("settings", &["units"]),
    ("engine", &["units"]),
    ("host", &["units", "settings", "wire"]),
    ("transport", &["units", "laws", "settings", "wire"]),
    ("net", &["units", "laws", "settings", "wire", "engine"]),
    ("jobs", &["units"]),
    ("record", &["units", "jobs"]),
    ("bpf", &[]), // its tests read its objects and run them
    ("bpf-law", &["units", "laws", "bpf"]),
    ("scenario", &["units", "laws", "settings", "host", "jobs", "bpf-law"]),
    (
        "sim",
        &[
            "units",
            "laws",
            "credits",
            "wire",
            "engine",
            "host",
            "transport",
            "net",
            "record",
            "scenario",
        ],
    ),
    ("study", &["units", "laws", "record", "scenario", "sim"]), // seeds, sweeps, expectations, formulas
    (
        "validate",
        &[
            "units",
            "laws",
            "credits",
            "wire",
            "engine",
            "host",
            "transport",
            "net",
            "record",
            "bpf",
            "scenario",
            "sim",
            "study",
        ],
    ),
    ("playground", &["units", "scenario", "record", "sim", "study"]),
    ("chaos", &["units", "laws", "record", "scenario", "sim", "study"]),
    ("tidy", &[]), // its tests read source files
    ("fuzz", &[]), // its tests read what scenario and record parse
    ("cli", &["units", "laws", "record", "scenario", "sim", "validate", "study"]),
    ("python", &["units", "laws", "record", "scenario", "sim", "study", "cli"]), // and brings the command
    ("abi", &[]),
    ("linux", &["credits"]), // the type of a cache
    (
        "agent",
        &["units", "laws", "credits", "record", "scenario", "linux", "abi", "bpf", "bpf-law"],
    ),
    ("credits-c", &["units", "credits", "linux"]),
    ("credits-ring", &["units", "laws", "credits", "linux"]),
    ("credits-verbs", &["units", "laws", "credits"]),
    ("carc-bench", &["units", "credits", "credits-ring", "credits-verbs", "linux", "record"]),
    ("unified", &["sim"]), // features alone
];

/// Crates of one simulation: no text of users, no law by name.
const MODELS: [&str; 10] =
    ["units", "settings", "engine", "wire", "net", "host", "transport", "sim", "record", "jobs"];

/// Files outside `scenario` that parse TOML or JSON, and of whom.
const PARSERS: [&str; 15] = [
    "carc-bench/src/traffic.rs",          // its own child processes
    "agent/src/run/orders.rs",            // of its own guard
    "study/",                             // manifests of runs
    "cli/src/bench/mod.rs",               // its own child processes
    "cli/src/sweep/pool.rs",              // its own child processes
    "cli/src/reproduce/all.rs",           // rows that it has written
    "record/src/dir/read.rs",             // run folders
    "validate/src/bars.rs",               // pictures of suites, part of the program
    "validate/src/experiments.rs",        // suites, likewise
    "validate/src/first_count.rs",        // likewise
    "validate/src/hostcc/sensitivity.rs", // likewise
    "validate/src/linux/mod.rs",          // likewise
    "validate/src/lib.rs",                // likewise
    "validate/src/recorded.rs",           // likewise
    "validate/src/row.rs",                // likewise
];

/// Crates whose code may open files, and the one file of `scenario` that does.
const OPENS_FILES: [&str; 10] = [
    "agent/",
    "carc-bench/",
    "chaos/",
    "cli/",
    "linux/",
    "python/",
    "record/",
    "tidy/",
    "validate/",
    "scenario/src/load.rs",
];

/// The only files with unsafe code: one prefetch hint, system calls that no library has a safe form of, tables for Arrow, functions for C,
/// and calls of libibverbs.
const UNSAFE: [&str; 10] = [
    "credits-c/src/lib.rs",
    "credits-verbs/src/sys.rs",
    "engine/src/prefetch.rs",
    "linux/src/shared.rs",
    "linux/src/bpf/sys.rs",
    "linux/src/ethtool.rs",
    "linux/src/guarded.rs",
    "linux/src/perf.rs",
    "linux/src/process.rs",
    "python/src/arrow.rs",
];

/// Crates that do without the standard library.
const NO_STD: [&str; 5] = ["units", "laws", "credits", "wire", "abi"];

/// Folders of crates, by name.
fn folders() -> BTreeSet<String> {
    let all = fs::read_dir(crates()).expect("crates/ is there").flatten();
    let with_manifest = all.filter(|entry| entry.path().join("Cargo.toml").is_file());
    with_manifest.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Crates of this workspace among the dependencies of a manifest, those of its tests left out.
fn uses(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut counts = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            counts = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if counts && let Some(name) = line.strip_prefix("forebay-") {
            let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            found.insert(name[..end.unwrap_or(name.len())].to_string());
        }
    }
    found
}

/// Files of these crates whose code has one of these words.
fn files_with<'a>(of: impl IntoIterator<Item = &'a str>, words: &[&str]) -> BTreeSet<String> {
    let has = |text: &String| words.iter().any(|word| text.contains(word));
    of.into_iter().flat_map(code).filter(|(_, text)| has(text)).map(|(at, _)| at).collect()
}

fn all_crates() -> Vec<&'static str> {
    let there = folders();
    USES.iter().map(|(name, _)| *name).filter(|name| there.contains(*name)).collect()
}

#[test]
fn crates_use_only_what_is_below_them() {
    let known: BTreeSet<String> = USES.iter().map(|(name, _)| name.to_string()).collect();
    let new: Vec<_> = folders().difference(&known).cloned().collect();
    assert!(new.is_empty(), "{new:?}: a new crate has a row in USES here, and in ARCHITECTURE.md");
    for (at, (name, allowed)) in USES.iter().enumerate() {
        let below: Vec<&str> = USES[..at].iter().map(|(below, _)| *below).collect();
        assert!(allowed.iter().all(|used| below.contains(used)), "{name}: an arrow points up");
        if !folders().contains(*name) {
            continue;
        }
        let used = uses(&read(&crates().join(name).join("Cargo.toml")));
        let more: Vec<_> = used.iter().filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(more.is_empty(), "crates/{name} uses {more:?}, which USES here does not let it");
    }
}

#[test]
fn the_map_has_every_crate_and_the_files_that_it_names() {
    let map = read(&crates().join("../ARCHITECTURE.md"));
    for name in folders() {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for crates/{name}"));
        let files = row.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
        for file in files {
            let path = crates().join(&name).join("src").join(file);
            assert!(path.exists(), "ARCHITECTURE.md: {} is not there", path.display());
        }
    }
    for path in map.split('`').filter(|word| word.contains("/src/") && word.ends_with(".rs")) {
        assert!(crates().join(path).exists(), "ARCHITECTURE.md: crates/{path} is not there");
    }
}

#[test]
fn laws_have_no_name_outside_laws() {
    let laws = code("laws");
    let names: BTreeSet<String> = laws
        .values()
        .flat_map(|text| text.split("const NAME: &'static str = \"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .map(|name| format!("\"{name}\""))
        .collect();
    assert!(names.len() >= 14 && names.contains("\"hostcc\""), "{names:?}");
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(files_with(MODELS, &words), BTreeSet::new());
}

#[test]
fn only_scenario_parses_what_users_write() {
    let parse = ["from_str::<", "toml::from_", "serde_json::from_", "DeTable::parse"];
    let named = |at: &String| PARSERS.iter().any(|file| at.starts_with(file));
    let other = |at: &String| !at.starts_with("scenario/") && !named(at);
    let found: Vec<String> = files_with(all_crates(), &parse).into_iter().filter(other).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn files_are_opened_at_the_edges_only() {
    let open = ["std::fs", "File::open", "File::create"];
    let inside = |at: &String| !OPENS_FILES.iter().any(|edge| at.starts_with(edge));
    let found: Vec<String> = files_with(all_crates(), &open).into_iter().filter(inside).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_clock_no_environment_no_hash_order_no_unsafe_in_models() {
    let words = ["Instant::now", "SystemTime", "HashMap", "HashSet", "std::env", "rand::"];
    assert_eq!(files_with(MODELS, &words), BTreeSet::new());
    assert_eq!(
        files_with(all_crates(), &["unsafe {", "unsafe fn", "unsafe impl"]),
        UNSAFE.map(String::from).into()
    );
    let bans = read(&crates().join("../clippy.toml"));
    for ban in ["HashMap", "HashSet", "Instant::now", "SystemTime::now"] {
        assert!(bans.contains(ban), "clippy.toml bans {ban}");
    }
    for name in NO_STD {
        let root = read(&crates().join(name).join("src/lib.rs"));
        assert!(root.contains("#![no_std]"), "crates/{name} does without the standard library");
    }
}
