//! Keys of `[host]` and `[[host.override]]` between cable and transport: one row each.

use crate::SettingsTable;
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes [`HostSettings`] and [`HostChange`]: of each key its description, type, value on ideal hosts, and value in the profile
/// "linux" where that is another.
macro_rules! host_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty = $ideal:expr $(, linux $linux:expr)?;)*) => {
        /// What a host does between cable and transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(default)]
        pub struct HostSettings {
            $($(#[$doc])* pub $key: $type,)*
            /// Interrupt coalescing: packets that bring the receive interrupt before rx_usecs is over. Default: any number waits.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1, max = 1_000_000))]
            pub rx_frames: Option<u32>,
        }

        impl HostSettings {
            /// Every packet by itself.
            pub const IDEAL: Self = Self { $($key: $ideal,)* rx_frames: None };

            /// Gives the keys of `[host]` that were not written the values of a profile.
            pub fn fill(&mut self, profile: Option<HostProfile>, table: &impl SettingsTable) {
                if profile == Some(HostProfile::Linux) {
                    $($(table.usual(stringify!($key), &mut self.$key, $linux);)?)*
                }
            }
        }

        impl Default for HostSettings {
            fn default() -> Self {
                Self::IDEAL
            }
        }

        /// Some settings of a host; the others stay.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        pub struct HostChange {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$type>,)*
            /// Interrupt coalescing: packets that bring the receive interrupt before rx_usecs is over. Default: any number waits.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1, max = 1_000_000))]
            pub rx_frames: Option<u32>,
        }

        impl HostChange {
            /// Settings of the change where it has any, else those of `settings`.
            pub fn over(&self, settings: HostSettings) -> HostSettings {
                HostSettings {
                    $($key: self.$key.unwrap_or(settings.$key),)*
                    rx_frames: self.rx_frames.or(settings.rx_frames),
                }
            }

            /// Settings of the change. The rest come from the profile.
            pub fn with(mut self, profile: Option<HostProfile>) -> Self {
                if let Some(profile) = profile {
                    let linux = profile == HostProfile::Linux;
                    $($(self.$key.get_or_insert(if linux { $linux } else { $ideal });)?)*
                }
                self
            }
        }
    };
}

host_keys! {
    /// Order in which the NIC pulls packets from flows of one class; higher classes go first, and ACKs before data. Default: "round-robin", or "fq" with pacing = "fq".
    nic: NicOrder = NicOrder::RoundRobin;
    /// Whether consecutive segments of a flow that wait for one interrupt become one segment of at most 64KB (GRO, LRO),
    /// which one ACK may answer. Needs rx_usecs. Default: by profile.
    gro: bool = false, linux true;
    /// SACK compression: while segments are missing, one ACK may speak for up to 44 arrivals or 5 % of the round trip, at most
    /// 1 ms (Linux since 4.18), after three at once. Only where ACKs may wait (delayed_ack). Default: by profile.
    sack_compression: bool = false, linux true;
    /// Interrupt coalescing: the longest that a packet waits for the receive interrupt; "0us" for none. Data and ACKs
    /// alike. Default: by profile.
    rx_usecs: Span = Span::ZERO, linux Span::from_us(8);
    /// Random extra wait of each receive interrupt, uniform from zero to this: the jitter of a real host. Without any, flows
    /// through a full drop-tail queue fall in step, and some are shut out (Floyd and Jacobson 1991; ns-2 calls its remedy
    /// overhead_, one packet time of the bottleneck). Default: 0us.
    rx_jitter: Span = Span::ZERO;
    /// Random extra gap after each packet that the NIC sends, uniform from zero to this: what memory and the host's bus add on real hosts. Without any, a
    /// host whose packets come as fast as a full drop-tail queue drains may find room for ever and shut others out. Default: 0us.
    tx_jitter: Span = Span::ZERO;
    /// Segmentation offload (TSO): a flow hands the NIC super-packets, which leave back to back. Their size follows pacing rate and
    /// round-trip time, as in Linux. A small rest waits until a third of the window is free. Default: by profile.
    tso: bool = false, linux true;
    /// Send queues of the NIC, which matter for super-packets (tso). With one queue per flow, as on multi-queue NICs, flows take turns
    /// packet by packet. With one queue for all, a super-packet leaves whole before the next one. Default: "per-flow".
    tx_queues: TxQueues = TxQueues::PerFlow;
    /// Most payload of a super-packet. Default: 64KiB (Linux).
    gso_max: Bytes = Bytes::new(64 << 10);
    /// Whether the last segment of a super-packet of several carries PSH (Linux since 5.5). It ends a merged segment, and
    /// where ACKs may wait it is acknowledged at once, as by an application that reads at once (Linux since 6.6). Default: by
    /// profile.
    psh: bool = false, linux true;
    /// Whether the stack spreads a window over a round-trip time, where the law sets no rate: at 2 windows per smoothed
    /// round-trip time well below ssthresh, else at 1.2 (Linux). Default: "off".
    pacing: Pacing = Pacing::Off;
}

