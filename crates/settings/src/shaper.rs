//! Token buckets of ports.

use forebay_units::{BitsPerSec, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket, like tbf of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct TokenBucket {
    /// Rate at which tokens come, in bytes of the wire.
    pub rate: BitsPerSec,
    /// Most tokens, which the bucket has at the start: bytes that leave at the rate of the link after a rest. No less than the largest packet
    /// on the wire.
    pub burst: Bytes,
}
