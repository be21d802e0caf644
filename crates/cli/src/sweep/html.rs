//! The page of a sweep: its table, with a link to the report of each point and the directory of each run.

use super::tables::{Row, cell, columns, flows, has_flows, note};
use forebay_record::svg::esc;
use forebay_study::sweep::plain;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}\
table{border-collapse:collapse;width:100%}th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #8884;\
font-variant-numeric:tabular-nums}th{font-weight:600}.k{text-align:left}td,th{white-space:nowrap}.k{white-space:normal}.wide{overflow-x:auto}:root{color-scheme:light dark}";

/// The page.
pub fn page(name: &str, keys: &[String], rows: &[Row]) -> String {
    let mut body = String::from("<div class=\"wide\"><table><thead><tr>");
    for key in keys {
        body.push_str(&format!("<th class=\"k\">{}</th>", esc(key)));
    }
    body.push_str("<th>seeds</th>");
    let any = has_flows(rows);
    body.push_str(if any { "<th>completed</th>" } else { "" });
    let columns = columns(rows);
    for (heading, ..) in &columns {
        body.push_str(&format!("<th>{}</th>", esc(heading)));
    }
    body.push_str("<th class=\"k\">report</th><th class=\"k\">runs</th></tr></thead><tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (_, value) in &row.settings {
            body.push_str(&format!("<td class=\"k\">{}</td>", esc(plain(value))));
        }
        body.push_str(&format!("<td>{} of {}</td>", row.seeds.len(), row.seeds_all));
        if any {
            body.push_str(&format!("<td>{}</td>", flows(row)));
        }
        for column in &columns {
            body.push_str(&format!("<td>{}</td>", esc(&cell(row, column))));
        }
        let report = match row.seeds.is_empty() {
            true => row.status().into(),
            false => format!("<a href=\"points/{}/report.html\">report</a>", row.hash),
        };
        body.push_str(&format!("<td class=\"k\">{report}</td><td class=\"k\">"));
        for (seed, run, _) in row.runs.iter().filter(|(.., done)| *done) {
            body.push_str(&format!("<a href=\"runs/{run}/report.html\">{seed}</a> "));
        }
        body.push_str("</td></tr>\n");
    }
    body.push_str("</tbody></table></div>");
    if let Some(note) = note(rows) {
        body.push_str(&format!("\n<p>{}.</p>", esc(&note)));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0} – sweep</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n\
         <p>Slowdown: FCT over ideal FCT, receiver-delivered. ±: 95 % confidence interval of the mean across seeds. \
         All numbers: <a href=\"sweep.csv\">sweep.csv</a>, <a href=\"sweep.json\">sweep.json</a>.</p>\n{body}\n\
         </body>\n</html>\n",
        esc(name)
    )
}
