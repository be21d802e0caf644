//! `forebay list`, `forebay explain` and `forebay schema`: what can be named, and what names mean.

use crate::args::{Explain, Kind, Laws, List};
use crate::failure::Failure;
use crate::{human, laws, metrics, say};
use forebay_record::columns;
use forebay_scenario::{cdf, nearest, presets, reference};

/// `forebay list`.
pub fn list(args: &List) -> Result<(), Failure> {
    match args.what {
        None => say::data(
            "laws       control laws, for transport.law (roles flow and grant) and host.memory.control.law (role host)\n\
             workloads  flow-size distributions: traffic.sizes\n\
             presets    example scenarios: forebay new, --preset\n\
             metrics    numbers of a result: expect.metric\n\
             columns    columns and keys of result files: forebay explain\n\
             benches    workloads of forebay bench\n",
        ),
        Some(Kind::Laws) => laws::laws(&Laws { name: None, log: None, json: false }),
        Some(Kind::Workloads) => say::data(&workloads()),
        Some(Kind::Presets) => say::data(&examples()),
        Some(Kind::Metrics) => {
            let all = metrics::all();
            table(all.iter().map(|m| (m.name.as_str(), m.about.as_str())))
        }
        Some(Kind::Columns) => table(columns::explained().into_iter()),
        Some(Kind::Benches) => say::data(&crate::bench::list()),
    }
}

fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), Failure> {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, about) in rows {
        text.push_str(&format!("{name:<width$}  {about}\n"));
    }
    say::data(&text)
}

/// Presets by subject; a heading for each.
fn examples() -> String {
    let samples: Vec<_> = presets::SAMPLES.iter().map(|s| (s.name, s.title)).collect();
    let groups = presets::GROUPS.iter().map(|group| {
        (group.title, group.presets.iter().map(|p| (p.name, p.title())).collect::<Vec<_>>())
    });
    let own = vec![(presets::BPF_LAW.name, presets::BPF_LAW.title)];
    let folders = [("Files for forebay import", samples), ("A law of your own", own)];
    let groups: Vec<_> = groups.chain(folders).collect();
    let names = groups.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.len());
    let width = names.max().unwrap_or(0);
    let mut text = String::new();
    for (title, rows) in groups {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{title}\n"));
        for (name, about) in rows {
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
    }
    text
}

fn workloads() -> String {
    let width = cdf::names().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, step) in cdf::names() {
        let Some(sizes) = cdf::by_name(name) else { continue };
        text.push_str(&format!(
            "{name:<width$}  mean {:>8}, largest {:>8}, {}\n",
            human::bytes_f(sizes.mean()),
            human::bytes_f(sizes.largest().get() as f64),
            if step { "steps" } else { "straight lines between points" }
        ));
    }
    text
}

/// `forebay explain`.
pub fn explain(args: &Explain) -> Result<(), Failure> {
    let name = args.name.as_str();
    if let Some(text) = columns::explain(name) {
        return say::data(&wrapped(&format!("{name}: {text}\n")));
    }
    if let Some(metric) = metrics::by_name(name) {
        let text = format!("{name}: {} (a metric of [[expect]]).\n", metric.about);
        return say::data(&wrapped(&text));
    }
    if let Some(text) = laws::explain(name) {
        return say::data(&format!("{text}\n"));
    }
    if let Some(text) = reference::explain(name) {
        return say::data(&wrapped(&text));
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if let Some(text) = columns::explain(last).filter(|_| last != name) {
        return say::data(&wrapped(&format!("{last}: {text}\n")));
    }
    let metrics = metrics::all();
    let columns = columns::explained().into_iter().map(|(name, _)| name);
    let known: Vec<String> = columns.chain(laws::names()).map(String::from).collect();
    let metrics = metrics.iter().map(|metric| metric.name.as_str());
    let near = nearest(name, known.iter().map(String::as_str).chain(metrics)).map(String::from);
    let close = near.or_else(|| reference::close(name));
    let close = close.map(|key| format!("; did you mean {key:?}?"));
    let lists = "; see \"forebay list columns\", \"forebay list metrics\" and \"forebay laws\"";
    let more = close.unwrap_or_else(|| lists.into());
    Err(Failure::Input(format!("no column, key, metric or law is named \"{name}\"{more}")))
}

/// Text whose lines fit the terminal.
fn wrapped(text: &str) -> String {
    human::wrapped(text.trim_end(), say::stdout_width(), 4) + "\n"
}

/// `forebay schema`.
pub fn schema() -> Result<(), Failure> {
    say::json(&forebay_scenario::schema())
}
