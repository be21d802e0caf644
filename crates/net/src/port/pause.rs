//! Pause at a port: what its peer has told it to stop, and what it has to tell its peer.
//!
//! On and off: a frame says which classes are stopped until the next frame says otherwise, as if its sender refreshed the
//! timers of a real one before they run out. So frames are never lost at random, and a cable that dies takes both
//! ends' words with it. The packet in transmission is finished; a frame waits for it, and for nothing else.
//!
//! Source: IEEE 802.3 Annex 31B (all classes at once), IEEE 802.1Qbb (class by class).

use super::scheduled::NOTHING;
use super::{Port, Verdict};
use forebay_engine::Out;
use forebay_units::{Span, Time};
use forebay_wire::Packet;

/// What a port counts about pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseCounters {
    /// Frames sent to the peer, those that let it go included.
    pub sent: u64,
    /// Frames received from the peer, likewise.
    pub received: u64,
    /// Time for which the peer had stopped at least one class.
    pub paused: Span,
}

/// State of both directions of a cable, as one port sees it. One bit for each class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pause {
    stopped: u8, // by the peer
    told: u8,    // the peer is to stop these, says the last frame sent
    wanted: u8,  // the next frame says
    wanted_at: Time,
    stopped_at: Time,
    counters: PauseCounters,
}

impl Pause {
    /// Whether there is anything that an ordinary departure need not look at.
    #[inline]
    pub fn concerns(&self) -> bool {
        self.stopped != 0 || self.told != self.wanted
    }

    /// Classes that the peer has stopped.
    #[inline]
    pub fn stopped(&self) -> u8 {
        self.stopped
    }

    fn stop(&mut self, now: Time, classes: u8) {
        if self.stopped != 0 {
            self.counters.paused += now.since(self.stopped_at);
        }
        (self.stopped, self.stopped_at) = (classes, now);
    }

    /// The cable has died: nothing that was said holds any more.
    pub fn forget(&mut self, now: Time) {
        self.stop(now, 0);
        self.told = 0;
        self.wanted_at = now;
    }
}

impl Port {
    /// A pause frame has arrived. Departures up to `now` have been served; what is in transmission is finished.
    pub fn stop(&mut self, now: Time, classes: u8) {
        self.cold.pause.counters.received += 1;
        self.cold.pause.stop(now, classes);
        if let Some(told_apart) = &mut self.cold.classes {
            told_apart.stop(now, classes, true);
        }
        self.leave_steady();
        self.cold.since = now; // whatever may go now could not go before, or waits for the wire
        self.derive_form();
    }

    /// Has the peer told which classes to stop, as soon as the packet in transmission is finished.
    pub(crate) fn want(&mut self, now: Time, classes: u8) {
        self.cold.pause.wanted = classes;
        self.cold.pause.wanted_at = now;
        self.derive_form();
    }

    /// A NIC tells its switch which classes to stop, as soon as the packet in transmission is finished.
    pub fn tell_peer(&mut self, now: Time, classes: u8, out: &mut impl Out<Packet>) {
        self.want(now, classes);
        self.say(self.hot.busy.max(now), out);
    }

    /// Classes that the peer has stopped, one bit each.
    #[inline]
    pub fn stopped(&self) -> u8 {
        if self.is_plain() || self.is_steady() { 0 } else { self.cold.pause.stopped }
    }

    /// Since when the peer has stopped what it has stopped; `None` if nothing.
    pub fn stopped_since(&self) -> Option<Time> {
        (self.cold.pause.stopped != 0).then_some(self.cold.pause.stopped_at)
    }

    /// Classes that the peer has been told to stop, one bit each.
    pub fn told(&self) -> u8 {
        self.cold.pause.told
    }

    /// Whether the link is up and some class may go.
    #[inline]
    pub fn open(&self) -> bool {
        let some = || self.cold.pause.stopped != u8::MAX;
        self.is_plain() || self.is_steady() || (self.cold.alive && some())
    }

    /// Classes whose packets wait for the peer.
    #[inline]
    pub(super) fn held_back(&self) -> u8 {
        let ignored = self.cold.classes.as_ref().map_or(0, |classes| classes.ignores());
        self.cold.pause.stopped & !ignored
    }

    /// The cable has died: nothing that was said holds any more.
    pub(super) fn forget_pauses(&mut self, now: Time) {
        self.cold.pause.forget(now);
        if let Some(classes) = &mut self.cold.classes {
            classes.stop(now, 0, false);
        }
    }

    /// What has been counted by `now`.
    pub fn pauses(&self, now: Time) -> PauseCounters {
        let mut pause = self.cold.pause;
        pause.stop(now, 0);
        pause.counters
    }

    /// Packets in explicit queues, in the order of classes and then of arrival, without their SACK blocks.
    pub(crate) fn queued(&self) -> impl Iterator<Item = Packet> {
        self.scheduled.iter()
    }

    /// [`Port::next_departure`] where the peer has stopped something or is to be told something.
    #[cold]
    pub(super) fn next_departure_in_pause(&self) -> Time {
        let pause = &self.cold.pause;
        let s = &self.scheduled;
        if !self.cold.alive {
            return Time::MAX;
        }
        let watchdog = self.cold.classes.as_ref().map_or(Time::MAX, |c| c.deadline().0);
        let wire = if pause.told != pause.wanted {
            self.hot.busy.max(pause.wanted_at)
        } else if s.waiting_but(self.held_back()) != 0 {
            self.hot.busy.max(self.cold.since)
        } else {
            Time::MAX
        };
        wire.min(watchdog)
    }

    /// Has the watchdog act, if it is to by `now`: a class has been stopped for too long.
    #[cold]
    pub(super) fn watch(
        &mut self,
        now: Time,
        out: &mut impl Out<Packet>,
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
    pub(super) fn say(&mut self, start: Time, out: &mut impl Out<Packet>) -> bool {
        let pause = &mut self.cold.pause;
        if pause.told == pause.wanted {
            return false;
        }
        let changed = pause.told ^ pause.wanted;
        pause.told = pause.wanted;
        pause.counters.sent += 1;
        if let Some(classes) = &mut self.cold.classes {
            classes.told(changed);
        }
        let frame = Packet::pause(pause.wanted);
        self.scheduled.sending = NOTHING;
        self.hot.busy = start + self.cold.serializer.take(self.wire(&frame));
        out.push(self.hot.link, self.hot.busy, &frame);
        self.derive_form();
        true
    }
}
