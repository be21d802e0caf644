//! Figures 1, 2, 4 and 5, with what the paper says of them.

use super::{BUNDLES, DOWN, NAMED};
use crate::chart::{BarLabel, Chart, Panel as Bars};
use crate::curves::{self, Curve, Curves};
use crate::plot::{Line, Panel, Rule, plot};
use crate::row::Row;
use forebay_record::svg::Axis;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Lists of numbers by their formulas.
type Found = BTreeMap<String, Vec<f64>>;

/// The number that a row publishes.
///
/// # Panics
/// If there is no such row: the names that pictures ask for are part of the program.
fn published(id: &str) -> f64 {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| crate::rows("hiercc"));
    let found = ROWS.iter().find(|row| row.id == id);
    found.unwrap_or_else(|| panic!("validation/hiercc/rows.toml has no row \"{id}\"")).published
}

/// All that is drawn.
pub(super) fn formulas(figure_5: bool) -> Vec<String> {
    let over_time = |run: &str| {
        [Trace::Rate, Trace::Queue, Trace::Voq].map(|what| what.formula(run)).into_iter().flatten()
    };
    let mut all: Vec<String> = FIGURE_1.iter().flat_map(|(_, run)| over_time(run)).collect();
    for flows in FLOWS {
        all.extend(figure_2().into_iter().map(|(_, run)| peak(&run, flows)));
    }
    all.extend(over_time("fig4[dcqcn]"));
    all.extend(BUNDLES.iter().flat_map(|bundle| over_time(&format!("fig4[{bundle}]"))));
    if figure_5 {
        all.extend(SCHEMES.iter().flat_map(|scheme| [0, 1].map(|which| stat(scheme, which))));
    }
    all
}

/// All of them; figure 5 for a whole run or for a quick one.
pub(super) fn all(found: &Found, figure_5: Option<bool>) -> Vec<(String, String)> {
    let mut pictures =
        vec![("hiercc-fig1.svg".into(), draw_1(found)), ("hiercc-fig2.svg".into(), draw_2(found))];
    for bundle in BUNDLES {
        pictures.push((format!("hiercc-fig4-{bundle}.svg"), draw_4(found, bundle)));
    }
    pictures.extend(figure_5.map(|quick| ("hiercc-fig5.svg".into(), draw_5(found, quick))));
    pictures
}

/// What is drawn over time.
#[derive(Clone, Copy)]
enum Trace {
    /// Rate of the receiver's port in bins.
    Rate,
    /// Its queue.
    Queue,
    /// The longest queue by destination.
    Voq,
}

/// Begin of the bins of a run, their width, s, and how many there are.
fn bins(run: &str) -> (f64, f64, usize) {
    if run.starts_with("fig4") { (0.0, 25e-6, 200) } else { (300e-6, 10e-6, 50) }
}

impl Trace {
    /// Times, if they are not those of bins, and values.
    fn formula(self, run: &str) -> Vec<String> {
        let times = format!("{run}.looks.at_s");
        match self {
            Self::Rate => {
                let (from, width, count) = bins(run);
                let sent = format!("{run}.looks.{DOWN}.sent_bytes");
                vec![format!("rates({times}, {sent}, {from}, {width}, {count}) * 8 / 1e9")]
            }
            Self::Queue => vec![times, format!("{run}.looks.{DOWN}.queue_bytes / 1e3")],
            Self::Voq => vec![times, format!("{run}.looks.voqs.longest_bytes / 1e3")],
        }
    }

