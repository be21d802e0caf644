//! Ports whose frames are written down.

use super::Judge;
use crate::model::{Capture, Direction, Stop, Transport};
use crate::plan::{Plan, port_ends};
use crate::raw;
use crate::tree::{did_you_mean, shorten};
use forebay_units::{Bytes, Time};
use std::collections::BTreeMap;

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
pub(super) fn default_snap<'a>(transports: impl Iterator<Item = &'a Transport>) -> Bytes {
    let queue_pairs = transports.filter(|transport| transport.rdma().is_some());
    let frame = |mss: Bytes| mss.get().next_multiple_of(ROCE_GRAIN) + ROCE_HEADERS;
    let longest = queue_pairs.map(|transport| frame(transport.mss)).max().unwrap_or(0);
    Bytes::new(longest.min(MOST_SNAP)).max(SNAP)
}

/// Headers of a data packet: what a frame is cut to at least.
const LEAST_SNAP: u64 = 66;

/// Most ports of one run, each of which is a file.
const MOST_PORTS: usize = 256;

impl Judge<'_> {
    /// Captures in file order, each of ports that exist and that no other one names.
    pub(super) fn captures(
        &mut self,
        captures: &[raw::Capture],
        (stop, default_snap): (Stop, Bytes),
        plan: &Plan,
    ) -> Vec<Capture> {
        let mut taken: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut all = Vec::with_capacity(captures.len());
        for (i, capture) in captures.iter().enumerate() {
            let path = format!("output.capture[{i}]");
            self.captured_ports(&format!("{path}.where"), i, &capture.place, &mut taken, plan);
            let snap = capture.snap.map_or(default_snap, |s| s.0);
            if snap.get() < LEAST_SNAP {
                self.wrong(
                    &format!("{path}.snap"),
                    format!("cuts into the headers of a packet; write at least \"{LEAST_SNAP}B\""),
                );
            } else if snap.get() > MOST_SNAP {
                self.wrong(
                    &format!("{path}.snap"),
                    "is more than any frame has; write at most \"64KiB\"",
                );
            }
            let from = capture.from.map_or(Time::ZERO, |t| t.0);
            let until = capture.until.map_or(Time::MAX, |t| t.0);
            if from >= stop.time {
                let text = format!("is not before the end of the run, stop.time = {}", stop.time);
                self.wrong(&format!("{path}.from"), text);
            } else if until <= from {
                self.wrong(
                    &format!("{path}.until"),
                    format!("is not after from = {from}; write a later time"),
                );
            }
            all.push(Capture {
                place: capture.place.clone(),
                direction: capture.direction.unwrap_or(Direction::Both),
                snap,
                from,
                until,
                packets: capture.packets.map(|n| n as u64),
            });
        }
        all
    }

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

    /// A place that is no port, with what would be one.
    fn no_such_port(&mut self, path: &str, place: &str, plan: &Plan) {
        if let Some(cable) = plan.cable(place) {
            let [a, b] = [cable.a, cable.b].map(|n| &plan.names[n as usize]);
            let text = format!(
                "{place:?} is a cable, which has two ends; write \"{a}->{b}\" or \"{b}->{a}\""
            );
            return self.say(path, text);
        }
        let (node, peer) = port_ends(place);
        let known = |name: &str| plan.nodes_like(name).next();
        let (Some(node), Some(peer)) = (known(node), peer) else {
            let name = node.to_string();
            return self.no_such_node(path, &name, plan, false);
        };
        if known(peer).is_none() {
            let name = peer.to_string();
            return self.no_such_node(path, &name, plan, false);
        }
        let mine = plan.ports_like(&plan.names[node]);
        let names: Vec<String> = mine
            .iter()
            .map(|(n, p)| format!("{}->{}", plan.names[*n as usize], plan.names[*p as usize]))
            .collect();
        let close = did_you_mean(place, names.iter().map(String::as_str));
        let (first, last) = (&names[0], &names[names.len() - 1]);
        self.say(
            path,
            format!("{:?} is no port: no cable joins the two; the ports of {} go from {first} to {last}{close}", shorten(place), plan.names[node]),
        );
    }
}
