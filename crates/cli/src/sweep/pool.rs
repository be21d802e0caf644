//! The runs of a sweep in processes of their own, some at a time.
//!
//! A process that dies takes its own run with it and no other.

use super::Home;
use super::lifeline::{self, Update};
use crate::failure::{self, Failure};
use crate::progress::Meter;
use crate::{human, interrupt, itself, say};
use forebay_study::progress::State;
use forebay_study::sweep::Run;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};
use std::time::Duration;

/// Assignment of runs to workers.
pub struct Pool<'a> {
    pub home: &'a Home,
    pub name: &'a str,
    /// Folder of the scenario's files.
    pub base: &'a Path,
    /// Threads of each simulation.
    pub threads: usize,
    /// Processes at a time.
    pub jobs: usize,
}

/// How it ended.
pub struct Verdict {
    /// A sentence for each run that failed.
    pub failures: Vec<String>,
    /// Whether a signal ended it.
    pub stopped: bool,
}

/// What one seat of the pool is doing.
#[derive(Default)]
struct Seat {
    update: Update,
    /// Closing it ends the run.
    lifeline: Option<ChildStdin>,
}

enum Report {
    Warning(String),
    /// Which, and its last update.
    Done(usize, Update),
    Failed(String),
}

const TICK: Duration = Duration::from_millis(50);

