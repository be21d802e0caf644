//! `antagonist.trace`: memory bandwidth that forebay-agent recorded, as steps.
//!
//! Of a recording the counters of the memory controllers are taken (64 bytes each read and write), or where it has none those of resctrl (MBM); all of a kind
//! together. A step is a rise between two rounds over the time between them.

use crate::judge::Judge;
use forebay_host::memory::settings::Trace;
use std::collections::BTreeMap;

/// First line of a recording.
const COLUMNS: &str = "seq,now_ps,event,at_ps,raw,acts";

/// More steps than these are no recording of an hour at 1 ms.
const MOST: usize = 4_000_000;

/// Puts the steps in the place of a path, or says what is wrong with what was written at `at`.
pub(super) fn check(trace: &mut Trace, judge: &mut Judge<'_>, at: &str) {
    match trace {
        Trace::Steps(steps) => {
            if let Err(why) = steps_fit(steps) {
                judge.say(at, why);
            }
        }
        Trace::Path(path) => {
            let file = match path.ends_with(".csv") {
                true => path.clone(),
                false => format!("{}/signals.csv", path.trim_end_matches('/')),
            };
            match (judge.read_file)(&file) {
                Err(why) => judge.say(at, format!("{file:?} {why}")),
                Ok(text) => match recorded(&text) {
                    Ok(steps) => *trace = Trace::Steps(steps),
                    Err(why) => judge.say(at, format!("{file:?} {why}")),
                },
            }
        }
    }
}

fn steps_fit(steps: &[(f64, f64)]) -> Result<(), String> {
    const WRITE: &str = "write for instance [[0, 8.0], [500, 24.0]]";
    if steps.is_empty() || steps.len() > MOST {
        return Err(format!("has {} steps; {WRITE}", steps.len()));
    }
    let mut last = -1.0;
    for (nth, (us, rate)) in steps.iter().enumerate() {
        if !(0.0..=1e12).contains(us) || *us <= last {
            return Err(format!(
                "step {nth} begins at {us} us, which is not after the one before it; {WRITE}"
            ));
        }
        if !(0.0..=10_000.0).contains(rate) {
            return Err(format!("step {nth} has {rate} GB/s; write from 0 to 10000"));
        }
        last = *us;
    }
    Ok(())
}

/// The steps of a recording. The error is the end of a sentence.
fn recorded(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(COLUMNS) {
        return Err(format!("is not a recording: it does not begin with \"{COLUMNS}\""));
    }
    // By round: what memory controllers, and what caches, moved since the round before.
    let mut rounds: Vec<(u64, [u64; 2])> = Vec::new();
    let (mut last, mut found) = (BTreeMap::new(), [false; 2]);
    for (nth, line) in lines.enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        let row = || -> Option<(u64, &str, u64)> {
            let [_, now, event, _, raw, _] = cells[..] else { return None };
            Some((now.parse().ok()?, event, raw.parse().ok()?))
        };
        let (now, event, raw) =
            row().ok_or_else(|| format!("makes no sense in line {}", nth + 2))?;
        if event == "version" && raw != 1 {
            return Err(format!("is a recording of version {raw}; this program reads version 1"));
        }
        let controller = event.starts_with("uncore_imc_") || event.starts_with("amd_umc");
        let (kind, bytes) = match event.rsplit('.').next() {
            Some("reads" | "writes") if controller => (0, 64),
            Some("total_bytes") if event.starts_with("mbm.L3-") => (1, 1),
            _ => continue,
        };
        found[kind] = true;
        if rounds.last().is_none_or(|(at, _)| *at != now) {
            rounds.push((now, [0; 2]));
        }
        let before = last.insert(event, raw).unwrap_or(raw);
        let (_, moved) = rounds.last_mut().expect("there is a round");
        moved[kind] += raw.wrapping_sub(before).wrapping_mul(bytes);
    }
    let Some(kind) = found.iter().position(|found| *found) else {
        return Err("has no memory bandwidth: neither uncore_imc nor amd_umc nor mbm.L3".into());
    };
    let Some((first, _)) = rounds.first().copied() else {
        return Err("has no round".into());
    };
    let us = |ps: u64| ps.saturating_sub(first) as f64 * 1e-6;
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for pair in rounds.windows(2) {
        let ((begin, _), (end, moved)) = (pair[0], pair[1]);
        let Some(time) = end.checked_sub(begin).filter(|time| *time > 0) else { continue };
        let rate = moved[kind] as f64 * 1e3 / time as f64; // bytes in ps as GB/s
        if steps.last().is_none_or(|(_, last)| *last != rate) {
            steps.push((us(begin), rate.min(10_000.0)));
        }
    }
    match rounds.last() {
        Some((end, _)) if !steps.is_empty() => steps.push((us(*end), 0.0)),
        _ => return Err("has one round only, which is not a bandwidth".into()),
    }
    Ok(steps)
}
