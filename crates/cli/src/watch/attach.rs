//! `forebay watch RUN`: looks on at a run that another process has at work, by what that writes into its folder.

use crate::args::Watch as Args;
use crate::failure::Failure;
use crate::{interrupt, say};
use forebay_record::{Life, Progress, Status, life_of, partial_of};
use forebay_units::human;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the folder is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The run that a word names: its folder, or the one in which it is written.
pub fn run_of(file: &Path) -> Option<PathBuf> {
    let written = file.extension().is_some_and(|end| end == "partial") && file.is_dir();
    let name = if written { file.with_extension("") } else { file.to_path_buf() };
    let is_run = |dir: &Path| dir.join("manifest.json").is_file() || dir.join("run.lock").is_file();
    (!file.is_file() && (is_run(&name) || is_run(&partial_of(&name)))).then_some(name)
}

/// Looks on until the run ends.
pub fn attach(run: &Path, args: &Args) -> Result<(), Failure> {
    let given = [
        ("--set", !args.input.set.is_empty()),
        ("--seed", args.seed.is_some()),
        ("--threads", args.threads != 1),
        ("--pace", args.pace.is_some()),
        ("--every", args.every.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::Input(format!(
            "{option} is for a scenario that watch itself simulates; {} is a run, which watch only looks at",
            run.display()
        )));
    }
    interrupt::listen();
    let terminal = std::io::stdout().is_terminal() && !say::dumb_terminal() && !args.json;
    let (mut last, mut seen) = (None, false);
    loop {
        let life = life_of(run)?;
        let line = match &life {
            Life::AtWork(progress) => progress.as_ref(),
            Life::Died(..) | Life::Ended(..) | Life::Nothing => {
                clear(terminal);
                break end(run, life, seen, args.json);
            }
        };
        seen = true;
        if let Some(progress) = line.filter(|progress| last.as_ref() != Some(*progress)) {
            show(progress, args.json, terminal)?;
            last = Some(progress.clone());
        }
        if interrupt::requested() {
            clear(terminal);
            return Err(Failure::Interrupted(format!("left; the run {} goes on", run.display())));
        }
        std::thread::sleep(LOOK);
    }
}

fn clear(terminal: bool) {
    if terminal {
        let _ = say::data("\r\x1b[K");
    }
}

fn show(progress: &Progress, as_json: bool, terminal: bool) -> Result<(), Failure> {
    if as_json {
        let line = serde_json::to_string(progress).expect("numbers and texts are JSON");
        return say::data(&format!("{line}\n"));
    }
    let text = said(progress);
    if !terminal {
        return say::data(&format!("{text}\n"));
    }
    let text: String = text.chars().take(say::stdout_width().saturating_sub(1)).collect();
    say::data(&format!("\r{text}\x1b[K"))
}

/// One line.
fn said(progress: &Progress) -> String {
    let percent = (progress.fraction * 100.0).floor();
    let time =
        format!("{} of {}", human::micros(progress.simulated_us), human::micros(progress.of_us));
    let flows = match progress.flows {
        Some(all) => format!("{} of {}", human::count(progress.flows_completed), human::count(all)),
        None => human::count(progress.flows_completed),
    };
    let mut text = format!("{}: {percent:>3} %   time {time}   flows {flows}", progress.name);
    if progress.seeds.len() > 1 {
        let ended = progress.seeds.iter().filter(|seed| seed.ended).count();
        text.push_str(&format!("   seeds {ended} of {}", progress.seeds.len()));
    }
    if let Some(rate) = progress.packet_hops_per_s {
        text.push_str(&format!("   {} hops/s", human::si(rate)));
    }
    if let Some(left) = progress.eta_s {
        text.push_str(&format!("   {} left", human::duration(left)));
    }
    text
}

/// What is said of a run that is not at work, or no longer.
fn end(run: &Path, life: Life, seen: bool, as_json: bool) -> Result<(), Failure> {
    let name = run.display();
    let already = if seen { "" } else { "already " };
    match life {
        Life::Ended(status, digest) => {
            let how = match status {
                Status::Complete => "complete",
                Status::Unfinished => "with unfinished flows",
                Status::Interrupted => "interrupted, in part",
                Status::Stalled => "stalled",
            };
            let report = run.join("report.html");
            if as_json {
                let end = json!({ "ended": status, "digest": digest, "report": report });
                return say::data(&format!("{end}\n"));
            }
            say::data(&format!(
                "{name} has {already}ended: {how}, digest {digest}, report {}\n",
                report.display()
            ))
        }
        Life::Died(left, progress) => {
            let when = progress.map_or_else(
                || "before it said how far it was".into(),
                |progress| format!("at {} %", (progress.fraction * 100.0).floor()),
            );
            Err(Failure::Run(format!(
                "the run {name} died {when} (killed, out of memory, or no room to write); \"forebay report {}\" shows what it has",
                left.display()
            )))
        }
        Life::Nothing if seen => {
            Err(Failure::Run(format!("the run {name} has ended and left no results")))
        }
        Life::Nothing => Err(Failure::Input(format!("{name} is no run; check the path"))),
        Life::AtWork(_) => unreachable!("it is looked at as long as it is at work"),
    }
}
