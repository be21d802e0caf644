//! Reading any file ends in a scenario or in sentences that say where the mistakes are.

use forebay_scenario::presets;
use forebay_scenario::workload::{Hosts, flows, forecast};
use forebay_scenario::{resolved, text, text_with};
use proptest::prelude::*;

/// Reads a text. What is accepted must also resolve, read back equal and make flows.
fn try_text(file: &str) -> Result<(), TestCaseError> {
    match text("x.toml", file) {
        Err(e) => {
            prop_assert!(!e.problems.is_empty());
            for problem in &e.problems {
                let mut place =
                    problem.place.strip_prefix("x.toml:").unwrap_or_default().split(':');
                let (line, column) =
                    (place.next().unwrap_or_default(), place.next().unwrap_or_default());
                let line: usize =
                    line.parse().map_err(|_| TestCaseError::fail(format!("no line: {problem}")))?;
                let column: usize = column
                    .parse()
                    .map_err(|_| TestCaseError::fail(format!("no column: {problem}")))?;
                prop_assert!(
                    line <= file.lines().count() + 1 && line > 0 && column > 0,
                    "{}",
                    problem
                );
                prop_assert!(
                    !problem.text.is_empty() && !problem.text.contains('\n'),
                    "{}",
                    problem
                );
                prop_assert!(problem.text.len() < 2_000, "{}", problem);
            }
        }
        Ok(loaded) => {
            let full = resolved(&loaded.scenario);
            let back =
                text("r.toml", &full).map_err(|e| TestCaseError::fail(format!("{e}\n{full}")))?;
            prop_assert_eq!(&back.scenario, &loaded.scenario);
            let hosts = Hosts::of(&loaded.scenario);
            if forecast(&loaded.scenario, &hosts).iter().sum::<u128>() < 100_000 {
                let table = flows(&loaded.scenario, &hosts, 1)
                    .map_err(|e| TestCaseError::fail(e.to_string()))?;
                let n = hosts.names.len() as u32;
                prop_assert!(table.flows.iter().all(|f| f.src < n && f.dst < n && f.src != f.dst));
            }
        }
    }
    Ok(())
}

/// Things to put in the place of a word.
const WORDS: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "65535",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "0.5",
    "1.0000001",
    "true",
    "\"\"",
    "\"0B\"",
    "\"1B\"",
    "\"1ps\"",
    "\"213d\"",
    "\"18446744073709551615B\"",
    "\"18446744073709551615ps\"",
    "\"10000000s\"",
    "\"1Tbps\"",
    "\"1 packets\"",
    "\"4294967296 packets\"",
    "\"*\"",
    "\"host[*]\"",
    "\"leaf[*]\"",
    "\"leaf[0]-spine[0]\"",
    "\"-\"",
    "\"a\"",
    "\"linux\"",
    "\"ideal\"",
    "\"8us\"",
    "\"star\"",
    "\"dumbbell\"",
    "\"fat-tree\"",
    "\"graph\"",
    "\"leaf-spine\"",
    "\"poisson\"",
    "\"incast\"",
    "\"rpc\"",
    "\"1B..9KB\"",
    "{ exponential = \"3us\" }",
    "\"permutation\"",
    "\"all-to-all\"",
    "\"long\"",
    "\"list\"",
    "\"core\"",
    "\"static\"",
    "\"shared\"",
    "\"off\"",
    "\"reno\"",
    "\"websearch\"",
    "[]",
    "[[]]",
    "[1, 2]",
    "[\"a\"]",
    "{}",
    "{ rate = \"1bps\", delay = \"0s\" }",
    "{ k = \"0B\" }",
    "[{ classes = [0, 3], k = \"9KB\" }]",
    "{ classes = [0], headroom = \"three-delays\", watchdog = { after = \"1us\" } }",
    "{ classes = [3, 3], short_headroom = \"warn\", headroom = \"0B\" }",
    "{ points = [[0, 0], [1, 1]] }",
    "2020-01-01",
    "'''\n'''",
    "\"\\u0000\"",
    "\u{1f600}",
    "=",
    "]",
    "[[traffic]]\n",
    "[fabric.switch]\n",
    "[sweep]\n\"stop.time\" = [\"1ms\"]\n",
];

/// What no preset has.
const PAUSES: &str = include_str!("../../../../scenarios/pfc-victim.toml");

