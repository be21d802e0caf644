//! Laws at work: what flows of a law hold in the queue of a bottleneck, and what they get through it.

use crate::common::scenario;
use forebay_sim::{Options, Simulation, Watch};
use forebay_units::{Span, Time};

/// Payload delivered in order to each host of the right side.
fn delivered(simulation: &mut Simulation<'_>, flows: usize) -> Vec<u64> {
    simulation.inspect().hosts[flows..].iter().map(|host| host.delivered_bytes).collect()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Flows through one bottleneck of 10 Gb/s, whose hosts have ten times that.
struct Path<'a> {
    flows: usize,
    /// One way; with four times 1 us, 1.44 us for a packet and 0.0614 us for its ACK half of the empty RTT.
    delay_ps: u64,
    limit: &'a str,
    transport: &'a str,
}

impl Path<'_> {
    /// Mean queue in packets, and goodput of each flow in Gb/s, between two times.
    fn run(&self, from_ms: u64, to_ms: u64) -> (f64, Vec<f64>) {
        let Self { flows, delay_ps, limit, transport } = self;
        let text = format!(
            "version = 1\nname = \"laws\"\nseeds = [1]\nstop = {{ time = \"{to_ms}ms\" }}\n\
             [output]\nqueues = {{ every = \"5us\", where = \"left\" }}\n\
             [fabric]\nkind = \"dumbbell\"\nleft = {flows}\nright = {flows}\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             bottleneck = {{ rate = \"10Gbps\", delay = \"{delay_ps}ps\" }}\n\
             [fabric.switch]\nbuffer = \"none\"\nport_limit = \"{limit}\"\necn = \"off\"\n\
             [transport]\nkind = \"tcp\"\n{transport}\n\
             [[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\nto = \"right.host[*]\"\n"
        );
        let scenario = scenario(&text);
        let mut simulation = Simulation::new(&scenario, 1, Options::default()).expect("it runs");
        simulation.advance(at(from_ms), &Watch::default());
        let before = delivered(&mut simulation, *flows);
        simulation.advance(at(to_ms), &Watch::default());
        let after = delivered(&mut simulation, *flows);
        let record = simulation.finish().record;
        let series = record.series.iter().find(|s| s.name == "left->right queue").expect("sampled");
        let queue: Vec<f64> = series
            .at
            .iter()
            .zip(&series.values)
            .filter(|(time, _)| **time >= at(from_ms))
            .map(|(_, bytes)| bytes / 1_500.0)
            .collect();
        let gbps = |(after, before): (u64, u64)| {
            (after - before) as f64 * 8.0 / ((to_ms - from_ms) as f64 * 1e6)
        };
        let rates = after.into_iter().zip(before).map(gbps).collect();
        (queue.iter().sum::<f64>() / queue.len() as f64, rates)
    }
}

/// What 10 Gb/s carry of segments of 1448 B in packets of 1500 B.
const PAYLOAD_GBPS: f64 = 10.0 * 1_448.0 / 1_500.0;

/// From steps 9 to 12 of Linux `tcp_nv.c`: between pad - pad_buffer and pad a flow stays as it is. The empty RTT
/// is 100 us.
#[test]
fn nv_flows_that_know_the_base_rtt_hold_eight_to_ten_packets_each() {
    for flows in [4, 16] {
        let transport = "law = \"nv\"\nparams = { base_rtt = \"100us\" }";
        let path = Path { flows, delay_ps: 47_249_280, limit: "5000 packets", transport };
        let (queue, rates) = path.run(60, 90);
        let each = queue / flows as f64;
        assert!((8.0..=10.0).contains(&each), "{flows} flows: {each}");
        assert!(rates.iter().sum::<f64>() > 0.99 * PAYLOAD_GBPS, "{rates:?}");
    }
}

/// A round trip of 1 ms, and a buffer of one bandwidth-delay product.
///
/// Linux's CUBIC takes 80 ms to get there. HyStart first looks in the middle of a round trip, at 16 segments; trains less
/// than 2 ms apart are one to it; and (RTT + 1 ms) / 2 is no more than one RTT: slow start ends at some 30
/// segments, after which the window grows by a twentieth per round trip.
#[test]
fn bic_and_cubic_fill_a_path_of_a_millisecond() {
    for law in
        ["law = \"bic\"", "law = \"cubic\"", "law = \"cubic\"\nparams = { form = \"rfc9438\" }"]
    {
        let path = Path { flows: 1, delay_ps: 497_249_280, limit: "833 packets", transport: law };
        let (_, rates) = path.run(100, 150);
        assert!(rates[0] >= 0.95 * PAYLOAD_GBPS, "{law}: {rates:?}");
    }
}

