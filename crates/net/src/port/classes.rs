//! A port that tells its classes apart: the queue of each, the marks of each, and what its peer has stopped of each.
//!
//! Source: IEEE 802.1Qbb for pauses; lossless-fabric sheet section 4 for marks on the queue of a class.

use super::shares::Shares;
use super::{Marking, PauseCounters, Port};
use forebay_units::{Span, Time};

/// Traffic classes.
pub const CLASSES: usize = 8;

/// Bytes of the largest packet and of what a wire adds to it.
pub(crate) const MOST_IN_TRANSMISSION: u64 = 2 * u16::MAX as u64;

/// What a port does class by class.
#[derive(Clone, Debug, Default)]
pub struct ClassSettings {
    /// Marks by the queue of a class alone; where they say nothing, those of the whole port hold.
    pub marking: [Option<Marking>; CLASSES],
    /// What happens to a class that stays stopped.
    pub watchdog: [Option<Watchdog>; CLASSES],
    /// Shares of what strict classes leave; 0: the class is strict.
    pub weights: [u8; CLASSES],
}

/// What a port does about a class that its peer has stopped for so long that something must be broken. It lasts until the peer
/// lets the class go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watchdog {
    /// How long that is.
    pub after: Span,
    /// Drop the packets of that class, those that wait and those that come, rather than send them all the same.
    pub drops: bool,
}

/// What a port counts of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassCounters {
    /// Frames that stopped this class or let it go, and the time for which the peer had stopped it.
    pub pauses: PauseCounters,
    /// How often it stayed stopped for too long.
    pub watchdog_fired: u64,
    /// Packets that were dropped for that; among the port's `dropped_packets`.
    pub watchdog_drops: u64,
}

/// State of the classes of one port.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    pub settings: ClassSettings,
    pub shares: Option<Shares>,
    stopped: u8, // by the peer
    fired: u8,   // of these, the watchdog no longer waits for
    drops: u8,   // their watchdogs drop
    since: [Time; CLASSES],
    counters: [ClassCounters; CLASSES],
}

impl Classes {
    fn new(settings: ClassSettings) -> Self {
        let drops = |class: usize| settings.watchdog[class].is_some_and(|watchdog| watchdog.drops);
        let drops = (0..CLASSES).fold(0, |mask, class| mask | u8::from(drops(class)) << class);
        Self {
            shares: Shares::new(settings.weights),
            settings,
            stopped: 0,
            fired: 0,
            drops,
            since: [Time::ZERO; CLASSES],
            counters: [ClassCounters::default(); CLASSES],
        }
    }

    /// The rules by which classes are marked that have one of their own.
    pub fn rules(&self) -> impl Iterator<Item = &Marking> {
        self.settings.marking.iter().flatten()
    }

    /// The peer stops these classes and lets all others go. `heard`: it has said so, rather than died.
    pub fn stop(&mut self, now: Time, classes: u8, heard: bool) {
        for class in bits(self.stopped ^ classes) {
            let one = &mut self.counters[class].pauses;
            one.received += u64::from(heard);
            if self.stopped & 1 << class != 0 {
                one.paused += now.since(self.since[class]);
            }
            self.since[class] = now;
        }
        self.stopped = classes;
        self.fired &= classes;
    }

    /// A frame that differs from the last in these classes has been sent.
    pub fn told(&mut self, changed: u8) {
        bits(changed).for_each(|class| self.counters[class].pauses.sent += 1);
    }

    /// Classes that do not wait although they are stopped.
    pub fn ignores(&self) -> u8 {
        self.fired & !self.drops
    }

    /// Whether packets of a class are dropped.
    pub fn discards(&self, class: usize) -> bool {
        self.fired & self.drops & 1 << class != 0
    }

    /// When a watchdog fires next, and for which class.
    pub fn deadline(&self) -> (Time, usize) {
        let due = |class: usize| {
            let watchdog = self.settings.watchdog[class]?;
            Some((self.since[class].saturating_add(watchdog.after), class))
        };
        bits(self.stopped & !self.fired).filter_map(due).min().unwrap_or((Time::MAX, 0))
    }

    /// The watchdog fires for a class. True if what waits is to be dropped.
    pub fn fire(&mut self, class: usize) -> bool {
        self.fired |= 1 << class;
        self.counters[class].watchdog_fired += 1;
        self.discards(class)
    }

    pub fn discarded(&mut self, class: usize) {
        self.counters[class].watchdog_drops += 1;
    }

    /// What has been counted by `now`.
    fn counters(&self, class: usize, now: Time) -> ClassCounters {
        let mut one = self.counters[class];
        if self.stopped & 1 << class != 0 {
            one.pauses.paused += now.since(self.since[class]);
        }
        one
    }
}

