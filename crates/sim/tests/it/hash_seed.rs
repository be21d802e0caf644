//! Seeds of ECMP hashes: which uplinks switches of the second tier use.

use crate::common::{agreed, run, scenario};
use forebay_record::RunRecord;
use forebay_sim::Options;
use std::collections::BTreeMap;

/// A fat tree of eight ports a switch: each switch of the first two tiers has four uplinks. Every host sends to every other pod.
fn fat_tree(fabric: &str, transport: &str) -> RunRecord {
    let text = format!(
        "version = 1\nstop = {{ time = \"10ms\" }}\n[fabric]\nkind = \"fat-tree\"\nk = 8\n{fabric}\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n[fabric.switch]\nbuffer = \"none\"\necn = \"off\"\n\
         [transport]\nkind = \"tcp\"\nlaw = \"reno\"\n{transport}\
         [[traffic]]\nkind = \"poisson\"\nsizes = \"1KB\"\nload = 0.002\nuntil = \"5ms\"\n"
    );
    run(&scenario(&text), 1, Options::default()).record
}

/// Of each switch of a tier, how many of its uplinks sent anything: the fewest and the most.
fn uplinks(record: &RunRecord, tier: &str, above: &str) -> (usize, usize) {
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for port in &record.ports {
        let last = port.node.rsplit('.').next().unwrap_or_default();
        let up = port.peer.rsplit('.').next().unwrap_or_default();
        if last.starts_with(tier) && up.starts_with(above) {
            *used.entry(&port.node).or_default() += usize::from(port.tx_packets > 0);
        }
    }
    assert_eq!(used.len(), 32, "eight pods of four switches");
    (*used.values().min().unwrap(), *used.values().max().unwrap())
}

#[test]
fn with_one_seed_everywhere_the_second_tier_uses_one_uplink_of_four() {
    for routing in ["ecmp", "ecmp-symmetric"] {
        let of = |seed: &str| {
            let record = fat_tree(&format!("routing = \"{routing}\"\n{seed}"), "");
            assert_eq!(uplinks(&record, "edge", "agg"), (4, 4), "{routing} {seed}: first tier");
            uplinks(&record, "agg", "core")
        };
        assert_eq!(of("hash_seed = \"same\"\n"), (1, 1), "{routing}");
        assert_eq!(of("hash_seed = \"per-tier\"\n"), (4, 4), "{routing}");
        assert_eq!(of(""), (4, 4), "{routing}");
    }
}

#[test]
fn the_default_seed_is_that_of_each_switch_or_of_each_tier() {
    let digest = |routing: &str, seed: &str| {
        fat_tree(&format!("routing = \"{routing}\"\n{seed}"), "").digest
    };
    let [same, tier, switch] =
        ["same", "per-tier", "per-switch"].map(|seed| format!("hash_seed = \"{seed}\"\n"));
    assert_eq!(digest("ecmp", ""), digest("ecmp", &switch));
    assert_ne!(digest("ecmp", ""), digest("ecmp", &tier));
    assert_eq!(digest("ecmp-symmetric", ""), digest("ecmp-symmetric", &tier));
    assert_ne!(digest("ecmp-symmetric", ""), digest("ecmp-symmetric", &same));
    // Routing of a transport goes by the same seeds, and routing that does not hash has none.
    let own =
        |seed: &str| fat_tree(&format!("routing = \"spray\"\n{seed}"), "routing = \"ecmp\"\n");
    assert_eq!(uplinks(&own(&same), "agg", "core"), (1, 1));
    assert_eq!(digest("spray", ""), digest("spray", &same));
}

#[test]
fn both_directions_of_a_flow_share_links_with_one_seed_too() {
    let of = |routing: &str| {
        let text = format!(
            "version = 1\nstop = {{ time = \"10ms\" }}\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 8\nhosts_per_leaf = 1\n\
             routing = \"{routing}\"\nhash_seed = \"same\"\nhost_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [transport]\nkind = \"tcp\"\nlaw = \"reno\"\n[[traffic]]\nkind = \"list\"\n\
             flows = [{{ from = \"leaf[0].host[0]\", to = \"leaf[1].host[0]\", size = \"1MB\" }}]\n"
        );
        let record = agreed(&scenario(&text));
        let used = |leaf: &str| {
            let ports =
                record.ports.iter().filter(|p| p.node == leaf && p.peer.starts_with("spine"));
            ports.filter(|p| p.tx_packets > 0).map(|p| p.peer.clone()).collect::<Vec<_>>()
        };
        [used("leaf[0]"), used("leaf[1]")]
    };
    let [there, back] = of("ecmp-symmetric");
    assert_eq!((there.len(), &there), (1, &back));
    let [there, back] = of("ecmp");
    assert_ne!(there, back, "ACKs hash apart from data");
}
