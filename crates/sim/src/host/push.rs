//! Flows that push: what a window allows goes into the host's queue at once, and leaves in that order.
//!
//! The queue takes [`LIMIT`] packets of data of each class, so that a class that is paused holds up no other. With TSO a super-packet counts
//! once, and until its last packet has left. Flows that find the queue full wait, as TCP small queues hold sockets back in Linux, and go on
//! in turn, one each, as there is room. So laws without a window, and flows without an end, have no more queued than that.
//!
//! Source: `txqueuelen`, which `pfifo_fast` takes for its limit: 1,000 packets, super-packets counted once.
//! Deviation: before TSQ Linux dropped what found the queue full, and the sender cut its window; here flows wait.

use super::Host;
use super::flow_map::RETIRED;
use forebay_net::CLASSES;
use forebay_units::Time;
use forebay_wire::Kind;
use std::collections::VecDeque;

/// Most packets, or super-packets, of data of a class that wait in the queue of a NIC.
pub(super) const LIMIT: usize = 1_000;

/// The queue's data by class, and who waits for room in it. Empty where no flow pushes, since every host has one.
#[derive(Clone, Debug, Default)]
pub(super) struct PushQueues(Vec<OfClass>);

#[derive(Clone, Debug, Default)]
struct OfClass {
    queued: VecDeque<u16>, // packets that each packet or super-packet still has in the queue, in their order
    waiting: VecDeque<u32>, // slots of senders, which count as ready meanwhile
}

impl PushQueues {
    fn of(&mut self, class: u8) -> &mut OfClass {
        if self.0.is_empty() {
            self.0.resize_with(CLASSES, OfClass::default);
        }
        &mut self.0[usize::from(class).min(CLASSES - 1)]
    }
}

impl Host {
    /// Takes everything that a flow may send, as far as there is room.
    #[inline(never)]
    pub(super) fn push(&mut self, now: Time, slot: u32) {
        if self.send.slots[slot as usize].ready {
            return; // it waits for room
        }
        while self.send.slots[slot as usize].sender.ready() {
            let class = self.class_of(slot);
            let of_class = self.nic.pushing.of(class);
            if of_class.queued.len() >= LIMIT {
                of_class.waiting.push_back(slot);
                self.send.slots[slot as usize].ready = true;
                return;
            }
            if !self.push_next(now, slot) {
                return;
            }
        }
    }

    /// Takes a packet or a super-packet; whether there was one.
    fn push_next(&mut self, now: Time, slot: u32) -> bool {
        let sending = &mut self.send.slots[slot as usize];
        let Some(mut bursts) = self.nic.bursts.take() else {
            let Some(packet) = sending.sender.next_packet(now) else { return false };
            if packet.kind == Kind::Data {
                self.nic.pushing.of(packet.class).queued.push_back(1);
            }
            self.nic.enqueue(now, &packet);
            return true;
        };
        let burst = sending.sender.next_burst(now);
        if let Some(burst) = burst.filter(|burst| burst.payload > 0) {
            let mut packets = 0;
            for packet in bursts.cut(&burst, sending.sender.mss().get()) {
                packets += 1;
                self.nic.enqueue(now, &packet);
            }
            self.nic.pushing.of(burst.first.class).queued.push_back(packets);
        } else if let Some(message) = burst {
            self.nic.enqueue(now, &message.first); // without payload
        }
        self.nic.bursts = Some(bursts);
        burst.is_some()
    }

    /// A packet of data of this class has left the queue: there is room for the next flow that waits.
    #[inline(never)]
    pub(super) fn pushed_left(&mut self, now: Time, class: u8) {
        let queued = &mut self.nic.pushing.of(class).queued;
        let first = queued.front_mut().expect("what leaves was pushed");
        *first -= 1;
        if *first > 0 {
            return; // the rest of its super-packet waits
        }
        queued.pop_front();
        while self.nic.pushing.of(class).queued.len() < LIMIT {
            let Some(slot) = self.nic.pushing.of(class).waiting.pop_front() else { return };
            self.send.slots[slot as usize].ready = false;
            if self.send.slots[slot as usize].flow == RETIRED {
                self.send.free.push(slot);
                continue;
            }
            self.push(now, slot);
            self.arm_sender(slot);
        }
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

    /// Three flows of a law without a window, one of them without an end: they fill the queue, and no more; the link is never idle and they
    /// share it.
    pub fn the_queue_is_bounded_and_flows_share_its_room() {
        let text = r#"
version = 1
stop = { time = "1ms" }
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[host]
nic = "push"
[transport]
kind = "rdma"
law = "dcqcn"
timeout = "60ms"
[[traffic]]
kind = "long"
from = ["host[0]"]
to = "host[1]"
[[traffic]]
kind = "list"
flows = [
  { from = "host[0]", to = "host[2]", size = "50MB", at = "0s" },
  { from = "host[0]", to = "host[3]", size = "50MB", at = "0s" },
]
"#;
        let scenario = forebay_scenario::text("push.toml", text).unwrap().scenario;
        let mut world =
            build(&scenario, 1, Options::default(), &Outputs::default(), &|| true).unwrap();
        let AnyNode::Host(mut host) = world.nodes.swap_remove(0) else {
            panic!("hosts come first")
        };
        let mut left = Departures::default();
        let end = Time::ZERO + Span::from_us(300);
        while host.next_timer() <= end {
            host.timer(host.next_timer(), &mut left);
            assert!(host.nic.queue.len() <= LIMIT && host.nic.pushing.0[0].queued.len() <= LIMIT);
        }
        assert_eq!(host.nic.pushing.0[0].waiting.len(), 3, "all would send more");
        let packet = Span::from_ps(1_044 * 80); // with its header, at 100 Gb/s
        for pair in left.packets.windows(2) {
            assert_eq!(pair[1].0.since(pair[0].0), packet, "back to back");
        }
        let late = &left.packets[left.packets.len() - 900..];
        for flow in 0..3 {
            assert_eq!(late.iter().filter(|(_, of)| of.flow.0 == flow).count(), 300, "flow {flow}");
        }
    }
}