/// Where a Swift flow of N in a queue of 10 Gb/s is at rest, in us: its window is D / (N 1.2 us) packets, and its target is D
/// (Kumar et al., SIGCOMM 2020, section 3.1, `fs_range` 100 us).
fn swift_target(flows: usize, base_target: f64) -> f64 {
    let scaled = |window: f64| (32.656 / window.sqrt() - 3.2656).clamp(0.0, 100.0);
    let (mut low, mut high): (f64, f64) = (base_target, base_target + 100.0);
    for _ in 0..60 {
        let delay = (low + high) / 2.0;
        let target = base_target + scaled(delay / (flows as f64 * 1.2));
        (low, high) = if target > delay { (delay, high) } else { (low, delay) };
    }
    low
}

/// The queue is what the target leaves beyond the empty path, 20 us here: with small steps to 4 %. The 64 flows have a packet
/// each.
#[test]
fn swift_flows_settle_at_the_target_that_flow_scaling_gives_them() {
    for flows in [4, 16, 64] {
        let transport = "law = \"swift\"\nparams = { base_target = \"50us\", ai = 0.1 }";
        let path = Path { flows, delay_ps: 7_249_280, limit: "5000 packets", transport };
        let (queue, rates) = path.run(30, 60);
        let (delay, target) = (20.0 + queue * 1.2, swift_target(flows, 50.0));
        assert!((0.96..=1.04).contains(&(delay / target)), "{flows}: {delay} us, not {target}");
        assert!(rates.iter().sum::<f64>() > 0.99 * PAYLOAD_GBPS, "{rates:?}");
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
        let jain = sum * sum / (flows as f64 * squares);
        assert!(jain > 0.95, "{flows}: {jain}");
    }
}

/// Packets that 20 us of an empty path hold.
const EMPTY: f64 = 20.0 / 1.2;

/// Kumar et al., SIGCOMM 2020, on pacing: windows below one packet are paced, so that 400 flows hold less than half a packet each, which a law
/// with a floor of one cannot.
#[test]
fn four_hundred_swift_flows_share_less_than_a_packet_each() {
    let path =
        |transport| Path { flows: 400, delay_ps: 7_249_280, limit: "1000 packets", transport };
    let swift =
        "initial_window = \"1 packets\"\nlaw = \"swift\"\nparams = { base_target = \"50us\" }";
    let (queue, rates) = path(swift).run(10, 40);
    assert!(queue + EMPTY < 200.0, "{queue}: half a packet each");
    assert!(rates.iter().sum::<f64>() > 0.95 * PAYLOAD_GBPS, "{}", rates.iter().sum::<f64>());
    let reno = "initial_window = \"1 packets\"\nlaw = \"reno\"";
    let (queue, _) = path(reno).run(10, 40);
    assert!(queue + EMPTY > 400.0, "{queue}: a packet each");
}

/// Zhu et al., CoNEXT 2016, fixed point of patched TIMELY: flows rest at a round-trip time of t_low (1 + N delta / (beta_p C)), whatever they began
/// with; 20 us of it are the empty path.
#[test]
fn patched_timely_flows_hold_a_queue_that_grows_with_their_number() {
    for (flows, start) in [(2, 0.05), (10, 0.01)] {
        let transport = format!(
            "law = \"timely\"\nparams = {{ form = \"patched\", start = {start}, segment = \"16KB\" }}"
        );
        let transport = &transport;
        let path = Path { flows, delay_ps: 7_249_280, limit: "5000 packets", transport };
        let (queue, rates) = path.run(60, 80);
        let (rtt, rest) = (20.0 + queue * 1.2, 50.0 * (1.0 + flows as f64 / 8.0));
        println!("{flows} {rtt} {rest} {rates:?}");
        assert!((0.95..=1.05).contains(&(rtt / rest)), "{flows}: {rtt} us, not {rest}");
        let (most, least) = (
            rates.iter().copied().fold(0.0, f64::max),
            rates.iter().copied().fold(f64::MAX, f64::min),
        );
        assert!(least > 0.9 * most, "{rates:?}");
        assert!(rates.iter().sum::<f64>() > 0.99 * PAYLOAD_GBPS, "{rates:?}");
    }
}
