//! IIO stacks in a recording, and a host law over each: what the law would have seen and done, had it run.
//!
//! A stack is an IRP unit as one socket counts it, with the IIO unit of the same number. The law's occupancy counter is the recorded
//! sum of lines; its clock is the recorded clock of the same unit, over the whole recording.
//!
//! Parameters are those of a live machine with this period ([`settings`]).

use super::what_if::{Course, Run};
use crate::failure::Failure;
use crate::law::settings;
use forebay_laws::host::{Counters, Host, HostEvent, HostStart, Reading};
use forebay_laws::log::Log;
use forebay_laws::params::ParamError;
use forebay_linux::file;
use forebay_record::signals::{self, SignalRow};
use forebay_units::{Span, Time};
use std::collections::BTreeMap;
use std::path::Path;

/// The counters without which there is no stack.
pub const WANTED: &str =
    "uncore_irp_N.cpuC.lines, uncore_irp_N.cpuC.clock and uncore_iio_N.cpuC.part0_inserts";

/// Time of a level write. Source: hostCC paper, section 4.1.
pub const WRITE: Span = Span::from_us(22);

/// Levels of the published testbed; a recording knows no ladder.
pub const LEVELS: u8 = 4;

/// Readings of one stack.
#[derive(Debug)]
pub struct Stack {
    /// IRP unit and CPU of the stack.
    pub name: String,
    lines: Vec<Reading>,
    clock: Vec<Reading>,
    inserts: Vec<Reading>,
}

/// The stacks of a recording, by name. A stack without two readings of each counter is none.
pub fn of(rows: &[SignalRow]) -> Vec<Stack> {
    let mut found: BTreeMap<(u32, u32), Stack> = BTreeMap::new();
    for row in rows {
        let Some((unit, number, cpu, counter)) = parts(&row.event) else { continue };
        let stack = found.entry((number, cpu)).or_insert_with(|| Stack {
            name: format!("uncore_irp_{number}.cpu{cpu}"),
            lines: Vec::new(),
            clock: Vec::new(),
            inserts: Vec::new(),
        });
        let readings = match (unit, counter) {
            ("irp", "lines") => &mut stack.lines,
            ("irp", "clock") => &mut stack.clock,
            ("iio", "part0_inserts") => &mut stack.inserts,
            _ => continue,
        };
        readings.push(Reading { at: row.at, raw: row.raw });
    }
    let whole = |of: &Stack| [&of.lines, &of.clock, &of.inserts].iter().all(|r| seconds(r) > 0.0);
    found.into_values().filter(whole).collect()
}

/// The stacks of a recording's folder, or those whose laws a folder has logs of: of a simulation, or of an agent.
///
/// # Errors
/// If there is neither.
pub fn of_trace(trace: &Path) -> Result<Vec<Stack>, Failure> {
    let shown = trace.display();
    let mut found = Vec::new();
    for path in super::files(trace)? {
        if path.file_name().is_some_and(|name| name == signals::FILE) {
            let bytes =
                file::read(&path, u64::MAX).map_err(|e| Failure::Input(format!("{shown}: {e}")))?;
            found.extend(of(&super::recorded(&path, &bytes, false)?));
        } else {
            let bytes =
                file::read(&path, u64::MAX).map_err(|e| Failure::Input(format!("{shown}: {e}")))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.extend(Stack::logged(name, &bytes));
        }
    }
    if found.is_empty() {
        return Err(Failure::Input(format!(
            "{shown}: there is no I_S in it: neither {WANTED} in a recording, nor a log of hostcc"
        )));
    }
    Ok(found)
}

/// `irp`, 2, 0 and `lines` of `uncore_irp_2.cpu0.lines`.
fn parts(event: &str) -> Option<(&str, u32, u32, &str)> {
    let mut words = event.strip_prefix("uncore_")?.splitn(3, '.');
    let (unit, number) = words.next()?.split_once('_')?;
    let cpu = words.next()?.strip_prefix("cpu")?;
    Some((unit, number.parse().ok()?, cpu.parse().ok()?, words.next()?))
}

/// Time from the first reading to the last.
fn seconds(of: &[Reading]) -> f64 {
    let ends = of.first().zip(of.last());
    ends.map_or(0.0, |(first, last)| last.at.as_secs_f64() - first.at.as_secs_f64())
}

/// Rise from the first reading to the last.
fn rise(of: &[Reading]) -> f64 {
    of.first().zip(of.last()).map_or(0.0, |(first, last)| last.raw.wrapping_sub(first.raw) as f64)
}

