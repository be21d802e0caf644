//! PowerTCP (NSDI 2022): pictures of figure 4. Experiments and rows are data in `validation/powertcp/`.

use crate::experiments::{Lists, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::order::mean;
use crate::plot::{Line, Panel, plot};
use std::collections::BTreeMap;

/// Schemes in the order of the figure: name and case.
const SCHEMES: [(&str, &str); 5] = [
    ("PowerTCP", "powertcp"),
    ("theta-PowerTCP", "theta"),
    ("TIMELY", "timely"),
    ("HPCC", "hpcc"),
    ("Homa", "homa"),
];

/// The two incasts: senders and experiment.
const INCASTS: [(&str, &str); 2] = [("10", "ten"), ("255", "all")];

/// What is drawn, and the unit of its values.
const QUEUE: (&str, &str) = ("pod[0].edge[0]->pod[0].edge[0].host[16] queue", "1e3");
const GOODPUT: (&str, &str) = ("goodput of all hosts", "(25 * 1000 / 1048)");

/// Samples of goodput that a throughput is the mean of.
const MEAN_OF: usize = 10;

/// Times, ms since the incast began, and values.
fn formulas(incast: &str, scheme: &str, (series, unit): (&str, &str)) -> [String; 2] {
    let window = format!("{incast}[{scheme}].window");
    [
        format!("({window}.times({series}) - 5e-3) * 1e3"),
        format!("{window}.series({series}) / {unit}"),
    ]
}

/// Longest queue, KB.
fn longest(incast: &str, scheme: &str) -> String {
    let port = QUEUE.0.trim_end_matches(" queue");
    format!("max({incast}[{scheme}].port({port}).max_queue_bytes) / 1e3")
}

/// Runs all rows; nothing here is long enough for a quick run to shorten.
pub(crate) fn measure(cores: &Cores<'_>, draw: bool) -> (MeasuredRows, Vec<(String, String)>) {
    let mut lists = Lists::default();
    for (_, incast) in INCASTS.into_iter().filter(|_| draw) {
        for (_, scheme) in SCHEMES {
            lists.formulas.extend(formulas(incast, scheme, QUEUE));
            lists.formulas.extend(formulas(incast, scheme, GOODPUT));
            lists.formulas.push(longest(incast, scheme));
        }
    }
    let folder = Folder::of("powertcp");
    let rows = crate::rows(folder.suite);
    let (measured, found) = measure_with_lists(folder, &rows, &lists, cores, false);
    let drawn = INCASTS.iter().filter(|_| draw).map(|(name, incast)| picture(name, incast, &found));
    (measured, drawn.collect())
}

/// Queue and throughput of all schemes over time.
fn picture(name: &str, incast: &str, found: &BTreeMap<String, Vec<f64>>) -> (String, String) {
    let points = |scheme: &str, what: (&str, &str)| -> Vec<(f64, f64)> {
        let [times, values] = formulas(incast, scheme, what).map(|text| &found[&text]);
        times.iter().copied().zip(values.iter().copied()).collect()
    };
    let lines = |points: &dyn Fn(&str) -> Vec<(f64, f64)>| {
        SCHEMES.map(|(name, scheme)| Line { name, points: points(scheme), steps: false }).into()
    };
    let queues: Vec<Line<'_>> = lines(&|scheme| points(scheme, QUEUE));
    let throughput = |scheme: &str| {
        let one = |of: &[(f64, f64)]| {
            let rates: Vec<f64> = of.iter().map(|(_, rate)| *rate).collect();
            (of[MEAN_OF - 1].0, mean(&rates))
        };
        points(scheme, GOODPUT).windows(MEAN_OF).map(one).collect()
    };
    let most = SCHEMES.map(|(_, scheme)| found[&longest(incast, scheme)][0]);
    let most = most.into_iter().fold(0.0, f64::max);
    let panel = |label, top, lines| Panel { label, range: (0.0, top), lines, rules: Vec::new() };
    let panels = [
        panel("Queue of the receiver's port, KB", most * 1.05, queues),
        panel("Throughput over the rate of the link, mean of 100 us", 1.05, lines(&throughput)),
    ];
    let title = format!("PowerTCP, figure 4: {name}:1 incast into one long flow");
    let svg = plot(&title, "ms since the incast began", (0.0, 4.0), &panels);
    (format!("powertcp-fig4-{name}.svg"), svg)
}
