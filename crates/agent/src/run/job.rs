//! The job of a run: its configuration, law and plan, the counters that it reads, and whether the machine has all of them.

use crate::act::controls::Control;
use crate::act::journal::Kind;
use crate::act::plan::{self, Plan};
use crate::args;
use crate::config::{Config, Mode};
use crate::failure::Failure;
use crate::metrics::{self, RunningAgent, Served};
use crate::sense::inputs::Input;
use forebay_laws::host::HostParams;
use forebay_linux::{Clock, Root, file};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Interval at which the agent checks that everything named in the configuration is there.
pub const LOOK: Duration = Duration::from_millis(250);

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
    /// Law of the host.
    pub law: &'a HostParams,
    /// What levels write.
    pub plan: &'a Plan,
    /// Congestion controls to register.
    pub controls: &'a [Control],
    /// When it ends by itself.
    pub until: Duration,
    /// Set by an interrupt.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// The counters of each stack, by name.
    pub fn inputs(&self) -> Result<Vec<(String, Input)>, Failure> {
        match &self.args.signals {
            None if self.only_registers() => Ok(Vec::new()),
            None => plan::stacks(self.root, self.config, self.law),
            Some(path) => {
                let file = file::open(path).map_err(|error| {
                    Failure::Input(format!("{} cannot be read: {error}", path.display()))
                })?;
                Ok(vec![("signals".into(), Input::File(file))])
            }
        }
    }

    /// Whether there is nothing but congestion controls: then no law runs, and no counter is needed.
    fn only_registers(&self) -> bool {
        !self.controls.is_empty() && self.config.nic.is_empty() && self.config.victim.is_empty()
    }

    /// Whether a start would find all that the configuration names.
    pub fn is_ready(&self) -> bool {
        let Job { root, config, mode, .. } = *self;
        let names =
            self.inputs().map(|of| of.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
        names.is_ok_and(|names| {
            plan::plan(root, config).is_ok()
                && (mode != Mode::Enforce || plan::markings(root, config, &names).is_ok())
        })
    }

    /// Waits until a start would find all that the configuration names. Whether it does, before an interrupt or the time's end; `alive` is called at each look.
    pub fn wait(&self, clock: &Clock, alive: impl Fn()) -> bool {
        loop {
            if self.stop.load(Ordering::Relaxed) || clock.now() >= self.until {
                return false;
            }
            if self.is_ready() {
                return true;
            }
            alive();
            std::thread::sleep(LOOK);
        }
    }

    /// Serves the status, if that is asked for.
    pub fn serve(&self, now: &Arc<Mutex<RunningAgent>>) -> Result<(), Failure> {
        let Some(at) = &self.args.serve else { return Ok(()) };
        let state = (self.mode == Mode::Enforce).then(|| self.args.state.clone());
        let served = Served { now: Arc::clone(now), mode: self.mode, state };
        metrics::serve(at, move || served.text())
    }

    /// Whether something that it uses is of resctrl.
    pub fn is_of_resctrl(&self, inputs: &[Input]) -> bool {
        let memory = |of: &plan::Actuator| of.kind == Kind::Memory;
        inputs.iter().any(Input::is_of_resctrl) || self.plan.actuators.iter().any(memory)
    }
}
