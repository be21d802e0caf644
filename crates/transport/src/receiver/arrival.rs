//! When the newest data arrived and how long it had been under way: what ACKs report to a law of delays.

use forebay_units::Time;
use forebay_wire::Stamps;

/// The newest segment that a NIC handed up, alone or as the last of merged ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// When the NIC had it.
    pub at: Time,
    /// The sender's clock when the segment left, in ns, wrapping.
    pub stamp: u32,
}

impl Arrival {
    /// Time under way in ns, by two clocks that agree; wrapping.
    #[inline]
    pub(super) fn under_way(self) -> u32 {
        ((self.at.as_ps() / 1_000) as u32).wrapping_sub(self.stamp)
    }

    /// What an ACK at `now` says of it.
    pub(crate) fn stamps(self, now: Time) -> Stamps {
        let held = now.since(self.at).as_ps() / 1_000;
        Stamps { forward: self.under_way(), held: u32::try_from(held).unwrap_or(u32::MAX) }
    }
}
