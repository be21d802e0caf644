//! A NIC that sends data of several classes: the highest class goes first, and within a class everybody has a turn.
//!
//! There is a queue for each class that data rides in. In a queue, answers (ACKs, NACKs, CNPs) go before data, and flows in the order of the
//! NIC. An answer is in the queue of the highest class of data that is not above its own, so that answers of one host keep their order
//! as far as no data comes between them; those below all data have the lowest queue to themselves. What the switch has paused is put aside
//! as its turn comes, and holds up no other. Where flows share one send queue, a super-packet is finished first.
//!
//! Whatever becomes ready joins the one list that every host has, and is sorted into queues when the NIC pulls next. A host whose data
//! is of one class, with no answers below, has no such queues.
//!
//! A metered class, of credits, has a short queue of its own: its first packet goes before all others once the port has tokens for it, and one that finds
//! no room is dropped. Where there is one queue beside it, all else stays in the list that every host has.

use super::{Host, REFUSED};
use forebay_engine::Emitter;
use forebay_host::{ReadyFlows, ReadyList};
use forebay_net::trace;
use forebay_scenario::model::CreditClass;
use forebay_units::Time;
use forebay_wire::Packet;
use std::collections::VecDeque;

/// What waits for the wire, class by class.
#[derive(Clone, Debug)]
pub(crate) struct ClassQueues {
    of_class: [u8; 8],
    queues: Vec<ClassQueue>, // the highest goes first
    credits: Option<CreditQueue>,
    examined: usize, // packets of the NIC's list that are known not to be credits, where only they are sorted out
}

/// Credits that wait for tokens.
#[derive(Clone, Debug)]
struct CreditQueue {
    of: CreditClass,
    packets: VecDeque<Packet>,
    bytes: u64, // of the wire
}

#[derive(Clone, Debug, Default)]
struct ClassQueue {
    answers: VecDeque<Packet>, // and data, where flows push it
    flows: ReadyFlows,
}

impl ClassQueues {
    /// For data and answers of these classes, a bit each, and credits that are metered; `None`: one list does.
    pub fn new(data: u8, answers: u8, credits: Option<CreditClass>) -> Option<Self> {
        let below_data = data.wrapping_sub(1) & !data; // all classes below the lowest
        let first = data | u8::from(answers & below_data != 0);
        let queue_of = |class: usize| (first & (2u16 << class).wrapping_sub(1) as u8).count_ones();
        let count = first.count_ones() as usize;
        (count > 1 || credits.is_some()).then(|| Self {
            of_class: core::array::from_fn(|class| queue_of(class).saturating_sub(1) as u8),
            queues: vec![ClassQueue::default(); count.max(1)],
            credits: credits.map(|of| CreditQueue { of, packets: VecDeque::new(), bytes: 0 }),
            examined: 0,
        })
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.answers.is_empty() && queue.flows.is_empty())
    }

    /// The credit that goes next.
    fn first_credit(&self) -> Option<&Packet> {
        self.credits.as_ref().and_then(|credits| credits.packets.front())
    }

    fn queue(&mut self, class: u8) -> &mut ClassQueue {
        &mut self.queues[usize::from(self.of_class[usize::from(class.min(7))])]
    }

    /// A flow that waits in one of them has so many bytes left now.
    pub fn update(&mut self, ready: &mut ReadyList, slot: u32, left: u64) {
        for queue in &mut self.queues {
            ready.exchange(&mut queue.flows);
            let found = ready.update(slot, left);
            ready.exchange(&mut queue.flows);
            if found {
                return;
            }
        }
    }

    /// What was put aside comes back before what came later.
    pub fn put_back(&mut self, packets: VecDeque<Packet>) {
        for packet in packets.into_iter().rev() {
            self.queue(packet.class).answers.push_front(packet);
        }
    }
}

impl CreditQueue {
    /// Whether there is room for one more credit, which it then takes.
    fn add(&mut self, credit: &Packet, overhead: u64) -> bool {
        let bytes = self.bytes + credit.on_wire(overhead);
        let fits = bytes <= self.of.limit.get();
        if fits {
            self.bytes = bytes;
            self.packets.push_back(*credit);
        }
        fits
    }
}

