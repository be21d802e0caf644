//! Tiers: ports grouped by the kinds of node at their ends, and utilisation of one port.

use crate::rows::PortRow;
use crate::rows::RunRecord;
use forebay_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// With more kinds of link than this (a graph with free names), tiers fall back to host and switch.
const MAX_TIERS: usize = 12;

/// The ports of a run by tier.
pub(crate) struct Tiers {
    /// Names, in order of first appearance.
    pub names: Vec<String>,
    /// For each port, the index of its tier.
    pub of_port: Vec<usize>,
    /// For each port, which of its ends are hosts: sender, receiver.
    pub host_ends: Vec<(bool, bool)>,
}

impl Tiers {
    pub fn of(run: &RunRecord) -> Self {
        let hosts: BTreeSet<&str> = run.hosts.iter().map(String::as_str).collect();
        let host_ends: Vec<(bool, bool)> = run
            .ports
            .iter()
            .map(|p| (hosts.contains(p.node.as_str()), hosts.contains(p.peer.as_str())))
            .collect();
        let by_kind = |p: &PortRow| format!("{} -> {}", kind(&p.node), kind(&p.peer));
        let mut tiers = Self::group(run, host_ends, |_, p| by_kind(p));
        if tiers.names.len() > MAX_TIERS {
            let role = |host: bool| if host { "host" } else { "switch" };
            tiers = Self::group(run, tiers.host_ends, |(from, to), _| {
                format!("{} -> {}", role(from), role(to))
            });
        }
        tiers
    }

    fn group(
        run: &RunRecord,
        host_ends: Vec<(bool, bool)>,
        name: impl Fn((bool, bool), &PortRow) -> String,
    ) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut index: BTreeMap<String, usize> = BTreeMap::new();
        let of_port = run
            .ports
            .iter()
            .zip(&host_ends)
            .map(|(port, &ends)| {
                *index.entry(name(ends, port)).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() - 1
                })
            })
            .collect();
        Self { names, of_port, host_ends }
    }
}

/// A node's name without its indices: `leaf[2].host[7]` is a `leaf.host`, `s12` an `s`.
pub(crate) fn kind(node: &str) -> String {
    let mut kind = String::with_capacity(node.len());
    let mut depth = 0_u32;
    for c in node.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kind.push(c),
            _ => {}
        }
    }
    let parts: Vec<&str> = kind
        .split('.')
        .map(|part| {
            let stem = part.trim_end_matches(|c: char| c.is_ascii_digit());
            if stem.is_empty() { part } else { stem }
        })
        .collect();
    parts.join(".")
}

/// Share of the run for which the port transmitted; `None` for a dead link or a run of no length. Of versions that did not write how long
/// that was, `8 * tx_bytes / (rate * duration)`, which leaves out wire overhead and counts a packet as it begins.
pub(crate) fn utilisation(port: &PortRow, end: Time) -> Option<f64> {
    let capacity = port.rate.get() as f64 * end.as_secs_f64();
    (capacity > 0.0).then(|| match port.busy {
        Some(busy) => busy.as_ps() as f64 / end.as_ps() as f64,
        None => port.tx_bytes.get() as f64 * 8.0 / capacity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_do_not_make_a_kind() {
        for (name, expected) in [
            ("leaf[2].host[7]", "leaf.host"),
            ("pod[0].agg[1]", "pod.agg"),
            ("s12", "s"),
            ("12", "12"),
            ("left", "left"),
        ] {
            assert_eq!(kind(name), expected);
        }
    }
}