    /// Points in ms up to an end, and Gb/s or KB.
    fn line<'a>(self, name: &'a str, run: &str, end: f64, found: &Found) -> Line<'a> {
        let lists: Vec<&Vec<f64>> = self.formula(run).iter().map(|text| &found[text]).collect();
        let points: Vec<(f64, f64)> = match lists[..] {
            [times, values] => {
                let samples = times.iter().map(|s| s * 1e3).zip(values.iter().copied());
                // Looks begin after the begin of a run, at which nothing waits.
                let begin = bins(run).0 == 0.0;
                begin.then_some((0.0, 0.0)).into_iter().chain(samples).collect()
            }
            _ => {
                let (from, width, _) = bins(run);
                let middle = |i: usize| (from + width * (i as f64 + 0.5)) * 1e3;
                lists[0].iter().enumerate().map(|(i, rate)| (middle(i), *rate)).collect()
            }
        };
        Line { name, points: points.into_iter().filter(|p| p.0 <= end).collect(), steps: false }
    }
}

fn panel<'a>(label: &'a str, lines: Vec<Line<'a>>, rules: Vec<Rule<'a>>) -> Panel<'a> {
    let points = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let top = points.chain(rules.iter().map(|rule| rule.at)).fold(1.0, f64::max);
    let top = top * if rules.is_empty() { 1.05 } else { 1.4 }; // names of lines stand above those of rules
    Panel { label, range: (0.0, top), lines, rules }
}

const FIGURE_1: [(&str, &str); 3] = [
    ("HPCC, 1 us", "bursts-hpcc[400]"),
    ("HPCC, 0.5 us", "bursts-hpcc-half[400]"),
    ("HierCC", "bursts-hiercc[400]"),
];

fn draw_1(found: &Found) -> String {
    let said = [("fig1a-hpcc-peak", "340 in paper"), ("fig1a-hpcc-peak-half", "250 in paper")];
    let rules = said.map(|(id, name)| Rule { name, at: published(id) });
    let lines = |what: Trace| FIGURE_1.map(|(name, run)| what.line(name, run, 0.8, found)).into();
    let panels = [
        panel("Rate of the down port, Gb/s", lines(Trace::Rate), Vec::new()),
        panel("Its queue, KB", lines(Trace::Queue), rules.into()),
    ];
    let title = "HierCC, figure 1: 16 flows of 20 KB meet two long ones at 400 us; T as printed; recommended-count";
    plot(title, "ms", (0.3, 0.8), &panels)
}

/// Numbers of flows in figure 2.
const FLOWS: [u32; 5] = [16, 32, 64, 128, 256];

/// Bars of figure 2: name, experiment and case.
fn figure_2() -> Vec<(String, String)> {
    let mut bars = vec![
        ("HPCC, links of 1 us".into(), "fig2[hpcc".into()),
        ("HPCC, 0.5 us".into(), "fig2-half[hpcc".into()),
    ];
    bars.extend(BUNDLES.map(|bundle| (format!("HierCC, {bundle}"), format!("fig2[{bundle}"))));
    bars
}

/// Longest queue of figure 2, MB.
fn peak(run: &str, flows: u32) -> String {
    format!("max({run}, flows-{flows}.csv].{DOWN}.max_queue_bytes) / 1e6")
}

fn draw_2(found: &Found) -> String {
    let values = FLOWS.map(|flows| {
        figure_2().iter().map(|(_, run)| found[&peak(run, flows)][0]).collect::<Vec<f64>>()
    });
    let said = [(0, 0, "fig2-16"), (4, 0, "fig2-256"), (4, 1, "fig2-256-half")];
    let said = said.map(|(group, bar, id)| BarLabel::number((group, bar), published(id)));
    Chart {
        title: "HierCC, figure 2: longest queue of the down port, flows of 75 KB".into(),
        groups: FLOWS.iter().map(u32::to_string).collect(),
        group_label: "flows that start together".into(),
        bars: figure_2().into_iter().map(|(name, _)| name).collect(),
        panels: vec![Bars {
            label: "MB".into(),
            axis: Axis::log(0.01, 100.0),
            values: values.to_vec(),
            published: said.to_vec(),
        }],
        table: Vec::new(),
        foot: vec!["The queue of HierCC is that of the receiver's port; what waits for credits waits at the senders.".into()],
    }
    .svg()
}

