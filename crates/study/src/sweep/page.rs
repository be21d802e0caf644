//! The page of a sweep: what the settings did to the results as charts, and the table with links to reports and runs.

use super::chart::charts;
use super::tables::{Row, cell, columns, flows, has_flows, note};
use super::{plain, words};
use crate::about::VERSION;
use forebay_record::report;
use forebay_record::svg::esc;
use std::fmt::Write;

/// The page.
pub(super) fn page(name: &str, keys: &[String], rows: &[Row]) -> String {
    let whole = rows.iter().filter(|row| row.status() == "complete").count();
    let (chip, word) = match rows.len() - whole {
        0 => ("good", "complete".to_string()),
        _ => ("bad", format!("{whole} of {} points complete", rows.len())),
    };
    let mut body = format!(
        "<header><p class=\"kind\">Forebay sweep <span class=\"chip {chip}\">{word}</span></p><h1>{}</h1>\
         <p class=\"verdict\">Varied: {}.</p><dl class=\"facts\"><div><dt>Points</dt><dd>{}</dd></div>\
         <div><dt>Version</dt><dd>{VERSION}</dd></div></dl></header>",
        esc(name),
        esc(&match keys.is_empty() {
            true => "nothing".to_string(),
            false => keys.join(", "),
        }),
        rows.len()
    );
    body.push_str(&charts(keys, rows));
    body.push_str(
        "<section id=\"points\"><h2>All points</h2><div class=\"scroll\"><table><thead><tr>",
    );
    for key in keys {
        let _ = write!(body, "<th>{}", esc(key));
    }
    body.push_str("<th class=\"num\">seeds");
    let any = has_flows(rows);
    body.push_str(if any { "<th class=\"num\">completed" } else { "" });
    let columns = columns(rows);
    for (heading, ..) in &columns {
        let _ = write!(body, "<th class=\"num\">{}", esc(heading));
    }
    body.push_str("<th>report<th>runs</tr></thead><tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (_, value) in &row.settings {
            let _ = write!(body, "<td title=\"{}\">{}", esc(plain(value)), esc(&words(value)));
        }
        let seeds = match row.status() {
            "complete" => row.seeds.len().to_string(),
            _ => format!("{} of {}", row.seeds.len(), row.seeds_all),
        };
        let _ = write!(body, "<td class=\"num\">{seeds}");
        if any {
            let _ = write!(body, "<td class=\"num\">{}", flows(row));
        }
        for column in &columns {
            let _ = write!(body, "<td class=\"num\">{}", esc(&cell(row, column)));
        }
        let report = match row.seeds.is_empty() {
            true => row.status().into(),
            false => format!("<a href=\"points/{}/report.html\">report</a>", row.hash),
        };
        let _ = write!(body, "<td>{report}<td class=\"num\">");
        for (seed, run, _) in row.runs.iter().filter(|(.., done)| *done) {
            let _ = write!(body, "<a href=\"runs/{run}/report.html\">{seed}</a> ");
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table></div>");
    let note = note(rows).map(|note| format!(" {note}.")).unwrap_or_default();
    let _ = write!(
        body,
        "<p class=\"caption\">Slowdown: FCT over ideal FCT, receiver-delivered. ±: 95 % confidence interval of the mean across \
         seeds.{} All numbers: <a href=\"sweep.csv\">sweep.csv</a>, <a href=\"sweep.json\">sweep.json</a>.</p></section>",
        esc(&note)
    );
    report::page(name, "sweep", &body)
}

#[cfg(test)]
mod tests {
    use super::super::tables::METRICS;
    use super::*;
    use crate::metrics::Value;

    fn row(load: &str, law: &str, p99: Option<f64>) -> Row {
        let value = |name: &str| match name {
            "flows.slowdown.p99" => {
                Value { mean: p99, ci95: p99.map(|p| [p - 0.5, p + 0.5]), censored: false }
            }
            "drop_rate" => Value { mean: Some(0.0), ..Value::default() },
            _ => Value::default(),
        };
        Row {
            settings: vec![
                ("traffic[0].load".into(), load.into()),
                ("transport.law".into(), format!("\"{law}\"")),
            ],
            hash: "h".into(),
            seeds: vec![1],
            seeds_all: 1,
            flows: None,
            values: METRICS.map(value).to_vec(),
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        }
    }

    #[test]
    fn what_a_setting_did_is_a_line_for_each_combination_of_the_others() {
        let keys = ["traffic[0].load".to_string(), "transport.law".to_string()];
        let rows = [
            row("0.2", "dctcp", Some(1.5)),
            row("0.2", "reno", Some(2.0)),
            row("0.4", "dctcp", Some(3.0)),
            row("0.4", "reno", None),
        ];
        let html = page("s", &keys, &rows);
        assert_eq!(html.matches("<svg").count(), 1, "drops are zero everywhere, so one chart");
        assert!(html.contains("By traffic[0].load") && html.contains("</i>law reno</span>"));
        assert!(html.contains("Zero at every point: drops."));
        // Two lines, of which one has a single point: its dot is there all the same.
        assert_eq!(html.matches("<circle").count(), 3);
        assert!(!html.contains("NaN") && !html.contains("inf\""));
        assert!(!page("s", &keys[..0], &rows[..0]).contains("<svg"));
    }
}
