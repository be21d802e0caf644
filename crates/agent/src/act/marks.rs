//! Marks on arriving packets: programs in the kernel, attached by the guard, which mark while the loop renews their leases.
//!
//! The guard loads and attaches; the loop has nothing but the leases, memory that the programs read. A mark needs both: the law wants it
//! now, and renewed the lease within the deadline. Source: hostCC section 4.3, with RFC 3168 for what may be marked; `forebay_abi` for the
//! words of a lease.
//!
//! Invariant: what is attached is in the journal before. Links end with the guard; a clsact filter stays, but its lease ends.

use super::journal::{Change, Journal, Kind};
use super::plan::Marking;
use super::unmark::name;
use crate::config;
use forebay_abi::{COUNTS, Outcome, WHOLE, ecn, lease};
use forebay_bpf_law::elf::Elf;
use forebay_linux::boot_ns;
use forebay_linux::bpf::{Hook, Link, Program, Words, with_maps};
use forebay_linux::{Root, Shared, netlink};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How long the lease of a self-test lasts.
const TEST_NS: u64 = 60_000_000_000;

/// Programs that are attached, as their guard has them.
#[derive(Debug, Default)]
pub struct Echoes {
    of: Vec<Echo>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
struct Echo {
    lease: Words,
    _program: Program,
    _link: Option<Link>, // none: a filter of clsact, which `undo` takes away
}

/// Counters of all programs, for display.
#[derive(Debug, Default)]
pub struct Counters(Vec<(String, Shared)>);

impl Counters {
    /// Each interface, and its packets by outcome.
    pub fn read(&self) -> impl Iterator<Item = (&str, [u64; Outcome::ALL.len()])> {
        self.0.iter().map(|(nic, counts)| {
            let mut sums = [0u64; Outcome::ALL.len()];
            for cpu in counts.words().chunks_exact(COUNTS) {
                for (sum, word) in sums.iter_mut().zip(cpu) {
                    *sum = sum.wrapping_add(word.load(Relaxed));
                }
            }
            (nic.as_str(), sums)
        })
    }
}

impl Echoes {
    /// Loads, tries and attaches a program for each. The error is a sentence; what was attached by then is left to undoing.
    pub fn begin<W: Write>(
        root: &Root,
        journal: &mut Journal<W>,
        of: &[Marking],
    ) -> Result<Self, String> {
        let mut begun = Vec::new();
        let mut counters = Vec::new();
        for marking in of {
            let (echo, counts) = Echo::begin(root, journal, marking).map_err(|why| {
                format!("nic {:?}, echo {:?}: {why}", marking.nic, marking.echo.name())
            })?;
            begun.push(echo);
            counters.push((marking.nic.clone(), counts));
        }
        Ok(Self { of: begun, counters: Arc::new(Counters(counters)) })
    }

    /// Leases of the programs, for the loop.
    pub fn leases(&self) -> Vec<BorrowedFd<'_>> {
        self.of.iter().map(|echo| echo.lease.as_fd()).collect()
    }

    /// Counters of the programs. They outlive the programs.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }
}

/// What went wrong while `what` was done.
fn refuse(what: &str) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot {what}: {error}")
}

/// Instructions of a section of the object, with its maps.
fn code_of(section: &str, maps: [(&str, &Words); 2]) -> Option<Vec<u64>> {
    let (code, names) = Elf::read(forebay_bpf::ECHO).ok()?.program(section)?;
    let of = |(at, name): (usize, &str)| {
        let (_, map) = maps.iter().find(|(of, _)| *of == name)?;
        Some((at, map.as_fd()))
    };
    let maps = names.into_iter().map(of).collect::<Option<Vec<_>>>()?;
    Some(with_maps(&code, &maps))
}

