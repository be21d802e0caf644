//! The critical path of a collective: its parts, and the ports, hosts and messages that cost most.

use super::{ROWS, failed, host, line_as_json, mean, row, table};
use crate::args::WhyArgs;
use crate::failure::Failure;
use crate::say;
use forebay_record::why::{Line, Part, PathHop, PortGrouping, RateCut, lines};
use forebay_record::{CollectiveRow, RunRecord, RunStart, StepKind};
use forebay_scenario::model::Scenario;
use forebay_sim::Options;
use forebay_study::why::{CriticalPath, of_collective};
use forebay_units::{Span, human};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Hosts and messages in lists.
const MOST: usize = 8;

/// Explains a collective that is asked for, or the slowest.
pub(super) fn explain(
    args: &WhyArgs,
    about: &RunStart,
    scenario: &Scenario,
    run: &RunRecord,
) -> Result<(), Failure> {
    let (number, of) = choose(args, about, run)?;
    say::note(&format!("running seed {} again, and following all messages", run.seed));
    let answer = of_collective(scenario, run, of, Options::default(), &|| false);
    let answer = answer.map_err(|no| failed(&no, args, run))?;
    let of =
        CollectiveAnswer { number, of, name: about.traffic_name(of.traffic), run, answer: &answer };
    match args.json {
        true => say::json(&of.json()),
        false => say::data(&of.text()),
    }
}

fn choose<'a>(
    args: &WhyArgs,
    about: &RunStart,
    run: &'a RunRecord,
) -> Result<(usize, &'a CollectiveRow), Failure> {
    let all = &run.collectives;
    let Some(number) = args.collective else {
        let over = |(_, row): &(usize, &CollectiveRow)| row.end.is_some();
        let all = || all.iter().enumerate().filter(over);
        let warm = all().filter(|(_, row)| row.start >= about.warmup);
        // Of several the first.
        let slowest = warm.rev().max_by_key(|(_, row)| row.completion());
        return slowest.or_else(|| all().next()).ok_or_else(|| {
            let first = run.collectives.first().map_or(String::new(), |row| {
                format!(" ({} of {} ranks had all of their data in the first)", row.done, row.ranks)
            });
            Failure::Input(format!("no collective had ended when the run did{first}"))
        });
    };
    let wrong = |text: String| Failure::Input(format!("--collective {number}: {text}"));
    let Some(row) = all.get(number as usize) else {
        return Err(wrong(match all.len() {
            0 => "this run has no collectives; --flow explains a flow".into(),
            1 => "there is no such collective; this run has collective 0 alone".into(),
            n => format!("there is no such collective; this run has {n}, 0 to {}", n - 1),
        }));
    };
    match row.end {
        Some(_) => Ok((number as usize, row)),
        None => Err(wrong(format!(
            "it had not ended when the run did: {} of {} ranks had all of their data",
            row.done, row.ranks
        ))),
    }
}

/// An answer.
struct CollectiveAnswer<'a> {
    number: usize,
    of: &'a CollectiveRow,
    name: String,
    run: &'a RunRecord,
    answer: &'a CriticalPath,
}

