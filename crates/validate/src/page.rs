//! One page about a run of a suite: each number as it was published and measured, its verdict, and the cause where it is out.

use crate::row::{Row, Verdict, number};
use forebay_record::report;
use forebay_record::svg::{Canvas, esc};
use std::fmt::Write;

/// Strip of a row, in pixels: width, height, and margin on both sides.
const STRIP: (f64, f64, f64) = (220.0, 26.0, 12.0);

/// The strip ends at the published number divided by this and at it times this.
const ENDS: f64 = 4.0;

/// The page of a suite whose rows were run. `pictures` have file names and SVG texts; `command` makes the page anew.
pub fn page(suite: &str, rows: &[Row], pictures: &[(String, String)], command: &str) -> String {
    let title = crate::title(suite);
    let all: Vec<&Row> = rows.iter().collect();
    let count = |verdict| all.iter().filter(|row| row.verdict == verdict).count();
    let (within, out) = (count(Verdict::In), count(Verdict::Out));
    let silent = count(Verdict::Empty) + count(Verdict::NotRun);
    let mut body = format!(
        "<style>\n{}</style><header><p class=\"kind\">Forebay reproduction of published numbers</p><h1>{}</h1>\
         <p class=\"verdict\">{within} of {} numbers are within their tolerance, {out} are out{}.</p><dl class=\"facts\">\
         <div><dt>Numbers that the text states, two-sided</dt><dd>{}</dd></div><div><dt>Version</dt><dd>{}</dd></div>\
         <div><dt>This page again</dt><dd><code>{}</code></dd></div></dl></header>",
        include_str!("page.css"),
        esc(&title),
        rows.len(),
        match silent {
            0 => String::new(),
            n => format!(", {n} say nothing or were not run"),
        },
        esc(&crate::stated(rows, crate::readings(suite)).to_string()),
        env!("CARGO_PKG_VERSION"),
        esc(command),
    );
    body += &drawn(pictures);
    let mut figures: Vec<&str> = Vec::new();
    for row in rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    for (nth, figure) in figures.iter().enumerate() {
        let _ = write!(body, "<section id=\"figure-{nth}\"><h2>{}</h2>", esc(&heading(figure)));
        if nth == 0 {
            body.push_str(
                "<p class=\"caption\">Each strip runs from a quarter of the published number to four times it, on a logarithmic scale. \
                 The upright tick is the published number, the band its tolerance, the dot our number. A triangle at an end is a number beyond it.</p>",
            );
        }
        rows.iter().filter(|row| row.figure == *figure).for_each(|row| body += &line(row));
        body.push_str("</section>");
    }
    report::page(&title, "reproduction", &body)
}

/// "3" is figure 3; other texts say themselves what they are.
fn heading(figure: &str) -> String {
    let digit = figure.starts_with(|c: char| c.is_ascii_digit());
    if digit { format!("Figure or section {figure}") } else { figure.into() }
}

/// Pictures as images of their own, so that their styles do not meet.
fn drawn(pictures: &[(String, String)]) -> String {
    if pictures.is_empty() {
        return String::new();
    }
    let image = |(name, svg): &(String, String)| {
        let safe = |c: char| c.is_ascii_alphanumeric() || " =:/.,;()-_'\n".contains(c);
        let mut data = String::with_capacity(svg.len() * 2);
        for c in svg.chars() {
            if safe(c) {
                data.push(c);
            } else {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().for_each(|b| _ = write!(data, "%{b:02X}"));
            }
        }
        let alt = esc(name.trim_end_matches(".svg"));
        format!("<img src=\"data:image/svg+xml,{data}\" alt=\"{alt}\">")
    };
    let svgs = pictures.iter().filter(|(name, _)| name.ends_with(".svg")); // points of curves are no picture
    let images: String = svgs.map(image).collect();
    format!("<section id=\"pictures\" class=\"pictures\"><h2>Pictures</h2>{images}</section>")
}