impl Echo {
    fn begin<W: Write>(
        root: &Root,
        journal: &mut Journal<W>,
        of: &Marking,
    ) -> Result<(Self, Shared), String> {
        let name = name();
        let cpus = forebay_linux::machine::possible_cpus(root);
        let lease = Words::new("lease", 1, lease::WORDS as u32).map_err(refuse("make a map"))?;
        let counts = Words::new("counts", cpus, COUNTS as u32).map_err(refuse("make a map"))?;
        let (hook, section) = match of.echo {
            config::Echo::Cgroup => (Hook::Cgroup, "cgroup"),
            _ => (Hook::Interface, "tc"),
        };
        let code = code_of(section, [("lease", &lease), ("counts", &counts)])
            .ok_or("this program holds no such object")?;
        let program = Program::load(&code, (hook, &name)).map_err(refuse("load the program"))?;
        let shared = Shared::of(&lease, lease::WORDS).map_err(refuse("map the lease"))?;
        let counts =
            Shared::of(&counts, COUNTS * cpus as usize).map_err(refuse("map the counters"))?;
        try_out(&program, &shared)?;
        counts.words().iter().for_each(|word| word.store(0, Relaxed));
        let how = match of.echo {
            config::Echo::Clsact
                if netlink::has_clsact(of.interface).map_err(refuse("look for clsact"))? =>
            {
                "clsact"
            }
            config::Echo::Clsact => "clsact made",
            other => other.name(),
        };
        let change = Change {
            kind: Kind::Mark,
            path: of.nic.clone(),
            before: how.into(),
            ours: vec![name.clone()],
            id: None,
        };
        journal.add(change).map_err(refuse("write the journal for it"))?;
        let link = match of.echo {
            config::Echo::Cgroup => {
                shared.words()[lease::INTERFACE].store(of.interface.into(), Relaxed);
                let folder = of.folder.as_deref().unwrap_or("/");
                let folder = root.open(folder).map_err(refuse(&format!("open {folder}")))?;
                Some(program.attach_cgroup(&folder).map_err(refuse("attach it to the cgroup"))?)
            }
            config::Echo::Clsact => {
                if how == "clsact made" {
                    netlink::add_clsact(of.interface).map_err(refuse("add clsact"))?;
                }
                netlink::add_filter(of.interface, &program, &name)
                    .map_err(refuse("add a filter"))?;
                None
            }
            _ => Some(program.attach_tcx(of.interface).map_err(refuse("attach it by tcx"))?),
        };
        Ok((Self { lease, _program: program, _link: link }, counts))
    }
}

/// Runs a program that is attached nowhere over packets of its own: with a living lease it marks what is ECN-capable and nothing else,
/// without one nothing.
fn try_out(program: &Program, shared: &Shared) -> Result<(), String> {
    let [deadline, share, ..] = shared.words() else { return Err("the lease is too short".into()) };
    share.store(WHOLE, Relaxed);
    for (of, until) in [("living", boot_ns() + TEST_NS), ("expired", 1), ("no", 0)] {
        for ecn in [ecn::NOT_ECT, ecn::ECT_0, ecn::ECT_1, ecn::CE] {
            deadline.store(until, Relaxed);
            let packet = test_packet(ecn);
            let mut after = [0; 64];
            let ran = program.test_run(&packet, &mut after, 1).map_err(refuse("run it"))?;
            deadline.store(0, Relaxed);
            let wanted = if of == "living" && ecn != ecn::NOT_ECT { ecn::CE } else { ecn };
            let same = after[..ran.len].ends_with(&test_packet(wanted)[ETHERNET..]);
            if !same {
                return Err(format!(
                    "self-test: under {of} lease, a packet with ECN {ecn} is not left with {wanted}"
                ));
            }
        }
    }
    Ok(())
}

const ETHERNET: usize = 14;

/// A packet of IPv4, from nowhere to nowhere, with this ECN field.
fn test_packet(ecn: u8) -> [u8; ETHERNET + 20] {
    let mut packet = [0; ETHERNET + 20];
    (packet[12], packet[14], packet[15], packet[17], packet[22], packet[23]) =
        (8, 0x45, ecn, 20, 64, 17);
    let words =
        packet[ETHERNET..].chunks_exact(2).map(|of| u32::from(of[0]) << 8 | u32::from(of[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The leases, as the loop has them.
#[derive(Debug, Default)]
pub struct Leases {
    of: Vec<(usize, u64, Shared)>, // stack and share
    lasts_ns: u64,
}

impl Leases {
    /// Over descriptors from the guard, each with its stack and share; each renewal lasts so long.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(of: &[(usize, u64)], descriptors: Vec<OwnedFd>, lasts_ns: u64) -> io::Result<Self> {
        let each = of
            .iter()
            .zip(descriptors)
            .map(|((stack, share), lease)| Ok((*stack, *share, Shared::of(lease, lease::WORDS)?)));
        Ok(Self { of: each.collect::<io::Result<_>>()?, lasts_ns })
    }

    /// Packets on their way to this stack are marked from now on until the lease ends; or are not.
    pub fn mark(&self, stack: usize, on: bool) {
        for (_, share, lease) in self.of.iter().filter(|(of, ..)| *of == stack) {
            let until = if on { boot_ns().saturating_add(self.lasts_ns) } else { 0 };
            lease.words()[lease::SHARE].store(*share, Relaxed);
            lease.words()[lease::DEADLINE].store(until, Relaxed);
        }
    }

    /// Nothing is marked any more.
    pub fn end(&self) {
        self.of.iter().for_each(|(.., lease)| lease.words()[lease::DEADLINE].store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests;
