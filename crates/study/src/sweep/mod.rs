//! What a sweep consists of, points (combinations of values) and runs (a point with a seed), and what it came to: tables
//! and a page.

mod chart;
mod labels;
mod page;
mod store;
mod tables;
mod written;

pub(crate) use chart::{number, short};
pub(crate) use labels::differing;
pub use labels::{labels, labels_by_key};
pub use store::{Store, Tables, is_done};
pub use tables::{METRICS, Row, terminal};
pub use written::{WrittenPoint, WrittenSweep};

use crate::about::{InPython, VERSION, head};
use crate::expect::{self, Band, Problems};
use crate::hash::content_name;
use forebay_scenario::model::Scenario;
use forebay_scenario::{Expect, LoadedScenario, resolved, resolved_with};
use std::collections::BTreeSet;

/// A sweep.
pub struct Plan {
    /// Title of the scenario.
    pub name: String,
    /// The keys that vary.
    pub keys: Vec<String>,
    /// Combinations, the last key fastest.
    pub points: Vec<Point>,
    /// What there is to simulate, each once, points in order and seeds within.
    pub runs: Vec<Run>,
    /// Laws in Python that flows have in place of registered ones.
    pub laws: Vec<InPython>,
}

/// One combination of values.
pub struct Point {
    /// Hash of its resolved scenario, all seeds, and the version.
    pub hash: String,
    /// Value of each varied key, as TOML text.
    pub values: Vec<String>,
    /// The scenario with those values.
    pub scenario: Scenario,
    /// Bands as written.
    pub expect: Vec<Expect>,
    /// Bands that its results must lie in.
    pub bands: Vec<Band>,
    /// Hash of the run of each seed.
    pub runs: Vec<String>,
}

/// One combination with one seed.
pub struct Run {
    /// Hash of its resolved scenario and the version: name of its directory.
    pub hash: String,
    /// The resolved scenario.
    pub text: String,
    /// For sentences.
    pub title: String,
    /// Virtual time, in ps.
    pub length_ps: u64,
}

impl Plan {
    /// Reads and checks every point of `loaded` that `[sweep]` makes, less the keys that are `fixed`. `load` reads the
    /// scenario again with settings; `seeds` are in place of its own; flows may be under `laws`; `place` begins sentences.
    ///
    /// # Errors
    /// What `load` says of a point, or what an `[[expect]]` of it says.
    pub fn of<E: From<Problems>>(
        mut loaded: LoadedScenario,
        fixed: &[(String, String)],
        seeds: Option<&[u64]>,
        laws: Vec<InPython>,
        place: &str,
        load: impl Fn(&[(String, String)]) -> Result<LoadedScenario, E>,
    ) -> Result<Self, E> {
        loaded.sweep.retain(|(key, _)| fixed.iter().all(|(set, _)| set != key));
        let keys: Vec<String> = loaded.sweep.iter().map(|(key, _)| key.clone()).collect();
        let name = loaded.scenario.name.clone();
        let (mut points, mut runs, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
        for settings in loaded.points() {
            let mut point = load(&settings)?;
            if let Some(seeds) = seeds {
                point.scenario.seeds = seeds.to_vec();
            }
            let title = title(&settings);
            if !title.is_empty() {
                point.scenario.name = format!("{name}: {title}");
            }
            let bands = expect::bands(place, &point.expect)?;
            let of_seed = |seed: &u64| Scenario { seeds: vec![*seed], ..point.scenario.clone() };
            let mut hashes = Vec::new();
            for seed in &point.scenario.seeds {
                let text = head(&point.scenario, &laws) + &resolved(&of_seed(seed));
                let hash = content_name(&[VERSION, &text]);
                if known.insert(hash.clone()) {
                    let title = format!("{} seed {seed}", point.scenario.name);
                    let length_ps = point.scenario.stop.time.as_ps();
                    runs.push(Run { hash: hash.clone(), text, title, length_ps });
                }
                hashes.push(hash);
            }
            let text = resolved_with(&point.scenario, &point.expect);
            let text = head(&point.scenario, &laws) + &text;
            points.push(Point {
                hash: content_name(&[VERSION, &text]),
                values: settings.into_iter().map(|(_, value)| value).collect(),
                scenario: point.scenario,
                expect: point.expect,
                bands,
                runs: hashes,
            });
        }
        Ok(Self { name, keys, points, runs, laws })
    }
}

/// `load=0.3, kind=dctcp`: the last part of each key is enough to tell values apart for people.
fn title(settings: &[(String, String)]) -> String {
    let short = |(key, value): &(String, String)| {
        let last = key.rsplit('.').next().unwrap_or(key);
        format!("{last}={}", words(value))
    };
    settings.iter().map(short).collect::<Vec<_>>().join(", ")
}

/// A TOML value as people read it: its label if it has one, else `dctcp`, `kind rdma, law hpcc`.
pub(crate) fn words(value: &str) -> String {
    if let Some(label) = labels::given(value) {
        return label;
    }
    let text: String = value.chars().filter(|c| !"{}[]\"".contains(*c)).collect();
    let parts = text.split(',').map(|part| part.trim().replacen(" = ", " ", 1));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { plain(value).into() } else { parts.join(", ") }
}

/// A TOML value without the quotes of a text.
pub fn plain(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.filter(|v| !v.contains(['"', '\\'])).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_for_people() {
        for (value, text) in [
            ("0.3", "0.3"),
            ("\"dctcp\"", "dctcp"),
            ("{ \"kind\" = \"rdma\", \"law\" = \"hpcc\" }", "kind rdma, law hpcc"),
            ("[{ cores = 0 }, {}]", "cores 0"),
            ("{}", "{}"),
            ("{ \"label\" = \"a = b, c\", \"kind\" = \"rdma\" }", "a = b, c"),
        ] {
            assert_eq!(words(value), text);
        }
    }
}