/// One row.
fn line(row: &Row) -> String {
    let chip = match row.verdict {
        Verdict::In => "good",
        Verdict::Out => "bad",
        Verdict::Empty | Verdict::NotRun => "none",
    };
    let unit = if row.unit == "1" { String::new() } else { format!(" {}", row.unit) };
    let measured = match row.measured {
        Some(value) => format!("<b>{}</b>{}", number(value), esc(&unit)),
        None => "-".into(),
    };
    let counts = if row.counts() { "" } else { ", does not count" };
    let mut html = format!(
        "<div class=\"row\"><span class=\"chip {chip}\">{}</span><span class=\"what\">{}<small>{}; {}{counts}; {}</small></span>\
         <span class=\"published\"><span class=\"label\">published </span>{}{}<small>{}</small></span>\
         <span><span class=\"label\">measured </span>{measured}</span><span class=\"strip\">{}</span>",
        row.verdict,
        esc(&row.quantity),
        esc(&row.id),
        row.basis,
        esc(&row.citation),
        number(row.published),
        esc(&unit),
        esc(&row.tolerance.to_string()),
        strip(row).unwrap_or_default(),
    );
    if row.verdict != Verdict::In && !row.note.is_empty() {
        let _ = write!(html, "<p class=\"cause\">{}</p>", esc(&row.note));
    }
    html.push_str("</div>");
    html
}

/// Where the measured number lies against the published one; `None` unless both are positive.
fn strip(row: &Row) -> Option<String> {
    let measured = row.measured.filter(|value| value.is_finite() && *value >= 0.0)?;
    if row.published <= 0.0 {
        return None;
    }
    let (width, height, margin) = STRIP;
    let place = |value: f64| {
        let share = (value / row.published).ln() / ENDS.ln();
        width / 2.0 + share.clamp(-1.0, 1.0) * (width / 2.0 - margin)
    };
    let middle = height / 2.0;
    let mut canvas = Canvas::default();
    canvas.rule((margin, middle), (width - margin, middle), "axis");
    let band = row.tolerance.band(row.published);
    let least = place(band.least.unwrap_or(0.0).max(f64::MIN_POSITIVE));
    let most = place(band.most.unwrap_or(f64::INFINITY));
    canvas.rect((least, 4.0), ((most - least).max(1.0), height - 8.0), "band s0", "");
    canvas.rule((width / 2.0, 2.0), (width / 2.0, height - 2.0), "said");
    let title = format!("{} against {}", number(measured), number(row.published));
    let class = format!("verdict-{}", row.verdict);
    let x = place(measured.max(f64::MIN_POSITIVE));
    let ratio = measured / row.published;
    if (1.0 / ENDS..=ENDS).contains(&ratio) {
        canvas.dot((x, middle), &format!("dot {class}"), &title);
    } else {
        let step = if ratio > 1.0 { 10.0 } else { -10.0 };
        let from = format!("M{} {}l{step} 6l{} 6z", x - step, middle - 6.0, -step);
        canvas.shape(&from, &format!("fill {class}"), &title);
    }
    Some(canvas.inline(width, height, &title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_row_and_the_cause_of_each_that_is_out() {
        let mut rows = crate::rows("ndp");
        for (row, times) in rows.iter_mut().zip([1.0, 1.02, 9.0, 0.9, 0.1]) {
            row.measured = Some(row.published * times);
            row.verdict = if (0.97..1.03).contains(&times) { Verdict::In } else { Verdict::Out };
        }
        let page = page(
            "ndp",
            &rows,
            &[("a<b.svg".into(), "<svg>%</svg>".into()), ("points.toml".into(), "x".into())],
            "forebay x",
        );
        assert!(page.contains("<h1>NDP, SIGCOMM 2017</h1>"), "the title is that of the suite");
        assert!(
            page.contains("2 of 13 numbers are within their tolerance, 3 are out, 8 say nothing")
        );
        for row in &rows {
            assert!(page.contains(&format!("<small>{}; ", row.id)), "{}", row.id);
        }
        assert!(page.contains("first come first served"), "the cause of a row that is out");
        assert_eq!(page.matches("class=\"dot verdict-").count(), 3, "three are on the strip");
        assert_eq!(page.matches("class=\"fill verdict-out").count(), 2, "two are beyond its ends");
        assert_eq!(page.matches("<img ").count(), 1);
        assert!(page.contains("data:image/svg+xml,%3Csvg%3E%25%3C/svg%3E\" alt=\"a&lt;b\""));
    }

    /// In the middle is the published number; a quarter of the width of the strip is twice it.
    #[test]
    fn a_dot_stands_where_its_ratio_says() {
        let mut row = crate::rows("ndp").remove(0);
        row.verdict = Verdict::Out;
        row.measured = Some(row.published * 2.0);
        let dot = strip(&row).expect("both are positive");
        let x = STRIP.0 / 2.0 + (STRIP.0 / 2.0 - STRIP.2) / 2.0;
        assert!(dot.contains(&format!("cx=\"{x}\"")), "{dot}");
        row.published = 0.0;
        assert_eq!(strip(&row), None);
    }
}
