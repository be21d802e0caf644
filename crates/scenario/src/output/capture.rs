//! Ports whose frames are written down.

use crate::judge::Judge;
use crate::plan::Plan;
use crate::program::{is_never, never};
use crate::stop::Stop;
use crate::transport::Transport;
use forebay_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ports whose frames are written down.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Capture {
    /// Ports to capture: `leaf[0]->spine[1]` is the port of leaf[0] to spine[1]. A node's name means all its ports. `*` stands for an
    /// index.
    #[serde(rename = "where")]
    pub place: String,
    /// Direction of the frames: what the port sends, what the port receives, or both. Default: both.
    #[serde(default)]
    pub direction: Direction,
    /// Bytes kept of each frame; every TCP header fits in 94B. Default: 96B, and with RDMA the longest RoCEv2 frame (mss + 58B), since Wireshark shows a RoCEv2 packet whose payload is cut as malformed.
    #[serde(default)]
    pub snap: Bytes,
    /// No frame before this. Default: 0s.
    #[serde(default)]
    pub from: Time,
    /// No frame from here on. Default: the end.
    #[serde(default = "never", skip_serializing_if = "is_never")]
    pub until: Time,
    /// At most this many frames of each port. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub packets: Option<u64>,
}

/// Directions of a port, seen from its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Frames that the port receives.
    In,
    /// Frames that the port sends.
    Out,
    /// Both.
    #[default]
    Both,
}

/// Every header of a TCP frame, and a little payload: Ethernet 14 B, IPv4 20 B, TCP 60 B.
const SNAP: Bytes = Bytes::new(96);

/// What a RoCEv2 data frame has beside its payload: Ethernet 14 B, IPv4 20 B, UDP 8 B, base transport header 12 B,
/// invariant CRC 4 B.
const ROCE_HEADERS: u64 = 58;

/// Payload of RoCEv2 is filled up to a multiple of this.
const ROCE_GRAIN: u64 = 4;

/// The most that a frame can have.
const MOST_SNAP: u64 = u16::MAX as u64 + 1;

/// Bytes kept of each frame where a capture says nothing: all headers; with queue pairs their longest frame, because
/// Wireshark 4.0 shows a RoCEv2 packet whose payload is cut as malformed ("Invalid Packet Length from LRH!").
pub(crate) fn default_snap<'a>(transports: impl Iterator<Item = &'a Transport>) -> Bytes {
    let queue_pairs = transports.filter(|transport| transport.rdma().is_some());
    let frame = |mss: Bytes| mss.get().next_multiple_of(ROCE_GRAIN) + ROCE_HEADERS;
    let longest = queue_pairs.map(|transport| frame(transport.mss)).max().unwrap_or(0);
    Bytes::new(longest.min(MOST_SNAP)).max(SNAP)
}

/// Headers of a data packet: what a frame is cut to at least.
const LEAST_SNAP: u64 = 66;

/// Most ports of one run, each of which is a file.
const MOST_PORTS: usize = 256;

/// Captures in file order, each of ports that exist and that no other one names.
pub(super) fn check(
    captures: &mut [Capture],
    judge: &mut Judge<'_>,
    (stop, default_snap): (Stop, Bytes),
    plan: &Plan,
) {
    let mut taken: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (i, capture) in captures.iter_mut().enumerate() {
        let path = format!("output.capture[{i}]");
        let at = |key: &str| format!("{path}.{key}");
        judge.captured_ports(&at("where"), i, &capture.place, &mut taken, plan);
        judge.usual(&at("snap"), &mut capture.snap, default_snap);
        if capture.snap.get() < LEAST_SNAP {
            let text =
                format!("cuts into the headers of a packet; write at least \"{LEAST_SNAP}B\"");
            judge.wrong(&at("snap"), text);
        } else if capture.snap.get() > MOST_SNAP {
            judge.wrong(&at("snap"), "is more than any frame has; write at most \"64KiB\"");
        }
        let from = capture.from;
        if from >= stop.time {
            let text = format!("is not before the end of the run, stop.time = {}", stop.time);
            judge.wrong(&at("from"), text);
        } else if capture.until <= from {
            let text = format!("is not after from = {from}; write a later time");
            judge.wrong(&at("until"), text);
        }
    }
}

impl Judge<'_> {
    /// Notes the ports of capture `i`, or a sentence about where they are not.
    fn captured_ports(
        &mut self,
        path: &str,
        i: usize,
        place: &str,
        taken: &mut BTreeMap<(u32, u32), usize>,
        plan: &Plan,
    ) {
        let ports = plan.ports_like(place);
        if ports.is_empty() {
            return self.no_such_port(path, place, plan);
        }
        for port in ports {
            if let Some(other) = taken.insert(port, i) {
                let [node, peer] = [port.0, port.1].map(|n| &plan.names[n as usize]);
                let by = if other == i { "this" } else { &format!("output.capture[{other}]") };
                return self.wrong(
                    path,
                    format!("captures {node}->{peer}, as {by} does; write each port once"),
                );
            }
        }
        if taken.len() > MOST_PORTS {
            let ports = taken.len();
            taken.clear();
            self.wrong(
                path,
                format!("makes {ports} captured ports, each a file; name at most {MOST_PORTS}"),
            );
        }
    }
}
