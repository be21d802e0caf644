//! What holds payload back at an instant: the question "where did the time go?".
//!
//! One answer for each step, from the NIC on. A stage counts as the limit while something queues before it: a second frame
//! at the NIC, a second delivery at every core in use. One alone is only passing through.

/// The stage that sets the pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Nothing queues here: senders and the network do.
    Senders,
    /// Work queued at every core that reads for applications, and nothing in the NIC.
    Copying,
    /// Frames queued in the NIC, and the PCIe link was what they waited for.
    Pcie,
    /// Frames queued in the NIC for want of IIO slots, and there would be too few of them on an idle memory too.
    Slots,
    /// Frames queued in the NIC for want of IIO slots, which writes held for longer because memory was busy.
    Memory,
    /// Frames queued in the NIC, and the stack had given it no descriptors.
    Descriptors,
}

impl Limit {
    /// All of them, in the order of [`super::Totals::limits`].
    pub const ALL: [Self; 6] =
        [Self::Senders, Self::Copying, Self::Pcie, Self::Slots, Self::Memory, Self::Descriptors];

    /// Word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Senders => "senders",
            Self::Copying => "copying",
            Self::Pcie => "pcie",
            Self::Slots => "slots",
            Self::Memory => "memory",
            Self::Descriptors => "descriptors",
        }
    }
}
