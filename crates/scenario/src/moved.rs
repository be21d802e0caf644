//! Keys whose name changed: the former name is understood for one release, and a run says so.

/// The table that a key stands in, its former name, its name.
const MOVED: &[(&str, &str, &str)] = &[
    ("memory", "neighbour", "antagonist"),
    ("hierarchical", "asks", "requests"),
    ("hierarchical", "ask_again", "request_timeout"),
    ("params", "ask_every", "request_interval"),
    ("switch", "turns", "wrr"),
    ("transport", "idle_restart", "slow_start_after_idle"),
    ("transport", "few", "rto_low_packets"),
    ("transport", "timeout_few", "rto_low"),
    ("transport", "protect", "selective_drop"),
    ("transport", "levels", "priorities"),
    ("transport", "unscheduled_levels", "unscheduled_priorities"),
    ("transport", "tries", "max_retries"),
];

/// Former and present name of `key` in the table `within`, where it has moved.
pub(crate) fn new_name(within: &str, key: &str) -> Option<(&'static str, &'static str)> {
    MOVED
        .iter()
        .find(|(table, old, _)| *table == within && *old == key)
        .map(|(_, old, new)| (*old, *new))
}

/// The table that `key` of the table `within` is, for [`new_name`]: all named transports are `transport`.
pub(crate) fn table_of<'a>(within: &str, key: &'a str) -> &'a str {
    if within == "transports" { "transport" } else { key }
}
