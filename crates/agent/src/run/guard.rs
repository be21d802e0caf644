//! The guard: makes everything ready, starts the loop, and undoes all of it when the loop ends or shows no sign of life.
//!
//! The guard opens the files, writes the journal and keeps its rights; the loop acts and has none. Each sees the other's end: the guard
//! by a descriptor of the loop's process, the loop by the end of the link. Sources: `docs/agent-safety.md` has the faults and times.
//!
//! Invariant: what the machine is changed by is in the journal before; the journal goes only when all of it has been undone.

use super::detector::Detector;
use super::events::Events;
use super::job::{self, Job};
use super::manager::Manager;
use super::orders::{Descriptors, Orders};
use super::presence::Presence;
use super::rounds::duration;
use super::state::State;
use super::watched;
use super::{show, sink};
use crate::act::actuators;
use crate::act::claims::Claims;
use crate::act::controls;
use crate::act::inside::OwnCgroups;
use crate::act::journal::{self, Journal};
use crate::act::marks::{Counters, Echoes};
use crate::act::plan;
use crate::act::plan::Marking;
use crate::act::undoings::{Cause, Undoings};
use crate::config::Mode;
use crate::failure::{self, Failure};
use crate::law::status::Status;
use crate::metrics::RunningAgent;
use crate::sense::inputs::Input;
use forebay_linux::board::Board;
use forebay_linux::{Clock, boot_ns, process};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the guard looks at the loop's sign of life at least, and gives its own.
const LOOK: Duration = Duration::from_millis(10);

/// Time for the loop to begin: nothing is throttled before.
const BEGIN: Duration = Duration::from_secs(10);

/// Time for the loop to end when it is told to.
const END: Duration = Duration::from_secs(2);

/// How often the service manager is told that the guard is alive: four times in the `WatchdogSec` of the service.
const TELL: Duration = job::LOOK;

/// Above the loop, so that a loop that does not end is stopped.
const PRIORITY: i32 = 11;

/// Why the guard ended the loop, or the loop itself.
enum End {
    /// An interrupt, or the time that was asked for.
    Asked,
    /// The loop is gone.
    Gone,
    /// No sign of life within the deadline.
    Silent,
    /// Guard or loop was moved into this victim.
    Inside(String),
    /// What had gone is back, or has to be closed to be back one day.
    Anew(Vec<String>),
}

impl End {
    fn cause(&self) -> Cause {
        match self {
            Self::Asked => Cause::Asked,
            Self::Gone => Cause::LoopGone,
            Self::Silent => Cause::LoopSilent,
            Self::Inside(_) => Cause::Inside,
            Self::Anew(_) => Cause::Back,
        }
    }
}

/// Acts on the machine until the job's end, an interrupt or a fault. When a victim or an interface is back that had gone, everything is undone
/// and starts again.
pub fn enforce(
    job: &Job<'_>,
    mut state: State<'_>,
    stacks: Vec<(String, Input)>,
) -> Result<(), Failure> {
    let whole = stacks.iter().any(|(_, input)| matches!(input, Input::Machine(_)));
    if whole && !job.config.law.params.contains_key("memory_busy") {
        return Err(Failure::Input(format!(
            "law.params.memory_busy: is missing: {} throttles by this threshold, and the default is for another \
             machine; write the memory traffic of this machine when it is busy (see forebay agent watch)",
            job.law.name()
        )));
    }
    let (clock, manager) = (Clock::start(), Manager::of_environment());
    let (mut plan, mut stacks, mut serving, mut anew) = (job.plan.clone(), stacks, None, false);
    loop {
        let until = job.until.saturating_sub(clock.now());
        let of = Job { plan: &plan, until, ..*job };
        let (shown, end) = once(&of, &mut state, (stacks, anew), &mut serving)?;
        let said = match end {
            End::Anew(_) if !job.wait(&clock, || manager.tell("WATCHDOG=1")) => None,
            End::Anew(names) => {
                let names = names.join(", ");
                failure::note(&format!(
                    "{names}: back; all throttles were lifted, and the agent starts again"
                ));
                plan = plan::plan(job.root, job.config)?;
                stacks = job.inputs()?;
                anew = true;
                continue;
            }
            End::Asked => None,
            End::Gone => Some("the loop has ended by itself".to_string()),
            End::Silent => Some("the loop gave no sign of life within the deadline".into()),
            End::Inside(victim) => Some(format!(
                "the agent was moved into its victim {victim}, where it would freeze itself; start it in another cgroup"
            )),
        };
        failure::data(&show::summary(Mode::Enforce, &shown.status, 0))?;
        failure::data(&show::marked(&shown.counters))?;
        let failed = |said| Err(Failure::Run(format!("{said}: everything was lifted")));
        if shown.unlogged && said.is_none() {
            return Err(Failure::Run("a law log could not be written to its end".into()));
        }
        return said.map_or(Ok(()), failed);
    }
}

