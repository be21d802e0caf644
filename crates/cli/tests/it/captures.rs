//! Captures from the command line: where they go, what stays when a run is cut short, and what is said of a wrong place.
#![cfg(unix)]

use crate::common::{LONG, Ran, SMALL, Scratch, signal, wait_for_frames};
use std::path::Path;
use std::process::{Command, Stdio};

/// Blocks of a capture by type; panics unless the file is whole blocks.
fn blocks(path: &Path) -> Vec<u32> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut kinds) = (0, Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "{} at {at}", path.display());
        kinds.push(word(at));
        at += length;
    }
    kinds
}

const PACKET: u32 = 6;
const STATISTICS: u32 = 5;
const FILE: &str = "captures/seed-1/host0-to-tor.pcapng";

#[test]
fn a_capture_is_the_same_on_any_number_of_threads_and_changes_no_result() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let run = |out: &str, more: &[&str]| {
        here.run(&[&["run", "small.toml", "--out", out], more].concat()).ends(0)
    };
    run("plain", &[]);
    let one = run("one", &["--capture", "host[0]", "--capture", "tor->host[1]"]);
    run("two", &["--capture", "host[0]", "--capture", "tor->host[1]", "--threads", "2"]);
    for file in [FILE, "captures/seed-1/tor-to-host1.pcapng", "captures/seed-2/host0-to-tor.pcapng"]
    {
        let bytes = |dir: &str| std::fs::read(here.path.join(dir).join(file)).unwrap();
        assert!(bytes("one") == bytes("two"), "{file}");
        let kinds = blocks(&here.path.join("one").join(file));
        assert_eq!((kinds[0], kinds.last()), (0x0a0d_0d0a, Some(&STATISTICS)));
        assert!(kinds.iter().filter(|kind| **kind == PACKET).count() > 10);
    }
    for file in ["flows.csv", "ports.csv", "runs.csv"] {
        assert_eq!(here.read(&format!("plain/{file}")), here.read(&format!("one/{file}")));
    }
    assert!(one.out.contains("captures  one/captures ("), "{}", one.out);
    let manifest: serde_json::Value =
        serde_json::from_str(&here.read("one/manifest.json")).unwrap();
    let listed = manifest["files"].as_array().unwrap().iter().find(|f| f["file"] == FILE).unwrap();
    let frames = blocks(&here.path.join("one").join(FILE)).iter().filter(|k| **k == PACKET).count();
    assert_eq!(listed["rows"], frames);
    // The resolved file captures the same ports again; and replacing the run removes what the new one does not write.
    here.run(&["run", "one/resolved.toml", "--out", "again"]).ends(0);
    assert!(here.has(&format!("again/{FILE}")));
    here.run(&["run", "small.toml", "--out", "again", "--force"]).ends(0);
    assert!(!here.has("again/captures"));
    here.run(&["report", "one"]).ends(0);
}

#[test]
fn a_place_that_does_not_exist_is_one_sentence_with_what_does() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let said = here.run(&["run", "small.toml", "--capture", "hots[1]"]).ends(2).err;
    assert!(
        said.contains("no node is called \"hots[1]\"")
            && said.contains("did you mean \"host[1]\"?"),
        "{said}"
    );
    assert!(said.starts_with("--capture hots[1]: no node is called"), "{said}");
    let said = here.run(&["run", "small.toml", "--capture", "host[0]", "--capture", "host[*]"]);
    assert_eq!(
        said.ends(2).err,
        "--capture host[*]: \"host[*]\" captures host[0]->tor, as --capture host[0] does; write each port once\n"
    );
    let theirs =
        ["run", "small.toml", "--capture", "host[0]", "--set", "output.capture[0].snap=1B"];
    let said = here.run(&theirs).ends(2).err;
    assert!(
        said.starts_with("--set output.capture[0].snap=1B: output.capture[0].snap: "),
        "{said}"
    );
    assert!(!here.has("results"));
}

#[test]
fn ctrl_c_leaves_whole_captures() {
    let here = Scratch::new();
    here.write("long.toml", LONG);
    let child =
        here.start(&["run", "long.toml", "--jobs", "1", "--out", "out", "--capture", "host[0]"]);
    wait_for_frames(&here, &[1]);
    signal(child.id(), "INT");
    Ran::from(child.wait_with_output().unwrap()).ends(130);
    let mut files = 0;
    for entry in std::fs::read_dir(here.path.join("out/captures/seed-1")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.extension().is_some_and(|e| e == "pcapng"), "{}", path.display());
        assert_eq!(blocks(&path).last(), Some(&STATISTICS));
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn a_full_disk_keeps_whole_frames_and_is_one_sentence() {
    let here = Scratch::new();
    let path = here.write("small.toml", SMALL);
    let script = format!(
        "ulimit -f 400; exec {} run {} --seed 1 --out out --capture 'host[0]' --set output.capture[0].snap=64KiB",
        crate::common::FOREBAY,
        path.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(&here.path).stdin(Stdio::null());
    let ran = Ran::from(command.output().unwrap()).ends(1);
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(errors.len(), 1, "{}", ran.err);
    assert!(
        errors[0]
            .starts_with("error: cannot write out.partial/captures/seed-1/host0-to-tor.pcapng"),
        "{}",
        ran.err
    );
    assert!(errors[0].contains("frames are kept"), "{}", ran.err);
    let kinds = blocks(&here.path.join("out.partial").join(FILE));
    assert!(kinds.len() > 10 && kinds[3..].iter().all(|kind| *kind == PACKET));
}
