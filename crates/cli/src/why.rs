//! `forebay why`: where the completion time of flows went, part by part.

use crate::args::Why;
use crate::failure::Failure;
use crate::say;
use forebay_record::why::{
    By, Line, WhyRow, calls, flows_of, is_explained, lines, sentence, sentences, share_of, slowest,
};
use forebay_record::{About, FlowRow, RunDir, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_sim::Options;
use forebay_study::why::{NoAnswer, again, call_again};
use forebay_units::{Span, human};
use serde_json::{Value, json};
use std::fmt::Write;

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
    let scenario = forebay_scenario::text("resolved.toml", &about.resolved_toml)?.scenario;
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
    if let Some(rpc) = args.rpc {
        return one_rpc(args, &scenario, run, rpc);
    }
    let chosen = choose(args, run, &about)?;
    say::note(&format!(
        "running seed {} again, and following {}",
        run.seed,
        human::counted(chosen.flows.len(), "flow")
    ));
    let rows = again(&scenario, run, &chosen.flows, (Options::default(), Vec::new()), &|| false);
    let rows = rows.map_err(|no| failed(&no, args, run))?;
    RunDir::explain(dir, run.seed, rows.clone())?;
    let of = Of { chosen: &chosen, about: &about, run, rows: &rows };
    match args.json {
        true => say::json(&of.json()),
        false => say::data(&of.text()),
    }
}

fn failed(no: &NoAnswer, args: &Why, run: &RunRecord) -> Failure {
    match no {
        NoAnswer::Refused(why) => Failure::Input(why.to_string()),
        NoAnswer::OtherDigest { .. } => Failure::Run(format!(
            "seed {} of {}: {no}; was it made by another version?",
            run.seed,
            args.dir.display()
        )),
        NoAnswer::Stopped => Failure::Interrupted(no.to_string()),
    }
}

/// Explains an RPC.
fn one_rpc(args: &Why, scenario: &Scenario, run: &RunRecord, rpc: u32) -> Result<(), Failure> {
    let wrong = |text: String| Failure::Input(format!("--rpc {rpc}: {text}"));
    let Some(row) = run.rpcs.get(rpc as usize) else {
        return Err(wrong(match run.rpcs.len() {
            0 => "this run has no RPCs; --flow explains a flow".into(),
            1 => "there is no such RPC; this run has RPC 0 alone".into(),
            all => format!("there is no such RPC; this run has {all}, 0 to {}", all - 1),
        }));
    };
    let calls = calls(run);
    let Ok(at) = calls.binary_search_by_key(&rpc, |call| call.rpc) else {
        return Err(wrong("it had no response by the end, or is one-way".into()));
    };
    say::note(&format!("running seed {} again, and following its connection", run.seed));
    let rows = call_again(scenario, run, &calls[at], (Options::default(), Vec::new()), &|| false);
    let rows = rows
        .map_err(|no| failed(&no, args, run))?
        .ok_or_else(|| wrong("RPCs over receiver-driven transports are not explained".into()))?;
    let all: Vec<&WhyRow> = rows.iter().collect();
    let of = &run.connections[row.connection as usize];
    let name = |host: u32| run.hosts.get(host as usize).map_or("?", String::as_str);
    let who = format!(
        "RPC {rpc}, {} from {} answered by {} from {}",
        human::bytes(row.request.get()),
        name(of.client),
        human::bytes(row.response.get()),
        name(of.server)
    );
    let said = sentence(&who, &all, run);
    if args.json {
        let parts: Vec<Value> =
            lines(all.iter().copied(), By::Port).iter().map(line_as_json).collect();
        return say::json(&json!({
            "sentence": said,
            "seed": run.seed,
            "rpc": rpc,
            "latency_ps": row.latency().map(Span::as_ps),
            "ideal_ps": row.ideal.as_ps(),
            "parts": parts,
        }));
    }
    let mut text = said + "\n\n";
    table(run, &mut text, &lines(all.iter().copied(), By::Port), 1, "latency");
    say::data(&text)
}