fn draw_4(found: &Found, bundle: &'static str) -> String {
    let ours = format!("fig4[{bundle}]");
    let lines = |what: Trace| {
        [("DCQCN", "fig4[dcqcn]"), ("HierCC", ours.as_str())]
            .map(|(name, run)| what.line(name, run, 5.0, found))
            .into()
    };
    let peak = published("fig4b-dcqcn-peak");
    let panels = [
        panel("Rate of the down port, Gb/s", lines(Trace::Rate), Vec::new()),
        panel("Its queue, KB", lines(Trace::Queue), vec![Rule { name: "paper, DCQCN", at: peak }]),
        panel(
            "VOQ at the senders, KB",
            vec![
                Line { name: "DCQCN: 0", points: Vec::new(), steps: false },
                Trace::Voq.line("HierCC", &ours, 5.0, found),
            ],
            Vec::new(),
        ),
    ];
    let title =
        format!("HierCC, figure 4: a long flow and 15 of 75 KB at 1 and 3 ms; bundle {bundle}");
    plot(&title, "ms", (0.0, 5.0), &panels)
}

/// Schemes of figure 5, as its experiments have them.
const SCHEMES: [&str; 7] =
    ["hpcc", "dcqcn", "literal", "timely", NAMED, "expresspass", "recommended"];

/// Mean (0) or 99th percentile (1) of FCT by load, ms.
fn stat(scheme: &str, which: usize) -> String {
    let of = ["mean", "p99"][which];
    format!("each({of}(fig5-{scheme}[*].flows.elapsed_s) * 1e3)")
}

/// The most, over the loads, by which `ours` is lower, per cent, and the load.
fn most(ours: &[f64], other: &[f64], loads: &[f64]) -> (f64, f64) {
    let gains =
        ours.iter().zip(other).map(|(a, b)| (1.0 - a / b) * 100.0).zip(loads.iter().copied());
    gains.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap_or((f64::NAN, f64::NAN))
}

/// A line for each scheme that figure 5 compares; the style of each is its place.
const CURVES: [(&str, &str); 6] = [
    ("HPCC", SCHEMES[0]),
    ("DCQCN", SCHEMES[1]),
    ("HierCC, literal", SCHEMES[2]),
    ("TIMELY", SCHEMES[3]),
    ("HierCC, recommended-count", SCHEMES[4]),
    ("ExpressPass", SCHEMES[5]),
];

