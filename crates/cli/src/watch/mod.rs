//! `forebay watch`: a run as it goes, on a terminal as a view of it all, elsewhere as a line for each step. Of a scenario it is a run of
//! its own; of a run that is at work, what that says of itself (`attach`).
//!
//! Looking changes nothing: the run ends with the digest that `forebay run` gives it.

mod attach;
mod view;

use crate::args::Watch as Args;
use crate::failure::Failure;
use crate::{clock, interrupt, say};
use forebay_record::hex;
use forebay_scenario::model::Scenario;
use forebay_sim::{Interval, IntervalBaseline, Options, Simulation, Watch};
use forebay_units::{Span, Time, human};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde_json::json;
use std::io::IsTerminal;
use std::time::Duration;
use view::View;

/// Pictures a second.
const RATE: u64 = 10;
/// Seconds that a run takes to watch at the pace it starts with, if the simulator keeps up.
const SECONDS: u64 = 30;
/// Lines of a run that has no terminal, unless `--every` says otherwise.
const LINES: u64 = 20;

/// Most lines of a run. Beyond that a table (`output.queues`) serves better.
const MOST_LINES: u64 = 1_000_000;

/// The verb.
pub fn watch(args: &Args) -> Result<(), Failure> {
    if let Some(run) = args.input.file.as_deref().and_then(attach::run_of) {
        return attach::attach(&run, args);
    }
    if let Some(sweep) = args.input.file.as_deref().filter(|file| file.join("sweep.json").is_file())
    {
        return Err(Failure::Input(format!(
            "{} is a sweep, and watch looks at one run; the sweep itself shows how far it is",
            sweep.display()
        )));
    }
    let mut loaded = args.input.load()?;
    loaded.notes.iter().for_each(|note| say::note(note));
    let scenario = &mut loaded.scenario;
    let seed = args.seed.or(scenario.seeds.first().copied()).unwrap_or(1);
    scenario.output.captures.clear();
    scenario.output.law_log = None;
    let options = Options { threads: args.threads, ..Options::default() };
    let refused =
        |error: forebay_sim::SimError| Failure::Input(format!("{}: {error}", args.input.name()));
    let simulation = Simulation::new(scenario, seed, options).map_err(refused)?;
    let mut seen =
        WatchedRun { simulation, looks: IntervalBaseline::default(), watch: Watch::default() };
    let shown = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !shown || say::dumb_terminal() || args.json || args.every.is_some() {
        let every = args.every.unwrap_or(part(scenario.stop.time, LINES));
        let all = scenario.stop.time.as_ps() / every.as_ps().max(1);
        if all > MOST_LINES {
            return Err(Failure::Input(format!(
                "--every {every} would print {} lines until stop.time = {}; write {} or more",
                human::count(all),
                scenario.stop.time,
                part(scenario.stop.time, MOST_LINES)
            )));
        }
        return lines(args.json, scenario, seed, seen, every);
    }
    let nodes = seen.simulation.names().to_vec();
    let pace = args.pace.unwrap_or(part(scenario.stop.time, SECONDS));
    let mut view = View::new(scenario.name.clone(), seed, scenario.stop.time, nodes, pace);
    view.colours = say::stdout_colour();
    let failed = |error: std::io::Error| Failure::io("draw on this terminal", &error);
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let end = on_terminal(&mut terminal, &mut view, &mut seen);
    ratatui::restore();
    if end.map_err(failed)? {
        return say::data(&format!("{}\n", seen.end().said(&scenario.name, seed)));
    }
    say::note(&left(seen.simulation.now(), scenario));
    Ok(())
}

/// One of so many parts of a run.
fn part(of: Time, parts: u64) -> Span {
    Span::from_ps((of.as_ps() / parts).max(1))
}

fn time(at: Time) -> String {
    human::micros(at.as_ps() as f64 / 1e6)
}

/// Message to a user who leaves early.
fn left(at: Time, scenario: &Scenario) -> String {
    format!(
        "stopped at {} of {}; watch writes no results, forebay run does",
        time(at),
        time(scenario.stop.time)
    )
}

/// A simulation, and what was seen of it last.
struct WatchedRun<'a> {
    simulation: Simulation<'a>,
    looks: IntervalBaseline,
    watch: Watch,
}

impl WatchedRun<'_> {
    /// Goes on by a step. Whether the run is over, and what the step brought.
    fn step(&mut self, by: Span) -> (bool, Interval) {
        let until = self.simulation.now() + by;
        let over = self.simulation.advance(until, &self.watch);
        (over, self.looks.look(&self.simulation.inspect()))
    }

    fn end(self) -> End {
        let outcome = self.simulation.finish();
        let flows = &outcome.record.flows;
        let done = flows.iter().filter(|flow| flow.fct().is_some()).count();
        let digest = outcome.record.digest;
        End { at: outcome.record.end, flows: flows.len(), done, digest, stall: outcome.stall }
    }
}