impl Host {
    /// From now on the highest class goes first. It has to be so from the start.
    pub fn serve_by_class(&mut self, mut queues: ClassQueues) {
        if queues.queues.len() > 1 {
            let lists = self.nic.ready.split(queues.queues.len());
            queues.queues.iter_mut().zip(lists).for_each(|(queue, flows)| queue.flows = flows);
        }
        self.nic.class_queues = Some(Box::new(queues));
        self.nic.by_class = true;
    }

    /// When the NIC pulls next if nothing waits but in queues of classes.
    #[cold]
    #[inline(never)]
    pub(super) fn next_pull_of_class(&self, queues: &ClassQueues) -> Time {
        if !queues.is_empty() {
            return self.next_free();
        }
        let credit = queues.first_credit().map(|first| self.nic.port.credit_ready(first));
        credit.map_or(Time::MAX, |tokens| self.next_free().max(tokens))
    }

    /// What goes out next where classes have queues. `None`: what was next has been put aside, or there is nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn next_by_class(
        &mut self,
        start: Time,
        out: &mut impl Emitter<Packet>,
    ) -> Option<Packet> {
        if let Some(segment) = self.next_segment() {
            return Some(segment);
        }
        let Some(mut queues) = self.nic.class_queues.take() else {
            return self.next_of_list::<false>(start);
        };
        let next = match queues.queues.len() {
            1 => self.next_beside_credits(&mut queues, start, out),
            _ => self.next_of_queues(&mut queues, start, out),
        };
        self.nic.class_queues = Some(queues);
        next
    }

    #[inline(always)]
    fn next_of_queues(
        &mut self,
        queues: &mut ClassQueues,
        start: Time,
        out: &mut impl Emitter<Packet>,
    ) -> Option<Packet> {
        self.sort_into(queues, start, out);
        let mut next = self.next_credit(queues, start);
        for queue in queues.queues.iter_mut().rev() {
            if next.is_some() {
                break;
            }
            std::mem::swap(&mut self.nic.queue, &mut queue.answers);
            self.nic.ready.exchange(&mut queue.flows);
            while next.is_none() && !(self.nic.queue.is_empty() && self.nic.ready.is_empty()) {
                next = self.next_of_list::<true>(start);
            }
            self.nic.ready.exchange(&mut queue.flows);
            std::mem::swap(&mut self.nic.queue, &mut queue.answers);
        }
        if let Some(slot) = self.nic.moved.take() {
            let queue = queues.queue(self.class_of(slot));
            let left = self.left_to_send(slot).all;
            self.nic.ready.exchange(&mut queue.flows);
            self.nic.ready.add(start, slot, || left);
            self.nic.ready.exchange(&mut queue.flows);
        }
        next
    }

    /// What goes out next where all but credits are of one queue, which is the NIC's list.
    #[inline(never)]
    fn next_beside_credits(
        &mut self,
        queues: &mut ClassQueues,
        start: Time,
        out: &mut impl Emitter<Packet>,
    ) -> Option<Packet> {
        let back = &mut queues.queues[0].answers;
        queues.examined += back.len();
        back.drain(..).rev().for_each(|packet| self.nic.queue.push_front(packet));
        self.take_credits(queues, start, out);
        let mut next = self.next_credit(queues, start);
        while next.is_none() && !(self.nic.queue.is_empty() && self.nic.ready.is_empty()) {
            next = self.next_of_list::<false>(start);
        }
        queues.examined = self.nic.queue.len();
        next
    }

    fn take_credits(
        &mut self,
        queues: &mut ClassQueues,
        now: Time,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(credits) = &mut queues.credits else { return };
        let mut at = queues.examined;
        while let Some(packet) = self.nic.queue.get(at) {
            match credits.of.has(packet.class) {
                true => {
                    let packet = self.nic.queue.remove(at).expect("it has just been seen");
                    self.add_credit(credits, &packet, now, out);
                }
                false => at += 1,
            }
        }
    }

    /// A credit waits for tokens, or is dropped.
    #[inline(never)]
    fn add_credit(
        &mut self,
        credits: &mut CreditQueue,
        packet: &Packet,
        now: Time,
        out: &mut impl Emitter<Packet>,
    ) {
        if !credits.add(packet, self.nic.port.overhead()) {
            self.nic.port.count_drop(packet);
            trace(&mut self.digest, now, REFUSED, packet);
            out.slab().release(packet.int_slot());
        }
    }

    fn sort_into(&mut self, queues: &mut ClassQueues, now: Time, out: &mut impl Emitter<Packet>) {
        while let Some(packet) = self.nic.queue.pop_front() {
            match queues.credits.as_mut().filter(|credits| credits.of.has(packet.class)) {
                Some(credits) => self.add_credit(credits, &packet, now, out),
                None => queues.queue(packet.class).answers.push_back(packet),
            }
        }
        while let Some(slot) = self.nic.ready.unsort() {
            let queue = queues.queue(self.class_of(slot));
            self.nic.ready.move_to(&mut queue.flows, now, slot);
        }
    }

    /// The next credit, if there are tokens for it.
    fn next_credit(&self, queues: &mut ClassQueues, start: Time) -> Option<Packet> {
        let first = queues.first_credit()?;
        if self.nic.port.credit_ready(first) > start {
            return None;
        }
        let overhead = self.nic.port.overhead();
        let credits = queues.credits.as_mut()?;
        credits.packets.pop_front().inspect(|credit| credits.bytes -= credit.on_wire(overhead))
    }

    /// The next answer that may go, or the next flow's data if it may.
    fn next_of_list<const BY_CLASS: bool>(&mut self, start: Time) -> Option<Packet> {
        self.next_answer().or_else(|| self.pull_data::<true, BY_CLASS>(start))
    }
}

