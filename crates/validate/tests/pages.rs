//! A page about a paper begins with the totals of its suite's recorded verdicts: neither can go stale alone.

use forebay_validate::{
    Extent, Row, SUITES, Spread, Verdict, first_count, headline, numbers_table, only_by_name,
    papers, readings, recorded, recorded_spread, totals,
};
use std::collections::BTreeMap;
use std::path::Path;

/// First line of the totals, and what stands before their last.
const FIRST: &str = "| rows  ";
const LAST: &str = "\nreproduced: ";

/// What the headline begins with.
const HEADLINE: &str = "**Two-sided numbers that the paper states: ";

/// First line of the table of papers in `validation/README.md`.
const PAPERS: &str = "| paper | run | ";

/// First line of the table of the first count there, and what ends its list.
const FIRST_COUNT: &str = "| paper | first count | ";
const FIRST_COUNT_END: &str = "\n\nThe first count";

/// What begins a table of numbers, before its kind, and what ends it.
const NUMBERS: &str = "<!-- numbers: ";
const NUMBERS_END: &str = "<!-- end of numbers -->";

/// The page with its tables of numbers as they are now, and how many there are.
fn numbered(page: &str, suite: &str, numbers: &BTreeMap<String, f64>) -> (String, usize) {
    let mut parts = page.split(NUMBERS);
    let mut text = parts.next().expect("a page has a begin").to_string();
    let mut tables = 0;
    for part in parts {
        let (which, rest) = part.split_once(" -->").expect("the comment ends");
        let (_, after) = rest.split_once(NUMBERS_END).expect("the table ends");
        let table = numbers_table(suite, which, numbers);
        let table = table.unwrap_or_else(|why| panic!("docs/papers/{suite}.md: {why}"));
        text += &format!("{NUMBERS}{which} -->\n{table}{NUMBERS_END}{after}");
        tables += 1;
    }
    (text, tables)
}

/// What runs of a suite measured, if that was recorded.
fn measured(suite: &str) -> BTreeMap<String, f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation");
    let text = std::fs::read_to_string(root.join(suite).join("measured.toml")).unwrap_or_default();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{suite}/measured.toml: {error}"))
}

/// The page with these totals: in place of those it has, or after its title.
fn with(page: &str, suite: &str, totals: &str) -> String {
    let (before, after) = match (page.find(FIRST), page.find(LAST)) {
        (Some(first), Some(last)) => {
            let end = page[last + 1..].find('\n').map_or(page.len(), |n| last + 1 + n + 1);
            (page[..first].to_string(), &page[end..])
        }
        _ => {
            let (title, rest) = page.split_once("\n\n").expect("a title and text");
            (format!("{title}\n\n`forebay reproduce {suite} --quick`:\n\n"), rest)
        }
    };
    let gap = if after.starts_with('\n') { "" } else { "\n" };
    before + totals + gap + after
}

/// The page with this headline after its title.
fn headed(page: &str, headline: &str) -> String {
    let (title, rest) = page.split_once("\n\n").expect("a title and text");
    let rest = match rest.starts_with(HEADLINE) {
        true => rest.split_once("\n\n").expect("text after the headline").1,
        false => rest,
    };
    format!("{title}\n\n{headline}\n\n{rest}")
}

/// Rows whose totals a page shows: those of a whole run, if that is one command.
fn shown(suite: &str) -> Option<Vec<Row>> {
    let whole = only_by_name(suite).is_empty().then(|| recorded(suite, Extent::Whole));
    whole.flatten().or_else(|| recorded(suite, Extent::Quick))
}

/// Compares a page with what it should be, or writes it.
fn check(path: &Path, page: &str, expected: &str) {
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(path, expected).expect("the page can be written");
    } else {
        assert_eq!(page, expected, "{}: FOREBAY_BLESS=1 renews it", path.display());
    }
}

