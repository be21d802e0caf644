//! Faults: what happens to a port at a forced boundary. Everything before `now` has been handled, nothing at `now`.
//!
//! On the wire or in transmission when a link dies: lost. Queued: dropped or held, as the scenario says. In transmission
//! when the rate changes: finishes at the old rate; the queue goes out at the new one.

use super::marking::draw;
use super::{ColdState, Port, PortCounters, Verdict};
use forebay_engine::{Emitter, InFlight, LinkId, Slab};
use forebay_units::{BitsPerSec, Bytes, Span, Time};
use forebay_wire::{FlowId, Kind, Packet};
use std::collections::VecDeque;

/// What a fault does to one direction of a cable.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PortFault {
    /// The link goes down.
    Down,
    /// The link comes up again.
    Up,
    /// The rate of the link becomes this.
    Rate(BitsPerSec),
    /// The link loses this share of packets.
    Loss(f64),
    /// The link loses one packet, once it has been sent.
    Drop(DropRule),
}

/// One packet to lose: the n-th that is sent from now on, of those that go from end to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropRule {
    /// Flow whose packets count; `None`: all.
    pub flow: Option<FlowId>,
    /// Number of the packet; the next is 1.
    pub nth: u64,
}

impl DropRule {
    /// Counts a packet that is sent. True: it is the one.
    fn hits(&mut self, packet: &Packet) -> bool {
        let counts = self.flow.is_none_or(|flow| flow == packet.flow);
        if counts && packet.kind.is_end_to_end() {
            self.nth = self.nth.saturating_sub(1);
        }
        self.nth == 0
    }
}

/// What a fault leaves of what was on the link.
///
/// `flying` is what was on the link, in order of arrival; the caller puts back what [`LinkLeftovers`] says.
#[derive(Clone, Debug, Default)]
pub struct LinkLeftovers {
    /// To go back onto the link, with arrival times.
    pub back: Vec<InFlight<Packet>>,
    /// Gone.
    pub lost: Vec<Packet>,
}

impl Port {
    /// Applies a fault.
    pub fn apply(
        &mut self,
        now: Time,
        change: PortFault,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        match change {
            PortFault::Down if self.alive() => self.fail(now, flying),
            PortFault::Up if !self.alive() => {
                debug_assert!(flying.is_empty(), "nothing is on a dead link");
                self.revive(now)
            }
            PortFault::Rate(rate) => self.change_rate(now, rate, flying),
            PortFault::Loss(loss) => {
                self.change_loss(loss);
                LinkLeftovers { back: flying, lost: Vec::new() }
            }
            PortFault::Drop(rule) => {
                self.cold.drops.push(rule);
                self.derive_mode();
                LinkLeftovers { back: flying, lost: Vec::new() }
            }
            PortFault::Down | PortFault::Up => LinkLeftovers { back: flying, lost: Vec::new() },
        }
    }

    /// Splits what is on the link into what has begun transmission before `now` and what has not: packets of a one-touch port, and those that
    /// a port of several classes sent early.
    fn split(
        &self,
        now: Time,
        flying: Vec<InFlight<Packet>>,
    ) -> (Vec<InFlight<Packet>>, VecDeque<Packet>) {
        let mut started = Vec::new();
        let mut queued = VecDeque::new();
        let all_begun = self.is_scheduled() && !self.is_work_conserving();
        for one in flying {
            let size = Bytes::new(self.wire(&one.item));
            let sent = one.at - self.cold.settings.flight;
            let begun = || sent < now.saturating_add(self.cold.settings.rate.time_for(size));
            if all_begun || sent <= self.cold.old_until || begun() {
                started.push(one);
            } else {
                queued.push_back(one.item);
            }
        }
        (started, queued)
    }

    /// Takes back packets that are on the link and have not begun transmission: into the explicit queue of their class, if the port has
    /// queues, else the second list has them. The first list has all others.
    fn recall(
        &mut self,
        now: Time,
        flying: Vec<InFlight<Packet>>,
    ) -> (Vec<InFlight<Packet>>, VecDeque<Packet>) {
        let (started, mut queued) = self.split(now, flying);
        self.hot.tx_packets -= queued.len() as u64;
        self.hot.tx_bytes -= queued.iter().map(|p| u64::from(p.size)).sum::<u64>();
        if self.is_scheduled() && !queued.is_empty() {
            self.scheduled.put_back(queued.drain(..)); // their time is part of `busy` already
        }
        (started, queued)
    }

