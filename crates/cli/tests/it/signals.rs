//! Ctrl-C and friends, and a disk without room: what was written stays valid and the words are clear.
#![cfg(unix)]

use crate::common::{
    FOREBAY, LONG, Ran, SMALL, Scratch, same_files, signal, wait_for_frames, wait_until,
};
use serde_json::Value;
use std::process::{Command, Stdio};

const LONG_RUN: &str = "run long.toml --jobs 2 --out out --capture host[0]";

/// Starts the long run and waits until simulations of its first two seeds are at work.
fn started(here: &Scratch) -> std::process::Child {
    here.write("long.toml", LONG);
    let child = here.start(&LONG_RUN.split(' ').collect::<Vec<_>>());
    wait_for_frames(here, &[1, 2]);
    child
}

#[test]
fn ctrl_c_leaves_valid_partial_output_and_says_so() {
    // Under nohup a test hands on that SIGHUP is ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let hang_up =
        ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 0);
    let names = [&["INT", "TERM"][..], if hang_up { &["HUP"] } else { &[] }].concat();
    for name in names {
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
        assert!(last.ends_with("results in out are valid and partial"), "{last}");
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

/// Forty million flows take long to lay out, and few of them are there when the signal comes.
#[test]
fn ctrl_c_while_flows_are_laid_out_ends_it_and_leaves_nothing() {
    let here = Scratch::new();
    here.write("many.toml", MANY);
    let child = here.start(&["run", "many.toml", "--over-budget", "--out", "out"]);
    wait_until("the run has begun", || here.has("out.partial/manifest.json"));
    signal(child.id(), "INT");
    let ran = Ran::from(child.wait_with_output().unwrap()).ends(130);
    let said = "interrupted before the first event, while flows were laid out; nothing was written";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert!(!here.has("out") && !here.has("out.partial"));
}

const MANY: &str = r#"
version = 1
stop = { time = "3s" }
[fabric]
kind = "star"
hosts = 128
host_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "dctcp"
[[traffic]]
kind = "poisson"
sizes = { points = [[49000, 0], [51000, 1]] }
load = 0.4
"#;

/// An agent that is stopped or hangs keeps its socket open and says nothing.
#[test]
fn ctrl_c_ends_a_run_whose_agent_is_silent() {
    use std::os::unix::fs::PermissionsExt;
    let here = Scratch::new();
    // A copy of the command, so that its agent is the one that stands beside it.
    let command = here.path.join("forebay");
    std::fs::copy(crate::common::FOREBAY, &command).unwrap();
    let agent = here.write(
        "forebay-agent",
        "#!/bin/sh\ntrap '' INT TERM\nhead -c 1 > spoken\necho $$ > pid\nexec sleep 1000\n",
    );
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = "run --preset host-congestion --agent --set stop.time=50ms --out out";
    for (signals, code) in [(1, 130), (2, 130)] {
        let mut child = Command::new(&command)
            .args(run.split(' '))
            .current_dir(&here.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("the agent has been spoken to", || {
            here.has("pid") && !here.read("pid").is_empty()
        });
        assert!(child.try_wait().unwrap().is_none(), "it waits for the agent");
        (0..signals).for_each(|_| signal(child.id(), "INT"));
        // A regression would wait for ever.
        wait_until("the run has ended", || child.try_wait().unwrap().is_some());
        if signals == 2 {
            // It ended at once; a real agent ends as its socket closes.
            let _ = Command::new("kill").args(["-KILL", here.read("pid").trim()]).status();
        }
        let ran = Ran::from(child.wait_with_output().unwrap()).ends(code);
        if signals == 1 {
            let said = "interrupted while the agent did not answer; no results are kept";
            assert!(ran.err.ends_with(&format!("{said}\n")), "{}", ran.err);
            assert!(!here.has("out") && !here.has("out.partial"));
        }
        let pid = here.read("pid");
        wait_until("its agent has ended", || {
            !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()
        });
        std::fs::remove_file(here.path.join("pid")).unwrap();
    }
}

/// Sixty thousand points take seconds to lay out.
#[test]
fn ctrl_c_while_a_sweep_is_laid_out_ends_it_and_leaves_nothing() {
    let here = Scratch::new();
    let values =
        |from: u32| (from..from + 200).map(|n| format!("\"{n}KB\"")).collect::<Vec<_>>().join(", ");
    let sweep = format!(
        "{SMALL}\n[sweep]\n\"traffic[0].size\" = [{}]\n\"fabric.switch.ecn\" = [{}]\n",
        values(100),
        (1..300).map(|n| format!("{{ k = \"{n}KB\" }}")).collect::<Vec<_>>().join(", ")
    );
    here.write("many.toml", &sweep);
    let child = here.start(&["sweep", "many.toml", "--out", "out"]);
    // From when it listens for the signal.
    wait_until("it listens", || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
    });
    signal(child.id(), "INT");
    let ran = Ran::from(child.wait_with_output().unwrap()).ends(130);
    assert_eq!(ran.err, "interrupted before the first run; nothing is left\n");
    assert!(!here.has("out"));
}

#[test]
fn nohup_outlives_its_terminal() {
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let script = format!("trap '' HUP; exec {FOREBAY} {LONG_RUN}");
    let child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_frames(&here, &[1, 2]);
    // If the first counted, the second would end the run at once and without a word.
    let both = format!("kill -HUP {0}; kill -INT {0}", child.id());
    assert!(Command::new("sh").args(["-c", &both]).status().unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap()).ends(130);
    assert!(ran.err.contains("results in out are valid and partial"), "{}", ran.err);
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
    let script = format!("ulimit -f 64; exec {FOREBAY} run {} --out out", path.display());
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here.path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = Ran::from(output).ends(1);
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.err);
    assert!(errors[0].starts_with("error: cannot write out.partial/series.csv"), "{}", ran.err);
    assert!(!errors[0].contains("os error"), "{}", ran.err);
    assert!(!here.has("out"), "it is not whole");
    assert!(!here.read("out.partial/manifest.json").contains("\"complete\""));
    let report = here.run(&["report", "out.partial"]).ends(0);
    assert!(report.err.contains("out.partial is left of a run that did not end"), "{}", report.err);
}

