//! `[[fabric.shaper]]`: token buckets at ports.

use crate::quantity::QueueLength;
use forebay_settings::TokenBucket;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket at ports, like tbf of Linux. A packet leaves at the rate of the link once the bucket has a token for each byte of the packet on the
/// wire.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Shaper {
    /// A port, `leaf[0]->spine[1]`, of a switch or a host's NIC; all ports of a node, `leaf[0]`; either with `*` as an index. Later entries
    /// win.
    #[serde(rename = "where")]
    pub place: String,
    /// The bucket.
    #[serde(flatten)]
    pub bucket: TokenBucket,
    /// Limit of the queue at the port, in bytes or packets. Not at hosts, where packets wait in their flows. Default:
    /// fabric.switch.port_limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLength>,
}