/// What a run came to.
struct End {
    at: Time,
    flows: usize,
    done: usize,
    digest: u64,
    stall: Option<String>,
}

impl End {
    fn said(&self, name: &str, seed: u64) -> String {
        let stall =
            self.stall.as_ref().map_or_else(String::new, |why| format!("; it stalled: {why}"));
        format!(
            "{name}, seed {seed}: ended at {}, {} of {} complete, digest {}{stall}",
            time(self.at),
            self.done,
            human::counted(self.flows, "flow"),
            hex(self.digest)
        )
    }
}

/// Shows the view until the user ends it. True if the run was over by then.
fn on_terminal(
    terminal: &mut ratatui::DefaultTerminal,
    view: &mut View,
    seen: &mut WatchedRun<'_>,
) -> std::io::Result<bool> {
    let frame = Duration::from_millis(1000 / RATE);
    let mut due = clock::now();
    let (mut over, mut single) = (false, false);
    loop {
        if !over && (!view.paused || std::mem::take(&mut single)) {
            let (ended, interval) = seen.step(Span::from_ps((view.pace.as_ps() / RATE).max(1)));
            view.add(interval);
            over = ended;
            view.over = over.then(|| format!("over at {}", time(seen.simulation.now())));
        }
        terminal.draw(|frame| view.draw(frame))?;
        due = (due + frame).max(clock::now());
        while event::poll(due.saturating_duration_since(clock::now()))? {
            match event::read()? {
                Event::Key(key) if ends(key.code, key.modifiers) => return Ok(over),
                Event::Key(key) => match key.code {
                    KeyCode::Char(' ') => view.paused = !view.paused,
                    KeyCode::Char('.') | KeyCode::Right => (view.paused, single) = (true, true),
                    KeyCode::Char('+' | '=') => view.pace = view.pace * 2,
                    KeyCode::Char('-') => {
                        view.pace = Span::from_ps((view.pace.as_ps() / 2).max(RATE))
                    }
                    _ => {}
                },
                Event::Resize(..) => _ = terminal.draw(|frame| view.draw(frame))?,
                _ => {}
            }
        }
    }
}

/// Whether a key ends the view.
fn ends(key: KeyCode, with: KeyModifiers) -> bool {
    matches!(key, KeyCode::Char('q') | KeyCode::Esc)
        || (key == KeyCode::Char('c') && with.contains(KeyModifiers::CONTROL))
}

/// A line for each step.
fn lines(
    as_json: bool,
    scenario: &Scenario,
    seed: u64,
    mut seen: WatchedRun<'_>,
    every: Span,
) -> Result<(), Failure> {
    let names = seen.simulation.names().to_vec();
    interrupt::listen();
    for line in 0u64.. {
        let (over, interval) = seen.step(every);
        let deepest = interval.ports.iter().max_by_key(|port| port.queue);
        let place = deepest.filter(|port| port.queue > 0).map_or_else(String::new, |port| {
            let (from, to) = port.ends;
            format!("{}->{}", names[from as usize], names[to as usize])
        });
        let queue = deepest.map_or(0, |port| port.queue);
        if as_json {
            let found = json!({
                "time_us": interval.at.as_ps() as f64 / 1e6,
                "delivered_gbps": interval.delivered_gbps,
                "flows": interval.flows.len(),
                "marked": interval.marked,
                "dropped": interval.dropped,
                "pauses": interval.pauses,
                "deepest_queue_bytes": queue,
                "deepest_queue": place,
            });
            say::data(&format!("{found}\n"))?;
        } else {
            if line % 20 == 0 {
                say::data(&format!(
                    "{:>10}{:>13}{:>7}{:>9}{:>9}{:>8}  {:>9} deepest queue\n",
                    "time", "delivered", "flows", "marked", "dropped", "pauses", ""
                ))?;
            }
            say::data(&format!(
                "{:>10}{:>13}{:>7}{:>9}{:>9}{:>8}  {:>9} {place}\n",
                time(interval.at),
                human::gbps(interval.delivered_gbps),
                interval.flows.len(),
                human::count(interval.marked),
                human::count(interval.dropped),
                human::count(interval.pauses),
                human::bytes(queue),
            ))?;
        }
        if over {
            break;
        }
        if interrupt::requested() {
            return Err(Failure::Interrupted(left(interval.at, scenario)));
        }
    }
    let end = seen.end();
    if as_json {
        let end = json!({
            "digest": hex(end.digest), "end_us": end.at.as_ps() as f64 / 1e6,
            "flows": end.flows, "complete": end.done, "stall": end.stall,
        });
        return say::data(&format!("{end}\n"));
    }
    say::data(&format!("{}\n", end.said(&scenario.name, seed)))
}
