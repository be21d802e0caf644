//! The fabric of most experiments: one router at 10 Gb/s, hosts 1 to n that send to host 0.

use std::ops::RangeInclusive;

/// The port that all of them share.
pub(super) const PORT: &str = "tor->host[0]";

/// `[fabric]` of a star at 10 Gb/s with this round trip.
pub(super) fn star(hosts: u32, rtt_us: u32, buffer: &str) -> String {
    let delay = (f64::from(rtt_us) - 2.5) / 4.0 * 1e6;
    format!(
        "[fabric]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"10Gbps\", delay = \"{delay:.0}ps\" }}\n\
         [fabric.switch]\nbuffer = \"none\"\nport_limit = \"{buffer}\"\necn = \"off\"\nrelease = \"start\"\n"
    )
}

/// One endless flow from each of `from` to host 0.
pub(super) fn bulk(from: RangeInclusive<u32>, more: &str) -> String {
    format!("[[traffic]]\nkind = \"long\"\nfrom = [{}]\nto = \"host[0]\"\n{more}", list(from))
}

/// One RPC at a time from each of `from` to host 0.
pub(super) fn rpcs(from: RangeInclusive<u32>, request: &str, more: &str) -> String {
    format!(
        "[[traffic]]\nkind = \"rpc\"\nfrom = [{}]\nto = \"host[0]\"\nrequest = \"{request}\"\n{more}",
        list(from)
    )
}

fn list(hosts: RangeInclusive<u32>) -> String {
    hosts.map(|i| format!("\"host[{i}]\"")).collect::<Vec<_>>().join(", ")
}
