//! Curves of figures 5 and 8 under the named reading. The text has only their ends, so their points have no rows: they are the `[[point]]`s of
//! `rows.toml`.

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

/// Schemes by the word of their points.
const SCHEMES: [(&str, &str); 2] = [("hostcc", "hostCC"), ("carc", "CARC")];

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
        let curve = |(style, (word, name)): (usize, (&str, &'static str))| Curve {
            name,
            style,
            values: at.clone().map(|at| self.number(&format!("{id}-{word}-{at}"))).collect(),
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
    fn points_of_curves_are_written_for_the_record_and_drawn() {
        let mut measured = MeasuredRows::new();
        for step in 0..=STEPS {
            measured.insert(format!("{PREFIX}ticks-{step}"), 100.0 * f64::from(step));
        }
        let text = text(&measured).expect("points were measured");
        assert!(text.contains("\"point-ticks-3\" = 300.0\n"), "{text}");
        let names: Vec<String> =
            pictures(&crate::rows("carc"), &measured).into_iter().map(|one| one.0).collect();
        assert_eq!(names, ["carc-fig5a-fig8a.svg", "carc-fig5bc-fig8b.svg"]);
    }
}