/// Classes of a mask, in order.
pub(super) fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..CLASSES).filter(move |class| mask & 1 << class != 0)
}

impl Port {
    /// From now on classes are told apart. It has to be so from the start.
    pub fn tell_classes_apart(&mut self, settings: ClassSettings) {
        let classes = Classes::new(settings);
        self.scheduled.weighs = classes.shares.is_some();
        self.cold.classes = Some(Box::new(classes));
        self.scheduled.apart = true;
        self.derive();
    }

    /// The class whose packet goes next, of those that are not stopped.
    #[inline(always)]
    pub(super) fn next_class(&mut self, stopped: u8) -> usize {
        let waiting = self.scheduled.waiting_but(stopped);
        if self.scheduled.weighs { self.next_by_weight(waiting) } else { waiting.ilog2() as usize }
    }

    #[cold]
    fn next_by_weight(&mut self, waiting: u8) -> usize {
        self.shares().choose(waiting)
    }

    /// A packet has left the queue of its class, at a port that weighs: it takes its part of the share, if the class has one.
    #[cold]
    pub(super) fn weigh(&mut self, class: usize, wire: u64) {
        let waiting = self.scheduled.waiting_but(0);
        self.shares().sent(class, wire, waiting);
    }

    fn shares(&mut self) -> &mut Shares {
        let shares = self.cold.classes.as_mut().and_then(|classes| classes.shares.as_mut());
        shares.expect("a port that weighs has shares")
    }

    /// What has been counted of a class by `now`; `None` if classes are not told apart.
    pub fn class_counters(&self, class: usize, now: Time) -> Option<ClassCounters> {
        self.cold.classes.as_ref().map(|classes| classes.counters(class, now))
    }

    /// Since when the peer has stopped a class; `None` if it has not.
    pub fn class_stopped_since(&self, class: usize) -> Option<Time> {
        let pause = &self.cold.pause;
        match &self.cold.classes {
            _ if pause.stopped() & 1 << class == 0 => None,
            Some(classes) => Some(classes.since[class]),
            None => self.stopped_since(),
        }
    }

    /// Adds for how long it has been paused by `now`: one value, or one for each class if they are told apart.
    pub fn paused_so_far(&self, now: Time, to: &mut Vec<Span>) {
        match &self.cold.classes {
            None => to.push(self.pauses(now).paused),
            Some(classes) => {
                to.extend((0..CLASSES).map(|class| classes.counters(class, now).pauses.paused));
            }
        }
    }

    /// How many values that are.
    pub fn paused_values(&self) -> usize {
        if self.cold.classes.is_some() { CLASSES } else { 1 }
    }

    /// The queue that a packet of a class finds, in bytes and packets: of that class alone if classes are told apart. The port has
    /// been served up to `now`.
    pub(crate) fn queue_of(&self, now: Time, class: u8) -> (u64, u64) {
        if !self.scheduled.apart {
            let queue = self.queue(now);
            let sending = self.is_scheduled() && queue > self.scheduled.bytes;
            return (queue, self.waiting() + u64::from(sending));
        }
        let class = self.scheduled.lane(class);
        let sends = self.scheduled.sending == class as u8 && !self.cold.settings.release_at_start;
        let sending = if sends { self.in_transmission(now) } else { 0 };
        let packets = self.scheduled.packets_of(class) + u64::from(sending > 0);
        (self.scheduled.bytes_of(class) + sending, packets)
    }

    /// No less than [`Port::queue_of`] has in bytes, and soon found.
    #[inline]
    pub(crate) fn queue_at_most(&self, class: u8) -> u64 {
        let waiting = match self.scheduled.apart {
            true => self.scheduled.bytes_of(self.scheduled.lane(class)),
            false => self.scheduled.bytes,
        };
        waiting + MOST_IN_TRANSMISSION
    }

    /// What a packet of a class leaves behind as its transmission begins, likewise.
    pub(super) fn left_behind(&self, class: u8) -> (u64, u64) {
        if !self.scheduled.apart {
            return (self.scheduled.bytes, u64::from(self.scheduled.packets));
        }
        let class = self.scheduled.lane(class);
        (self.scheduled.bytes_of(class), self.scheduled.packets_of(class))
    }

    /// The marking rule for packets of a class.
    pub(super) fn marking_of(&self, class: u8) -> Option<Marking> {
        let own = self.cold.classes.as_ref().and_then(|c| c.settings.marking[usize::from(class)]);
        own.or(self.cold.settings.marking)
    }

    /// All rules by which packets may be marked here.
    pub(super) fn rules(&self) -> impl Iterator<Item = &Marking> {
        let by_class = self.cold.classes.iter().flat_map(|classes| classes.rules());
        self.cold.settings.marking.iter().chain(by_class)
    }
}