impl Stack {
    /// The stack whose readings a law log has, if it is one of a law that wants them.
    fn logged(name: String, bytes: &[u8]) -> Option<Self> {
        let mut log = Log::<Host>::open(bytes).ok()?;
        let of = log.at.write;
        let mut stack = Self { name, lines: Vec::new(), clock: Vec::new(), inserts: Vec::new() };
        while let Some((event, _)) = log.next(|_, seen| seen.event) {
            match event {
                HostEvent::WriteOccupancy(reading) => {
                    // The law's counter has a known clock.
                    let ps = u128::from(reading.at.as_ps());
                    let cycles = ps * u128::from(of.clock_hz) / 1_000_000_000_000;
                    stack.lines.push(reading);
                    stack.clock.push(Reading { at: reading.at, raw: cycles as u64 });
                }
                HostEvent::WriteInserts(reading) => {
                    let raw = reading.raw.wrapping_mul(of.insert_bytes / 4);
                    stack.inserts.push(Reading { at: reading.at, raw });
                }
                _ => {}
            }
            if log.is_empty() {
                break;
            }
        }
        let whole = [&stack.lines, &stack.inserts].iter().all(|of| seconds(of) > 0.0);
        whole.then_some(stack)
    }

    /// Mean lines and Gb/s of periods, each as long as that or as the readings are apart.
    pub fn samples(&self, period: Span) -> Vec<(f64, f64)> {
        let mut found = Vec::new();
        let mut inserts = self.inserts.iter().peekable();
        let (mut from, mut inserted) = (None::<(Reading, Reading)>, None::<Reading>);
        for (lines, clock) in self.lines.iter().zip(&self.clock) {
            let mut last = None;
            while let Some(of) = inserts.next_if(|of| of.at <= lines.at) {
                last = Some(*of);
            }
            let last = last.or(inserted);
            let Some((begin, begun)) = from else {
                if let Some(last) = last {
                    (from, inserted) = (Some((*lines, *clock)), Some(last));
                }
                continue;
            };
            let (Some(before), Some(now)) = (inserted, last) else { continue };
            if lines.at.since(begin.at) < period || now.at <= before.at {
                continue;
            }
            let cycles = clock.raw.wrapping_sub(begun.raw) as f64;
            let waiting = lines.raw.wrapping_sub(begin.raw) as f64 / cycles.max(1.0);
            let seconds = now.at.since(before.at).as_secs_f64();
            found.push((waiting, now.raw.wrapping_sub(before.raw) as f64 * 32e-9 / seconds));
            (from, inserted) = (Some((*lines, *clock)), Some(now));
        }
        found
    }

    /// Number of readings of the lines.
    pub fn readings(&self) -> usize {
        self.lines.len()
    }

    /// Mean number of lines in the IIO buffer.
    pub fn mean_lines(&self) -> f64 {
        rise(&self.lines) / rise(&self.clock).max(1.0)
    }

    /// Mean rate into the IIO unit.
    pub fn mean_gbps(&self) -> f64 {
        rise(&self.inserts) * 4.0 * 8e-9 / seconds(&self.inserts)
    }

    /// A law over the readings.
    ///
    /// # Errors
    /// If there is no such law, or it has no such parameter, or the parameter no such value.
    pub fn under(&self, law: &str, set: &[(String, String)]) -> Result<Course, ParamError> {
        let hz = rise(&self.clock) / seconds(&self.clock);
        let counters =
            Counters { clock_hz: hz as u64, occupancy_bits: 64, insert_bits: 64, insert_bytes: 4 };
        let period = seconds(&self.lines) * 1e6 / (self.lines.len() - 1) as f64;
        let period = Span::from_us(period as u64);
        let (write, read) = (counters, counters);
        let at = HostStart { write, read, max_level: LEVELS, period, seed: 0 };
        let set = set.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let params = settings::params(law, set, period)?;
        let start = self.lines[0].at.min(self.inserts[0].at);
        let mut run = Run::start(&params, start, at, WRITE);
        for (now, event) in self.events() {
            run.feed(now, event);
        }
        Ok(run.course().clone())
    }

    /// All readings in the order of their times; of two at the same time, the lines first.
    fn events(&self) -> Vec<(Time, HostEvent)> {
        let lines = self.lines.iter().map(|of| (of.at, HostEvent::WriteOccupancy(*of)));
        let inserts = self.inserts.iter().map(|of| (of.at, HostEvent::WriteInserts(*of)));
        let mut all: Vec<_> = lines.chain(inserts).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }
}