/// Flows that were asked for, and how they are called.
struct Chosen {
    name: String,
    flows: Vec<u32>,
    by_class: bool, // the slowest of each size class
}

/// Flows that the options name, of those that are complete and began after the warm-up.
fn choose(args: &Why, run: &RunRecord, about: &About) -> Result<Chosen, Failure> {
    let rows = &run.flows;
    if let Some(flow) = args.flow {
        let Some(row) = rows.iter().find(|row| row.flow == flow) else {
            return Err(Failure::Input(format!(
                "there is no flow {flow}; flows.csv has their numbers in its first columns"
            )));
        };
        if !is_explained(row) {
            return Err(Failure::Input(format!(
                "flow {flow} is not complete, so it has no completion time to explain"
            )));
        }
        return Ok(Chosen { name: format!("flow {flow}"), flows: vec![flow], by_class: false });
    }
    let (low, high) = args.size.unwrap_or((0, u64::MAX));
    let fits = |row: &&FlowRow| {
        is_explained(row) && row.start >= about.warmup && (low..high).contains(&row.size.get())
    };
    let measured: Vec<FlowRow> = rows.iter().filter(fits).copied().collect();
    let sizes = match args.size {
        None => "all flows".to_owned(),
        Some((low, u64::MAX)) => format!("flows of {} and more", human::bytes(low)),
        Some((low, high)) => {
            format!("flows of {} to {}", human::bytes(low), human::bytes(high))
        }
    };
    if measured.is_empty() {
        return Err(Failure::Input(format!(
            "no flow that began after the warm-up and is complete is among {sizes}{}",
            if run.rpcs.is_empty() { "" } else { "; --rpc N explains an RPC of this run" }
        )));
    }
    // Of sizes that somebody names the slowest are those of all of them, else of each size class.
    let bounds = if args.size.is_some() { &[][..] } else { &about.size_classes };
    let share = if args.p99 || args.size.is_none() { 0.01 } else { 1.0 };
    let flows = slowest(&measured, about.warmup, bounds, |count| share_of(count, share));
    let name = if share < 1.0 { format!("slowest 1 % of {sizes}") } else { sizes };
    Ok(Chosen { name, flows, by_class: args.size.is_none() })
}

/// An answer.
struct Of<'a> {
    chosen: &'a Chosen,
    about: &'a About,
    run: &'a RunRecord,
    rows: &'a [WhyRow],
}

/// Rows of a table for people; the rest is one row.
const ROWS: usize = 12;

/// Flows in the list of the slowest.
const SLOWEST: usize = 10;

