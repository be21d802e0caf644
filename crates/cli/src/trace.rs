//! `forebay trace`: one packet, hop by hop.

use crate::args::Trace as Args;
use crate::failure::Failure;
use crate::say;
use forebay_record::FlowRow;
use forebay_record::why::{Hop, Log, Trace, Trip, packets, trace as follow};
use forebay_sim::{Options, Outcome, Outputs, Simulation, Watch};
use forebay_units::{Span, Time, human};
use serde_json::{Value, json};
use std::fmt::Write;

/// The verb.
pub fn trace(args: &Args) -> Result<(), Failure> {
    // The folder of a run stands for the scenario in it, as for the other verbs that look into runs.
    let mut input = args.input.clone();
    let resolved = input.file.as_deref().map(|file| file.join("resolved.toml"));
    if let Some(resolved) = resolved.filter(|resolved| resolved.is_file()) {
        input.file = Some(resolved);
    }
    let mut loaded = input.load()?;
    loaded.notes.iter().for_each(|note| say::note(note));
    let scenario = &mut loaded.scenario;
    scenario.output.captures.clear();
    scenario.output.law_log = None;
    let seed = args.seed.or(scenario.seeds.first().copied()).unwrap_or(1);
    let flows = [args.flow];
    let outputs = Outputs { follow: Some(&flows), details: true, ..Outputs::default() };
    let refused =
        |error: forebay_sim::SimError| Failure::Input(format!("{}: {error}", args.input.name()));
    let mut simulation =
        Simulation::with_outputs(scenario, seed, Options::default(), outputs).map_err(refused)?;
    simulation.advance(Time::MAX, &Watch::default());
    let Outcome { record, followed, .. } = simulation.finish().checked().map_err(refused)?;
    let log = followed.unwrap_or_default();
    let Some(flow) = record.flows.iter().find(|row| row.flow == args.flow) else {
        return Err(no_flow(args.flow, &record.flows));
    };
    let Some(found) = follow(&log, flow.flow, flow.src, args.packet) else {
        return Err(no_packet(args, packets(&log, flow.flow, flow.src), record.end));
    };
    let of = TraceAnswer { args, log: &log, flow, trace: &found };
    match args.json {
        true => say::json(&of.json(seed)),
        false => say::data(&of.text()),
    }
}

fn no_flow(flow: u32, rows: &[FlowRow]) -> Failure {
    let known = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) if rows.len() > 1 => {
            format!(
                "this run has {}, {} to {}",
                human::counted(rows.len(), "flow"),
                first.flow,
                last.flow
            )
        }
        (Some(only), _) => format!("this run has only flow {}", only.flow),
        (None, _) => "this run has no flows; messages of RPCs cannot be traced".into(),
    };
    Failure::Input(format!("--flow {flow}: there is no such flow; {known}"))
}

fn no_packet(args: &Args, sent: usize, end: Time) -> Failure {
    let sent = match sent {
        0 => format!("had sent nothing when the run ended at {}", micros(end.since(Time::ZERO))),
        1 => "sent only packet 1".into(),
        sent => format!("sent {sent} packets, 1 to {sent}"),
    };
    Failure::Input(format!(
        "--packet {}: there is no such packet; flow {} {sent}",
        args.packet, args.flow
    ))
}

/// An answer.
struct TraceAnswer<'a> {
    args: &'a Args,
    log: &'a Log,
    flow: &'a FlowRow,
    trace: &'a Trace,
}

