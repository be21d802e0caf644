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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(names: &[&str]) -> Plan {
        Plan { names: names.iter().map(|n| n.to_string()).collect(), hosts: 0, cables: Vec::new() }
    }

    #[test]
    fn names_that_end_in_different_numbers_are_numbered_by_them() {
        assert_eq!(numbers(&plan(&["host[007]", "h12", "switch[0]"])), [7, 12, 0]);
        assert_eq!(numbers(&plan(&["a[1]", "b[1]"])), [0, 1], "one number twice");
        assert_eq!(numbers(&plan(&["a[1]", "tor"])), [0, 1], "no number");
        assert_eq!(numbers(&plan(&["a99999999999", "b3"])), [0, 1], "too large a number");
    }

    #[test]
    fn addresses_are_those_of_the_simulator() {
        assert_eq!(address(0), 0x0b00_0001);
        assert_eq!(address(1), 0x0b00_0101);
        assert_eq!(address(258), 0x0b01_0201);
    }
}
