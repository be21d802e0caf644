//! `forebay-agent replay`: steps the law of every log again, says what differs, and what other parameters would have done.

use super::drops::RecordedRounds;
use super::what_if::{self, Course};
use super::{files, recorded, stacks};
use crate::args;
use crate::failure::{self, Failure};
use forebay_laws::host::{Host, HostEvent, HostParams, Signal};
use forebay_laws::log::{self, Log, ReplayError};
use forebay_laws::params::ParamError;
use forebay_linux::file;
use forebay_record::signals::{self, SignalRow};
use forebay_units::Time;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// `forebay-agent replay`.
pub fn replay(args: &args::Replay) -> Result<(), Failure> {
    let (mut logs, mut recordings, mut text) = (0, 0, String::new());
    let mut differing = None;
    for path in files(&args.trace)? {
        let shown = path.display().to_string();
        let bytes = file::read(&path, u64::MAX)
            .map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
        if path.file_name().is_some_and(|name| name == signals::FILE) {
            if !args.rows {
                let rows = recorded(&path, &bytes, args.partial)?;
                text += &match &args.law {
                    None => summary(&path, &rows),
                    Some(law) => under_law(&path, &rows, law, &args.set)?,
                };
                recordings += 1;
            }
            continue;
        }
        let wrong = |error: ReplayError| Failure::Input(format!("{shown}: {error}"));
        // The log as it is first: what the parameters of --set change is said apart.
        let compared = log::compare(&bytes, &[]).map_err(wrong)?;
        let of = &compared.replayed;
        if args.law.as_ref().is_some_and(|law| *law != of.law) {
            continue;
        }
        if compared.cut && !args.partial {
            let error = ReplayError::Cut { events: Some(of.events) };
            return Err(Failure::Input(format!(
                "{shown}: {error}; --partial takes what is before it"
            )));
        }
        logs += 1;
        if args.rows {
            text += &rows(&bytes).map_err(wrong)?;
            continue;
        }
        let (role, law, events) = (of.role, &of.law, of.events);
        let _ = writeln!(
            text,
            "{shown}: {law} (role {role}), {events} rows from {} to {}, {} rows differ{}",
            us(of.first),
            us(of.last),
            compared.differing,
            if compared.cut { "; cut after the last of them" } else { "" },
        );
        if let Some(first) = compared.difference {
            let _ = writeln!(text, "  first: {}", ReplayError::Differs(first.clone()));
            differing.get_or_insert(format!("{shown}: row {} differs", first.event));
        }
        if !args.set.is_empty() {
            if role != "host" {
                let why =
                    format!("{shown}: --set is for host laws, and {law} is a law of role {role}");
                return Err(Failure::Input(format!("{why}; add --law to choose another log")));
            }
            text += &changed(&bytes, &args.set).map_err(wrong)?;
        }
    }
    if logs == 0 && recordings > 0 && args.law.is_none() && !args.set.is_empty() {
        let trace = args.trace.display();
        return Err(Failure::Input(format!(
            "{trace}: --set on a recording needs --law NAME, such as --law hostcc"
        )));
    }
    if logs + recordings == 0 {
        let of = args.law.as_ref().map_or(String::new(), |law| format!(" of \"{law}\""));
        let (trace, how) = (args.trace.display(), "output.law_log of a scenario makes one");
        return Err(Failure::Input(format!("{trace} has no law log{of} ({how})")));
    }
    failure::data(&text)?;
    differing.map_or(Ok(()), |text| Err(Failure::Differs(text)))
}

/// What is in a recording: its rows and time, and by how much each counter rose.
fn summary(path: &Path, rows: &[SignalRow]) -> String {
    let mut rises: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut lost = 0;
    for row in rows {
        match row.event.as_str() {
            "gap" => lost += row.raw,
            name => rises.entry(name).or_insert((row.raw, row.raw)).1 = row.raw,
        }
    }
    let last = rows.last().map_or(Time::ZERO, |row| row.now);
    let mut text = format!(
        "{}: {} rows of {} counters over {:.3} s, {lost} rows lost; no law ran, so 0 of its rows differ\n",
        path.display(),
        rows.len(),
        rises.len(),
        last.as_secs_f64(),
    );
    for (name, (first, last)) in rises.iter().filter(|(_, (first, last))| first != last) {
        let _ = writeln!(text, "  {name:32} {:>+16}", i128::from(*last) - i128::from(*first));
    }
    text
}