    /// The link dies: what is on the wire or in transmission is lost, the queue is dropped or held.
    pub fn fail(&mut self, now: Time, flying: Vec<InFlight<Packet>>) -> LinkLeftovers {
        let (started, queued) = self.recall(now, flying);
        self.leave_work_conserving();
        let mut recalled = LinkLeftovers {
            back: Vec::new(),
            lost: started.into_iter().map(|one| one.item).collect(),
        };
        self.cold.alive = false;
        self.clear_pauses(now);
        self.cold.old_until = Time::ZERO;
        self.hot.busy = now;
        if self.cold.settings.holds() {
            let bytes = queued.iter().map(|p| self.wire(p)).sum::<u64>();
            self.cold.held_bytes += bytes;
            self.cold.held = queued;
        } else {
            recalled.lost.extend(queued);
            recalled.lost.extend(self.scheduled.drain());
        }
        let packets = recalled.lost.iter().filter(|packet| packet.kind != Kind::Pause);
        self.cold.counters.lost_packets += packets.count() as u64;
        self.derive();
        recalled
    }

    /// The link returns: the held queue goes out from `now` on.
    pub fn revive(&mut self, now: Time) -> LinkLeftovers {
        let mut recalled = LinkLeftovers::default();
        self.cold.alive = true;
        self.hot.busy = now;
        self.cold.since = now;
        self.derive();
        if self.is_scheduled() {
            return recalled;
        }
        let held = std::mem::take(&mut self.cold.held);
        self.cold.held_bytes = 0;
        self.resend(held, &mut recalled);
        recalled
    }

    /// The rate changes: what is in transmission finishes at the old rate, the queue goes out at the new one.
    pub fn change_rate(
        &mut self,
        now: Time,
        rate: BitsPerSec,
        flying: Vec<InFlight<Packet>>,
    ) -> LinkLeftovers {
        let (started, queued) = self.recall(now, flying);
        self.leave_work_conserving();
        let mut recalled = LinkLeftovers { back: started, lost: Vec::new() };
        if !self.is_scheduled() {
            self.hot.busy = recalled
                .back
                .last()
                .map_or(now, |one| (one.at - self.cold.settings.flight).max(now));
        }
        if self.cold.old_until <= now {
            self.cold.old_rate = self.cold.settings.rate;
            self.cold.old_until = if self.hot.busy > now { self.hot.busy } else { Time::ZERO };
        }
        self.cold.highest = self.highest();
        self.hot.highest = Span::ZERO;
        self.cold.settings.rate = rate;
        if let Some(meter) = &mut self.cold.meter {
            meter.change_rate(now, rate);
        }
        self.derive();
        self.resend(queued, &mut recalled);
        recalled
    }

    /// Sends again what one touch had sent already. Nothing that was taken back has a room.
    fn resend(&mut self, queued: VecDeque<Packet>, recalled: &mut LinkLeftovers) {
        let flight = self.cold.settings.flight;
        let mut outlet = Outlet { flight, back: &mut recalled.back, slab: Slab::default() };
        for packet in queued {
            let verdict = self.transmit(self.hot.busy, &packet, &mut outlet);
            if verdict == Verdict::Lost {
                recalled.lost.push(packet);
            }
        }
    }

    /// Whether the link loses the `nth` packet that it sends.
    #[cold]
    pub(super) fn loses(&mut self, nth: u64, packet: &Packet) -> bool {
        let ColdState { settings, drops, .. } = &mut *self.cold;
        let before = drops.len();
        drops.retain_mut(|rule| !rule.hits(packet));
        let drawn = || draw(!settings.key, nth) < settings.loss;
        drops.len() < before || (settings.loss > 0.0 && drawn())
    }

    /// Random loss becomes this.
    pub fn change_loss(&mut self, loss: f64) {
        self.cold.settings.loss = loss;
        self.derive();
    }

    /// Packets on the link that had not begun transmission by `end`: accepted, but not sent. Beside them, how long the transmission that
    /// was under way had still to go.
    pub fn unsent(&self, end: Time, flying: &[InFlight<Packet>]) -> (PortCounters, Span) {
        let (begun, queued) = self.split(end, flying.to_vec());
        let sent = begun.iter().map(|one| one.at - self.cold.settings.flight).max();
        let counters = PortCounters {
            tx_packets: queued.len() as u64,
            tx_bytes: queued.iter().map(|p| u64::from(p.size)).sum(),
            ..PortCounters::default()
        };
        (counters, sent.filter(|sent| *sent > end).map_or(Span::ZERO, |sent| sent.since(end)))
    }
}

/// Collects pushes in a list, with arrival times.
struct Outlet<'a> {
    flight: Span,
    back: &'a mut Vec<InFlight<Packet>>,
    slab: Slab,
}

impl Emitter<Packet> for Outlet<'_> {
    fn push(&mut self, _link: LinkId, at: Time, item: &Packet) {
        self.back.push(InFlight { at: at + self.flight, item: *item, words: None });
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.slab
    }

    fn done(&mut self) {}

    fn begins(&mut self) {}

    fn ends(&mut self) {}
}
