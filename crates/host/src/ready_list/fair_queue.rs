//! The order of Linux's `fq`: new flows go first, old flows do not starve.
//!
//! A flow that becomes ready after it had nothing to send joins the new flows. The first new flow sends, and the first old flow if there is
//! no new one. A flow sends until its credit is used up. Then it gets a quantum and goes behind the old flows. A new flow that has nothing left
//! goes behind the old flows too, if there are any. It cannot become new again before its turn there has come. So a flow that sends a packet now and then
//! is served at once, and many of them do not keep an old flow waiting. A flow that pacing holds joins the old flows when its time has come.
//!
//! Source: Linux `net/sched/sch_fq.c`, `fq_classify`, `fq_enqueue`, `fq_dequeue`.
//! Deviation: one band, as before Linux 6.7. Answers (ACKs) go before all flows, as everywhere in this NIC.

use forebay_units::{Span, Time};
use std::collections::VecDeque;

/// Packets of full size whose bytes a flow gets with each turn (`quantum`).
const QUANTUM: i64 = 2;

/// Packets of full size whose bytes a flow has at its start (`initial_quantum`).
const INITIAL: i64 = 10;

/// A flow that had nothing to send for longer than this has a quantum at least (`flow_refill_delay`).
const REFILL: Span = Span::from_ms(40);

/// Flows that wait for their turn, of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct FairQueue {
    class: u8, // number of this queue
    ready: u32,
    new: VecDeque<Entry>,
    old: VecDeque<Entry>,
}

/// Place in one of the lists. It is void if its flow has joined a list since.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: u32,
    nth: u32,
}

/// All flows of a NIC, by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct FairFlows {
    packet: i64, // bytes on the wire of a packet of full size
    flows: Vec<Flow>,
}

/// Whether a flow is in a list, and which one it is in or joins next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Out(List),
    In(List),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    New,
    Old,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    credit: i64, // bytes
    state: State,
    class: u8,   // of the queue that it is or was in
    nth: u32,    // of its valid entry
    ready: bool, // it has something to send
    paced: bool, // its pacing holds it
    since: Time, // when it left the lists
}

impl FairQueue {
    /// An empty queue with this number. Queues of one NIC have different ones.
    pub(super) fn of_class(class: u8) -> Self {
        Self { class, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready == 0
    }

    fn list(&mut self, list: List) -> &mut VecDeque<Entry> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
        }
    }

    /// A flow goes behind all others of a list.
    fn push(&mut self, list: List, slot: u32, flow: &mut Flow) {
        flow.nth = flow.nth.wrapping_add(1);
        flow.class = self.class;
        flow.state = State::In(list);
        self.list(list).push_back(Entry { slot, nth: flow.nth });
    }
}

impl FairFlows {
    pub(super) fn new(packet: u32) -> Self {
        Self { packet: packet.into(), flows: Vec::new() }
    }

    fn flow(&mut self, slot: u32) -> &mut Flow {
        let slot = slot as usize;
        if self.flows.len() <= slot {
            let fresh = Flow {
                credit: INITIAL * self.packet,
                state: State::Out(List::New),
                class: 0,
                nth: 0,
                ready: false,
                paced: false,
                since: Time::ZERO,
            };
            self.flows.resize(slot + 1, fresh);
        }
        &mut self.flows[slot]
    }

    /// A flow has something to send.
    pub(super) fn add(&mut self, queue: &mut FairQueue, now: Time, slot: u32) {
        let quantum = QUANTUM * self.packet;
        let flow = self.flow(slot);
        flow.ready = true;
        flow.paced = false;
        queue.ready += 1;
        match flow.state {
            State::In(_) if flow.class == queue.class => return,
            State::In(_) => queue.push(List::New, slot, flow), // its packets were of another class
            State::Out(list) => queue.push(list, slot, flow),
        }
        if flow.state == State::In(List::New) && now.since(flow.since) > REFILL {
            flow.credit = flow.credit.max(quantum);
        }
    }