impl Pool<'_> {
    /// Runs them all, or until a signal comes; `done` gets each as it ends well.
    pub fn run<'r>(
        &self,
        runs: &[&'r Run],
        mut meter: Meter,
        mut done: impl FnMut(&'r Run) -> Result<(), Failure>,
    ) -> Result<Verdict, Failure> {
        itself::again().map_err(Failure::Run)?; // before anything has begun
        let seats: Vec<Mutex<Seat>> =
            (0..self.jobs.min(runs.len())).map(|_| Mutex::default()).collect();
        let (next, stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut verdict = Verdict { failures: Vec::new(), stopped: false };
        let mut failure = None;
        let mut state = State {
            name: self.name.into(),
            parts: "runs",
            parts_all: runs.len(),
            to_simulate_ps: runs.iter().map(|run| u128::from(run.length_ps)).sum(),
            ..State::default()
        };
        std::thread::scope(|scope| {
            let (send, reports) = mpsc::channel();
            for seat in &seats {
                let (send, next, stopping) = (send.clone(), &next, &stopping);
                scope.spawn(move || {
                    while !stopping.load(Ordering::SeqCst) {
                        let i = next.fetch_add(1, Ordering::SeqCst);
                        let Some(run) = runs.get(i) else { return };
                        let warn = |text| {
                            let _ = send.send(Report::Warning(text));
                        };
                        let result = self.one(run, seat, stopping, warn);
                        let update = std::mem::take(&mut *lock(seat)).update;
                        let report = match result {
                            Ok(()) => Report::Done(i, update),
                            Err(why) => Report::Failed(format!("{}: {why}", run.title)),
                        };
                        if send.send(report).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            let (mut said, mut past) = (Vec::new(), State::default());
            loop {
                match reports.recv_timeout(TICK) {
                    Ok(Report::Warning(text)) if said.contains(&text) => {}
                    Ok(Report::Warning(text)) => {
                        say::warning(&text);
                        said.push(text);
                    }
                    Ok(Report::Done(i, update)) => {
                        state.parts_done += 1;
                        past.simulated_ps += u128::from(runs[i].length_ps);
                        past.flows_done += update.done;
                        past.packet_hops += update.hops;
                        meter.event("run", &json!({ "title": runs[i].title, "run": runs[i].hash }));
                        if let Err(why) = done(runs[i]) {
                            failure.get_or_insert(why);
                            stopping.store(true, Ordering::SeqCst);
                        }
                    }
                    Ok(Report::Failed(_)) if verdict.stopped => {}
                    Ok(Report::Failed(why)) => verdict.failures.push(why),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                if interrupt::requested() && !verdict.stopped {
                    verdict.stopped = true;
                    stopping.store(true, Ordering::SeqCst);
                }
                if verdict.stopped {
                    seats.iter().for_each(|seat| drop(lock(seat).lifeline.take()));
                }
                let updates: Vec<Update> =
                    seats.iter().map(|seat| lock(seat).update.clone()).collect();
                state.simulated_ps =
                    past.simulated_ps + updates.iter().map(|t| u128::from(t.now_ps)).sum::<u128>();
                let share: f64 = updates.iter().map(|t| t.share).sum();
                state.work = Some((state.parts_done as f64 + share) / runs.len().max(1) as f64);
                state.flows_done = past.flows_done + updates.iter().map(|t| t.done).sum::<u64>();
                state.packet_hops = past.packet_hops + updates.iter().map(|t| t.hops).sum::<u64>();
                state.stopping = verdict.stopped;
                meter.tick(&state);
            }
        });
        meter.clear();
        // Ended by a signal only if something is left to do.
        verdict.stopped &= state.parts_done < runs.len();
        let status = if verdict.stopped { "interrupted" } else { "complete" };
        meter.event("end", &json!({ "status": status, "failed": verdict.failures.len() }));
        meter.sentence(&format!(
            "{}: {} of {} after {}",
            self.name,
            state.parts_done,
            human::counted(runs.len(), "run"),
            human::duration(meter.elapsed().as_secs_f64())
        ));
        failure.map_or(Ok(verdict), Err)
    }

    /// One run, from start to its name. The error is the end of a sentence.
    fn one(
        &self,
        run: &Run,
        seat: &Mutex<Seat>,
        stopping: &AtomicBool,
        warn: impl Fn(String),
    ) -> Result<(), String> {
        let part = self.home.part_dir(&run.hash);
        let mut child = itself::again()?
            .arg("worker")
            .args(["--threads", &self.threads.to_string(), "--out"])
            .arg(&part)
            .arg("--base")
            .arg(self.base)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start a process: {}", failure::plain(&error)))?;
        let mut stdin = child.stdin.take().expect("it was asked for");
        let sent = lifeline::send(&mut stdin, &run.text);
        {
            let mut seat = lock(seat);
            seat.lifeline = Some(stdin).filter(|_| !stopping.load(Ordering::SeqCst));
        }
        let (status, words) = listen(&mut child, seat, warn)?;
        lock(seat).lifeline = None;
        if !status.success() || sent.is_err() {
            let _ = std::fs::remove_dir_all(forebay_record::partial_of(&part));
            let _ = std::fs::remove_dir_all(&part);
            return Err(why(status, &words));
        }
        let name = self.home.run_dir(&run.hash);
        if name.exists() {
            // Of another version, or damaged: it was not counted as done.
            std::fs::remove_dir_all(&name)
                .map_err(|e| format!("cannot remove {}: {}", name.display(), failure::plain(&e)))?;
        }
        std::fs::rename(&part, &name)
            .map_err(|e| format!("cannot rename {}: {}", part.display(), failure::plain(&e)))
    }
}

/// Follows a process to its end; also gives what it said on stderr.
fn listen(
    child: &mut Child,
    seat: &Mutex<Seat>,
    warn: impl Fn(String),
) -> Result<(ExitStatus, String), String> {
    let stdout = child.stdout.take().expect("it was asked for");
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let Ok(update) = serde_json::from_str::<Update>(&line) else { continue };
        match update.warning {
            Some(text) => warn(text),
            None => lock(seat).update = update,
        }
    }
    let mut words = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut words);
    }
    let status =
        child.wait().map_err(|e| format!("cannot wait for its process: {}", failure::plain(&e)))?;
    Ok((status, words))
}

fn why(status: ExitStatus, words: &str) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal {
            9 => "its process was killed (signal 9; perhaps for want of memory)".into(),
            _ => format!("its process was ended by signal {signal}"),
        };
    }
    match words.lines().last() {
        Some(last) => last.trim_start_matches("error: ").into(),
        None => format!("its process ended with {status}"),
    }
}

fn lock(seat: &Mutex<Seat>) -> MutexGuard<'_, Seat> {
    seat.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