/// `FOREBAY_BLESS=1 cargo test -p forebay-validate --test pages` writes headline, totals and tables of numbers into the pages.
#[test]
fn pages_have_the_headline_the_totals_and_the_numbers_of_recorded_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut seen, mut with_tables) = (0, 0);
    for suite in SUITES {
        let path = root.join(format!("docs/papers/{suite}.md"));
        let spread = recorded_spread(suite);
        let quick = recorded(suite, Extent::Quick);
        if let (Some(spread), Some(quick)) = (&spread, quick) {
            let own = Spread::of(&[quick], readings(suite));
            assert_eq!(own.count[0], spread.count[0], "{suite}: verdicts.py --seeds {suite}");
            assert_eq!(own.two_sided[0], spread.two_sided[0], "{suite}: the same");
        }
        let (Some(rows), Ok(page)) = (shown(suite), std::fs::read_to_string(&path)) else {
            continue;
        };
        seen += 1;
        let expected = with(&page, suite, &totals(&rows, readings(suite), spread.as_ref()));
        let expected = headed(&expected, &headline(suite).expect("verdicts were recorded"));
        let (expected, tables) = numbered(&expected, suite, &measured(suite));
        with_tables += usize::from(tables > 0);
        check(&path, &page, &expected);
        assert!(expected.find(FIRST) < Some(600), "{suite}: the page begins with the totals");
    }
    assert!(seen >= 7, "{seen} pages");
    assert!(with_tables >= 5, "{with_tables} pages have a table of their rows");
}

/// A picture and a table of a page are of the run whose verdicts count.
#[test]
fn a_recorded_number_has_the_verdict_that_was_recorded_of_it() {
    for suite in SUITES {
        let Some(rows) = recorded(suite, Extent::Whole) else { continue };
        let numbers = measured(suite);
        for row in rows {
            let Some(value) = numbers.get(&row.id) else { continue };
            if row.verdict == Verdict::NotRun {
                continue; // that part was not run whole
            }
            let within = row.tolerance.holds(row.published, *value);
            assert_eq!(within, row.verdict == Verdict::In, "{suite}: {}: {value}", row.id);
        }
    }
}

#[test]
fn a_table_of_numbers_has_the_rows_that_its_kind_names() {
    let none = BTreeMap::new();
    let lines = |which| numbers_table("ndp", which, &none).map(|text| text.lines().count());
    assert_eq!((lines("all"), lines("count"), lines("stated")), (Ok(15), Ok(13), Ok(11)));
    let why = numbers_table("ndp", "best", &none).expect_err("there is none");
    assert_eq!(why, "there is no table \"best\"; write stated, count or all");
    let numbers = BTreeMap::from([("incast-first-48".to_string(), 1.21)]);
    let table = numbers_table("ndp", "all", &numbers).expect("it is one");
    assert!(table.contains("| number | published | here | tolerance | verdict |"), "{table}");
    let page = "a\n<!-- numbers: all -->\nold\n<!-- end of numbers -->\nb\n";
    let (now, tables) = numbered(page, "ndp", &numbers);
    assert_eq!(tables, 1);
    assert_eq!(
        now,
        format!("a\n<!-- numbers: all -->\n{table}<!-- end of numbers -->\nb\n"),
        "nothing else changes"
    );
    assert_eq!(numbered(&now, "ndp", &numbers).0, now);
}

#[test]
fn the_table_of_papers_is_that_of_recorded_verdicts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/README.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(PAPERS).expect("the page has the table");
    let after = rest.split_once("\n\n").expect("text after the table").1;
    let page_now = format!("{before}{}\n{after}", papers());
    let (before, rest) = page_now.split_once(FIRST_COUNT).expect("the page has the first count");
    let after = rest.split_once(FIRST_COUNT_END).expect("text after its list").1;
    check(&path, &page, &format!("{before}{}{FIRST_COUNT_END}{after}", first_count().trim_end()));
}
