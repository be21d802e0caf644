//! The loop as a process of its own, started by the guard: no right, no path, nothing but the descriptors that came with its orders.
//!
//! Invariant: however it ends, by the guard's end or silence, by a panic or by the orders, it first lifts everything; only a signal that
//! kills it at once leaves that to the guard.

use super::detector::Detector;
use super::events::Events;
use super::interrupts::interrupts;
use super::orders::Orders;
use super::rounds::{Pace, pinned, rounds};
use super::{sink, watched};
use crate::act::actuators::{Actuation, Files};
use crate::act::inside::OwnCgroups;
use crate::act::marks::Leases;
use crate::config;
use crate::failure::Failure;
use crate::law::control::{Controller, Terms};
use crate::law::levels::{Levels, Throttle};
use crate::sense::inputs::Stacks;
use forebay_linux::{Clock, boot_ns, process};
use forebay_units::Span;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Below the guard, so that a loop that does not end is stopped.
const PRIORITY: i32 = 10;

/// Beyond its period, a round that is later than this is one of a machine that stood still.
const SPARE_NS: u64 = 20_000_000;

/// `forebay-agent hold`.
pub fn hold() -> Result<(), Failure> {
    process::name(c"forebay-agent");
    let link = std::io::stdin();
    // From here on an interrupt, also one that the kernel sends as the guard is gone (SIGHUP to stopped orphans), lifts everything.
    let stop = interrupts()?;
    let (orders, with) = Orders::receive(&link)
        .map_err(|error| Failure::io("receive the guard's orders; the guard runs this", &error))?;
    let every = Span::from_ns(orders.every_ns);
    let spins = every < config::SLEEPS;
    // Without the right to, it runs as others do. One that spins never runs before all others: the kernel would stop it for a twentieth
    // of each second, which is longer than the deadline.
    let _ = if spins { process::stay_in_memory() } else { process::realtime(PRIORITY) };
    process::give_up_rights().map_err(|error| Failure::io("give up rights", &error))?;
    let _ = process::go_on_without_parent(); // else a loop that is stopped when the guard dies lifts nothing
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
    let _pinned = orders.core.map(pinned).transpose()?;
    let (pace, mut guarded) = (Pace::new(every), true);
    let (events, inside) = (Events::of(with.events), OwnCgroups::of(with.inside, orders.victims));
    let mut before = boot_ns();
    let mut life = Detector::new(before + orders.deadline_ns, orders.deadline_ns, SPARE_NS);
    let end = to_the_end((&mut files, &leases, &inside), |acting| {
        let parts = (Stacks::new(clock, with.inputs), acting);
        let terms = Terms::live(&law, orders.max_level, every);
        let laws = (vec![law; stacks], logs);
        let mut controller = Controller::new(clock.now(), stacks, laws, terms, parts);
        controller.on_sockets(&orders.sockets);
        rounds(&mut controller, &clock, (&with.board, &with.watch), &pace, |rest| {
            let now = boot_ns();
            life.hear(with.watch.last_beat(), now);
            life.woke(before + orders.every_ns, now);
            before = now;
            guarded = !life.is_silent(now);
            let ended = |rest| process::ended(&link, rest);
            guarded && !stop.load(Ordering::Relaxed) && !pace.rest(&clock, rest, ended)
        });
        controller.end();
        controller.status().publish(&with.board);
    });
    drop(with.controls); // no more sockets choose them
    let cause = match &end {
        End { whole: false, .. } => "law_failed",
        _ if !guarded => "guard_silent",
        _ if stop.load(Ordering::Relaxed) => "interrupted",
        _ if with.watch.number(watched::ASKED) > 0 => "asked",
        _ => "guard_gone",
    };
    if end.lifted {
        events.lifted(end.at, "loop", cause, &life);
    }
    let logged = writer.is_none_or(|writer| writer.end().is_ok());
    match end {
        End { whole: true, lifted: true, .. } if guarded && !logged => Err(Failure::Unlogged),
        End { whole: true, lifted: true, .. } if guarded => Ok(()),
        End { whole: true, lifted: true, .. } => Err(Failure::Run(
            "the guard gave no sign of life within the deadline; everything was lifted".into(),
        )),
        End { lifted: true, .. } => {
            Err(Failure::Run("the law failed; everything was lifted".into()))
        }
        End { .. } => {
            Err(Failure::Run("something could not be lifted; the guard tries again".into()))
        }
    }
}

