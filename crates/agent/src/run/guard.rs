//! The guard: makes everything ready, starts the loop, and undoes all of it when the loop ends or shows no sign of life.
//!
//! The guard opens the files, writes the journal and keeps its rights; the loop acts and has none. Each sees the other's end: the guard
//! by a descriptor of the loop's process, the loop by the end of the link. Sources: `docs/agent-safety.md` has the faults and times.
//!
//! Invariant: what the machine is changed by is in the journal before; the journal goes only when all of it has been undone.

use super::grace::GracePeriod;
use super::job::{self, Job};
use super::manager::Manager;
use super::orders::{Descriptors, Orders};
use super::presence::Presence;
use super::rounds::duration;
use super::{show, sink};
use crate::act::actuators;
use crate::act::journal::{self, Change, Journal};
use crate::act::marks::{self, Counters, Echoes};
use crate::act::plan;
use crate::act::plan::Marking;
use crate::act::undoings::{Cause, Undoings};
use crate::args;
use crate::config::Mode;
use crate::failure::{self, Failure};
use crate::law::status::Status;
use crate::metrics::Now;
use crate::sense::inputs::Input;
use forebay_linux::board::Board;
use forebay_linux::bpf::CongestionControl;
use forebay_linux::{Clock, Root, boot_ns, process};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the guard looks at the loop's sign of life at least, and gives its own.
const LOOK: Duration = Duration::from_millis(10);

/// Time for the loop to begin, and to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// How often the service manager is told that the guard is alive: four times in the `WatchdogSec` of the service.
const TELL: Duration = job::LOOK;

/// Above the loop, so that a loop that does not end is stopped.
const PRIORITY: i32 = 11;

/// The state folder, with a lock that one agent holds at a time.
#[derive(Debug)]
pub struct State<'a> {
    folder: &'a Path,
    lock: File,
}

impl<'a> State<'a> {
    /// The state of a new agent: what a dead one left is undone first.
    pub fn begin(folder: &'a Path, root: &Root) -> Result<Self, Failure> {
        let state = Self::open(folder)?;
        if let Some(undone) = state.undo_stale(root)? {
            Undoings::count(state.folder, Cause::Dead);
            let lifted = undone.lifted.join(", ");
            failure::note(&format!("a dead agent's journal was undone first: {lifted}"));
        }
        Ok(state)
    }

    /// Makes the folder and takes the lock.
    fn open(folder: &'a Path) -> Result<Self, Failure> {
        let shown = folder.display();
        fs::create_dir_all(folder).map_err(|error| Failure::io(format!("make {shown}"), &error))?;
        let path = folder.join("pid");
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(|error| Failure::io(format!("open {}", path.display()), &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, lock }),
            Err(TryLockError::WouldBlock) => {
                let pid = fs::read_to_string(&path).unwrap_or_default();
                let pid = pid.split_whitespace().next().unwrap_or("unknown").to_string();
                Err(Failure::Run(format!(
                    "an agent runs already, as process {pid}, with its state in {shown}"
                )))
            }
            Err(TryLockError::Error(error)) => {
                Err(Failure::io(format!("lock {}", path.display()), &error))
            }
        }
    }

    /// Notes the processes of guard and loop, for whoever asks.
    fn note(&mut self, loop_pid: u32) -> std::io::Result<()> {
        self.lock.set_len(0)?;
        std::os::unix::fs::FileExt::write_all_at(
            &self.lock,
            format!("{} {loop_pid}\n", std::process::id()).as_bytes(),
            0,
        )
    }

    /// Undoes what a dead agent left, by its journal. `None`: there is none.
    fn undo_stale(&self, root: &Root) -> Result<Option<journal::Undone>, Failure> {
        let path = self.folder.join(journal::FILE);
        match fs::read(&path) {
            Ok(text) => self.undo(root, &journal::read(&text)).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::io(format!("read {}", path.display()), &error)),
        }
    }

    /// Undoes changes, and takes the journal away if all of them are undone.
    fn undo(&self, root: &Root, changes: &[Change]) -> Result<journal::Undone, Failure> {
        let undone = journal::undo(&mut root.clone(), changes);
        if undone.failed.is_empty() {
            match fs::remove_file(self.folder.join(journal::FILE)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(Failure::io("remove the journal", &error))
                }
                _ => Ok(undone),
            }
        } else {
            let failed = undone.failed.join("; ");
            Err(Failure::Run(format!(
                "not everything could be undone: {failed}. forebay-agent undo tries again"
            )))
        }
    }
}

/// `forebay-agent undo`.
pub fn undo(args: &args::Undo) -> Result<(), Failure> {
    let root = crate::probe::root(&args.from)?;
    let state = State::open(&args.state)?;
    let undone = state.undo_stale(&root)?;
    if undone.is_some() {
        Undoings::count(state.folder, Cause::Dead);
    }
    let text = match undone {
        None => "there was nothing to undo\n".to_string(),
        Some(undone) if undone.lifted.is_empty() => {
            "a dead agent's journal was there; all had been lifted\n".into()
        }
        Some(undone) => format!("lifted what a dead agent left: {}\n", undone.lifted.join(", ")),
    };
    failure::data(&text)
}

