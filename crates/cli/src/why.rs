//! `forebay why`: where the completion time of flows went, part by part.

mod collective;

use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::say;
use crate::source::recorded;
use forebay_record::why::{
    Line, OpenFlow, PortGrouping, Subject, WhyRow, is_explained, lines, number_of, open_flows,
    open_lines, open_sentence, sentence, sentences, share_of, slowest, slowest_rpcs,
};
use forebay_record::{ConnectionRow, FlowRow, RpcRow, RunDir, RunRecord, RunStart};
use forebay_sim::Options;
use forebay_study::about::is_under_python;
use forebay_study::why::{Answer, NoAnswer, WhyRequest, again};
use forebay_units::{Span, Time, human};
use serde_json::{Value, json};
use std::fmt::Write;

/// The verb.
pub fn why(args: &WhyArgs) -> Result<(), Failure> {
    let dir = &args.dir;
    if !dir.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is not a results directory (it has no manifest.json); run the scenario first, then name its folder here",
            dir.display()
        )));
    }
    let (about, runs) = RunDir::load(dir)?;
    let scenario = recorded(dir, &about)?;
    let wanted = args.seed.or(runs.first().map(|run| run.seed));
    let Some(run) = runs.iter().find(|run| Some(run.seed) == wanted) else {
        let seeds: Vec<String> = runs.iter().map(|run| run.seed.to_string()).collect();
        return Err(Failure::Input(format!(
            "{} has no results of that seed; it has seeds {}",
            dir.display(),
            seeds.join(", ")
        )));
    };
    if is_under_python(&about) {
        return Err(Failure::Input(format!(
            "flows of {} were under a law in Python, which a run directory does not have; ask in Python, r.why() of the run's results",
            dir.display()
        )));
    }
    let others = args.flow.is_some() || args.rpc.is_some() || args.size.is_some() || args.p99;
    if args.collective.is_some() || !others && !run.collectives.is_empty() {
        return collective::explain(args, &about, &scenario, run);
    }
    let chosen = choose(args, run, &about)?;
    let (flows, rpcs) = (chosen.wanted.flows.len(), chosen.wanted.rpcs.len());
    let Answer { rows, waited } = match chosen.wanted.is_empty() {
        true => Answer::default(),
        false => {
            let what = [(flows, "flow"), (rpcs, "RPC")].into_iter().filter(|(n, _)| *n > 0);
            let what: Vec<String> = what.map(|(n, of)| human::counted(n, of)).collect();
            let what = what.join(" and ");
            say::note(&format!("running seed {} again, and following {what}", run.seed));
            let options = Options::default();
            let answer = again(&scenario, run, &chosen.wanted, options, &|| false);
            let answer = answer.map_err(|no| failed(&no, args, run))?;
            RunDir::explain(dir, run.seed, answer.rows.clone())?;
            answer
        }
    };
    let of = WhyAnswer { chosen: &chosen, about: &about, run, rows: &rows, waited: &waited };
    match args.json {
        true => say::json(&of.json()),
        false => say::data(&of.text()),
    }
}

fn failed(no: &NoAnswer, args: &WhyArgs, run: &RunRecord) -> Failure {
    match no {
        NoAnswer::Refused(why) => Failure::Input(why.to_string()),
        NoAnswer::Other { .. } => Failure::Run(format!(
            "seed {} of {}: {no}; was it made by another version?",
            run.seed,
            args.dir.display()
        )),
        NoAnswer::Stopped => Failure::Interrupted(no.to_string()),
    }
}

/// Flows and RPCs that were asked for, and how they are called.
struct FlowChoice<'a> {
    name: String,
    wanted: WhyRequest,
    by_class: bool, // the slowest of each size class
    /// Unfinished flows among them, and the number of finished ones.
    open: (Vec<OpenFlow<'a>>, usize),
}

/// Name of a host.
fn host(run: &RunRecord, host: u32) -> &str {
    run.hosts.get(host as usize).map_or("?", String::as_str)
}

/// The RPC of a number.
fn choose_rpc(run: &RunRecord, rpc: u32) -> Result<FlowChoice<'_>, Failure> {
    let wrong = |text: String| Failure::Input(format!("--rpc {rpc}: {text}"));
    let Some(row) = run.rpcs.get(rpc as usize) else {
        return Err(wrong(match run.rpcs.len() {
            0 => "this run has no RPCs; --flow explains a flow".into(),
            1 => "there is no such RPC; this run has RPC 0 alone".into(),
            all => format!("there is no such RPC; this run has {all}, 0 to {}", all - 1),
        }));
    };
    if row.latency().is_none() {
        return Err(wrong(
            "it was not complete by the end, so it has no latency to explain".into(),
        ));
    }
    let of = &run.connections[row.connection as usize];
    let name = format!("RPC {rpc}, {} {}", row.sizes(), ends_of(run, of));
    let wanted = WhyRequest { flows: Vec::new(), rpcs: vec![rpc] };
    Ok(FlowChoice { name, wanted, by_class: false, open: (Vec::new(), 0) })
}