#[test]
fn a_killed_run_is_no_run_and_what_it_left_is_named() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let mut child = started(&here);
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let again = here.run(&["run", "small.toml", "--out", "out"]).ends(2);
    assert_eq!(
        again.err,
        "error: out.partial is left of a run of out that did not end; name another directory, or add --force \
         to replace it; \"forebay report out.partial\" shows what it has\n"
    );
    let report = here.run(&["report", "out"]).ends(2);
    assert!(report.err.contains("\"forebay report out.partial\" shows what it has"), "{report:?}");
    let report = here.run(&["report", "out.partial"]).ends(0);
    assert!(report.err.contains("0 of 3 seeds complete"), "{}", report.err);
    assert!(here.read("out.partial/report.html").contains("interrupted: partial data"));
    here.run(&["run", "small.toml", "--out", "out", "--force"]).ends(0);
    assert!(here.has("out/summary.json") && !here.has("out.partial"));
}

#[test]
fn a_killed_run_keeps_the_rows_that_it_had() {
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let mut child = here.start(&["run", "long.toml", "--jobs", "1", "--out", "out"]);
    wait_until("something is saved", || here.has("out.partial/unfinished/seed-1/runs.csv"));
    signal(child.id(), "KILL");
    child.wait().unwrap();
    let report = here.run(&["report", "out.partial"]).ends(0);
    assert!(
        report.err.contains("0 of 3 seeds complete, seed 1 until ")
            && report.err.contains(" us, seeds 2, 3 missing"),
        "{}",
        report.err
    );
    // The names of the columns, and the eight flows of the first millisecond at least. The next save may have been under way.
    let saved = ["seed-1", "seed-1.old"].map(|seed| {
        let path = here.path.join(format!("out.partial/unfinished/{seed}/flows.csv"));
        std::fs::read_to_string(path).map_or(0, |flows| flows.lines().count())
    });
    let saved = saved[0].max(saved[1]);
    assert!(saved >= 9, "{saved}");
}

#[test]
fn two_runs_do_not_work_in_one_directory_and_a_good_one_stays_until_the_new_one_is_whole() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.write("long.toml", LONG);
    here.run(&["run", "small.toml", "--out", "out"]).ends(0);
    here.run(&["run", "small.toml", "--out", "copy"]).ends(0);
    let mut first = here.start(&["run", "long.toml", "--out", "out", "--force", "--jobs", "1"]);
    wait_until("the run has begun", || here.has("out.partial/manifest.json"));
    for force in [&["--force"][..], &[]] {
        let args = [&["run", "small.toml", "--out", "out"], force].concat();
        let second = here.run(&args).ends(2);
        let says = match force {
            [] => "out holds a run already",
            _ => "another run is at work in out; wait for it",
        };
        assert!(second.err.contains(says), "{}", second.err);
    }
    signal(first.id(), "KILL");
    first.wait().unwrap();
    same_files(&here.path.join("out"), &here.path.join("copy"));
    here.run(&["run", "small.toml", "--out", "out", "--force", "--seed", "9"]).ends(0);
    assert!(here.read("out/runs.csv").contains("\n9,") && !here.has("out.partial"));
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
        let script = format!("{FOREBAY} {args} | head -n 1");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let ran = Ran::from(output).ends(0);
        assert_eq!(ran.err, "", "{args}");
        assert_eq!(ran.out.lines().count(), 1, "{args}");
    }
}
