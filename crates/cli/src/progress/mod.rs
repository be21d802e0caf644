//! Progress: a bar for people, JSON lines for machines that ask for them, a line at the start and one at the end for logs,
//! nothing for nobody.
//!
//! How far a run is, is told by virtual time and by flows completed; the further of the two is the bar where
//! finished flows end the run. The pace of the last while, not of the whole, gives the time left.

mod bar;
mod pace;

use crate::args::{Progress, Show};
use crate::{clock, human, say};
use pace::Pace;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How far the work is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Title.
    pub name: String,
    /// What is counted besides time and flows: `seeds`, `points`.
    pub parts: &'static str,
    /// How many of them are done, and are to be done.
    pub parts_done: usize,
    pub parts_all: usize,
    /// Virtual time simulated and to be simulated, in ps, over all seeds.
    pub simulated_ps: u128,
    pub to_simulate_ps: u128,
    /// Flows completed; and to be completed, if that is known.
    pub flows_done: u64,
    pub flows_all: Option<u64>,
    /// Whether `flows_all` is what is to be expected rather than what will be.
    pub flows_expected: bool,
    /// Whether the work ends when all flows are done.
    pub flows_end_it: bool,
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Share of the work that is done, where whoever counts knows it better than time and flows do.
    pub work: Option<f64>,
    /// Whether a signal has asked for the end.
    pub stopping: bool,
}

impl State {
    /// Share of the virtual time that has passed.
    pub fn time_fraction(&self) -> f64 {
        share(self.simulated_ps as f64, self.to_simulate_ps as f64)
    }

    /// Share of the flows that are done.
    pub fn flow_fraction(&self) -> Option<f64> {
        self.flows_all.filter(|all| *all > 0).map(|all| share(self.flows_done as f64, all as f64))
    }

    /// Share of the work that is done: of the parts, where they are all that is known.
    pub fn fraction(&self) -> f64 {
        if let Some(work) = self.work {
            return work.clamp(0.0, 1.0);
        }
        if self.to_simulate_ps == 0 {
            return share(self.parts_done as f64, self.parts_all as f64);
        }
        let flows = self.flow_fraction().filter(|_| self.flows_end_it && !self.flows_expected);
        self.time_fraction().max(flows.unwrap_or(0.0))
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Bar,
    Lines,
    Ends,
    Off,
}

/// Whoever shows progress.
pub struct Meter {
    mode: Mode,
    started: Instant,
    shown: Option<Instant>,
    pace: Pace,
    colour: bool,
    unicode: bool,
}

/// A terminal is drawn this often.
const FRAME: Duration = Duration::from_millis(100);

impl Meter {
    /// Chooses the form, and makes warnings go out in it.
    pub fn new(show: Show) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let mode = match show.progress {
            _ if show.quiet => Mode::Off,
            Progress::Auto if terminal && !say::dumb_terminal() => Mode::Bar,
            Progress::Auto => Mode::Ends,
            Progress::Jsonl => Mode::Lines,
            Progress::Bar => Mode::Bar,
            Progress::Off => Mode::Off,
        };
        say::AS_JSON.store(mode == Mode::Lines, Ordering::Relaxed);
        Self {
            mode,
            started: clock::now(),
            shown: None,
            pace: Pace::default(),
            colour: say::stderr_colour(),
            unicode: bar::unicode_wanted(),
        }
    }

    /// Since the meter began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// A line for machines only.
    pub fn event(&self, event: &str, facts: &Value) {
        if self.mode == Mode::Lines {
            // By hand, so that the kind of event comes first.
            let facts = facts.to_string();
            let rest = facts.strip_prefix('{').unwrap_or("}");
            let elapsed = rounded(self.elapsed().as_secs_f64());
            say::line(&format!("{{\"event\":\"{event}\",\"elapsed_s\":{elapsed},{rest}"));
        }
    }

    /// A line at the start or the end, for logs.
    pub fn sentence(&self, text: &str) {
        if self.mode == Mode::Ends {
            say::line(text);
        }
    }

    /// Shows where the work is, if it is time to.
    pub fn tick(&mut self, state: &State) {
        let elapsed = self.elapsed();
        let since = self.shown.map(|shown| shown.elapsed());
        let due = match self.mode {
            Mode::Ends | Mode::Off => false,
            Mode::Bar => since.is_none_or(|since| since >= FRAME),
            Mode::Lines => since.unwrap_or(elapsed) >= pause(elapsed),
        };
        if !due {
            return;
        }
        self.shown = Some(clock::now());
        self.pace.add(elapsed.as_secs_f64(), state.fraction(), state.packet_hops as f64);
        match self.mode {
            Mode::Bar => {
                let width = say::stderr_width();
                let line = bar::line(state, &self.pace, width, self.unicode, self.colour);
                let _ = write!(std::io::stderr().lock(), "\r{line}\x1b[K");
                say::BAR_STANDS.store(true, Ordering::Relaxed);
            }
            Mode::Lines => self.event("progress", &facts(state, &self.pace)),
            Mode::Ends | Mode::Off => {}
        }
    }

    /// Clears the bar.
    pub fn clear(&self) {
        if say::BAR_STANDS.swap(false, Ordering::Relaxed) {
            let _ = std::io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}

/// Between two JSON lines: a second at first, 2 % of the time gone later, a minute at most.
fn pause(elapsed: Duration) -> Duration {
    (elapsed / 50).clamp(Duration::from_secs(1), Duration::from_secs(60))
}

fn facts(state: &State, pace: &Pace) -> Value {
    if state.to_simulate_ps == 0 {
        return json!({
            "fraction": rounded(state.fraction()),
            format!("{}_done", state.parts): state.parts_done,
            state.parts: state.parts_all,
            "eta_s": pace.seconds_left(state.fraction()).map(rounded),
        });
    }
    let micros = |ps: u128| rounded(ps as f64 / 1e6);
    json!({
        "fraction": rounded(state.fraction()),
        "time_fraction": rounded(state.time_fraction()),
        "simulated_us": micros(state.simulated_ps),
        "of_us": micros(state.to_simulate_ps),
        "flows_completed": state.flows_done,
        "flows": state.flows_all,
        "flows_is_forecast": state.flows_expected,
        format!("{}_done", state.parts): state.parts_done,
        state.parts: state.parts_all,
        "packet_hops": state.packet_hops,
        "packet_hops_per_s": pace.hops_per_s().map(f64::round),
        "eta_s": pace.seconds_left(state.fraction()).map(rounded),
    })
}

/// Six digits after the point are enough for a machine too.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// `4 s left`, or that it is too early to say.
fn time_left(state: &State, pace: &Pace) -> String {
    match pace.seconds_left(state.fraction()) {
        _ if state.stopping => "stopping".into(),
        _ if state.fraction() == 0.0 => "laying out".into(),
        Some(seconds) => format!("{} left", human::duration(seconds)),
        None => "estimating".into(),
    }
}