fn ends_of(run: &RunRecord, of: &ConnectionRow) -> String {
    format!("{} -> {}", host(run, of.client), host(run, of.server))
}

/// Flows and RPCs that the options name, of those that began after the warm-up.
fn choose<'a>(
    args: &WhyArgs,
    run: &'a RunRecord,
    about: &RunStart,
) -> Result<FlowChoice<'a>, Failure> {
    if let Some(rpc) = args.rpc {
        return choose_rpc(run, rpc);
    }
    let rows = &run.flows;
    if let Some(flow) = args.flow {
        let Some(row) = rows.iter().find(|row| row.flow == flow) else {
            return Err(Failure::Input(format!(
                "there is no flow {flow}; the first columns of flows.csv number the flows"
            )));
        };
        let name = format!("flow {flow}");
        if !is_explained(row) {
            let of_flow = open_flows(run, Time::ZERO).into_iter();
            let open: Vec<OpenFlow<'_>> = of_flow.filter(|one| one.flow.flow == flow).collect();
            if open.is_empty() {
                return Err(Failure::Input(format!(
                    "flow {flow} has no end, so it has no completion time to explain"
                )));
            }
            let wanted = WhyRequest::default();
            return Ok(FlowChoice { name, wanted, by_class: false, open: (open, 0) });
        }
        let wanted = WhyRequest { flows: vec![flow], rpcs: Vec::new() };
        return Ok(FlowChoice { name, wanted, by_class: false, open: (Vec::new(), 1) });
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
    // With sizes that the user names, the slowest flows of all of them. Otherwise the slowest of each size class, and of RPCs.
    let bounds = if args.size.is_some() { &[][..] } else { &about.size_classes };
    let share = if args.p99 || args.size.is_none() { 0.01 } else { 1.0 };
    let most = |count| share_of(count, share);
    let rpcs = if args.size.is_some() { Vec::new() } else { slowest_rpcs(run, about.warmup, most) };
    let wanted = WhyRequest { flows: slowest(&measured, about.warmup, bounds, most), rpcs };
    let mut open = open_flows(run, about.warmup);
    open.retain(|one| (low..high).contains(&one.flow.size.get()));
    if wanted.is_empty() && open.is_empty() {
        let rpcs = if run.rpcs.is_empty() { "" } else { "; --rpc N explains an RPC" };
        return Err(Failure::Input(match args.size {
            Some(_) => {
                format!("no flow with an end that began after the warm-up is among {sizes}{rpcs}")
            }
            None => "no flow with an end and no RPC began after the warm-up".into(),
        }));
    }
    let name = if share < 1.0 { format!("slowest 1 % of {sizes}") } else { sizes };
    let complete = measured.len();
    Ok(FlowChoice { name, wanted, by_class: args.size.is_none(), open: (open, complete) })
}

/// An answer.
struct WhyAnswer<'a> {
    chosen: &'a FlowChoice<'a>,
    about: &'a RunStart,
    run: &'a RunRecord,
    rows: &'a [WhyRow],
    waited: &'a [(u32, u32)], // flows that began after others
}

/// Ports in a table for people; those that cost less than a thousandth are left out.
const ROWS: usize = 12;

/// Sentences about flows that wait for each other.
const LONGEST_CHAIN: usize = 8;

/// Flows in the list of the slowest.
const SLOWEST: usize = 10;

