//! `forebay-agent run`: a law over the machine's signals; shows them, what the law would do, or does it.
//!
//! What changes nothing runs in this process; what acts runs under a [`guard`]. The loop prints nothing and opens nothing: another thread shows its status, and a third writes law logs.

use crate::args;
use crate::config::{self, Config, Mode};
use crate::control::{Controller, MOST_STACKS, Nothing, Shown, Status, Terms, Throttle};
use crate::failure::{self, Failure};
use crate::guard::{self, State};
use crate::live;
use crate::marks::Counters;
use crate::metrics::{self, Now, Served};
use crate::plan::{self, Plan};
use crate::presence::Presence;
use crate::probe::root;
use crate::senses::{Input, Senses, Stacks};
use crate::sink;
use forebay_abi::Outcome;
use forebay_laws::host::HostParams;
use forebay_linux::board::Board;
use forebay_linux::process::Pinned;
use forebay_linux::{Clock, Root, process};
use forebay_units::Span;
use std::cell::Cell;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How often the status is shown.
const SHOW: Duration = Duration::from_secs(1);

/// How often somebody looks whether what the configuration names is there.
pub const LOOK: Duration = Duration::from_millis(250);

/// How often a loop that spins asks whether it is over.
const ASK: Duration = Duration::from_millis(1);

/// `forebay-agent run`.
pub fn run(args: &args::Run) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let config = config::load(&args.config, args.core.is_some())?;
    let mode = args.mode.unwrap_or(config.mode);
    let law = live::params(&config.law.name, pairs(&config), config.every)
        .map_err(|why| Failure::Input(why.to_string()))?;
    if let Some(core) = args.core {
        may_have(core, config.every)?;
    }
    let state = match mode {
        Mode::Enforce => Some(State::begin(&args.state, &root)?),
        Mode::Observe | Mode::DryRun => None,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let job = Job {
        args,
        root: &root,
        config: &config,
        mode,
        law: &law,
        plan: &Plan::default(),
        until: args.time.map_or(Duration::MAX, duration),
        stop: &stop,
    };
    let (plan, stacks) = opened(&job)?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::io("wait for an interrupt", &error))?;
    }
    let job = Job { plan: &plan, ..job };
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

/// This thread on a core, for as long as the result lives.
pub fn pinned(core: u32) -> Result<Pinned, Failure> {
    Pinned::to(core).map_err(|error| Failure::io(format!("run on core {core}"), &error))
}

