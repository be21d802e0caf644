//! `forebay why`: where the completion time of flows went, part by part.

use crate::args::Why;
use crate::failure::Failure;
use crate::say;
use forebay_record::why::{COLUMNS, Explained, Family, Log, Part, explain};
use forebay_record::{FlowRow, RunDir, hex};
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Outputs, Simulation, Watch};
use forebay_units::{Time, human};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The verb.
pub fn why(args: &Why) -> Result<(), Failure> {
    let dir = &args.dir;
    if !dir.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is not a results directory (it has no manifest.json); run the scenario first, then name its folder here",
            dir.display()
        )));
    }
    let (about, runs) = RunDir::load(dir)?;
    let mut scenario = forebay_scenario::text("resolved.toml", &about.resolved_toml)?.scenario;
    let wanted = args.seed.or(runs.first().map(|run| run.seed));
    let Some(run) = runs.iter().find(|run| Some(run.seed) == wanted) else {
        let seeds: Vec<String> = runs.iter().map(|run| run.seed.to_string()).collect();
        return Err(Failure::Input(format!(
            "{} has no results of that seed; it has those of {}",
            dir.display(),
            seeds.join(", ")
        )));
    };
    if run.interrupted || run.stalled {
        return Err(Failure::Input(format!(
            "seed {} of {} was cut short, so running it again would not end where it did; run it to its end first",
            run.seed,
            dir.display()
        )));
    }
    let chosen = choose(args, &run.flows, scenario.output.warmup)?;
    say::note(&format!(
        "running seed {} again, and following {}",
        run.seed,
        human::counted(chosen.flows.len(), "flow")
    ));
    let (log, digest) = follow(&mut scenario, run.seed, &chosen.flows)?;
    if digest != run.digest {
        return Err(Failure::Run(format!(
            "the second run of seed {} is not the first one: its digest is {}, that of {} is {}; was it made by another version?",
            run.seed,
            hex(digest),
            dir.display(),
            hex(run.digest)
        )));
    }
    let all = explain(&log);
    save(dir, run.seed, &all, &log)?;
    if args.json {
        return say::json(&as_json(&chosen, run.seed, &all, &log));
    }
    say::data(&text(&chosen, &all, &log))
}

/// Flows that were asked for, and how they are called.
struct Chosen {
    name: String,
    flows: Vec<u32>,
}

/// Flows that the options name, of those that are complete and began after the warm-up.
fn choose(args: &Why, rows: &[FlowRow], warmup: Time) -> Result<Chosen, Failure> {
    let complete = |row: &&FlowRow| row.fct().is_some() && !row.is_endless();
    if let Some(flow) = args.flow {
        let Some(row) = rows.iter().find(|row| row.flow == flow) else {
            return Err(Failure::Input(format!(
                "there is no flow {flow}; flows.csv has their numbers in its first columns"
            )));
        };
        if !complete(&row) {
            return Err(Failure::Input(format!(
                "flow {flow} is not complete, so it has no completion time to explain"
            )));
        }
        return Ok(Chosen { name: format!("flow {flow}"), flows: vec![flow] });
    }
    let (low, high) = args.size.unwrap_or((0, u64::MAX));
    let measured: Vec<&FlowRow> = rows
        .iter()
        .filter(complete)
        .filter(|row| row.start >= warmup)
        .filter(|row| (low..high).contains(&row.size.get()))
        .collect();
    let sizes = match args.size {
        None => "all flows".to_owned(),
        Some((low, u64::MAX)) => format!("flows of {} and more", human::bytes(low)),
        Some((low, high)) => {
            format!("flows of {} to {}", human::bytes(low), human::bytes(high))
        }
    };
    if measured.is_empty() {
        return Err(Failure::Input(format!(
            "no flow that began after the warm-up and is complete is among {sizes}"
        )));
    }
    let share = if args.p99 || args.size.is_none() { 0.01 } else { 1.0 };
    let mut slowest = measured.clone();
    let slowdown = |row: &FlowRow| row.slowdown().unwrap_or(0.0);
    slowest.sort_by(|a, b| slowdown(b).total_cmp(&slowdown(a)).then(a.flow.cmp(&b.flow)));
    let count = ((slowest.len() as f64 * share).ceil() as usize).clamp(1, slowest.len());
    let mut flows: Vec<u32> = slowest[..count].iter().map(|row| row.flow).collect();
    flows.sort_unstable();
    let name = if share < 1.0 { format!("slowest 1 % of {sizes}") } else { sizes };
    Ok(Chosen { name, flows })
}

