//! What the guard hands to its loop: one message with all that the loop needs, and its descriptors. It opens nothing itself.

use crate::act::actuators::ThrottleFile;
use crate::act::plan::{Marking, Plan};
use crate::sense::drops::Machine;
use crate::sense::inputs::Input;
use forebay_laws::host::HostParams;
use forebay_linux::board::Board;
use forebay_linux::counters::Handed;
use forebay_linux::process;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The message.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    /// Name of the law.
    pub law: String,
    /// All of its parameters.
    pub params: Vec<(String, String)>,
    /// Time between two readings, in nanoseconds.
    pub every_ns: u64,
    /// The core that the loop runs on alone, if it has one.
    pub core: Option<u32>,
    /// The strongest level.
    pub max_level: u8,
    /// For each stack, how many descriptors it is read from.
    pub stacks: Vec<usize>,
    /// Of the stack that is the whole machine, if that is what is read: what its descriptors are.
    pub machine: Vec<Handed>,
    /// The socket of each stack, where it is known.
    pub sockets: Vec<Option<usize>>,
    /// What each file is that throttles.
    pub files: Vec<ThrottleFile>,
    /// For each lease of marks, the stack whose law decides, and the share that is marked, in units of 1/65536.
    pub leases: Vec<(usize, u64)>,
    /// How long a lease lasts after each renewal, and a sign of life of the guard's, in nanoseconds.
    pub deadline_ns: u64,
    /// How many law logs there are: none, or one for each stack.
    pub logs: usize,
    /// The victims' cgroups.
    pub victims: Vec<String>,
    /// How many descriptors say in which cgroup guard and loop are.
    pub inside: usize,
    /// How many congestion controls there are.
    pub controls: usize,
}

/// What comes with the message.
#[derive(Debug)]
pub struct Descriptors {
    /// Where the loop shows its status.
    pub board: Board,
    /// Where the guard gives its sign of life, and says which stacks are absent.
    pub watch: Board,
    /// Where events are written, at the end.
    pub events: File,
    /// What says in which cgroup guard and loop are.
    pub inside: Vec<File>,
    /// The counters of each stack.
    pub inputs: Vec<Input>,
    /// The files that throttle.
    pub files: Vec<File>,
    /// The law logs.
    pub logs: Vec<File>,
    /// The leases.
    pub leases: Vec<OwnedFd>,
    /// Links of congestion controls, which are registered as long as the loop has them.
    pub controls: Vec<OwnedFd>,
}

impl Orders {
    /// Orders for this law.
    pub fn new(
        law: &HostParams,
        (every_ns, deadline_ns, core): (u64, u64, Option<u32>),
        (plan, sockets): (&Plan, Vec<Option<usize>>),
        markings: &[Marking],
        victims: &[String],
        with: &Descriptors,
    ) -> Self {
        Self {
            law: law.name().into(),
            params: law.values().map(|(of, value)| (of.name.into(), value.to_string())).collect(),
            every_ns,
            core,
            max_level: plan.max_level,
            stacks: with.inputs.iter().map(|input| input.descriptors().len()).collect(),
            machine: with.inputs.iter().flat_map(Input::handed).collect(),
            sockets,
            files: plan.actuators.iter().map(ThrottleFile::of).collect(),
            leases: markings.iter().map(|of| (of.stack, of.share)).collect(),
            deadline_ns,
            logs: with.logs.len(),
            victims: victims.into(),
            inside: with.inside.len(),
            controls: with.controls.len(),
        }
    }

    /// The law that they name.
    pub fn params(&self) -> Option<HostParams> {
        let mut params = HostParams::new(&self.law).ok()?;
        self.params.iter().try_for_each(|(name, value)| params.set(name, value)).ok()?;
        Some(params)
    }

    /// Sends them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn send(&self, link: impl AsFd, with: &Descriptors) -> io::Result<()> {
        let mut descriptors: Vec<BorrowedFd<'_>> =
            vec![with.board.as_fd(), with.watch.as_fd(), with.events.as_fd()];
        descriptors.extend(with.inside.iter().map(AsFd::as_fd));
        descriptors.extend(with.inputs.iter().flat_map(Input::descriptors));
        descriptors.extend(with.files.iter().chain(&with.logs).map(AsFd::as_fd));
        descriptors.extend(with.leases.iter().chain(&with.controls).map(AsFd::as_fd));
        process::send(link, &serde_json::to_vec(self)?, &descriptors)
    }

    /// Waits for them.
    ///
    /// # Errors
    /// If the link ends, or what came is not what was sent.
    pub fn receive(link: impl AsFd) -> io::Result<(Self, Descriptors)> {
        let (bytes, descriptors) = process::receive(link)?;
        let orders: Self = serde_json::from_slice(&bytes)?;
        let mut rest = descriptors.into_iter();
        let with = (|| {
            let (board, watch) = (Board::of(rest.next()?).ok()?, Board::of(rest.next()?).ok()?);
            let events = File::from(rest.next()?);
            let inside: Vec<_> = rest.by_ref().take(orders.inside).map(File::from).collect();
            let mut input = |count: &usize| {
                let of = rest.by_ref().take(*count).collect();
                if orders.machine.is_empty() {
                    return Input::of(of);
                }
                Machine::of(orders.machine.clone(), of).map(|of| Input::Machine(Box::new(of)))
            };
            let inputs = orders.stacks.iter().map(&mut input).collect::<Option<Vec<_>>>()?;
            let files: Vec<_> = rest.by_ref().take(orders.files.len()).map(File::from).collect();
            let logs: Vec<_> = rest.by_ref().take(orders.logs).map(File::from).collect();
            let leases: Vec<_> = rest.by_ref().take(orders.leases.len()).collect();
            let controls: Vec<_> = rest.collect();
            let whole = inside.len() == orders.inside
                && files.len() == orders.files.len()
                && logs.len() == orders.logs
                && leases.len() == orders.leases.len()
                && controls.len() == orders.controls;
            whole.then_some(Descriptors {
                board,
                watch,
                events,
                inside,
                inputs,
                files,
                logs,
                leases,
                controls,
            })
        })();
        Ok((orders, with.ok_or(io::ErrorKind::InvalidData)?))
    }
}
