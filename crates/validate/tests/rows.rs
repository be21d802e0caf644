//! The rows of every suite read, and those that wait for their experiments are complete.

use forebay_validate::{
    Basis, Row, SUITES, Verdict, only_by_name, pitfalls, rows, rows_of, run, table,
};
use std::collections::BTreeSet;

/// The bundles of readings that `validation/hiercc/rows.toml` fixes, as ids end.
const BUNDLES: [&str; 3] = ["-literal", "-recommended", "-recommended-count"];

#[test]
fn every_row_has_one_name_and_says_where_it_comes_from() {
    for suite in SUITES {
        let rows = rows(suite);
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids.len(), rows.len(), "{suite}: ids are unique");
        for row in &rows {
            let texts = [&row.id, &row.figure, &row.quantity, &row.unit, &row.citation];
            assert!(texts.iter().all(|text| !text.is_empty()), "{suite}: {row:?}");
            assert!(
                row.measured.is_none() && row.verdict == Verdict::NotRun,
                "{suite}: {}",
                row.id
            );
        }
    }
}

#[test]
fn a_row_that_repeats_others_claims_no_more_than_they_do() {
    for suite in SUITES {
        let rows = rows(suite);
        for row in &rows {
            let Some(repeats) = &row.repeats else { continue };
            let others: Vec<&Row> = repeats
                .ids()
                .map(|id| rows.iter().find(|row| row.id == id).expect("it names a row"))
                .collect();
            assert!(
                others.iter().all(|other| other.repeats.is_none()),
                "{suite}: {} of repeats",
                row.id
            );
            let counts = others.iter().any(|other| other.basis.counts());
            assert!(
                counts || !row.basis.counts(),
                "{suite}: {} follows from what does not count",
                row.id
            );
            let open = others.iter().any(|other| other.basis == Basis::Assumed);
            assert!(
                !open || !row.basis.counts(),
                "{suite}: {} follows from an open setting",
                row.id
            );
        }
    }
}

/// "rack-1-order-cwnd" is NV's number over BIC's, "rack-1-nv-cwnd" over "rack-1-bic-cwnd".
#[test]
fn an_ordering_of_assumed_rows_is_assumed() {
    let rows = rows("tcp-nv");
    let row = |id: String| rows.iter().find(|row| row.id == id);
    let mut orders = 0;
    for order in rows.iter().filter(|row| row.id.contains("-order-")) {
        let sides = ["-nv-", "-bic-"].map(|law| {
            let id = order.id.replace("-order-", law);
            let without = id.trim_end_matches("-pad2").trim_end_matches("-pad6").to_string();
            row(id).or_else(|| row(without))
        });
        let assumed = sides.into_iter().flatten().any(|side| side.basis == Basis::Assumed);
        orders += usize::from(assumed);
        assert!(!assumed || order.basis == Basis::Assumed, "{}", order.id);
    }
    assert!(orders > 40, "{orders} orderings");
}

#[test]
fn percentiles_of_carc_that_need_a_thousand_requests_run_only_by_name() {
    let ids = |rows: &[Row]| rows.iter().map(|row| row.id.clone()).collect::<BTreeSet<_>>();
    let (all, normal) = (ids(&rows("carc")), ids(&rows_of("carc")));
    let mut others = BTreeSet::new();
    for part in only_by_name("carc") {
        let rows = rows_of(&format!("carc/{part}"));
        let gains = rows.iter().filter(|row| row.id.contains("-gain-p99-"));
        assert_eq!((rows.len(), gains.count()), (12, 4), "{part}");
        for row in &rows {
            let tolerance = if row.id.contains("-gain-") { "10%" } else { "15%" };
            assert_eq!(row.tolerance.to_string(), tolerance, "{}", row.id);
        }
        others.extend(ids(&rows));
    }
    assert!(others.iter().all(|id| id.contains("-p99-")), "{others:?}");
    assert!(normal.is_disjoint(&others));
    assert_eq!(&normal | &others, all, "every row runs under some name");
    let said = "\n120 more rows take long runs, and run only by name: forebay reproduce carc/tails-lifo16six | ";
    assert!(table("carc", &[]).contains(said));
    assert!(!table("carc/lifo", &[]).contains("by name"));
}

#[test]
fn a_row_of_hiercc_that_the_paper_states_stands_under_each_bundle() {
    let rows = rows("hiercc");
    let ends = |row: &Row, bundle: &str| row.id.strip_suffix(bundle).map(str::to_string);
    let of = |bundle| rows.iter().filter_map(|row| ends(row, bundle)).collect::<BTreeSet<_>>();
    let [literal, recommended, count] = BUNDLES.map(of);
    let follows = |stem: &String| stem.starts_with("law-hop-");
    assert!(literal.len() > 40);
    for stem in literal.union(&recommended).chain(&count).filter(|stem| !follows(stem)) {
        assert!([&literal, &recommended, &count].iter().all(|all| all.contains(stem)), "{stem}");
    }
}

/// Pairs of settings that suites have on purpose, with the reason. What is not here is a mistake of the suite or of the warning.
const ON_PURPOSE: &[(&str, &str, &str)] = &[
    (
        "analytic",
        "receive_window and round trip",
        "window-limited measures a window of 64 KiB over a round trip of 1 ms",
    ),
    (
        "tcp-nv",
        "receive_window and round trip",
        "slope-double measures windows that the path could hold several times",
    ),
    ("rdma", "recovery and loss", "loss measures what go-back-N does under losses"),
];

/// Of experiments in Rust the first scenario is looked at, of suites that are data all; none is run.
#[test]
fn no_suite_has_settings_that_can_only_end_badly_but_on_purpose() {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for suite in SUITES {
        let (found, scenarios) = pitfalls(suite);
        assert!(scenarios > 0, "{suite} has scenarios");
        for (pair, text, count) in found {
            match ON_PURPOSE.iter().position(|(of, known, _)| (of, *known) == (suite, pair)) {
                Some(at) => _ = used.insert(at),
                None => wrong.push(format!("{suite}, {count} of {scenarios}: {pair}: {text}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(used.len(), ON_PURPOSE.len(), "each reason is one of a scenario");
}

/// Requests wait for credits in each script, and the library posts all of them when the simulator does.
#[test]
fn the_credit_library_posts_requests_in_the_order_and_at_the_times_of_the_simulator() {
    let rows = run("carc/credits", true);
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(
            (row.measured, row.verdict),
            (Some(0.0), Verdict::In),
            "{}: {}",
            row.id,
            row.note
        );
        assert!(
            row.note.contains("requests waited") && !row.note.contains(" 0 requests"),
            "{}",
            row.note
        );
    }
}
