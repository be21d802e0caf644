//! Pause as a stage of the switch: in-ports that pause their senders, and ports that their peers have stopped.
//!
//! Exact without an event per departure: while nothing is paused ports are served whenever they are touched, as ever, and an
//! arrival that would pause somebody has all of them served first. While something is paused, everything that
//! happens here first serves the departures before it in their true order over all ports, since each of them may end the pause,
//! and the frame that says so takes its place in that order. Nothing can happen in between, so nothing is late.

use super::{PAUSE, Switch, trace, trace_end};
use crate::ingress::{Ingresses, Place};
use crate::port::{Port, PortFault, Verdict};
use forebay_engine::{Out, rarely};
use forebay_units::Time;
use forebay_wire::{Kind, Packet};

impl Switch {
    pub(super) fn has_paused(&self) -> bool {
        self.ingress.as_ref().is_some_and(|ingress| ingress.any_paused())
    }

    /// A pause frame arrives: the port of that number stops, or goes on.
    #[cold]
    pub(super) fn hear(
        &mut self,
        now: Time,
        in_port: u32,
        frame: &Packet,
        out: &mut impl Out<Packet>,
    ) {
        let port = in_port as usize;
        debug_assert!(self.ports[port].is_scheduled(), "a port that may be stopped is explicit");
        self.routed -= 1;
        if self.has_paused() {
            self.depart_in_order(now, out);
        } else {
            self.serve(now, port, out);
        }
        self.ports[port].stop(now, frame.seq as u8);
        self.note(port);
        trace(&mut self.digest, now, PAUSE, frame);
    }

    /// A packet arrives at a switch with in-ports that pause.
    #[inline(never)]
    pub(super) fn arrive_on_account(
        &mut self,
        now: Time,
        in_port: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Out<Packet>,
    ) {
        if packet.kind == Kind::Pause {
            rarely();
            return self.hear(now, in_port.into(), packet, out);
        }
        if self.has_paused() {
            rarely();
            self.depart_in_order(now, out);
            return self.arrive_exactly(now, in_port, port, packet, out);
        }
        self.serve(now, port, out);
        let (Some(ingress), target) = (&mut self.ingress, &mut self.ports[port]) else { return };
        let size = target.wire(packet);
        let passes = ingress.is_calm(size) || passes_at_most(ingress, target, in_port, packet);
        if !passes || !target.is_steady() {
            rarely();
            return self.arrive_exactly(now, in_port, port, packet, out);
        }
        let verdict = target.offer_heard(now, in_port, true, packet, out);
        if verdict != Verdict::Accepted {
            rarely();
            return self.refuse(now, port, packet, verdict, out);
        }
        let waiting = target.enqueued();
        if waiting > 0 {
            ingress.hold(ingress.account(in_port, packet.class), size);
            if waiting == 1 {
                self.note(port); // it is the first
            }
        }
    }

    /// The same where bounds do not tell, or the port is not steady. If anything is paused, all has been served up to `now`, and
    /// in any case the port.
    #[inline(never)]
    fn arrive_exactly(
        &mut self,
        now: Time,
        in_port: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Out<Packet>,
    ) {
        let Some(ingress) = &self.ingress else { return };
        let account = ingress.account(in_port, packet.class);
        let size = self.ports[port].wire(packet);
        let queue = match ingress.asks_for_queue(account) {
            true => self.ports[port].queue_of(now, packet.class).0 + size,
            false => 0,
        };
        let mut place = Place::Held;
        if !ingress.passes(account, size, queue) {
            self.depart(now, out);
            let exact = |ingress: &Ingresses| ingress.place(account, size, queue);
            place = self.ingress.as_deref().map_or(place, exact);
        }
        if place == Place::Refused {
            if let Some(ingress) = &mut self.ingress {
                ingress.refuse(account);
            }
            self.refuse(now, port, packet, Verdict::Dropped, out);
            return;
        }
        let verdict = self.ports[port].offer(now, in_port, packet, out);
        if verdict != Verdict::Accepted {
            self.refuse(now, port, packet, verdict, out);
            return;
        }
        self.note(port);
        let Self { ports, ingress: Some(ingress), .. } = self else { return };
        if ingress.charge(account, size, place) {
            say(ports, ingress, now, in_port);
            self.note(usize::from(in_port));
        }
    }

    /// Serves every departure with start <= `now` in order of time, then of ports.
    pub(super) fn depart_in_order(&mut self, now: Time, out: &mut impl Out<Packet>) {
        let Self { ports, ingress: Some(ingress), lost, due, .. } = self else { return };
        let next = loop {
            let (start, port) =
                (0..).zip(&*due).map(|(port, at)| (*at, port)).min().unwrap_or((Time::MAX, 0));
            if start > now {
                break start;
            }
            let overhead = ports[port].overhead();
            ports[port].serve_one(start, out, &mut |at, packet, verdict| {
                trace_end(&mut lost[port], at, packet, verdict);
                ingress.release(packet, packet.on_wire(overhead));
            });
            due[port] = ports[port].next_departure();
            while let Some(in_port) = ingress.next_resumed() {
                say(ports, ingress, start, in_port);
                due[usize::from(in_port)] = ports[usize::from(in_port)].next_departure();
            }
        };
        (self.next_departure, self.departures_moved) = (next, false);
    }

    /// Releases what a port is about to drop because its cable dies.
    pub(super) fn release_queue(&mut self, now: Time, port: usize, change: PortFault) {
        let Self { ports, ingress: Some(ingress), .. } = self else { return };
        let dies = change == PortFault::Down && ports[port].alive();
        if !dies || ports[port].settings().hold {
            return;
        }
        let overhead = ports[port].overhead();
        for packet in ports[port].queued() {
            ingress.release(&packet, packet.on_wire(overhead));
        }
        while let Some(in_port) = ingress.next_resumed() {
            say(ports, ingress, now, in_port);
        }
    }
}

/// Whether a packet that joins a port has a place and pauses nobody, on bounds.
#[inline(never)]
fn passes_at_most(ingress: &Ingresses, target: &Port, in_port: u16, packet: &Packet) -> bool {
    let account = ingress.account(in_port, packet.class);
    let size = target.wire(packet);
    let queue = match ingress.asks_for_queue(account) {
        true => target.queue_at_most(packet.class) + size,
        false => 0,
    };
    ingress.passes(account, size, queue)
}

/// Has the sender at the other end of an in-port told what it has to stop.
fn say(ports: &mut [Port], ingress: &Ingresses, now: Time, in_port: u16) {
    ports[usize::from(in_port)].want(now, ingress.stops(in_port));
}
