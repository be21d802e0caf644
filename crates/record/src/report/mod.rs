//! The report: one HTML file that needs nothing else.
//!
//! A pure function of the record: same records, same bytes. Figures are inline SVG drawn here; the
//! page is whole without its script, which only adds read-outs under the pointer. A content policy
//! in the page forbids every request. All text from outside goes through `svg::esc`.

pub mod beside;
mod cdf;
mod fabric;
mod fct;
mod host;
mod levels;
mod links;
mod over_time;
mod pauses;
mod rpc;
mod tables;
mod why;
mod worst_flows;

use crate::about::RunStart;
use crate::human::micros;
use crate::rows::RunRecord;
use crate::summary::Summary;
use crate::svg::{FIGURE_STYLE, esc, themes};
use std::fmt::Write;

/// Width of a full-width figure, in pixels of its view box.
const WIDE: f64 = 1048.0;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str =
    concat!(include_str!("ticks.js"), include_str!("zoom.js"), include_str!("report.js"));

/// A name with the signs that a terminal spares us.
fn pretty(name: &str) -> String {
    name.replace("<=", "≤").replace("->", "→")
}

/// Microseconds in the unit that suits them, with the sign that a terminal spares us.
fn micro(us: f64) -> String {
    micros(us).replace(" us", " µs")
}

/// A figure: title, picture, and what to read in it.
struct Figure {
    id: String,
    title: String,
    plot: String,
    caption: String,
}

impl Figure {
    fn html(&self) -> String {
        format!(
            "<section id=\"{}\"><h2>{}</h2><figure>{}<figcaption>{}</figcaption></figure></section>",
            self.id,
            esc(&self.title),
            self.plot,
            esc(&self.caption)
        )
    }
}

/// The page. `runs` are those that `summary` was made of.
pub fn render(about: &RunStart, summary: &Summary, runs: &[RunRecord]) -> String {
    let mut body = tables::tiles(summary);
    for figure in host::figures(summary, runs) {
        body.push_str(&figure.html());
    }
    let mut absent: Vec<String> = host::hint(summary, runs).map(String::from).into_iter().collect();
    let mut figures: Vec<Figure> = fct::by_size_and_traffic(about, summary, runs);
    figures.extend(fct::distributions(about, runs));
    figures.extend(rpc::distribution(about, runs));
    for figure in &figures {
        body.push_str(&figure.html());
    }
    if figures.is_empty() {
        absent.push(match summary.flows.endless {
            0 => "FCT slowdown: no measured flow completed; see stop.time, output.warmup and traffic.load.".into(),
            _ => "FCT slowdown: flows without an end have no completion time.".into(),
        });
    }
    body.push_str(&why::section(about, runs).unwrap_or_default());
    body.push_str(&rpc::table(summary));
    body.push_str(&tables::classes(summary));
    body.push_str(&over_time::sections(about, runs).unwrap_or_default());
    absent.extend(over_time::absent(runs));
    let mut figures: Vec<Figure> = Vec::new();
    figures.extend(links::tiers(summary));
    figures.extend(fabric::picture(runs));
    figures.extend(links::utilisation_map(runs));
    figures.extend(links::worst_ports(runs));
    figures.extend(levels::table(runs));
    figures.extend(pauses::table(runs));
    figures.extend(worst_flows::table(about, runs));
    for figure in &figures {
        body.push_str(&figure.html());
    }
    body.push_str(&tables::seeds(summary));
    if !absent.is_empty() {
        let items: String = absent.iter().map(|what| format!("<li>{}</li>", esc(what))).collect();
        let _ = write!(
            body,
            "<section id=\"absent\"><h2>Not in this report</h2><ul class=\"notes\">{items}</ul></section>"
        );
    }
    body.push_str(&tables::reference(about, runs));
    let body = format!("{}{}{body}", tables::header(about, summary), contents(&body));
    page(&summary.scenario, "Forebay", &body)
}

/// Links to the sections of a body.
fn contents(body: &str) -> String {
    let mut links = String::new();
    for section in body.split("<section id=\"").skip(1) {
        let (id, rest) = section.split_once('"').unwrap_or_default();
        let title = rest.split_once("<h2>").and_then(|(_, rest)| rest.split_once("</h2>"));
        let Some((title, _)) = title else { continue };
        // Of several seeds the first is on show.
        let title = title.split_once(", seed ").map_or(title, |(title, _)| title);
        if !links.contains(&format!(">{title}<")) {
            let _ = write!(links, "<a href=\"#{id}\">{title}</a>");
        }
    }
    format!("<nav class=\"contents\" aria-label=\"Contents\">{links}</nav>")
}

/// A page around a body: style, script, and a title that ends with `kind`. The body's figures are those of `svg`.
pub fn page(title: &str, kind: &str, body: &str) -> String {
    let mut html = String::with_capacity(body.len() + 32_768);
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"forebay\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{} – {kind}</title>\n<style>\n{}{FIGURE_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n",
        esc(title),
        themes()
    );
    html.push_str(body);
    let over_time = if body.contains("class=\"slider\"") { fabric::SCRIPT } else { "" };
    let _ = write!(html, "\n</main>\n<script>\n{SCRIPT}{over_time}</script>\n");
    if body.contains("class=\"plot panels\"") {
        let _ = write!(html, "<script>\n{}</script>\n", host::SCRIPT);
    }
    html.push_str("</body>\n</html>\n");
    html
}
