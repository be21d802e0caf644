//! Flows that start here: their senders, from the start to the last acknowledgement.

use super::Host;
use super::flow_map::{DONE, FlowMap, RETIRED};
use super::paused_destinations::PausedDestinations;
use super::pulling::Egress;
use super::telemetry::int_records;
use super::timer_dedup::TimerDedup;
use super::timers::Due;
use forebay_engine::Emitter;
use forebay_laws::Start;
use forebay_laws::flow::FlowParams;
use forebay_laws::kernel::ProgramTrace;
use forebay_transport::{FlowSpec as SenderSpec, Heard, Sender, SenderNext, Telemetry, Wait};
use forebay_units::random::{Purpose, Stream};
use forebay_units::{Bytes, Span, Time};
use forebay_wire::{Flags, FlowId, IntRecords, Kind, Packet};

/// How a finished, or unfinished, flow stands at its sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderEnd {
    pub flow: u32,
    pub started: Time,
    pub acked: Option<Time>,
    pub gave_up: Option<Time>,
    pub retransmits: u32,
    pub timeouts: u32,
    pub credits_used: u32,
}

/// A flow that has started here.
#[derive(Clone, Debug)]
pub(super) struct SendingFlow {
    pub sender: Sender,
    pub flow: u32,
    pub ready: bool, // in the ready list
    pub armed: TimerDedup,
    pub awaits: u64, // byte whose acknowledgement an application waits for
    pub started: Time,
    pub telemetry: Option<Box<Telemetry>>, // where its law wants that
}

/// The way down, as far as flows go: those that start here. What each answer reads comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Senders {
    pub slots: Vec<SendingFlow>,
    pub of: FlowMap,
    pub paused: Option<Box<PausedDestinations>>, // destinations that the switch has paused
    pub free: Vec<u32>,
    pub finished: Vec<SenderEnd>,
    modules: Vec<(u16, FlowParams)>, // laws that are modules, by traffic entry
}

impl Senders {
    /// The law of a traffic entry as it is on this host, if it is a module: flows of one law share what the host has once.
    fn here(&mut self, traffic: u16, law: &FlowParams) -> Option<&FlowParams> {
        let at = self.modules.iter().position(|(of, _)| *of == traffic).or_else(|| {
            let shared = self.modules.iter().find(|(_, known)| known == law);
            let here = shared.map_or_else(|| law.on_host(), |(_, known)| Some(known.clone()))?;
            self.modules.push((traffic, here));
            Some(self.modules.len() - 1)
        })?;
        Some(&self.modules[at].1)
    }

    /// What modules of laws have printed here.
    pub fn traces(&self) -> impl Iterator<Item = ProgramTrace> {
        let first = |nth: usize| self.modules[..nth].iter().all(|of| of.1 != self.modules[nth].1);
        let laws = self.modules.iter().enumerate().filter(move |(nth, _)| first(*nth));
        laws.filter_map(|(_, (_, law))| law.trace())
    }

    /// A slot for one more.
    fn open(&mut self, sending: SendingFlow) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                let armed = self.slots[slot as usize].armed;
                self.slots[slot as usize] = SendingFlow { armed, ..sending };
                slot
            }
            None => {
                // Most hosts have one or two: room for four, as `Vec` begins with, is memory that caches would carry along.
                self.slots.reserve_exact(room_for_more(&self.slots));
                self.slots.push(sending);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Slot of a flow that has started and is not finished.
    #[inline]
    pub fn slot(&self, flow: FlowId) -> Option<u32> {
        self.of.get(flow).filter(|slot| *slot != DONE)
    }
}

/// Places to add to a list before its next element: as many as it has if it is full, from one on.
pub(super) fn room_for_more<T>(list: &Vec<T>) -> usize {
    if list.len() == list.capacity() { list.len().max(1) } else { 0 }
}

