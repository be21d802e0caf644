//! Pause at a port: the classes that its peer has paused, and the pause frames that it owes its peer.
//!
//! XOFF and XON: a frame says which classes are paused until the next frame, as if its sender refreshed the timers of a real
//! pause frame before they run out. So frames are never lost at random, and a cable that goes down ends all pauses of both
//! directions. The packet in transmission is finished; a frame waits for it, and for nothing else.
//!
//! Source: IEEE 802.3 Annex 31B (all classes at once), IEEE 802.1Qbb (class by class).

use super::class::NOTHING;
use super::{Port, Verdict};
use forebay_engine::Emitter;
use forebay_units::{Span, Time};
use forebay_wire::Packet;

/// What a port counts about pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseCounters {
    /// Frames sent to the peer, resumes included.
    pub sent: u64,
    /// Frames received from the peer, likewise.
    pub received: u64,
    /// Time for which the peer had paused at least one class.
    pub paused: Span,
}

/// State of both directions of a cable, as one port sees it. One bit for each class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pause {
    paused: u8, // by the peer
    sent: u8,   // classes of the peer that the last frame sent pauses
    owed: u8,   // classes that the next frame is to pause
    owed_from: Time,
    paused_at: Time,
    counters: PauseCounters,
}

impl Pause {
    /// Whether there is anything that an ordinary departure need not look at.
    #[inline]
    pub fn concerns(&self) -> bool {
        self.paused != 0 || self.sent != self.owed
    }

    /// Classes that the peer has paused.
    #[inline]
    pub fn classes(&self) -> u8 {
        self.paused
    }

    fn set(&mut self, now: Time, classes: u8) {
        if self.paused != 0 {
            self.counters.paused += now.since(self.paused_at);
        }
        (self.paused, self.paused_at) = (classes, now);
    }

    /// The cable has gone down: pauses of both directions end.
    pub fn clear(&mut self, now: Time) {
        self.set(now, 0);
        self.sent = 0;
        self.owed_from = now;
    }
}

impl Port {
    /// Handles a pause frame. Departures up to `now` have been served; the packet in transmission is finished.
    pub fn on_pause(&mut self, now: Time, classes: u8) {
        self.cold.pause.counters.received += 1;
        self.cold.pause.set(now, classes);
        if let Some(by_class) = &mut self.cold.classes {
            by_class.on_pause(now, classes, true);
        }
        self.leave_work_conserving();
        self.cold.since = now; // what may go now could not go before, or waits for the wire
        self.derive_mode();
    }

    /// Schedules a frame that pauses these classes of the peer and resumes all others, for when the packet in transmission is finished.
    pub(crate) fn request_pause(&mut self, now: Time, classes: u8) {
        self.cold.pause.owed = classes;
        self.cold.pause.owed_from = now;
        self.derive_mode();
    }

    /// Sends such a frame to the switch of a NIC, as soon as the packet in transmission is finished.
    pub fn send_pause(&mut self, now: Time, classes: u8, out: &mut impl Emitter<Packet>) {
        self.request_pause(now, classes);
        self.send_pause_frame(self.hot.busy.max(now), out);
    }

    /// Classes that the peer has paused, one bit each.
    #[inline]
    pub fn paused_classes(&self) -> u8 {
        if self.is_fifo() || self.is_work_conserving() { 0 } else { self.cold.pause.paused }
    }

    /// Time of the pause frame in force; `None` if no class is paused.
    pub fn paused_since(&self) -> Option<Time> {
        (self.cold.pause.paused != 0).then_some(self.cold.pause.paused_at)
    }

    /// Classes of the peer that the last frame sent pauses, one bit each.
    pub fn pausing_peer(&self) -> u8 {
        self.cold.pause.sent
    }

    /// Whether the link is up and some class may go.
    #[inline]
    pub fn open(&self) -> bool {
        let some = || self.cold.pause.paused != u8::MAX;
        self.is_fifo() || self.is_work_conserving() || (self.cold.alive && some())
    }

    /// Paused classes whose packets wait: all but those that a watchdog serves in spite of the pause.
    #[inline]
    pub(super) fn held_back(&self) -> u8 {
        let ignored = self.cold.classes.as_ref().map_or(0, |classes| classes.ignores());
        self.cold.pause.paused & !ignored
    }

    /// The cable has gone down: pauses of both directions end.
    pub(super) fn clear_pauses(&mut self, now: Time) {
        self.cold.pause.clear(now);
        if let Some(classes) = &mut self.cold.classes {
            classes.on_pause(now, 0, false);
        }
    }

    /// What has been counted by `now`.
    pub fn pauses(&self, now: Time) -> PauseCounters {
        let mut pause = self.cold.pause;
        pause.set(now, 0);
        pause.counters
    }

    /// Packets in explicit queues, in the order of classes and then of arrival, without their SACK blocks.
    pub(crate) fn queued(&self) -> impl Iterator<Item = Packet> {
        self.scheduled.iter()
    }

    /// [`Port::next_departure`] where the peer has paused some class or is owed a frame.
    #[cold]
    pub(super) fn next_departure_in_pause(&self) -> Time {
        let pause = &self.cold.pause;
        let s = &self.scheduled;
        if !self.cold.alive {
            return Time::MAX;
        }
        let watchdog = self.cold.classes.as_ref().map_or(Time::MAX, |c| c.deadline().0);
        let wire = if pause.sent != pause.owed {
            self.hot.busy.max(pause.owed_from)
        } else if s.waiting_but(self.held_back()) != 0 {
            self.next_start(self.held_back())
        } else {
            Time::MAX
        };
        wire.min(watchdog)
    }

    /// Fires the watchdog of a class that has been paused for too long by `now`, if there is one.
    #[cold]
    pub(super) fn fire_watchdog(
        &mut self,
        now: Time,
        out: &mut impl Emitter<Packet>,
        departed: &mut impl FnMut(Time, &Packet, Verdict),
    ) -> bool {
        let Some(classes) = &mut self.cold.classes else { return false };
        let (at, class) = classes.deadline();
        if at > now {
            return false;
        }
        let drops = classes.fire(class);
        self.cold.since = now; // what was held back may go from now on
        while drops && let Some(packet) = self.scheduled.take_of(class) {
            let Some(classes) = &mut self.cold.classes else { break };
            classes.discarded(class);
            self.count_drop(&packet);
            departed(now, &packet, Verdict::Dropped);
            out.slab().release(packet.int_slot());
        }
        true
    }

    /// Whether the watchdog drops a packet that is offered.
    #[cold]
    pub(super) fn discard(&mut self, packet: &Packet) -> bool {
        let class = self.scheduled.lane(packet.class);
        let Some(classes) = self.cold.classes.as_mut().filter(|c| c.discards(class)) else {
            return false;
        };
        classes.discarded(class);
        true
    }

    /// Sends the pause frame that is due, if one is.
    #[cold]
    pub(super) fn send_pause_frame(&mut self, start: Time, out: &mut impl Emitter<Packet>) -> bool {
        let pause = &mut self.cold.pause;
        if pause.sent == pause.owed {
            return false;
        }
        let changed = pause.sent ^ pause.owed;
        pause.sent = pause.owed;
        pause.counters.sent += 1;
        if let Some(classes) = &mut self.cold.classes {
            classes.pause_sent(changed);
        }
        let frame = Packet::pause(pause.owed);
        self.scheduled.sending = NOTHING;
        self.hot.busy = start + self.cold.serializer.take(self.wire(&frame));
        out.push(self.hot.link, self.hot.busy, &frame);
        self.derive_mode();
        true
    }
}
