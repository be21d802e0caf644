//! Programs of a host: what its applications do, and when.
//!
//! This is the one place that decides when a host begins to send. Flows with a time of their own are a program of `At` and `Send` that is
//! read from the table of flows. All other programs come as operations. They go on when something that they wait for is over: a delivery, the
//! last acknowledgement of a message, a signal, a time. Packets in between do not come here.

use super::Host;
use super::flow_map::{DONE, FlowMap};
use super::timers::Due;
use forebay_engine::{Emitter, LinkId};
use forebay_record::ProgramWait;
use forebay_scenario::program::{Mark, Op, Program, Signal, Step, share};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{FlowId, Kind, Packet};
use std::collections::{BTreeMap, VecDeque};

/// No flow.
const NONE: u32 = u32::MAX;

/// An operation: the program, and its number there.
pub(crate) type OpId = (u32, u32);

/// All programs of a host, but for those of flows with a time of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Apps {
    programs: Vec<RunningProgram>,
    begun: bool,
    logs: bool, // operations are logged
    lines: Vec<Line>,
    of: FlowMap, // flow to index in `lines`
    signals: BTreeMap<(u16, u32), Signals>,
    timers: Vec<TimerPurpose>, // by what their timers say; those that came up are free
    free: Vec<u32>,
    ready: VecDeque<OpId>,           // wait for nothing more
    links: Vec<(u32, LinkId, Span)>, // to hosts that are notified, with the delay of each; sorted
    /// Flows that began after an operation on another flow was over, each with the last such flow.
    pub waited: Vec<(u32, u32)>,
    /// Times that programs noted, in their order.
    pub marks: Vec<Marked>,
}

/// A time that a program noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked {
    pub traffic: u16,
    pub mark: Mark,
    pub at: Time,
}

/// A program on its way.
#[derive(Clone, Debug)]
struct RunningProgram {
    program: Program,
    window: VecDeque<Slot>, // operations that have been read, from the oldest that is not over
    first: u32,             // number of the first of them
    waiting: u32,           // those that have not begun
    read: bool,             // no more come
    ended: Option<Time>,
    failed: Option<(Time, u32)>, // when a sender gave up, and its flow: what waits for that never begins
    log: Vec<LoggedOp>,          // all operations so far, if they are logged
}

/// An operation as it was done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedOp {
    pub step: Step,
    pub begun: Time, // `Time::MAX`: it had not
    pub over: Time,  // likewise
    /// Number of the operation that was the last which it waited for, [`LoggedOp::SIGNAL`] or [`LoggedOp::NOTHING`].
    pub by: u32,
    /// Flow whose delivery, or last acknowledgement, ended it.
    pub last: u32,
}

impl LoggedOp {
    /// Began when a signal came.
    pub const SIGNAL: u32 = u32::MAX - 1;
    /// Waited for nothing, or for what was over when it was read.
    pub const NOTHING: u32 = u32::MAX;
}

/// A message, or on a connection a part of one, that has begun and is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageUnderWay {
    pub traffic: u16,
    pub flow: u32,
    /// This host sends it.
    pub is_sent: bool,
    /// Its operation at this host: parts of a message have the same.
    pub op: OpId,
}

/// An operation that has been read.
#[derive(Clone, Copy, Debug)]
struct Slot {
    op: Op,
    missing: u8, // what it still waits for before it begins
    parts: u8,   // of a message that has begun: those that are not over
    over: bool,
    cause: u32,     // flow whose delivery, or last acknowledgement, let it begin
    first: u32,     // place in a list, see `edge`: the newest that waits for it
    next: [u32; 2], // for each operation that it waits for: the next older one that does so, too
}

const _: () = assert!(size_of::<Slot>() <= 64, "an operation costs at most a cache line");

/// Wait number `which` of operation `number`, in a list that ends with 0.
fn edge(number: u32, which: usize) -> u32 {
    (number << 1 | which as u32) + 1
}