#[derive(Clone, Debug)]
enum Edit {
    /// Puts a word in the place of one.
    Word(usize, usize),
    /// Deletes a line.
    Delete(usize),
    /// Copies a line somewhere.
    Copy(usize, usize),
    /// Puts a character somewhere.
    Insert(usize, char),
    /// Cuts the text here.
    Cut(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0..10_000usize;
    prop_oneof![
        8 => (at.clone(), 0..WORDS.len()).prop_map(|(at, word)| Edit::Word(at, word)),
        3 => at.clone().prop_map(Edit::Delete),
        2 => (at.clone(), at.clone()).prop_map(|(a, b)| Edit::Copy(a, b)),
        2 => (at.clone(), any::<char>()).prop_map(|(at, c)| Edit::Insert(at, c)),
        1 => at.prop_map(Edit::Cut),
    ]
}

/// Where words begin and end: after `=`, and between brackets, commas and spaces.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut begin = None;
    for (i, c) in text.char_indices() {
        match (c.is_whitespace() || "=,[]{}".contains(c), begin) {
            (true, Some(b)) => {
                all.push((b, i));
                begin = None;
            }
            (false, None) => begin = Some(i),
            _ => {}
        }
    }
    all
}

fn apply(text: &mut String, edit: &Edit) {
    let boundary = |text: &str, at: usize| {
        (0..=at % (text.len() + 1)).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
    };
    match edit {
        Edit::Word(at, word) => {
            let words = words(text);
            if !words.is_empty() {
                let (begin, end) = words[at % words.len()];
                text.replace_range(begin..end, WORDS[*word]);
            }
        }
        Edit::Delete(at) => {
            let lines: Vec<&str> = text.lines().collect();
            let gone = at % lines.len().max(1);
            *text = lines
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != gone)
                .map(|(_, l)| format!("{l}\n"))
                .collect();
        }
        Edit::Copy(from, to) => {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            if !lines.is_empty() {
                let line = lines[from % lines.len()].clone();
                lines.insert(to % (lines.len() + 1), line);
            }
            *text = lines.join("\n");
        }
        Edit::Insert(at, c) => text.insert(boundary(text, *at), *c),
        Edit::Cut(at) => text.truncate(boundary(text, *at)),
    }
}

/// The presets without comments, so that edits fall on what counts.
fn bare(text: &str) -> String {
    text.lines()
        .filter(|l| !l.starts_with('#') && !l.trim().is_empty())
        .map(|l| format!("{l}\n"))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn any_text(file in any::<String>()) {
        try_text(&file)?;
    }

    #[test]
    fn any_toml_like_text(file in "([a-z_.\\[\\]\" =0-9{},#\n']|\\PC){0,200}") {
        try_text(&file)?;
    }

    #[test]
    fn shipped_scenarios_after_some_edits(
        which in 0..=presets::all().count(),
        edits in prop::collection::vec(edit(), 1..6),
    ) {
        let mut file = bare(presets::all().nth(which).map_or(PAUSES, |preset| preset.text));
        edits.iter().for_each(|edit| apply(&mut file, edit));
        try_text(&file)?;
    }

    #[test]
    fn any_setting(
        which in 0..presets::all().count(),
        key in prop_oneof!["[a-z.\\[\\]0-9]{0,30}", Just("traffic[0].load".into()), Just("fabric.host_link.rate".into()), "\\PC{0,9}"],
        value in prop_oneof!["\\PC{0,12}", prop::sample::select(WORDS).prop_map(String::from)],
    ) {
        if let Err(e) = text_with("x.toml", presets::all().nth(which).unwrap().text, &[(&key, &value)]) {
            prop_assert!(e.problems.iter().all(|p| !p.place.is_empty() && !p.text.is_empty()));
        }
    }

    #[test]
    fn any_file_of_sizes(file in "([0-9.,; \te-]|\\PC|\n){0,80}", lin in any::<bool>()) {
        if let Ok(cdf) = forebay_scenario::cdf::Cdf::parse("x", &file, lin) {
            prop_assert!(cdf.mean() >= 1.0 && cdf.mean().is_finite());
            for i in 1..=64 {
                prop_assert!(cdf.sample(f64::from(i) / 64.0) <= cdf.largest());
            }
        }
    }
}

/// More with `PROPTEST_CASES`.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000)
}
