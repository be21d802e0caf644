//! Cores that run the stack and copy to applications, one delivery after the other on the core of its flow, in order of arrival or flow by flow
//! ([`Poll`]).
//!
//! Models: work for each packet and each byte, and a copy with a limited number of lines in flight, whose time follows
//! the latency of reading memory, beside its work or after it ([`Copying`]); bytes wait unread until their turn.
//! Leaves out: protocol work is done with the copy, so acknowledgements do not wait for it; wake-ups; user buffers, which
//! stay in cache (note, section 2).

use super::llc::Llc;
use super::read_latency;
use super::receive_queue::{ReceiveQueue, Traffic};
use super::settings::{Copying, LINE, Poll, ReaderSettings};
use forebay_units::Span;
use std::collections::{BTreeMap, VecDeque};

/// Bytes that an application reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadBytes {
    /// What the caller knows the flow by.
    pub flow: u32,
    /// How many.
    pub bytes: u64,
    /// Offset in its stream that this read comes to.
    pub upto: u64,
}

/// Work of a core on what it reads, beside copying.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handling {
    /// Packets that it came in.
    pub packets: u32,
    /// Time that the application takes for it.
    pub service: Span,
    /// Whether these are fragments of messages of more than one packet.
    pub fragments: bool,
    /// Traffic that its reads are counted with: see [`super::Totals::reads_of`].
    pub traffic: u16,
}

impl Handling {
    /// Handling of this number of packets by an application without work of its own.
    pub const fn of(packets: u32) -> Self {
        Self { packets, service: Span::ZERO, fragments: false, traffic: 0 }
    }
}

#[derive(Clone, Copy, Debug)]
struct Work {
    read: ReadBytes,
    nic: u32, // that received it
    at: Stage,
    fragments: bool, // of a message that is assembled
    traffic: u16,
    buffers: u32, // that it reads, where they are followed
    fixed: f64,   // ns
    lines: f64,
}

/// What a core is at.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    /// Work, with reads between.
    Both,
    /// Work; the reads come after it.
    Work,
    /// Reads alone, as many times one after the other as [`Core::rounds`]. What is fixed is what takes no memory.
    Reads,
}

#[derive(Clone, Debug, Default)]
struct Core {
    work: Option<Work>,      // that it does; none: nothing waits
    done: f64,               // share of its stage
    time: f64,               // that this takes in all, as memory is, ns
    rounds: f64,             // in which it waits for memory
    used: bool,              // has had work
    waiting: VecDeque<Work>, // for it
}

/// Receive buffers of a core's work, where they are followed.
#[derive(Clone, Debug, Default)]
struct Buffers {
    at_hand: Vec<u32>,
    waiting: VecDeque<u32>,          // of the work that waits, in order
    polled: Option<Box<PolledWork>>, // where flows take turns: the work that waits, with its buffers
    traffic: Traffic,                // of what is at hand
}

/// Work that waits for a core, flow by flow.
#[derive(Clone, Debug, Default)]
struct PolledWork {
    places: BTreeMap<u32, u32>,                  // by flow
    flows: Vec<(VecDeque<Work>, VecDeque<u32>)>, // and the buffers
    at: usize,                                   // whose turn it was
    waiting: usize,                              // work of all of them
}

impl PolledWork {
    /// What waits of a flow.
    fn of(&mut self, flow: u32) -> &mut (VecDeque<Work>, VecDeque<u32>) {
        let next = self.flows.len() as u32;
        let place = *self.places.entry(flow).or_insert(next) as usize;
        if place == self.flows.len() {
            self.flows.push(Default::default());
        }
        &mut self.flows[place]
    }

    /// The next in turn that has something.
    fn next(&mut self) -> Option<Work> {
        self.waiting = self.waiting.checked_sub(1)?;
        loop {
            self.at = if self.at + 1 < self.flows.len() { self.at + 1 } else { 0 };
            if let Some(work) = self.flows[self.at].0.pop_front() {
                return Some(work);
            }
        }
    }
}

