//! The fabric of most experiments: one router at 10 Gb/s, hosts 1 to n that send to host 0.

use crate::bench::BenchRun;
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

/// So many RPCs of each of `from` to host 0, each over a connection of its own: a host's next one starts as its last is answered. No
/// handshakes: a lost one would cost three seconds in that kernel, and no percentile of the deck has any.
pub(super) fn fresh(from: RangeInclusive<u32>, rounds: u32, bytes: u64) -> String {
    let mut flows = String::from("[[traffic]]\nkind = \"list\"\nflows = [\n");
    for round in 1..=rounds {
        for host in from.clone() {
            let after = match round {
                1 => String::new(),
                _ => format!(", after = \"answer {host}-{}\"", round - 1),
            };
            flows += &format!(
                "{{ from = \"host[{host}]\", to = \"host[0]\", size = \"{bytes}B\"{after}, fires = \"{host}-{round}\" }},\n\
                 {{ from = \"host[0]\", to = \"host[{host}]\", size = \"64B\", after = \"{host}-{round}\", fires = \"answer {host}-{round}\" }},\n"
            );
        }
    }
    flows + "]\n"
}

/// Rounds of [`fresh`] that keep each of `hosts` busy for `seconds`, with up to twice its share of the port.
pub(super) fn rounds(hosts: u32, bytes: u64, seconds: f64) -> u32 {
    (2.0 * seconds * 10e9 / 8.0 / bytes as f64 / f64::from(hosts)).ceil() as u32 + 20
}

/// Payload per second of each of `hosts` hosts from host 1 on, by the [`fresh`] RPCs that were delivered in the measured part, in Gb/s.
///
/// # Panics
/// If a host has no RPC left.
pub(super) fn fresh_goodputs(seen: &BenchRun, hosts: u32, rounds: u32) -> Vec<f64> {
    let of_host = |host| {
        let own = || seen.record.flows.iter().filter(move |f| f.traffic == 0 && f.src == host);
        assert!(own().filter(|f| f.delivered.is_some()).count() < rounds as usize, "none is left");
        let late = own().filter(|f| f.delivered.is_some_and(|at| at.as_secs_f64() >= seen.warm()));
        late.map(|f| f.size.get() as f64).sum::<f64>() * 8e-9 / seen.seconds()
    };
    (1..=hosts).map(of_host).collect()
}

fn list(hosts: RangeInclusive<u32>) -> String {
    hosts.map(|i| format!("\"host[{i}]\"")).collect::<Vec<_>>().join(", ")
}
