//! From traffic entries to a table of flows.

use forebay_units::{Bytes, Time};

/// One flow to come. Hosts are indices in canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload; `Bytes::MAX` for a flow without an end.
    pub size: Bytes,
    /// When the application hands it over; for a triggered flow, `Time::MAX`.
    pub start: Time,
    /// Index of its `[[traffic]]` entry.
    pub traffic: u16,
}
