//! Classes that share a port by weight.

use crate::common::{run, scenario};
use forebay_sim::Options;

/// When flows of these classes and sizes in MB, each from a host of its own at line rate to one host, are over, in MB that its port
/// of 10 Gb/s has sent since the first began.
fn over(weights: &str, flows: &[(u8, u32)]) -> Vec<f64> {
    let hosts = flows.len() + 1;
    let entry = |(from, (class, size)): (usize, &(u8, u32))| {
        format!(
            "[[traffic]]\nkind = \"list\"\nclass = {class}\nflows = [\
             {{ from = \"host[{}]\", to = \"host[0]\", size = \"{size}MB\" }}]\n",
            from + 1
        )
    };
    let traffic: String = flows.iter().enumerate().map(entry).collect();
    let text = format!(
        "version = 1\nstop = {{ time = \"50ms\" }}\n[fabric]\nkind = \"star\"\nhosts = {hosts}\n\
         host_link = {{ rate = \"10Gbps\", delay = \"1us\" }}\n[fabric.switch]\nclasses = 8\n{weights}\n\
         ecn = \"off\"\nport_limit = \"90MB\"\n\
         [transport]\nkind = \"rdma\"\nlaw = \"dcqcn\"\nack_class = 7\ntimeout = \"100ms\"\n{traffic}"
    );
    let record = run(&scenario(&text), 1, Options::default()).record;
    let fct = |flow: &forebay_record::FlowRow| flow.fct().expect("all are done").as_secs_f64();
    record.flows.iter().map(|flow| fct(flow) * 10e9 / 8e6 / 1.044).collect()
}

fn near(got: &[f64], expected: &[f64]) {
    let all = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.02);
    assert!(all && got.len() == expected.len(), "{got:?}, not {expected:?}");
}

#[test]
fn classes_share_by_weight_what_strict_ones_leave() {
    let weights = "weights = [{ class = 1, weight = 30 }, { class = 2, weight = 10 }]";
    near(&over(weights, &[(1, 3), (2, 1)]), &[4.0, 4.0]);
    near(&over(weights, &[(1, 1), (2, 1)]), &[1.0 + 1.0 / 3.0, 2.0]);
    near(&over(weights, &[(2, 2)]), &[2.0]);
    // Strict ones go first, also one of a lower number.
    near(&over(weights, &[(1, 3), (2, 1), (0, 1)]), &[5.0, 5.0, 1.0]);
    near(&over(weights, &[(1, 3), (2, 1), (5, 2)]), &[6.0, 6.0, 2.0]);
    // Two flows of a class have one share.
    near(&over(weights, &[(1, 1), (1, 2), (2, 1)]), &[8.0 / 3.0, 4.0, 4.0]);
    near(&over("", &[(1, 3), (2, 1)]), &[4.0, 1.0]);
}
