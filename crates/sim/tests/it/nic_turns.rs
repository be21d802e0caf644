//! Flows of one host take turns at its NIC.

use crate::common::{run, scenario};
use forebay_sim::Options;
use forebay_units::{Span, Time};

/// On the wire of 100 Gb/s: 1,000 B, headers of 44 B and telemetry of 42 B.
const PACKET: u64 = 1_086 * 80;

/// How much longer than at line rate a flow of 80 packets takes that starts at `at`, beside a long HPCC flow of the same host.
fn delay_beside_a_long_flow(nic: &str, at: &str) -> Span {
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "1ms" }}
[fabric]
kind = "star"
hosts = 3
host_link = {{ rate = "100Gbps", delay = "1us" }}
[host]
nic = "{nic}"
[transport]
kind = "rdma"
law = "hpcc"
[[traffic]]
kind = "long"
from = ["host[0]"]
to = "host[1]"
[[traffic]]
kind = "list"
flows = [{{ from = "host[0]", to = "host[2]", size = "80KB", at = "{at}" }}]
"#
    ));
    let record = run(&scenario, 1, Options::default()).record;
    let flow = record.flows.iter().find(|flow| flow.traffic == 1).expect("it is in the list");
    let alone = Span::from_ps(81 * PACKET) + Span::from_us(2); // 80 packets, and the last of them once more
    assert_eq!(flow.ideal, alone);
    flow.fct().expect("it is done") - alone
}

/// The long flow is paced just below line rate, so that it is not ready at the moment when its packet has left. It has its turn all the same, one for one.
/// It had one turn in three once, and the new flow took 3,642 ns longer.
#[test]
fn a_new_flow_takes_turns_with_a_paced_one() {
    let delay = delay_beside_a_long_flow("round-robin", "100052.5ns");
    assert_eq!(delay, Span::from_ps(6_943_819));
    // Whenever it starts: between its packets there are 79 of the other flow, and one may be on the wire.
    for start in ["50us", "100us", "200us", "300.02us", "500us"] {
        let delay = delay_beside_a_long_flow("round-robin", start).as_ps();
        assert!((78 * PACKET..=80 * PACKET).contains(&delay), "{delay} ps");
    }
}

/// Two flows of TCP from one host, which nothing holds back. The second is of `packets` packets and starts in the middle. Returns how many packets of the first
/// flow it lets pass, the one on the wire among them.
fn passed(nic: &str, packets: u64) -> u64 {
    const PACKET: u64 = 1_500 * 80;
    let scenario = scenario(&format!(
        r#"
version = 1
stop = {{ time = "1ms" }}
[fabric]
kind = "star"
hosts = 3
host_link = {{ rate = "100Gbps", delay = "1us" }}
[host]
nic = "{nic}"
[transport]
kind = "tcp"
law = "reno"
initial_window = "10000 packets"
[[traffic]]
kind = "list"
flows = [
  {{ from = "host[0]", to = "host[1]", size = "20MB" }},
  {{ from = "host[0]", to = "host[2]", size = "{}B", at = "50us" }},
]
"#,
        packets * 1_448
    ));
    let record = run(&scenario, 1, Options::default()).record;
    let flow = &record.flows[1];
    let arrived =
        Time::ZERO + Span::from_us(50) + Span::from_ps((packets + 1) * PACKET) + Span::from_us(2);
    flow.delivered.expect("it is done").since(arrived).as_ps().div_ceil(PACKET)
}

/// A new flow has ten packets before others go on, and then two in each round (`sch_fq.c`: `initial_quantum`, `quantum`).
#[test]
fn under_fq_new_flows_go_first() {
    assert_eq!([1, 8, 10].map(|packets| passed("fq", packets)), [1, 1, 1]);
    // Then the other flow has a packet left of its quantum, and after that two packets in each round.
    assert_eq!([11, 12, 13, 20].map(|packets| passed("fq", packets)), [2, 2, 4, 10]);
    assert_eq!([1, 8, 20].map(|packets| passed("round-robin", packets)), [1, 8, 20]);
}
