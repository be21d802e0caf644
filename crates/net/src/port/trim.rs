//! Trimming: a full queue cuts off payloads rather than drop packets, so that receivers know what is missing.
//!
//! A data packet beyond the limit of its class is trimmed, or the newest one that waits in that class is trimmed in its place, as a coin falls:
//! otherwise senders in step would share a port unfairly. Never the packet in transmission. The header changes class and is never trimmed
//! again; where its new class has no room for it either, it goes back to its source, once, or is dropped.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP), SIGCOMM 2017, section 3.

use super::marking::draw;
use super::settings::holds;
use super::{Port, Verdict};
use forebay_engine::Emitter;
use forebay_settings::{Switch, Trim};
use forebay_units::Time;
use forebay_wire::{Flags, Kind, Packet};

/// What becomes of a packet beyond the limit of its class.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum OverflowAction {
    /// The packet is dropped.
    #[default]
    Drop,
    /// Data is trimmed, all else dropped.
    Trim {
        /// How.
        how: Trim,
        /// Whether headers say that they were cut off here ([`forebay_wire::Flags::CORE`]): at a port to a switch, where a transport wants to know.
        tells: bool,
    },
    /// A trimmed packet that names its source goes back to it, all else is dropped.
    Return,
}

impl OverflowAction {
    /// What a switch of these settings does.
    pub fn of(switch: &Switch, class: usize, tells: bool) -> Self {
        let trims = switch.class_trims();
        let headers = || trims.iter().flatten().any(|trim| usize::from(trim.class) == class);
        match trims[class] {
            Some(how) => Self::Trim { how, tells },
            None if switch.return_to_sender && headers() => Self::Return,
            None => Self::Drop,
        }
    }
}

impl Port {
    /// A packet finds the queue of its class, of so many bytes and packets, too long for it. The port has been served up to `now`.
    #[cold]
    pub(super) fn over_limit(
        &mut self,
        now: Time,
        queue: (u64, u64),
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        match self.policy(packet.class).map(|policy| policy.over) {
            Some(OverflowAction::Trim { how, tells }) if cuts(&how, packet) => {
                self.trim(now, (how, tells), queue, ingress_port, packet, out)
            }
            Some(OverflowAction::Return) if packet.turn_back() => Verdict::Returned,
            _ => Verdict::Dropped,
        }
    }

    /// Trims `packet`, or the newest one that waits and which it is then exchanged for.
    fn trim(
        &mut self,
        now: Time,
        (trim, tells): (Trim, bool),
        queue: (u64, u64),
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> Verdict {
        // Every toss trims one packet, so these number the tosses.
        let nth = self.cold.counters.trimmed_packets;
        let heads = draw(self.cold.settings.key.rotate_left(32), nth) < trim.coin;
        if !heads && let Some((queue, packets)) = self.without_newest(trim, queue, packet) {
            match self.mark(queue, packets, packet) {
                Verdict::Accepted => {}
                refused => return refused,
            }
            self.exchange(now, ingress_port, packet);
        }
        self.cold.counters.trimmed_packets += 1;
        let to = trim.trim_to.get() as u16;
        self.cold.counters.trimmed_bytes += u64::from(packet.size - to);
        out.slab().release(packet.int_slot());
        packet.trim(to, trim.class);
        packet.flags = packet.flags.with_if(tells, Flags::CORE);
        self.admit_to_class(now, true, ingress_port, packet, out)
    }

    /// The queue of the class of `packet` without the newest packet that waits there, if that one may be trimmed and leaves enough room.
    fn without_newest(
        &self,
        trim: Trim,
        (queue, packets): (u64, u64),
        packet: &Packet,
    ) -> Option<(u64, u64)> {
        let lane = self.scheduled.lane(packet.class);
        let newest = self.scheduled.last_of(lane).filter(|newest| cuts(&trim, newest))?;
        let left = (queue - self.wire(&newest), packets - 1);
        let limit = self.policy(packet.class).and_then(|policy| policy.limit)?;
        holds(limit, left.0, left.1, self.wire(packet)).then_some(left)
    }

    /// Queues a packet in place of the newest one of its class, which it becomes.
    fn exchange(&mut self, now: Time, ingress_port: u16, packet: &mut Packet) {
        let newest = self.scheduled.take_last(self.scheduled.lane(packet.class));
        if self.is_work_conserving() {
            self.hot.busy = self.hot.busy - self.hot.time_of(&newest) + self.hot.time_of(packet);
        }
        self.enqueue(now, ingress_port, packet, true);
        self.cold.highest = self.cold.highest.max(self.queue(now));
        *packet = newest;
    }
}

/// Whether a packet has a payload to cut off.
fn cuts(trim: &Trim, packet: &Packet) -> bool {
    packet.kind == Kind::Data && u64::from(packet.size) > trim.trim_to.get()
}
