//! What the program prints.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_carc-bench")).args(words).output().expect("it runs")
}

fn json(words: &[&str]) -> Value {
    let out = run(words);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

#[test]
fn pairs_of_unread_data_become_numbers_and_a_picture() {
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("carc-bench.svg");
    let path = picture.display().to_string();
    let found =
        json(&["--unread", "4M", "--pairs", "3", "--limit", "1M", "--json", "--picture", &path]);
    let pairs = found["lines"]["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 3);
    assert!(found["lines"]["median_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0));
    assert_eq!(found["limit_bytes"], 1 << 20);
    assert!(std::fs::read_to_string(picture).expect("a picture").starts_with("<svg"));
    let text = String::from_utf8(run(&["--unread", "4M", "--pairs", "1"]).stdout).expect("text");
    assert!(text.contains("ns per line") && text.contains("median ratio of 1 pairs"), "{text}");
    assert!(text.contains("no counters here") || text.contains("misses per line"), "{text}");
}

#[test]
fn traffic_of_two_processes_has_rates_and_latencies_with_and_without_credits() {
    for kind in ["one-way", "echo", "mixed"] {
        let words = ["--traffic", kind, "--messages", "2000", "--limit", "2M", "--unread", "16M"];
        let found = json(&[&words[..], &["--pairs", "0", "--json"]].concat());
        for of in ["without", "with"] {
            let of = &found["traffic"][of];
            let is_more = |key: &str| of[key].as_f64().is_some_and(|number| number > 0.0);
            assert!(is_more("per_second") && is_more("p99_us"), "{kind}: {found}");
            assert_eq!(of["messages"], 2000, "{kind}: all were read");
        }
    }
}

/// 4 KiB messages, with a reader that is slower than the writer.
#[test]
fn credit_messages_take_at_most_a_hundredth_of_the_bytes() {
    let words = [
        "--pairs",
        "0",
        "--traffic",
        "one-way",
        "--limit",
        "1M",
        "--unread",
        "16M",
        "--work",
        "2000",
        "--messages",
        "5000",
        "--json",
    ];
    let percent = |of: &Value| of["traffic"]["with"]["credit_percent"].as_f64().expect("a number");
    let waited = |of: &Value| of["traffic"]["with"]["blocked"].as_u64().is_some_and(|of| of > 0);
    let found = json(&words);
    assert!(percent(&found) > 0.0 && percent(&found) <= 1.0, "{found}");
    assert!(waited(&found), "requests waited: {found}");
    assert_eq!(found["traffic"]["without"]["credit_percent"].as_f64(), Some(0.0));
}

#[test]
fn bad_words_end_with_one_sentence() {
    let ring = ["--pairs", "0", "--traffic", "mixed"];
    for (words, says) in [
        (&["--unread", "4xL9"][..], "write for instance 64M, 4K or 4xL3"),
        (&["--unread", "0xL3"], "write for instance 64M, 4K or 4xL3"),
        (&["--unread", "1K"], "write something from 4K to 2G"),
        (&["--unread", "100G"], "write something from 4K to 2G"),
        (&["--limit", "3"], "nothing of the cache is left"),
        (&["--limit", "4KiB"], "write for instance 64M, 4K or 4xL3"),
        (&[&ring[..], &["--unread", "64K"]].concat(), "does not fit a ring of 65536"),
        (&["--schedule", "slow", "--message", "4M"], "write a --ring from --message to 2G"),
        (&["--pairs", "0", "--picture", "lines.svg"], "--picture shows pairs over a ring"),
        (&["--over", "verbs"], "write --listen ADDRESS:PORT at one end"),
        (&["--over", "verbs", "--message", "2G"], "over verbs a message has at most 1M"),
        (&["--over", "verbs", "--traffic", "mixed"], "are for a ring"),
        (
            &["--over", "verbs", "--device", "no such device", "--listen", "127.0.0.1:0"],
            "no verbs here: ",
        ),
    ] {
        let out = run(words);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            !out.status.success() && said.contains(says) && said.lines().count() == 1,
            "{words:?}: {said}"
        );
    }
    for seconds in ["0", "nan", "inf", "1h"] {
        let out = run(&["--seconds", seconds]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(said.contains("write a number of seconds from 0.01 to 3600"), "{seconds}: {said}");
    }
}

#[test]
fn a_full_disk_is_named_and_a_reader_that_goes_is_no_failure() {
    let short = ["--unread", "4K", "--pairs", "1", "--limit", "1M"];
    let out = run(&[&short[..], &["--picture", "/dev/full"]].concat());
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.starts_with("carc-bench: /dev/full: No space left"), "{said}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let bench = || Command::new(env!("CARGO_BIN_EXE_carc-bench"));
    let out = bench().args(short).stdout(full).stderr(Stdio::piped()).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.starts_with("carc-bench: standard output: No space left"), "{said}");
    let (reads, writes) = std::io::pipe().expect("a pipe");
    drop(reads);
    let out = bench().args(short).stdout(writes).stderr(Stdio::piped()).output().expect("it runs");
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
    // No folder for the socket at which two processes meet.
    let words = ["--pairs", "0", "--traffic", "echo", "--messages", "1"];
    let out = bench().args(words).env("TMPDIR", "/dev/null").output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.starts_with("carc-bench: /dev/null/carc-bench-"), "{said}");
}
