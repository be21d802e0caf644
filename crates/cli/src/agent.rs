//! `forebay agent`: starts `forebay-agent`, from the folder of this program, then from PATH; and host laws in it, in lockstep.
//!
//! The agent is a program of its own, so that what simulates needs none of its libraries and none of its rights.

use crate::args::Agent;
use crate::failure::Failure;
use forebay_laws::host_driver::lockstep::Line;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

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
    let own = std::env::current_exe().ok().map(|path| path.with_file_name(name()));
    own.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(name()))
}

fn not_started(error: &io::Error) -> Failure {
    let name = name();
    match error.kind() {
        ErrorKind::NotFound => Failure::Run(format!(
            "{name} is neither beside this program nor in PATH; build it: cargo build --release -p forebay-agent"
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
        let (here, there) =
            UnixStream::pair().map_err(|error| Failure::io("make a socket", &error))?;
        let child = Command::new(program())
            .arg("lockstep")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| not_started(&error))?;
        let line = Some(forebay_record::messages::Messages::new(here));
        Ok(Self(Mutex::new(State { child, line })))
    }

    /// There is no agent for this system.
    #[cfg(not(unix))]
    pub fn start() -> Result<Self, Failure> {
        Err(Failure::Run("--agent: forebay-agent is for Linux".into()))
    }

    /// Whether the agent has gone.
    pub fn broken(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).line.is_none()
    }
}

impl Line for Lockstep {
    fn converse(&self, first: &[u8], answer: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(line) = &mut state.line else { return false };
        let mut talk = || -> io::Result<()> {
            line.send(first)?;
            while let Some(more) = answer(&line.receive()?) {
                line.send(&more)?;
            }
            Ok(())
        };
        let done = talk().is_ok();
        if !done {
            state.line = None;
        }
        done
    }
}

impl Drop for Lockstep {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.line = None; // which ends the agent
        let _ = state.child.wait();
    }
}
