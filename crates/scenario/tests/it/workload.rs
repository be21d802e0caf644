//! Flows: what a load means, who talks to whom, and that nothing depends on anything else.

use crate::programs::{computes, signals, waits};
use forebay_scenario::workload::{Hosts, Table, flows, forecast};
use forebay_scenario::{LoadedScenario, text_with};
use forebay_units::{Bytes, Span, Time};

const BASE: &str = r#"version = 1
stop = { time = "4ms" }
[fabric]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 8
host_link = { rate = "100Gbps", delay = "1us" }
spine_link = { rate = "100Gbps", delay = "1us" }
[transport]
kind = "tcp"
law = "reno"
"#;

fn loaded(traffic: &str, sets: &[(&str, &str)]) -> LoadedScenario {
    text_with("a.toml", &format!("{BASE}{traffic}"), sets).unwrap_or_else(|e| panic!("{e}"))
}

fn table(traffic: &str, seed: u64) -> (Table, Hosts) {
    let scenario = loaded(traffic, &[]).scenario;
    let hosts = Hosts::of(&scenario);
    (flows(&scenario, &hosts, seed).unwrap(), hosts)
}

const POISSON: &str = "[[traffic]]\nkind = \"poisson\"\nsizes = \"10KB\"\nload = 0.5\n";

#[test]
fn poisson_offers_its_load() {
    let (table, hosts) = table(POISSON, 1);
    let bytes: f64 = table.flows.iter().map(|f| f.size.get() as f64).sum();
    let offered = bytes * 8.0 / 4e-3;
    let sum: f64 = hosts.rates.iter().map(|r| r.get() as f64).sum();
    // 80,000 flows of one size: a standard deviation of 0.35 %.
    assert!((offered / (0.5 * sum) - 1.0).abs() < 0.012, "{}", offered / sum);
    let gaps: Vec<f64> =
        table.flows.windows(2).map(|f| f[1].start.since(f[0].start).as_ps() as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
    assert!(
        (variance / (mean * mean) - 1.0).abs() < 0.05,
        "exponential gaps: variance = mean squared"
    );
}

#[test]
fn pairs_are_uniform_and_nobody_talks_to_himself() {
    let (table, hosts) = table(POISSON, 2);
    let n = hosts.names.len();
    let (mut sent, mut got) = (vec![0u32; n], vec![0u32; n]);
    for f in &table.flows {
        assert_ne!(f.src, f.dst);
        sent[f.src as usize] += 1;
        got[f.dst as usize] += 1;
    }
    let mean = table.flows.len() as f64 / n as f64;
    for count in sent.iter().chain(&got) {
        assert!((f64::from(*count) - mean).abs() < 5.0 * mean.sqrt(), "{count} against {mean}");
    }
}

#[test]
fn core_load_fills_the_cables_between_racks() {
    // 2 x 100G out of each of 4 racks of 8 hosts; 24 of 31 pairs leave the rack.
    let scenario =
        loaded(&POISSON.replace("load = 0.5", "load = 1\nload_ref = \"core\""), &[]).scenario;
    let hosts = Hosts::of(&scenario);
    let table = flows(&scenario, &hosts, 3).unwrap();
    let crossing =
        table.flows.iter().filter(|f| hosts.racks[f.src as usize] != hosts.racks[f.dst as usize]);
    let rate = crossing.map(|f| f.size.get() as f64 * 8.0).sum::<f64>() / 4e-3;
    assert!((rate / 800e9 - 1.0).abs() < 0.03, "{rate}");
    assert_eq!(table.warnings, Vec::<String>::new());
}

#[test]
fn a_tier_offered_too_much_is_named() {
    let (table, _) = table(POISSON, 1);
    assert_eq!(
        table.warnings,
        [
            "Poisson traffic offers 155 % of what the tier between leaf and spine carries, so its queues grow \
             for as long as the run lasts"
        ]
    );
}

#[test]
fn tiers_of_a_fat_tree_are_all_counted() {
    let sets = [("fabric.override", "[{ where = \"pod[0].agg[*]-core[*]\", rate = \"10Gbps\" }]")];
    let base = BASE
        .replace("leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8", "fat-tree\"\nk = 4")
        .replace("spine_link", "fabric_link");
    let scenario = text_with("a.toml", &format!("{base}{POISSON}"), &sets).unwrap().scenario;
    let hosts = Hosts::of(&scenario);
    let names: Vec<(&str, Vec<u64>)> =
        hosts.tiers.iter().map(|t| (t.name.as_str(), t.capacity.clone())).collect();
    let g = 1_000_000_000;
    assert_eq!(
        names,
        [
            ("between edge and aggregation", vec![200 * g; 8]),
            ("between pods and core", vec![40 * g, 400 * g, 400 * g, 400 * g]),
        ]
    );
    assert!(flows(&scenario, &hosts, 1).unwrap().warnings[0].contains("between pods and core"));
}

#[test]
fn seeds_differ_and_entries_do_not_disturb_each_other() {
    let (one, _) = table(POISSON, 1);
    let (again, _) = table(POISSON, 1);
    let (two, _) = table(POISSON, 2);
    assert_eq!(one, again);
    assert_ne!(one.flows, two.flows);
    let (both, _) =
        table(&format!("{POISSON}[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\n"), 1);
    let first: Vec<_> = both.flows.iter().filter(|f| f.traffic == 0).copied().collect();
    assert_eq!(first, one.flows);
}

#[test]
fn permutations_use_every_host_once_each_way_and_do_not_start_in_step() {
    let (table, hosts) =
        table("[[traffic]]\nkind = \"permutation\"\nsize = \"1MB\"\nstart = \"1us\"\n", 5);
    let n = hosts.names.len();
    let mut to: Vec<u32> = table.flows.iter().map(|f| f.dst).collect();
    to.sort_unstable();
    assert_eq!(to, (0..n as u32).collect::<Vec<_>>());
    assert!(table.flows.iter().all(|f| f.src != f.dst && f.size == Bytes::new(1_000_000)));
    // Jitter: less than 1500 B at 100 Gb/s.
    let starts: Vec<u64> = table.flows.iter().map(|f| f.start.as_ps()).collect();
    assert!(starts.iter().all(|s| (1_000_000..1_120_000).contains(s)), "{starts:?}");
    assert!(starts.windows(2).filter(|s| s[0] == s[1]).count() < 2);
}

#[test]
fn all_to_all_is_all_to_all() {
    let (table, hosts) = table("[[traffic]]\nkind = \"all-to-all\"\nsize = \"1KB\"\n", 5);
    let n = hosts.names.len();
    let mut pairs: Vec<_> = table.flows.iter().map(|f| (f.src, f.dst)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), n * (n - 1));
}

