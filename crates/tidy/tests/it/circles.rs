//! Files of a crate import each other in one direction only, apart from those in `circles.txt`.

use forebay_tidy::imports::{Imports, circles, imports};
use forebay_tidy::source::{crates, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Circles that `circles.txt` excuses: a line for each, files below `crates/` with spaces between, then the reason.
fn excused() -> Vec<BTreeSet<String>> {
    let text = read(&crates().join("tidy/circles.txt"));
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let files = |line: &str| {
        let (files, reason) = line.split_once(" # ").unwrap_or((line, ""));
        assert!(
            !reason.trim().is_empty(),
            "{line}: write \" # \" and why this circle is none to cut"
        );
        files.split(' ').map(String::from).collect()
    };
    lines.map(files).collect()
}

fn all_circles() -> Vec<BTreeSet<String>> {
    let mut names: Vec<String> = fs::read_dir(crates())
        .expect("crates/ is there")
        .flatten()
        .filter(|entry| entry.path().join("src").is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    names.iter().flat_map(|name| circles(&imports(name))).collect()
}

#[test]
fn files_import_each_other_in_one_direction() {
    let excused = excused();
    let line = |circle: &BTreeSet<String>| circle.iter().cloned().collect::<Vec<_>>().join(" ");
    let mut said = Vec::new();
    for circle in all_circles() {
        match excused.iter().find(|old| circle.is_subset(old)) {
            None => {
                said.push(format!("a circle that circles.txt does not excuse: {}", line(&circle)))
            }
            Some(old) if *old != circle => {
                said.push(format!(
                    "a circle became smaller; shorten its line to: {} # ...",
                    line(&circle)
                ));
            }
            Some(_) => {}
        }
    }
    let found = all_circles();
    for old in excused.iter().filter(|old| !found.iter().any(|circle| circle.is_subset(old))) {
        said.push(format!("a circle is gone; delete its line: {}", line(old)));
    }
    assert!(said.is_empty(), "{}", said.join("\n"));
}

#[test]
fn imports_are_followed_to_the_file_that_defines_a_name() {
    let found = imports("scenario");
    let uses = |file: &str, other: &str| {
        found[&format!("scenario/src/{file}")].contains(&format!("scenario/src/{other}"))
    };
    assert!(uses("topology/star.rs", "judge.rs"), "by a path from the root");
    assert!(uses("topology/star.rs", "topology/mod.rs"), "by super, to a parent that defines it");
    assert!(!uses("topology/mod.rs", "topology/star.rs"), "a parent's own modules do not count");
}

#[test]
fn a_circle_is_found_through_any_number_of_files() {
    let graph: Imports = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["a"]), ("d", vec!["a"])]
        .map(|(file, used)| (file.to_string(), used.into_iter().map(String::from).collect()))
        .into_iter()
        .collect::<BTreeMap<_, _>>();
    let all = ["a", "b", "c"].map(String::from).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(circles(&graph), [all]);
}
