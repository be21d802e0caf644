//! Figures 1, 2, 4 and 5, with what the paper says of them.

use super::incast::{END, FLOWS, figure_1_at, figure_2, figure_4};
use super::lab::{Lab, Sample};
use super::setup::{BUNDLES, NAMED, Scheme};
use super::traffic::{Figure, most};
use crate::chart::{BarLabel, Chart, Panel as Bars};
use crate::curves::{self, Curve, Curves};
use crate::plot::{Line, Panel, Rule, plot};
use forebay_record::svg::Axis;

/// The number that a row publishes.
fn published(id: &str) -> f64 {
    let rows = crate::rows("hiercc");
    rows.iter().find(|row| row.id == id).map_or(f64::NAN, |row| row.published)
}

/// All of them; figure 5 from runs that were made for its rows.
pub(super) fn all(figure_5: Option<&Figure>) -> Vec<(String, String)> {
    let mut pictures =
        vec![("hiercc-fig1.svg".into(), draw_1()), ("hiercc-fig2.svg".into(), draw_2())];
    let dcqcn = figure_4(Scheme::Dcqcn);
    for bundle in BUNDLES {
        pictures.push((format!("hiercc-fig4-{bundle}.svg"), draw_4(&dcqcn, bundle)));
    }
    pictures.extend(figure_5.map(|figure| ("hiercc-fig5.svg".into(), draw_5(figure))));
    pictures
}

/// Rate of the receiver's port in bins, ms and Gb/s.
fn rate<'a>(name: &'a str, lab: &Lab, width: f64, end: f64) -> Line<'a> {
    let from = lab.samples.first().map_or(0.0, |s| s.at);
    let bins = lab.rates(from, width, ((end - from) / width) as usize);
    let points = bins.map(|(i, rate)| ((from + width * (i as f64 + 0.5)) * 1e3, rate / 1e9));
    Line { name, points: points.collect(), steps: false }
}

/// Bytes over time, ms and KB.
fn bytes<'a>(name: &'a str, lab: &Lab, of: impl Fn(&Sample) -> f64) -> Line<'a> {
    let points = lab.samples.iter().map(|s| (s.at * 1e3, of(s) / 1e3));
    Line { name, points: points.collect(), steps: false }
}

fn panel<'a>(label: &'a str, lines: Vec<Line<'a>>, rules: Vec<Rule<'a>>) -> Panel<'a> {
    let points = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let top = points.chain(rules.iter().map(|rule| rule.at)).fold(1.0, f64::max);
    let top = top * if rules.is_empty() { 1.05 } else { 1.4 }; // names of lines stand above those of rules
    Panel { label, range: (0.0, top), lines, rules }
}

fn draw_1() -> String {
    let run = |scheme, delay| figure_1_at(scheme, delay, 400, (300e-6, 800e-6));
    let hpcc = run(Scheme::HpccOwn, "1us");
    let half = run(Scheme::HpccOwn, "500ns");
    let ours = run(Scheme::HierCc(NAMED), "1us");
    let labs = [("HPCC, 1 us", &hpcc), ("HPCC, 0.5 us", &half), ("HierCC", &ours)];
    let said = [("fig1a-hpcc-peak", "340 in paper"), ("fig1a-hpcc-peak-half", "250 in paper")];
    let rules = said.map(|(id, name)| Rule { name, at: published(id) });
    let rates = labs.iter().map(|(name, lab)| rate(name, lab, 10e-6, 0.8e-3)).collect();
    let queues = labs.iter().map(|(name, lab)| bytes(name, lab, |s| s.queue)).collect();
    let panels = [
        panel("Rate of the down port, Gb/s", rates, Vec::new()),
        panel("Its queue, KB", queues, rules.into()),
    ];
    let title = "HierCC, figure 1: 16 flows of 20 KB meet two long ones at 400 us; T as printed; recommended-count";
    plot(title, "ms", (0.3, 0.8), &panels)
}

