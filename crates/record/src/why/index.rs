//! A log in the order in which a walk backward looks things up.

use super::log::{Arrived, Landing, Left, Log, PacketId, Received, Role, SenderEvent};
use forebay_units::Time;
use std::collections::BTreeMap;

/// Values of a few keys, among which the same one is wanted many times in a row.
pub(super) struct Few<T> {
    keys: Vec<u32>, // ascending
    of: Vec<T>,
    last: usize,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { keys: Vec::new(), of: Vec::new(), last: 0 }
    }
}

impl<T> Few<T> {
    /// The value of a key.
    pub fn get(&self, key: u32) -> Option<&T> {
        Some(&self.of[self.keys.binary_search(&key).ok()?])
    }

    /// The same, to be changed.
    fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        if self.keys.get(self.last) != Some(&key) {
            self.last = self.keys.binary_search(&key).ok()?;
        }
        Some(&mut self.of[self.last])
    }
}

impl<T: Default> Few<T> {
    /// The value of a key, which is made if there is none.
    fn entry(&mut self, key: u32) -> &mut T {
        if self.keys.get(self.last) != Some(&key) {
            self.last = self.keys.binary_search(&key).unwrap_or_else(|at| {
                self.keys.insert(at, key);
                self.of.insert(at, T::default());
                at
            });
        }
        &mut self.of[self.last]
    }
}

/// What one flow did.
#[derive(Default)]
pub(super) struct OfFlow {
    ends: (u32, u32),                        // sending and receiving host
    left: Few<Vec<Left>>,                    // by link: by end of transmission
    arrived: Few<Vec<Arrived>>,              // by node: by time
    pub answers: Vec<Arrived>,               // at the sending host, by time
    pub first_acks: BTreeMap<u64, PacketId>, // by sequence number the first that came
    pub data: Vec<Arrived>,                  // at the receiving host, by time
    pub sent: Vec<Left>,                     // data at the sending host, by time
    landings: Vec<(u32, Landing)>,           // with the host: by host and arrival
    pub events: Vec<SenderEvent>,
    pub received: Vec<Received>,
}

impl OfFlow {
    /// The packet whose transmission on a link ended at `end`.
    pub fn left(&self, link: u32, end: Time) -> Option<&Left> {
        let of = self.left.get(link)?;
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
        let of = self.arrived.get(node)?;
        let upto = of.partition_point(|one| one.at <= until);
        // It is one of the last: those that came later wait behind it.
        let last = of[..upto].iter().rfind(|one| one.id == id)?;
        Some((last.at, last.link))
    }
}

/// All of a log.
pub(super) struct Index {
    flows: Few<OfFlow>,
    pauses: Few<Vec<(Time, u8)>>, // by link
    ahead: Few<Vec<(Time, u32)>>, // by link: end of transmission, and whose
}

impl Index {
    pub fn of(log: &Log) -> Self {
        let mut flows: Few<OfFlow> = Few::default();
        for one in log.flows.iter().chain(&log.streams) {
            flows.entry(one.flow).ends = (one.src, one.dst);
        }
        let mut pauses: Few<Vec<(Time, u8)>> = Few::default();
        let mut ahead: Few<Vec<(Time, u32)>> = Few::default();
        for (node, seen) in (0u32..).zip(&log.nodes) {
            for one in &seen.arrived {
                let Some(flow) = flows.get_mut(one.flow) else { continue };
                let (src, dst) = flow.ends;
                flow.arrived.entry(node).push(*one);
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
                let Some(flow) = flows.get_mut(one.flow) else { continue };
                flow.left.entry(one.link).push(*one);
                if node == flow.ends.0 && one.role == Role::Data {
                    flow.sent.push(*one);
                }
            }
            for one in &seen.senders {
                if let Some(flow) = flows.get_mut(one.flow) {
                    flow.events.push(*one);
                }
            }
            for one in &seen.receivers {
                if let Some(flow) = flows.get_mut(one.flow) {
                    flow.received.push(*one);
                }
            }
            for one in &seen.landings {
                if let Some(flow) = flows.get_mut(one.flow) {
                    flow.landings.push((node, *one));
                }
            }
            for one in &seen.paused {
                pauses.entry(one.link).push((one.at, one.classes));
            }
            for one in &seen.ahead {
                ahead.entry(one.link).push((one.end, one.flow));
            }
        }
        for flow in &mut flows.of {
            flow.sent.sort_by_key(|one| one.end);
            flow.landings.sort_by_key(|(host, one)| (*host, one.came));
            // Of two alike the later one counts: sorted in the order in which they were logged.
            flow.left.of.iter_mut().for_each(|of| of.sort_by_key(|one| one.end));
        }
        // A port that took packets back to a fault has sent them twice.
        ahead.of.iter_mut().for_each(|of| of.sort_unstable());
        Self { flows, pauses, ahead }
    }

    /// What a flow or stream of the log did.
    pub fn flow(&self, flow: u32) -> &OfFlow {
        self.flows.get(flow).expect("the log has it")
    }

    /// Whose packet was sent on a link just before `at`, and since when, where the end of its transmission is `latest` at most.
    pub fn sent_before(&self, link: u32, at: Time, latest: Time) -> (Time, Option<u32>) {
        let Some(all) = self.ahead.get(link) else { return (Time::ZERO, None) };
        let below = all.partition_point(|(end, _)| *end < at);
        let since = below.checked_sub(1).map_or(Time::ZERO, |i| all[i].0);
        (since, all.get(below).filter(|(end, _)| *end <= latest).map(|(_, flow)| *flow))
    }

    /// Stretches of `[from, to)` in which a class of a link was paused, the last first.
    pub fn paused(&self, link: u32, class: u8, from: Time, to: Time) -> Vec<(Time, Time)> {
        let Some(frames) = self.pauses.get(link) else { return Vec::new() };
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
