//! Pause as a stage of the switch: ingress ports that pause their senders, and ports that their peers have paused.
//!
//! Exact without an event per departure: while nothing is paused ports are served whenever they are touched, as ever, and an
//! arrival that would cause a pause has all of them served first. While something is paused, everything that
//! happens here first serves the departures before it in their true order over all ports, since each of them may end the pause,
//! and the frame that says so takes its place in that order. Nothing can happen in between, so nothing is late.

use super::{PAUSE, Switch, trace, trace_end};
use crate::ingress::{Ingresses, Place};
use crate::port::{Port, PortFault};
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

    /// Whether a packet has a place in the accounts and causes no pause, on bounds, at a work-conserving port. Serves that port up to `now`; if
    /// anything is paused, all ports.
    #[inline(always)]
    pub(super) fn passes_accounts(
        &mut self,
        now: Time,
        ingress_port: u16,
        port: usize,
        packet: &Packet,
        out: &mut impl Emitter<Packet>,
    ) -> bool {
        if self.has_paused() {
            rarely();
            self.depart_in_order(now, out);
            return false;
        }
        self.serve(now, port, out);
        let (Some(ingress), target) = (&self.ingress, &self.ports[port]) else { return false };
        let passes = ingress.fits_anywhere(target.wire(packet))
            || passes_on_bounds(ingress, target, ingress_port, packet);
        passes && target.is_work_conserving()
    }

    /// Charges a packet that waits, and passed on bounds.
    #[inline(always)]
    pub(super) fn hold(&mut self, ingress_port: u16, port: usize, packet: &Packet) {
        let Some(ingress) = &mut self.ingress else { return };
        let size = self.ports[port].wire(packet);
        ingress.hold(ingress.account(ingress_port, packet.class), size);
    }

    /// Where the accounts have a place for a packet of `size` bytes: on bounds first, then with all served up to `now`. The port has been
    /// served, and all have if anything is paused.
    pub(super) fn place(
        &mut self,
        now: Time,
        (ingress_port, port): (u16, usize),
        packet: &Packet,
        size: u64,
        out: &mut impl Emitter<Packet>,
    ) -> Place {
        let Some(ingress) = &self.ingress else { return Place::Held };
        let account = ingress.account(ingress_port, packet.class);
        let queue = match ingress.counts_queue(account) {
            true => self.ports[port].queue_of(now, packet.class).0 + size,
            false => 0,
        };
        if ingress.passes(account, size, queue) {
            return Place::Held;
        }
        self.depart(now, out);
        let exact = |ingress: &Ingresses| ingress.place(account, size, queue);
        self.ingress.as_deref().map_or(Place::Held, exact)
    }

    /// The accounts had no place for a packet, which may pause its sender.
    pub(super) fn refused_by_accounts(
        &mut self,
        now: Time,
        ingress_port: u16,
        class: u8,
        size: u64,
    ) {
        let refused = |i: &mut Box<Ingresses>| i.refuse(i.account(ingress_port, class), size);
        if self.ingress.as_mut().is_some_and(refused) {
            self.pause_sender(now, ingress_port);
        }
    }

    /// Charges a packet where it has its place, which may pause its sender.
    pub(super) fn charge(
        &mut self,
        now: Time,
        ingress_port: u16,
        class: u8,
        size: u64,
        place: Place,
    ) {
        let charged =
            |i: &mut Box<Ingresses>| i.charge(i.account(ingress_port, class), size, place);
        if self.ingress.as_mut().is_some_and(charged) {
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
        if !dies || ports[port].settings().holds() {
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