impl Buffers {
    /// Buffers of a core that reads in this order.
    fn new(poll: Poll) -> Self {
        let polled = match poll {
            Poll::Arrival => None,
            Poll::RoundRobin => Some(Box::default()),
        };
        Self { polled, ..Self::default() }
    }

    /// Where buffers of the work of `flow` wait.
    fn of(&mut self, flow: u32) -> &mut VecDeque<u32> {
        match &mut self.polled {
            Some(polled) => &mut polled.of(flow).1,
            None => &mut self.waiting,
        }
    }

    /// The core begins to read what comes next.
    fn begin(&mut self, work: &Work, queue: &mut ReceiveQueue) {
        let mut at_hand = std::mem::take(&mut self.at_hand);
        at_hand.clear();
        at_hand.extend(self.of(work.read.flow).drain(..work.buffers as usize));
        self.at_hand = at_hand;
        self.traffic =
            queue.read(&self.at_hand, work.traffic, work.fragments.then_some(work.read.flow));
    }
}

/// All such cores of a host.
#[derive(Clone, Debug)]
pub(super) struct Readers {
    settings: ReaderSettings,
    per_line_in_flight: f64, // 1 / lines in flight of a copy
    bunch: f64,
    cores: Vec<Core>,
    buffers: Vec<Buffers>, // by core; none where they are not followed
    beside_another: f64, // by how much work takes longer while the other thread of a core works; 1: each core has one
    each_for_itself: bool, // for one or the other reason
    working: Vec<bool>,  // by core, as the stages of others are priced
    unread: u64,
    finished: VecDeque<(usize, ReadBytes)>,
    upto: u32,        // cores up to the last that has had work
    in_use: u32,      // of these, that have had some
    busy: f64,        // sum over cores of the time they worked, in ns
    parts: Vec<Part>, // by NIC, if there are several
}

/// Lines of memory that copying takes, per ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyRate {
    /// Read from there.
    pub reads: f64,
    /// Of buffers that were written back to make place for these.
    pub written: f64,
}

/// What cores do of what one NIC received.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    rate: f64, // lines read from memory per ns in the last step
    busy: f64, // ns
}

impl Core {
    /// Where a line takes `per_line` ns, and work that waits for no memory `longer` times what it takes alone: sets how long the stage takes,
    /// and lowers `least` to how long it takes on.
    #[inline(always)]
    fn price(&mut self, latency: f64, per_line: f64, longer: f64, least: &mut f64) {
        let Some(work) = &self.work else { return };
        self.time = match work.at {
            Stage::Both => work.fixed * longer + work.lines * per_line,
            Stage::Work => work.fixed * longer,
            Stage::Reads => work.fixed + self.rounds * latency,
        };
        let left = (1.0 - self.done) * self.time;
        *least = if left < *least { left } else { *least }; // no number is a NaN, which `min` allows for
    }
}

impl Readers {
    /// Readers of a machine with this number of NICs. `by_buffer`: buffers are followed, and cores read in this order.
    pub(super) fn new(settings: &ReaderSettings, nics: usize, by_buffer: Option<Poll>) -> Self {
        let cores = settings.cores.max(1) as usize;
        Self {
            settings: *settings,
            per_line_in_flight: 1.0 / f64::from(settings.lines_in_flight),
            bunch: match settings.copying {
                Copying::Evenly => 0.0,
                Copying::InBunches => f64::from(settings.lines_in_flight),
            },
            cores: vec![Core::default(); cores],
            buffers: by_buffer.map_or(Vec::new(), |poll| vec![Buffers::new(poll); cores]),
            beside_another: match settings.smt {
                0 | 1 => 1.0,
                _ => 1e3 / f64::from(settings.smt_share_permille.max(1)),
            },
            each_for_itself: by_buffer.is_some() || settings.smt > 1,
            working: Vec::new(),
            unread: 0,
            finished: VecDeque::new(),
            upto: 0,
            in_use: 0,
            busy: 0.0,
            parts: if nics > 1 { vec![Part::default(); nics] } else { Vec::new() },
        }
    }

