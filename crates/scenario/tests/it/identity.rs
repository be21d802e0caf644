//! Numbers and addresses of nodes, as the public HPCC simulator gives them.

use forebay_scenario::identity::{address, numbers};
use forebay_scenario::plan::Plan;

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
