//! The example in the help of each verb works as it stands.
#![cfg(unix)]

use crate::common::{FOREBAY, Scratch, in_sample};
use std::path::Path;
use std::process::Command;

/// The page of `play` is built apart, and suites are run by validation/verdicts.py.
const ELSEWHERE: [&str; 2] = ["play", "reproduce"];

#[test]
fn every_verb_has_an_example_that_works() {
    let here = Scratch::new();
    let help = here.run(&["--help"]).ends(0).out;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs.take_while(|line| !line.is_empty());
    let verbs = verbs.filter(|line| !line.starts_with("   "));
    let verbs: Vec<&str> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    let folder = Path::new(FOREBAY).parent().unwrap().display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    // What commands left in an empty folder: examples often begin alike, and a run is made once.
    let mut left: Vec<(String, Scratch)> = Vec::new();
    // The help of `agent` is that of another program.
    for (index, verb) in verbs.into_iter().enumerate().filter(|(_, verb)| *verb != "agent") {
        let help = here.run(&[verb, "--help"]).ends(0).out;
        let example = help.lines().skip_while(|line| *line != "Example:").skip(1);
        let example: Vec<&str> = example.take_while(|line| !line.is_empty()).collect();
        assert!(!example.is_empty(), "forebay {verb} --help has no example");
        assert!(
            example.iter().any(|line| line.contains(&format!("forebay {verb}"))),
            "{example:?}"
        );
        if !in_sample(index) {
            continue;
        }
        let inside = Scratch::new();
        let mut commands = String::new();
        for line in example.iter().filter(|_| !ELSEWHERE.contains(&verb)) {
            // What follows three spaces says what it does.
            let command = line.trim().split("   ").next().unwrap();
            commands = commands + command + "\n";
            if let Some((_, same)) = left.iter().find(|(of, _)| *of == commands) {
                copy(&same.path, &inside.path);
                continue;
            }
            let ran = Command::new("sh")
                .args(["-c", command])
                .env("PATH", &path)
                .current_dir(&inside.path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success(), "{command}: {}\n{said}", ran.status);
            left.push((commands.clone(), Scratch::new()));
            copy(&inside.path, &left.last().unwrap().1.path);
        }
    }
}

/// Copies what is in a folder into another.
fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(to).status();
    assert!(copied.unwrap().success(), "{}", from.display());
}
