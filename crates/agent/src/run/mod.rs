//! `forebay-agent run`: a law over the machine's signals; shows them, what the law would do, or does it.
//!
//! What changes nothing runs in this process; what acts runs under a [`guard`]. The loop prints nothing and opens nothing: another thread shows its status, and a third writes law logs.

mod detector;
mod events;
mod grace;
pub mod guard;
pub mod hold;
pub mod interrupts;
mod job;
mod manager;
mod orders;
mod presence;
mod rounds;
mod show;
mod silent;
mod sink;
pub mod state;
mod watched;

use crate::act::controls;
use crate::act::plan::{self, Plan};
use crate::args;
use crate::config::{self, Config, Mode};
use crate::failure::{self, Failure};
use crate::law::control::{Controller, Terms};
use crate::law::levels::NoThrottle;
use crate::law::settings;
use crate::law::status::{MOST_STACKS, Status};
use crate::metrics::RunningAgent;
use crate::probe::root;
use crate::sense::inputs::{Input, Stacks};
use forebay_linux::board::Board;
use forebay_linux::{Clock, process};
use forebay_units::Span;
use interrupts::interrupts;
use job::{Job, LOOK};
use presence::Presence;
use rounds::{Pace, duration, pinned, rounds};
use show::{show, summary};
use state::State;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// `forebay-agent run`.
pub fn run(args: &args::Run) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let config = config::load(&args.config, args.core.is_some())?;
    let mode = args.mode.unwrap_or(config.mode);
    let law = settings::params(&config.law.name, pairs(&config), config.every)
        .map_err(|why| Failure::Input(why.to_string()))?;
    if let Some(core) = args.core {
        may_have(core, config.every)?;
    }
    let controls = controls::read(&config)?;
    let state = match mode {
        Mode::Enforce => Some(State::begin(&args.state, &root)?),
        Mode::Observe | Mode::DryRun => None,
    };
    // A terminal that closes ends a run as one that interrupts it does.
    let stop = interrupts()?;
    let job = Job {
        args,
        root: &root,
        config: &config,
        mode,
        law: &law,
        plan: &Plan::default(),
        controls: &controls,
        until: args.time.map_or(Duration::MAX, duration),
        stop: &stop,
    };
    let (plan, stacks) = opened(&job)?;
    let job = Job { plan: &plan, ..job };
    if mode == Mode::DryRun {
        let said = controls::judge(&root, &controls).map_err(Failure::Run)?;
        said.iter().for_each(|text| failure::note(text));
    }
    match state {
        Some(state) => guard::enforce(&job, state, stacks),
        None => alone(&job, stacks),
    }
}

/// Whether the loop may run on a core, and spin there where its period asks for that.
fn may_have(core: u32, every: Span) -> Result<(), Failure> {
    if !process::may_use(core) {
        return Err(Failure::Run(format!(
            "--core {core}: there is no such core, or this process may not run on it; /proc/self/status lists those that it may (Cpus_allowed_list)"
        )));
    }
    if every < config::SLEEPS && process::cpus() < 2 {
        return Err(Failure::Run(format!(
            "--core {core}: is the only core here, and every = \"{every}\" would spin on it; write {} or more",
            config::SLEEPS
        )));
    }
    Ok(())
}

/// What the machine has of what the configuration names. Who only observes goes on without the rest, and is told.
fn opened(job: &Job<'_>) -> Result<(Plan, Vec<(String, Input)>), Failure> {
    let Job { root, config, mode, .. } = *job;
    let mut notes = Vec::new();
    let mut unless_observed = |failure: Failure| match (mode, failure) {
        (Mode::Observe, Failure::Run(text)) => {
            notes.push(format!("observing without: {text}"));
            Ok(())
        }
        (_, failure) => Err(failure),
    };
    let plan = match plan::plan(root, config) {
        Ok(plan) => plan,
        Err(failure) => unless_observed(failure).map(|()| Plan::default())?,
    };
    let stacks = match job.inputs() {
        Ok(stacks) => stacks,
        Err(failure) => unless_observed(failure).map(|()| Vec::new())?,
    };
    if stacks.len() > MOST_STACKS {
        return Err(Failure::Run(format!(
            "{} IIO stacks; at most {MOST_STACKS} are watched",
            stacks.len()
        )));
    }
    notes.iter().for_each(|note| failure::note(note));
    Ok((plan, stacks))
}

