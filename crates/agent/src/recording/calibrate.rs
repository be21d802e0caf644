//! `forebay-agent calibrate`: proposes I_T and B_T of hostCC for this machine, from what it reads while idle, at line rate and saturated.
//!
//! Thresholds do not transfer between processors: slots, clocks and caches differ. On the published testbed 65 lines wait at line rate without
//! congestion and 93 when memory is saturated, I_T is 70; the PCIe link carries 103 Gb/s at line rate, B_T is 84 (hostCC, sections 4.1 and 5). The same
//! places between the ends, and the same share of line rate, are proposed for what is read here. Assumption: that they mean the same elsewhere.
//!
//! A sample is a mean over a period. At line rate: the rate is within 5 % of the highest; of these the lines of a quarter of the samples or less are those of
//! a buffer that nothing holds up. Saturated: at most 90 % of the highest rate, with as many lines as there ever are, within 5 %.

use super::stacks::{self, Stack};
use crate::args;
use crate::failure::{self, Failure};
use crate::probe::{described, root};
use forebay_linux::Clock;
use forebay_linux::counters::Counters;
use forebay_record::signals::SignalRow;
use forebay_units::{Span, Time};
use std::fmt::Write;
use std::time::Duration;

/// Lines and Gb/s of a period.
pub type Sample = (f64, f64);

/// Shorter periods are put together: the paper's averages need 166 us.
const PERIOD: Span = Span::from_us(200);

/// Place of I_T between the lines at line rate and those of a saturated memory: (70 - 65) / (93 - 65).
const BETWEEN: f64 = 5.0 / 28.0;

/// B_T as a share of the rate of the PCIe link at line rate: 84 / 103.
const SHARE: f64 = 84.0 / 103.0;

/// Without a saturated memory: I_T over the lines at line rate, 70 / 65.
const ABOVE: f64 = 70.0 / 65.0;

/// Fewer samples than these say nothing.
const LEAST: usize = 5;

/// `forebay-agent calibrate`.
pub fn calibrate(args: &args::Calibrate) -> Result<(), Failure> {
    let stacks = match &args.trace {
        Some(trace) => stacks::of_trace(trace)?,
        None => read(args)?,
    };
    let mut text = String::new();
    for stack in &stacks {
        text += &said(
            &stack.name,
            &Phases::of(&stack.samples(PERIOD)),
            args.line_rate.map(|of| of.get() as f64 * 1e-9),
        );
    }
    failure::data(&text)
}

/// The stacks of this machine, read for a while.
fn read(args: &args::Calibrate) -> Result<Vec<Stack>, Failure> {
    let root = root(&args.from)?;
    let mut counters = Counters::open(&root);
    counters.keep(|name| name.starts_with("uncore_irp_") || name.starts_with("uncore_iio_"));
    let time = args.time.ok_or_else(|| {
        Failure::Input("calibrate needs --for TIME, such as --for 30s, or --trace TRACE".into())
    })?;
    if counters.is_empty() {
        let probed = described(&root);
        let findings = probed["findings"].as_array().into_iter().flatten();
        let why = findings.filter(|of| of["name"] == "I_S" && of["can"] == false);
        let why = why.filter_map(|of| of["why"].as_str()).next().unwrap_or("no unit may be read");
        return Err(Failure::Run(format!("there is no I_S to calibrate: {why}")));
    }
    let names: Vec<_> = counters.each().map(|of| of.name.to_string()).collect();
    let (clock, mut row, mut rows) = (Clock::start(), Vec::new(), Vec::new());
    let (every, until) = (duration(args.every), duration(time));
    let stamp = |at: Duration| Time::from_ps(at.as_nanos() as u64 * 1000);
    let mut due = Duration::ZERO;
    while clock.now() < until {
        counters.read(&clock, &mut row);
        let now = stamp(clock.now());
        for (name, value) in names.iter().zip(&row) {
            if let Some((at, raw)) = value {
                rows.push(SignalRow { now, event: name.clone(), at: stamp(*at), raw: *raw });
            }
        }
        due = (due + every).max(clock.now());
        std::thread::sleep(due.saturating_sub(clock.now()));
    }
    Ok(stacks::of(&rows))
}

fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1000)
}

/// Samples and their means while idle, at line rate without congestion, and saturated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    idle: Option<(usize, Sample)>,
    line_rate: Option<(usize, Sample)>,
    saturated: Option<(usize, Sample)>,
}

