//! A receiver-driven transport in a simulation: its hosts' halves, their clocks, and classes packet by packet.

use crate::assemble::build_with;
use crate::assemble::stacks::{profiles, usual};
use crate::options::{Options, Outputs};
use crate::run::{Outcome, Simulation};
use forebay_engine::Watch;
use forebay_scenario::model::Scenario;
use forebay_transport::Config;
use forebay_transport::pulled::PulledConfig;
use forebay_units::{Bytes, Span, Time};

/// Time between two pulls: more than a third of a round trip.
const GAP: Span = Span::from_us(2);

/// Hosts 0 to 2 send 3,000 B each to host 3; a packet of 1,000 B takes 83.84 ns on a link.
const STAR: &str = r#"
version = 1
name = "pulled"
seeds = [1]
stop = { time = "1ms" }
[fabric]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
wire_overhead = "0B"
[fabric.switch]
classes = 2
latency = "0ns"
[transport]
kind = "tcp"
law = "reno"
[[traffic]]
kind = "list"
flows = [
  { from = "host[0]", to = "host[3]", size = "3000B", at = "0us" },
  { from = "host[1]", to = "host[3]", size = "3000B", at = "0us" },
  { from = "host[2]", to = "host[3]", size = "3000B", at = "0us" },
]
"#;

fn run(scenario: &Scenario, classes: [u8; 2], unasked: u64, threads: usize) -> Outcome {
    let mut profiles = profiles(scenario, &usual(scenario)).unwrap();
    for profile in &mut profiles {
        profile.transport = Config::from(PulledConfig {
            mss: Bytes::new(1_000),
            header: Bytes::new(48),
            ack_size: Bytes::new(64),
            unasked,
            gap: GAP,
            classes,
        });
    }
    let options = Options { threads, ..Options::default() };
    let world = build_with(profiles, scenario, 1, options, &Outputs::default(), &|| true).unwrap();
    let mut simulation = Simulation::of(world, scenario, options, Outputs::default()).unwrap();
    simulation.advance(Time::MAX, &Watch::default());
    simulation.finish()
}

/// One host pulls from three senders in turn, a packet every 2 us.
pub fn a_host_pulls_from_all_its_flows_in_turn() {
    let scenario = forebay_scenario::text("pulled.toml", STAR).unwrap().scenario;
    let (data, pull, delay) = (Span::from_ps(83_840), Span::from_ps(5_120), Span::from_us(1));
    let first = Time::ZERO + (data + delay) * 2;
    let round_trip = (data + pull + delay * 2) * 2;
    let outcome = run(&scenario, [0, 0], 1, 1);
    let delivered: Vec<_> = outcome.record.flows.iter().map(|row| row.delivered.unwrap()).collect();
    // The first pull leaves when the first packet is there. Each flow needs two, and the second round follows the first without a pause.
    assert_eq!(delivered, [3, 4, 5].map(|nth| first + GAP * nth + round_trip));
    // The last ACK is no pull and waits for none.
    let acked: Vec<_> = outcome.record.flows.iter().map(|row| row.acked.unwrap()).collect();
    assert_eq!(acked, [3, 4, 5].map(|nth| first + GAP * nth + round_trip + (pull + delay) * 2));
    assert_eq!(run(&scenario, [0, 0], 1, 2).record.digest, outcome.record.digest);
}

/// Host 0 has two flows. What was pulled is of the higher class: it overtakes what no pull requested yet.
pub fn a_nic_goes_by_the_class_of_each_packet() {
    let (head, _) = STAR.rsplit_once("flows =").unwrap();
    let flow = |to: u32, size: u32, at: &str| {
        format!("{{ from = \"host[0]\", to = \"host[{to}]\", size = \"{size}B\", at = \"{at}\" }}")
    };
    // The pull of the first flow comes 4.178 us after its start, while 60 others wait to send their only packet.
    let others = (0..60).map(|_| flow(2, 1_000, "4us")).collect::<Vec<_>>().join(", ");
    let text = format!("{head}flows = [{}, {others}]", flow(1, 2_000, "0us"));
    let scenario = forebay_scenario::text("pulled.toml", &text).unwrap().scenario;
    let last = |classes| {
        let outcome = run(&scenario, classes, 1, 1);
        outcome.record.flows[0].delivered.unwrap()
    };
    let (data, pull, delay) = (83_840, 5_120, 1_000_000);
    // Sent when the packet is out during which the pull came.
    let pulled = 2 * (data + delay) + 2 * (pull + delay);
    let left = 4_000_000 + (pulled - 4_000_000u64).div_ceil(data) * data;
    assert_eq!(last([0, 1]), Time::from_ps(left + 2 * (data + delay)));
    // Of one class it waits for the first packets of all others.
    assert_eq!(last([0, 0]), Time::from_ps(4_000_000 + 61 * data + data + 2 * delay));
}

/// Host 0 has two flows. The second packet of the first is of the higher class, and goes before the second flow's first one.
pub fn a_flow_moves_to_the_queue_of_its_next_packet() {
    let (head, _) = STAR.rsplit_once("flows =").unwrap();
    let flow = |to: u32, size: u32| {
        format!("{{ from = \"host[0]\", to = \"host[{to}]\", size = \"{size}B\", at = \"0us\" }}")
    };
    let text = format!("{head}flows = [{}, {}]", flow(1, 2_000), flow(2, 1_000));
    let scenario = forebay_scenario::text("pulled.toml", &text).unwrap().scenario;
    let delivered = |classes| {
        let outcome = run(&scenario, classes, 2, 1);
        [0, 1].map(|flow| outcome.record.flows[flow].delivered.unwrap())
    };
    let nth = |packets: u64| Time::from_ps((packets + 1) * 83_840 + 2_000_000);
    assert_eq!(delivered([0, 1]), [nth(2), nth(3)]);
    assert_eq!(delivered([0, 0]), [nth(3), nth(2)], "of one class they take turns");
}
