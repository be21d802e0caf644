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

/// First line that a process prints, which goes on.
#[cfg(unix)]
fn first_line(of: &mut std::process::Child) -> String {
    use std::io::Read;
    let (out, mut line, mut byte) = (of.stdout.as_mut().unwrap(), Vec::new(), [0]);
    while out.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    String::from_utf8(line).unwrap()
}

/// Files of a run that was watched are those of one that was not, byte by byte.
#[cfg(unix)]
#[test]
fn a_run_at_work_can_be_watched_and_has_the_same_bytes() {
    use crate::common::{Ran, same_files, signal, wait_until};
    let here = Scratch::new();
    // A second or two of work: the test has to stop the run before it ends, also on a busy machine.
    let busy = SMALL.replace("200KB", "200MB").replace("2ms", "700ms").replace("50us", "200us");
    here.write("small.toml", &busy);
    let alone = here.run(&["run", "small.toml", "--out", "alone"]);
    assert_eq!(alone.code, Some(0), "{}", alone.err);
    let run = here.start(&["run", "small.toml", "--out", "seen"]);
    wait_until("the run tells how far it is", || here.has("seen.partial/progress.json"));
    // The run stands still until both watchers have seen it at work.
    signal(run.id(), "STOP");
    let mut watchers =
        [here.start(&["watch", "seen", "--json"]), here.start(&["watch", "seen.partial"])];
    let [first, line] = watchers.each_mut().map(first_line);
    signal(run.id(), "CONT");
    let run = Ran::from(run.wait_with_output().unwrap()).ends(0);
    assert!(run.err.is_empty() || !run.err.contains("watch"), "{}", run.err);
    let [json, lines] = watchers.map(|one| Ran::from(one.wait_with_output().unwrap()).ends(0));
    let first: Value = serde_json::from_str(&first).unwrap();
    assert!(first["fraction"].as_f64().is_some_and(|done| (0.0..=1.0).contains(&done)), "{first}");
    assert!(first["seeds"][0]["at_us"].is_number(), "{first}");
    let last = lines.out.lines().last().unwrap();
    assert!(last.starts_with("seen has ended: complete, digest "), "{last}");
    assert!(last.ends_with("report seen/report.html"), "{last}");
    let end: Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    let manifest: Value = serde_json::from_str(&here.read("seen/manifest.json")).unwrap();
    assert_eq!((&end["ended"], &end["digest"]), (&"complete".into(), &manifest["digest"]));
    assert!(line.contains(" %   time "), "{line}");
    same_files(&here.path.join("seen"), &here.path.join("alone"));
    let again = here.run(&["watch", "seen"]).ends(0);
    assert!(again.out.starts_with("seen has already ended: complete, digest "), "{}", again.out);
    std::fs::create_dir_all(here.path.join("swept")).unwrap();
    here.write("swept/sweep.json", "{}");
    let sweep = here.run(&["watch", "swept"]).ends(2);
    assert!(sweep.err.contains("swept is a sweep, and watch looks at one run"), "{}", sweep.err);
    let other = here.run(&["watch", "seen", "--set", "seeds=[3]"]).ends(2);
    assert!(
        other.err.contains("--set is for a scenario that watch itself simulates"),
        "{}",
        other.err
    );
}

#[cfg(unix)]
#[test]
fn the_death_of_a_run_is_told() {
    use crate::common::{LONG, Ran, signal, wait_until};
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let mut run = here.start(&["run", "long.toml", "--jobs", "2", "--out", "out"]);
    wait_until("the run tells how far it is", || here.has("out.partial/progress.json"));
    let mut watcher = here.start(&["watch", "out"]);
    assert!(first_line(&mut watcher).contains(" %   time "), "it has seen the run at work");
    signal(run.id(), "KILL");
    run.wait().unwrap();
    let told = Ran::from(watcher.wait_with_output().unwrap()).ends(1);
    assert!(told.err.contains("the run out died at "), "{}", told.err);
    assert!(told.err.contains("\"forebay report out.partial\" shows what it has"), "{}", told.err);
    let after = here.run(&["watch", "out"]).ends(1);
    assert!(after.err.contains("the run out died at "), "{}", after.err);
    // And the next run takes its place.
    assert!(here.run(&["report", "out.partial"]).code == Some(0));
}
