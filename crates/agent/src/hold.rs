//! The loop as a process of its own, started by the guard: no right, no path, nothing but the descriptors that came with its orders.
//!
//! Invariant: however it ends, by the guard's end or silence, by a panic or by the orders, it first lifts everything; only a signal that
//! kills it at once leaves that to the guard.

use crate::actuators::{Acting, Files};
use crate::config;
use crate::control::{Controller, Levels, Terms, Throttle};
use crate::failure::Failure;
use crate::marks::Leases;
use crate::orders::Orders;
use crate::run::{self, Pace, rounds};
use crate::senses::Stacks;
use crate::sink;
use forebay_linux::{Clock, boot_ns, process};
use forebay_units::Span;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Below the guard, so that a loop that does not end is stopped.
const PRIORITY: i32 = 10;

/// Beyond its period, a round that is later than this is one of a machine that stood still.
const SPARE_NS: u64 = 20_000_000;

/// `forebay-agent hold`.
pub fn hold() -> Result<(), Failure> {
    let link = std::io::stdin();
    let (orders, with) = Orders::receive(&link)
        .map_err(|error| Failure::io("receive the guard's orders; the guard runs this", &error))?;
    let every = Span::from_ns(orders.every_ns);
    let spins = every < config::SLEEPS;
    // Without the right to, it runs as others do. One that spins never runs before all others: the kernel would stop it for a twentieth
    // of each second, which is longer than the deadline.
    let _ = if spins { process::stay_in_memory() } else { process::realtime(PRIORITY) };
    process::give_up_rights().map_err(|error| Failure::io("give up rights", &error))?;
    let law =
        orders.params().ok_or_else(|| Failure::Run(format!("there is no law {:?}", orders.law)))?;
    let (logs, writer) = if with.logs.is_empty() {
        (Vec::new(), None)
    } else {
        let (logs, writer) = sink::of(with.logs);
        (logs, Some(writer))
    };
    let files = orders.files.into_iter().zip(with.files);
    let clock = Clock::start();
    let stacks = orders.stacks.len();
    let mut files = Files::new(files);
    let leases = Leases::new(&orders.leases, with.leases, orders.deadline_ns)
        .map_err(|error| Failure::io("map the leases of marks", &error))?;
    let _pinned = orders.core.map(run::pinned).transpose()?;
    let (pace, mut guarded) = (Pace::new(every), true);
    let (mut before, mut excused) = (boot_ns(), (0, 0));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let acting = Acting { files: &mut files, leases: &leases };
        let parts = (Stacks::new(clock, with.inputs), acting);
        let terms = Terms::live(&law, orders.max_level, every);
        let laws = (vec![law; stacks], logs);
        let mut controller = Controller::new(clock.now(), stacks, laws, terms, parts);
        controller.on_sockets(&orders.sockets);
        rounds(&mut controller, &clock, (&with.board, &with.watch), &pace, |rest| {
            // Where the whole machine stood still, the guard did as well: once for each sign of life, a loop that wakes late gives it a
            // little more time.
            let (now, beat) = (boot_ns(), with.watch.last_beat());
            if now.saturating_sub(before) > orders.every_ns + SPARE_NS && excused.0 != beat {
                excused = (beat, now + SPARE_NS);
            }
            before = now;
            guarded = now <= beat.saturating_add(orders.deadline_ns).max(excused.1);
            guarded && !pace.rest(&clock, rest, |rest| process::ended(&link, rest))
        });
        controller.end();
        controller.status().publish(&with.board);
    }));
    leases.end();
    let lifted = files.set(Levels::default());
    if let Some(writer) = writer {
        writer.end()?;
    }
    match (ended, lifted) {
        (Ok(()), true) if guarded => Ok(()),
        (Ok(()), true) => Err(Failure::Run(
            "the guard gave no sign of life within the deadline; everything was lifted".into(),
        )),
        (Err(_), _) => Err(Failure::Run("the law failed; everything was lifted".into())),
        (_, false) => {
            Err(Failure::Run("something could not be lifted; the guard tries again".into()))
        }
    }
}