fn draw_5(found: &Found, quick: bool) -> String {
    let of = |scheme: &str, which: usize| -> &[f64] { &found[&stat(scheme, which)] };
    let (loads, ms): (&[f64], _) =
        if quick { (&[0.3, 0.8], 1) } else { (&[0.3, 0.4, 0.5, 0.6, 0.7, 0.8], 20) };
    let others = [("hpcc", 0), ("dcqcn", 1), ("timely", 3), ("expresspass", 5)];
    let said = |panel: &str, other: &str| {
        let reading = if other == "expresspass" { "epcode" } else { NAMED };
        published(&format!("{panel}-over-{other}-{reading}"))
    };
    let times = |label, range: (f64, f64), which| curves::Panel {
        label,
        axis: Axis::log(range.0, range.1),
        curves: (CURVES.iter().enumerate())
            .map(|(style, (name, scheme))| Curve {
                name,
                style,
                values: of(scheme, which).to_vec(),
            })
            .collect(),
        levels: Vec::new(),
    };
    let ratios = |label, panel: &str, which| curves::Panel {
        label,
        axis: Axis::linear(0.0, 1.2),
        curves: (others.iter())
            .map(|(_, style)| {
                let (name, scheme) = CURVES[*style];
                let pairs = of(NAMED, which).iter().zip(of(scheme, which));
                let values = pairs.map(|(a, b)| a / b).collect();
                Curve { name, style: *style, values }
            })
            .collect(),
        levels: (others.iter())
            .map(|(other, style)| {
                let said = said(panel, other);
                (
                    *style,
                    1.0 - said / 100.0,
                    format!("paper, over {}: up to {said} % less", CURVES[*style].0),
                )
            })
            .collect(),
    };
    let off = ([0, 1].into_iter())
        .flat_map(|which| of(NAMED, which).iter().zip(of("recommended", which)))
        .map(|(a, b)| (b / a - 1.0).abs() * 100.0)
        .fold(0.0, f64::max);
    let mut table = vec![vec!["HierCC lower than, by up to".to_string()]];
    table[0].extend(others.map(|(_, style)| CURVES[style].0.to_string()));
    for (which, (what, panel)) in
        [("mean", "fig5a"), ("99th percentile", "fig5b")].into_iter().enumerate()
    {
        let paper = others.map(|(other, _)| format!("{} %", said(panel, other)));
        table.push([vec![format!("{what}, paper")], paper.to_vec()].concat());
        for bundle in [NAMED, "literal"] {
            let here = others.map(|(_, style)| {
                let (gain, load) = most(of(bundle, which), of(CURVES[style].1, which), loads);
                format!("{gain:.0} %, at load {load}")
            });
            table.push([vec![format!("{what}, here, {bundle}")], here.to_vec()].concat());
        }
    }
    Curves {
        title: "HierCC, figure 5: flow completion times, cachefollower on 320 hosts of 25 Gb/s",
        x_label: "load",
        at: loads,
        rows: vec![
            vec![times("mean, ms", (0.3, 20.0), 0), times("99th percentile, ms", (2.0, 100.0), 1)],
            vec![
                ratios("mean of HierCC over others", "fig5a", 0),
                ratios("99th percentile, the same", "fig5b", 1),
            ],
        ],
        table,
        foot: vec![
            format!(
                "loads {}; {ms} ms of arrivals, seed 1. Lower panels: recommended-count over each of the others.",
                loads.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
            ),
            format!("The third bundle, recommended, differs from it by {off:.1} % at most."),
        ],
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_load_is_where_most_is_gained() {
        let loads = [0.3, 0.5, 0.8];
        assert_eq!(most(&[1.0, 3.0, 2.0], &[1.1, 4.0, 2.2], &loads), (25.0, 0.5));
        assert_eq!(most(&[4.0, 5.0, 9.0], &[8.0, 6.0, 9.0], &loads), (50.0, 0.3));
    }

    #[test]
    fn figure_5_has_our_gains_beside_those_of_the_paper() {
        let of = |scheme: &str| match scheme {
            "hpcc" => [[1.0, 2.0], [4.0, 8.0]],
            NAMED => [[0.9, 1.5], [3.6, 4.0]],
            _ => [[1.0, 1.6], [4.0, 8.0]],
        };
        let lists = SCHEMES.iter().flat_map(|scheme| {
            [0, 1].map(|which| (stat(scheme, which), of(scheme)[which].to_vec()))
        });
        let svg = draw_5(&lists.collect(), true);
        assert!(svg.contains(">mean, paper</text>") && svg.contains(">10 %</text>"), "{svg}");
        assert!(svg.contains(">25 %, at load 0.8</text>"), "over HPCC, mean: 1.5 of 2");
        assert!(svg.contains(">50 %, at load 0.8</text>"), "99th percentile: 4 of 8");
        assert!(svg.contains(">20 %, at load 0.8</text>"), "literal over HPCC: 1.6 of 2");
        assert!(svg.contains("paper, over HPCC: up to 10 % less"));
        let ratios = ["<title>HPCC, 0.8: 0.7500</title>", "<title>HPCC, 0.8: 0.5000</title>"];
        assert!(ratios.iter().all(|ratio| svg.contains(ratio)), "of means and 99th percentiles");
    }
}
