//! A longer run extends a shorter one: no flow that the shorter one completed ends at another time. Flows are known by their entry and their
//! place in it.

use crate::common::random::draw;
use crate::common::{MOST_HOPS, of_all, run, run_if_short, scenario};
use forebay_record::{FlowRow, RpcRow, RunRecord};
use forebay_scenario::model::Scenario;
use forebay_scenario::text_with;
use forebay_scenario::workload::{Hosts, Table, flows};
use forebay_sim::Options;
use forebay_units::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn table(scenario: &Scenario) -> Table {
    flows(scenario, &Hosts::of(scenario), 1).unwrap_or_else(|e| panic!("{e}"))
}

/// RPCs that were answered, by entry and connection.
fn answered(record: &RunRecord, table: &Table) -> BTreeMap<(u16, u32), Vec<RpcRow>> {
    let mut of: BTreeMap<_, Vec<RpcRow>> = BTreeMap::new();
    for rpc in record.rpcs.iter().filter(|rpc| rpc.latency().is_some()) {
        let connection = &table.connections[rpc.connection as usize];
        let key = (connection.traffic, connection.number);
        of.entry(key).or_default().push(RpcRow { connection: 0, ..*rpc });
    }
    of
}

/// Runs a scenario, and again for a third longer. How many flows and RPCs the shorter run completed, and the index of how many flows differs.
/// None if the run is too long for a test.
fn extends(text: &str) -> Option<(usize, usize)> {
    let short = scenario(text);
    let a = run_if_short(&short, MOST_HOPS)?.record;
    let stop = short.stop.time.since(Time::ZERO);
    let stop = format!("{}ps", (stop + stop / 3).as_ps());
    // What does not say when it ends, ends with the run.
    let long = text_with("test.toml", text, &[("stop.time", stop.as_str())]).unwrap().scenario;
    let b = run(&long, 1, Options::default()).record;
    let [table_a, table_b] = [&short, &long].map(table);
    let of: BTreeMap<u64, &FlowRow> =
        b.flows.iter().map(|flow| (table_b.number(flow.flow), flow)).collect();
    let streams = table_a.connections.iter().zip(&table_b.connections);
    let (mut done, mut moved) = (0, streams.filter(|(a, b)| a.requests != b.requests).count());
    for flow in a.flows.iter().filter(|flow| flow.delivered.is_some() && flow.acked.is_some()) {
        let number = table_a.number(flow.flow);
        let other = of[&number];
        moved += usize::from(other.flow != flow.flow);
        done += 1;
        assert_eq!(FlowRow { flow: flow.flow, ..*other }, *flow, "flow {}", flow.flow);
    }
    let (short, long) = (answered(&a, &table_a), answered(&b, &table_b));
    for (key, short) in short {
        assert_eq!(long[&key][..short.len()], short, "RPCs of {key:?}");
        done += short.len();
    }
    Some((done, moved))
}

/// Entries of every kind with others beside them.
const BESIDE: [&str; 3] = [
    "kind = \"list\"\nflows = [{ from = \"pod[2].edge[1].host[0]\", to = \"pod[3].edge[0].host[0]\", size = \"1B\", fires = [\"t0\"] },\n\
     { from = \"pod[0].edge[1].host[1]\", to = \"pod[0].edge[0].host[0]\", size = \"40KB\", after = \"t0\" },\n\
     { from = \"pod[0].edge[1].host[0]\", to = \"pod[3].edge[0].host[1]\", size = \"90KB\", after = \"t0\" }]\n",
    "kind = \"rpc\"\nfrom = [\"pod[0].edge[0].host[0]\", \"pod[1].edge[0].host[0]\"]\nto = [\"pod[2].edge[0].host[0]\"]\npairs = \"all\"\n\
     request = \"1B..20KB\"\nresponse = \"1B..20KB\"\n",
    "kind = \"incast\"\nfan_in = 6\nsize = \"9KB\"\nrounds = 9\n",
];