#[test]
fn incast_by_the_clock_casts_different_senders_each_round() {
    let traffic = "[[traffic]]\nkind = \"incast\"\nfan_in = 7\nsize = \"20KB\"\nevery = \"1ms\"\nrounds = 9\n";
    let (table, _) = table(traffic, 5);
    assert_eq!(table.flows.len(), 4 * 7, "four rounds fit 4 ms");
    assert_eq!(table.warnings, ["traffic[0]: 4 of 9 rounds fit the run; the others are left out"]);
    let round = |r: u64| -> Vec<u32> {
        let at = |f: &&forebay_scenario::workload::FlowSpec| f.start.as_ps() / 1_000_000_000 == r;
        let mut senders: Vec<u32> = table.flows.iter().filter(at).map(|f| f.src).collect();
        senders.sort_unstable();
        senders.dedup();
        senders
    };
    assert_eq!(round(0).len(), 7);
    assert_ne!(round(0), round(1));
}

#[test]
fn closed_incast_says_which_flows_make_a_round() {
    let traffic = format!(
        "{POISSON}[[traffic]]\nkind = \"incast\"\nfan_in = 31\nsize = \"20KB\"\nrounds = 3\n\
         control_delay = \"5us\"\nto = \"leaf[1].host[2]\"\nstart = \"10us\"\n"
    );
    let (table, hosts) = table(&traffic, 5);
    let target = hosts.index("leaf[1].host[2]").unwrap();
    let numbered = || (0u32..).zip(&table.flows).filter(|(_, flow)| flow.traffic == 1);
    let first: Vec<_> = numbered().filter(|(_, flow)| flow.start < Time::MAX).collect();
    let later: Vec<_> = numbered().filter(|(_, flow)| flow.start == Time::MAX).collect();
    assert_eq!((first.len(), later.len()), (31, 2 * 31));
    let rounds = [&first[..], &later[..31], &later[31..]];
    let (waits, computes) = (waits(&table), computes(&table));
    for (i, round) in rounds.iter().enumerate() {
        for (at, flow) in *round {
            assert_eq!((flow.dst, flow.size), (target, Bytes::new(20_000)));
            assert_eq!(waits.contains_key(at), i > 0);
            if i > 0 {
                let all = rounds[i - 1].iter().map(|(before, _)| *before);
                assert!(all.clone().all(|before| waits[at].contains(&before)), "flow {at}");
            }
            // The jitter is below one packet time, 1,500 B at 100 Gb/s.
            let jitter = match i {
                0 => flow.start.since(Time::from_ps(10_000_000)),
                _ => computes[at],
            };
            assert!(jitter < Span::from_ns(120), "{jitter}");
        }
        let mut senders: Vec<u32> = round.iter().map(|(_, flow)| flow.src).collect();
        senders.sort_unstable();
        senders.dedup();
        assert_eq!(senders.len(), 31, "each other host once");
    }
    let signals = signals(&table);
    assert_eq!(signals.len(), 2 * 31);
    assert!(signals.iter().all(|s| s.traffic == 1 && s.delay == Span::from_us(5)));
    assert!(table.flows.is_sorted_by_key(|f| f.start));
}

