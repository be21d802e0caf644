//! The page of a comparison: the answer, the pictures, every metric, and what the runs were.

use super::claims::{headline, verdict};
use super::definitions::shortened;
use super::numbers::{difference, effect, interval, spaced, value};
use super::{Comparison, Kind, MetricValues, PairedDifference, Side, Word};
use forebay_record::report::{self, beside};
use forebay_record::svg::esc;
use forebay_units::human;
use std::fmt::Write;

/// The page; `command` makes it anew.
pub fn page(of: &Comparison, command: &str) -> String {
    let mut body = header(of);
    body.push_str(&content(of, ""));
    let _ = write!(
        body,
        "<section id=\"rerun\"><h2>This page again</h2><p><code>{}</code></p></section>",
        esc(command)
    );
    let names: Vec<&str> = of.sides.iter().map(|side| side.name.as_str()).collect();
    report::page(&names.join(", "), "Forebay comparison", &body)
}

/// All pictures and tables; names of sections end in `tag`.
pub(super) fn content(of: &Comparison, tag: &str) -> String {
    let sides: Vec<beside::Side<'_>> = of
        .sides
        .iter()
        .map(|side| beside::Side { name: &side.name, about: &side.about, runs: &side.runs })
        .collect();
    let figures = beside::figures(&sides, tag);
    let table = table(of, tag);
    // The first picture, then all numbers, then the other pictures.
    let (first, rest) = figures.split_at(figures.find("</section>").map_or(0, |at| at + 10));
    format!("{first}{table}{rest}{}", runs(of, tag))
}

/// Doubts in a box of their own; nothing without any.
pub(super) fn caution_list(cautions: &[String]) -> String {
    let items: String = cautions.iter().map(|text| format!("<li>{}</li>", esc(text))).collect();
    match items.is_empty() {
        true => items,
        false => format!("<ul class=\"cautions\">{items}</ul>"),
    }
}

fn header(of: &Comparison) -> String {
    let (chip, word) = match of.is_forced() {
        true => ("bad", "definitions differ"),
        false => ("good", "defined alike"),
    };
    let seeds = of.sides.iter().map(|side| side.by_seed.len()).max().unwrap_or(0);
    // A point of a sweep has its settings behind the name.
    let name =
        |side: &'_ Side| side.about.scenario.split(": ").next().unwrap_or_default().to_string();
    let mut scenarios: Vec<String> = of.sides.iter().map(name).collect();
    scenarios.dedup();
    let mut html = format!(
        "<header><p class=\"kind\">Forebay comparison <span class=\"chip {chip}\">{word}</span></p><h1>{}</h1>\
         <p class=\"verdict\">{}</p><dl class=\"facts\"><div><dt>Runs</dt><dd>{}</dd></div>\
         <div><dt>Seeds</dt><dd>{seeds}</dd></div><div><dt>Scenario</dt><dd>{}</dd></div></dl></header>",
        esc(&headline(of)),
        esc(&verdict(of)),
        of.sides.len(),
        esc(&scenarios.join(", ")),
    );
    html.push_str(&caution_list(&of.cautions()));
    html
}

