//! Pairs of settings that cannot work: each with a scenario that ends badly and a near neighbour of which nothing is said.
//!
//! `crates/sim/tests/it/pitfalls.rs` runs them.

use forebay_scenario::pitfalls::{pairs, pitfalls};
use forebay_scenario::plan::Plan;
use std::collections::BTreeSet;

#[path = "../data/pitfalls.rs"]
mod cases;

use cases::{CASES, Case};

fn said(case: &Case, sets: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let sets = [case.both, sets].concat();
    let loaded = forebay_scenario::text_with("pair.toml", case.base, &sets)
        .unwrap_or_else(|e| panic!("{}: {e}", case.pair));
    let plan = Plan::of(&loaded.scenario.fabric);
    pitfalls(&loaded.scenario, &plan).into_iter().map(|one| (one.pair, one.text)).collect()
}

/// The sentence for a pair names both keys and their values.
#[test]
fn each_pair_is_warned_of_and_its_near_neighbour_is_not() {
    let mut wrong = Vec::new();
    for case in CASES {
        let (bad, good) = (said(case, case.bad), said(case, case.good));
        let own = bad.iter().find(|(pair, _)| *pair == case.pair);
        match own {
            None => wrong.push(format!("{}: nothing is said, but {bad:?}", case.pair)),
            Some((_, text)) => {
                for word in case.says.iter().filter(|word| !text.contains(**word)) {
                    wrong.push(format!("{}: no {word:?} in: {text}", case.pair));
                }
            }
        }
        if let Some((_, text)) = good.iter().find(|(pair, _)| *pair == case.pair) {
            wrong.push(format!("{}: the neighbour is warned of: {text}", case.pair));
        }
        let others: Vec<_> = good.iter().filter(|(pair, _)| *pair != case.pair).collect();
        if !others.is_empty() {
            wrong.push(format!("{}: of the neighbour: {others:?}", case.pair));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_pair_has_a_case() {
    let tested: BTreeSet<&str> = CASES.iter().map(|case: &Case| case.pair).collect();
    assert_eq!(tested, pairs().collect());
}

/// A sentence ends with what to write instead.
#[test]
fn every_sentence_has_a_remedy() {
    for case in CASES {
        for (pair, text) in said(case, case.bad) {
            let remedy = text.rsplit("; ").next().unwrap_or_default();
            assert!(remedy.contains("write") || remedy.contains("add a path"), "{pair}: {text}");
        }
    }
}

/// 1,109 times a day is more than 64 bits of picoseconds.
#[test]
fn a_stagger_of_a_day_for_many_senders_is_warned_of() {
    let case = CASES.iter().find(|case| case.pair == "stagger and stop.time").expect("a case");
    let sets = [
        ("fabric.hosts", "2300"),
        (
            "traffic",
            r#"[{ kind = "long", from = "host[1*]", to = "host[0]", stagger = "86400s" }]"#,
        ),
    ];
    let said = said(case, &sets);
    assert!(said.iter().any(|(pair, _)| *pair == case.pair), "{said:?}");
}

/// Eight ranks: in a ring, or with halvings, a rank hears one other at a time; direct, seven; in a ring of each of two groups, two.
#[test]
fn a_rank_hears_as_many_senders_at_once_as_its_algorithm_has() {
    let case = CASES.iter().find(|case| case.pair == "recovery and buffer").expect("a case");
    let burst = |op: &str, algorithm: &str, ranks: &str| {
        let keys = format!("op = \"{op}\", algorithm = \"{algorithm}\", bytes = \"16MB\"");
        let traffic = format!("[{{ kind = \"collective\", ranks = {ranks}, {keys} }}]");
        let hosts = ("fabric.hosts", "8");
        let sets = [hosts, ("traffic", &*traffic), ("fabric.switch.buffer", "{ size = \"8KB\" }")];
        let said = said(case, &sets).into_iter().find(|(pair, _)| *pair == case.pair);
        said.map_or("nothing".into(), |(_, text)| text)
    };
    let all = "\"host[*]\"";
    for (op, algorithm) in
        [("all-reduce", "ring"), ("all-to-all", "ring"), ("all-reduce", "halving-doubling")]
    {
        assert_eq!(burst(op, algorithm, all), "nothing", "{op} {algorithm}");
    }
    for op in ["all-reduce", "all-to-all"] {
        let text = burst(op, "direct", all);
        assert!(text.contains(": 7 senders of traffic[0] can queue"), "{op}: {text}");
    }
    let two = "[[\"host[0]\", \"host[1]\", \"host[2]\"], [\"host[3]\", \"host[4]\", \"host[0]\"]]";
    let text = burst("all-gather", "ring", two);
    assert!(text.contains(": 2 senders of traffic[0] can queue"), "{text}");
}
