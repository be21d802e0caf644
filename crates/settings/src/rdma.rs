//! Settings of queue pairs.

use crate::{QueueLength, SettingsTable};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(default)]
pub struct RdmaSettings {
    /// First window of laws that have no opinion, in packets or in bytes of payload: one packet to 4GiB. Default: what the host's
    /// link carries in base_rtt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<QueueLength>,
    /// Retransmissions of a sender after a loss. Default: "go-back-n".
    pub recovery: Recovery,
    /// Packets per ACK; one where the law looks at each. The last packet that may leave is always acknowledged. Default: 1.
    #[schemars(range(min = 1, max = 65_535))]
    pub ack_every: u32,
    /// Limit of the payload in flight of a queue pair, in addition to its law: "none", "bdp", or a size of at most 2GiB. Default: "none";
    /// "bdp" with recovery = "selective" (IRN, BDP-FC).
    pub max_inflight: InflightCap,
    /// Go-back-N: time after which the receiver reports the same gap again. Default: 500us (public HPCC simulator).
    pub nack_interval: Span,
    /// Time that a sender waits after an RNR NAK before it sends the refused data again, for receivers with rq = { rnr = "nak" }. Default:
    /// 640us (our choice: code 12 of the InfiniBand timer, which perftest uses).
    pub rnr_timer: Span,
    /// Time without an answer after which the oldest packet counts as lost. Default: 4ms (RoCE NICs); 320us with
    /// recovery = "selective" (IRN, RTO_high).
    pub timeout: Span,
    /// Timeout with at most rto_low_packets packets in flight. Default: timeout; 100us with recovery = "selective" (IRN, RTO_low).
    pub rto_low: Span,
    /// Packets in flight up to which rto_low holds. Default: 0; 3 with recovery = "selective" (IRN).
    #[schemars(range(min = 0, max = 65_535))]
    pub rto_low_packets: u32,
    /// Least time between two CNPs of a queue pair, for laws that need them. Default: 50us (DCQCN, SIGCOMM 2015).
    pub cnp_interval: Span,
    /// Traffic class of CNPs. Default: ack_class.
    #[schemars(range(min = 0, max = 7))]
    pub cnp_class: u8,
    /// Round-trip time of an empty path, for laws: "longest", "path", or a time. A full packet there and its ACK back. Default:
    /// "longest", one value for all flows.
    pub base_rtt: BaseRtt,
    /// Bytes that telemetry adds to the header of data and to ACKs, for laws that need it; at most 255B. Default: 42B, five hops of
    /// 8 B and a count of 2 B (HPCC, SIGCOMM 2019).
    pub telemetry: Bytes,
}

impl Default for RdmaSettings {
    fn default() -> Self {
        Self {
            initial_window: None,
            recovery: Recovery::GoBackN,
            ack_every: 1,
            max_inflight: InflightCap::None,
            nack_interval: Span::from_us(500),
            rnr_timer: Span::from_us(640),
            timeout: Span::from_ms(4),
            rto_low: Span::from_ms(4),
            rto_low_packets: 0,
            cnp_interval: Span::from_us(50),
            cnp_class: 0,
            base_rtt: BaseRtt::Longest,
            telemetry: Bytes::new(42),
        }
    }
}

impl RdmaSettings {
    /// Payload of a full packet in public RDMA simulators.
    pub const MSS: Bytes = Bytes::new(1000);
    /// IPv4 20 B, UDP 8 B, base transport header 12 B, ICRC 4 B. Telemetry comes on top.
    pub const HEADER: Bytes = Bytes::new(44);

    /// Fills in the defaults that depend on other keys, and says what is wrong.
    pub fn check(&mut self, table: &mut impl SettingsTable, mss: Bytes, ack_class: u8) {
        if let Some(window) = self.initial_window {
            table.window("initial_window", window, mss);
        }
        let mut low = self.timeout;
        if self.recovery == Recovery::Selective {
            // IRN, SIGCOMM 2018: BDP-FC, RTO_high, RTO_low, and the packets in flight up to which the latter holds.
            table.usual("max_inflight", &mut self.max_inflight, InflightCap::Bdp);
            table.usual("timeout", &mut self.timeout, Span::from_us(320));
            table.usual("rto_low_packets", &mut self.rto_low_packets, 3);
            low = Span::from_us(100);
        }
        table.usual("rto_low", &mut self.rto_low, low.min(self.timeout));
        table.usual("cnp_class", &mut self.cnp_class, ack_class);
        if matches!(self.max_inflight, InflightCap::Fixed(bytes) if bytes < mss) {
            let text = format!("is less than one packet of {mss}; write \"bdp\", \"none\" or more");
            table.wrong("max_inflight", text);
        }
        table.span("timeout", self.timeout);
        if table.given("rto_low") {
            table.span("rto_low", self.rto_low);
        }
        table.span("nack_interval", self.nack_interval);
        table.span("rnr_timer", self.rnr_timer);
        table.short("cnp_interval", self.cnp_interval);
        if let BaseRtt::Fixed(span) = self.base_rtt {
            table.span("base_rtt", span);
        }
        if self.telemetry.get() > 255 {
            table.wrong("telemetry", "is not a size of a header; write for instance \"42B\"");
        }
    }
}

/// Retransmissions of queue pairs after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Everything from the first missing packet, as commodity NICs.
    GoBackN,
    /// The whole flow, as NICs did before: with losses, long flows never end.
    #[serde(rename = "go-back-0")]
    GoBackZero,
    /// The missing packets alone, as IRN (SIGCOMM 2018).
    Selective,
}

/// Limit of the bytes in flight of a queue pair, in addition to its law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InflightCap {
    /// The law alone bounds it.
    None,
    /// The bytes that the host's link carries in base_rtt.
    Bdp,
    /// So much payload.
    #[serde(untagged)]
    Fixed(Bytes),
}

/// Round-trip time of an empty path, for laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaseRtt {
    /// Time of the longest path in the fabric, for all flows.
    Longest,
    /// Time of each flow's own path.
    Path,
    /// A time for all flows.
    #[serde(untagged)]
    Fixed(Span),
}
