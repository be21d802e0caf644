//! A receive window allows its bytes per round trip, to the byte.

use crate::common::{run, scenario};
use forebay_sim::Options;

/// Segments of 1,448 B that arrive in 5 s of round trips of 10.0078 ms.
fn segments(keys: &str) -> u64 {
    let text = format!(
        r#"
version = 1
stop = {{ time = "5s", flows = "ignore" }}
[fabric]
kind = "dumbbell"
left = 1
right = 1
host_link = {{ rate = "10Gbps", delay = "1us" }}
bottleneck = {{ rate = "10Gbps", delay = "5ms" }}
[transport]
kind = "tcp"
law = "cubic"
{keys}
[[traffic]]
kind = "long"
from = "left.host[0]"
to = "right.host[0]"
"#
    );
    run(&scenario(&text), 1, Options::default()).record.totals.delivered_segments
}

/// A one-way trip takes 5.0056 ms and a round trip 10.0078 ms: two segments arrive 499 round trips after the first two (W / RTT: 999.2), and nothing after.
#[test]
fn a_window_of_two_segments_sends_two_per_round_trip() {
    assert_eq!(segments("receive_window = \"2896B\""), 2 * 500);
    assert_eq!(segments("receive_window = \"2895B\""), 500, "a byte less is one segment less");
}

/// The first window of Linux, 45 segments; its closed form is W / RTT.
#[test]
fn a_window_of_forty_five_segments_is_used_whole() {
    for (window, each) in [("65160B", 45.0), ("65159B", 44.0), ("66608B", 46.0)] {
        let rate = segments(&format!("receive_window = \"{window}\"")) as f64 / 5.0;
        let share = rate / (each / 0.010_007_8);
        assert!((0.995..1.0).contains(&share), "{window}: {share} of {each} segments");
    }
}
