//! One flow alone: limited by its window, by the rate, by slow start.

use super::{ms, quiet, scenario, simulation};
use crate::measured::MeasuredRows;
use forebay_units::Time;

pub(super) fn measure(quick: bool, all: &mut MeasuredRows) {
    let span = if quick { 200 } else { 1_000 };
    let star = star("249374400ps");
    let text = format!("{star}receive_window = \"64KiB\"\n{LONG}");
    all.insert("window-limited", goodput_mbps("window-limited", &text, 200, span));
    let text = format!("{DUMBBELL}receive_window = \"4MiB\"\n{LONG_LEFT}");
    all.insert("rate-limited", goodput_mbps("rate-limited", &text, 500, span));
    all.insert("slow-start-5", slow_start());
}

/// Two hosts, 10 Gb/s, so that data and ACK take the rest of the RTT beside four times this delay: 2.5024 us.
fn star(delay: &str) -> String {
    format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"10s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"10Gbps\", delay = \"{delay}\" }}\n\
         [fabric.switch]\necn = \"off\"\n\
         [transport]\nkind = \"tcp\"\nlaw = \"reno\"\n"
    )
}

const LONG: &str = "[[traffic]]\nkind = \"long\"\nfrom = \"host[0]\"\nto = \"host[1]\"\n";

/// RTT 1 ms: 4 * 1 us + 2 * 490.4928 us + 14.4 us for data + 0.6144 us for an ACK.
const DUMBBELL: &str = r#"
version = 1
seeds = [1]
stop = { time = "10s" }
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = { rate = "10Gbps", delay = "1us" }
bottleneck = { rate = "1Gbps", delay = "490492800ps" }
[fabric.switch]
buffer = { size = "32MB", alpha = 1.0 }
ecn = "off"
[transport]
kind = "tcp"
law = "reno"
"#;

const LONG_LEFT: &str =
    "[[traffic]]\nkind = \"long\"\nfrom = \"left.host[0]\"\nto = \"right.host[0]\"\n";

/// Payload over time, after a warm-up.
fn goodput_mbps(name: &str, text: &str, warm_ms: u64, span_ms: u64) -> f64 {
    let scenario = scenario(name, text);
    let mut simulation = simulation(&scenario);
    simulation.advance(ms(warm_ms), &quiet());
    let before: u64 = simulation.inspect().hosts.iter().map(|h| h.delivered_bytes).sum();
    simulation.advance(ms(warm_ms + span_ms), &quiet());
    let after: u64 = simulation.inspect().hosts.iter().map(|h| h.delivered_bytes).sum();
    (after - before) as f64 * 8.0 / (span_ms as f64 * 1e3)
}

/// Segments at the receiver after five round trips of 10 ms.
fn slow_start() -> f64 {
    let text = format!("{}{LONG}", star("2499374400ps"));
    let scenario = scenario("slow-start", &text);
    let mut simulation = simulation(&scenario);
    simulation.advance(Time::from_ps(5 * 10_000_000_000), &quiet());
    simulation.inspect().hosts[1].segments as f64
}
