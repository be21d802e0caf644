//! Points of the curves of figures 5 and 8 under the named reading: numbers that have no row, since the text has only their ends.

use super::{Load, Outcome, Scheme};
use crate::chart::strings;
use crate::curves::{Curve, Curves, Panel};
use crate::measured::MeasuredRows;
use crate::row::Row;
use forebay_record::svg::Axis;

/// What ids of points begin with: no row is called so.
pub(super) const PREFIX: &str = "point-";

/// Steps from 0 ticks to the most.
const STEPS: u32 = 4;

/// Long cores beside eight short ones.
const LONG: [u32; 6] = [0, 1, 2, 4, 6, 8];

const SCHEMES: [Scheme; 2] = [Scheme::HostCc, Scheme::Carc];

fn word(scheme: Scheme) -> &'static str {
    if scheme == Scheme::Carc { "carc" } else { "hostcc" }
}

fn ticks(most: u32, step: u32) -> u32 {
    most * step / STEPS
}

/// Runs of echoes that no row needs, by scheme and ticks.
pub(super) fn between(most: u32) -> Vec<(Scheme, u32)> {
    let inner = (1..STEPS).flat_map(|step| SCHEMES.map(|scheme| (scheme, ticks(most, step))));
    [(Scheme::Carc, 0)].into_iter().chain(inner).collect()
}

/// Enters all points of one reading.
pub(super) fn enter<'a>(
    of: &dyn Fn(Scheme, Load) -> &'a Outcome,
    most: u32,
    measured: &mut MeasuredRows,
) {
    let mut enter = |id: String, value: f64| measured.insert(format!("{PREFIX}{id}"), value);
    for step in 0..=STEPS {
        enter(format!("ticks-{step}"), f64::from(ticks(most, step)));
        for scheme in SCHEMES {
            let one = of(scheme, Load::Echo(ticks(most, step)));
            enter(format!("echoes-{}-{step}", word(scheme)), one.short_rate * 1e-6);
            enter(format!("echo-misses-{}-{step}", word(scheme)), 100.0 * one.misses);
        }
    }
    for scheme in SCHEMES {
        let first = if scheme == Scheme::Carc { 2 } else { 0 };
        for long in LONG.into_iter().filter(|long| *long >= first) {
            let (one, word) = (of(scheme, Load::Long(long, true)), word(scheme));
            enter(format!("short-{word}-{long}"), one.short_rate * 1e-6);
            if long > 0 {
                enter(format!("long-{word}-{long}"), one.long_gbps / f64::from(long));
                enter(format!("misses-{word}-{long}"), 100.0 * one.misses);
            }
        }
    }
}

/// All points as TOML, for `verdicts.py --numbers`; `None` if none was measured.
pub(super) fn text(measured: &MeasuredRows) -> Option<String> {
    let lines: Vec<String> =
        measured.numbers_of(PREFIX).map(|(id, value)| format!("\"{id}\" = {value:?}\n")).collect();
    (!lines.is_empty()).then(|| lines.concat())
}

/// Both pictures, by file name, if the points were measured.
pub(super) fn pictures(rows: &[Row], measured: &MeasuredRows) -> Vec<(String, String)> {
    if measured.number(&format!("{PREFIX}ticks-{STEPS}")).is_none() {
        return Vec::new();
    }
    let drawing = Drawing { rows, measured };
    vec![
        ("carc-fig5a-fig8a.svg".into(), drawing.echoes()),
        ("carc-fig5bc-fig8b.svg".into(), drawing.long_cores()),
    ]
}

struct Drawing<'a> {
    rows: &'a [Row],
    measured: &'a MeasuredRows,
}