/// From a start to the undoing of all that it changed.
fn once(
    job: &Job<'_>,
    state: &mut State<'_>,
    (stacks, anew): (Vec<(String, Input)>, bool),
    serving: &mut Option<Arc<Mutex<RunningAgent>>>,
) -> Result<(Shower, End), Failure> {
    let names: Vec<_> = stacks.iter().map(|(name, _)| name.clone()).collect();
    let markings = plan::markings(job.root, job.config, &names)?;
    if job.plan.actuators.is_empty() && markings.is_empty() && job.controls.is_empty() {
        return Err(Failure::Input(
            "victim: there is none, no nic has an echo, and there is no tcp_object: there is nothing to enforce; write a [[victim]], or echo = \"tcx\" for a nic".into(),
        ));
    }
    let _claims = Claims::take(job.root, job.config)?;
    let file = state.begin_file(journal::FILE)?;
    let mut journal = Journal::new(Durable(file));
    let events = Events::begin(state.folder())
        .map_err(|error| Failure::io("write events into the state folder", &error))?;
    let begun = prepare(job, (stacks, anew), &markings, &mut journal, (state, &events), serving);
    let changes = std::mem::take(&mut journal.changes);
    let run = begun.and_then(|running| watch(job, running, &events, serving));
    let lifted = state.lift(job.root, &changes);
    let at = boot_ns();
    let cause = run.as_ref().map_or(Cause::Start, |(_, end, _)| end.cause());
    match run.as_ref().ok().filter(|_| lifted.failed.is_empty()) {
        Some((.., life)) => events.lifted(at, "guard", cause.name(), life),
        None => events.add(at, &format!("guard ended cause={}", cause.name())),
    }
    let undone = state.undone(lifted);
    Undoings::count(state.folder(), cause);
    let (mut shown, end, _) = match run {
        Ok(of) => of,
        Err(failure) => {
            undone?;
            return Err(failure);
        }
    };
    shown.end();
    undone?;
    Ok((shown, end))
}

/// A file whose lines are on disk before they are acted upon.
#[derive(Debug)]
struct Durable(File);

impl Write for Durable {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.sync_data()
    }
}

/// The loop, as its guard has it.
struct GuardedLoop {
    child: Child,
    watched: OwnedFd,
    link: OwnedFd,
    board: Board,
    watch: Board,
    presence: Presence,
    behind: Vec<Option<usize>>, // the stack of each interface
    echoes: Echoes,
    inside: OwnCgroups,
    shown: Shower,
}

/// The thread that shows the status.
struct Shower {
    thread: Option<std::thread::JoinHandle<Result<(), Failure>>>,
    ended: Arc<AtomicBool>,
    status: Status,
    counters: Arc<Counters>,
    unlogged: bool, // a law log lacks its end
}

