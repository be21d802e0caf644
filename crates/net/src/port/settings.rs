//! What a port is made from.

use forebay_engine::LinkId;
use forebay_settings::{
    Clock, CreditClass, DeadPort, EcnMarking, PortRules, QueueLength, Release, Switch, TokenBucket,
    WireSettings,
};
use forebay_units::{BitsPerSec, Span};
use forebay_wire::Rates;

/// Whether a queue of so many bytes and packets may take a packet of `wire` bytes more within this limit.
pub(super) fn holds(limit: QueueLength, queue: u64, packets: u64, wire: u64) -> bool {
    match limit {
        QueueLength::Bytes(limit) => queue + wire <= limit.get(),
        QueueLength::Packets(limit) => packets < u64::from(limit),
    }
}

/// How a port keeps what it has accepted. Changes no result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Form {
    /// As is cheapest.
    #[default]
    Any,
    /// In explicit queues, even where one touch would do. So it has to be where a peer may pause it, where the one class has a policy, and
    /// where a port may lose packets or get an odd rate later.
    Queued,
    /// There, and each departure is an event of its own. For observers of departures, and as the slow twin of the other forms.
    Naive,
}

/// What a port is made from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortSettings {
    /// Rate.
    pub rate: BitsPerSec,
    /// From the last bit sent to the arrival at the peer.
    pub flight: Span,
    /// The engine's name of the cable.
    pub link: LinkId,
    /// Queue limit, the packet itself included; `None`: the shared buffer's only, or none.
    pub limit: Option<QueueLength>,
    /// Congestion marks, with thresholds for a port of this rate.
    pub marking: Option<EcnMarking>,
    /// Strict-priority classes.
    pub classes: u8,
    /// What all ports of a switch obey.
    pub rules: PortRules,
    /// What all ports of a fabric obey.
    pub wire: WireSettings,
    /// Share of packets lost at random.
    pub loss: f64,
    /// Token bucket, if any. Such a port has explicit queues.
    pub shaper: Option<TokenBucket>,
    /// Metered class for the credits of a transport, if any. Such a port has explicit queues and no shaper.
    pub credits: Option<CreditClass>,
    /// Key of the random draws of this port.
    pub key: u64,
    /// How it keeps its queue.
    pub form: Form,
    /// Rates of all ports that append INT records, this one's among them; `None`: it appends none, and loses those of other ports.
    pub telemetry: Option<Rates>,
}

impl PortSettings {
    /// This port at a switch of these settings; `limit` is that of this port alone.
    pub fn at_switch(self, switch: &Switch, limit: Option<QueueLength>) -> Self {
        Self {
            limit: limit.or(switch.port_limit),
            marking: switch.ecn.of_port().map(|rule| rule.at_rate(self.rate)),
            // Credits and rates go before data.
            classes: switch.classes.max(1 + u8::from(switch.hierarchical.is_some())),
            rules: switch.ports,
            ..self
        }
    }

    /// Whether a packet stops counting as its transmission begins, rather than byte by byte.
    #[inline]
    pub fn releases_at_start(&self) -> bool {
        self.rules.release == Release::Start
    }

    /// Whether the queue is held while the link is dead, rather than dropped.
    pub fn holds(&self) -> bool {
        self.wire.dead_port == DeadPort::Hold
    }

    /// Whether times of transmission are cut to whole nanoseconds. Such a port has explicit queues.
    pub fn truncates(&self) -> bool {
        self.wire.clock == Clock::TruncateNs
    }
}