/// A connection with operations at this host: messages in the order in which their operations began.
#[derive(Clone, Debug)]
struct Line {
    flow: u32,
    sends: VecDeque<(u64, OpId)>, // each with the byte that ends it
    recvs: VecDeque<(u64, OpId)>,
    written: u64,
    expected: u64,
    delivered: u64, // as far as it was reported
}

/// A signal as it comes to this host.
#[derive(Clone, Debug, Default)]
struct Signals {
    came: u32,
    waiting: VecDeque<(u32, OpId)>, // each with how often it has to come, by that
}

/// What a timer is for.
#[derive(Clone, Copy, Debug)]
enum TimerPurpose {
    Op(OpId),
    Signal { of: (u16, u32), cause: u32 },
}

impl Apps {
    /// All programs: the entry of each, whether the run waits for it, when its last operation was over, and what it waits for.
    pub fn ends(&self) -> impl Iterator<Item = (u16, bool, Option<Time>, Option<ProgramWait>)> {
        let end = |(which, of): (u32, &RunningProgram)| {
            (of.program.traffic, of.program.awaited, of.ended, self.waits_for(which))
        };
        (0..).zip(&self.programs).map(end)
    }

    /// What a program waits for, unless it has ended: of operations that are not over the first one's cause.
    fn waits_for(&self, which: u32) -> Option<ProgramWait> {
        let of = &self.programs[which as usize];
        if let Some((at, flow)) = of.failed {
            return Some(ProgramWait::GaveUp { flow, at });
        }
        let front = of.window.front()?;
        let flow = |on: u32| self.part_left(&of.program, on, (which, of.first));
        Some(match front.op {
            _ if front.missing > 0 => ProgramWait::Signal,
            Op::Send { on, .. } => ProgramWait::Acks(flow(on)),
            Op::Recv { on, .. } => ProgramWait::Data(flow(on)),
            Op::Compute(_) | Op::At(_) | Op::Signal(_) | Op::Mark(_) => ProgramWait::Time,
        })
    }

    /// Flow of a message; if it is split, of its first part that is not over.
    fn part_left(&self, program: &Program, on: u32, id: OpId) -> u32 {
        let first = program.first + on;
        let has_part = |flow: &u32| {
            let line = self.of.get(FlowId(*flow)).map(|line| &self.lines[line as usize]);
            line.is_some_and(|line| line.sends.iter().chain(&line.recvs).any(|one| one.1 == id))
        };
        (first..first + u32::from(program.stripes)).find(has_part).unwrap_or(first)
    }

    /// The first message of each connection that has begun and is not over, in the order of connections.
    pub fn under_way(&self) -> Vec<MessageUnderWay> {
        let mut all = Vec::new();
        for line in &self.lines {
            for (is_sent, of) in [(true, line.sends.front()), (false, line.recvs.front())] {
                let Some((_, op)) = of else { continue };
                let traffic = self.programs[op.0 as usize].program.traffic;
                all.push(MessageUnderWay { traffic, flow: line.flow, is_sent, op: *op });
            }
        }
        all.sort_unstable();
        all
    }

    /// Operations of each program that were read, with the program; none unless they are logged.
    pub fn logs(&self) -> impl Iterator<Item = (&Program, &[LoggedOp])> {
        self.programs.iter().map(|of| (&of.program, &of.log[..]))
    }

