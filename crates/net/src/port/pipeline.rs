//! The pipeline of a packet at a port: departures that are due, admission and marks, and its place on the wire or in a queue.
//!
//! There is one function, for all ports whose limits and marks follow from the time at which all that was accepted has been sent. It is compiled once
//! for each set of parts that a port may have, so a port pays for no step that is about something else. [`super::PortMode`] names the set and is
//! chosen whenever settings, pauses or faults change. The two ports that are described otherwise have a function each: `metered.rs`, where tokens say what
//! leaves next, and [`Port::offer_any`], which serves one departure at a time.

use super::{Port, Verdict};
use forebay_engine::{Emitter, rarely};
use forebay_units::{Span, Time};
use forebay_wire::Packet;

/// Parts of a port, and of its switch, that have a step in the pipeline: a bit each.
pub(crate) mod parts {
    /// Explicit queues, in strict order.
    pub const QUEUES: u8 = 1;
    /// Limits of classes, and nothing else but the order: see `strict_limits.rs`.
    pub const LIMITS: u8 = 1 << 1;
    /// Policies of classes, marks at dequeue, INT records, a reader of the queues of classes: some of these.
    pub const EXTRAS: u8 = 1 << 2;
    /// A meter of credits.
    pub const TOKENS: u8 = 1 << 3;
    /// A shared buffer, which decides first.
    pub const SHARED: u8 = 1 << 4;
    /// Ingress accounts, which decide first. They are told of each departure, except of a packet that leaves at once.
    pub const ACCOUNTS: u8 = 1 << 5;
    /// An observer that hears of all departures.
    pub const OBSERVER: u8 = 1 << 6;
    /// Any of these: looked up for each packet.
    pub const ANY: u8 = 1 << 7;
}

use parts::{ACCOUNTS, EXTRAS, LIMITS, OBSERVER, QUEUES};

impl Port {
    /// Offers a packet that came in by `ingress_port` to a one-touch port or a work-conserving one that has these parts. With an observer it has
    /// been served up to `now`. The flag after the verdict says whether its next departure may have changed.
    #[inline(always)]
    pub(crate) fn offer<const PARTS: u8>(
        &mut self,
        now: Time,
        ingress_port: u16,
        packet: &mut Packet,
        out: &mut impl Emitter<Packet>,
    ) -> (Verdict, bool) {
        let observed = PARTS & (ACCOUNTS | OBSERVER) != 0;
        let (limits, extras) = (PARTS & LIMITS != 0, PARTS & EXTRAS != 0);
        let late = !limits && !observed; // it may have departures that are due

        // Departures that admission depends on.
        let waited = self.scheduled.packets;
        let due = match () {
            () if limits => waited > 0 && self.hot.busy - self.waiting_time() <= now,
            () if extras && late => self.scheduled.is_watched() && waited > 0,
            () => false,
        };
        if due {
            self.serve_unobserved(now, out);
        }
        let served = (extras && late) || (limits && self.scheduled.packets < waited);

        // Admission and marks, unless the queue is short.
        let mut backlog = self.hot.busy.since(now);
        let mut after = backlog + self.hot.time_of(packet);
        let crowded = limits && self.scheduled.packets >= u32::from(self.hot.free_packets);
        let is_long = match limits {
            true => after > self.hot.free_below || crowded,
            false => backlog >= self.hot.free_below,
        };
        if is_long {
            rarely(); // at the start of the branch, or it is no hint
            let by_class = limits || observed || (extras && self.scheduled.apart);
            if extras && late && by_class {
                self.serve_unobserved(now, out);
            }
            let verdict = match by_class {
                true => self.admit_by_class(now, after, ingress_port, packet, out),
                false => self.admit(backlog, after, packet),
            };
            if verdict != Verdict::Accepted {
                return (verdict, served);
            }
            if limits || extras {
                backlog = self.hot.busy.since(now); // another packet may have been trimmed in its place
                after = backlog + self.hot.time_of(packet);
            }
        }

        // Its place: one touch sends it behind all others.
        if PARTS & QUEUES == 0 {
            let hot = &mut self.hot;
            hot.busy = now + after;
            if after > hot.highest {
                rarely();
                hot.highest = after;
            }
            self.send(now + after, packet, out);
            return (Verdict::Accepted, false);
        }
        // On the wire, if that is free.
        let waits = self.scheduled.filled;
        if backlog == Span::ZERO && PARTS & OBSERVER == 0 {
            if late && waits != 0 {
                self.serve_unobserved(now, out);
            }
            self.extend(now, after);
            if extras && self.scheduled.is_special() {
                self.send_special(now, packet, out);
            } else {
                self.send(now + after, packet, out);
            }
            if limits {
                self.sent_in_order(now + after, packet);
            }
            return (Verdict::Accepted, served || waits != 0);
        }
        // On the link behind the packets on the wire, ahead of all that wait, if nothing can overtake it; else in the queue of its class.
        let lane = self.scheduled.class_of(packet);
        let overtakes = late && u32::from(waits) & ((1 << lane) - 1) != 0;
        if !extras && overtakes {
            rarely();
            self.serve_unobserved(now, out);
        } else if overtakes {
            self.serve_unobserved(now, out);
        }
        self.extend(now, after);
        let special = || extras && self.scheduled.is_special();
        if !observed && self.scheduled.sends_early(lane) && !special() {
            self.send(self.hot.busy - self.waiting_time(), packet, out);
            return (Verdict::Accepted, served || waits != 0);
        }
        self.scheduled.add(lane, ingress_port, packet);
        (Verdict::Accepted, served || overtakes || waits == 0)
    }

    /// The queue is `after` at `now`.
    #[inline(always)]
    fn extend(&mut self, now: Time, after: Span) {
        self.hot.highest = self.hot.highest.max(after);
        self.hot.busy = now + after;
    }

    /// Counts a packet and sends it: its transmission ends at `end`.
    #[inline(always)]
    fn send(&mut self, end: Time, packet: &Packet, out: &mut impl Emitter<Packet>) {
        self.hot.tx_packets += 1;
        self.hot.tx_bytes += u64::from(packet.size);
        out.push(self.hot.link, end, packet);
    }
}