    /// The flow whose turn it is. It keeps its place, and counts as ready again when [put back](FairFlows::put_back).
    pub(super) fn take(&mut self, queue: &mut FairQueue, now: Time) -> Option<u32> {
        if queue.ready == 0 {
            return None;
        }
        loop {
            let of_list = if queue.new.is_empty() { List::Old } else { List::New };
            let entry = *queue.list(of_list).front().expect("one is ready");
            let flow = &mut self.flows[entry.slot as usize];
            if flow.nth != entry.nth {
                queue.list(of_list).pop_front();
            } else if flow.credit <= 0 {
                flow.credit += QUANTUM * self.packet;
                queue.list(of_list).pop_front();
                queue.push(List::Old, entry.slot, flow);
            } else if flow.ready {
                flow.ready = false;
                queue.ready -= 1;
                return Some(entry.slot);
            } else {
                queue.list(of_list).pop_front();
                if flow.paced {
                    flow.state = State::Out(List::Old);
                } else if of_list == List::New && !queue.old.is_empty() {
                    queue.push(List::Old, entry.slot, flow);
                } else {
                    flow.state = State::Out(List::New);
                    flow.since = now;
                }
            }
        }
    }

    /// A flow that was taken has more to send.
    pub(super) fn put_back(&mut self, queue: &mut FairQueue, slot: u32) {
        self.flow(slot).ready = true;
        queue.ready += 1;
    }

    /// A flow that was taken waits, because it has nothing to send or because it is `paced`.
    pub(super) fn wait(&mut self, slot: u32, paced: bool) {
        self.flow(slot).paced = paced;
    }

    /// A flow that was taken leaves its list, and joins the same list later.
    pub(super) fn put_aside(&mut self, queue: &mut FairQueue, slot: u32) {
        let flow = self.flow(slot);
        if let State::In(list) = flow.state {
            queue.list(list).pop_front();
            flow.state = State::Out(list);
        }
    }

    /// A flow sends so many bytes.
    pub(super) fn charge(&mut self, slot: u32, bytes: u64) {
        self.flow(slot).credit -= bytes as i64;
    }