    /// Reads operations of a program, as many as may wait.
    fn read(&mut self, which: u32) {
        let Self { programs, signals, ready, logs, .. } = self;
        let of = &mut programs[which as usize];
        while !of.read && of.waiting < of.program.ahead.max(1) {
            let Some(step) = of.program.ops.next() else {
                of.read = true;
                break;
            };
            let number = of.first + of.window.len() as u32;
            let (op, cause, next) = (step.op, NONE, [0; 2]);
            let mut slot = Slot { op, missing: 0, parts: 0, over: false, cause, first: 0, next };
            for (i, back) in step.after.back.into_iter().enumerate().filter(|(_, back)| *back > 0) {
                let target = number.checked_sub(back).and_then(|n| n.checked_sub(of.first));
                let Some(target) = target.and_then(|at| of.window.get_mut(at as usize)) else {
                    continue; // over, and forgotten
                };
                if !target.over {
                    slot.next[i] = std::mem::replace(&mut target.first, edge(number, i));
                    slot.missing += 1;
                }
            }
            if step.after.count > 0 {
                let signal = signals.entry((of.program.traffic, step.after.tag)).or_default();
                if signal.came < step.after.count {
                    let count = step.after.count;
                    let at = signal.waiting.partition_point(|one| one.0 <= count);
                    signal.waiting.insert(at, (count, (which, number)));
                    slot.missing += 1;
                }
            }
            if slot.missing == 0 {
                ready.push_back((which, number));
            }
            of.window.push_back(slot);
            of.waiting += 1;
            if *logs {
                of.log.push(LoggedOp {
                    step,
                    begun: Time::MAX,
                    over: Time::MAX,
                    by: of.latest(number, step.after.back),
                    last: NONE,
                });
            }
        }
    }

    fn slot(&mut self, (which, number): OpId) -> &mut Slot {
        let of = &mut self.programs[which as usize];
        &mut of.window[(number - of.first) as usize]
    }

    /// What is logged of an operation.
    fn logged(&mut self, (which, number): OpId) -> Option<&mut LoggedOp> {
        if !self.logs {
            return None;
        }
        self.programs[which as usize].log.get_mut(number as usize)
    }

    /// One of the things that an operation waits for is over: operation `by` of its program, or a signal.
    fn met(&mut self, id: OpId, cause: u32, by: u32) {
        if let Some(one) = self.logged(id) {
            one.by = by;
        }
        let slot = self.slot(id);
        slot.missing -= 1;
        slot.cause = cause;
        if slot.missing == 0 {
            self.ready.push_back(id);
        }
    }

    /// An operation is over: others may begin. True if it was the last of a program that the run waits for.
    fn over(&mut self, now: Time, id: OpId, cause: u32) -> bool {
        let slot = self.slot(id);
        if slot.parts > 1 {
            slot.parts -= 1;
            return false;
        }
        slot.over = true;
        let newest = std::mem::take(&mut slot.first);
        if let Some(one) = self.logged(id) {
            (one.over, one.last) = (now, cause);
        }
        let mut next = self.reversed(id.0, newest);
        while next > 0 {
            let (waiting, link) = self.waiting(id.0, next);
            next = *link;
            self.met(waiting, cause, id.1);
        }
        let of = &mut self.programs[id.0 as usize];
        while of.window.front().is_some_and(|slot| slot.over) {
            of.window.pop_front();
            of.first += 1;
        }
        of.ends(now)
    }

    /// The operation at a place of a list, and the place of the next one.
    fn waiting(&mut self, program: u32, place: u32) -> (OpId, &mut u32) {
        let (number, which) = ((place - 1) >> 1, (place - 1) & 1);
        let id = (program, number);
        (id, &mut self.slot(id).next[which as usize])
    }

    /// Turns a list round: operations are listed newest first, and begin oldest first.
    fn reversed(&mut self, program: u32, mut place: u32) -> u32 {
        let mut before = 0;
        while place > 0 {
            let (_, link) = self.waiting(program, place);
            let next = std::mem::replace(link, before);
            before = std::mem::replace(&mut place, next);
        }
        before
    }

    /// The sender of an operation gave up. True if that ends a program that the run waits for.
    fn failed(&mut self, now: Time, id: OpId, flow: u32) -> bool {
        let of = &mut self.programs[id.0 as usize];
        let is_first = of.failed.is_none();
        of.failed.get_or_insert((now, flow));
        is_first && of.program.awaited
    }