impl Drawing<'_> {
    fn number(&self, id: &str) -> f64 {
        self.measured.number(&format!("{PREFIX}{id}")).unwrap_or(f64::NAN)
    }

    /// What the text states.
    fn published(&self, id: &str) -> f64 {
        let row = self.rows.iter().find(|row| row.id == format!("{id}-{}", super::NAMED));
        row.unwrap_or_else(|| panic!("there is no row {id}")).published
    }

    /// A panel with a curve of each scheme, through points named by `at`.
    fn panel(
        &self,
        label: &'static str,
        id: &str,
        at: impl Iterator<Item = u32> + Clone,
        levels: Vec<(usize, f64, String)>,
    ) -> Panel<'static> {
        let curve = |(style, scheme): (usize, Scheme)| Curve {
            name: if scheme == Scheme::Carc { "CARC" } else { "hostCC" },
            style,
            values: at
                .clone()
                .map(|at| self.number(&format!("{id}-{}-{at}", word(scheme))))
                .collect(),
        };
        let curves: Vec<Curve<'_>> = SCHEMES.into_iter().enumerate().map(curve).collect();
        let values = curves.iter().flat_map(|curve| &curve.values).copied();
        let top = values.chain(levels.iter().map(|level| level.1)).fold(0.0, f64::max);
        Panel { label, axis: Axis::linear(0.0, top * 1.12), curves, levels }
    }

    fn echoes(&self) -> String {
        let at: Vec<f64> = (0..=STEPS).map(|step| self.number(&format!("ticks-{step}"))).collect();
        let fall = self.published("fig5a-throughput");
        let least = self.number("echoes-hostcc-0") * (1.0 - fall / 100.0);
        let (misses, less) = (self.published("fig5a-misses"), self.published("fig8a-misses"));
        let throughput = vec![(0, least, format!("text, hostCC: {fall} % less than at 0"))];
        let missed = vec![
            (0, misses, format!("text, hostCC: over {misses} %")),
            (1, misses * (1.0 - less / 100.0), format!("text, CARC: {less} % less")),
        ];
        let steps = 0..=STEPS;
        let rows = vec![vec![
            self.panel("Echoes, million a second", "echoes", steps.clone(), throughput),
            self.panel("Reads that miss, %", "echo-misses", steps, missed),
        ]];
        let foot = strings(&["Dashed: what the text says of the most ticks, from the same start."]);
        Curves {
            title: "CARC, figures 5a and 8a: echoes of 256 B on 16 cores; lifo16six",
            x_label: "ticks: work for each message, ns",
            at: &at,
            rows,
            table: Vec::new(),
            foot,
        }
        .svg()
    }

    fn long_cores(&self) -> String {
        let at = LONG.map(f64::from);
        let fall = |id: &str, from: &str| {
            let fall = self.published(id);
            let level = self.number(from) * (1.0 - fall / 100.0);
            (0, level, format!("text, hostCC: {fall} % less"))
        };
        let gain = self.published("fig8b-throughput");
        let (misses, less) = (self.published("fig5c-misses"), self.published("fig8b-misses"));
        let long = vec![
            fall("fig5c-long", "long-hostcc-1"),
            (1, gain * self.number("long-hostcc-8"), format!("text, CARC: {gain} times hostCC")),
        ];
        let missed = vec![
            (0, misses, format!("text, hostCC: more than {misses} %")),
            (1, misses * (1.0 - less / 100.0), format!("text, CARC: {less} % less")),
        ];
        let loads = LONG.into_iter();
        let rows = vec![
            vec![
                self.panel(
                    "Short requests, million a second",
                    "short",
                    loads.clone(),
                    vec![fall("fig5b-short", "short-hostcc-0")],
                ),
                self.panel("Long requests of a core, Gb/s", "long", loads.clone(), long),
            ],
            vec![self.panel("Long requests' reads that miss, %", "misses", loads, missed)],
        ];
        let foot = strings(&[
            "Dashed: what the text says of the most long cores, from the same start. CARC was run from two long cores on.",
        ]);
        Curves {
            title: "CARC, figures 5b, 5c and 8b: long requests beside eight short cores; lifo16six",
            x_label: "cores with long requests",
            at: &at,
            rows,
            table: Vec::new(),
            foot,
        }
        .svg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_a_curve_comes_from_a_run_of_its_own() {
        let most = 130;
        let runs = between(most);
        assert_eq!(runs.len(), 7);
        let of = |scheme: Scheme, load: Load| -> &'static Outcome {
            let rate = match load {
                Load::Echo(ticks) => {
                    1e6 * (f64::from(ticks) + if scheme == Scheme::Carc { 0.5 } else { 0.0 })
                }
                Load::Long(long, _) => 1e6 * f64::from(long),
                _ => unreachable!("no curve has it"),
            };
            Box::leak(Box::new(Outcome { short_rate: rate, ..Outcome::default() }))
        };
        let mut measured = MeasuredRows::new();
        enter(&of, most, &mut measured);
        let number = |id: &str| measured.number(&format!("{PREFIX}{id}"));
        assert_eq!(number("echoes-hostcc-4"), Some(130.0));
        assert_eq!(number("echoes-carc-2"), Some(65.5));
        assert_eq!((number("short-hostcc-8"), number("short-carc-1")), (Some(8.0), None));
        let text = text(&measured).expect("points were measured");
        assert!(text.contains("\"point-ticks-3\" = 97.0\n"), "{text}");
        let names: Vec<String> =
            pictures(&crate::rows("carc"), &measured).into_iter().map(|one| one.0).collect();
        assert_eq!(names, ["carc-fig5a-fig8a.svg", "carc-fig5bc-fig8b.svg"]);
    }
}