impl Shower {
    /// Ends the loop. Its last words may stay unread: a guard never waits for a reader.
    fn end(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take().filter(std::thread::JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

/// Changes what has to be changed before, and starts the loop.
fn prepare(
    job: &Job<'_>,
    (stacks, anew): (Vec<(String, Input)>, bool),
    markings: &[Marking],
    journal: &mut Journal<Durable>,
    (state, events): (&mut State<'_>, &Events),
    serving: &mut Option<Arc<Mutex<RunningAgent>>>,
) -> Result<GuardedLoop, Failure> {
    let Job { args, root, config, law, plan, .. } = *job;
    let failed = |what: &'static str| move |error: std::io::Error| Failure::io(what, &error);
    actuators::prepare(&mut root.clone(), journal, plan).map_err(|why| {
        Failure::Run(format!("the self-test failed, so nothing is enforced: {why}"))
    })?;
    let files = plan.actuators.iter().map(|of| {
        root.open_both(&of.path).map_err(|error| Failure::io(format!("open {}", of.path), &error))
    });
    let echoes = Echoes::begin(root, journal, markings)
        .map_err(|why| Failure::Run(format!("nothing is marked, so nothing is enforced: {why}")))?;
    let controls = controls::register(root, job.controls, anew)
        .map_err(|why| Failure::Run(format!("nothing is enforced: {why}")))?;
    for of in &controls {
        failure::data(&format!(
            "{} is registered; sockets choose it with TCP_CONGESTION\n",
            of.name
        ))?;
        events.add(boot_ns(), &format!("guard registered {}", of.name));
    }
    let (names, inputs): (Vec<_>, Vec<_>) = stacks.into_iter().unzip();
    let logs = match &args.out {
        Some(out) if !anew => sink::files(out, &names)?,
        _ => Vec::new(), // what is logged ends with the first start
    };
    let board = Board::new().map_err(failed("make a board"))?;
    let watch = Board::new().map_err(failed("make a board"))?;
    let shared = || board.share().map_err(failed("share a board"));
    let leases = echoes.leases().into_iter().map(|lease| lease.try_clone_to_owned());
    let mut with = Descriptors {
        board: shared()?,
        watch: watch.share().map_err(failed("share a board"))?,
        events: events.as_fd().try_clone_to_owned().map_err(failed("share a file"))?.into(),
        inside: Vec::new(),
        inputs,
        files: files.collect::<Result<_, _>>()?,
        logs,
        leases: leases.collect::<Result<_, _>>().map_err(failed("share a lease"))?,
        controls: controls.into_iter().map(|of| of.link.into()).collect(),
    };
    let ns = |of| duration(of).as_nanos() as u64;
    let times = (ns(config.every), ns(config.deadline), args.core);
    let sockets = names.iter().map(|name| plan::socket_of(name)).collect();
    let presence = Presence::new(root, config, job.is_of_resctrl(&with.inputs));
    let behind = plan::stacks_of(root, config, &names);
    let counters = echoes.counters();
    let now = RunningAgent {
        board: shared()?,
        names: names.clone(),
        counters: Arc::clone(&counters),
        gone: 0,
    };
    match serving {
        Some(serving) => *serving.lock().unwrap_or_else(PoisonError::into_inner) = now,
        None => job.serve(serving.insert(Arc::new(Mutex::new(now))))?,
    }
    let (link, loops) = process::link().map_err(failed("make a link"))?;
    // Before the loop begins: it ends when it sees no sign of life. Without the right to, the guard runs as others do.
    let _ = process::realtime(PRIORITY);
    // Not by its name, where an upgrade may have put another program by now.
    let child = Command::new("/proc/self/exe")
        .arg0("forebay-agent")
        .arg("hold")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(loops))
        .stdout(Stdio::null())
        .process_group(0) // an interrupt of the terminal is the guard's
        .spawn()
        .map_err(failed("start the loop"))?;
    state.note(child.id()).map_err(failed("note the processes"))?;
    events.add(boot_ns(), &format!("guard started loop={} deadline_ns={}", child.id(), times.1));
    let inside = OwnCgroups::open(root, child.id(), config);
    let shared_file = |file: &File| file.try_clone().map_err(failed("share a file"));
    with.inside = inside.files().iter().map(shared_file).collect::<Result<_, _>>()?;
    let orders = Orders::new(law, times, (plan, sockets), markings, inside.victims(), &with);
    let watched = process::watch(child.id()).map_err(failed("watch the loop"))?;
    let ended = Arc::new(AtomicBool::new(false));
    let thread = {
        let (board, ended) = (shared()?, Arc::clone(&ended));
        std::thread::spawn(move || show::show(&board, &names, Mode::Enforce, &ended))
    };
    let status = Status::default();
    let shown = Shower { thread: Some(thread), ended, status, counters, unlogged: false };
    watch.set(watched::DEADLINE, times.1);
    watch.beat();
    orders.send(&link, &with).map_err(failed("hand the loop its orders"))?;
    Ok(GuardedLoop { child, watched, link, board, watch, presence, behind, echoes, inside, shown })
}

/// Watches the loop until it ends or is ended. It is dead when this comes back.
fn watch(
    job: &Job<'_>,
    of: GuardedLoop,
    events: &Events,
    serving: &Option<Arc<Mutex<RunningAgent>>>,
) -> Result<(Shower, End, Detector), Failure> {
    let GuardedLoop {
        mut child,
        watched,
        link,
        board,
        watch,
        mut presence,
        behind,
        echoes,
        inside,
        mut shown,
    } = of;
    let (clock, deadline) = (Clock::start(), duration(job.config.deadline).as_nanos() as u64);
    let look = LOOK.as_nanos() as u64;
    let mut life = Detector::new(boot_ns() + BEGIN.as_nanos() as u64, deadline, look);
    let (mut missing, mut foreign) = (0, false);
    let (manager, mut told) = (Manager::of_environment(), Duration::ZERO);
    manager.tell("READY=1");
    let end = loop {
        watch.beat();
        let now = boot_ns();
        life.hear(board.last_beat(), now);
        // The loop is silent at the deadline, not at the next look.
        let due = life.until().clamp(now, now + look);
        let ended = process::ended(&watched, Duration::from_nanos(due - now));
        let awake = boot_ns();
        life.woke(due, awake);
        life.hear(board.last_beat(), awake);
        if ended {
            break End::Gone;
        }
        if life.is_silent(awake) {
            break End::Silent;
        }
        let now = clock.now();
        if now.saturating_sub(told) > TELL {
            told = now;
            manager.tell("WATCHDOG=1");
            if let Some(victim) = inside.victim() {
                break End::Inside(victim.into());
            }
            // Where another process has taken over, nothing begins again.
            let taken = Status::of(&board.read()).foreign;
            if taken && !foreign {
                events.add(boot_ns(), "guard foreign");
            }
            foreign = taken;
            let ready = || !taken && job.is_ready();
            let (anew, gone) = (presence.attend(ready), presence.gone());
            if gone != missing {
                events.add(boot_ns(), &format!("guard gone={gone}"));
            }
            missing = gone;
            // What is back counts once it has been opened.
            if let Some(serving) = serving.as_ref().filter(|_| anew.is_none() || gone > 0) {
                serving.lock().unwrap_or_else(PoisonError::into_inner).gone = gone;
            }
            if let Some(names) = anew {
                break End::Anew(names);
            }
            watch.set(watched::ABSENT, presence.absent(&behind));
        }
        if job.stop.load(Ordering::Relaxed) || now >= job.until {
            break End::Asked;
        }
    };
    let asked = matches!(end, End::Asked | End::Anew(_));
    watch.set(watched::ASKED, asked.into());
    drop(echoes); // marks end
    drop(link); // the loop lifts everything and ends, and with it congestion controls
    let asked = asked && process::ended(&watched, END);
    if !asked {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| Failure::io("wait for the loop", &error))?;
    shown.status = Status::of(&board.read());
    shown.unlogged = status.code() == Some(failure::UNLOGGED.into());
    // A loop that ends with an error has had a reason of its own, even where the guard was asked to end meanwhile.
    // A service manager that asks both to end may be heard by the loop first.
    let stopped = job.stop.load(Ordering::Relaxed) && status.success();
    let end = match end {
        End::Gone if stopped => End::Asked,
        End::Asked if asked && !status.success() && !shown.unlogged => End::Gone,
        end => end,
    };
    Ok((shown, end, life))
}