    /// A signal came.
    fn signalled(&mut self, of: (u16, u32), cause: u32) {
        let signal = self.signals.entry(of).or_default();
        signal.came += 1;
        let met = signal.waiting.partition_point(|one| one.0 <= signal.came);
        let met: Vec<OpId> = signal.waiting.drain(..met).map(|one| one.1).collect();
        met.into_iter().for_each(|id| self.met(id, cause, LoggedOp::SIGNAL));
    }

    /// A timer for this.
    fn timer(&mut self, timed: TimerPurpose) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.timers[at as usize] = timed;
                at
            }
            None => {
                self.timers.push(timed);
                self.timers.len() as u32 - 1
            }
        }
    }

    /// The connection of a flow, as operations at this host know it.
    fn line(&mut self, flow: u32) -> &mut Line {
        let index = self.of.get(FlowId(flow)).unwrap_or_else(|| {
            let (sends, recvs) = (VecDeque::new(), VecDeque::new());
            self.lines.push(Line { flow, sends, recvs, written: 0, expected: 0, delivered: 0 });
            self.of.set(FlowId(flow), self.lines.len() as u32 - 1);
            self.lines.len() as u32 - 1
        });
        &mut self.lines[index as usize]
    }
}

impl RunningProgram {
    /// Of the operations so many places before `number` the one that was over last, as far as that is logged.
    fn latest(&self, number: u32, back: [u32; 2]) -> u32 {
        let before = back.into_iter().filter(|back| *back > 0);
        let before = before.filter_map(|back| number.checked_sub(back));
        let latest = before.max_by_key(|n| (self.log.get(*n as usize).map(|one| one.over), *n));
        latest.unwrap_or(LoggedOp::NOTHING)
    }

    /// Whether it has just ended, and the run waits for that.
    fn ends(&mut self, now: Time) -> bool {
        let ends = self.read && self.window.is_empty() && self.ended.is_none();
        if ends {
            self.ended = Some(now);
        }
        ends && self.program.awaited
    }
}

impl Host {
    /// Adds a program. `links`: control links to the hosts that it notifies.
    pub fn add_program(&mut self, program: Program, links: Vec<(u32, LinkId, Span)>) {
        let apps = self.apps.get_or_insert_default();
        self.nic.extended |= program.awaited;
        apps.links = links;
        let (window, first, waiting) = (VecDeque::new(), 0, 0);
        let (read, ended, failed, log) = (false, None, None, Vec::new());
        let running = RunningProgram { program, window, first, waiting, read, ended, failed, log };
        apps.programs.push(running);
        self.plan_next();
        self.settle_next();
    }

    /// From now on operations of programs are logged.
    pub fn log_programs(&mut self) {
        if let Some(apps) = &mut self.apps {
            apps.logs = true;
        }
    }

    /// Programs of this host, but for those of flows with a time of their own.
    pub fn apps(&self) -> Option<&Apps> {
        self.apps.as_deref()
    }

    /// Whether programs here wait for their beginning.
    pub(super) fn has_new_programs(&self) -> bool {
        self.apps.as_ref().is_some_and(|apps| !apps.begun)
    }

    /// Programs begin.
    #[cold]
    pub(super) fn begin_programs(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
        self.with_apps(now, out, |apps, _| {
            apps.begun = true;
            (0..apps.programs.len() as u32).for_each(|which| apps.read(which));
        });
        let ended = self.apps.iter_mut().flat_map(|apps| &mut apps.programs);
        let ended = ended.filter_map(|of| of.ends(now).then_some(())).count();
        (0..ended).for_each(|_| out.done());
    }

