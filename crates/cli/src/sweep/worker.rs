//! The process of one run of a sweep: a scenario from stdin, a run directory.

use super::lifeline::{self, Update};
use crate::args::Worker;
use crate::failure::Failure;
use crate::run::volatile;
use crate::surroundings::RunSurroundings;
use crate::{about, clock, interrupt, itself};
use forebay_record::{IfExists, RunDir, RunRecord};
use forebay_sim::Options;
use forebay_study::seeds::{End, SeedOutput, Work, side_by_side};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval of progress updates.
const EVERY: Duration = Duration::from_millis(200);

/// The internal verb of a worker; users do not type it.
pub fn worker(args: &Worker) -> Result<(), Failure> {
    interrupt::leave_ctrl_c_to_the_parent();
    let began = clock::now();
    let text = lifeline::receive(&mut std::io::stdin().lock())
        .map_err(|error| Failure::io("read the scenario", &error))?;
    std::thread::spawn(|| {
        lifeline::wait_for_end(&mut std::io::stdin().lock());
        interrupt::request();
    });
    let name = args.base.join("resolved.toml"); // files that it names are sought there
    let loaded = itself::loader().text::<&str>(&name.to_string_lossy(), &text, &[])?;
    let scenario = &loaded.scenario;
    let about = about::about(scenario, &[]);
    let mut dir = RunDir::create(&args.out, &about, IfExists::Refuse)?;
    let mut told_at = clock::now();
    let (mut runs, mut failure) = (Vec::new(), None);
    let options = Options { threads: args.threads, ..Options::default() };
    let at = dir.path().to_path_buf();
    let here = RunSurroundings::new(&at, &scenario.name, None);
    let work = Work { scenario, options, jobs: 1, around: &here };
    let end = side_by_side(
        &work,
        |view| {
            if told_at.elapsed() >= EVERY || view.ended[0] {
                told_at = clock::now();
                let watch = &view.watches[0];
                let now_ps = watch.now_ps.load(Ordering::Relaxed);
                let done = watch.done.load(Ordering::Relaxed);
                let by_time = now_ps as f64 / scenario.stop.time.as_ps().max(1) as f64;
                let by_flows = view.flows_to_do().map_or(0.0, |all| done as f64 / all as f64);
                send(&Update {
                    now_ps,
                    done,
                    share: by_time.max(by_flows).min(1.0),
                    hops: watch.pushed.load(Ordering::Relaxed),
                    warning: None,
                });
            }
        },
        |SeedOutput { mut outcome, captures }| {
            let stall =
                outcome.stall.map(|why| format!("seed {} stalled: {why}", outcome.record.seed));
            for warning in outcome.warnings.into_iter().chain(stall) {
                send(&Update { warning: Some(warning), ..Update::default() });
            }
            let added = dir
                .add_until(&mut outcome.record, &interrupt::requested)
                .and_then(|()| dir.captured(captures));
            runs.push(outcome.record);
            added.map_err(|error| failure = Some(error.into())).is_ok()
        },
    );
    let cut = runs.iter().any(|run: &RunRecord| run.interrupted);
    match end {
        End::All if !cut => {
            dir.finish(&runs, volatile(began.elapsed().as_secs_f64(), args.threads))?;
            Ok(())
        }
        End::All | End::Interrupted => {
            dir.abandon();
            Err(Failure::Interrupted("the sweep has ended".into()))
        }
        End::Refused(refusal) => Err(Failure::Input(refusal.to_string())),
        End::Bug => Err(Failure::Run("a simulation ended in a bug of ours".into())),
        End::Undeliverable => Err(failure.unwrap_or(Failure::NobodyReads)),
    }
}

/// Sends a line up the pipe. If there is no reader, the lifeline will say so.
fn send(update: &Update) {
    let text = serde_json::to_string(update).expect("numbers and a text are JSON");
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
