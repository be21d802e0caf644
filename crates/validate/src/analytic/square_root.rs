//! Reno's window against the rate of loss.

use super::{ms, quiet, scenario, simulation};
use crate::measured::MeasuredRows;
use crate::pipe::Pipe;
use forebay_units::Span;

pub(super) fn measure(quick: bool, all: &mut MeasuredRows) {
    let part = if quick { 4 } else { 1 };
    all.insert("reno-sqrt-1e-2", periodic(100, 400 / part, false).mean);
    let thousand = periodic(1_000, 200 / part, false);
    all.insert("reno-sqrt-1e-3", thousand.mean);
    all.insert("reno-peak-1e-3", thousand.peak);
    all.insert("reno-sqrt-1e-4", periodic(10_000, 40 / part, false).mean);
    all.insert("reno-delayed-1e-3", periodic(1_000, 200 / part, true).mean);
    all.insert("reno-random-1e-3", random(if quick { 15 } else { 60 }));
}

/// In packets.
struct Window {
    mean: f64,
    peak: f64, // mean over cycles of the largest
}

fn periodic(lose_every: u64, periods: u64, delayed_ack: bool) -> Window {
    let rtt = Span::from_ms(1);
    let mut pipe = Pipe::new("reno", delayed_ack, rtt, lose_every);
    let warm = 10;
    while pipe.lost < warm {
        pipe.step();
    }
    let (from, before) = (pipe.now, pipe.segments());
    let (mut peaks, mut peak, mut seen) = (0.0, 0.0f64, pipe.lost);
    while pipe.lost < warm + periods {
        pipe.step();
        peak = peak.max(pipe.inflight());
        if pipe.lost > seen {
            (peaks, peak, seen) = (peaks + peak, 0.0, pipe.lost);
        }
    }
    let rtts = pipe.now.since(from).as_ps() as f64 / rtt.as_ps() as f64;
    Window { mean: (pipe.segments() - before) / rtts, peak: peaks / periods as f64 }
}

/// Through a scenario; an empty path of 1 ms, the loss on the sender's cable.
fn random(seconds: u64) -> f64 {
    let text = r#"
version = 1
seeds = [1]
stop = { time = "100s" }
[fabric]
kind = "star"
hosts = 2
host_link = { rate = "10Gbps", delay = "249374400ps" }
[[fabric.override]]
where = "host[0]-tor"
loss = 0.001
[fabric.switch]
ecn = "off"
[transport]
kind = "tcp"
law = "reno"
[[traffic]]
kind = "long"
from = "host[0]"
to = "host[1]"
"#;
    let scenario = scenario("reno-random", text);
    let mut simulation = simulation(&scenario);
    simulation.advance(ms(1_000), &quiet());
    let before = simulation.inspect().hosts[1].delivered_bytes;
    simulation.advance(ms(1_000 * (seconds + 1)), &quiet());
    let after = simulation.inspect().hosts[1].delivered_bytes;
    (after - before) as f64 / 1_448.0 / (seconds as f64 * 1e3)
}
