//! A port with a policy for each class: its own limit, marks, weight, pauses and watchdog.
//!
//! Source: IEEE 802.1Qbb for pauses; marking on the queue of a class as switches for RoCEv2 do (Zhu et al., SIGCOMM 2015, section 3.1).

use super::class::{CLASSES, bits};
use super::shares::Shares;
use super::trim::OverflowAction;
use super::turns::Turns;
use super::{PauseCounters, Port, PortMode};
use forebay_settings::{EcnMarking, QueueLength, Switch, Watchdog, WatchdogAction};
use forebay_units::{BitsPerSec, Span, Time};

/// Bytes of the largest packet and of what a wire adds to it.
pub(crate) const MOST_IN_TRANSMISSION: u64 = 2 * u16::MAX as u64;

/// What a port does with the packets of one class. What its ingress port does is [`forebay_settings::IngressAccount`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ClassPolicy {
    /// Limit of the queue of the class, the packet itself included. `None`: the limit of the port alone.
    pub limit: Option<QueueLength>,
    /// What becomes of a packet beyond that limit.
    pub over: OverflowAction,
    /// Marks by the queue of the class alone; `None`: the rule of the port, on that queue.
    pub marking: Option<EcnMarking>,
    /// Share of what strict classes leave; 0: the class is strict, or takes turns.
    pub weight: u8,
    /// Packets that leave in a turn of the class, where classes take turns; 0: the class is strict, or has a weight.
    pub turn: u8,
    /// Watchdog of a class that stays paused.
    pub watchdog: Option<Watchdog>,
}

impl ClassPolicy {
    /// Policies of all classes at a port of this rate, without watchdogs. `tells`: headers of trimmed packets say that they were cut off here.
    pub fn all_of(switch: &Switch, rate: BitsPerSec, tells: bool) -> [Self; CLASSES] {
        let (marks, limits) = (switch.class_ecn(), switch.class_limits());
        let (weights, turns) = (switch.class_weights(), switch.class_turns());
        core::array::from_fn(|class| Self {
            limit: limits[class],
            over: OverflowAction::of(switch, class, tells),
            marking: marks[class].map(|rule| rule.at_rate(rate)),
            weight: weights[class],
            turn: turns[class],
            watchdog: None,
        })
    }
}

/// What a port counts of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassCounters {
    /// Frames that paused or resumed this class, and the time for which the peer had paused it.
    pub pauses: PauseCounters,
    /// Times that the watchdog fired.
    pub watchdog_fired: u64,
    /// Packets that the watchdog dropped; among the port's `dropped_packets`.
    pub watchdog_drops: u64,
}

/// State of the classes of one port.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    policies: [ClassPolicy; CLASSES],
    pub sharing: Option<ClassSharing>,
    paused: u8, // by the peer
    fired: u8,  // of these, the watchdog has fired
    drops: u8,  // their watchdogs drop
    since: [Time; CLASSES],
    counters: [ClassCounters; CLASSES],
}

impl Classes {
    fn new(policies: [ClassPolicy; CLASSES]) -> Self {
        let drops = |class: &usize| {
            policies[*class]
                .watchdog
                .is_some_and(|watchdog| watchdog.action == WatchdogAction::Drop)
        };
        let drops = (0..CLASSES).filter(drops).fold(0, |mask, class| mask | 1 << class);
        Self {
            sharing: ClassSharing::new(&policies),
            policies,
            paused: 0,
            fired: 0,
            drops,
            since: [Time::ZERO; CLASSES],
            counters: [ClassCounters::default(); CLASSES],
        }
    }

    /// Marking rules of the classes that have one of their own.
    pub fn rules(&self) -> impl Iterator<Item = &EcnMarking> {
        self.policies.iter().filter_map(|policy| policy.marking.as_ref())
    }

    /// Limits of the classes that have one of their own.
    pub fn limits(&self) -> impl Iterator<Item = QueueLength> {
        self.policies.iter().filter_map(|policy| policy.limit)
    }