/// What a host law would have done over a recording: one law for each IIO stack that was recorded.
fn under_law(
    path: &Path,
    rows: &[SignalRow],
    law: &str,
    set: &[(String, String)],
) -> Result<String, Failure> {
    let shown = path.display();
    let wrong = |error: ParamError| Failure::Input(format!("--law {law}: {error}"));
    let needs = HostParams::new(law).map_err(wrong)?.needs();
    let mut text = format!("{shown}: {law} over the recording, which it did not act upon\n");
    if needs.contains(&Signal::MemoryBytes) {
        let recorded = RecordedRounds::new(rows).map_err(|missing| {
            Failure::Input(format!(
                "{shown}: the law {law} needs {}, which this recording lacks; machine.json next to it says why",
                missing.name()
            ))
        })?;
        let course = recorded.under(law, set).map_err(wrong)?;
        let (dropped, slow, gbps) = recorded.totals();
        let _ = writeln!(text, "the machine, {} rounds", recorded.rounds());
        text += &under("packets dropped by NICs", &dropped.to_string());
        text += &under("signs of slow cores", &slow.to_string());
        text += &under("mean rate of memory", &format!("{gbps:.2} Gb/s"));
        COURSE.iter().for_each(|(name, of)| text += &under(name, &of(&course)));
        return Ok(text + OPEN_LOOP);
    }
    let stacks = stacks::of(rows);
    if stacks.is_empty() {
        return Err(Failure::Input(format!(
            "{shown}: a host law wants {}, which this recording lacks; machine.json next to it says why",
            stacks::WANTED
        )));
    }
    for stack in &stacks {
        let course = stack.under(law, set).map_err(wrong)?;
        let _ = writeln!(text, "{}, {} readings", stack.name, stack.readings());
        text += &under("mean lines (I_S)", &format!("{:.1}", stack.mean_lines()));
        text += &under("mean rate (B_S)", &format!("{:.2} Gb/s", stack.mean_gbps()));
        COURSE.iter().for_each(|(name, of)| text += &under(name, &of(&course)));
    }
    Ok(text + OPEN_LOOP)
}

/// A line of what is said of a law over a recording.
fn under(name: &str, value: &str) -> String {
    format!("  {name:26} {value:>12}\n")
}

const OPEN_LOOP: &str =
    "  The readings stay as recorded. They do not show the effect of levels and marks.\n";

/// A line of text, and what stands in it.
type Said = (&'static str, fn(&Course) -> String);

/// What is said of a course.
const COURSE: [Said; 5] = [
    ("level writes", |of| of.writes.to_string()),
    ("strongest level", |of| of.strongest().to_string()),
    ("time at a level above 0", |of| format!("{:.1} %", of.held() * 100.0)),
    ("mean level", |of| format!("{:.2}", of.mean())),
    ("time with marks on", |of| format!("{:.1} %", of.marking() * 100.0)),
];

/// What the host law of a log did, beside what it would have done with other parameters.
fn changed(bytes: &[u8], set: &[(String, String)]) -> Result<String, ReplayError> {
    let logged = what_if::logged(bytes)?;
    let other = what_if::with(bytes, set, logged.write)?;
    let mut text = format!("  {:26} {:>12} {:>12}\n", "", "as logged", "with --set");
    for (name, of) in COURSE {
        let _ = writeln!(text, "  {name:26} {:>12} {:>12}", of(&logged), of(&other));
    }
    text += "  The readings come from the log. They do not show the effect of other levels and marks.\n";
    Ok(text)
}

/// The rows of a host law's log as CSV.
fn rows(bytes: &[u8]) -> Result<String, ReplayError> {
    let mut log = Log::<Host>::open(bytes)?;
    let mut text = String::from("seq,now_ps,event,at_ps,raw,acts\n");
    let mut seq = 1;
    let _ = writeln!(text, "0,{},start,,,{}", log.first.as_ps(), acts(&log.acts));
    while !log.is_empty() {
        let Some(((now, event), of)) = log.next(|now, seen| (now, seen.event)) else { break };
        let (name, at, raw) = match event {
            HostEvent::WriteOccupancy(of) => ("write_occupancy", Some(of.at), Some(of.raw)),
            HostEvent::WriteInserts(of) => ("write_inserts", Some(of.at), Some(of.raw)),
            HostEvent::ReadOccupancy(of) => ("read_occupancy", Some(of.at), Some(of.raw)),
            HostEvent::ReadInserts(of) => ("read_inserts", Some(of.at), Some(of.raw)),
            HostEvent::NicDrops(of) => ("nic_drops", Some(of.at), Some(of.raw)),
            HostEvent::SlowCpu(of) => ("slow_cpu", Some(of.at), Some(of.raw)),
            HostEvent::MemoryBytes(of) => ("memory_bytes", Some(of.at), Some(of.raw)),
            HostEvent::LevelWritten(level) => ("level_written", None, Some(level.into())),
            HostEvent::LevelFailed => ("level_failed", None, None),
            HostEvent::Target(rate) => ("target_bps", None, Some(rate.get())),
            HostEvent::Disable => ("disable", None, None),
            HostEvent::Wake => ("wake", None, None),
            _ => unreachable!("the events of this version are above"),
        };
        let cell = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let (at, raw) = (cell(at.map(Time::as_ps)), cell(raw));
        let _ = writeln!(text, "{seq},{},{name},{at},{raw},{}", now.as_ps(), acts(&of));
        seq += 1;
    }
    Ok(text)
}

/// Actions of one row: `level=2 echo=on`.
fn acts(of: &forebay_laws::Acts<forebay_laws::host::HostAct>) -> String {
    use forebay_laws::host::{Echo, HostAct};
    let one = |act| match act {
        HostAct::Level(level) => format!("level={level}"),
        HostAct::Echo(Echo::Off) => "echo=off".into(),
        HostAct::Echo(Echo::Capable) => "echo=capable".into(),
        HostAct::Echo(Echo::All) => "echo=all".into(),
        HostAct::WakeAt(at) => format!("wake_at={}", at.as_ps()),
        _ => unreachable!("the actions of this version are above"),
    };
    of.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn us(time: Time) -> String {
    format!("{:.3} us", time.as_secs_f64() * 1e6)
}