    /// Adds work to core `core`, counted round, of what NIC `nic` received.
    pub(super) fn add(
        &mut self,
        core: u32,
        nic: usize,
        read: ReadBytes,
        handling: Handling,
        llc: &mut Llc,
    ) {
        let cores = self.cores.len();
        self.upto = self.upto.max((core + 1).min(cores as u32));
        let kilobytes = read.bytes as f64 * 1e-3;
        let Handling { packets, service, fragments, traffic } = handling;
        let fixed = self.settings.per_packet.as_ps() as f64 * f64::from(packets)
            + self.settings.per_kilobyte.as_ps() as f64 * kilobytes
            + service.as_ps() as f64;
        let reads = f64::from(self.settings.reads_permille) * 1e-3;
        let lines = read.bytes as f64 / LINE as f64 * reads;
        let at = match self.settings.copying {
            Copying::Evenly => Stage::Both,
            Copying::InBunches => Stage::Work,
        };
        let nic = nic as u32;
        let fixed = fixed * 1e-3;
        let mut work = Work { read, nic, at, fragments, traffic, buffers: 0, fixed, lines };
        self.unread += read.bytes;
        let core = core as usize % cores;
        self.in_use += u32::from(!self.cores[core].used);
        self.cores[core].used = true;
        let idle = self.cores[core].work.is_none();
        if let Some(queue) = llc.queue() {
            let of_core = &mut self.buffers[core];
            work.buffers = queue.take_claimed(of_core.of(read.flow));
            if idle {
                of_core.begin(&work, queue);
                llc.reads_miss(of_core.traffic.missing);
            } else if let Some(polled) = &mut of_core.polled {
                polled.waiting += 1;
                polled.of(read.flow).0.push_back(work);
                return;
            }
        }
        let core = &mut self.cores[core];
        match idle {
            true => core.work = Some(work),
            false => core.waiting.push_back(work),
        }
    }

    /// Where a read of memory takes `latency` ns: sets how long the stage of each core takes, and returns the least time, in ns,
    /// until a core is done with it.
    #[inline]
    pub(super) fn price(&mut self, latency: f64, llc: &Llc) -> f64 {
        let per_line =
            read_latency(llc.missing(), latency, llc.read_hit()) * self.per_line_in_flight;
        if self.each_for_itself {
            return self.price_each(latency, per_line, llc.read_hit());
        }
        let mut least = f64::INFINITY;
        for core in &mut self.cores[..self.upto as usize] {
            core.price(latency, per_line, 1.0, &mut least);
        }
        least
    }

    /// Prices each core by itself: cores differ in their misses, or in whether the sibling thread works.
    #[inline(never)]
    fn price_each(&mut self, latency: f64, per_line: f64, hit: f64) -> f64 {
        let (cores, mut least) = (self.cores.len(), f64::INFINITY);
        if self.beside_another == 1.0 && !self.buffers.is_empty() {
            for (core, of_core) in self.cores[..self.upto as usize].iter_mut().zip(&self.buffers) {
                let per_line = of_core.traffic.latency(latency, hit) * self.per_line_in_flight;
                core.price(latency, per_line, 1.0, &mut least);
            }
            return least;
        }
        self.working.clear();
        self.working.extend(self.cores.iter().map(|core| core.work.is_some()));
        for (i, core) in self.cores[..self.upto as usize].iter_mut().enumerate() {
            let per_line = self.buffers.get(i).map_or(per_line, |of_core| {
                of_core.traffic.latency(latency, hit) * self.per_line_in_flight
            });
            let other = self.working[(i + cores / 2) % cores];
            let longer = if other { self.beside_another } else { 1.0 };
            core.price(latency, per_line, longer, &mut least);
        }
        least
    }

    /// Works for `dt` ns at the last price. Returns the lines of memory per ns.
    #[inline]
    pub(super) fn step(&mut self, dt: f64, llc: &mut Llc) -> CopyRate {
        match (self.buffers.is_empty(), self.parts.is_empty()) {
            (true, true) => self.step_of::<false, false>(dt, llc),
            (true, false) => self.step_of_several(dt, llc),
            (false, true) => self.step_by_buffer(dt, llc),
            (false, false) => self.step_of_several_by_buffer(dt, llc),
        }
    }

