//! `forebay agent`: starts `forebay-agent`, from the folder of this program, then from PATH; and host laws in it, in lockstep.
//!
//! The agent is a program of its own, so that what simulates needs none of its libraries and none of its rights.

use crate::args::Agent;
use crate::failure::Failure;
use crate::{clock, interrupt, itself, say};
use forebay_laws::host_driver::lockstep::Line;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How long a wait for an answer goes on until the user is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long an answer may take after the user has asked for the end.
const PATIENCE: Duration = Duration::from_secs(1);
/// After this time without an answer, the user is told.
const SILENCE: Duration = Duration::from_secs(10);
/// How long an agent may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(500);

/// `forebay agent`: ends with the exit code of the other program.
pub fn agent(args: &Agent) -> Result<(), Failure> {
    match Command::new(program()).args(&args.rest).status() {
        Ok(status) => std::process::exit(code(status)),
        Err(error) => Err(not_started(&error)),
    }
}

fn name() -> String {
    format!("forebay-agent{}", std::env::consts::EXE_SUFFIX)
}

fn program() -> PathBuf {
    let own = itself::folder().map(|folder| folder.join(name()));
    own.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name()))
}

fn not_started(error: &io::Error) -> Failure {
    let name = name();
    match error.kind() {
        ErrorKind::NotFound => Failure::Run(format!(
            "{name} is neither next to this program nor in PATH; build it: cargo build --release -p forebay-agent"
        )),
        _ => Failure::io(format!("start {}", program().display()), error),
    }
}

/// Exit code of the other program; ended by a signal, 130 as after an interrupt.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(130)
}

/// An agent that runs the laws of simulated hosts. It ends when this goes.
#[derive(Debug)]
pub struct Lockstep(Mutex<State>);

#[derive(Debug)]
struct State {
    child: Child,
    line: Option<Socket>, // none once it has failed
    given_up: bool,
}

/// How an agent is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentLoss {
    /// The agent has ended.
    Gone,
    /// The user asked for the end, and it did not answer.
    Silent,
}

#[cfg(unix)]
type Socket = forebay_record::messages::Messages<std::os::unix::net::UnixStream>;
#[cfg(not(unix))]
type Socket = forebay_record::messages::Messages<io::Empty>;

impl Lockstep {
    /// Starts the agent.
    #[cfg(unix)]
    pub fn start() -> Result<Self, Failure> {
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;
        use std::os::unix::process::CommandExt;
        let no_socket = |error: io::Error| Failure::io("make a socket", &error);
        let (here, there) = UnixStream::pair().map_err(no_socket)?;
        here.set_read_timeout(Some(LOOK)).map_err(no_socket)?;
        let child = Command::new(program())
            .arg("lockstep")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .stdout(Stdio::null())
            .process_group(0) // Ctrl-C of a terminal is for the run, which ends the agent
            .spawn()
            .map_err(|error| not_started(&error))?;
        let line = Some(forebay_record::messages::Messages::new(here));
        Ok(Self(Mutex::new(State { child, line, given_up: false })))
    }

    /// There is no agent for this system.
    #[cfg(not(unix))]
    pub fn start() -> Result<Self, Failure> {
        Err(Failure::Run("--agent: forebay-agent is for Linux".into()))
    }

    /// Whether and how the agent is no longer there.
    pub fn lost(&self) -> Option<AgentLoss> {
        // While the lock is held the agent is talked to, so it is there.
        let state = match self.0.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let how = if state.given_up { AgentLoss::Silent } else { AgentLoss::Gone };
        state.line.is_none().then_some(how)
    }
}

/// Waits with the user in sight: for an agent that may be silent.
struct Wait {
    agent: u32,
    since: Instant,
    told: bool,
    asked: Option<Instant>, // when the user's wish to end was first seen
}

impl Wait {
    /// For an answer of the agent with this process number.
    fn of(agent: u32) -> Self {
        Self { agent, since: clock::now(), told: false, asked: None }
    }

    /// Whether to stop waiting.
    fn give_up(&mut self) -> bool {
        if !self.told && self.since.elapsed() > SILENCE {
            self.told = true;
            say::warning(&format!(
                "the agent (process {}) has not answered for {} s; Ctrl-C ends the run",
                self.agent,
                SILENCE.as_secs()
            ));
        }
        interrupt::requested() && self.asked.get_or_insert_with(clock::now).elapsed() > PATIENCE
    }
}

impl Line for Lockstep {
    fn converse(&self, first: &[u8], answer: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let agent = state.child.id();
        let Some(line) = &mut state.line else { return false };
        let mut given_up = false;
        let mut talk = || -> io::Result<()> {
            line.send(first)?;
            loop {
                let mut wait = Wait::of(agent);
                let came = line.receive_unless(&mut || {
                    given_up = wait.give_up();
                    given_up
                })?;
                let Some(more) = answer(&came) else { return Ok(()) };
                line.send(&more)?;
            }
        };
        let done = talk().is_ok();
        if !done {
            (state.line, state.given_up) = (None, given_up);
        }
        done
    }
}

impl Drop for Lockstep {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.line = None; // which ends the agent
        let since = clock::now();
        while !state.given_up && since.elapsed() < FAREWELL {
            match state.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        // Stopped, or hung: it has no rights and nothing to undo.
        let _ = state.child.kill();
        let _ = state.child.wait();
    }
}