#[cfg(feature = "reference")]
#[doc(hidden)]
pub mod tests {
    use super::*;

    use crate::assemble::build;
    use crate::host::departures::Departures;
    use crate::options::{Options, Outputs};
    use crate::world::AnyNode;
    use forebay_units::Span;
    use forebay_wire::Kind;

    /// Three packets of 1,000 B in class 0, and two flows of two in class 2.
    const STAR: &str = r#"
version = 1
name = "classes"
seeds = [1]
stop = { time = "1ms" }
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[fabric.switch]
classes = 8
buffer = { size = "8MB" }
pause = { classes = [2] }
[transport]
kind = "rdma"
law = "dcqcn"
ack_class = 1
cnp_class = 3
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "3000B", at = "500us" }]
[[traffic]]
kind = "list"
class = 2
flows = [
  { from = "host[0]", to = "host[2]", size = "2000B", at = "500us" },
  { from = "host[0]", to = "host[3]", size = "2000B", at = "500us" },
]
"#;

    /// Flow of each packet that leaves, and its place in it (of answers 0), after answers of classes 0, 1, 3 and 0 have come up while the first packet was on the wire. The switch pauses these
    /// classes then, and resumes them when that has been in force for 300 ns and one more answer of class 0 has come up.
    fn leaves(star: &str, paused: u8) -> Vec<(u32, u64)> {
        let scenario = forebay_scenario::text("classes.toml", star).unwrap().scenario;
        let mut world =
            build(&scenario, 1, Options::default(), &Outputs::default(), &|| true).unwrap();
        let AnyNode::Host(mut host) = world.nodes.swap_remove(0) else {
            panic!("hosts come first")
        };
        let mut left = Departures::default();
        let start = Time::ZERO + Span::from_us(500);
        host.timer(start, &mut left);
        let answer = |host: &mut Host, at: Time, (flow, class): (u32, u8)| {
            let flow = forebay_wire::FlowId(flow);
            host.nic.enqueue(
                at,
                &Packet { kind: Kind::Ack, flow, class, size: 64, ..Packet::default() },
            );
            host.settle_next();
        };
        for one in [(10, 0), (11, 1), (12, 3), (13, 0)] {
            answer(&mut host, start, one);
        }
        let until = |host: &mut Host, end: Time, left: &mut Departures| {
            while host.next_timer() <= end {
                host.timer(host.next_timer(), left);
            }
        };
        host.arrive(start, &Packet::pause(paused), &mut left);
        let again = start + Span::from_ns(300);
        until(&mut host, again, &mut left);
        answer(&mut host, again, (14, 0));
        host.arrive(again, &Packet::pause(0), &mut left);
        until(&mut host, start + Span::from_us(2), &mut left);
        left.packets.iter().map(|(_, packet)| (packet.flow.0, packet.seq / 1_000)).collect()
    }

    /// A packet takes 83.5 ns, an answer 5.12.
    pub fn the_highest_class_goes_first_and_within_one_all_take_turns() {
        let (low, b, c) = (0, 1, 2);
        let order = [(b, 0), (12, 0), (c, 0), (b, 1), (c, 1), (10, 0), (11, 0), (13, 0), (14, 0)];
        let last = [(low, 0), (low, 1), (low, 2)];
        assert_eq!(leaves(STAR, 0), [&order[..], &last].concat());
    }

    pub fn a_paused_class_holds_up_no_other_and_comes_back_in_order() {
        let (low, b, c) = (0, 1, 2);
        // The answer of class 3 is in the queue of class 2, and goes all the same. Class 0 has its three packets out by 353 ns, of which the last begins before 300.
        let before = [(b, 0), (12, 0), (10, 0), (11, 0), (13, 0), (low, 0), (low, 1), (low, 2)];
        let last = [(c, 0), (b, 1), (c, 1), (14, 0)];
        assert_eq!(leaves(STAR, 1 << 2), [&before[..], &last].concat());
        // Class 0 may go again before its turn comes, after 339 ns.
        assert_eq!(leaves(STAR, 1), leaves(STAR, 0));
        // An answer of a paused class that is above all data lets data pass.
        let after = [(10, 0), (11, 0), (13, 0), (14, 0), (low, 0), (low, 1), (low, 2)];
        let passed = [(b, 0), (c, 0), (b, 1), (c, 1), (12, 0)];
        assert_eq!(leaves(STAR, 1 << 3), [&passed[..], &after].concat());
        // Nothing but the answers of classes 3 and 1 may go.
        let others = [(b, 0), (12, 0), (11, 0), (c, 0), (b, 1), (c, 1), (10, 0)];
        assert_eq!(leaves(STAR, 1 << 2 | 1), [&others[..], &after[2..]].concat());
    }

    /// All data is of class 2, and all answers that the transport sends are above it. What is paused waits aside all the same, and comes back
    /// before what came later.
    pub fn with_one_queue_too_what_is_paused_comes_back_in_order() {
        let (low, rest) = STAR.split_once("[[traffic]]").unwrap();
        let (_, high) = rest.split_once("[[traffic]]").unwrap();
        let star = format!("{low}[[traffic]]{high}").replace("ack_class = 1", "ack_class = 3");
        let (b, c) = (0, 1);
        let order = [(b, 0), (11, 0), (12, 0), (c, 0), (b, 1), (c, 1), (10, 0), (13, 0), (14, 0)];
        assert_eq!(leaves(&star, 1), order);
    }

    fn queues(data: &[u8], answers: &[u8]) -> Option<[u8; 8]> {
        let mask = |classes: &[u8]| classes.iter().fold(0, |mask, class| mask | 1 << class);
        ClassQueues::new(mask(data), mask(answers), None).map(|queues| queues.of_class)
    }

    pub fn a_queue_for_each_class_of_data() {
        assert_eq!(queues(&[], &[0]), None);
        assert_eq!(queues(&[0], &[0, 1, 7]), None);
        assert_eq!(queues(&[7], &[7]), None);
        assert_eq!(queues(&[2], &[1, 3]), Some([0, 0, 1, 1, 1, 1, 1, 1]));
        assert_eq!(queues(&[0, 3], &[2, 5]), Some([0, 0, 0, 1, 1, 1, 1, 1]));
        assert_eq!(queues(&[1, 7], &[0]), Some([0, 1, 1, 1, 1, 1, 1, 2]));
        assert_eq!(queues(&[1, 7], &[6]), Some([0, 0, 0, 0, 0, 0, 0, 1]));
    }
}
