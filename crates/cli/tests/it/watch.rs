//! `forebay watch` without a terminal: a line for each step, and the digest of the run.

use crate::common::{SMALL, Scratch};
use serde_json::Value;

#[test]
fn watching_changes_nothing() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let ran: Value =
        serde_json::from_str(&here.run(&["run", "small.toml", "--json"]).ends(0).out).unwrap();
    let digest = ran["runs"][0]["digest"].as_str().unwrap();
    for steps in [&[][..], &["--every", "3us"], &["--every", "1ms", "--threads", "2"]] {
        let args = [&["watch", "small.toml"], steps].concat();
        let seen = here.run(&args).ends(0).out;
        assert!(seen.contains("deepest queue"), "{seen}");
        let end = seen.lines().last().unwrap();
        assert!(end.ends_with(&format!("8 of 8 flows complete, digest {digest}")), "{end}");
    }
    let lines = here.run(&["watch", "small.toml", "--json"]).ends(0).out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["digest"], digest);
    let (end, steps) = lines.split_last().unwrap();
    assert!(steps.iter().any(|step| step["deepest_queue_bytes"].as_u64() > Some(0)), "{end}");
    assert!(!here.has("results/small-2"), "watching wrote results");
}

#[test]
fn bad_spans_get_a_sentence() {
    let here = Scratch::new();
    for (args, wanted) in [
        (["--every", "0us"], "write more than no time"),
        (["--pace", "5"], "unit"),
        (["--seed", "-1"], "whole number"),
    ] {
        let ran = here.run(&["watch", "--preset", "incast", args[0], args[1]]).ends(2);
        assert!(ran.err.contains(wanted), "{args:?}: {}", ran.err);
    }
}
