//! `forebay-agent record`: the machine's counters, raw, at every period, into a folder.
//!
//! One thread reads, another writes. If the disk falls behind by [`BEHIND`] rounds, rounds are lost, and a row `gap` says how many
//! rows those were. The folder has `signals.csv` and `machine.json`, what `probe` says.

use crate::args;
use crate::failure::{self, Failure};
use crate::probe::{described, root};
use crate::run::interrupts::interrupts;
use forebay_linux::Clock;
use forebay_linux::counters::{Counters, Value};
use forebay_record::signals::{self, SignalWriter};
use forebay_units::Time;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::time::Duration;

/// Rounds that may wait for the disk.
const BEHIND: usize = 1024;

/// One round: its time, rows lost before it, readings.
struct Round {
    now: Duration,
    lost: u64,
    row: Vec<Value>,
}

/// `forebay-agent record`.
pub fn record(args: &args::Record) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let out = args.out.display();
    let path = args.out.join(signals::FILE);
    if path.exists() {
        return Err(Failure::Input(format!("{out} has a recording already; name another folder")));
    }
    fs::create_dir_all(&args.out).map_err(|error| Failure::io(format!("make {out}"), &error))?;
    let machine = format!("{:#}\n", described(&root));
    fs::write(args.out.join("machine.json"), machine)
        .map_err(|error| Failure::io(format!("write {out}/machine.json"), &error))?;
    let mut counters = Counters::open(&root);
    if counters.is_empty() {
        return Err(Failure::Run(
            "there is no counter to record: /proc and /sys cannot be read".into(),
        ));
    }
    let names: Vec<_> = counters.each().map(|of| of.name.to_string()).collect();
    let stop = interrupts()?;
    let (rounds, from) = sync_channel(BEHIND);
    let clock = Clock::start();
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || write(&path, &names, &from))
    };
    let every = Duration::from_nanos(args.every.as_ps() / 1000);
    let until = Duration::from_nanos(args.time.as_ps() / 1000);
    let (mut lost, mut busy, mut count) = (0, Duration::ZERO, 0u32);
    // Once at least: a busy machine may begin this after its end.
    while count == 0 || (clock.now() < until && !stop.load(Ordering::Relaxed)) {
        let now = clock.now();
        let mut row = Vec::with_capacity(counters.len());
        counters.read(&clock, &mut row);
        busy += clock.now() - now;
        count += 1;
        let read = row.iter().flatten().count() as u64;
        match rounds.try_send(Round { now, lost, row }) {
            Ok(()) => lost = 0,
            Err(TrySendError::Full(_)) => lost += read,
            Err(TrySendError::Disconnected(_)) => break, // the writer says why
        }
        std::thread::sleep((every * count).min(until).saturating_sub(clock.now()));
    }
    let end = Round { now: clock.now(), lost, row: Vec::new() };
    let _ = rounds.send(end);
    drop(rounds);
    let rows = writer
        .join()
        .expect("the writer does not panic")
        .map_err(|error| Failure::io(format!("write {}", path.display()), &error))?;
    let each = busy / count.max(1);
    failure::data(&format!(
        "{out}: {count} rounds of {} counters, {rows} rows, {:.1} us a round\n",
        counters.len(),
        each.as_secs_f64() * 1e6
    ))
}

/// Writes rounds until there are no more. Gives the number of rows before the last.
fn write(path: &Path, names: &[String], rounds: &Receiver<Round>) -> io::Result<u64> {
    let mut out = SignalWriter::new(BufWriter::new(File::create(path)?))?;
    let mut last = Time::ZERO;
    for Round { now, lost, row } in rounds {
        last = time(now);
        if lost > 0 {
            out.row(last, "gap", last, lost)?;
        }
        for (name, value) in names.iter().zip(row) {
            if let Some((at, raw)) = value {
                out.row(last, name, time(at), raw)?;
            }
        }
    }
    out.finish(last)
}

/// Nanoseconds of the clock as picoseconds; a recording is at most a day.
fn time(at: Duration) -> Time {
    Time::from_ps(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}