    /// Lets something happen to programs, and everything follow that does so at once.
    fn with_apps(
        &mut self,
        now: Time,
        out: &mut impl Emitter<Packet>,
        what: impl FnOnce(&mut Apps, &mut Self),
    ) {
        let Some(mut apps) = self.apps.take() else { return };
        what(&mut apps, self);
        while let Some(id) = apps.ready.pop_front() {
            self.begin(now, &mut apps, id, out);
            apps.read(id.0);
            if apps.programs[id.0 as usize].ends(now) {
                out.done();
            }
        }
        self.apps = Some(apps);
    }

    /// An operation begins.
    fn begin(&mut self, now: Time, apps: &mut Apps, id: OpId, out: &mut impl Emitter<Packet>) {
        let Slot { op, cause, .. } = *apps.slot(id);
        if let Some(one) = apps.logged(id) {
            one.begun = now;
        }
        let of = &mut apps.programs[id.0 as usize];
        of.waiting -= 1;
        let Program { first, traffic, stripes, .. } = of.program;
        let is_over = match op {
            Op::Send { on, bytes } | Op::Recv { on, bytes } => {
                let mut left = 0;
                for stripe in 0..stripes {
                    let share = share(bytes.get(), stripes.into(), stripe.into());
                    if share == 0 && stripe > 0 {
                        break;
                    }
                    let part = (first + on + u32::from(stripe), share);
                    let is_over = match op {
                        Op::Send { .. } => self.begin_send(now, apps, part, id),
                        _ => self.begin_recv(apps, part, id),
                    };
                    left += u8::from(!is_over);
                }
                apps.slot(id).parts = left;
                left == 0
            }
            Op::Compute(span) => {
                !self.wait(now, apps, now.saturating_add(span), TimerPurpose::Op(id))
            }
            Op::At(time) => !self.wait(now, apps, time, TimerPurpose::Op(id)),
            Op::Signal(signal) => {
                self.signal(now, apps, signal, cause, out);
                true
            }
            Op::Mark(mark) => {
                apps.marks.push(Marked { traffic, mark, at: now });
                true
            }
        };
        if is_over {
            let cause = apps.slot(id).cause;
            if apps.over(now, id, cause) {
                out.done();
            }
        }
    }

    /// Waits until `at`. False if that is not later.
    fn wait(&mut self, now: Time, apps: &mut Apps, at: Time, what: TimerPurpose) -> bool {
        if at > now {
            let timer = apps.timer(what);
            self.timers.push(at, Due::App, timer);
        }
        at > now
    }

    /// A flow begins, or bytes are written onto a connection that stays open. True if all are acknowledged at once.
    fn begin_send(
        &mut self,
        now: Time,
        apps: &mut Apps,
        (flow, bytes): (u32, u64),
        id: OpId,
    ) -> bool {
        let cause = apps.slot(id).cause;
        let line = apps.line(flow);
        line.written += bytes;
        let is_whole = self.common.flows[flow as usize].size != Bytes::ZERO;
        if bytes == 0 && line.sends.is_empty() {
            return true;
        }
        line.sends.push_back((line.written, id));
        let awaits = line.sends[0].0;
        if self.send.of.get(FlowId(flow)).is_none() {
            if cause != NONE && cause != flow {
                apps.waited.push((flow, cause));
            }
            self.start(now, flow);
        }
        if is_whole {
            return false;
        }
        let slot = self.send.slot(FlowId(flow)).expect("the sender of a connection never gives up");
        let sending = &mut self.send.slots[slot as usize];
        sending.awaits = awaits;
        if bytes > 0 {
            sending.sender.app_write(now, Bytes::new(bytes), false); // of nothing, some transports make a message
        }
        self.wake_sender(now, slot);
        false
    }