impl WhyAnswer<'_> {
    fn all(&self) -> Vec<&WhyRow> {
        self.rows.iter().collect()
    }

    fn flow(&self, whose: Subject) -> Option<&FlowRow> {
        let at = self.run.flows.binary_search_by_key(&whose.flow()?, |row| row.flow).ok()?;
        self.run.flows.get(at)
    }

    fn rpc(&self, whose: Subject) -> Option<&RpcRow> {
        self.run.rpcs.get(whose.rpc()? as usize)
    }

    fn slowdown(&self, whose: Subject) -> f64 {
        let flow = self.flow(whose).and_then(FlowRow::slowdown);
        flow.or(self.rpc(whose).and_then(RpcRow::slowdown)).unwrap_or(0.0)
    }

    /// The rows of each flow or RPC, the slowest first.
    fn each<'r>(&self, rows: &[&'r WhyRow]) -> Vec<(Subject, Vec<&'r WhyRow>)> {
        let of = rows.chunk_by(|a, b| a.of == b.of);
        let mut each: Vec<_> = of.map(|rows| (rows[0].of, rows.to_vec())).collect();
        each.sort_by(|a, b| self.slowdown(b.0).total_cmp(&self.slowdown(a.0)));
        each
    }

    /// A sentence about unfinished flows, then one for each size class, or one for all.
    fn sentences(&self) -> Vec<String> {
        let (open, complete) = &self.chosen.open;
        let open = open_sentence(open, *complete, self.run.end);
        open.into_iter().chain(self.explained()).chain(self.waits()).collect()
    }

    /// Flow whose delivery, or last acknowledgement, let another begin.
    fn waited_for(&self, flow: u32) -> Option<u32> {
        let at = self.waited.binary_search_by_key(&flow, |one| one.0).ok()?;
        Some(self.waited[at].1)
    }

    /// Of one flow that is explained alone: the flows that it waited for, the last first.
    fn waits(&self) -> Vec<String> {
        let [flow] = self.chosen.wanted.flows[..] else { return Vec::new() };
        let mut sentences = Vec::new();
        let (mut flow, mut began) = (flow, None);
        while let Some(other) = self.waited_for(flow) {
            let (Some(row), Some(before)) =
                (self.flow(Subject::Flow(flow)), self.flow(Subject::Flow(other)))
            else {
                break;
            };
            began = Some(before.start);
            if sentences.len() < LONGEST_CHAIN {
                let ends =
                    format!("{} -> {}", host(self.run, before.src), host(self.run, before.dst));
                let when = match before.delivered.filter(|at| *at <= row.start) {
                    Some(at) => {
                        let later = human::micros(row.start.since(at).as_ps() as f64 / 1e6);
                        format!("it began {later} after the delivery")
                    }
                    None => "it began after one of its messages".into(),
                };
                sentences.push(format!("Flow {flow} waited for flow {other}, {ends}: {when}."));
            }
            flow = other;
        }
        if let Some(began) = began.filter(|_| sentences.len() > 1) {
            let at = human::micros(began.since(Time::ZERO).as_ps() as f64 / 1e6);
            sentences.push(format!("The first of this chain, flow {flow}, began at {at}."));
        }
        sentences
    }

    fn explained(&self) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        if !self.chosen.by_class {
            return vec![sentence(&self.chosen.name, &self.all(), self.run)];
        }
        sentences("slowest 1 %", &self.all(), self.run, self.about)
    }

    fn text(&self) -> String {
        let width = say::stdout_width();
        let wrapped: Vec<String> =
            self.sentences().iter().map(|text| human::wrapped(text, width, 0)).collect();
        let mut text = wrapped.join("\n") + "\n";
        let (open, _) = &self.chosen.open;
        if !open.is_empty() {
            text.push_str("\nunfinished flows, the longest under way for their size first\n");
            text.push_str(&open_lines(open, self.run, SLOWEST));
        }
        let rows = self.all();
        let (flows, rpcs): (Vec<&WhyRow>, Vec<&WhyRow>) =
            rows.into_iter().partition(|row| row.of.flow().is_some());
        for rows in [flows, rpcs].iter().filter(|rows| !rows.is_empty()) {
            text.push('\n');
            self.tables(&mut text, rows);
        }
        text
    }

    /// Parts by tier, ports that cost most, and the slowest of them.
    fn tables(&self, text: &mut String, rows: &[&WhyRow]) {
        let number = number_of(rows).max(1);
        let of = if rows[0].of.flow().is_some() { "FCT" } else { "latency" };
        let total = if number == 1 { of.to_owned() } else { format!("mean {of}") };
        table(self.run, text, &lines(rows.iter().copied(), PortGrouping::Tier), number, &total);
        let at_ports = rows.iter().copied().filter(|row| !row.port.is_empty());
        let ports = lines(at_ports, PortGrouping::Port);
        if ports.len() > 1 {
            text.push_str("\nports that cost most\n");
            let sum: u128 = rows.iter().map(|row| u128::from(row.span.as_ps())).sum();
            let some = ports.iter().take(ROWS).take_while(|line| line.ps * 1000 >= sum);
            some.for_each(|line| row(self.run, text, line, sum, number));
        }
        if number > 1 {
            self.slowest(text, rows);
        }
    }

    /// The slowest flows or RPCs with what they mostly waited for.
    fn slowest(&self, text: &mut String, rows: &[&WhyRow]) {
        let rpcs = rows[0].of.rpc().is_some();
        text.push_str(if rpcs { "\nslowest RPCs\n" } else { "\nslowest flows\n" });
        for (whose, rows) in self.each(rows).iter().take(SLOWEST) {
            let (ends, size) = match (self.flow(*whose), self.rpc(*whose)) {
                (Some(flow), _) => {
                    let ends =
                        format!("{} -> {}", host(self.run, flow.src), host(self.run, flow.dst));
                    (ends, human::bytes(flow.size.get()))
                }
                (None, Some(rpc)) => {
                    let of = &self.run.connections[rpc.connection as usize];
                    (ends_of(self.run, of), rpc.sizes())
                }
                (None, None) => continue,
            };
            let lines = lines(rows.iter().copied(), PortGrouping::Port);
            let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
            let mostly = lines.first().map_or_else(String::new, |line| {
                let share = human::percent(line.ps as f64 / sum as f64);
                format!("{share} {} {}", line.part.words(), line.place)
            });
            let size = if rpcs { format!("{size:>20}") } else { format!("{size:>10}") };
            let _ = writeln!(
                text,
                "{:>8}  {ends:<38}{size}{:>12}{:>8}x  {}",
                whose.number(),
                mean(sum, 1),
                human::sig3(self.slowdown(*whose)),
                mostly.trim_end()
            );
        }
    }

    fn json(&self) -> Value {
        let parts = |rows: &[&WhyRow]| -> Vec<Value> {
            lines(rows.iter().copied(), PortGrouping::Port).iter().map(line_as_json).collect()
        };
        let (mut flows, mut rpcs) = (Vec::new(), Vec::new());
        let rows = self.all();
        for (whose, rows) in self.each(&rows) {
            if let Some(flow) = self.flow(whose) {
                flows.push(json!({
                    "flow": flow.flow,
                    "from": self.run.hosts.get(flow.src as usize),
                    "to": self.run.hosts.get(flow.dst as usize),
                    "size_bytes": flow.size.get(),
                    "fct_ps": flow.fct().map(Span::as_ps),
                    "ideal_fct_ps": flow.ideal.as_ps(),
                    "waited_for": self.waited_for(flow.flow),
                    "parts": parts(&rows),
                }));
            } else if let Some(rpc) = self.rpc(whose) {
                let of = &self.run.connections[rpc.connection as usize];
                rpcs.push(json!({
                    "rpc": whose.number(),
                    "client": self.run.hosts.get(of.client as usize),
                    "server": self.run.hosts.get(of.server as usize),
                    "request_bytes": rpc.request.get(),
                    "response_bytes": rpc.response.get(),
                    "latency_ps": rpc.latency().map(Span::as_ps),
                    "ideal_ps": rpc.ideal.as_ps(),
                    "parts": parts(&rows),
                }));
            }
        }
        json!({
            "sentence": self.sentences().join(" "),
            "flows_of": self.chosen.name,
            "seed": self.run.seed,
            "parts": parts(&rows),
            "flows": flows,
            "rpcs": rpcs,
            "unfinished": self.chosen.open.0.iter().map(|one| self.open(one)).collect::<Vec<_>>(),
        })
    }

    fn open(&self, one: &OpenFlow<'_>) -> Value {
        json!({
            "flow": one.flow.flow,
            "from": self.run.hosts.get(one.flow.src as usize),
            "to": self.run.hosts.get(one.flow.dst as usize),
            "size_bytes": one.flow.size.get(),
            "received_bytes": one.row.received.get(),
            "age_ps": one.age.as_ps(),
            "ideal_fct_ps": one.flow.ideal.as_ps(),
            "waits_for": one.row.waits_for.key(),
        })
    }
}

/// A row for each line, and their sum, called `total`.
fn table(run: &RunRecord, text: &mut String, lines: &[Line], count: usize, total: &str) {
    let sum = lines.iter().map(|line| line.ps).sum::<u128>().max(1);
    lines.iter().for_each(|line| row(run, text, line, sum, count));
    let _ = writeln!(text, "{total:<38}{:<30}{:>10}{:>10}", "", mean(sum, count), "100 %");
}

fn row(run: &RunRecord, text: &mut String, line: &Line, sum: u128, count: usize) {
    let share = human::percent(line.ps as f64 / sum.max(1) as f64);
    let (part, at, mean) = (line.part.words(), &line.place, mean(line.ps, count));
    let row = format!("{part:<38}{at:<30}{mean:>10}{share:>10}  {}", line.behind(run));
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
