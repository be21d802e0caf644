//! What a run has so far, read while it goes on: what an end at that instant would leave, and nothing changes by it.

use crate::common::scenario;
use forebay_record::RunRecord;
use forebay_scenario::model::Scenario;
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::Time;

fn advanced(scenario: &Scenario, to: &[u64], look: bool, threads: usize) -> Vec<RunRecord> {
    let options = Options { threads, ..Options::default() };
    let mut simulation = Simulation::new(scenario, 7, options).unwrap();
    let mut records = Vec::new();
    for us in to {
        simulation.advance(Time::from_ps(*us * 1_000_000), &Watch::default());
        if look {
            records.push(simulation.so_far());
        }
    }
    records.push(simulation.finish().record);
    records
}

#[track_caller]
fn check(text: &str) {
    let scenario = scenario(text);
    let steps = [200, 333, 700, 1_000_000];
    let seen = advanced(&scenario, &steps, true, 1);
    let on_two = advanced(&scenario, &steps, true, 2);
    let last = seen.last().unwrap();
    assert!(format!("{last:?}") == format!("{:?}", advanced(&scenario, &steps, false, 1)[0]));
    for (n, us) in steps[..3].iter().enumerate() {
        let mut ended = advanced(&scenario, &[*us], false, 1).remove(0);
        ended.interrupted = true;
        assert!(ended.totals.packet_hops > 0 && !ended.flows.is_empty());
        assert!(format!("{:?}", seen[n]) == format!("{ended:?}"), "{us} us");
        assert!(format!("{:?}", on_two[n]) == format!("{ended:?}"), "{us} us on two threads");
    }
}

#[test]
fn tcp_through_a_fabric_with_samples() {
    check(
        "version = 1\nstop = { time = \"2ms\", flows = \"all\" }\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\n\
         spines = 2\nhosts_per_leaf = 4\nhost_link = { rate = \"10Gbps\", delay = \"1us\" }\n\
         fabric_link = { rate = \"10Gbps\", delay = \"1us\" }\n[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
         [[traffic]]\nkind = \"poisson\"\nsizes = \"20KB\"\nload = 0.6\n[output]\n\
         queues = { every = \"10us\" }\nflows = { where = [\"leaf[*].host[*]\"], every = \"20us\" }\n",
    );
}

#[test]
fn two_nics_on_one_memory() {
    check(
        "version = 1\nstop = { time = \"1ms\" }\n[fabric]\nkind = \"star\"\nhosts = 4\n\
         host_link = { rate = \"100Gbps\", delay = \"2us\" }\n[host]\nprofile = \"linux\"\n[host.memory]\nnic_buffer = \"100KB\"\n\
         [[host.machine]]\nnics = [\"host[2]\", \"host[3]\"]\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n[[traffic]]\nkind = \"long\"\nfrom = [\"host[0]\"]\nto = \"host[2]\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = [\"host[1]\"]\nto = \"host[3]\"\n[output]\nmemory = { every = \"10us\" }\n",
    );
}