    /// Bytes are to be received. True if they have been.
    fn begin_recv(&mut self, apps: &mut Apps, (flow, bytes): (u32, u64), id: OpId) -> bool {
        let slot = self.receive.of.get(FlowId(flow));
        let is_whole = self.common.flows[flow as usize].size != Bytes::ZERO;
        let came = match slot {
            Some(slot) if slot != DONE && !is_whole => self.taken(slot),
            _ => 0,
        };
        let line = apps.line(flow);
        if is_whole {
            let is_over = slot == Some(DONE);
            if !is_over {
                line.recvs.push_back((bytes, id));
            }
            apps.slot(id).cause = flow;
            return is_over;
        }
        line.delivered = line.delivered.max(came);
        line.expected += bytes;
        if line.expected <= line.delivered && line.recvs.is_empty() {
            apps.slot(id).cause = flow;
            return true;
        }
        line.recvs.push_back((line.expected, id));
        if let Some(slot) = slot {
            self.receive.slots[slot as usize].awaits = line.recvs[0].0;
        }
        false
    }

    /// Bytes of a connection that its application has, as far as that is known without its reading.
    fn taken(&self, slot: u32) -> u64 {
        let receiver = &self.receive.slots[slot as usize].receiver;
        let read_later = self.memory.as_ref().is_some_and(|memory| memory.reads(receiver.copies()));
        if read_later { 0 } else { receiver.delivered().get() }
    }

    /// Byte of a flow that ends here of which somebody waits to hear; `u64::MAX`: nobody.
    pub(super) fn awaited(&self, flow: u32) -> u64 {
        if self.rpc.as_ref().is_some_and(|ends| ends.waits_for(FlowId(flow))) {
            return 0; // an end of RPCs counts all bytes
        }
        let line = self
            .apps
            .as_ref()
            .and_then(|apps| apps.of.get(FlowId(flow)).map(|line| &apps.lines[line as usize]));
        line.and_then(|line| line.recvs.front()).map_or(u64::MAX, |first| first.0)
    }

    /// Notifies a host.
    fn signal(
        &mut self,
        now: Time,
        apps: &mut Apps,
        signal: Signal,
        cause: u32,
        out: &mut impl Emitter<Packet>,
    ) {
        let Signal { to, traffic, tag, delay, before } = signal;
        if now >= before {
            return;
        }
        let Ok(at) = apps.links.binary_search_by_key(&to, |link| link.0) else {
            assert!(
                apps.programs.first().is_some_and(|of| of.program.host == to),
                "a control link leads to each other host that is notified"
            );
            let of = (traffic, tag);
            if !self.wait(now, apps, now.saturating_add(delay), TimerPurpose::Signal { of, cause })
            {
                apps.signalled(of, cause);
            }
            return;
        };
        let (_, link, shortest) = apps.links[at];
        // The rest of the delay is the receiver's: links are FIFO, and signals of shorter delays may share one.
        let seq = delay.saturating_sub(shortest).as_ps();
        let (flow, kind) = (FlowId(tag), Kind::Control);
        let go = Packet { flow, seq, kind, word: traffic, stamp: cause, ..Packet::default() };
        out.push(link, now, &go);
    }

    /// A signal of another host came over a control link.
    #[cold]
    pub(super) fn on_signal(&mut self, now: Time, packet: &Packet, out: &mut impl Emitter<Packet>) {
        let (of, cause) = ((packet.word, packet.flow.0), packet.stamp);
        let at = now + Span::from_ps(packet.seq);
        self.with_apps(now, out, |apps, host| {
            if !host.wait(now, apps, at, TimerPurpose::Signal { of, cause }) {
                apps.signalled(of, cause);
            }
        });
    }

    /// A time of a program has come.
    pub(super) fn app_due(&mut self, now: Time, timer: u32, out: &mut impl Emitter<Packet>) {
        let mut done = false;
        self.with_apps(now, out, |apps, _| {
            apps.free.push(timer);
            match apps.timers[timer as usize] {
                TimerPurpose::Op(id) => {
                    let cause = apps.slot(id).cause;
                    done = apps.over(now, id, cause);
                }
                TimerPurpose::Signal { of, cause } => apps.signalled(of, cause),
            }
        });
        if done {
            out.done();
        }
    }