#[test]
fn long_flows_and_lists_are_as_written() {
    let long = "[[traffic]]\nkind = \"long\"\nfrom = \"leaf[0].host[*]\"\nto = \"leaf[1].host[0]\"\nstagger = \"1us\"\n";
    let (flows, hosts) = table(long, 1);
    assert_eq!(flows.flows.len(), 8);
    assert!(
        flows
            .flows
            .iter()
            .all(|f| f.size == Bytes::MAX && hosts.names[f.dst as usize] == "leaf[1].host[0]")
    );
    let list = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"leaf[0].host[0]\", to = \"leaf[3].host[7]\", \
                size = \"7B\", at = \"2us\" }]\n";
    let (flows, hosts) = table(list, 1);
    let [flow] = flows.flows[..] else { panic!() };
    assert_eq!((flow.src, flow.dst as usize, flow.size), (0, hosts.names.len() - 1, Bytes::new(7)));
    assert_eq!(flow.start, Time::from_ps(2_000_000), "lists get no jitter");
}

#[test]
fn flows_left_out_are_counted_aloud() {
    let list = "[[traffic]]\nkind = \"list\"\nuntil = \"1us\"\nflows = [{ from = \"leaf[0].host[0]\", \
                to = \"leaf[3].host[7]\", size = \"7B\", at = \"2us\" }]\n";
    let (flows, _) = table(list, 1);
    assert_eq!(flows.flows, []);
    assert_eq!(
        flows.warnings,
        ["traffic[0]: 1 of 1 flows start outside its time or after the run and are left out"]
    );
}

#[test]
fn the_forecast_is_near() {
    let scenario =
        loaded(&format!("{POISSON}[[traffic]]\nkind = \"all-to-all\"\nsize = \"1KB\"\n"), &[])
            .scenario;
    let hosts = Hosts::of(&scenario);
    let [poisson, all] = forecast(&scenario, &hosts)[..] else { panic!() };
    assert_eq!((poisson, all), (80_000, 32 * 31));
}

#[test]
fn traffic_is_made_in_no_time() {
    // A million flows among a thousand hosts: a smoke test for quadratic code, not a benchmark.
    let sets =
        [("fabric.leaves", "32"), ("fabric.hosts_per_leaf", "32"), ("traffic[0].sizes", "10KB")];
    let scenario = loaded(&POISSON.replace("0.5", "0.2"), &sets).scenario;
    let table = flows(&scenario, &Hosts::of(&scenario), 1).unwrap();
    assert!(table.flows.len() > 1_000_000 / 2, "{}", table.flows.len());
    assert!(table.flows.is_sorted_by_key(|f| f.start));
}

const RPC: &str = "[[traffic]]\nkind = \"rpc\"\nfrom = \"leaf[*].host[0]\"\nto = \"leaf[*].host[0]\"\n\
                   pairs = \"all\"\nconnections = 3\nrequest = \"1MB..8MB\"\nstart = \"1us\"\n";

#[test]
fn a_connection_is_two_streams_at_the_end_of_the_table() {
    let (table, _) = table(&format!("{RPC}{POISSON}"), 1);
    assert_eq!(table.connections.len(), 4 * 3 * 3);
    let first = table.flows.len() - 2 * table.connections.len();
    assert!(table.flows[..first].iter().all(|f| f.traffic == 1 && f.size > Bytes::ZERO));
    for (i, c) in table.connections.iter().enumerate() {
        assert_eq!((c.traffic, c.number as usize), (0, i));
        assert_eq!((c.requests as usize, c.responses as usize), (first + 2 * i, first + 2 * i + 1));
        let (to, back) = (table.flows[c.requests as usize], table.flows[c.responses as usize]);
        assert_eq!((to.src, to.dst, back.src, back.dst), (c.client, c.server, c.server, c.client));
        assert_eq!((to.size, to.start), (Bytes::ZERO, Time::MAX));
        // The jitter is below one packet time, 1,500 B at 100 Gb/s.
        assert!((1_000_000..1_120_000).contains(&c.start.as_ps()), "{}", c.start);
    }
    let mut starts: Vec<Time> = table.connections.iter().map(|c| c.start).collect();
    starts.sort_unstable();
    starts.dedup();
    assert!(starts.len() > 30, "not in step");
}

#[test]
fn the_forecast_counts_streams() {
    let scenario = loaded(RPC, &[]).scenario;
    assert_eq!(forecast(&scenario, &Hosts::of(&scenario)), [2 * 4 * 3 * 3]);
}