fn draw_2() -> String {
    let mut bars = vec!["HPCC, links of 1 us".to_string(), "HPCC, 0.5 us".to_string()];
    bars.extend(BUNDLES.map(|bundle| format!("HierCC, {bundle}")));
    let values = FLOWS.map(|flows| {
        let mut peaks =
            vec![figure_2(Scheme::Hpcc, flows, "1us"), figure_2(Scheme::Hpcc, flows, "500ns")];
        peaks.extend(BUNDLES.map(|bundle| figure_2(Scheme::HierCc(bundle), flows, "1us")));
        peaks.iter().map(|peak| peak / 1e6).collect()
    });
    let said = [(0, 0, "fig2-16"), (4, 0, "fig2-256"), (4, 1, "fig2-256-half")];
    let said = said.map(|(group, bar, id)| BarLabel::number((group, bar), published(id)));
    Chart {
        title: "HierCC, figure 2: longest queue of the down port, flows of 75 KB".into(),
        groups: FLOWS.iter().map(u32::to_string).collect(),
        group_label: "flows that start together".into(),
        bars,
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

fn draw_4(dcqcn: &Lab, bundle: &'static str) -> String {
    let ours = figure_4(Scheme::HierCc(bundle));
    let peak = published("fig4b-dcqcn-peak");
    let panels = [
        panel(
            "Rate of the down port, Gb/s",
            vec![rate("DCQCN", dcqcn, 25e-6, END), rate("HierCC", &ours, 25e-6, END)],
            Vec::new(),
        ),
        panel(
            "Its queue, KB",
            vec![bytes("DCQCN", dcqcn, |s| s.queue), bytes("HierCC", &ours, |s| s.queue)],
            vec![Rule { name: "paper, DCQCN", at: peak }],
        ),
        panel(
            "VOQ at the senders, KB",
            vec![
                Line { name: "DCQCN: 0", points: Vec::new(), steps: false },
                bytes("HierCC", &ours, |s| s.voq),
            ],
            Vec::new(),
        ),
    ];
    let title =
        format!("HierCC, figure 4: a long flow and 15 of 75 KB at 1 and 3 ms; bundle {bundle}");
    plot(&title, "ms", (0.0, END * 1e3), &panels)
}

/// A line for each scheme that figure 5 compares; the style of each is its place.
const CURVES: [(&str, Scheme); 6] = [
    ("HPCC", Scheme::Hpcc),
    ("DCQCN", Scheme::Dcqcn),
    ("HierCC, literal", Scheme::HierCc("literal")),
    ("TIMELY", Scheme::Timely),
    ("HierCC, recommended-count", Scheme::HierCc(NAMED)),
    ("ExpressPass", Scheme::ExpressPass),
];

pub(super) fn draw_5(figure: &Figure) -> String {
    let others = [("hpcc", 0), ("dcqcn", 1), ("timely", 3), ("expresspass", 5)];
    let said = |panel: &str, other: &str| {
        let reading = if other == "expresspass" { "epcode" } else { NAMED };
        published(&format!("{panel}-over-{other}-{reading}"))
    };
    let times = |label, range: (f64, f64), which| curves::Panel {
        label,
        axis: Axis::log(range.0, range.1),
        curves: (CURVES.iter().enumerate())
            .map(|(style, (name, scheme))| {
                let values = figure.of(*scheme).iter().map(|p| p.stat(which) * 1e3).collect();
                Curve { name, style, values }
            })
            .collect(),
        levels: Vec::new(),
    };
    let ours = figure.of(Scheme::HierCc(NAMED));
    let ratios = |label, panel: &str, which| curves::Panel {
        label,
        axis: Axis::linear(0.0, 1.2),
        curves: (others.iter())
            .map(|(_, style)| {
                let (name, scheme) = CURVES[*style];
                let pairs = ours.iter().zip(figure.of(scheme));
                let values = pairs.map(|(a, b)| a.stat(which) / b.stat(which)).collect();
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
    let third = figure.of(Scheme::HierCc("recommended"));
    let off = (ours.iter().zip(third))
        .flat_map(|(a, b)| [0, 1].map(|which| (b.stat(which) / a.stat(which) - 1.0).abs() * 100.0))
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
                let (gain, load) =
                    most(&figure.of(Scheme::HierCc(bundle)), &figure.of(CURVES[style].1), which);
                format!("{gain:.0} %, at load {load}")
            });
            table.push([vec![format!("{what}, here, {bundle}")], here.to_vec()].concat());
        }
    }
    Curves {
        title: "HierCC, figure 5: flow completion times, cachefollower on 320 hosts of 25 Gb/s",
        x_label: "load",
        at: &figure.extent.loads,
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
                "{}. Lower panels: recommended-count over each of the others.",
                figure.extent.said()
            ),
            format!("The third bundle, recommended, differs from it by {off:.1} % at most."),
        ],
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::super::traffic::tests::figure;
    use super::*;

    #[test]
    fn figure_5_has_our_gains_beside_those_of_the_paper() {
        let of = CURVES.map(|(_, scheme)| match scheme {
            Scheme::Hpcc => (scheme, &[[1.0, 4.0], [2.0, 8.0]][..]),
            Scheme::HierCc(NAMED) => (scheme, &[[0.9, 3.6], [1.5, 4.0]][..]),
            _ => (scheme, &[[1.0, 4.0], [1.6, 8.0]][..]),
        });
        let svg = draw_5(&figure(&[0.3, 0.6], &of));
        assert!(svg.contains(">mean, paper</text>") && svg.contains(">10 %</text>"), "{svg}");
        assert!(svg.contains(">25 %, at load 0.6</text>"), "over HPCC, mean: 1.5 of 2");
        assert!(svg.contains(">50 %, at load 0.6</text>"), "99th percentile: 4 of 8");
        assert!(svg.contains(">20 %, at load 0.6</text>"), "literal over HPCC: 1.6 of 2");
        assert!(svg.contains("paper, over HPCC: up to 10 % less"));
        let ratios = ["<title>HPCC, 0.6: 0.7500</title>", "<title>HPCC, 0.6: 0.5000</title>"];
        assert!(ratios.iter().all(|ratio| svg.contains(ratio)), "of means and 99th percentiles");
    }
}
