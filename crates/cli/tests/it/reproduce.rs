//! `forebay reproduce --all`: every suite once, whatever is stopped on the way. Suites here take seconds or less.
#![cfg(unix)]

use crate::common::{Scratch, try_until, wait_until};
use serde_json::Value;

const CREDITS: &str = "reproduced/carc-credits.json";
const EXPRESSPASS: &str = "reproduced/expresspass.json";

/// Two suites, the first of them the shorter.
const BOTH: [&str; 4] = ["reproduce", "--all", "carc/credits", "expresspass"];

fn saved(here: &Scratch, file: &str) -> Value {
    serde_json::from_str(&here.read(file)).unwrap()
}

#[test]
fn suites_that_ended_before_a_command_was_stopped_are_kept_and_the_others_run() {
    let here = try_until("a command is stopped between two suites", || {
        let here = Scratch::new();
        let mut child = here.start(&BOTH);
        wait_until("the first suite has its file", || {
            here.has(CREDITS) || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        (here.has(CREDITS) && !here.has(EXPRESSPASS)).then_some(here)
    });
    // A number that no run gives: a suite that runs again overwrites it.
    let mut file = saved(&here, CREDITS);
    file["rows"][0]["measured"] = 0.25.into();
    here.write(CREDITS, &file.to_string());
    let ran = here.run(&BOTH).ends(0);
    assert!(ran.err.contains("1 of 2 suites were done before; 1 to go"), "{}", ran.err);
    assert_eq!(saved(&here, CREDITS)["rows"][0]["measured"], 0.25);
    assert_eq!(saved(&here, EXPRESSPASS)["suite"], "expresspass");

    // And again, with nothing to do: the same table.
    let again = here.run(&BOTH).ends(0);
    assert!(again.err.contains("2 of 2 suites were done before; 0 to go"), "{}", again.err);
    assert_eq!(again.out, ran.out);
    let lines: Vec<&str> = again.out.lines().collect();
    assert!(lines[2].starts_with("| carc/credits     |    3 |    0 |"), "{}", again.out);
    assert!(lines[4].starts_with("| **all** "), "{}", again.out);
}

#[test]
fn a_suite_of_another_version_or_length_or_with_other_rows_runs_again() {
    let here = Scratch::new();
    let command = ["reproduce", "--all", "carc/credits", "--jobs", "2"];
    let first = here.run(&command).ends(0).out;
    let own = saved(&here, CREDITS);
    let changes: [fn(&mut Value); 3] = [
        |file| file["version"] = "0.0.1".into(),
        |file| file["quick"] = true.into(),
        |file| file["rows"][0]["published"] = 7.0.into(),
    ];
    for change in changes {
        let mut other = own.clone();
        change(&mut other);
        here.write(CREDITS, &other.to_string());
        let ran = here.run(&command).ends(0);
        assert!(!ran.err.contains("done before"), "{}", ran.err);
        assert_eq!(ran.out, first);
        assert_eq!(saved(&here, CREDITS), own);
    }
}

#[test]
fn what_all_cannot_run_gets_a_sentence() {
    let here = Scratch::new();
    let said = |args: &[&str]| here.run(&[&["reproduce"], args].concat()).ends(2).err;
    let several = said(&["analytic", "ndp"]);
    assert!(several.contains("write one, or all of them with --all"), "{several}");
    let twice = said(&["--all", "ndp", "ndp"]);
    assert!(twice.contains("suite \"ndp\" is named twice; leave one out"), "{twice}");
    let unknown = said(&["--all", "analytik"]);
    assert!(unknown.contains("there is no suite \"analytik\""), "{unknown}");
    assert!(!here.has("reproduced"), "nothing has begun");
    std::fs::create_dir(here.path.join("reproduced")).unwrap();
    here.write(CREDITS, "[]");
    let foreign = said(&["--all", "carc/credits"]);
    assert!(foreign.contains("carc-credits.json is not a file of this command"), "{foreign}");
    assert_eq!(here.read(CREDITS), "[]");
}