    /// The peer pauses these classes and resumes all others: `by_frame`, or because the cable has gone down.
    pub fn on_pause(&mut self, now: Time, classes: u8, by_frame: bool) {
        for class in bits(self.paused ^ classes) {
            let one = &mut self.counters[class].pauses;
            one.received += u64::from(by_frame);
            if self.paused & 1 << class != 0 {
                one.paused += now.since(self.since[class]);
            }
            self.since[class] = now;
        }
        self.paused = classes;
        self.fired &= classes;
    }

    /// Counts a sent frame that differs from the last in these classes.
    pub fn pause_sent(&mut self, changed: u8) {
        bits(changed).for_each(|class| self.counters[class].pauses.sent += 1);
    }

    /// Paused classes that are served all the same.
    pub fn ignores(&self) -> u8 {
        self.fired & !self.drops
    }

    /// Whether the watchdog drops packets of a class.
    pub fn discards(&self, class: usize) -> bool {
        self.fired & self.drops & 1 << class != 0
    }

    /// Next time at which a watchdog fires, and its class.
    pub fn deadline(&self) -> (Time, usize) {
        let due = |class: usize| {
            let watchdog = self.policies[class].watchdog?;
            Some((self.since[class].saturating_add(watchdog.after), class))
        };
        bits(self.paused & !self.fired).filter_map(due).min().unwrap_or((Time::MAX, 0))
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
        if self.paused & 1 << class != 0 {
            one.pauses.paused += now.since(self.since[class]);
        }
        one
    }
}

/// How classes share what strict ones leave.
#[derive(Clone, Debug)]
pub(super) enum ClassSharing {
    Weights(Shares),
    Turns(Turns),
}

impl ClassSharing {
    /// By weight if some class has one, else by turns; `None` if all classes are strict.
    fn new(policies: &[ClassPolicy; CLASSES]) -> Option<Self> {
        let turns = || Turns::new(policies.map(|policy| policy.turn)).map(Self::Turns);
        Shares::new(policies.map(|policy| policy.weight)).map(Self::Weights).or_else(turns)
    }

    fn choose(&mut self, waiting: u8) -> usize {
        match self {
            Self::Weights(shares) => shares.choose(waiting),
            Self::Turns(turns) => turns.choose(waiting),
        }
    }

    fn sent(&mut self, class: usize, wire: u64, waiting: u8) {
        match self {
            Self::Weights(shares) => shares.sent(class, wire, waiting),
            Self::Turns(turns) => turns.sent(class, waiting),
        }
    }
}

impl Port {
    /// Gives each class a policy of its own, from the start of a run on.
    pub fn separate_classes(&mut self, policies: [ClassPolicy; CLASSES]) {
        let classes = Classes::new(policies);
        self.scheduled.weighs = classes.sharing.is_some();
        self.cold.classes = Some(Box::new(classes));
        (self.scheduled.apart, self.scheduled.by_class) = (true, true);
        self.derive();
    }

    /// Counts the queue of each class from the start of a run on, where there are several.
    pub(crate) fn count_classes(&mut self) {
        self.scheduled.by_class = self.scheduled.has_classes();
        self.derive_mode();
    }

    /// The class whose packet goes next, of those that are not paused.
    #[inline(always)]
    pub(super) fn next_class(&mut self, paused: u8) -> usize {
        let waiting = self.scheduled.waiting_but(paused);
        if self.scheduled.weighs { self.next_by_sharing(waiting) } else { waiting.ilog2() as usize }
    }

    /// The class whose turn comes next if nothing comes before. Changes no share.
    pub(super) fn class_to_come(&self, waiting: u8) -> usize {
        let sharing = self.cold.classes.as_ref().and_then(|classes| classes.sharing.as_ref());
        sharing.map_or(waiting.ilog2() as usize, |sharing| sharing.clone().choose(waiting))
    }

    #[cold]
    fn next_by_sharing(&mut self, waiting: u8) -> usize {
        self.sharing().choose(waiting)
    }

    /// A packet has left the queue of its class, at a port that weighs: it takes its part of the share, if the class has one.
    #[cold]
    pub(super) fn weigh(&mut self, class: usize, wire: u64) {
        let waiting = self.scheduled.waiting_but(0);
        self.sharing().sent(class, wire, waiting);
    }