/// How the rounds ended.
#[derive(Debug, PartialEq, Eq)]
struct End {
    /// Not by a panic.
    whole: bool,
    /// All that was throttled is as it was before.
    lifted: bool,
    /// Since when, in nanoseconds of CLOCK_BOOTTIME.
    at: u64,
}

/// Acts until `rounds` are over or panic. No mark is made and nothing throttled any more when this comes back.
fn to_the_end(
    (files, leases, inside): (&mut Files, &Leases, &OwnCgroups),
    rounds: impl FnOnce(Actuation<'_>),
) -> End {
    let acting = Actuation { inside, files: &mut *files, leases };
    let whole = catch_unwind(AssertUnwindSafe(|| rounds(acting))).is_ok();
    leases.end();
    End { whole, lifted: files.set(Levels::default()), at: boot_ns() }
}

// A panic that ended the process at once would leave what is throttled to the guard.
const _: () = assert!(cfg!(panic = "unwind"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::act::actuators::ThrottleFile;
    use crate::act::journal::Kind;
    use crate::act::plan::Actuator;
    use crate::law::settings;
    use crate::sense::inputs::Input;
    use forebay_abi::lease;
    use forebay_laws::log::{Sink, Tap};
    use forebay_linux::board::Board;
    use std::fs::{self, File};
    use std::os::fd::AsFd;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// A law log that panics, in the midst of the law's step, once it is told to.
    #[derive(Debug, Default)]
    struct PanickingLog(AtomicBool);

    impl Sink for PanickingLog {
        fn write(&self, _: &[u8]) {
            assert!(!self.0.load(Ordering::Relaxed), "a panic that a test wants");
        }
    }

    /// The guard has nothing to do with it: a law that panics while its victim is frozen and packets are marked.
    #[test]
    fn a_law_that_panics_throttles_and_marks_nothing_any_more() {
        let name = format!("../../target/hold-test-{}", std::process::id());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let (signals, freeze) = (folder.join("signals"), folder.join("cgroup.freeze"));
        fs::write(&signals, "93 43Gbps\n").expect("written");
        fs::write(&freeze, "0\n").expect("written");
        let described = ThrottleFile::of(&Actuator {
            kind: Kind::Freeze,
            cgroup: String::new(),
            path: String::new(),
            socket: None,
            values: ["0", "1"].map(String::from).into(),
        });
        let file = File::options().read(true).write(true).open(&freeze).expect("open");
        let mut files = Files::new([(described, file)]);
        let words = Board::new().expect("memory"); // in place of the kernel's map
        let of = vec![words.as_fd().try_clone_to_owned().expect("a descriptor")];
        let leases = Leases::new(&[(0, 1 << 16)], of, 1_000_000_000).expect("mapped");
        let (every, clock, log) =
            (Span::from_ms(1), Clock::start(), Arc::new(PanickingLog::default()));
        let law = settings::params("hostcc", [], every).expect("hostcc");
        let acts = || {
            let frozen = fs::read_to_string(&freeze).expect("it is there") == "1\n";
            (frozen, words.number(lease::DEADLINE) > 0)
        };
        let inside = OwnCgroups::of(Vec::new(), Vec::new());
        let end = to_the_end((&mut files, &leases, &inside), |acting| {
            let input = Input::File(File::open(&signals).expect("open"));
            let parts = (Stacks::new(clock, vec![input]), acting);
            let laws = (vec![law.clone()], vec![Tap::new(log.clone())]);
            let mut controller =
                Controller::new(clock.now(), 1, laws, Terms::live(&law, 1, every), parts);
            for nth in 0..200_000 {
                std::thread::sleep(Duration::from_millis(1));
                log.0.store(acts() == (true, true), Ordering::Relaxed);
                assert!(nth < 199_999, "the law acts");
                controller.round(clock.now());
            }
        });
        assert!(log.0.load(Ordering::Relaxed), "it had acted when it failed");
        assert_eq!(((end.whole, end.lifted), acts()), ((false, true), (false, false)));
        fs::remove_dir_all(folder).expect("removed");
    }
}
