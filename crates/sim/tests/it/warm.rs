//! Connections are warm: what their handshake would have told the ends, they know.

use crate::common::{run, scenario};
use forebay_record::RunRecord;
use forebay_sim::Options;
use forebay_units::Span;

/// Two hosts; the packets `drop` from the host `lost` to the switch are lost.
fn pair(transport: &str, traffic: &str, (lost, drop): (&str, &str)) -> RunRecord {
    let text = format!(
        r#"
version = 1
stop = {{ time = "5s" }}
[fabric]
kind = "star"
hosts = 2
host_link = {{ rate = "10Gbps", delay = "10us" }}
[transport]
kind = "tcp"
law = "reno"
{transport}
{traffic}
[[fault]]
link = "{lost}->tor"
at = "0s"
drop = {drop}
"#
    );
    run(&scenario(&text), 1, Options::default()).record
}

const ONE: &str = r#"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "1KB" }]
"#;

/// Two links of 10 us for SYN and SYN-ACK each, 64 B at 0.8 ns per byte: the first sample.
const HANDSHAKE: Span = Span::from_ps(4 * (10_000_000 + 64 * 800));

/// Two links of 10 us and back, for 1,000 B with 52 B of headers.
const DATA: Span = Span::from_ps(2 * (10_000_000 + 1_052 * 800));

/// RFC 6298, sections 2.2 and 2.3, with the least timeout above the smoothed round trip as in Linux: RTO = SRTT + max(rto_min, 4 RTTVAR). The only
/// packet is lost and leaves again after it. A probe is no earlier, since it leaves 2 SRTT + rto_min after its segment.
#[test]
fn the_first_timeout_follows_from_the_handshake() {
    for least in [Span::from_us(10), Span::from_ms(1), Span::from_ms(200), Span::from_ms(2_000)] {
        for probe in [true, false] {
            let keys = format!("rto_min = \"{least}\"\ntail_loss_probe = {probe}\n");
            let record = pair(&keys, ONE, ("host[0]", "[1]"));
            let four_rttvar = Span::from_ns(HANDSHAKE.as_ps() / 1_000 / 2 * 4); // it counts whole ns
            let timeout = HANDSHAKE + least.max(four_rttvar);
            let short = least < HANDSHAKE && probe;
            let timeout = if short { HANDSHAKE * 2 + least } else { timeout };
            assert_eq!(record.flows[0].fct(), Some(timeout + DATA), "{least}, probe: {probe}");
        }
    }
}

/// The second packet of the server is its answer, after the ACK of the request.
#[test]
fn a_server_has_a_sample_of_the_handshake_too() {
    let rpc = "[[traffic]]\nkind = \"rpc\"\nfrom = \"host[0]\"\nto = \"host[1]\"\n\
               request = \"1000B\"\nresponse = \"1000B\"\ncount = 1\n";
    let took = |lost, drop| {
        let record = pair("rto_min = \"1ms\"\n", rpc, (lost, drop));
        record.rpcs[0].latency().expect("it is complete")
    };
    let ack = Span::from_ps(64 * 800); // leaves ahead of the answer
    let expected = Span::from_ms(1) + HANDSHAKE + DATA * 2 + ack;
    assert_eq!(took("host[1]", "[2]"), expected);
    assert_eq!(took("host[0]", "[1]"), expected, "the client's");
}

/// Equal-cost paths of different lengths: the sample of a flow is that of the path which it takes. Without it a timeout comes before the ACK, or late.
/// The first packets are lost, so each flow takes a round trip, four times half of it, and its time alone, which is nearly half a round trip.
#[test]
fn the_sample_is_of_the_path_that_the_flow_takes() {
    let flow =
        |n: u32| format!(r#"{{ from = "a", to = "b", size = "100B", at = "{}ms" }}"#, 10 * n);
    let flows = (0..12).map(flow).collect::<Vec<_>>().join(", ");
    let text = |fault: &str| {
        format!(
            r#"
version = 1
stop = {{ time = "5s" }}
[fabric]
kind = "graph"
hosts = ["a", "b"]
switches = ["left", "near", "far", "right"]
host_link = {{ rate = "100Gbps", delay = "1us" }}
routing = "ecmp-symmetric"
cables = [
    {{ a = "a", b = "left" }},
    {{ a = "left", b = "near" }},
    {{ a = "left", b = "far", delay = "500us" }},
    {{ a = "near", b = "right" }},
    {{ a = "far", b = "right", delay = "500us" }},
    {{ a = "right", b = "b" }},
]
[transport]
kind = "tcp"
law = "reno"
rto_min = "10us"
tail_loss_probe = false
[[traffic]]
kind = "list"
flows = [{flows}]
{fault}
"#
        )
    };
    let times = |fault: &str| -> Vec<f64> {
        let record = run(&scenario(&text(fault)), 1, Options::default()).record;
        record.flows.iter().map(|flow| flow.fct().expect("it is complete").as_secs_f64()).collect()
    };
    // Every other packet is lost: the first of each flow, and not the second.
    let fault = "[[fault]]\nlink = \"a->left\"\nat = \"0s\"\n\
                 drop = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23]\n";
    let (alone, lost) = (times(""), times(fault));
    let long = alone.iter().filter(|fct| **fct > 900e-6).count();
    assert!((1..12).contains(&long), "{long} of 12 flows take the long path");
    for (alone, lost) in alone.iter().zip(lost) {
        assert!((6.8..7.2).contains(&(lost / alone)), "{alone} s, and {lost} s after a timeout");
    }
}

/// Source: Vasudevan et al., SIGCOMM 2009: a least timeout of 1 ms keeps the goodput of an incast up to 47 senders. Each has 64 KB, and the port 32 KB.
#[test]
fn an_incast_of_new_flows_keeps_its_goodput_with_a_short_least_timeout() {
    let text = r#"
version = 1
stop = { time = "5s" }
[fabric]
kind = "star"
hosts = 33
host_link = { rate = "1Gbps", delay = "10us" }
switch = { port_limit = "32KB" }
[transport]
kind = "tcp"
law = "reno"
rto_min = "1ms"
[[traffic]]
kind = "incast"
to = "host[0]"
fan_in = 32
size = "64KB"
"#;
    let record = run(&scenario(text), 1, Options::default()).record;
    let last = record.flows.iter().map(|flow| flow.fct().expect("it is complete")).max();
    let goodput = 32.0 * 64e3 * 8.0 / last.unwrap().as_secs_f64();
    assert!(goodput > 600e6, "{:.0} Mb/s", goodput / 1e6);
}