impl Host {
    /// The sender of a flow, or of a stream of a connection, which stays open.
    #[cold]
    pub(super) fn start(&mut self, now: Time, flow: u32) {
        let spec = self.common.flows[flow as usize];
        let profile = &self.common.profiles[usize::from(spec.traffic)];
        let at = Start {
            mss: profile.transport.mss(),
            initial_window: profile.transport.initial_window(),
            line_rate: self.nic.port.settings().rate,
            base_rtt: profile.base_rtt.of(flow),
            seed: Stream::new(self.common.seed, self.common.number(flow), Purpose::Law).key(),
        };
        let dst = self.common.addrs[spec.dst as usize];
        let open = spec.size == Bytes::MAX || spec.size == Bytes::ZERO;
        let src = self.common.addrs[spec.src as usize];
        let paths = self.common.path_counts.between(src.tor, dst.tor);
        let handshake = self.common.handshakes.get(flow as usize).copied();
        let handshake = handshake.filter(|rtt| *rtt > Span::ZERO);
        let flow_spec =
            SenderSpec { flow: FlowId(flow), src, dst, size: spec.size, open, paths, handshake };
        let tap = self.common.law_taps.as_ref().and_then(|taps| taps.flow(flow));
        let law = profile.law.as_ref();
        let here =
            law.filter(|law| law.is_module()).and_then(|law| self.send.here(spec.traffic, law));
        let tap = tap.filter(|_| here.is_none()); // a module hears of no events
        let law = here.or(law);
        let logged = law.zip(tap).map(|(law, tap)| law.clone().with_log(tap));
        let law = logged.as_ref().or(law);
        let sender = profile.transport.sender(flow_spec, law, at, now);
        let records = self.common.telemetry.is_some() && profile.transport.needs().int;
        let sending = SendingFlow {
            sender,
            flow,
            ready: false,
            armed: TimerDedup::NONE,
            awaits: if spec.size == Bytes::ZERO { 0 } else { u64::MAX },
            started: now,
            telemetry: records.then(Box::default),
        };
        let slot = self.send.open(sending);
        self.nic.ready.renew(slot);
        self.send.of.set(FlowId(flow), slot);
        self.wake_sender(now, slot);
    }

