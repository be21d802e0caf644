//! Cores that run the stack and copy to applications, one flow after the other on its core.
//!
//! Models: work for each packet and each byte, and a copy with a limited number of lines in flight, whose time follows
//! the latency of reading memory; bytes wait unread until their turn.
//! Leaves out: protocol work is done with the copy, so acknowledgements do not wait for it; wake-ups; user buffers, which
//! stay in cache (note, section 2).

use super::Read;
use super::settings::{LINE, ReaderSettings};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Work {
    read: Read,
    nic: usize, // that received it
    fixed: f64, // ns
    lines: f64,
}

#[derive(Clone, Debug, Default)]
struct Core {
    work: Option<Work>,      // that it does; none: nothing waits
    done: f64,               // share of it
    time: f64,               // that it takes in all, as memory is, ns
    waiting: VecDeque<Work>, // for it
}

/// All such cores of a host.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    settings: ReaderSettings,
    per_line_in_flight: f64, // 1 / lines in flight of a copy
    cores: Vec<Core>,
    unread: u64,
    finished: VecDeque<(usize, Read)>,
    in_use: u32,
    busy: f64,        // sum over cores of the time they worked, in ns
    parts: Vec<Part>, // by NIC, if there are several
}

/// What cores do of what one NIC received.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    rate: f64, // lines read per ns in the last step
    busy: f64, // ns
}

impl Readers {
    /// Those of a machine with so many NICs.
    pub(super) fn new(settings: &ReaderSettings, nics: usize) -> Self {
        Self {
            settings: *settings,
            per_line_in_flight: 1.0 / f64::from(settings.lines_in_flight),
            cores: vec![Core::default(); settings.cores.max(1) as usize],
            unread: 0,
            finished: VecDeque::new(),
            in_use: 0,
            busy: 0.0,
            parts: if nics > 1 { vec![Part::default(); nics] } else { Vec::new() },
        }
    }

    /// Adds work to core `core`, counted round, of what NIC `nic` received.
    pub(super) fn add(&mut self, core: u32, nic: usize, read: Read, packets: u32) {
        let cores = self.cores.len();
        self.in_use = self.in_use.max((core + 1).min(cores as u32));
        let kilobytes = read.bytes as f64 * 1e-3;
        let fixed = self.settings.per_packet.as_ps() as f64 * f64::from(packets)
            + self.settings.per_kilobyte.as_ps() as f64 * kilobytes;
        let reads = f64::from(self.settings.reads_permille) * 1e-3;
        let lines = read.bytes as f64 / LINE as f64 * reads;
        let work = Work { read, nic, fixed: fixed * 1e-3, lines };
        self.unread += read.bytes;
        let core = &mut self.cores[core as usize % cores];
        match core.work {
            None => core.work = Some(work),
            Some(_) => core.waiting.push_back(work),
        }
    }

    /// Where a read takes `latency` ns: sets how long the work of each core takes, and returns the least time, in ns,
    /// until a core is done with it.
    #[inline]
    pub(super) fn price(&mut self, latency: f64) -> f64 {
        let per_line = latency * self.per_line_in_flight;
        let mut least = f64::INFINITY;
        for core in &mut self.cores[..self.in_use as usize] {
            if let Some(work) = &core.work {
                core.time = work.fixed + work.lines * per_line;
                least = least.min((1.0 - core.done) * core.time);
            }
        }
        least
    }

    /// Works for `dt` ns at the last price. Returns the lines read per ns.
    #[inline]
    pub(super) fn step(&mut self, dt: f64) -> f64 {
        let mut reads = 0.0;
        self.parts.iter_mut().for_each(|part| part.rate = 0.0);
        for core in &mut self.cores[..self.in_use as usize] {
            let Some(work) = &core.work else { continue };
            self.busy += dt;
            let speed = 1.0 / core.time;
            reads += work.lines * speed;
            if let Some(part) = self.parts.get_mut(work.nic) {
                part.rate += work.lines * speed;
                part.busy += dt;
            }
            core.done += dt * speed;
            if core.done >= DONE {
                self.unread -= work.read.bytes;
                self.finished.push_back((work.nic, work.read));
                core.work = core.waiting.pop_front();
                core.done = 0.0;
            }
        }
        reads
    }

    /// Whether work was done that nobody has taken.
    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Work that was done, of what NIC `nic` received.
    #[inline]
    pub(super) fn finish(&mut self, nic: usize) -> Option<Read> {
        if self.finished.is_empty() { None } else { self.first_of(nic) }
    }

    #[inline(never)]
    fn first_of(&mut self, nic: usize) -> Option<Read> {
        let first = self.finished.iter().position(|done| done.0 == nic)?;
        self.finished.remove(first).map(|done| done.1)
    }

    /// How long cores worked on what NIC `nic` received, all together, in ns.
    pub(super) fn busy(&self, nic: usize) -> f64 {
        self.parts.get(nic).map_or(self.busy, |part| part.busy)
    }

    /// Lines read per ns in the last step of what NIC `nic` received, one of several.
    pub(super) fn rate(&self, nic: usize) -> f64 {
        self.parts[nic].rate
    }

    /// Bytes that wait for applications.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Cores that have had work.
    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Whether work waits for every core that has ever had some.
    pub(super) fn all_late(&self) -> bool {
        self.in_use > 0 && self.cores[..self.in_use as usize].iter().all(|c| !c.waiting.is_empty())
    }

    /// Whether no core works.
    pub(super) fn is_idle(&self) -> bool {
        self.unread == 0
    }
}

/// Share from which work counts as done: instants are whole picoseconds.
const DONE: f64 = 1.0 - 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    /// A core that only works is not late; one for which a second delivery waits is, and all of them have to be.
    #[test]
    fn late_is_who_has_work_waiting() {
        let mut readers = Readers::new(&ReaderSettings::default(), 1);
        let read = Read { flow: 0, bytes: 4000 };
        for (core, late) in [(0, false), (0, true), (1, false), (1, true)] {
            readers.add(core, 0, read, 1);
            assert_eq!(readers.all_late(), late);
        }
        let done = readers.price(70.0);
        readers.step(done);
        assert!(!readers.all_late());
    }
}
