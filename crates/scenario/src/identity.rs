//! Numbers of nodes and IPv4 addresses of hosts, as the public HPCC simulator gives them (`third.cc`, `node_id_to_ip`):
//! what its hash of paths and its tables of results are about.

use crate::plan::Plan;
use std::collections::BTreeSet;

/// The number of each node. Where every name ends in a number and all are different (`host[017]` is 17), these; else hosts
/// and then switches are counted from 0 in canonical order.
pub fn numbers(plan: &Plan) -> Vec<u32> {
    let own: Option<Vec<u32>> = plan.names.iter().map(|name| number(name)).collect();
    let different = |n: &Vec<u32>| n.iter().collect::<BTreeSet<_>>().len() == n.len();
    own.filter(different).unwrap_or_else(|| (0..plan.names.len() as u32).collect())
}

/// The number at the end of a name.
fn number(name: &str) -> Option<u32> {
    let name = name.strip_suffix(']').unwrap_or(name);
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok()
}

/// IPv4 address of the host of this number: 11.h.l.1 for h the high byte of the number and l the low one.
pub fn address(number: u32) -> u32 {
    0x0b00_0001_u32.wrapping_add((number / 256) << 16).wrapping_add((number % 256) << 8)
}
