//! Ctrl-C and friends, and a disk without room: what was written stays valid and the words are clear.
#![cfg(unix)]

mod common;

use common::{LONG, Ran, SMALL, Scratch, signal, wait_until};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Starts the long run and waits until its simulations are at work.
fn started(here: &Scratch) -> std::process::Child {
    here.write("long.toml", LONG);
    let child = here.start(&["run", "long.toml", "--jobs", "2", "--out", "out"]);
    wait_until("the run has begun", || here.has("out/manifest.json"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    child
}

#[test]
fn ctrl_c_leaves_valid_partial_output_and_says_so() {
    for name in ["INT", "TERM"] {
        let here = Scratch::new();
        let child = started(&here);
        signal(child.id(), name);
        let ran = Ran::from(child.wait_with_output().unwrap()).ends(130);
        let last = ran.err.lines().last().unwrap();
        assert!(
            last.starts_with("interrupted: 0 of 3 seeds complete, seed 1 until"),
            "{}",
            ran.err
        );
        assert!(last.ends_with("what is in out is valid and partial"), "{last}");
        assert!(ran.out.contains("INTERRUPTED, partial"), "{}", ran.out);
        let summary: Value = serde_json::from_str(&here.read("out/summary.json")).unwrap();
        assert_eq!(summary["status"], "interrupted");
        assert_eq!(summary["seeds_missing"], serde_json::json!([3]));
        assert!(summary["flows"]["completed"].as_u64().unwrap() > 0);
        let flows = here.read("out/flows.csv");
        let columns = flows.lines().next().unwrap().split(',').count();
        assert!(flows.ends_with('\n') && flows.lines().count() > 1);
        assert!(flows.lines().all(|line| line.split(',').count() == columns));
        // And it can be read back.
        here.run(&["report", "out"]).ends(0);
    }
}

#[test]
fn two_ctrl_c_end_it_with_the_same_code() {
    let here = Scratch::new();
    let child = started(&here);
    signal(child.id(), "INT");
    signal(child.id(), "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn a_full_disk_is_one_sentence_and_a_failure() {
    let here = Scratch::new();
    let path = here.write("small.toml", &SMALL.replace("50us", "100ns"));
    let script = format!("ulimit -f 64; exec {} run {} --out out", common::FOREBAY, path.display());
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here.path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = Ran::from(output).ends(1);
    let errors: Vec<&str> = ran.err.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(errors.len(), 1, "{}", ran.err);
    assert!(errors[0].starts_with("error: cannot write out/series.csv"), "{}", ran.err);
    assert!(!errors[0].contains("os error"), "{}", ran.err);
    assert!(!here.read("out/manifest.json").contains("\"complete\""));
}

#[test]
fn standard_output_without_room_is_a_failure_and_without_a_reader_is_none() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let here = Scratch::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = here.command(&["schema"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let ran = Ran::from(output).ends(1);
    assert!(ran.err.starts_with("error: cannot write to standard output"), "{}", ran.err);

    for args in ["list columns", "schema", "new", "laws dctcp", "--help"] {
        let script = format!("{} {args} | head -n 1", common::FOREBAY);
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let ran = Ran::from(output).ends(0);
        assert_eq!(ran.err, "", "{args}");
        assert_eq!(ran.out.lines().count(), 1, "{args}");
    }
}
