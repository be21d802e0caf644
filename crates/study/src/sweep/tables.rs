//! What a sweep came to: one row for each point, its columns, and the table for the terminal.

use super::labels_by_key;
use crate::metrics::Value;
use forebay_record::CENSORED;
use forebay_units::human;

/// The metrics of a row, by their names in `forebay list metrics`.
pub const METRICS: [&str; 33] = [
    "flows.completed",
    "flows.not_finished",
    "flows.slowdown.mean",
    "flows.slowdown.p50",
    "flows.slowdown.p95",
    "flows.slowdown.p99",
    "flows.fct_us.mean",
    "flows.fct_us.p99",
    "goodput_per_host_gbps",
    "goodput_per_receiver_gbps",
    "drop_rate",
    "mark_rate",
    "retransmit_rate",
    "timeouts",
    "max_queue_bytes",
    "utilisation.host_links.mean",
    "utilisation.fabric_links.mean",
    "memory.goodput_gbps",
    "memory.nic_drop_share",
    "memory.network_gigabytes_per_s",
    "memory.antagonist_gigabytes_per_s",
    "memory.iio_occupancy",
    "memory.mean_level",
    "memory.cache_miss_share",
    "rpc.latency_us.p50",
    "rpc.latency_us.p99",
    "flows.not_finished_share",
    "incast.completion_us.p99",
    "carried_load",
    "paused_share",
    "collective.completion_us.mean",
    "collective.completion_us.p99",
    "collective.busbw_gbps",
];

/// One point.
pub struct Row {
    /// Key and value of what varies.
    pub settings: Vec<(String, String)>,
    /// Name of its folder under `points`.
    pub hash: String,
    /// Seeds whose runs are complete.
    pub seeds: Vec<u64>,
    /// Seeds of the scenario.
    pub seeds_all: usize,
    /// Finite flows that completed, of how many that started; `None` without any.
    pub flows: Option<[u64; 2]>,
    /// One for each of [`METRICS`]; empty without a complete run.
    pub values: Vec<Value>,
    /// By size class and traffic entry, where there are several, the 99th percentile of slowdown; by entry the mean completion time of
    /// collectives. Name and value.
    pub parts: Vec<(String, Value)>,
    /// Digest over its runs.
    pub digest: String,
    /// Run of each seed, and whether it is complete.
    pub runs: Vec<(u64, String, bool)>,
    /// A sentence for each band missed.
    pub misses: Vec<String>,
    /// Bands in all.
    pub bands: usize,
}

impl Row {
    /// Whether all of its runs are done, some, or none.
    pub fn status(&self) -> &'static str {
        match self.seeds.len() {
            0 => "missing",
            n if n < self.seeds_all => "partial",
            _ => "complete",
        }
    }
}

/// The metric of flows that [`Row::parts`] are of.
pub(super) const PARTS: &str = "flows.slowdown.p99";

/// The metric of collectives that they are of.
pub(super) const COMPLETION: &str = "collective.completion_us.mean";

