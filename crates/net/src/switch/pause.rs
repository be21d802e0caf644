//! Pause as a stage of the switch: ingress ports that pause their senders, and ports that their peers have paused.
//!
//! Exact without an event per departure: while nothing is paused ports are served whenever they are touched, as ever, and an
//! arrival that would cause a pause has all of them served first. While something is paused, everything that
//! happens here first serves the departures before it in their true order over all ports, since each of them may end the pause,
//! and the frame that says so takes its place in that order. Nothing can happen in between, so nothing is late.

use super::{PAUSE, Switch, trace, trace_end};
use crate::ingress::{Ingresses, Place};
use crate::port::{Port, PortFault, Verdict};
use forebay_engine::{Emitter, rarely};
use forebay_units::Time;
use forebay_wire::Packet;

impl Switch {
    pub(super) fn has_paused(&self) -> bool {
        self.ingress.as_ref().is_some_and(|ingress| ingress.any_paused())
    }

    /// Handles a pause frame: the port of that number pauses or resumes classes.
    #[cold]
    pub(super) fn on_pause_frame(
        &mut self,
        now: Time,
        ingress_port: u32,
        frame: &Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let port = ingress_port as usize;
        debug_assert!(
            self.ports[port].is_scheduled(),
            "a port that may be paused has explicit queues"
        );
        self.routed -= 1;
        if self.has_paused() {
            self.depart_in_order(now, out);
        } else {
            self.serve(now, port, out);
        }
        self.ports[port].on_pause(now, frame.seq as u8);
        self.update_departure(port);
        trace(&mut self.digest, now, PAUSE, frame);
    }

    /// A packet arrives at a switch with ingress ports that pause.
    #[inline(never)]
    pub(super) fn arrive_with_ingress_accounts(
        &mut self,
        now: Time,
        ingress_port: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        if self.has_paused() {
            rarely();
            self.depart_in_order(now, out);
            return self.arrive_served(now, ingress_port, port, packet, out);
        }
        self.serve(now, port, out);
        let (Some(ingress), target) = (&mut self.ingress, &mut self.ports[port]) else { return };
        let size = target.wire(packet);
        let passes =
            ingress.fits_anywhere(size) || passes_on_bounds(ingress, target, ingress_port, packet);
        if !passes || !target.is_work_conserving() {
            rarely();
            return self.arrive_served(now, ingress_port, port, packet, out);
        }
        let verdict = target.offer_observed(now, ingress_port, true, packet, out);
        if verdict != Verdict::Accepted {
            rarely();
            return self.refuse(now, port, packet, verdict, out);
        }
        let waiting = target.enqueued();
        if waiting > 0 {
            ingress.hold(ingress.account(ingress_port, packet.class), size);
            if waiting == 1 {
                self.update_departure(port); // it is the first
            }
        }
    }

    /// A packet arrives where bounds do not decide, or the port is not work-conserving. If anything is paused, all has been served up to `now`, and
    /// in any case the port.
    #[inline(never)]
    fn arrive_served(
        &mut self,
        now: Time,
        ingress_port: u16,
        port: usize,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) {
        let Some(ingress) = &self.ingress else { return };
        let account = ingress.account(ingress_port, packet.class);
        let size = self.ports[port].wire(packet);
        let queue = match ingress.counts_queue(account) {
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
            let pauses = self.ingress.as_mut().is_some_and(|i| i.refuse(account, size));
            self.refuse(now, port, packet, Verdict::Dropped, out);
            if pauses {
                self.pause_sender(now, ingress_port);
            }
            return;
        }
        let verdict = self.ports[port].offer(now, ingress_port, packet, out);
        if verdict != Verdict::Accepted {
            self.refuse(now, port, packet, verdict, out);
            return;
        }
        self.update_departure(port);
        let pauses = self.ingress.as_mut().is_some_and(|i| i.charge(account, size, place));
        if pauses {
            self.pause_sender(now, ingress_port);
        }
    }

    /// Has a frame sent to the sender at the other end of an ingress port.
    fn pause_sender(&mut self, now: Time, ingress_port: u16) {
        let Self { ports, ingress: Some(ingress), .. } = self else { return };
        request_pause_frame(ports, ingress, now, ingress_port);
        self.update_departure(usize::from(ingress_port));
    }

    /// Serves every departure with start <= `now` in order of time, then of ports.
    pub(super) fn depart_in_order(&mut self, now: Time, out: &mut impl Emitter<Packet>) {
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
            while let Some(ingress_port) = ingress.next_resumed() {
                request_pause_frame(ports, ingress, start, ingress_port);
                due[usize::from(ingress_port)] = ports[usize::from(ingress_port)].next_departure();
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
        while let Some(ingress_port) = ingress.next_resumed() {
            request_pause_frame(ports, ingress, now, ingress_port);
        }
    }
}

/// Whether a packet that joins a port has a place and causes no pause, on bounds.
#[inline(never)]
fn passes_on_bounds(
    ingress: &Ingresses,
    target: &Port,
    ingress_port: u16,
    packet: &Packet,
) -> bool {
    let account = ingress.account(ingress_port, packet.class);
    let size = target.wire(packet);
    let queue = match ingress.counts_queue(account) {
        true => target.queue_at_most(packet.class) + size,
        false => 0,
    };
    ingress.passes(account, size, queue)
}

/// Schedules the pause frame that the state of an ingress port requires.
fn request_pause_frame(ports: &mut [Port], ingress: &Ingresses, now: Time, ingress_port: u16) {
    ports[usize::from(ingress_port)].request_pause(now, ingress.paused_classes(ingress_port));
}
