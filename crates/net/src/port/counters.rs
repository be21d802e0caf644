//! What a port counts. A new counter is a field here and a column of `ports.csv`, which takes it by its name.

use forebay_wire::{Kind, Packet};

/// Counters with their names, in the order of their fields.
macro_rules! counters {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: u64,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl $name {
            /// Names of the counters.
            pub const NAMES: &[&str] = &[$(stringify!($field)),*];

            /// Values of the counters, in the order of the names.
            pub fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$field),*]
            }
        }
    };
}

counters! {
    /// Counters of a port. Pause frames are counted apart, in [`crate::PauseCounters`], and not here.
    pub struct PortCounters {
        /// Packets whose transmission has begun.
        pub tx_packets: u64,
        /// Bytes of these packets, without wire overhead.
        pub tx_bytes: u64,
        /// Packets refused for lack of buffer, or dropped by a watchdog.
        pub dropped_packets: u64,
        /// Bytes of these packets.
        pub dropped_bytes: u64,
        /// Credits beyond the limit of their queue: packets of the credit class, which are not among `dropped_packets`.
        pub dropped_credits: u64,
        /// Packets lost to a fault or at random.
        pub lost_packets: u64,
        /// Packets marked here.
        pub marked_packets: u64,
        /// Data packets whose payload was cut off here.
        pub trimmed_packets: u64,
        /// What was cut off.
        pub trimmed_bytes: u64,
        /// Trimmed packets that found their queue full and went back to their source.
        pub returned_packets: u64,
        /// Trimmed packets dropped, returned ones too; among `dropped_packets`.
        pub dropped_headers: u64,
        /// Packets dropped by a marking rule since they were not ECN-capable; among `dropped_packets`.
        pub dropped_unscheduled: u64,
    }
}

impl PortCounters {
    /// Packets that did not get in, credits among them.
    pub fn refused(&self) -> u64 {
        self.dropped_packets + self.dropped_credits
    }

    /// Counts a packet that was refused.
    pub(crate) fn drop(&mut self, packet: &Packet) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(packet.size);
        self.dropped_headers += u64::from(matches!(packet.kind, Kind::Trimmed | Kind::Returned));
    }
}