/// Names of the parts that some row has, in order.
pub(super) fn all_parts(rows: &[Row]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.parts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// A column of the terminal and of the page.
#[derive(Clone, Debug)]
pub(super) struct Column {
    /// `p99 slowdown`.
    pub heading: String,
    /// By the names of [`METRICS`], or of [`Row::parts`].
    pub metric: String,
    pub write: fn(f64) -> String,
    /// On a terminal.
    terminal: bool,
    /// On a page before the reader chooses.
    pub shown: bool,
    /// Whether less is better; `None`: it explains others.
    pub lower: Option<bool>,
}

type Fixed = (&'static str, &'static str, fn(f64) -> String, bool, bool, Option<bool>);

/// Heading, metric, how to write it, whether it is on a terminal and shown on a page, and whether less is better.
const COLUMNS: [Fixed; 23] = [
    ("completion time", "collective.completion_us.mean", human::micros, true, true, Some(true)),
    ("bus Gb/s", "collective.busbw_gbps", digits, true, true, Some(false)),
    ("slowdown p50", "flows.slowdown.p50", digits, true, true, Some(true)),
    ("p99", "flows.slowdown.p99", digits, true, true, Some(true)),
    ("mean", "flows.slowdown.mean", digits, true, false, Some(true)),
    ("unfinished", "flows.not_finished_share", percent, false, true, Some(true)),
    ("incast p99", "incast.completion_us.p99", human::micros, true, true, Some(true)),
    ("RPC p50 us", "rpc.latency_us.p50", digits, true, true, Some(true)),
    ("RPC p99 us", "rpc.latency_us.p99", digits, true, true, Some(true)),
    ("Gb/s per receiver", "goodput_per_receiver_gbps", digits, true, true, Some(false)),
    ("load carried", "carried_load", percent, false, false, Some(false)),
    ("largest queue", "max_queue_bytes", human::bytes_f, false, true, Some(true)),
    ("senders paused", "paused_share", percent, false, true, Some(true)),
    ("drops", "drop_rate", percent, true, true, Some(true)),
    ("marks", "mark_rate", percent, true, false, None),
    ("timeouts", "timeouts", human::si, false, false, Some(true)),
    ("NIC drops", "memory.nic_drop_share", percent, true, true, Some(true)),
    ("network GB/s", "memory.network_gigabytes_per_s", digits, true, true, None),
    ("antagonist GB/s", "memory.antagonist_gigabytes_per_s", digits, true, true, Some(false)),
    ("lines in IIO", "memory.iio_occupancy", digits, true, true, None),
    ("level", "memory.mean_level", digits, true, false, None),
    ("reads missed", "memory.cache_miss_share", percent, true, true, Some(true)),
    ("goodput to applications", "memory.goodput_gbps", digits, false, true, Some(false)),
];

/// Columns that a row has a value for: without flows that end there is no slowdown, on ideal hosts no memory.
fn fixed(rows: &[Row]) -> Vec<Column> {
    let one = |(heading, metric, write, terminal, shown, lower): &Fixed| Column {
        heading: (*heading).into(),
        metric: (*metric).into(),
        write: *write,
        terminal: *terminal,
        shown: *shown,
        lower: *lower,
    };
    let all = COLUMNS.iter().map(one);
    all.filter(|column| rows.iter().any(|row| value(row, column).is_some())).collect()
}

/// The columns of the page: those with a value, and the parts of the flows; of sizes the smallest and the largest are shown.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let mut all = fixed(rows);
    // The page has room for whole words.
    for column in all.iter_mut().filter(|column| column.metric.starts_with("flows.slowdown.")) {
        let statistic = column.metric.trim_start_matches("flows.slowdown.");
        column.heading = format!("{statistic} slowdown");
    }
    let of = |name: &str| {
        let part = name.split_once('[').and_then(|(_, part)| part.strip_suffix(']'));
        part.unwrap_or_default().to_string()
    };
    let is_completion = |name: &&str| name.starts_with(COMPLETION);
    let (completions, parts): (Vec<&str>, Vec<&str>) =
        all_parts(rows).into_iter().partition(is_completion);
    let completion = |name: &&str| Column {
        heading: format!("completion time, {}", of(name)),
        metric: (*name).into(),
        write: human::micros,
        terminal: false,
        shown: true,
        lower: Some(true),
    };
    let at = all.iter().position(|column| column.metric == COMPLETION).map_or(0, |i| i + 1);
    all.splice(at..at, completions.iter().map(completion));
    let sizes: Vec<&str> =
        parts.iter().copied().filter(|n| !of(n).starts_with("traffic[")).collect();
    let part = |name: &&str| Column {
        heading: format!("p99 slowdown, {}", of(name)),
        metric: (*name).into(),
        write: digits,
        terminal: false,
        shown: !sizes.contains(name) || sizes.first() == Some(name) || sizes.last() == Some(name),
        lower: Some(true),
    };
    let at =
        all.iter().position(|column| column.metric == "flows.slowdown.mean").map_or(0, |i| i + 1);
    all.splice(at..at, parts.iter().map(part));
    all
}

pub(super) fn value<'a>(row: &'a Row, column: &Column) -> Option<&'a Value> {
    let fixed = METRICS.iter().position(|name| *name == column.metric);
    let part = || row.parts.iter().find(|(name, _)| *name == column.metric).map(|(_, value)| value);
    let value = fixed.map_or_else(part, |at| row.values.get(at));
    value.filter(|value| value.mean.is_some())
}

fn digits(value: f64) -> String {
    human::sig3(value)
}

fn percent(value: f64) -> String {
    format!("{} %", human::sig3(value * 100.0))
}

/// For each key the short texts of its values, in the order of the rows.
pub(super) type Labels = [Vec<String>];

/// The short texts of all values.
pub(super) fn labelled(rows: &[Row]) -> Vec<Vec<String>> {
    let values =
        rows.iter().map(|row| row.settings.iter().map(|(_, value)| value.as_str()).collect());
    labels_by_key(&values.collect::<Vec<_>>())
}

/// How many flows completed, of those that started.
pub(super) fn flows(row: &Row) -> String {
    row.flows.map_or("-".into(), |[completed, started]| match started - completed {
        0 => human::count(completed),
        _ => format!("{} of {}", human::count(completed), human::count(started)),
    })
}

/// Whether some point has flows that end.
pub(super) fn has_flows(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.flows.is_some())
}

/// The meaning of the sign behind numbers of these columns, if some number has it.
pub(super) fn note(rows: &[Row], columns: &[Column]) -> Option<String> {
    let signed = |row: &Row| columns.iter().any(|column| is_censored(row, column));
    rows.iter().any(signed).then(|| format!("{SIGN} {CENSORED}"))
}

fn is_censored(row: &Row, column: &Column) -> bool {
    value(row, column).is_some_and(|value| value.censored)
}

/// Beside statistics of flows that leave out too many of them.
const SIGN: &str = "*";

/// A cell: the mean and half the interval.
pub(super) fn cell(row: &Row, column: &Column) -> String {
    number(row, column) + if is_censored(row, column) { SIGN } else { "" }
}