/// What the machine has of what the configuration names. Who only observes goes on without the rest, and is told.
fn opened(job: &Job<'_>) -> Result<(Plan, Vec<(String, Input)>), Failure> {
    let Job { args, root, config, law, mode, .. } = *job;
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
    let stacks = match inputs(args, root, config, law) {
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

/// Whether a start would find all that the configuration names.
pub fn ready(job: &Job<'_>) -> bool {
    let Job { args, root, config, law, mode, .. } = *job;
    let stacks = inputs(args, root, config, law);
    let names = stacks.map(|of| of.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    names.is_ok_and(|names| {
        plan::plan(root, config).is_ok()
            && (mode != Mode::Enforce || plan::markings(root, config, &names).is_ok())
    })
}

/// Waits until a start would find all that the configuration names. Whether it does, before an interrupt or the time's end; `alive` is called at each look.
pub fn wait(job: &Job<'_>, clock: &Clock, alive: impl Fn()) -> bool {
    loop {
        if job.stop.load(Ordering::Relaxed) || clock.now() >= job.until {
            return false;
        }
        if ready(job) {
            return true;
        }
        alive();
        std::thread::sleep(LOOK);
    }
}

/// What is to be done, as `run` found it out.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The command line.
    pub args: &'a args::Run,
    /// The machine.
    pub root: &'a Root,
    /// The configuration.
    pub config: &'a Config,
    /// What to do.
    pub mode: Mode,
    /// Its law.
    pub law: &'a HostParams,
    /// What levels write.
    pub plan: &'a Plan,
    /// When it ends by itself.
    pub until: Duration,
    /// Set by an interrupt.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Serves the status, if that is asked for.
    pub fn serve(&self, now: &Arc<Mutex<Now>>) -> Result<(), Failure> {
        let Some(at) = &self.args.serve else { return Ok(()) };
        let state = (self.mode == Mode::Enforce).then(|| self.args.state.clone());
        let served = Served { now: Arc::clone(now), mode: self.mode, state };
        metrics::serve(at, move || served.text())
    }

    /// Whether something that it uses is of resctrl.
    pub fn is_of_resctrl(&self, inputs: &[Input]) -> bool {
        let memory = |of: &plan::Actuator| of.kind == plan::Kind::Memory;
        inputs.iter().any(Input::is_of_resctrl) || self.plan.actuators.iter().any(memory)
    }
}

/// Parameters of the configuration's law.
fn pairs(config: &Config) -> impl Iterator<Item = (&str, &str)> {
    config.law.params.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

/// The counters of each stack, by name.
pub fn inputs(
    args: &args::Run,
    root: &Root,
    config: &Config,
    law: &HostParams,
) -> Result<Vec<(String, Input)>, Failure> {
    match &args.signals {
        None => plan::stacks(root, config, law),
        Some(path) => {
            let file = File::open(path).map_err(|error| {
                Failure::Input(format!("{} cannot be read: {error}", path.display()))
            })?;
            Ok(vec![("signals".into(), Input::File(file))])
        }
    }
}

/// The loop in this process: nothing that it does has to be undone. When something is back that had gone, all is opened anew.
fn alone(job: &Job<'_>, stacks: Vec<(String, Input)>) -> Result<(), Failure> {
    let clock = Clock::start();
    let (mut plan, mut stacks, mut serving, mut anew) = (job.plan.clone(), stacks, None, false);
    let mut lost = 0;
    loop {
        let until = job.until.saturating_sub(clock.now());
        let of = Job { plan: &plan, until, ..*job };
        let (status, missing, back) = attended(&of, (stacks, anew), &mut serving)?;
        lost += missing;
        if back.is_empty() || !wait(job, &clock, || ()) {
            return failure::data(&summary(job.mode, &status, lost));
        }
        failure::note(&format!("{}: back; all is opened anew", back.join(", ")));
        (plan, stacks) = opened(job)?;
        anew = true;
    }
}

/// From an opening to the end, or until something is back: the status, how many events of law logs were lost, and what is back.
fn attended(
    job: &Job<'_>,
    (stacks, anew): (Vec<(String, Input)>, bool),
    serving: &mut Option<Arc<Mutex<Now>>>,
) -> Result<(Status, u64, Vec<String>), Failure> {
    let Job { args, root, config, law, plan, mode, until, stop } = *job;
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
    let now = Now { board: shared, names: names.clone(), counters: Arc::default(), gone: 0 };
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
                let (anew, gone) = (presence.attend(|| ready(job)), presence.gone());
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
            let parts = (Stacks::new(clock, inputs), Nothing);
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

/// How a loop waits for its next round: asleep, or, with a shorter period than [`config::SLEEPS`], spinning.
#[derive(Debug)]
pub struct Pace {
    every: Duration,
    spins: bool,
    asked: Cell<Duration>,
}

impl Pace {
    /// Of a loop with this period.
    pub fn new(every: Span) -> Self {
        let spins = every < config::SLEEPS;
        Self { every: duration(every), spins, asked: Cell::new(Duration::ZERO) }
    }

    /// Waits for so long. Whether it is over: `ended` says so, and sleeps for as long as it is told to. One that spins asks it once in a
    /// millisecond.
    pub fn rest(&self, clock: &Clock, rest: Duration, ended: impl Fn(Duration) -> bool) -> bool {
        if !self.spins {
            return ended(rest);
        }
        let now = clock.now();
        if now >= self.asked.get() + ASK {
            self.asked.set(now);
            if ended(Duration::ZERO) {
                return true;
            }
        }
        while clock.now() < now + rest {
            std::hint::spin_loop();
        }
        false
    }
}

/// Rounds at every period, until `wait` says that it is enough; its argument is the time to the next round. The first board shows the status;
/// the other one's first number has the stacks that are absent.
pub fn rounds<S: Senses, T: Throttle>(
    controller: &mut Controller<S, T>,
    clock: &Clock,
    (board, watch): (&Board, &Board),
    pace: &Pace,
    mut wait: impl FnMut(Duration) -> bool,
) {
    let every = pace.every;
    let mut due = clock.now();
    loop {
        let begun = clock.now();
        controller.absent(watch.number(0));
        controller.round(begun);
        controller.status().publish(board);
        board.beat();
        let ended = clock.now();
        controller.count(ended.saturating_sub(begun), begun > due + every);
        due += every;
        if ended > due + every {
            due = ended; // rounds that were missed are not made up for
        }
        if !wait(due.saturating_sub(ended)) {
            return;
        }
    }
}

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
                "somebody else changed what was throttled: the law has ended, all of ours is lifted, and this only observes now",
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

fn line(now: &Status, name: &str, old: &Shown, new: &Shown, mode: Mode) -> String {
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
                "strongest level {}, {} level writes, none of them made; marks would be made where the last column says so\n",
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
        text += "the law ended early: somebody else changed what was throttled\n";
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

/// Of the same length.
pub fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1000)
}
