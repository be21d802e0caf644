//! `forebay-agent watch`: what came in, what was lost and where: on a terminal as a view of it all, elsewhere as a line for each period.

mod view;

use crate::args;
use crate::failure::{self, Failure};
use crate::law::settings;
use crate::metrics;
use crate::probe::{described, root};
use forebay_laws::Acts;
use forebay_linux::Clock;
use forebay_linux::counters::{Counters, Value};
use forebay_units::Time;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde_json::{Map, Value as Json, json};
use std::io::IsTerminal;
use std::time::Duration;
use view::{Rise, View};

/// A column: its heading, and the counters whose increases it sums. A name that ends in `*` is a beginning, one that begins
/// with `*` an end.
struct Column {
    heading: &'static str,
    of: &'static [&'static str],
    shown: WatchView,
}

#[derive(Clone, Copy)]
enum WatchView {
    Gbps, // of bytes
    PerSecond,
    Share, // of microseconds
}

impl Column {
    /// Width on the screen; all of them and the time fit into 80.
    fn width(&self) -> usize {
        self.heading.len().max(6)
    }
}

const COLUMNS: [Column; 9] = [
    Column { heading: "rx Gb/s", of: &["*.rx_bytes"], shown: WatchView::Gbps },
    Column {
        heading: "NIC drop",
        of: &["*.rx_missed_errors", "*.rx_fifo_errors", "*.rx_discards_phy"],
        shown: WatchView::PerSecond,
    },
    Column { heading: "softnet", of: &["softnet.dropped"], shown: WatchView::PerSecond },
    Column { heading: "squeezed", of: &["softnet.squeezed"], shown: WatchView::PerSecond },
    Column {
        heading: "TCP drop",
        of: &["tcp.TCPBacklogDrop", "tcp.TCPRcvQDrop"],
        shown: WatchView::PerSecond,
    },
    Column { heading: "resent", of: &["tcp.RetransSegs"], shown: WatchView::PerSecond },
    Column { heading: "CE in", of: &["tcp.InCEPkts"], shown: WatchView::PerSecond },
    Column { heading: "cpu %", of: &["psi.cpu.some_us"], shown: WatchView::Share },
    Column { heading: "mem %", of: &["psi.memory.some_us"], shown: WatchView::Share },
];

/// `forebay-agent watch`.
pub fn watch(args: &args::Watch) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let mut counters = Counters::open(&root);
    if counters.is_empty() {
        return Err(Failure::Run(
            "there is no counter to watch: /proc and /sys cannot be read".into(),
        ));
    }
    if let Some(at) = &args.serve {
        // Opened anew for who asks, which is seldom: descriptors of the view stay in its thread.
        let root = root.clone();
        metrics::serve(at, move || {
            let (mut counters, mut now) = (Counters::open(&root), Vec::new());
            counters.read(&Clock::start(), &mut now);
            let values = counters.each().zip(&now);
            metrics::readings(values.map(|(of, value)| (of.name, value.map(|(_, raw)| raw))))
        })?;
    }
    let of: Vec<_> = counters.each().map(|of| (of.name.to_string(), of.bits)).collect();
    let every = Duration::from_nanos(args.every.as_ps() / 1000);
    let clock = Clock::start();
    let (mut before, mut now) = (Vec::new(), Vec::new());
    counters.read(&clock, &mut before);
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    if std::io::stdout().is_terminal() && !dumb && !args.json && args.lines.is_none() {
        return on_terminal(args, counters, clock, before);
    }
    for line in 0..args.lines.unwrap_or(u64::MAX) {
        let due = every * u32::try_from(line + 1).unwrap_or(u32::MAX);
        std::thread::sleep(due.saturating_sub(clock.now()));
        counters.read(&clock, &mut now);
        let rises = rises(&of, &before, &now);
        if args.json {
            failure::data(&format!("{}\n", as_json(clock.now(), &rises)))?;
        } else {
            if line % 20 == 0 {
                failure::data(&heading())?;
            }
            failure::data(&shown(clock.now(), &rises))?;
        }
        std::mem::swap(&mut before, &mut now);
    }
    Ok(())
}

/// Shows the view until the user ends it.
fn on_terminal(
    args: &args::Watch,
    mut counters: Counters,
    clock: Clock,
    mut before: Vec<Value>,
) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let of: Vec<_> = counters.each().map(|of| (of.name.to_string(), of.bits)).collect();
    let every = Duration::from_nanos(args.every.as_ps() / 1000);
    let probed = described(&root);
    let text = |of: &Json, key: &str| of[key].as_str().unwrap_or_default().to_string();
    let machine = format!("Linux {}", text(&probed, "kernel"));
    let mut view = View::new(machine, every, targets(args)?);
    let findings = probed["findings"].as_array().into_iter().flatten();
    view.why = findings.map(|of| (text(of, "name"), text(of, "why"))).collect();
    view.colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let failed = |error: std::io::Error| Failure::io("draw on this terminal", &error);
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let mut due = clock.now();
    let drawn = (|| -> std::io::Result<()> {
        loop {
            view.ruled = metrics::ruled(&args.agent);
            terminal.draw(|frame| view.draw(frame))?;
            due += every.max(Duration::from_millis(1));
            loop {
                let rest = due.saturating_sub(clock.now());
                if !event::poll(rest)? {
                    break;
                }
                match event::read()? {
                    Event::Key(key) if ends(key.code, key.modifiers) => return Ok(()),
                    Event::Resize(..) => _ = terminal.draw(|frame| view.draw(frame))?,
                    _ => {}
                }
            }
            let mut now = Vec::new();
            counters.read(&clock, &mut now);
            view.add(clock.now(), &rises(&of, &before, &now));
            before = now;
            due = due.max(clock.now().saturating_sub(every)); // periods that were missed are not made up for
        }
    })();
    ratatui::restore();
    drawn.map_err(failed)
}