fn number(row: &Row, column: &Column) -> String {
    let (value, write) = (value(row, column).cloned().unwrap_or_default(), column.write);
    match (value.mean, value.ci95) {
        (None, _) => "-".into(),
        (Some(mean), None) => write(mean),
        (Some(mean), Some([low, high])) if low == high => write(mean),
        (Some(mean), Some([low, high])) => {
            // In the unit of the mean: of a value that has one the number is in front of it.
            let (text, half) = (write(mean), (high - low) / 2.0);
            match text.split_once(' ') {
                Some((number, unit)) if mean > 0.0 => {
                    let scale = number.parse::<f64>().map_or(1.0, |number| number / mean);
                    format!("{number} ±{} {unit}", human::sig2(half * scale))
                }
                _ => format!("{text} ±{}", human::sig2(half)),
            }
        }
    }
}

/// The table for a terminal.
pub fn terminal(rows: &[Row]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    let keys = rows.first().map(|row| row.settings.as_slice()).unwrap_or_default();
    let mut heading: Vec<String> = keys.iter().map(|(key, _)| key.clone()).collect();
    heading.push("seeds".into());
    let any = has_flows(rows);
    heading.extend(any.then(|| "completed".into()));
    let mut columns = fixed(rows);
    columns.retain(|column| column.terminal);
    heading.extend(columns.iter().map(|column| column.heading.clone()));
    lines.push(heading);
    let labels = labelled(rows);
    for (n, row) in rows.iter().enumerate() {
        let mut line: Vec<String> = labels.iter().map(|of_key| of_key[n].clone()).collect();
        line.push(match row.status() {
            "complete" => row.seeds.len().to_string(),
            _ => format!("{} of {}", row.seeds.len(), row.seeds_all),
        });
        line.extend(any.then(|| flows(row)));
        line.extend(columns.iter().map(|column| cell(row, column)));
        lines.push(line);
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|c| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let mut out = String::new();
        for (c, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            let left = c < keys.len();
            out.push_str(&if left { format!("{cell}{gap}  ") } else { format!("{gap}{cell}  ") });
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
    text.extend(note(rows, &columns).map(|note| note + "\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics;

    #[test]
    fn every_column_is_a_metric() {
        for name in METRICS {
            assert!(metrics::by_name(name).is_some(), "{name}");
        }
        assert!(COLUMNS.iter().all(|(_, metric, ..)| METRICS.contains(metric)));
    }

    fn row(values: Vec<Value>, parts: Vec<(String, Value)>) -> Row {
        Row {
            settings: Vec::new(),
            hash: String::new(),
            seeds: vec![1],
            seeds_all: 1,
            flows: None,
            values,
            parts,
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        }
    }

    #[test]
    fn a_column_without_values_is_left_out() {
        let values = METRICS.map(|name| Value {
            mean: (name == "memory.mean_level").then_some(2.5),
            ..Value::default()
        });
        let row = row(values.to_vec(), Vec::new());
        assert_eq!(terminal(&[row]), "seeds  level\n    1   2.50\n");
    }

    #[test]
    fn completion_times_by_entry_stand_behind_that_of_all() {
        let value = |mean| Value { mean: Some(mean), ..Value::default() };
        let values = METRICS
            .map(|name| if name == COMPLETION { value(20.0) } else { Value::default() })
            .to_vec();
        let parts = vec![
            (format!("{COMPLETION}[traffic[0]]"), value(10.0)),
            (format!("{COMPLETION}[traffic[3]]"), value(30.0)),
        ];
        let rows = [row(values, parts)];
        let columns = columns(&rows);
        let shown = |column: &Column| {
            let mean = super::value(&rows[0], column).and_then(|value| value.mean);
            (column.heading.clone(), mean.map(column.write))
        };
        let shown: Vec<_> = columns.iter().map(shown).collect();
        let text = |heading: &str, value: &str| (heading.to_string(), Some(value.to_string()));
        assert_eq!(
            shown,
            [
                text("completion time", "20.0 us"),
                text("completion time, traffic[0]", "10.0 us"),
                text("completion time, traffic[3]", "30.0 us"),
            ]
        );
    }

    #[test]
    fn unfinished_flows_stand_beside_the_percentiles_that_leave_them_out() {
        let one = |flows: [u64; 2], censored| Row {
            settings: Vec::new(),
            hash: String::new(),
            seeds: vec![1],
            seeds_all: 1,
            flows: Some(flows),
            values: METRICS
                .map(|name| Value {
                    mean: ["flows.slowdown.p99", "drop_rate"].contains(&name).then_some(0.5),
                    censored: censored && name.starts_with("flows."),
                    ..Value::default()
                })
                .to_vec(),
            parts: Vec::new(),
            digest: String::new(),
            runs: Vec::new(),
            misses: Vec::new(),
            bands: 0,
        };
        assert_eq!(
            terminal(&[one([341, 446], true), one([446, 446], false)]),
            format!(
                "seeds   completed     p99   drops\n    1  341 of 446  0.500*  50.0 %\n    1         446   0.500  50.0 %\n* {CENSORED}\n"
            )
        );
    }
}
