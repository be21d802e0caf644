//! Progress: a bar for people, JSON lines for machines that ask for them, a line at the start and one at the end for logs,
//! otherwise nothing.
//! `study` knows how far the work is.

mod bar;
mod notice;

pub use notice::Notice;

use crate::args::{Progress, Verbosity};
use crate::{clock, human, say};
use forebay_study::progress::{Pace, State, facts, rounded};
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Bar,
    Lines,
    Ends,
    Off,
}

/// Shows progress.
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
    pub fn new(show: Verbosity) -> Self {
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

/// `4 s left`, or that it is too early to say.
fn time_left(state: &State, pace: &Pace) -> String {
    match pace.seconds_left(state.fraction()) {
        _ if state.stopping => "stopping".into(),
        _ if state.fraction() == 0.0 => "laying out".into(),
        Some(seconds) => format!("{} left", human::duration(seconds)),
        None => "estimating".into(),
    }
}