impl TraceAnswer<'_> {
    fn name(&self, node: u32) -> &str {
        self.log.names.get(node as usize).map_or("?", String::as_str)
    }

    /// The port at the begin of a link.
    fn port(&self, link: u32) -> String {
        let of = self.log.links[link as usize];
        format!("{} -> {}", self.name(of.from), self.name(of.to))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let size = human::bytes(self.flow.size.get());
        let flow = format!(
            "flow {}, {size} from {} to {}",
            self.flow.flow,
            self.name(self.flow.src),
            self.name(self.flow.dst)
        );
        let _ = writeln!(
            text,
            "packet {} of {flow}; its first byte is {}",
            self.args.packet, self.trace.seq
        );
        let copies = self.trace.copies.len();
        for (nth, trip) in (1..).zip(&self.trace.copies) {
            let of = if copies > 1 { format!("copy {nth} of {copies}, ") } else { String::new() };
            let first = trip.hops[0].left.map_or(0, |left| left.size);
            let _ = writeln!(text, "\n{of}{first} B; times in us");
            let _ = writeln!(
                text,
                "{:<34}{:>16}{:>12}{:>12}{:>16}{:>16}",
                "port", "arrived", "queue", "waited", "sent from", "until"
            );
            trip.hops.iter().for_each(|hop| self.hop(&mut text, hop));
            self.end(&mut text, trip);
        }
        text
    }

    fn hop(&self, text: &mut String, hop: &Hop) {
        let place = hop.link.map_or_else(|| self.name(hop.node).to_owned(), |link| self.port(link));
        let time = |at: Option<Time>| at.map_or("-".into(), |at| micros(at.since(Time::ZERO)));
        let queue = hop.found.map_or("-".into(), human::bytes);
        let waited = hop.waited().map_or("-".into(), micros);
        let (from, until) =
            (time(hop.left.map(|left| left.start())), time(hop.left.map(|left| left.end)));
        let what = Self::what(hop).map_or_else(String::new, |what| format!("  {what}"));
        let _ = writeln!(
            text,
            "{place:<34}{:>16}{queue:>12}{waited:>12}{from:>16}{until:>16}{what}",
            time(hop.came)
        );
    }

    /// What a node did to the packet.
    fn what(hop: &Hop) -> Option<&'static str> {
        match hop {
            Hop { dropped: true, .. } => Some("dropped"),
            Hop { trimmed: true, .. } => Some("trimmed"),
            Hop { marked: true, .. } => Some("marked"),
            _ => None,
        }
    }

    fn end(&self, text: &mut String, trip: &Trip) {
        let last = trip.hops.last();
        let said = match (trip.arrived, last.and_then(|hop| hop.left)) {
            (Some((node, at)), _) => {
                let first = trip.hops[0].left.map_or(at, |left| left.start());
                let waited: Span = trip.hops.iter().filter_map(Hop::waited).sum();
                format!(
                    "reached {} at {}, {} after transmission began; {} of that in queues",
                    self.name(node),
                    micros(at.since(Time::ZERO)),
                    micros(at.since(first)),
                    micros(waited)
                )
            }
            (None, Some(left)) => {
                format!(
                    "lost on the link {}, or in flight when the run ended",
                    self.port(left.link)
                )
            }
            (None, None) if last.is_some_and(|hop| hop.dropped) => {
                format!("dropped by {}", last.map_or("?", |hop| self.name(hop.node)))
            }
            (None, None) => "still queued when the run ended".into(),
        };
        let _ = writeln!(text, "{said}");
    }

    fn json(&self, seed: u64) -> Value {
        let ps = |at: Option<Time>| at.map(Time::as_ps);
        let hop = |hop: &Hop| {
            json!({
                "node": self.name(hop.node),
                "port": hop.link.map(|link| self.port(link)),
                "came_ps": ps(hop.came),
                "queue_bytes": hop.found,
                "waited_ps": hop.waited().map(Span::as_ps),
                "sent_from_ps": ps(hop.left.map(|left| left.start())),
                "sent_until_ps": ps(hop.left.map(|left| left.end)),
                "marked": hop.marked,
                "trimmed": hop.trimmed,
                "dropped": hop.dropped,
            })
        };
        let trip = |trip: &Trip| {
            json!({
                "size_bytes": trip.hops[0].left.map(|left| left.size),
                "hops": trip.hops.iter().map(hop).collect::<Vec<_>>(),
                "to": trip.arrived.map(|(node, _)| self.name(node)),
                "arrived_ps": trip.arrived.map(|(_, at)| at.as_ps()),
            })
        };
        json!({
            "seed": seed,
            "flow": self.flow.flow,
            "from": self.name(self.flow.src),
            "to": self.name(self.flow.dst),
            "packet": self.args.packet,
            "first_byte": self.trace.seq,
            "copies": self.trace.copies.iter().map(trip).collect::<Vec<_>>(),
        })
    }
}

/// Exactly.
fn micros(span: Span) -> String {
    format!("{}.{:06}", span.as_ps() / 1_000_000, span.as_ps() % 1_000_000)
}
