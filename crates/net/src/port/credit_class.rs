//! A class that carries the credits of a transport: metered by a token bucket, in a short queue of its own (ExpressPass).
//!
//! The class is the highest of its port. Its first packet goes as soon as the bucket has tokens for it, before all other classes; while tokens
//! lack, other classes go, so the wire never idles with data waiting. Where only credits wait, the port wakes when tokens suffice. The share
//! of the link is such that the data which credits release fills what is left of the link in the other direction.
//! The queue counts what waits, without the packet in transmission; neither limits nor marks of the port apply to it.
//!
//! Source: Cho, Jang and Han, SIGCOMM 2017, section 3.1; credits before data as in the authors' simulator (kaist-ina/ns2-xpass, xpass-drop-tail.cc).

use super::bucket::Bucket;
use super::{Port, PortMode, PortSettings, Verdict};
use forebay_settings::{CreditClass, Fraction};
use forebay_units::{BitsPerSec, Time};
use forebay_wire::Packet;

/// Which departures take tokens.
#[derive(Clone, Debug)]
pub(super) enum Meter {
    /// All packets of the port.
    Shaper(Bucket),
    /// Packets of the credit class.
    Credits(CreditClass, Bucket),
}

impl Meter {
    /// The meter of a port, if it has one.
    ///
    /// # Panics
    /// If it has a shaper and a credit class.
    pub fn of(settings: &PortSettings) -> Option<Self> {
        assert!(
            settings.shaper.is_none() || settings.credits.is_none(),
            "a shaped port meters no credits: scenarios are checked"
        );
        let shaper = settings.shaper.map(|of| Bucket::new(of.rate, Fraction::WHOLE, of.burst));
        let credits = settings.credits.map(|of| Self::Credits(of, bucket_of(&of, settings.rate)));
        shaper.map(Self::Shaper).or(credits)
    }

    /// A packet that could leave at `start` takes its tokens, if it needs any; the answer is when it leaves.
    pub fn take(&mut self, start: Time, packet: &Packet, wire: u64) -> Time {
        match self {
            Self::Shaper(bucket) => bucket.take(start, wire),
            Self::Credits(of, bucket) if of.has(packet.class) => bucket.take(start, wire),
            Self::Credits(..) => start,
        }
    }

    /// Whether a packet that finds its port idle leaves at once. A shaped port serves all departures from its queues.
    pub fn lets(&self, now: Time, packet: &Packet, wire: u64) -> bool {
        match self {
            Self::Shaper(_) => false,
            Self::Credits(of, bucket) => !of.has(packet.class) || bucket.ready(wire) <= now,
        }
    }

    /// The link has another rate from `now` on, and credits their share of that.
    pub fn change_rate(&mut self, now: Time, rate: BitsPerSec) {
        if let Self::Credits(of, bucket) = self {
            bucket.continue_as(now, bucket_of(of, rate));
        }
    }
}

/// Tokens of a credit class at a port of this rate.
fn bucket_of(of: &CreditClass, rate: BitsPerSec) -> Bucket {
    Bucket::new(rate, of.share, of.burst)
}

impl Port {
    /// The credit class, if there is one.
    fn credits(&self) -> Option<&CreditClass> {
        match self.cold.meter.as_deref() {
            Some(Meter::Credits(of, _)) => Some(of),
            _ => None,
        }
    }

    /// Whether a packet is a credit.
    pub(super) fn is_credit(&self, packet: &Packet) -> bool {
        self.credits().is_some_and(|credits| credits.has(packet.class))
    }

    /// Bytes of the wire and packets of the credits that wait.
    pub(super) fn credits_waiting(&self) -> (u64, u64) {
        self.credits().map_or((0, 0), |of| {
            let lane = self.scheduled.lane(of.class);
            (self.scheduled.bytes_of(lane), self.scheduled.packets_of(lane))
        })
    }

    /// Admission of a credit, by the limit of its queue alone.
    #[inline]
    pub(super) fn admit_credit(&self, packet: &Packet) -> Verdict {
        let (waiting, _) = self.credits_waiting();
        let limit = self.credits().map_or(0, |of| of.limit.get());
        if waiting + self.wire(packet) <= limit { Verdict::Accepted } else { Verdict::Dropped }
    }

    /// When a credit of a NIC may leave, which pulls it once the wire is free: when there are tokens for it.
    #[inline]
    pub fn credit_ready(&self, packet: &Packet) -> Time {
        match self.cold.meter.as_deref() {
            Some(Meter::Credits(_, bucket)) => bucket.ready(self.wire(packet)),
            _ => Time::ZERO,
        }
    }

    /// When the packet that goes next may start at a metered port, if some wait that are not of `paused` classes and the wire is free
    /// from `wire` on.
    #[cold]
    pub(super) fn start_of_metered(&self, wire: Time, paused: u8) -> Time {
        if self.mode() == PortMode::Metered {
            return self.next_metered();
        }
        let waiting = self.scheduled.waiting_but(paused);
        match self.cold.meter.as_deref() {
            Some(Meter::Credits(of, _)) if waiting & !self.credit_lane(of) != 0 => wire,
            Some(Meter::Credits(of, bucket)) => {
                wire.max(self.ready_in(bucket, usize::from(of.class)))
            }
            Some(Meter::Shaper(bucket)) => {
                wire.max(self.ready_in(bucket, self.class_to_come(waiting)))
            }
            None => wire,
        }
    }

    /// The credit class as a bit if its first packet lacks tokens at `start`: other classes go.
    pub(super) fn lacks_tokens(&self, start: Time) -> u8 {
        match self.cold.meter.as_deref() {
            Some(Meter::Credits(of, bucket)) if self.ready_in(bucket, of.class.into()) > start => {
                self.credit_lane(of)
            }
            _ => 0,
        }
    }

    fn credit_lane(&self, of: &CreditClass) -> u8 {
        1 << self.scheduled.lane(of.class)
    }

    fn ready_in(&self, bucket: &Bucket, class: usize) -> Time {
        let first = self.scheduled.first_wire_of(self.scheduled.lane(class as u8));
        first.map_or(Time::ZERO, |wire| bucket.ready(wire))
    }
}