/// Why the guard ended the loop, or the loop itself.
enum End {
    /// An interrupt, or the time that was asked for.
    Asked,
    /// The loop is gone.
    Gone,
    /// No sign of life within the deadline.
    Silent,
    /// What had gone is back, or has to be closed to be back one day.
    Anew(Vec<String>),
}

impl End {
    fn cause(&self) -> Cause {
        match self {
            Self::Asked => Cause::Asked,
            Self::Gone => Cause::LoopGone,
            Self::Silent => Cause::LoopSilent,
            Self::Anew(_) => Cause::Back,
        }
    }
}

/// Acts on the machine until the job's end, an interrupt or a fault. When a victim or an interface is back that had gone, everything is undone
/// and begins anew.
pub fn enforce(
    job: &Job<'_>,
    mut state: State<'_>,
    stacks: Vec<(String, Input)>,
) -> Result<(), Failure> {
    let whole = stacks.iter().any(|(_, input)| matches!(input, Input::Machine(_)));
    if whole && !job.config.law.params.contains_key("memory_busy") {
        return Err(Failure::Input(format!(
            "law.params.memory_busy: is missing: {} throttles others by it, and the default is of another machine; write what the memory of this one moves when it is busy, as forebay agent watch shows it",
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
                failure::note(&format!("{names}: back; everything was undone and begins anew"));
                plan = plan::plan(job.root, job.config)?;
                stacks = job.inputs()?;
                anew = true;
                continue;
            }
            End::Asked => None,
            End::Gone => Some("the loop has ended by itself"),
            End::Silent => Some("the loop gave no sign of life within the deadline"),
        };
        failure::data(&show::summary(Mode::Enforce, &shown.status, 0))?;
        failure::data(&show::marked(&shown.counters))?;
        let failed = |said| Err(Failure::Run(format!("{said}: everything was lifted")));
        return said.map_or(Ok(()), failed);
    }
}

/// From a start to the undoing of all that it changed.
fn once(
    job: &Job<'_>,
    state: &mut State<'_>,
    (stacks, anew): (Vec<(String, Input)>, bool),
    serving: &mut Option<Arc<Mutex<Now>>>,
) -> Result<(Shower, End), Failure> {
    let names: Vec<_> = stacks.iter().map(|(name, _)| name.clone()).collect();
    let markings = plan::markings(job.root, job.config, &names)?;
    if job.plan.actuators.is_empty() && markings.is_empty() && !job.config.tcp_nv {
        return Err(Failure::Input(
            "victim: there is none, and no nic has an echo: there is nothing to enforce; write a [[victim]], or echo = \"tcx\" for a nic".into(),
        ));
    }
    let path = state.folder.join(journal::FILE);
    let file = File::create(&path)
        .map_err(|error| Failure::io(format!("write {}", path.display()), &error))?;
    let mut journal = Journal::new(Durable(file));
    let begun = prepare(job, (stacks, anew), &markings, &mut journal, state, serving);
    let changes = std::mem::take(&mut journal.changes);
    let run = begun.and_then(|running| watch(job, running, serving));
    let undone = state.undo(job.root, &changes);
    let cause = run.as_ref().map_or(Cause::Start, |(_, end)| end.cause());
    Undoings::count(state.folder, cause);
    let (mut shown, end) = match run {
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
struct Running {
    child: Child,
    watched: OwnedFd,
    link: OwnedFd,
    board: Board,
    watch: Board,
    presence: Presence,
    behind: Vec<Option<usize>>, // the stack of each interface
    echoes: Echoes,
    nv: Option<CongestionControl>,
    shown: Shower,
}

/// The thread that shows the status.
struct Shower {
    thread: Option<std::thread::JoinHandle<Result<(), Failure>>>,
    ended: Arc<AtomicBool>,
    status: Status,
    counters: Arc<Counters>,
}

impl Shower {
    /// Ends it. Nobody may read what it says: a guard never waits for that.
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
    state: &mut State<'_>,
    serving: &mut Option<Arc<Mutex<Now>>>,
) -> Result<Running, Failure> {
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
    let nv = if config.tcp_nv { Some(marks::tcp_nv(root)) } else { None };
    let nv = nv.transpose().map_err(|why| Failure::Run(format!("tcp_nv: {why}")))?;
    let (names, inputs): (Vec<_>, Vec<_>) = stacks.into_iter().unzip();
    let logs = match &args.out {
        Some(out) if !anew => sink::files(out, &names)?,
        _ => Vec::new(), // what is logged ends with the first start
    };
    let board = Board::new().map_err(failed("make a board"))?;
    let watch = Board::new().map_err(failed("make a board"))?;
    let shared = || board.share().map_err(failed("share a board"));
    let leases = echoes.leases().into_iter().map(|lease| lease.try_clone_to_owned());
    let with = Descriptors {
        board: shared()?,
        watch: watch.share().map_err(failed("share a board"))?,
        inputs,
        files: files.collect::<Result<_, _>>()?,
        logs,
        leases: leases.collect::<Result<_, _>>().map_err(failed("share a lease"))?,
    };
    let ns = |of| duration(of).as_nanos() as u64;
    let times = (ns(config.every), ns(config.deadline), args.core);
    let sockets = names.iter().map(|name| plan::socket_of(name)).collect();
    let orders = Orders::new(law, times, (plan, sockets), markings, &with);
    let presence = Presence::new(root, config, job.is_of_resctrl(&with.inputs));
    let behind = plan::stacks_of(root, config, &names);
    let counters = echoes.counters();
    let now =
        Now { board: shared()?, names: names.clone(), counters: Arc::clone(&counters), gone: 0 };
    match serving {
        Some(serving) => *serving.lock().unwrap_or_else(PoisonError::into_inner) = now,
        None => job.serve(serving.insert(Arc::new(Mutex::new(now))))?,
    }
    let (link, loops) = process::link().map_err(failed("make a link"))?;
    // Before the loop begins: it ends when it sees no sign of life. Without the right to, the guard runs as others do.
    let _ = process::realtime(PRIORITY);
    let own = std::env::current_exe().map_err(failed("find this program"))?;
    let child = Command::new(own)
        .arg("hold")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(loops))
        .stdout(Stdio::null())
        .process_group(0) // an interrupt of the terminal is the guard's
        .spawn()
        .map_err(failed("start the loop"))?;
    state.note(child.id()).map_err(failed("note the processes"))?;
    let watched = process::watch(child.id()).map_err(failed("watch the loop"))?;
    let ended = Arc::new(AtomicBool::new(false));
    let thread = {
        let (board, ended) = (shared()?, Arc::clone(&ended));
        std::thread::spawn(move || show::show(&board, &names, Mode::Enforce, &ended))
    };
    let shown = Shower { thread: Some(thread), ended, status: Status::default(), counters };
    watch.beat();
    orders.send(&link, &with).map_err(failed("hand the loop its orders"))?;
    Ok(Running { child, watched, link, board, watch, presence, behind, echoes, nv, shown })
}

/// Watches the loop until it ends or is ended. It is dead when this comes back.
fn watch(
    job: &Job<'_>,
    of: Running,
    serving: &Option<Arc<Mutex<Now>>>,
) -> Result<(Shower, End), Failure> {
    let Running {
        mut child,
        watched,
        link,
        board,
        watch,
        mut presence,
        behind,
        echoes,
        nv,
        mut shown,
    } = of;
    let (clock, deadline) = (Clock::start(), duration(job.config.deadline).as_nanos() as u64);
    let (begun, mut last, mut grace) = (boot_ns(), 0, GracePeriod::default());
    let (manager, mut told) = (Manager::of_environment(), Duration::ZERO);
    manager.tell("READY=1");
    let end = loop {
        watch.beat();
        // The loop's own time of its sign of life, but none that is still to come: so it is silent at the deadline, not at the next look.
        let beat = board.last_beat();
        last = last.max(beat.min(boot_ns()));
        let until =
            if beat == 0 { begun + GRACE.as_nanos() as u64 } else { last.saturating_add(deadline) };
        let left = Duration::from_nanos(grace.extend(until).saturating_sub(boot_ns())).min(LOOK);
        let asleep = boot_ns();
        if process::ended(&watched, left) {
            break End::Gone;
        }
        let awake = boot_ns();
        if Duration::from_nanos(awake.saturating_sub(asleep)) > left + LOOK {
            grace.grant(last, awake + LOOK.as_nanos() as u64);
        }
        if awake > grace.extend(until) && board.last_beat() == beat {
            break End::Silent;
        }
        let now = clock.now();
        if now.saturating_sub(told) > TELL {
            told = now;
            manager.tell("WATCHDOG=1");
            // Where somebody else has taken over, nothing begins anew.
            let ready = || !Status::of(&board.read()).foreign && job.is_ready();
            let (anew, gone) = (presence.attend(ready), presence.gone());
            // What is back counts once it has been opened.
            if let Some(serving) = serving.as_ref().filter(|_| anew.is_none() || gone > 0) {
                serving.lock().unwrap_or_else(PoisonError::into_inner).gone = gone;
            }
            if let Some(names) = anew {
                break End::Anew(names);
            }
            watch.publish([presence.absent(&behind)]);
        }
        if job.stop.load(Ordering::Relaxed) || now >= job.until {
            break End::Asked;
        }
    };
    drop((echoes, nv)); // marks end, and no more sockets choose TCP-NV
    drop(link); // the loop lifts everything and ends
    let asked = matches!(end, End::Asked | End::Anew(_)) && process::ended(&watched, GRACE);
    if !asked {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| Failure::io("wait for the loop", &error))?;
    shown.status = Status::of(&board.read());
    // A loop that ends with an error has had a reason of its own, even where the guard was asked to end meanwhile.
    let end = match end {
        End::Asked if asked && !status.success() => End::Gone,
        end => end,
    };
    Ok((shown, end))
}