    #[inline(never)]
    fn step_of_several(&mut self, dt: f64, llc: &mut Llc) -> CopyRate {
        self.step_of::<false, true>(dt, llc)
    }

    #[inline(never)]
    fn step_by_buffer(&mut self, dt: f64, llc: &mut Llc) -> CopyRate {
        self.step_of::<true, false>(dt, llc)
    }

    #[inline(never)]
    fn step_of_several_by_buffer(&mut self, dt: f64, llc: &mut Llc) -> CopyRate {
        self.step_of::<true, true>(dt, llc)
    }

    /// One step, generic over two properties: buffers are followed, and there are parts by NIC.
    #[inline(always)]
    fn step_of<const BY_BUFFER: bool, const BY_NIC: bool>(
        &mut self,
        dt: f64,
        llc: &mut Llc,
    ) -> CopyRate {
        let (mut reads, mut written, mut worked) = (0.0, 0.0, self.busy);
        let of_all = if BY_BUFFER { 1.0 } else { llc.missing() };
        if BY_NIC {
            self.parts.iter_mut().for_each(|part| part.rate = 0.0);
        }
        let buffers = &mut self.buffers[..if BY_BUFFER { self.upto as usize } else { 0 }];
        for (i, core) in self.cores[..self.upto as usize].iter_mut().enumerate() {
            let Some(work) = &mut core.work else { continue };
            worked += dt;
            let speed = 1.0 / core.time;
            let mut rate = if work.at == Stage::Work { 0.0 } else { work.lines * speed };
            if BY_BUFFER {
                let traffic = &buffers[i].traffic;
                written += rate * traffic.written;
                rate *= traffic.missing + traffic.fetched;
            }
            reads += rate;
            if BY_NIC && let Some(part) = self.parts.get_mut(work.nic as usize) {
                part.rate += rate;
                part.busy += dt;
            }
            core.done += dt * speed;
            if core.done >= DONE && work.at == Stage::Work {
                work.at = Stage::Reads;
                let missing = if BY_BUFFER { buffers[i].traffic.missing } else { llc.missing() };
                work.fixed = work.lines
                    * read_latency(missing, 0.0, llc.read_hit())
                    * self.per_line_in_flight;
                core.rounds = rounds(work.lines, missing, self.settings.lines_in_flight);
                core.done = 0.0;
            } else if core.done >= DONE {
                self.unread -= work.read.bytes;
                self.finished.push_back((work.nic as usize, work.read));
                core.done = 0.0;
                if BY_BUFFER {
                    let of_core = &mut buffers[i];
                    core.work = match &mut of_core.polled {
                        Some(polled) => polled.next(),
                        None => core.waiting.pop_front(),
                    };
                    turn_over(of_core, core.work.as_ref(), llc);
                } else {
                    core.work = core.waiting.pop_front();
                }
            }
        }
        self.busy = worked;
        if BY_NIC {
            self.parts.iter_mut().for_each(|part| part.rate *= of_all);
        }
        CopyRate { reads: reads * of_all, written }
    }

    /// Whether finished work has yet to be taken.
    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Work that was done, of what NIC `nic` received.
    #[inline]
    pub(super) fn finish(&mut self, nic: usize) -> Option<ReadBytes> {
        match self.finished.front()? {
            (of, _) if *of == nic => self.finished.pop_front().map(|done| done.1),
            _ => self.first_of(nic),
        }
    }

    #[inline(never)]
    fn first_of(&mut self, nic: usize) -> Option<ReadBytes> {
        let first = self.finished.iter().position(|done| done.0 == nic)?;
        self.finished.remove(first).map(|done| done.1)
    }

    /// How long cores worked on what NIC `nic` received, all together, in ns.
    pub(super) fn busy(&self, nic: usize) -> f64 {
        self.parts.get(nic).map_or(self.busy, |part| part.busy)
    }

    /// Lines read from memory per ns in the last step of what NIC `nic` received, one of several.
    pub(super) fn rate(&self, nic: usize) -> f64 {
        self.parts[nic].rate
    }

    /// Lines that a core reads at once, if that is more than one.
    #[inline]
    pub(super) fn bunch(&self) -> f64 {
        self.bunch
    }

