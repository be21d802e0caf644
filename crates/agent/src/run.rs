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
use crate::probe::root;
use crate::senses::{Input, Senses, Stacks};
use crate::sink;
use forebay_abi::Outcome;
use forebay_laws::host::HostParams;
use forebay_linux::board::Board;
use forebay_linux::{Clock, Root};
use forebay_units::Span;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often the status is shown.
const SHOW: Duration = Duration::from_secs(1);

/// `forebay-agent run`.
pub fn run(args: &args::Run) -> Result<(), Failure> {
    let root = root(&args.from)?;
    let config = config::load(&args.config)?;
    let mode = args.mode.unwrap_or(config.mode);
    let law = live::params(&config.law.name, pairs(&config), config.every)
        .map_err(|why| Failure::Input(why.to_string()))?;
    let state = match mode {
        Mode::Enforce => Some(State::begin(&args.state, &root)?),
        Mode::Observe | Mode::DryRun => None,
    };
    let mut notes = Vec::new();
    let mut unless_observed = |failure: Failure| match (mode, failure) {
        (Mode::Observe, Failure::Run(text)) => {
            notes.push(format!("observing without: {text}"));
            Ok(())
        }
        (_, failure) => Err(failure),
    };
    let plan = match plan::plan(&root, &config) {
        Ok(plan) => plan,
        Err(failure) => unless_observed(failure).map(|()| Plan::default())?,
    };
    let stacks = match inputs(args, &root, &config, &law) {
        Ok(stacks) => stacks,
        Err(failure) => unless_observed(failure).map(|()| Vec::new())?,
    };
    if stacks.len() > MOST_STACKS {
        return Err(Failure::Run(format!(
            "{} IIO stacks; at most {MOST_STACKS} are watched",
            stacks.len()
        )));
    }
    for note in notes {
        failure::note(&note);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::io("wait for an interrupt", &error))?;
    }
    let job = Job {
        args,
        root: &root,
        config: &config,
        law: &law,
        plan: &plan,
        until: args.time.map_or(Duration::MAX, duration),
        stop: &stop,
    };
    match state {
        Some(state) => guard::enforce(&job, state, stacks),
        None => alone(&job, mode, stacks),
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
    pub fn serve(&self, now: &Arc<Mutex<Now>>, mode: Mode) -> Result<(), Failure> {
        let Some(at) = &self.args.serve else { return Ok(()) };
        let state = (mode == Mode::Enforce).then(|| self.args.state.clone());
        metrics::serve(at, Served { now: Arc::clone(now), mode, state })
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

/// The loop in this process: nothing that it does has to be undone.
fn alone(job: &Job<'_>, mode: Mode, stacks: Vec<(String, Input)>) -> Result<(), Failure> {
    let Job { args, config, law, plan, until, stop, .. } = *job;
    let (names, inputs): (Vec<_>, Vec<_>) = stacks.into_iter().unzip();
    let (laws, mut logs, mut writer) = (vec![law.clone(); names.len()], Vec::new(), None);
    let laws = if mode == Mode::Observe { Vec::new() } else { laws };
    if let Some(out) = args.out.as_ref().filter(|_| !laws.is_empty()) {
        let (taps, of) = sink::of(sink::files(out, &names)?);
        (logs, writer) = (taps, Some(of));
    }
    let clock = Clock::start();
    let board = Board::new().map_err(|error| Failure::io("make a board", &error))?;
    let shown = board.share().map_err(|error| Failure::io("share a board", &error))?;
    let shared = board.share().map_err(|error| Failure::io("share a board", &error))?;
    let now = Now { board: shared, names: names.clone(), counters: Arc::default(), gone: 0 };
    job.serve(&Arc::new(Mutex::new(now)), mode)?;
    let ended = Arc::new(AtomicBool::new(false));
    let shower = {
        let (names, ended) = (names.clone(), Arc::clone(&ended));
        std::thread::spawn(move || show(&shown, &names, mode, &ended))
    };
    let parts = (Stacks::new(clock, inputs), Nothing);
    let mut controller = Controller::new(
        clock.now(),
        names.len(),
        (laws, logs),
        Terms::live(law, plan.max_level, config.every),
        parts,
    );
    rounds(&mut controller, &clock, &board, duration(config.every), |rest| {
        std::thread::sleep(rest.min(until.saturating_sub(clock.now())));
        clock.now() < until && !stop.load(Ordering::Relaxed)
    });
    let status = controller.status().clone();
    drop(controller); // and with it the taps, so that the writer ends
    ended.store(true, Ordering::Relaxed);
    shower.thread().unpark();
    shower.join().expect("it does not panic")?;
    let lost = writer.map_or(Ok(0), sink::Writer::end)?;
    failure::data(&summary(mode, &status, lost))
}

/// Rounds at every period, until `wait` says that it is enough; its argument is the time to the next round.
pub fn rounds<S: Senses, T: Throttle>(
    controller: &mut Controller<S, T>,
    clock: &Clock,
    board: &Board,
    every: Duration,
    mut wait: impl FnMut(Duration) -> bool,
) {
    let mut due = clock.now();
    loop {
        let begun = clock.now();
        controller.round(begun);
        // The board is memory: what fails here once fails for ever, and the guard sees that no sign of life comes.
        let _ = board.publish(&controller.status().words());
        controller.count(clock.now().saturating_sub(begun), begun > due + every);
        due += every;
        if clock.now() > due + every {
            due = clock.now(); // rounds that were missed are not made up for
        }
        if !wait(due.saturating_sub(clock.now())) {
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
    let read = || {
        board
            .read()
            .map(|words| Status::of(&words))
            .map_err(|error| Failure::io("read the board", &error))
    };
    let mut before = read()?;
    while before.rounds == 0 && !ended.load(Ordering::Relaxed) {
        std::thread::park_timeout(SHOW / 100);
        before = read()?;
    }
    let mut lines = 0;
    loop {
        std::thread::park_timeout(SHOW);
        if ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        let now = read()?;
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
