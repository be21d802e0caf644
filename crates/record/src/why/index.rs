//! A log in the order in which a walk backward looks things up.

use super::log::{Arrived, Landing, Left, Log, PacketId, Received, Role, SenderEvent};
use forebay_units::Time;
use std::collections::BTreeMap;

/// What one flow did.
#[derive(Default)]
pub(super) struct OfFlow {
    left: BTreeMap<u32, Vec<Left>>, // by link: by end of transmission
    arrived: BTreeMap<u32, Vec<Arrived>>, // by node: by time
    pub answers: Vec<Arrived>,      // at the sending host, by time
    pub first_acks: BTreeMap<u64, PacketId>, // by sequence number the first that came
    pub data: Vec<Arrived>,         // at the receiving host, by time
    pub sent: Vec<Left>,            // data at the sending host, by time
    landings: Vec<(u32, Landing)>,  // with the host: by host and arrival
    pub events: Vec<SenderEvent>,
    pub received: Vec<Received>,
}

impl OfFlow {
    /// The packet whose transmission on a link ended at `end`.
    pub fn left(&self, link: u32, end: Time) -> Option<&Left> {
        let of = self.left.get(&link)?;
        let upto = of.partition_point(|one| one.end <= end);
        of[..upto].last().filter(|one| one.end == end)
    }

    /// How a packet came to memory that had come over the cable of a host at `came`.
    pub fn landing(&self, host: u32, came: Time) -> Option<&Landing> {
        let key = |one: &(u32, Landing)| (one.0, one.1.came);
        let at = self.landings.binary_search_by_key(&(host, came), key).ok()?;
        Some(&self.landings[at].1)
    }

    /// When and over which link a packet came last to a node by `until`.
    pub fn arrived(&self, node: u32, id: PacketId, until: Time) -> Option<(Time, u32)> {
        let of = self.arrived.get(&node)?;
        let upto = of.partition_point(|one| one.at <= until);
        // It is one of the last: those that came later wait behind it.
        let last = of[..upto].iter().rfind(|one| one.id == id)?;
        Some((last.at, last.link))
    }
}

/// All of a log.
pub(super) struct Index {
    pub flows: BTreeMap<u32, OfFlow>,
    pauses: BTreeMap<u32, Vec<(Time, u8)>>, // by link
    ahead: BTreeMap<u32, Vec<(Time, u32)>>, // by link: end of transmission, and whose
}

impl Index {
    pub fn of(log: &Log) -> Self {
        let all = || log.flows.iter().chain(&log.streams);
        let mut flows: BTreeMap<u32, OfFlow> =
            all().map(|one| (one.flow, OfFlow::default())).collect();
        let ends: BTreeMap<u32, (u32, u32)> =
            all().map(|one| (one.flow, (one.src, one.dst))).collect();
        let mut pauses: BTreeMap<u32, Vec<(Time, u8)>> = BTreeMap::new();
        let mut ahead: BTreeMap<u32, Vec<(Time, u32)>> = BTreeMap::new();
        for (node, seen) in (0u32..).zip(&log.nodes) {
            for one in &seen.arrived {
                let Some(flow) = flows.get_mut(&one.flow) else { continue };
                let (src, dst) = ends[&one.flow];
                flow.arrived.entry(node).or_default().push(*one);
                if node == src && one.role != Role::Data {
                    flow.answers.push(*one);
                    if one.role == Role::Ack {
                        flow.first_acks.entry(one.id.seq).or_insert(one.id);
                    }
                } else if node == dst && one.role == Role::Data {
                    flow.data.push(*one);
                }
            }
            for one in &seen.left {
                let Some(flow) = flows.get_mut(&one.flow) else { continue };
                flow.left.entry(one.link).or_default().push(*one);
                if node == ends[&one.flow].0 && one.role == Role::Data {
                    flow.sent.push(*one);
                }
            }
            for one in &seen.senders {
                if let Some(flow) = flows.get_mut(&one.flow) {
                    flow.events.push(*one);
                }
            }
            for one in &seen.receivers {
                if let Some(flow) = flows.get_mut(&one.flow) {
                    flow.received.push(*one);
                }
            }
            for one in &seen.landings {
                if let Some(flow) = flows.get_mut(&one.flow) {
                    flow.landings.push((node, *one));
                }
            }
            for one in &seen.paused {
                pauses.entry(one.link).or_default().push((one.at, one.classes));
            }
            for one in &seen.ahead {
                ahead.entry(one.link).or_default().push((one.end, one.flow));
            }
        }
        for flow in flows.values_mut() {
            flow.sent.sort_by_key(|one| one.end);
            flow.landings.sort_by_key(|(host, one)| (*host, one.came));
            // Of two alike the later one counts: sorted in the order in which they were logged.
            flow.left.values_mut().for_each(|of| of.sort_by_key(|one| one.end));
        }
        // A port that took packets back to a fault has sent them twice.
        ahead.values_mut().for_each(|of| of.sort_unstable());
        Self { flows, pauses, ahead }
    }

    /// Whose packet was sent on a link just before `at`, and since when, where the end of its transmission is `latest` at most.
    pub fn sent_before(&self, link: u32, at: Time, latest: Time) -> (Time, Option<u32>) {
        let Some(all) = self.ahead.get(&link) else { return (Time::ZERO, None) };
        let below = all.partition_point(|(end, _)| *end < at);
        let since = below.checked_sub(1).map_or(Time::ZERO, |i| all[i].0);
        (since, all.get(below).filter(|(end, _)| *end <= latest).map(|(_, flow)| *flow))
    }

    /// Stretches of `[from, to)` in which a class of a link was paused, the last first.
    pub fn paused(&self, link: u32, class: u8, from: Time, to: Time) -> Vec<(Time, Time)> {
        let Some(frames) = self.pauses.get(&link) else { return Vec::new() };
        let bit = 1u8 << class.min(7);
        let mut found: Vec<(Time, Time)> = Vec::new();
        let first = frames.partition_point(|one| one.0 <= from).saturating_sub(1);
        for (i, (at, classes)) in frames.iter().enumerate().skip(first) {
            if *at >= to {
                break;
            }
            let until = frames.get(i + 1).map_or(Time::MAX, |next| next.0).min(to);
            let begins = (*at).max(from);
            if classes & bit != 0 && until > begins {
                found.push((begins, until));
            }
        }
        found.reverse();
        found
    }
}