const TRANSPORTS: [(&str, &str, &str); 6] = [
    ("tcp", "ecmp", "kind = \"tcp\"\nlaw = \"swift\"\n"),
    ("tcp, symmetric", "ecmp-symmetric", "kind = \"tcp\"\nlaw = \"dctcp\"\n"),
    ("murmur3", "ecmp-murmur3", "kind = \"tcp\"\nlaw = \"cubic\"\n"),
    ("rdma", "ecmp", "kind = \"rdma\"\nlaw = \"dcqcn\"\n"),
    ("homa", "spray", "kind = \"receiver-driven\"\nlaw = \"homa\"\npriorities = 1\n"),
    (
        "expresspass",
        "ecmp-symmetric",
        "kind = \"receiver-driven\"\nlaw = \"expresspass\"\nmss = \"1460B\"\nheader = \"40B\"\nack_size = \"46B\"\n",
    ),
];

#[test]
fn a_longer_run_extends_a_shorter_one_beside_arrivals_at_random() {
    let fault = "[[fault]]\nat = \"60us\"\nlink = \"pod[0].edge[0]-pod[0].agg[0]\"\nchange = \"down\"\nfor = \"40us\"\n\
                 [[fault]]\nat = \"30us\"\nlink = \"pod[2].edge[0].host[0]-pod[2].edge[0]\"\nloss = 0.05\n";
    for (name, routing, transport) in TRANSPORTS {
        for beside in BESIDE {
            for faults in ["", fault] {
                let credits = match name {
                    "expresspass" => "credits = { class = 1, share = \"84/1622\" }\n",
                    _ => "",
                };
                let text = format!(
                    "version = 1\nstop = {{ time = \"150us\" }}\n[fabric]\nkind = \"fat-tree\"\nk = 4\nrouting = \"{routing}\"\n\
                     reroute_after = \"9us\"\nhost_link = {{ rate = \"25Gbps\", delay = \"200ns\" }}\n[fabric.switch]\nclasses = 2\n{credits}\
                     [transport]\n{transport}[[traffic]]\n{beside}[[traffic]]\nkind = \"poisson\"\nsizes = \"3KB\"\nload = 0.1\n{faults}"
                );
                let (done, moved) = extends(&text).expect("short enough");
                assert!(done > 100 && moved > 0, "{name}: {done} done, {moved} with another index");
            }
        }
    }
}

#[test]
fn random_draws_about_a_flow_know_nothing_of_other_entries() {
    let text = |first: &str| {
        let lists = format!(
            "[[traffic]]\n{}[[traffic]]\nkind = \"poisson\"\nsizes = \"3KB\"\nload = 0.1\nuntil = \"100us\"\n",
            BESIDE[1]
        );
        scenario(&format!(
            "version = 1\nstop = {{ time = \"150us\" }}\n[fabric]\nkind = \"fat-tree\"\nk = 4\n\
             host_link = {{ rate = \"25Gbps\", delay = \"200ns\" }}\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n{first}{lists}"
        ))
    };
    let one = "[[traffic]]\nkind = \"list\"\nflows = [{ from = \"pod[3].edge[0].host[0]\", to = \"pod[3].edge[0].host[1]\", size = \"1B\", at = \"1ps\" }]\n";
    let two = one.replace("1ps\" }", "1ps\" }, { from = \"pod[3].edge[0].host[0]\", to = \"pod[3].edge[0].host[1]\", size = \"1B\", at = \"2ps\" }");
    let [a, b] = [one, &two].map(|first| {
        let scenario = text(first);
        let table = table(&scenario);
        let all = (0..table.flows.len() as u32).filter(|f| table.flows[*f as usize].traffic > 0);
        all.map(|flow| table.number(flow)).collect::<Vec<_>>()
    });
    assert_eq!(a, b);
    // The first entry's flows have the numbers of their rows.
    let alone = scenario(
        "version = 1\nstop = { time = \"150us\" }\n[fabric]\nkind = \"star\"\nhosts = 4\nhost_link = { rate = \"25Gbps\", delay = \"200ns\" }\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n[[traffic]]\nkind = \"poisson\"\nsizes = \"3KB\"\nload = 0.1\n",
    );
    assert!(table(&alone).numbers.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: of_all(120), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_longer_run_extends_a_shorter_one(seed in any::<u64>().no_shrink()) {
        prop_assume!(extends(&draw(seed, 0).text).is_some());
    }
}
