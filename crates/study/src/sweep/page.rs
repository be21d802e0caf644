//! The page of a sweep: which setting was best, what the settings did as charts that the reader chooses, and the table with links to reports and
//! runs.

use super::chart::charts;
use super::plain;
use super::tables::{Column, Labels, Row, cell, columns, flows, has_flows, labelled, note, value};
use crate::about::VERSION;
use crate::pairs::{PairVerdict, paired};
use forebay_record::report;
use forebay_record::svg::esc;
use forebay_units::human;
use std::fmt::Write;

/// Metrics that say which setting was best: the first that all points have.
const MAIN: [&str; 7] = [
    "collective.completion_us.mean",
    "flows.slowdown.p99",
    "rpc.latency_us.p99",
    "incast.completion_us.p99",
    "memory.goodput_gbps",
    "goodput_per_receiver_gbps",
    "drop_rate",
];

/// The page.
pub(super) fn page(name: &str, keys: &[String], rows: &[Row]) -> String {
    let whole = rows.iter().filter(|row| row.status() == "complete").count();
    let left: u64 = rows.iter().filter_map(|row| row.flows).map(|[done, all]| all - done).sum();
    let (chip, word) = match (rows.len() - whole, left) {
        (0, 0) => ("good", "complete".to_string()),
        (0, n) => ("bad", format!("{} unfinished", human::counted(n as usize, "flow"))),
        _ => ("bad", format!("{whole} of {} points complete", rows.len())),
    };
    let columns = columns(rows);
    let labels = labelled(rows);
    let (title, verdict) =
        answer(rows, &columns, &labels).unwrap_or_else(|| (name.into(), String::new()));
    let varied = match keys.is_empty() {
        true => "nothing".to_string(),
        false => keys.join(", "),
    };
    let mut body = format!(
        "<header><p class=\"kind\">Forebay sweep <span class=\"chip {chip}\">{}</span></p><h1>{}</h1>\
         <p class=\"verdict\">{}</p><dl class=\"facts\"><div><dt>Scenario</dt><dd>{}</dd></div><div><dt>Varied</dt><dd>{}</dd></div>\
         <div><dt>Points</dt><dd>{}</dd></div><div><dt>Version</dt><dd>{VERSION}</dd></div></dl></header>",
        esc(&word),
        esc(&title),
        esc(&verdict),
        esc(name),
        esc(&varied),
        rows.len()
    );
    // What is zero everywhere has no picture and no column.
    let top = |column: &Column| {
        rows.iter().filter_map(|row| value(row, column)?.mean).fold(0.0, f64::max)
    };
    let (some, zero): (Vec<Column>, Vec<Column>) =
        columns.into_iter().partition(|column| top(column) > 0.0);
    body.push_str("<div class=\"metrics-of\">");
    body.push_str(&choice(&some, &zero));
    body.push_str(&charts(keys, rows, &some, &labels));
    body.push_str(&table(keys, rows, &some, &labels));
    body.push_str("</div>");
    report::page(name, "sweep", &body)
}

/// Name of a point: `kmin 100KB, alpha 0.0625`.
fn point(rows: &[Row], labels: &Labels, n: usize) -> String {
    let row = &rows[n];
    let varies = |key: &usize| labels[*key].iter().any(|label| *label != labels[*key][0]);
    let one = |key: usize| {
        let (name, value) = &row.settings[key];
        let last = name.rsplit('.').next().unwrap_or(name);
        let label = &labels[key][n];
        match last == "law" || value.contains('{') {
            true => label.clone(),
            false => format!("{last} {label}"),
        }
    };
    (0..row.settings.len()).filter(varies).map(one).collect::<Vec<_>>().join(", ")
}

