//! What a run prints: a line for each stack and second, and a summary at its end.

use crate::act::marks::Counters;
use crate::config::Mode;
use crate::failure::{self, Failure};
use crate::law::status::{StackStatus, Status};
use forebay_abi::Outcome;
use forebay_linux::board::Board;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the status is shown.
const SHOW: Duration = Duration::from_secs(1);

/// A line for each stack, every second, until `ended`.
pub fn show(
    board: &Board,
    names: &[String],
    mode: Mode,
    ended: &AtomicBool,
) -> Result<(), Failure> {
    let read = || Status::of(&board.read());
    let mut before = read();
    while before.rounds == 0 && !ended.load(Ordering::Relaxed) {
        std::thread::park_timeout(SHOW / 100);
        before = read();
    }
    let mut lines = 0;
    loop {
        std::thread::park_timeout(SHOW);
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        let now = read();
        if now.foreign && !before.foreign {
            failure::note(
                "another process changed a throttle: the law has ended, all throttles of the agent are lifted, and the \
                 agent only observes now",
            );
        }
        if lines % 20 == 0 {
            let whole = now.stacks.iter().any(|stack| stack.memory.0 > 0);
            let columns = if whole {
                format!("{:>8} {:>8} {:>8}", "drops/s", "slow/s", "mem Gb/s")
            } else {
                format!("{:>9} {:>9}", "I_S lines", "B_S Gb/s")
            };
            failure::data(&format!(
                "{:>7} {:<24} {columns} {:>5} {:>5} {:>7} {:>6}\n",
                "time s", "stack", "level", "marks", "writes", "failed"
            ))?;
        }
        for (nth, name) in names.iter().enumerate() {
            let old = before.stacks.get(nth).copied().unwrap_or_default();
            let Some(new) = now.stacks.get(nth) else { continue };
            failure::data(&line(&now, name, &old, new, mode))?;
            if new.unread > old.unread && old.unread == 0 {
                failure::note(&format!(
                    "{name}: a counter could not be read; with no reading for stale_after, everything is lifted"
                ));
            }
        }
        lines += 1;
        before = now;
    }
}

fn line(now: &Status, name: &str, old: &StackStatus, new: &StackStatus, mode: Mode) -> String {
    let mean = |old: (u64, u64), new: (u64, u64)| {
        let ns = new.0.saturating_sub(old.0);
        (old.0 > 0 && ns > 0).then(|| new.1.wrapping_sub(old.1) as f64 / ns as f64)
    };
    let dash = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.1}"));
    let columns = if new.memory.0 > 0 {
        let per_second = |old, new| mean(old, new).map(|of| of * 1e9);
        let (drops, slow) = (per_second(old.drops, new.drops), per_second(old.slow, new.slow));
        let gbps = mean(old.memory, new.memory).map(|of| of * 8.0);
        format!("{:>8} {:>8} {:>8}", dash(drops), dash(slow), dash(gbps))
    } else {
        let (lines, gbps) = (mean(old.lines, new.lines), mean(old.inserts, new.inserts));
        format!("{:>9} {:>9}", dash(lines), dash(gbps.map(|of| of * 32.0)))
    };
    let (level, marks) = match mode {
        Mode::Observe => ("-".to_string(), "-"),
        _ => (new.level.to_string(), if new.marks { "on" } else { "off" }),
    };
    format!(
        "{:>7.1} {name:<24.24} {columns} {level:>5} {marks:>5} {:>7} {:>6}\n",
        now.now_ns as f64 * 1e-9,
        now.writes,
        now.failed
    )
}

/// What happened, in a few words.
pub fn summary(mode: Mode, of: &Status, lost: u64) -> String {
    let each = of.busy_ns as f64 * 1e-3 / of.rounds.max(1) as f64;
    let mut text = format!(
        "{}: {} rounds, {each:.1} us a round, {} of them late\n",
        mode.name(),
        of.rounds,
        of.late
    );
    let unread: u64 = of.stacks.iter().map(|stack| stack.unread).sum();
    if unread > 0 {
        text += &format!("readings that failed: {unread}\n");
    }
    match mode {
        Mode::Observe => text += "no law ran\n",
        Mode::DryRun => {
            text += &format!(
                "strongest level {}, {} level writes, none of them made (dry run); the last column shows where packets \
                 would be marked\n",
                of.strongest, of.writes
            );
        }
        Mode::Enforce => {
            text += &format!(
                "strongest level {}, {} level writes made, {} failed\n",
                of.strongest, of.writes, of.failed
            );
        }
    }
    if of.foreign {
        text += "the law ended early: another process changed a throttle\n";
    }
    if lost > 0 {
        text += &format!("law log: the disk was too slow; {lost} events are missing at its end\n");
    }
    text
}

/// What became of packets that could be marked, a line for each interface.
pub fn marked(counters: &Counters) -> String {
    let line = |(nic, counts): (&str, [u64; Outcome::ALL.len()])| {
        let each = Outcome::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
        let each: Vec<_> = each.map(|(of, count)| format!("{} {count}", of.name())).collect();
        let each = if each.is_empty() { "none".into() } else { each.join(", ") };
        format!("{nic}: packets while marks were on: {each}\n")
    };
    let lines: String = counters.read().map(line).collect();
    if lines.is_empty() { "no packet was marked: no nic has an echo\n".into() } else { lines }
}