/// Parameters of the configuration's law.
fn pairs(config: &Config) -> impl Iterator<Item = (&str, &str)> {
    config.law.params.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The loop in this process: nothing that it does has to be undone. When something is back that had gone, all files are opened again.
fn alone(job: &Job<'_>, stacks: Vec<(String, Input)>) -> Result<(), Failure> {
    let clock = Clock::start();
    let (mut plan, mut stacks, mut serving, mut anew) = (job.plan.clone(), stacks, None, false);
    let mut lost = 0;
    loop {
        let until = job.until.saturating_sub(clock.now());
        let of = Job { plan: &plan, until, ..*job };
        let (status, missing, back) = attended(&of, (stacks, anew), &mut serving)?;
        lost += missing;
        if back.is_empty() || !job.wait(&clock, || ()) {
            return failure::data(&summary(job.mode, &status, lost));
        }
        failure::note(&format!("{}: back; all files are opened again", back.join(", ")));
        (plan, stacks) = opened(job)?;
        anew = true;
    }
}

/// From an opening to the end, or until something is back: the status, how many events of law logs were lost, and what is back.
fn attended(
    job: &Job<'_>,
    (stacks, anew): (Vec<(String, Input)>, bool),
    serving: &mut Option<Arc<Mutex<RunningAgent>>>,
) -> Result<(Status, u64, Vec<String>), Failure> {
    let Job { args, root, config, law, plan, mode, until, stop, .. } = *job;
    let (names, inputs): (Vec<_>, Vec<_>) = stacks.into_iter().unzip();
    let (laws, mut logs, mut writer) = (vec![law.clone(); names.len()], Vec::new(), None);
    let laws = if mode == Mode::Observe { Vec::new() } else { laws };
    // What is logged ends with the first start.
    if let Some(out) = args.out.as_ref().filter(|_| !laws.is_empty() && !anew) {
        let (taps, of) = sink::of(sink::files(out, &names)?);
        (logs, writer) = (taps, Some(of));
    }
    let mut presence = Presence::new(root, config, job.is_of_resctrl(&inputs));
    let behind = plan::stacks_of(root, config, &names);
    let clock = Clock::start();
    let board = Board::new().map_err(|error| Failure::io("make a board", &error))?;
    let watch = Board::new().map_err(|error| Failure::io("make a board", &error))?;
    let shared = board.share().map_err(|error| Failure::io("share a board", &error))?;
    let now =
        RunningAgent { board: shared, names: names.clone(), counters: Arc::default(), gone: 0 };
    let serving = match serving {
        Some(serving) => {
            *serving.lock().unwrap_or_else(PoisonError::into_inner) = now;
            serving
        }
        None => {
            let serving = serving.insert(Arc::new(Mutex::new(now)));
            job.serve(serving)?;
            serving
        }
    };
    let (ended, back) = (AtomicBool::new(false), OnceLock::new());
    let status = std::thread::scope(|scope| {
        let shower = scope.spawn(|| show(&board, &names, mode, &ended));
        let looker = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let (anew, gone) = (presence.attend(|| job.is_ready()), presence.gone());
                // What is back counts once it has been opened.
                if anew.is_none() || gone > 0 {
                    serving.lock().unwrap_or_else(PoisonError::into_inner).gone = gone;
                }
                if let Some(names) = anew {
                    let _ = back.set(names);
                    return;
                }
                watch.publish([presence.absent(&behind)]);
                std::thread::park_timeout(LOOK);
            }
        });
        let done = (|| {
            let _pinned = args.core.map(pinned).transpose()?;
            let parts = (Stacks::new(clock, inputs), NoThrottle);
            let terms = Terms::live(law, plan.max_level, config.every);
            let mut controller =
                Controller::new(clock.now(), names.len(), (laws, logs), terms, parts);
            controller
                .on_sockets(&names.iter().map(|name| plan::socket_of(name)).collect::<Vec<_>>());
            let pace = Pace::new(config.every);
            rounds(&mut controller, &clock, (&board, &watch), &pace, |rest| {
                !pace.rest(&clock, rest, |rest| {
                    std::thread::sleep(rest.min(until.saturating_sub(clock.now())));
                    let over = clock.now() >= until || stop.load(Ordering::Relaxed);
                    over || back.get().is_some()
                })
            });
            Ok(controller.status().clone()) // and with the controller the taps go, so that the writer ends
        })();
        ended.store(true, Ordering::Relaxed);
        shower.thread().unpark();
        looker.thread().unpark();
        shower.join().expect("it does not panic")?;
        looker.join().expect("it does not panic");
        done
    })?;
    let lost = writer.map_or(Ok(0), sink::Writer::end)?;
    Ok((status, lost, back.into_inner().unwrap_or_default()))
}