/// Every metric of every run.
fn table(of: &Comparison, tag: &str) -> String {
    let mut html = format!(
        "<section id=\"metrics{tag}\"><h2>Every metric, against the first run</h2><div class=\"scroll\"><table class=\"metrics\"><thead><tr><th>",
    );
    for (i, side) in of.sides.iter().enumerate() {
        let first = if i == 0 { " <small>(first)</small>" } else { "" };
        let _ = write!(html, "<th>{}{}{first}", beside::mark(i), esc(&side.name));
    }
    html.push_str("</tr></thead><tbody>");
    let mut group = "";
    let (zero, some): (Vec<&MetricValues>, Vec<_>) = of.measured.iter().partition(|m| m.is_zero());
    for measured in some {
        if measured.group != group {
            group = measured.group;
            let _ =
                write!(html, "<tr class=\"group\"><th colspan=\"{}\">{group}", of.sides.len() + 1);
        }
        let _ = write!(html, "<tr><th>{}", esc(&measured.title.replace("<=", "≤")));
        for cell in &measured.cells {
            let class = if cell.best { " class=\"best\"" } else { "" };
            let mean = cell.estimate.mean.unwrap_or(0.0).abs();
            let half = cell.estimate.half_width().filter(|half| *half > 0.0 && mean > 0.0);
            let half = half.map_or(String::new(), |half| {
                format!(" <small>±{} %</small>", human::sig2(half / mean * 100.0))
            });
            let shown = value(measured, cell).replace(" us", " µs");
            let _ = write!(html, "<td{class}>{}{half}", esc(&shown));
            html.push_str(
                &cell.against.as_ref().map_or(String::new(), |a| against_first(measured, a)),
            );
        }
        html.push_str("</tr>");
    }
    let zero: Vec<String> = zero.iter().map(|measured| measured.title.clone()).collect();
    let zero = match zero.is_empty() {
        true => String::new(),
        false => format!(" Zero in all runs: {}.", zero.join(", ")),
    };
    let sign = match of.measured.iter().flat_map(|m| &m.cells).any(|cell| cell.censored) {
        true => format!(" * {}.", forebay_record::CENSORED),
        false => String::new(),
    };
    let _ = write!(
        html,
        "</tbody></table></div><p class=\"caption\">Mean over seeds, ± half of its 95 % interval. Below: mean difference to the first run, \
         its 95 % interval (Student's t over logarithms of ratios, paired by seed), a word, and the effect size d, the logarithm of the ratio \
         over its standard deviation. <b>Better</b>, <b>worse</b>: the interval excludes zero. <b>Needs about n seeds</b>: it includes zero, \
         and n seeds would exclude it in 19 of 20 cases if the difference is as large as it seems. Of twenty comparisons of equal runs \
         one is called different by chance. Shaded: best of the row, or too few seeds to tell it from the best.{} \
         All numbers, of each seed too: <code>--json</code>.</p></section>",
        esc(&format!("{sign}{zero}"))
    );
    html
}

fn against_first(measured: &MetricValues, against: &PairedDifference) -> String {
    let class = match against.word {
        Word::Better => "better",
        Word::Worse => "worse",
        _ => "plainly",
    };
    let word = against.word.text();
    if against.word == Word::Same {
        return format!("<small class=\"change {class}\">{word}</small>");
    }
    let interval = interval(measured, against).map_or(String::new(), |text| format!("({text})"));
    let effect = effect(against).map_or(String::new(), |effect| format!(", d {effect}"));
    format!(
        "<small class=\"change {class}\">{}</small><small class=\"change {class}\">{}</small>",
        esc(&spaced(&[&difference(against), &interval]).replace(" us", " µs")),
        esc(&format!("{word}{effect}"))
    )
}

/// What the runs were, and in which keys they differ.
fn runs(of: &Comparison, tag: &str) -> String {
    let mut html = format!(
        "<section id=\"runs{tag}\"><h2>Runs, and what differs between them</h2><div class=\"scroll\"><table><thead><tr><th>",
    );
    for (i, side) in of.sides.iter().enumerate() {
        let _ = write!(html, "<th>{}{}", beside::mark(i), esc(&side.name));
    }
    html.push_str("</tr></thead><tbody>");
    let mut row = |name: &str, values: Vec<String>| {
        let _ = write!(html, "<tr><th>{}", esc(name));
        values.iter().for_each(|value| {
            let _ = write!(html, "<td>{}", esc(value));
        });
        html.push_str("</tr>");
    };
    let each = |value: &dyn Fn(&Side) -> String| of.sides.iter().map(value).collect::<Vec<_>>();
    row("place", each(&|side| side.place.clone()));
    row("law", each(&|side| side.about.laws.join(", ")));
    row(
        "seeds",
        each(&|side| {
            side.by_seed.iter().map(|one| one.seed.to_string()).collect::<Vec<_>>().join(", ")
        }),
    );
    row("flows completed", each(&|side| human::count(side.summary.flows.completed)));
    row("digest", each(&|side| side.summary.digest.clone()));
    for one in &of.differences {
        let name = match one.kind {
            Kind::Setting => one.key.clone(),
            kind => format!("{} ({})", one.key, kind.word()),
        };
        row(&name, shortened(&one.values));
    }
    html.push_str(
        "</tbody></table></div><p class=\"caption\">All other keys of the scenarios are equal, those of [output] and names apart.</p></section>",
    );
    html
}