/// The best point by the first metric that counts, and what the others came to; `None` where there is nothing to choose from.
fn answer(rows: &[Row], columns: &[Column], labels: &Labels) -> Option<(String, String)> {
    let of = |name: &&str| {
        let column = columns.iter().find(|column| column.metric == **name)?;
        let all = rows.iter().filter(|row| value(row, column).is_some()).count();
        // A metric that is zero at every point says nothing about any.
        let some = rows.iter().any(|row| value(row, column).and_then(|v| v.mean) != Some(0.0));
        (some && all == rows.len() && rows.len() > 1).then_some(column)
    };
    let column = MAIN.iter().find_map(of)?;
    let lower = column.lower?;
    let mean = |n: usize| value(&rows[n], column).and_then(|v| v.mean).unwrap_or(0.0);
    let censored = |n: &usize| value(&rows[*n], column).is_some_and(|v| v.censored);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
    if !lower {
        order.reverse();
    }
    let (worst, title) = (*order.last()?, column.heading.replace("<=", "≤"));
    // A point that leaves flows out cannot be called the best.
    let fair: Vec<usize> = order.iter().copied().filter(|n| !censored(n)).collect();
    let Some(best) = fair.first().copied() else {
        return Some((
            "No setting let all flows finish".into(),
            unfinished(rows, labels).unwrap_or_default(),
        ));
    };
    let seeds_of =
        |n: usize| value(&rows[n], column).map(|v| v.per_seed.as_slice()).unwrap_or_default();
    // Seeds are paired: what a seed does to all points alike says nothing about them.
    let open = |n: &usize| {
        let at = |n: usize| rows[n].seeds.iter().zip(seeds_of(n));
        let pairs: Vec<(f64, f64)> = at(best)
            .filter_map(|(seed, a)| {
                let (_, b) = at(*n).find(|(other, _)| *other == seed)?;
                Some(((*a)?, (*b)?))
            })
            .collect();
        match paired(&pairs).map(|of| of.says) {
            Some(PairVerdict::Differ) => None,
            Some(PairVerdict::TooFew(needed)) => Some((*n, needed)),
            _ => Some((*n, None)),
        }
    };
    let near: Vec<(usize, Option<usize>)> = fair[1..].iter().filter_map(open).collect();
    let word = if lower { "lowest" } else { "highest" };
    let mut said = vec![format!(
        "{}: {} with {}; {} with {}.",
        human::capitalised(&title),
        cell(&rows[best], column),
        point(rows, labels, best),
        cell(&rows[worst], column),
        point(rows, labels, worst)
    )];
    let seeds = rows.iter().map(|row| row.seeds.len()).min().unwrap_or(0);
    let enough = |needed: Option<usize>| match needed {
        Some(n) => format!("; about {n} would tell"),
        None => String::new(),
    };
    match near[..] {
        _ if seeds < 3 => {
            said.push(format!("{}: too few to tell them apart.", human::counted(seeds, "seed")))
        }
        [] => {}
        [(other, needed)] => said.push(format!(
            "Too few seeds to tell it from {} ({}){}.",
            point(rows, labels, other),
            cell(&rows[other], column),
            enough(needed)
        )),
        [(other, needed), ..] => said.push(format!(
            "Too few seeds to tell it from {} others, first of all {} ({}){}.",
            near.len(),
            point(rows, labels, other),
            cell(&rows[other], column),
            enough(needed)
        )),
    }
    said.extend(unfinished(rows, labels));
    let best = human::clipped(&point(rows, labels, best), 80); // leaves the headline at two lines
    let title = match near.is_empty() && seeds >= 3 {
        true => format!("{best} has the {word} {title}"),
        false => format!("{} {title} so far: {best}", human::capitalised(word)),
    };
    Some((title, said.join(" ")))
}

/// Which points left flows unfinished.
fn unfinished(rows: &[Row], labels: &Labels) -> Option<String> {
    let left = |n: usize| rows[n].flows.map_or(0, |[done, all]| all - done);
    let some = (0..rows.len()).filter(|n| left(*n) > 0).count();
    let most = (0..rows.len()).max_by_key(|n| left(*n))?;
    let [done, all] = rows[most].flows.filter(|_| some > 0)?;
    Some(format!(
        "{some} of {} points left flows unfinished, most of all {}: {} of {}.",
        rows.len(),
        point(rows, labels, most),
        human::count(all - done),
        human::count(all)
    ))
}

/// Boxes by which the reader chooses metrics, without any script.
fn choice(columns: &[Column], zero: &[Column]) -> String {
    let (mut style, mut inputs, mut labels) = (String::new(), String::new(), String::new());
    for (n, column) in columns.iter().enumerate() {
        let checked = if column.shown { " checked" } else { "" };
        let name = esc(&column.heading.replace("<=", "≤"));
        let _ = write!(
            inputs,
            "<input type=\"checkbox\" class=\"pick\" id=\"m{n}\" aria-label=\"{name}\"{checked}>"
        );
        let _ = write!(labels, "<label class=\"lm{n}\" for=\"m{n}\">{name}</label>");
        let _ = write!(
            style,
            "#m{n}:not(:checked)~section .m{n}{{display:none}}\
             #m{n}:checked~.picks .lm{n}{{border-color:var(--ink2);font-weight:600}}\
             #m{n}:focus-visible~.picks .lm{n}{{outline:2px solid var(--use);outline-offset:1px}}"
        );
    }
    let zero: Vec<String> = zero.iter().map(|column| column.heading.clone()).collect();
    let zero = match zero.is_empty() {
        true => String::new(),
        false => {
            format!("<p class=\"caption\">Zero at every point: {}.</p>", esc(&zero.join(", ")))
        }
    };
    format!("<style>{style}</style>{inputs}<p class=\"picks\">Metrics {labels}</p>{zero}")
}

