//! `[fabric.switch.hierarchical]`: racks that queue by destination, credits between them, and the law that gives flows their
//! rates (HierCC).

use crate::SettingsTable;
use crate::params::{self, Param};
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Queues by destination, credits between racks, and a law of role group.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Hierarchical {
    /// Name of a law in `forebay laws` of role group.
    pub law: String,
    /// Parameters of the law, by their names in `forebay laws`. Default: as published.
    #[serde(default, with = "params", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, Param>>")]
    pub params: Vec<(String, String)>,
    /// Bytes for which a queue requests credits: "demand", what has arrived in it, or "sent", what has left it, so that advance is a
    /// window. Default: "demand".
    #[serde(default)]
    pub requests: Requests,
    /// Destination of each queue: a "host"; a "rack"; or another "pod" (hosts of the own pod keep queues of their own). Use it if a switch
    /// has fewer queues than there are hosts. Packets that share a queue wait behind each other. Default: "host".
    #[serde(default)]
    pub queue_for: QueueFor,
    /// With queue_for = "pod": bytes that the queue for another pod may send before its first credit. Default: advance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_advance: Option<Bytes>,
    /// Bytes that each queue may send before its first credit (C0), one packet or more. Default: 10KB (HierCC, section 5).
    #[serde(default = "advance")]
    pub advance: Bytes,
    /// Bytes that a credit lets go (Delta), at most advance. Default: 1KB (HierCC, section 3.2).
    #[serde(default = "credit")]
    pub credit: Bytes,
    /// Bytes of a packet that take credit: the whole "packet", or its "payload" without transport.header. advance and credit count the
    /// same bytes. Default: "packet".
    #[serde(default, skip_serializing_if = "is_default")]
    pub credit_for: CreditFor,
    /// Pace of a port's credits, as a share of the rate that what else it sends leaves it, from 0.01 to 1. Below 1, what new racks send in advance
    /// drains from its queue though all have more to send. Default: 1.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub credit_pace: f64,
    /// Time after its last packet for which a flow counts. Default: 20us, two windows of 10 us.
    #[serde(default = "seen_for")]
    pub seen_for: Span,
    /// Time without a credit after which a waiting queue requests again: credits and requests can be lost. Longer than a round trip
    /// between the switches of two racks. A paused host requests its state after ten times as long. Default: 100us.
    #[serde(default = "request_timeout")]
    pub request_timeout: Span,
    /// Round-trip time between host and switch on an empty link, for the law. Default: what their cable takes there and back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop_rtt: Option<Span>,
    /// Round-trip time between two hosts. Racks may have the bytes of this time in flight to a port, even if advance is less. Default:
    /// the longest on an empty fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Span>,
}

/// Bytes for which a queue by destination requests credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requests {
    /// Bytes that have arrived in the queue.
    #[default]
    Demand,
    /// Bytes that the queue has sent.
    Sent,
}

/// Bytes of a packet that take credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditFor {
    /// All but the wire overhead.
    #[default]
    Packet,
    /// Payload alone, without the transport's header.
    Payload,
}

/// Destination of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFor {
    /// One host.
    #[default]
    Host,
    /// All hosts of a rack.
    Rack,
    /// All hosts of another pod, or a host of the queue's own pod.
    Pod,
}

fn is_default(credit_for: &CreditFor) -> bool {
    *credit_for == CreditFor::default()
}

fn whole() -> f64 {
    1.0
}

#[expect(clippy::float_cmp, reason = "the default is exact")]
fn is_whole(pace: &f64) -> bool {
    *pace == 1.0
}

fn advance() -> Bytes {
    Bytes::new(10_000)
}

fn credit() -> Bytes {
    Bytes::new(1_000)
}

fn seen_for() -> Span {
    Span::from_us(20)
}

fn request_timeout() -> Span {
    Span::from_us(100)
}

impl Hierarchical {
    /// Fills in the defaults that depend on other keys, and says what is wrong with the table. `scenario` checks the law. `packet`: a full
    /// packet.
    pub fn check(&mut self, table: &mut impl SettingsTable, packet: Bytes) {
        let advance = self.advance;
        if advance < packet {
            let text = format!("lets no packet of {packet} go; write at least \"{packet}\"");
            table.wrong("hierarchical.advance", text);
        }
        if self.credit == Bytes::ZERO || self.credit > advance {
            let text = format!(
                "is not a size of a credit; write more than nothing and at most advance, \"{advance}\""
            );
            table.wrong("hierarchical.credit", text);
        }
        if self.queue_for == QueueFor::Pod {
            let least = packet.max(self.credit);
            if *self.pod_advance.get_or_insert(advance) < least {
                let text = format!("is less than a packet or a credit; write at least \"{least}\"");
                table.wrong("hierarchical.pod_advance", text);
            }
        } else if self.pod_advance.is_some() {
            let text = "is of queues for other pods; write queue_for = \"pod\" as well";
            table.say("hierarchical.pod_advance", text);
        }
        if !(0.01..=1.0).contains(&self.credit_pace) {
            let text = "is not a share of a port's rate; write a number from 0.01 to 1";
            table.wrong("hierarchical.credit_pace", text);
        }
        table.short("hierarchical.seen_for", self.seen_for);
        table.span("hierarchical.request_timeout", self.request_timeout);
        for (key, trip) in
            [("hierarchical.hop_rtt", self.hop_rtt), ("hierarchical.round_trip", self.round_trip)]
        {
            if let Some(trip) = trip {
                table.span(key, trip);
            }
        }
    }
}