impl CollectiveAnswer<'_> {
    fn lines(&self, by: PortGrouping) -> Vec<Line> {
        lines(&self.answer.rows, by)
    }

    fn hops(&self) -> impl Iterator<Item = &PathHop> {
        self.answer.path.hops.iter()
    }

    fn sum(&self) -> u128 {
        self.answer.rows.iter().map(|row| u128::from(row.span.as_ps())).sum()
    }

    fn sentence(&self) -> String {
        let messages = self.hops().filter(|hop| hop.flow.is_some()).count();
        let hosts: BTreeSet<u32> = self.hops().map(|hop| hop.host).collect();
        let sum = self.sum().max(1);
        let share = |ps: u128| human::percent(ps as f64 / sum as f64);
        let word = |line: &Line| {
            let at = line.at();
            let at = if at.is_empty() { at } else { format!(" at {at}") };
            format!("{} {}{at}", share(line.ps), line.part.words())
        };
        let cause = |line: &Line| match line.part {
            Part::Pacing => self.cause(line.ps),
            _ => String::new(),
        };
        let said = |line: &Line| word(line) + &cause(line);
        let most: Vec<String> = self.lines(PortGrouping::Tier).iter().take(3).map(said).collect();
        let last = self.of.last.map_or("?", |last| host(self.run, last));
        format!(
            "Collective {} ({}) took {}. Its critical path ends at {last} and has {} over {}: {}.",
            self.number,
            self.name,
            mean(sum, 1),
            human::counted(messages, "message"),
            human::counted(hosts.len(), "rank"),
            most.join(", ")
        )
    }

    /// The marker that made senders pace, if at least 90 % of `pacing` (ps) follows its marks.
    fn cause(&self, pacing: u128) -> String {
        let cuts = &self.answer.path.cuts;
        let of = |cut: &RateCut| u128::from(cut.span.as_ps());
        let Some(most) = cuts.first().filter(|cut| of(cut) * 10 >= pacing * 9) else {
            return String::new();
        };
        let by = most.by.replace("->", " -> ");
        match self.paused(most) {
            Some(share) if share >= 0.001 => {
                format!(" (marks of {by}, which is paused {} of the time)", human::percent(share))
            }
            _ => format!(" (marks of {by})"),
        }
    }

    /// Share of the completion time for which the port of a marker was paused.
    fn paused(&self, cut: &RateCut) -> Option<f64> {
        Some(cut.paused?.as_ps() as f64 / self.of.completion()?.as_ps().max(1) as f64)
    }

    fn text(&self) -> String {
        let mut text = human::wrapped(&self.sentence(), say::stdout_width(), 0) + "\n\n";
        table(self.run, &mut text, &self.lines(PortGrouping::Tier), 1, "completion time");
        let sum = self.sum();
        let ports: Vec<Line> = self
            .lines(PortGrouping::Port)
            .into_iter()
            .filter(|line| !line.place.is_empty() && line.ps * 1000 >= sum)
            .collect();
        if !ports.is_empty() {
            text.push_str("\nports that cost most\n");
            ports.iter().take(ROWS).for_each(|line| row(self.run, &mut text, line, sum, 1));
        }
        let cuts = &self.answer.path.cuts;
        if !cuts.is_empty() {
            text.push_str("\npacing after marks of\n");
            for cut in cuts.iter().take(MOST) {
                let ps = u128::from(cut.span.as_ps());
                let by = cut.by.replace("->", " -> ");
                let paused = self.paused(cut).filter(|share| *share >= 0.001);
                let paused = paused.map_or_else(String::new, |share| {
                    format!("paused {} of the time", human::percent(share))
                });
                let share = human::percent(ps as f64 / sum.max(1) as f64);
                let _ = writeln!(text, "{by:<38}{paused:<30}{:>10}{share:>10}", mean(ps, 1));
            }
        }
        let hosts = self.answer.path.hosts();
        if !hosts.is_empty() {
            text.push_str("\nhosts that cost most\n");
            for (at, span) in hosts.iter().take(MOST) {
                let ps = u128::from(span.as_ps());
                let share = human::percent(ps as f64 / sum.max(1) as f64);
                let _ = writeln!(text, "{:<68}{:>10}{share:>10}", host(self.run, *at), mean(ps, 1));
            }
        }
        text.push_str("\nlongest operations on the path\n");
        let mut hops: Vec<&PathHop> = self.hops().collect();
        hops.sort_by_key(|hop| std::cmp::Reverse(hop.to.since(hop.from))); // stable
        for hop in hops.iter().take(MOST) {
            let took = mean(u128::from(hop.to.since(hop.from).as_ps()), 1);
            let at = human::micros(hop.from.since(self.of.start).as_ps() as f64 / 1e6);
            let size = if hop.flow.is_some() { human::bytes(hop.bytes) } else { String::new() };
            let _ = writeln!(text, "{:<58}{size:>10}{took:>10}  from {at} on", self.what(hop));
        }
        text
    }

    /// What an operation was.
    fn what(&self, hop: &PathHop) -> String {
        let at = host(self.run, hop.host);
        let flow = hop.flow.and_then(|flow| {
            let found = self.run.flows.binary_search_by_key(&flow, |row| row.flow).ok()?;
            Some(&self.run.flows[found])
        });
        match (hop.kind, flow) {
            (StepKind::Recv, Some(flow)) => format!("{} -> {at}", host(self.run, flow.src)),
            (StepKind::Send, Some(flow)) => {
                format!("{at} -> {} and its acknowledgement", host(self.run, flow.dst))
            }
            (StepKind::Signal, _) => format!("notice of a posted buffer to {at}"),
            _ => format!("computation at {at}"),
        }
    }

    fn json(&self) -> Value {
        let ps = |span: Span| span.as_ps();
        let hops: Vec<Value> = self
            .hops()
            .map(|hop| {
                json!({
                    "operation": hop.kind.word(),
                    "rank": self.run.hosts.get(hop.host as usize),
                    "flow": hop.flow,
                    "size_bytes": hop.bytes,
                    "begun_ps": hop.from.as_ps(),
                    "over_ps": hop.to.as_ps(),
                })
            })
            .collect();
        let cuts = self.answer.path.cuts.iter();
        let cuts: Vec<Value> = cuts
            .map(|cut| {
                let paused = cut.paused.map(ps);
                json!({ "marked_by": cut.by, "part_ps": ps(cut.span), "paused_ps": paused })
            })
            .collect();
        let hosts: Vec<Value> = self
            .answer
            .path
            .hosts()
            .iter()
            .map(|(at, span)| json!({ "host": host(self.run, *at), "part_ps": ps(*span) }))
            .collect();
        json!({
            "sentence": self.sentence(),
            "collective": self.number,
            "seed": self.run.seed,
            "completion_ps": self.of.completion().map(ps),
            "parts": self.lines(PortGrouping::Port).iter().map(line_as_json).collect::<Vec<_>>(),
            "hosts": hosts,
            "pacing_after_marks": cuts,
            "path": hops,
        })
    }
}