fn table(keys: &[String], rows: &[Row], columns: &[Column], labels: &Labels) -> String {
    let mut body = String::from(
        "<section id=\"points\"><h2>All points</h2><div class=\"scroll\"><table><thead><tr>",
    );
    for key in keys {
        // The last part tells keys apart; the whole key is in the facts.
        let last = key.rsplit('.').next().unwrap_or(key);
        let alone = keys.iter().filter(|other| other.ends_with(&format!(".{last}"))).count() < 2;
        let _ = write!(body, "<th title=\"{}\">{}", esc(key), esc(if alone { last } else { key }));
    }
    body.push_str("<th class=\"num\">seeds");
    let any = has_flows(rows);
    body.push_str(if any { "<th class=\"num\">completed" } else { "" });
    for (n, column) in columns.iter().enumerate() {
        let _ = write!(body, "<th class=\"num m{n}\">{}", esc(&column.heading.replace("<=", "≤")));
    }
    body.push_str("<th>report<th>runs</tr></thead><tbody>\n");
    for (i, row) in rows.iter().enumerate() {
        body.push_str("<tr>");
        for ((_, value), of_key) in row.settings.iter().zip(labels) {
            let _ = write!(
                body,
                "<td class=\"value\" title=\"{}\">{}",
                esc(plain(value)),
                esc(&of_key[i])
            );
        }
        let seeds = match row.status() {
            "complete" => row.seeds.len().to_string(),
            _ => format!("{} of {}", row.seeds.len(), row.seeds_all),
        };
        let _ = write!(body, "<td class=\"num\">{seeds}");
        if any {
            let late = row.flows.is_some_and(|[done, all]| done < all);
            let class = if late { "num warn" } else { "num" };
            let _ = write!(body, "<td class=\"{class}\">{}", flows(row));
        }
        for (n, column) in columns.iter().enumerate() {
            let _ = write!(body, "<td class=\"num m{n}\">{}", esc(&cell(row, column)));
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
    let note = note(rows, columns).map(|note| format!(" {note}.")).unwrap_or_default();
    let whole = whole_values(keys, rows, labels);
    let _ = write!(
        body,
        "{whole}<p class=\"caption\">Slowdown: FCT over ideal FCT, receiver-delivered. ±: 95 % confidence interval of the mean across \
         seeds.{} All numbers: <a href=\"sweep.csv\">sweep.csv</a>, <a href=\"sweep.json\">sweep.json</a>.</p></section>",
        esc(&note)
    );
    body
}

/// List of the tables behind short names.
fn whole_values(keys: &[String], rows: &[Row], labels: &Labels) -> String {
    let mut list = String::new();
    for (at, key) in keys.iter().enumerate() {
        let mut seen: Vec<&str> = Vec::new();
        for (row, label) in rows.iter().zip(&labels[at]) {
            let value = row.settings[at].1.as_str();
            if value.contains('{') && !seen.contains(&value) {
                seen.push(value);
                let _ = write!(
                    list,
                    "<dt>{}</dt><dd><code>{} = {}</code></dd>",
                    esc(label),
                    esc(key),
                    esc(value)
                );
            }
        }
    }
    match list.is_empty() {
        true => list,
        false => format!(
            "<details><summary>Whole values</summary><dl class=\"settings\">{list}</dl></details>"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::METRICS;
    use super::*;
    use crate::metrics::Value;

    fn row(load: &str, law: &str, p99: Option<f64>) -> Row {
        let value = |name: &str| match name {
            "flows.slowdown.p99" => {
                Value { mean: p99, ci95: p99.map(|p| [p - 0.5, p + 0.5]), ..Value::default() }
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
            parts: Vec::new(),
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        }
    }

    /// The second law takes a tenth more than the first with each seed. Its runs were done in another order, and seed 5 is not done.
    #[test]
    fn settings_are_compared_seed_by_seed_whatever_the_order_of_their_runs() {
        let with = |law: &str, seeds: &[u64], p99: [f64; 4]| {
            let mut row = row("0.2", law, Some(p99.iter().sum::<f64>() / 4.0));
            row.seeds = seeds.to_vec();
            row.seeds_all = 4;
            let at = METRICS.iter().position(|name| *name == "flows.slowdown.p99").unwrap();
            row.values[at].per_seed = p99.map(Some).to_vec();
            row
        };
        let first = with("dctcp", &[1, 2, 3, 5], [10.0, 20.0, 30.0, 35.0]);
        let rows = [first, with("reno", &[4, 3, 2, 1], [44.0, 33.0, 22.0, 11.0])];
        let columns = columns(&rows);
        let (title, verdict) = answer(&rows, &columns, &labelled(&rows)).unwrap();
        assert_eq!(title, "dctcp has the lowest p99 slowdown");
        assert!(!verdict.contains("Too few"), "{verdict}");
    }

    #[test]
    fn a_label_names_its_setting_in_headline_charts_and_table() {
        let mut rows = [row("0.2", "", Some(2.0)), row("0.2", "", Some(1.0))];
        let value = |label: &str| format!("{{ \"label\" = \"{label}\", \"kmin\" = \"20KB\" }}");
        rows[0].settings[1] = ("fabric.switch.ecn".into(), value("deep"));
        rows[1].settings[1] = ("fabric.switch.ecn".into(), value("shallow"));
        let html = page("s", &["traffic[0].load".into(), "fabric.switch.ecn".into()], &rows);
        assert!(html.contains("<h1>Lowest p99 slowdown so far: shallow</h1>"));
        for text in [">deep</text>", "\">shallow<", "<dt>deep</dt>"] {
            assert!(html.contains(text), "{text}");
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