/// Whether a key ends the view.
fn ends(key: KeyCode, with: KeyModifiers) -> bool {
    matches!(key, KeyCode::Char('q') | KeyCode::Esc)
        || (key == KeyCode::Char('c') && with.contains(KeyModifiers::CONTROL))
}

/// I_T in lines and B_T in Gb/s, as the law has them that reads the IIO buffer.
fn targets(args: &args::Watch) -> Result<(f64, f64), Failure> {
    let law = settings::params("hostcc", [], args.every)
        .map_err(|error| Failure::Run(error.to_string()))?;
    let terms = crate::law::control::Terms::live(&law, 0, args.every);
    let watched = law.start(Time::ZERO, terms.at, &mut Acts::default()).watched();
    Ok(watched
        .map_or((0.0, 0.0), |of| (of.lines_threshold as f64, of.rate_target.get() as f64 * 1e-9)))
}

/// By how much each counter rose.
fn rises<'a>(of: &'a [(String, u32)], before: &[Value], now: &[Value]) -> Vec<(&'a str, Rise)> {
    let both = before.iter().zip(now);
    of.iter()
        .zip(both)
        .map(|((name, bits), (before, now))| (name.as_str(), rise(*before, *now, *bits)))
        .collect()
}

/// The difference of two readings, modulo the counter's width.
fn rise(before: Value, now: Value, bits: u32) -> Rise {
    let ((from, before), (to, now)) = (before?, now?);
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let time = to.checked_sub(from).filter(|time| !time.is_zero())?;
    Some((now.wrapping_sub(before) & mask, time))
}

fn heading() -> String {
    let names: String =
        COLUMNS.iter().map(|of| format!(" {:>1$}", of.heading, of.width())).collect();
    format!("{:>7}{names}\n", "time s")
}

/// One line; a column without a counter that could be read has a dash.
fn shown(now: Duration, rises: &[(&str, Rise)]) -> String {
    let mut line = format!("{:>7.1}", now.as_secs_f64());
    for column in &COLUMNS {
        let is = |name: &str| {
            column.of.iter().any(|of| match of.strip_prefix('*') {
                Some(end) => name.ends_with(end),
                None => name == *of,
            })
        };
        let rates: Vec<f64> = rises
            .iter()
            .filter(|(name, _)| is(name))
            .filter_map(|(_, rise)| rise.map(|(by, time)| by as f64 / time.as_secs_f64()))
            .collect();
        let sum: f64 = rates.iter().sum();
        let text = match column.shown {
            _ if rates.is_empty() => "-".into(),
            WatchView::Gbps => format!("{:.3}", sum * 8e-9),
            WatchView::PerSecond => format!("{sum:.0}"),
            WatchView::Share => format!("{:.1}", sum * 1e-4),
        };
        line += &format!(" {text:>0$}", column.width());
    }
    line + "\n"
}

/// Every counter by name: its increase; null where it could not be read.
fn as_json(now: Duration, rises: &[(&str, Rise)]) -> Json {
    let all: Map<String, Json> = rises
        .iter()
        .map(|(name, rise)| (name.to_string(), json!(rise.map(|(by, _)| by))))
        .collect();
    json!({ "time_s": now.as_secs_f64(), "rises": all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_wraps_at_the_counters_width() {
        let at = |s, value| Some((Duration::from_secs(s), value));
        let second = Duration::from_secs(1);
        assert_eq!(rise(at(1, 0xffff_fffe), at(2, 3), 32), Some((5, second)));
        assert_eq!(rise(at(1, 7), at(2, 9), 64), Some((2, second)));
        assert_eq!((rise(None, at(2, 3), 64), rise(at(1, 1), at(1, 3), 64)), (None, None));
    }

    #[test]
    fn a_column_sums_its_counters_and_a_missing_one_is_a_dash() {
        let second = Duration::from_secs(1);
        let rises = [
            ("nic.eth0.rx_bytes", Some((1_000_000_000, second))),
            ("nic.eth1.rx_bytes", Some((250_000_000, second))),
            ("psi.cpu.some_us", Some((500_000, second))),
            ("softnet.dropped", None),
        ];
        let line = shown(second, &rises);
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words[..4], ["1.0", "10.000", "-", "-"]);
        assert!(line.contains(" 50.0 "), "{line}");
        assert!(heading().len() <= 80 && line.len() == heading().len(), "{line}");
    }
}