    /// All of a flow has been delivered here.
    #[cold]
    pub(super) fn flow_delivered(
        &mut self,
        now: Time,
        flow: FlowId,
        out: &mut impl Emitter<Packet>,
    ) {
        self.bytes_delivered(now, flow, u64::MAX, out);
    }

    /// All of a flow of this host has been acknowledged.
    #[cold]
    pub(super) fn flow_acked(&mut self, now: Time, flow: FlowId, out: &mut impl Emitter<Packet>) {
        self.bytes_acked(now, flow, u64::MAX, out);
    }

    /// The sender of a flow of this host gave up: its messages are never over, and what waits for them never begins.
    #[cold]
    pub(super) fn flow_given_up(
        &mut self,
        now: Time,
        flow: FlowId,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(apps) = self.apps.as_mut().filter(|apps| apps.of.get(flow).is_some()) else {
            return;
        };
        let sends = std::mem::take(&mut apps.line(flow.0).sends);
        let ended = sends.into_iter().filter(|(_, id)| apps.failed(now, *id, flow.0)).count();
        (0..ended).for_each(|_| out.done());
    }

    /// A connection has `delivered` bytes here in order, read where an application reads. An end of RPCs waits for them, or operations do.
    pub(super) fn bytes_delivered(
        &mut self,
        now: Time,
        flow: FlowId,
        delivered: u64,
        out: &mut impl Emitter<Packet>,
    ) {
        if self.stream_delivered(now, flow, delivered, out) {
            return;
        }
        let is_open = self.common.flows[flow.0 as usize].size == Bytes::ZERO;
        // What an application has read is nowhere else, and a `Recv` that begins later takes it.
        let is_kept = self.memory.is_some() && is_open;
        let is_known =
            |apps: &&mut Box<Apps>| apps.begun && (is_kept || apps.of.get(flow).is_some());
        let Some(apps) = self.apps.as_mut().filter(is_known) else { return };
        let line = apps.line(flow.0);
        line.delivered = line.delivered.max(delivered);
        let over = ended(&mut line.recvs, delivered);
        let awaits = line.recvs.front().map_or(u64::MAX, |first| first.0);
        if let Some(slot) = self.receive.of.get(flow).filter(|slot| *slot != DONE) {
            self.receive.slots[slot as usize].awaits = awaits;
        }
        self.ops_over(now, flow, over, out);
    }

    /// A connection has `acked` bytes acknowledged here, where it begins. An end of RPCs waits for that, or operations do.
    pub(super) fn bytes_acked(
        &mut self,
        now: Time,
        flow: FlowId,
        acked: u64,
        out: &mut impl Emitter<Packet>,
    ) {
        if self.stream_acked(now, flow, acked, out) {
            return;
        }
        let is_known = |apps: &&mut Box<Apps>| apps.of.get(flow).is_some();
        let Some(apps) = self.apps.as_mut().filter(is_known) else { return };
        let line = apps.line(flow.0);
        let over = ended(&mut line.sends, acked);
        let awaits = line.sends.front().map_or(u64::MAX, |first| first.0);
        if let Some(slot) = self.send.slot(flow) {
            self.send.slots[slot as usize].awaits = awaits;
        }
        self.ops_over(now, flow, over, out);
    }

    fn ops_over(
        &mut self,
        now: Time,
        flow: FlowId,
        over: Vec<OpId>,
        out: &mut impl Emitter<Packet>,
    ) {
        let mut done = 0;
        self.with_apps(now, out, |apps, _| {
            done = over.into_iter().filter(|id| apps.over(now, *id, flow.0)).count();
        });
        (0..done).for_each(|_| out.done());
    }
}

/// Takes the operations that end by byte `upto`.
fn ended(of: &mut VecDeque<(u64, OpId)>, upto: u64) -> Vec<OpId> {
    let n = of.iter().take_while(|one| one.0 <= upto).count();
    of.drain(..n).map(|one| one.1).collect()
}
