//! What the program prints.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_carc-bench")).args(words).output().expect("it runs")
}

fn json(words: &[&str]) -> Value {
    let out = run(words);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// What the program prints once it was long enough at work for what is asked: where the machine is busy, one of its two processes may get
/// no CPU for a while. The limit of minutes ends a test that hangs.
fn json_once(words: &[&str], enough: impl Fn(&Value) -> bool) -> Value {
    for seconds in ["0.5", "4", "32", "256"] {
        let found = json(&[words, &["--seconds", seconds]].concat());
        if enough(&found) || seconds == "256" {
            return found;
        }
    }
    unreachable!("the last one is returned")
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
        let words =
            ["--pairs", "0", "--traffic", kind, "--limit", "2M", "--unread", "16M", "--json"];
        let both = |found: &Value| {
            ["without", "with"].iter().all(|of| {
                let is_more = |key: &str| {
                    found["traffic"][*of][key].as_f64().is_some_and(|number| number > 0.0)
                };
                is_more("per_second") && is_more("p99_us")
            })
        };
        let found = json_once(&words, both);
        assert!(both(&found), "{kind}: {found}");
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
        "--json",
    ];
    let percent = |of: &Value| of["traffic"]["with"]["credit_percent"].as_f64().expect("a number");
    let waited = |of: &Value| of["traffic"]["with"]["blocked"].as_u64().is_some_and(|of| of > 0);
    let found = json_once(&words, |of| percent(of) > 0.0 && waited(of));
    assert!(percent(&found) > 0.0 && percent(&found) <= 1.0, "{found}");
    assert!(waited(&found), "requests waited: {found}");
    assert_eq!(found["traffic"]["without"]["credit_percent"].as_f64(), Some(0.0));
}

#[test]
fn bad_words_end_with_one_sentence() {
    for (words, says) in [
        (&["--unread", "4xL9"][..], "write for instance 64M, 4K or 4xL3"),
        (&["--limit", "3"], "nothing of the cache is left"),
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
}
