//! A page about a paper begins with the totals of its suite's recorded verdicts: neither can go stale alone.

use forebay_validate::{Row, SUITES, Spread, Verdict, readings, recorded_spread, rows_of, totals};
use serde::Deserialize;
use std::path::Path;

/// First line of the totals, and what stands before their last.
const FIRST: &str = "| rows  ";
const LAST: &str = "\nreproduced: ";

/// `validation/SUITE/verdicts.toml`: the rows of a quick run that are not in.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Recorded {
    /// The part that was run, if not all.
    #[serde(default)]
    part: String,
    out: Vec<String>,
    empty: Vec<String>,
    not_run: Vec<String>,
}

impl Recorded {
    fn verdict(&self, id: &String) -> Verdict {
        match () {
            () if self.out.contains(id) => Verdict::Out,
            () if self.empty.contains(id) => Verdict::Empty,
            () if self.not_run.contains(id) => Verdict::NotRun,
            () => Verdict::In,
        }
    }
}

/// The rows of a suite with their recorded verdicts, if it has any.
fn recorded(root: &Path, suite: &str) -> Option<Vec<Row>> {
    let text =
        std::fs::read_to_string(root.join(format!("validation/{suite}/verdicts.toml"))).ok()?;
    let recorded: Recorded = toml::from_str(&text).expect(suite);
    let part = Some(&recorded.part).filter(|part| !part.is_empty());
    let mut rows = rows_of(&part.map_or(suite.into(), |part| format!("{suite}/{part}")));
    for id in recorded.out.iter().chain(&recorded.empty).chain(&recorded.not_run) {
        assert!(rows.iter().any(|row| row.id == *id), "{suite}: no row {id}");
    }
    for row in &mut rows {
        row.verdict = recorded.verdict(&row.id);
    }
    Some(rows)
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

/// `FOREBAY_BLESS=1 cargo test -p forebay-validate --test pages` writes the totals into the pages.
#[test]
fn pages_begin_with_the_totals_of_recorded_verdicts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for suite in SUITES {
        let path = root.join(format!("docs/papers/{suite}.md"));
        let (Some(rows), Ok(page)) = (recorded(&root, suite), std::fs::read_to_string(&path))
        else {
            continue;
        };
        seen += 1;
        let spread = recorded_spread(suite);
        if let Some(spread) = spread.as_ref().filter(|spread| spread.sets() > 0) {
            let own = Spread::of(std::slice::from_ref(&rows), readings(suite));
            assert_eq!(own.count[0], spread.count[0], "{suite}: verdicts.py --seeds {suite}");
            assert_eq!(own.two_sided[0], spread.two_sided[0], "{suite}: the same");
        }
        let expected = with(&page, suite, &totals(&rows, readings(suite), spread.as_ref()));
        if std::env::var_os("FOREBAY_BLESS").is_some() {
            std::fs::write(&path, &expected).expect("the page can be written");
        } else {
            assert_eq!(page, expected, "{suite}: FOREBAY_BLESS=1 renews the totals");
        }
        assert!(expected.find(FIRST) < Some(400), "{suite}: the page begins with the totals");
    }
    assert!(seen >= 7, "{seen} pages");
}
