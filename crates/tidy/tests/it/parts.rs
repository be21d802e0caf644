//! Tests of the simulator's parts are functions of its library. Each is run.

use forebay_tidy::source::{crates, read};
use std::fs;
use std::path::PathBuf;

#[test]
fn every_test_of_a_part_of_the_simulator_is_run() {
    let run = read(&crates().join("sim/tests/it/parts.rs"));
    let mut folders = vec![crates().join("sim/src")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let paths = fs::read_dir(folder).expect("a folder of code").flatten();
        for path in paths.map(|entry| entry.path()).collect::<Vec<PathBuf>>() {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = read(&path);
            assert!(
                !text.contains("#[test]"),
                "{}: the library has no program of tests",
                path.display()
            );
            let Some((_, tests)) = text.split_once("\npub mod tests {") else { continue };
            for name in
                tests.split("\n    pub fn ").skip(1).filter_map(|rest| rest.split('(').next())
            {
                count += 1;
                assert!(
                    run.contains(name),
                    "{}: {name} is not in tests/it/parts.rs",
                    path.display()
                );
            }
        }
    }
    assert!(count > 10, "{count}");
}