impl Phases {
    /// Of samples in any order.
    pub fn of(samples: &[Sample]) -> Self {
        let fastest = samples.iter().fold(0.0f64, |most, (_, gbps)| most.max(*gbps));
        let fullest = samples.iter().fold(0.0f64, |most, (lines, _)| most.max(*lines));
        let mean = |of: Vec<Sample>| {
            let count = of.len();
            let sum = of.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            (count >= LEAST).then(|| (count, (sum.0 / count as f64, sum.1 / count as f64)))
        };
        let among = |is: &dyn Fn(&Sample) -> bool| {
            samples.iter().copied().filter(|of| is(of)).collect::<Vec<_>>()
        };
        let mut fast = among(&|(_, gbps)| *gbps >= 0.95 * fastest && fastest > 0.0);
        fast.sort_by(|one, other| one.0.total_cmp(&other.0));
        fast.truncate(fast.len().div_ceil(4).max(LEAST));
        Self {
            idle: mean(among(&|(_, gbps)| *gbps <= 0.01 * fastest)),
            line_rate: mean(fast),
            saturated: mean(among(&|(lines, gbps)| {
                *lines >= 0.95 * fullest && *gbps > 0.01 * fastest && *gbps <= 0.9 * fastest
            })),
        }
    }

    /// I_T in lines and B_T in Gb/s.
    pub fn proposed(&self) -> Option<(f64, f64)> {
        let (_, (lines, gbps)) = self.line_rate?;
        let threshold = match self.saturated {
            Some((_, (most, _))) if most > lines => lines + BETWEEN * (most - lines),
            _ => lines * ABOVE,
        };
        Some((threshold.round().max(1.0), (gbps * SHARE).round().max(1.0)))
    }
}

/// What was found and what follows from it.
fn said(name: &str, of: &Phases, line_rate: Option<f64>) -> String {
    let mut text = format!("{name}\n");
    let phases = [
        ("idle", of.idle, "stop all senders for part of the time"),
        ("line rate", of.line_rate, "send to the machine at line rate, with idle memory"),
        ("saturated", of.saturated, "send as before, and use as much memory as the cores can"),
    ];
    for (phase, found, remedy) in phases {
        let _ = match found {
            Some((count, (lines, gbps))) => {
                writeln!(
                    text,
                    "  {phase:10} {count:>7} samples {lines:>7.1} lines {gbps:>7.1} Gb/s"
                )
            }
            None => writeln!(text, "  {phase:10}    not seen: {remedy}"),
        };
    }
    let Some((threshold, target)) = of.proposed() else {
        return text + "  nothing can be proposed without line rate\n";
    };
    if let (Some(line), Some((_, (_, gbps)))) = (line_rate, of.line_rate)
        && gbps < 0.9 * line
    {
        let _ = writeln!(
            text,
            "  the highest rate is {gbps:.1} of {line:.1} Gb/s: line rate was not reached, so both are too low"
        );
    }
    let _ = writeln!(
        text,
        "  params = {{ iio_threshold = \"{threshold}\", target = \"{target}Gbps\" }}"
    );
    if of.saturated.is_none() {
        text += "  the threshold is a guess: the memory was never saturated\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(phases: &[(usize, f64, f64)]) -> Vec<Sample> {
        let of = phases.iter().flat_map(|(count, lines, gbps)| {
            (0..*count)
                .map(move |nth| (lines + (nth % 3) as f64 * 0.1, gbps - (nth % 2) as f64 * 0.1))
        });
        of.collect()
    }

    #[test]
    fn the_published_testbed_gives_the_published_thresholds() {
        let all = samples(&[(40, 0.1, 0.0), (40, 65.0, 103.0), (40, 93.0, 45.0), (9, 80.0, 70.0)]);
        assert_eq!(Phases::of(&all).proposed(), Some((70.0, 84.0)));
    }

    #[test]
    fn what_was_not_seen_is_said_and_line_rate_is_needed() {
        let idle = samples(&[(40, 0.1, 0.0)]);
        assert!(said("s", &Phases::of(&idle), None).contains("nothing can be proposed"));
        let fast = samples(&[(40, 65.0, 103.0)]);
        let text = said("s", &Phases::of(&fast), Some(200.0));
        for wanted in [
            "idle          not seen: stop",
            "iio_threshold = \"70\", target = \"84Gbps\"",
            "a guess",
            "of 200.0 Gb/s: line rate was not reached",
        ] {
            assert!(text.contains(wanted), "{wanted} is not in\n{text}");
        }
        assert_eq!(Phases::of(&[]), Phases::default());
    }

    /// Line rate while memory is contended, too: the lines are those of the samples in which nothing holds them up.
    #[test]
    fn congestion_at_line_rate_does_not_raise_the_threshold() {
        let all = samples(&[(40, 65.0, 103.0), (60, 85.0, 103.0), (40, 93.0, 45.0)]);
        assert_eq!(Phases::of(&all).proposed(), Some((70.0, 84.0)));
    }
}