    /// Bytes that wait for applications.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Number of cores that have had work.
    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Whether work waits for every core that has ever had some.
    pub(super) fn all_late(&self) -> bool {
        let cores = &self.cores[..self.upto as usize];
        if self.buffers.is_empty() {
            let late = |core: &Core| !core.used || !core.waiting.is_empty();
            return self.in_use > 0 && cores.iter().all(late);
        }
        let late = |(core, of_core): (&Core, &Buffers)| match &of_core.polled {
            _ if !core.used => true,
            Some(polled) => polled.waiting > 0,
            None => !core.waiting.is_empty(),
        };
        self.in_use > 0 && cores.iter().zip(&self.buffers).all(late)
    }

    /// Whether no core works.
    pub(super) fn is_idle(&self) -> bool {
        self.unread == 0
    }
}

/// A core gives back the buffers that it has read, and begins with those of `next`.
#[inline(never)]
fn turn_over(buffers: &mut Buffers, next: Option<&Work>, llc: &mut Llc) {
    let Some(queue) = llc.queue() else { return };
    queue.give_back(&buffers.at_hand);
    buffers.at_hand.clear();
    if let Some(next) = next {
        buffers.begin(next, queue);
        llc.reads_miss(buffers.traffic.missing);
    }
}

/// How many times a core waits for memory, one after the other, that reads `lines` of which it misses the share `miss`, `at_once` of them and
/// one more for each that is back. Those that miss stay together, so they go in rounds, the last of which takes as long as a full one. How
/// many they are is by chance of the cache, here as evenly spread as has the same mean and variance.
fn rounds(lines: f64, miss: f64, at_once: u32) -> f64 {
    let missing = lines * miss;
    let spread = (3.0 * missing * (1.0 - miss)).sqrt().min(missing);
    let [least, most] = [missing - spread, missing + spread].map(|n| n / f64::from(at_once));
    // The area below `x.ceil()`.
    let below = |x: f64| (x.floor() + 1.0) * (x - 0.5 * x.floor());
    if most - least > 1e-6 { (below(most) - below(least)) / (most - least) } else { most.ceil() }
}

/// Share from which work counts as done: instants are whole picoseconds.
const DONE: f64 = 1.0 - 1e-9;

#[cfg(test)]
mod tests {
    use super::super::settings::IommuSettings;
    use super::*;
    use forebay_units::random::{Purpose, Stream};

    /// A core that only works is not late; one for which a second delivery waits is, and all of them have to be.
    #[test]
    fn late_is_who_has_work_waiting() {
        let mut readers = Readers::new(&ReaderSettings::default(), 1, None);
        let mut llc = Llc::new(None, IommuSettings::default(), 323.0, 1);
        let read = ReadBytes { flow: 0, bytes: 4000, upto: 0 };
        for (core, late) in [(0, false), (0, true), (1, false), (1, true)] {
            readers.add(core, 0, read, Handling::of(1), &mut llc);
            assert_eq!(readers.all_late(), late);
        }
        let done = readers.price(70.0, &llc);
        readers.step(done, &mut llc);
        assert!(!readers.all_late());
    }

    /// Thirteen places: five rounds for 65 lines and for 64, and with a cache as many as a lottery line by line gives.
    #[test]
    fn reads_in_bunches_go_in_rounds() {
        assert_eq!(
            [65.0, 64.0, 64.5, 66.0, 0.0].map(|n| rounds(n, 1.0, 13)),
            [5.0, 5.0, 5.0, 6.0, 0.0]
        );
        let mut draws = Stream::new(1, 0, Purpose::Test);
        for (lines, miss) in [(64_u32, 0.8), (64, 0.55), (147, 0.8), (24, 0.8)] {
            let mut all = 0;
            for _ in 0..2_000 {
                let missing = (0..lines).filter(|_| draws.below(1_000) < (miss * 1e3) as u64);
                all += missing.count().div_ceil(13);
            }
            let (mean, found) = (all as f64 / 2_000.0, rounds(f64::from(lines), miss, 13));
            assert!((found / mean - 1.0).abs() < 0.04, "{lines}, {miss}: {found}, not {mean}");
        }
    }
}
