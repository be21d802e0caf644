//! What all queue pairs of one kind share.

use forebay_laws::flow::{Echo, Needs};
use forebay_units::{Bytes, Span};

/// How lost packets are sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recovery {
    /// Everything from the first that is missing.
    #[default]
    GoBackN,
    /// The whole message, of which the receiver forgets what it had.
    GoBackZero,
    /// Only what is missing.
    Selective,
}

/// Bound on what a queue pair has under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cap {
    /// The law's alone.
    #[default]
    None,
    /// A bandwidth-delay product: the rate of the host's link times the base round-trip time (IRN's BDP-FC).
    Bdp,
    /// So much payload.
    Fixed(Bytes),
}

/// Settings of a queue pair; passed by reference to every call and never copied into one.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaConfig {
    /// Payload of a full packet.
    pub mtu: Bytes,
    /// Header bytes of a data packet, telemetry included; its `size` is payload plus this.
    pub header: Bytes,
    /// `size` of ACKs, NACKs and CNPs.
    pub ack_size: Bytes,
    /// Window at the start where the law has no opinion of its own; `None`: a bandwidth-delay product.
    pub initial_window: Option<Bytes>,
    /// Most that may be under way, whatever the law says.
    pub cap: Cap,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Packets per ACK. The last packet of what there is to send, or that a window lets go, is acknowledged in any case.
    pub ack_every: u32,
    /// Go-back-N: the same gap is reported again after this long.
    pub nack_interval: Span,
    /// How long the oldest packet may stay without an answer.
    pub timeout: Span,
    /// Timeout with at most `few` packets under way.
    pub timeout_few: Span,
    /// See there.
    pub few: u32,
    /// How long a sender waits after an RNR NAK before it repeats what was refused.
    pub rnr_timer: Span,
    /// Least time between two CNPs of a queue pair.
    pub cnp_interval: Span,
    /// What the law needs of the other end.
    pub needs: Needs,
    /// Traffic class of data.
    pub data_class: u8,
    /// Traffic class of ACKs and NACKs.
    pub ack_class: u8,
    /// Traffic class of CNPs.
    pub cnp_class: u8,
}

impl Default for RdmaConfig {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1_000),
            header: Bytes::new(48),
            ack_size: Bytes::new(64),
            initial_window: None,
            cap: Cap::None,
            recovery: Recovery::GoBackN,
            ack_every: 1,
            nack_interval: Span::from_us(500),
            timeout: Span::from_ms(4),
            timeout_few: Span::from_ms(4),
            few: 0,
            rnr_timer: Span::from_us(640),
            cnp_interval: Span::from_us(50),
            needs: Needs::NONE,
            data_class: 0,
            ack_class: 0,
            cnp_class: 0,
        }
    }
}

impl RdmaConfig {
    /// Whether data leaves ECN-capable.
    #[inline]
    pub(super) fn ecn(&self) -> bool {
        self.needs.echo != Echo::None
    }

    /// Packets per ACK, as the law lets it be.
    #[inline]
    pub fn ack_every(&self) -> u32 {
        let exact = matches!(self.needs.echo, Echo::Exact | Echo::Classic);
        let each = self.needs.every_packet || self.needs.int || exact;
        if each { 1 } else { self.ack_every }
    }
}
