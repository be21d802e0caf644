//! Figures 1, 2, 4 and 5, with what the paper says of them.

use super::incast::{END, FLOWS, figure_1, figure_2, figure_4};
use super::lab::{Lab, Sample};
use super::setup::{BUNDLES, Scheme};
use super::traffic::{Figure, Point};
use crate::chart::{Chart, Panel as Bars, Scale};
use crate::plot::{Line, Panel, Rule, plot};

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
    let hpcc = figure_1(Scheme::Hpcc, "1us");
    let half = figure_1(Scheme::Hpcc, "500ns");
    let ours = figure_1(Scheme::HierCc("recommended-count"), "1us");
    let labs = [("HPCC, 1 us", &hpcc), ("HPCC, 0.5 us", &half), ("HierCC", &ours)];
    let said = [("fig1a-hpcc-peak", "340 in paper"), ("fig1a-hpcc-peak-half", "250 in paper")];
    let rules = said.map(|(id, name)| Rule { name, at: published(id) });
    let rates = labs.iter().map(|(name, lab)| rate(name, lab, 5e-6, 0.6e-3)).collect();
    let queues = labs.iter().map(|(name, lab)| bytes(name, lab, |s| s.queue)).collect();
    let panels = [
        panel("Rate of the down port, Gb/s", rates, Vec::new()),
        panel("Its queue, KB", queues, rules.into()),
    ];
    let title =
        "Figure 1: 16 flows of 20 KB meet two long ones at 100 us; HierCC: recommended-count";
    plot(title, "ms", (0.0, 0.6), &panels)
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
    let said = said.map(|(group, bar, id)| (group, bar, published(id), published(id)));
    Chart {
        title: "Figure 2: longest queue of the down port, flows of 75 KB".into(),
        groups: FLOWS.iter().map(u32::to_string).collect(),
        group_label: "flows that start together".into(),
        bars,
        panels: vec![Bars {
            label: "MB".into(),
            scale: Scale::Log(0.01, 100.0),
            values: values.to_vec(),
            published: said.to_vec(),
        }],
        table: Vec::new(),
        foot: "The queue of HierCC is that of the receiver's port; what waits for credits waits at the senders.".into(),
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
        panel("VOQ at the senders, KB", vec![bytes("VOQ", &ours, |s| s.voq)], Vec::new()),
    ];
    let title = format!("Figure 4: a long flow and 15 of 75 KB at 1 and 3 ms; bundle {bundle}");
    plot(&title, "ms", (0.0, END * 1e3), &panels)
}

fn draw_5(figure: &Figure) -> String {
    let schemes = [
        ("HPCC", Scheme::Hpcc),
        ("TIMELY", Scheme::Timely),
        ("DCQCN", Scheme::Dcqcn),
        ("HierCC, literal", Scheme::HierCc("literal")),
        ("recommended", Scheme::HierCc("recommended")),
        ("recommended-count", Scheme::HierCc("recommended-count")),
    ];
    let of: Vec<Vec<&Point>> = schemes.iter().map(|(_, scheme)| figure.of(*scheme)).collect();
    let bars = |label: &str, stat: fn(&Point) -> f64| {
        let group = |g: usize| of.iter().map(|points| stat(points[g]) * 1e3).collect();
        let values: Vec<Vec<f64>> = (0..figure.extent.loads.len()).map(group).collect();
        let top = values.iter().flatten().copied().fold(0.0, f64::max) * 1.05;
        Bars { label: label.into(), scale: Scale::Linear(top), values, published: Vec::new() }
    };
    let mut table = vec![vec!["HierCC lower than, by up to".to_string()]];
    table[0].extend(["HPCC", "TIMELY", "DCQCN"].map(String::from));
    for (row, panel) in
        [("mean, in the paper", "fig5a"), ("99th percentile, in the paper", "fig5b")]
    {
        let said = ["hpcc", "timely", "dcqcn"]
            .map(|other| format!("{} %", published(&format!("{panel}-over-{other}-literal"))));
        table.push([vec![row.to_string()], said.to_vec()].concat());
    }
    Chart {
        title: "Figure 5: flow completion times, cachefollower on 320 hosts of 25 Gb/s".into(),
        groups: figure.extent.loads.iter().map(f64::to_string).collect(),
        group_label: "load".into(),
        bars: schemes.iter().map(|(name, _)| (*name).to_string()).collect(),
        panels: vec![bars("mean, ms", |p| p.mean), bars("99th percentile, ms", |p| p.p99)],
        table,
        foot: figure.extent.said(),
    }
    .svg()
}