/// Longest wait for an interrupt; drivers allow some milliseconds.
const LONGEST_WAIT: Span = Span::from_secs(1);

/// `GSO_MAX_SIZE` of Linux with large TCP packets, rounded up.
const MOST_GSO: Bytes = Bytes::new(512 << 10);

impl HostSettings {
    /// Says what does not fit together. `mss`: the largest of all transports.
    pub fn check(&self, table: &mut impl SettingsTable, mss: Bytes) {
        if table.given("nic")
            && self.pacing == Pacing::Fq
            && !matches!(self.nic, NicOrder::RoundRobin | NicOrder::Fq)
        {
            let text = "is an order of its own, as pacing = \"fq\" is; leave out nic, or pace by \"internal\"";
            table.wrong("nic", text);
        }
        if self.tx_queues == TxQueues::One && !self.tso && table.given("tx_queues") {
            let text = "changes nothing where packets leave one by one; write tso = true as well";
            table.wrong("tx_queues", text);
        }
        let own_gso = table.given("gso_max");
        if own_gso && self.gso_max > MOST_GSO {
            let text = format!("is more than Linux allows; write at most \"{MOST_GSO}\"");
            table.wrong("gso_max", text);
        }
        if self.gso_max < mss && (self.tso || own_gso) {
            let key = if own_gso { "gso_max" } else { "" };
            let text = format!(
                "{} holds less than one segment; write gso_max = \"{mss}\" or more",
                self.gso_max
            );
            table.say(key, text);
        }
        for (key, wait) in [
            ("rx_usecs", self.rx_usecs),
            ("rx_jitter", self.rx_jitter),
            ("tx_jitter", self.tx_jitter),
        ] {
            if table.given(key) && wait > LONGEST_WAIT {
                let text =
                    format!("is longer than any host waits; write at most \"{LONGEST_WAIT}\"");
                table.wrong(key, text);
            }
        }
        let at_once = self.rx_usecs == Span::ZERO;
        if at_once && table.given("rx_frames") {
            let text = "alone would leave the last packets waiting for ever; write rx_usecs = \"8us\" as well";
            table.wrong("rx_frames", text);
        }
        if at_once && self.gro && table.given("gro") {
            let text = "merges nothing where every packet is taken at once; write rx_usecs = \"8us\" as well";
            table.wrong("gro", text);
        }
    }

    /// Order in which the NIC pulls.
    pub fn pull_order(&self) -> NicOrder {
        if self.pacing == Pacing::Fq { NicOrder::Fq } else { self.nic }
    }

    /// Whether what arrives waits for an interrupt.
    pub fn interrupts_late(&self) -> bool {
        self.rx_usecs.max(self.rx_jitter) > Span::ZERO
    }

    /// Most payload of a super-packet; `None`: segments leave one by one.
    #[inline]
    pub fn super_packet(&self) -> Option<Bytes> {
        self.tso.then_some(self.gso_max)
    }

    /// Whether the stack paces what a law does not.
    #[inline]
    pub fn paces(&self) -> bool {
        self.pacing != Pacing::Off
    }
}

/// Defaults of a host.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostProfile {
    /// Every packet is sent, received and acknowledged separately.
    Ideal,
    /// A Linux server with a fast NIC: tso = true, gro = true, rx_usecs = "8us", delayed_ack = true, sack_compression = true, psh = true.
    Linux,
}

/// Where the stack paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// No pacing.
    Off,
    /// Pacing in TCP: a timer opens each flow's gate.
    Internal,
    /// Pacing in the fq scheduler: a gate for each flow, and nic = "fq".
    Fq,
}

/// Send queues of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TxQueues {
    /// One for each flow: a packet of each in turn.
    PerFlow,
    /// One for all: a super-packet is finished first.
    One,
}

/// Order in which a NIC pulls packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicOrder {
    /// One packet of each flow in a fixed cycle of all flows. Flows that are not ready are skipped. Source: the NIC of the HPCC simulator.
    #[default]
    RoundRobin,
    /// The fq scheduler of Linux. New flows go first, with ten full packets each. Old flows follow in turn, with two full packets each. A flow
    /// that has been new joins the old flows before it can be new again, so old flows do not starve. Source: net/sched/sch_fq.c.
    Fq,
    /// The flow that became ready first sends all it may.
    Fifo,
    /// The flow with the fewest bytes left.
    Srpt,
    /// No pull. A flow hands down all that its window allows, and packets leave in that order, as in Linux before TSQ (3.6). Packets that
    /// wait in the host count as in flight and add to the RTT. At most 1,000 data packets of a class wait; flows without room continue in
    /// turn.
    Push,
}