    /// An answer to a flow of this host, or what else of that kind its transport takes.
    #[inline(never)]
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        arrived: Time,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        if packet.kind == Kind::Grant && self.nic.extended && self.credits_came(now, packet) {
            return;
        }
        let Some(slot) = self.send.slot(packet.flow) else {
            return;
        };
        let sending = &mut self.send.slots[slot as usize];
        let (mut words, mut heard);
        let hops = match (&mut sending.telemetry, &self.common.telemetry) {
            (Some(flow), Some(rates)) if packet.has_int_records() => {
                (words, heard) = (IntRecords::default(), Heard::default());
                flow.read(rates, arrived, int_records(packet, out, &mut words), &mut heard)
            }
            _ => &[],
        };
        let next = sending.sender.on_answer(now, arrived, packet, hops);
        if packet.kind == Kind::Grant && packet.flags.has(Flags::RESEND) {
            self.say_busy(now, slot);
        }
        match next {
            None => self.finish(now, slot, out),
            Some(_) if self.nic.extended => {
                let sending = &self.send.slots[slot as usize];
                let acked = sending.sender.acked().get();
                if acked >= sending.awaits {
                    self.bytes_acked(now, packet.flow, acked, out);
                }
                self.wake_sender(now, slot);
            }
            Some(next) => self.wake_for(now, slot, next),
        }
    }

    /// A sender that has not come to send what its receiver requests says so, ahead of all data.
    #[cold]
    fn say_busy(&mut self, now: Time, slot: u32) {
        if let Some(busy) = self.send.slots[slot as usize].sender.busy() {
            self.nic.enqueue(now, &busy);
        }
    }

    /// After anything that may let a sender send, or moved its deadline.
    pub(super) fn wake_sender(&mut self, now: Time, slot: u32) {
        let next = self.send.slots[slot as usize].sender.next();
        self.wake_for(now, slot, next);
    }

    /// Wakes a sender whose next action is known.
    #[inline]
    fn wake_for(&mut self, now: Time, slot: u32, next: SenderNext) {
        let sending = &mut self.send.slots[slot as usize];
        if self.nic.pushes {
            self.push(now, slot);
            return self.arm_sender(slot);
        } else if !sending.ready && next.ready {
            sending.ready = true;
            self.nic.add_flow(now, slot, || sending.sender.unsent());
        } else if sending.ready && self.nic.ready.ranks() {
            self.rank_anew(slot);
        }
        self.arm(slot, next.deadline);
    }

    /// Sets a timer for a sender that has sent, if it needs one.
    pub(super) fn arm_sender(&mut self, slot: u32) {
        self.arm(slot, self.send.slots[slot as usize].sender.deadline());
    }

    #[inline(always)]
    pub(super) fn arm(&mut self, slot: u32, deadline: Time) {
        let sending = &mut self.send.slots[slot as usize];
        if sending.armed.needs(deadline) {
            self.timers.push(deadline, Due::Sender, slot);
        }
    }

    /// A timer of a sender came up.
    pub(super) fn sender_due(&mut self, now: Time, slot: u32, out: &mut impl Emitter<Packet>) {
        let sending = &mut self.send.slots[slot as usize];
        if !sending.armed.fires(now) {
            return;
        }
        if sending.sender.deadline() <= now {
            sending.sender.on_deadline(now);
            if sending.sender.gave_up() {
                return self.finish(now, slot, out);
            }
        }
        self.wake_sender(now, slot);
    }

    /// A flow that waits for its turn may have more or less to send than before, and turns may go by that.
    #[cold]
    fn rank_anew(&mut self, slot: u32) {
        let left = self.left_to_send(slot).all;
        let Egress { ready, class_queues, .. } = &mut self.nic;
        if !ready.update(slot, left)
            && let Some(queues) = class_queues
        {
            queues.update(ready, slot, left);
        }
    }

    #[cold]
    fn finish(&mut self, now: Time, slot: u32, out: &mut impl Emitter<Packet>) {
        let sending = &self.send.slots[slot as usize];
        let (flow, gave_up) = (sending.flow, sending.sender.gave_up());
        self.send.finished.push(standing(sending, Some(now)));
        self.send.of.set(FlowId(flow), DONE);
        if self.send.slots[slot as usize].ready {
            // Rare: everything was acknowledged while a retransmission stood ready. It pulls nothing and leaves then.
            self.send.slots[slot as usize].flow = RETIRED;
            self.rank_anew(slot);
        } else {
            self.send.free.push(slot);
        }
        if self.apps.is_some() {
            match gave_up {
                true => self.flow_given_up(now, FlowId(flow), out),
                false => self.flow_acked(now, FlowId(flow), out),
            }
        }
        out.done();
    }

    /// Where the flows in progress go to, and what each waits for.
    pub fn waits(&self) -> impl Iterator<Item = (u32, Wait)> {
        let paused = self.nic.port.paused_classes();
        self.unfinished().map(move |(sent, sender)| {
            let spec = &self.common.flows[sent.flow as usize];
            let wait = match sender.waits_for() {
                Wait::Nic if paused & 1 << sender.next_class().min(7) != 0 => Wait::Pause,
                wait => wait,
            };
            (spec.dst, wait)
        })
    }

    /// When the congestion control of a flow first ended the run: the time, the flow and the sentence.
    pub fn module_fault(&self) -> Option<(Time, u32, String)> {
        let faults = self.unfinished().filter_map(|(sent, sender)| {
            sender.fault().map(|(at, why)| (at, sent.flow, why.to_string()))
        });
        faults.min()
    }

    /// Flows that have started here and are not finished, as they stand, with what each waits for.
    pub fn unfinished(&self) -> impl Iterator<Item = (SenderEnd, &Sender)> {
        let live =
            |s: &&SendingFlow| self.send.of.get(FlowId(s.flow)).is_some_and(|slot| slot != DONE);
        self.send.slots.iter().filter(live).map(|s| (standing(s, None), &s.sender))
    }
}

fn standing(sending: &SendingFlow, ended: Option<Time>) -> SenderEnd {
    let gave_up = sending.sender.gave_up();
    SenderEnd {
        flow: sending.flow,
        started: sending.started,
        acked: ended.filter(|_| !gave_up),
        gave_up: ended.filter(|_| gave_up),
        retransmits: sending.sender.retransmits() as u32,
        timeouts: sending.sender.timeouts() as u32,
        credits_used: sending.sender.credits_used() as u32,
    }
}