/// Runs a seed again and follows these flows.
fn follow(scenario: &mut Scenario, seed: u64, flows: &[u32]) -> Result<(Log, u64), Failure> {
    scenario.output.captures.clear();
    scenario.output.law_log = None;
    let outputs = Outputs { follow: Some(flows), ..Outputs::default() };
    let mut simulation = Simulation::with_outputs(scenario, seed, Options::default(), outputs)
        .map_err(|error| Failure::Input(error.to_string()))?;
    simulation.advance(Time::MAX, &Watch::default());
    let outcome = simulation.finish();
    Ok((outcome.followed.unwrap_or_default(), outcome.record.digest))
}

/// Name of a port, by its link.
fn port(log: &Log, link: u32) -> String {
    let of = log.links[link as usize];
    format!("{} -> {}", log.names[of.from as usize], log.names[of.to as usize])
}

/// One line of a table: a part, and where.
struct Line {
    part: Part,
    link: Option<u32>,
    span: u128, // ps, over all flows
}

fn lines(all: &[Explained]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for piece in all.iter().flat_map(|one| &one.pieces) {
        let span = u128::from(piece.span().as_ps());
        match lines.iter_mut().find(|line| (line.part, line.link) == (piece.part, piece.link)) {
            Some(line) => line.span += span,
            None => lines.push(Line { part: piece.part, link: piece.link, span }),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse((line.span, std::cmp::Reverse(line.part))));
    lines
}

fn place(log: &Log, line: &Line) -> String {
    line.link.map_or_else(String::new, |link| port(log, link))
}

/// The sentence: what takes most, where.
fn sentence(chosen: &Chosen, all: &[Explained], log: &Log) -> String {
    let lines = lines(all);
    let sum = lines.iter().map(|line| line.span).sum::<u128>().max(1);
    let share = |span: u128| human::percent(span as f64 / sum as f64);
    let word = |line: &Line| {
        let at = line.link.map_or_else(String::new, |link| format!(" at {}", port(log, link)));
        format!("{} {}{at}", share(line.span), line.part.words())
    };
    let ideal = |line: &&Line| line.part.family() != Family::Path;
    let most: Vec<String> = lines.iter().filter(ideal).take(3).map(word).collect();
    let path: u128 = lines.iter().filter(|line| !ideal(line)).map(|line| line.span).sum();
    let mean = human::micros(sum as f64 / 1e6 / all.len().max(1) as f64);
    let who = if all.len() == 1 {
        chosen.name.clone()
    } else {
        format!("{} ({})", chosen.name, human::counted(all.len(), "flow"))
    };
    match most.is_empty() {
        true => format!("{who}: {mean}, all of it sending and propagation."),
        false => format!(
            "{who}: {mean}{}: {}; {} sending and propagation.",
            if all.len() == 1 { "" } else { " on average" },
            most.join(", "),
            share(path)
        ),
    }
}

/// Rows of a table for people; the rest is one row.
const ROWS: usize = 16;

fn text(chosen: &Chosen, all: &[Explained], log: &Log) -> String {
    let mut text = format!("{}\n\n", sentence(chosen, all, log));
    let lines = lines(all);
    let sum = lines.iter().map(|line| line.span).sum::<u128>().max(1);
    let mean = |span: u128| human::micros(span as f64 / 1e6 / all.len().max(1) as f64);
    let mut row = |part: &str, at: &str, span: u128| {
        let share = human::percent(span as f64 / sum as f64);
        let _ = writeln!(text, "{part:<38}{at:<34}{:>12}{share:>9}", mean(span));
    };
    for line in lines.iter().take(ROWS) {
        row(line.part.words(), &place(log, line), line.span);
    }
    let rest: u128 = lines.iter().skip(ROWS).map(|line| line.span).sum();
    if rest > 0 {
        row(&format!("{} more", lines.len() - ROWS), "", rest);
    }
    row(if all.len() == 1 { "FCT" } else { "mean FCT" }, "", sum);
    if all.len() > 1 {
        text.push_str(&slow_flows(all, log));
    }
    text
}

/// The slowest flows with what they mostly waited for.
fn slow_flows(all: &[Explained], log: &Log) -> String {
    let mut text = String::from("\nslowest flows\n");
    let slowdown =
        |one: &Explained| one.fct().as_ps() as f64 / one.flow.ideal.as_ps().max(1) as f64;
    let mut slowest: Vec<&Explained> = all.iter().collect();
    slowest.sort_by(|a, b| slowdown(b).total_cmp(&slowdown(a)));
    for one in slowest.iter().take(10) {
        let name = |host: u32| &log.names[host as usize];
        let ends = format!("{} -> {}", name(one.flow.src), name(one.flow.dst));
        let mostly = lines(std::slice::from_ref(one));
        let mostly = mostly.first().map_or_else(String::new, |line| {
            let share = line.span as f64 / one.fct().as_ps().max(1) as f64;
            format!("{} {} {}", human::percent(share), line.part.words(), place(log, line))
        });
        let _ = writeln!(
            text,
            "{:>8}  {ends:<38}{:>10}{:>12}{:>8}x  {}",
            one.flow.flow,
            human::bytes(one.flow.size),
            human::micros(one.fct().as_ps() as f64 / 1e6),
            human::sig3(slowdown(one)),
            mostly.trim_end()
        );
    }
    text
}

/// Writes why.csv: a row for each part and port of each flow.
fn save(dir: &Path, seed: u64, all: &[Explained], log: &Log) -> Result<(), Failure> {
    let mut text = COLUMNS.join(",") + "\n";
    for one in all {
        let mut lines = lines(std::slice::from_ref(one));
        lines.sort_by_key(|line| (line.part, line.link));
        for line in &lines {
            let at =
                line.link.map_or_else(String::new, |link| port(log, link).replace(" -> ", "->"));
            let _ =
                writeln!(text, "{seed},{},{},{at},{}", one.flow.flow, line.part.key(), line.span);
        }
    }
    let path = dir.join("why.csv");
    std::fs::write(&path, text)
        .map_err(|error| Failure::io(format!("write {}", path.display()), &error))
}

fn as_json(chosen: &Chosen, seed: u64, all: &[Explained], log: &Log) -> Value {
    let part = |line: &Line| json!({ "part": line.part.key(), "port": line.link.map(|link| port(log, link)), "part_ps": line.span as u64 });
    let flow = |one: &Explained| {
        json!({
            "flow": one.flow.flow,
            "from": log.names[one.flow.src as usize],
            "to": log.names[one.flow.dst as usize],
            "size_bytes": one.flow.size,
            "fct_ps": one.fct().as_ps(),
            "ideal_fct_ps": one.flow.ideal.as_ps(),
            "parts": lines(std::slice::from_ref(one)).iter().map(part).collect::<Vec<_>>(),
        })
    };
    json!({
        "sentence": sentence(chosen, all, log),
        "flows_of": chosen.name,
        "seed": seed,
        "parts": lines(all).iter().map(part).collect::<Vec<_>>(),
        "flows": all.iter().map(flow).collect::<Vec<_>>(),
    })
}