    fn sharing(&mut self) -> &mut ClassSharing {
        let sharing = self.cold.classes.as_mut().and_then(|classes| classes.sharing.as_mut());
        sharing.expect("a port that weighs has classes that share")
    }

    /// What has been counted of a class by `now`; `None` without per-class state.
    pub fn class_counters(&self, class: usize, now: Time) -> Option<ClassCounters> {
        self.cold.classes.as_ref().map(|classes| classes.counters(class, now))
    }

    /// Time at which the peer paused a class; `None` if it is not paused.
    pub fn class_paused_since(&self, class: usize) -> Option<Time> {
        let pause = &self.cold.pause;
        match &self.cold.classes {
            _ if pause.classes() & 1 << class == 0 => None,
            Some(classes) => Some(classes.since[class]),
            None => self.paused_since(),
        }
    }

    /// Appends the time paused by `now`: one value, or one per class with per-class state.
    pub fn paused_so_far(&self, now: Time, to: &mut Vec<Span>) {
        match &self.cold.classes {
            None => to.push(self.pauses(now).paused),
            Some(classes) => {
                to.extend((0..CLASSES).map(|class| classes.counters(class, now).pauses.paused));
            }
        }
    }

    /// Number of values that [`Port::paused_so_far`] appends.
    pub fn paused_values(&self) -> usize {
        if self.cold.classes.is_some() { CLASSES } else { 1 }
    }

    /// The queue that a packet of a class finds, in bytes and packets: of that class alone with per-class state. The port has
    /// been served up to `now`.
    pub(crate) fn queue_of(&self, now: Time, class: u8) -> (u64, u64) {
        if self.scheduled.apart { self.class_queue(now, class) } else { self.port_queue(now) }
    }

    fn port_queue(&self, now: Time) -> (u64, u64) {
        let queue = self.queue(now);
        let sending = self.is_scheduled() && queue > self.scheduled.bytes;
        (queue, self.waiting() + u64::from(sending))
    }

    /// The queue of a class alone, in bytes and packets; of the whole port where classes are not counted. The port has been served up to `now`.
    pub(crate) fn class_queue(&self, now: Time, class: u8) -> (u64, u64) {
        if !self.scheduled.by_class {
            return self.port_queue(now);
        }
        debug_assert!(self.hot.mode != PortMode::StrictLimits, "its highest class is sent early");
        let class = self.scheduled.lane(class);
        let sends =
            self.scheduled.sending == class as u8 && !self.cold.settings.releases_at_start();
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

    /// No less than [`Port::class_queue`] has in bytes, where the port has a queue of `queue` in all; it may not have been served.
    #[inline]
    pub(crate) fn class_queue_at_most(&self, queue: u64, class: u8) -> u64 {
        if !self.scheduled.by_class {
            return queue;
        }
        let waiting = self.scheduled.bytes_of(self.scheduled.lane(class));
        queue.min(waiting + MOST_IN_TRANSMISSION)
    }

    /// What a packet of a class leaves behind as its transmission begins, likewise.
    pub(super) fn left_behind(&self, class: u8) -> (u64, u64) {
        if !self.scheduled.apart {
            return (self.scheduled.bytes, u64::from(self.scheduled.packets));
        }
        let class = self.scheduled.lane(class);
        (self.scheduled.bytes_of(class), self.scheduled.packets_of(class))
    }

    /// The policy of a class; `None` where classes have none of their own.
    pub(super) fn policy(&self, class: u8) -> Option<&ClassPolicy> {
        let lane = self.scheduled.lane(class);
        self.cold.classes.as_ref().map(|classes| &classes.policies[lane])
    }

    /// The marking rule for packets of a class.
    pub(super) fn marking_of(&self, class: u8) -> Option<&EcnMarking> {
        let own = self.policy(class).and_then(|policy| policy.marking.as_ref());
        own.or(self.cold.settings.marking.as_ref())
    }

    /// All rules by which packets may be marked here.
    pub(super) fn rules(&self) -> impl Iterator<Item = &EcnMarking> {
        let by_class = self.cold.classes.iter().flat_map(|classes| classes.rules());
        self.cold.settings.marking.iter().chain(by_class)
    }
}