    /// Another flow has this slot from now on.
    pub(super) fn renew(&mut self, slot: u32) {
        let credit = INITIAL * self.packet;
        let flow = self.flow(slot);
        let nth = flow.nth.wrapping_add(1);
        *flow = Flow { credit, state: State::Out(List::New), nth, paced: false, ..*flow };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u32 = 1_500;

    /// A NIC that sends a packet of full size each microsecond.
    struct Link {
        flows: FairFlows,
        queue: FairQueue,
        now: Time,
    }

    impl Link {
        fn new() -> Self {
            let (flows, queue) = (FairFlows::new(PACKET), FairQueue::default());
            Self { flows, queue, now: Time::ZERO }
        }

        fn add(&mut self, slot: u32) {
            self.flows.add(&mut self.queue, self.now, slot);
        }

        /// Sends a packet; `more` says whether the flow has another one.
        fn send(&mut self, more: impl Fn(u32) -> bool) -> Option<u32> {
            self.now += Span::from_us(1);
            let slot = self.flows.take(&mut self.queue, self.now)?;
            match more(slot) {
                true => self.flows.put_back(&mut self.queue, slot),
                false => self.flows.wait(slot, false),
            }
            self.flows.charge(slot, PACKET.into());
            Some(slot)
        }

        fn sends<const N: usize>(&mut self, more: impl Fn(u32) -> bool + Copy) -> [u32; N] {
            [(); N].map(|()| self.send(more).expect("somebody is ready"))
        }
    }

    /// `initial_quantum` is ten packets and `quantum` two (sch_fq.c, `fq_init`).
    #[test]
    fn a_new_flow_sends_ten_packets_and_then_all_send_two_each() {
        let mut link = Link::new();
        link.add(0);
        link.add(1);
        assert_eq!(link.sends(|_| true), [0; 10]);
        assert_eq!(link.sends(|_| true), [1; 10]);
        assert_eq!(link.sends(|_| true), [0, 0, 1, 1, 0, 0, 1, 1]);
        link.add(2);
        assert_eq!(link.sends(|_| true), [2; 10], "new flows go first");
    }

    /// "force a pass through old_flows to prevent starvation" (sch_fq.c, `fq_dequeue`).
    #[test]
    fn flows_that_are_ready_again_at_once_do_not_starve_an_old_one() {
        let mut link = Link::new();
        link.add(0);
        assert_eq!(link.sends(|_| true), [0; 10]);
        let mut served = 0;
        for _ in 0..300 {
            // Two flows of one packet each come back as soon as it is sent.
            let waiting = |slot: u32| link.flows.flows.get(slot as usize).is_some_and(|f| f.ready);
            let come = [1, 2].map(|slot| !waiting(slot));
            (1..).zip(come).filter(|(_, comes)| *comes).for_each(|(slot, _)| link.add(slot));
            served += u32::from(link.send(|slot| slot == 0) == Some(0));
        }
        // Each round two packets of each, for flow 0 as well.
        assert!((90..=110).contains(&served), "{served} of 300 packets");
    }

    #[test]
    fn a_paced_flow_comes_back_as_an_old_one_and_an_idle_one_as_new() {
        let mut link = Link::new();
        link.add(0);
        link.add(1);
        link.add(2);
        assert_eq!(link.sends(|_| true), [0; 10]);
        assert_eq!(link.send(|_| false), Some(1));
        link.flows.wait(1, true);
        assert_eq!(link.sends(|_| true), [2; 10]);
        assert_eq!(link.send(|_| true), Some(0));
        link.add(1); // behind 0 and 2
        assert_eq!(link.sends(|_| true), [0, 2, 2, 1]);
        let mut link = Link::new();
        link.add(0);
        assert_eq!(link.sends(|_| true), [0; 10]);
        link.add(1);
        assert_eq!(link.send(|slot| slot == 0), Some(1));
        assert_eq!(link.sends(|_| true), [0, 0, 0], "1 passes through the old flows");
        link.add(1);
        assert_eq!(link.send(|_| true), Some(1), "and is a new one again");
    }

    /// `flow_refill_delay` is 40 ms.
    #[test]
    fn a_flow_that_was_idle_for_long_has_a_quantum() {
        for (idle, second) in [(Span::from_ms(39), 0), (Span::from_ms(41), 1)] {
            let mut link = Link::new();
            link.add(1);
            link.sends::<8>(|_| true);
            assert_eq!(link.send(|_| false), Some(1), "credit for one packet is left");
            link.add(0);
            assert_eq!(link.sends(|_| true), [0; 10]);
            link.now += idle;
            link.add(1);
            assert_eq!(link.sends(|_| true), [1, second]);
        }
    }

    #[test]
    fn another_flow_in_a_slot_is_new_and_a_flow_of_another_class_leaves_no_trace() {
        let mut link = Link::new();
        link.add(0);
        link.add(1);
        link.sends::<12>(|_| true);
        assert_eq!(link.send(|_| false), Some(1));
        link.flows.renew(1);
        link.add(1);
        assert_eq!(link.sends(|_| true), [1; 10]);
        let mut other = FairQueue::of_class(1);
        let now = link.now;
        let slot = link.flows.take(&mut link.queue, now).unwrap();
        link.flows.add(&mut other, now, slot);
        assert_eq!(link.flows.take(&mut other, now), Some(slot));
        assert_ne!(link.flows.take(&mut link.queue, now), Some(slot));
        assert!(link.flows.take(&mut link.queue, now).is_none() && other.is_empty());
    }

    #[test]
    fn a_flow_that_is_put_aside_comes_back_into_its_list() {
        let mut link = Link::new();
        link.add(0);
        link.sends::<10>(|_| true);
        link.add(1);
        let now = link.now;
        assert_eq!(link.flows.take(&mut link.queue, now), Some(1));
        link.flows.put_aside(&mut link.queue, 1);
        assert_eq!(link.send(|_| true), Some(0));
        link.add(1);
        assert_eq!(link.send(|_| true), Some(1), "as a new flow");
    }
}
