//! Keys whose name changed: the former name is understood for one release, and a run says so.

/// The table that a key stands in, its former name, its name.
const MOVED: &[(&str, &str, &str)] = &[
    ("memory", "neighbour", "antagonist"),
    ("hierarchical", "asks", "requests"),
    ("hierarchical", "ask_again", "request_timeout"),
    ("params", "ask_every", "request_interval"),
];

/// Former and present name of `key` in the table `within`, where it has moved.
pub(crate) fn new_name(within: &str, key: &str) -> Option<(&'static str, &'static str)> {
    MOVED
        .iter()
        .find(|(table, old, _)| *table == within && *old == key)
        .map(|(_, old, new)| (*old, *new))
}