impl Of<'_> {
    fn all(&self) -> Vec<&WhyRow> {
        self.rows.iter().collect()
    }

    fn row(&self, flow: u32) -> Option<&FlowRow> {
        let at = self.run.flows.binary_search_by_key(&flow, |row| row.flow).ok()?;
        self.run.flows.get(at)
    }

    /// The rows of each flow, the slowest flow first.
    fn by_flow(&self) -> Vec<(&FlowRow, Vec<&WhyRow>)> {
        let of = self.rows.chunk_by(|a, b| a.flow == b.flow);
        let mut flows: Vec<_> =
            of.filter_map(|rows| Some((self.row(rows[0].flow)?, rows.iter().collect()))).collect();
        let slowdown = |row: &FlowRow| row.slowdown().unwrap_or(0.0);
        flows.sort_by(|a: &(&FlowRow, Vec<&WhyRow>), b| slowdown(b.0).total_cmp(&slowdown(a.0)));
        flows
    }

    /// A sentence for each size class where several are meant, else one.
    fn sentences(&self) -> Vec<String> {
        if !self.chosen.by_class {
            return vec![sentence(&self.chosen.name, &self.all(), self.run)];
        }
        sentences("slowest 1 %", &self.all(), self.run, self.about)
    }

    fn text(&self) -> String {
        let mut text = self.sentences().join("\n") + "\n\n";
        let rows = self.all();
        let count = flows_of(&rows).max(1);
        let total = if count == 1 { "FCT" } else { "mean FCT" };
        table(self.run, &mut text, &lines(rows.iter().copied(), By::Tier), count, total);
        let ports = lines(rows.iter().copied().filter(|row| !row.port.is_empty()), By::Port);
        if ports.len() > 1 {
            text.push_str("\nports that cost most\n");
            let sum: u128 = rows.iter().map(|row| u128::from(row.span.as_ps())).sum();
            ports.iter().take(ROWS).for_each(|line| row(self.run, &mut text, line, sum, count));
        }
        if count > 1 {
            self.slowest(&mut text);
        }
        text
    }

    /// The slowest flows with what they mostly waited for.
    fn slowest(&self, text: &mut String) {
        text.push_str("\nslowest flows\n");
        let name = |host: u32| self.run.hosts.get(host as usize).map_or("?", String::as_str);
        for (flow, rows) in self.by_flow().iter().take(SLOWEST) {
            let ends = format!("{} -> {}", name(flow.src), name(flow.dst));
            let lines = lines(rows.iter().copied(), By::Port);
            let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
            let mostly = lines.first().map_or_else(String::new, |line| {
                let share = human::percent(line.ps as f64 / sum as f64);
                format!("{share} {} {}", line.part.words(), line.place)
            });
            let _ = writeln!(
                text,
                "{:>8}  {ends:<38}{:>10}{:>12}{:>8}x  {}",
                flow.flow,
                human::bytes(flow.size.get()),
                mean(sum, 1),
                human::sig3(flow.slowdown().unwrap_or(0.0)),
                mostly.trim_end()
            );
        }
    }

    fn json(&self) -> Value {
        let parts = |rows: &[&WhyRow]| -> Vec<Value> {
            lines(rows.iter().copied(), By::Port).iter().map(line_as_json).collect()
        };
        let flow = |(flow, rows): &(&FlowRow, Vec<&WhyRow>)| {
            json!({
                "flow": flow.flow,
                "from": self.run.hosts.get(flow.src as usize),
                "to": self.run.hosts.get(flow.dst as usize),
                "size_bytes": flow.size.get(),
                "fct_ps": flow.fct().map(Span::as_ps),
                "ideal_fct_ps": flow.ideal.as_ps(),
                "parts": parts(rows),
            })
        };
        json!({
            "sentence": self.sentences().join(" "),
            "flows_of": self.chosen.name,
            "seed": self.run.seed,
            "parts": parts(&self.all()),
            "flows": self.by_flow().iter().map(flow).collect::<Vec<_>>(),
        })
    }
}

/// A row for each line, and their sum, called `total`.
fn table(run: &RunRecord, text: &mut String, lines: &[Line], count: usize, total: &str) {
    let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
    lines.iter().for_each(|line| row(run, text, line, sum, count));
    let _ = writeln!(text, "{total:<38}{:<30}{:>10}{:>9}", "", mean(sum, count), "100 %");
}

fn row(run: &RunRecord, text: &mut String, line: &Line, sum: u128, count: usize) {
    let share = human::percent(line.ps as f64 / sum.max(1) as f64);
    let (part, at, mean) = (line.part.words(), &line.place, mean(line.ps, count));
    let row = format!("{part:<38}{at:<30}{mean:>10}{share:>9}  {}", line.behind(run));
    let _ = writeln!(text, "{}", row.trim_end());
}

fn line_as_json(line: &Line) -> Value {
    let behind: Vec<Value> = line
        .behind
        .iter()
        .map(|(flow, ps)| json!({ "flow": flow, "part_ps": *ps as u64 }))
        .collect();
    let place = (!line.place.is_empty()).then_some(&line.place);
    json!({ "part": line.part.key(), "port": place, "part_ps": line.ps as u64, "behind": behind })
}

fn mean(ps: u128, flows: usize) -> String {
    human::micros(ps as f64 / 1e6 / flows as f64)
}
