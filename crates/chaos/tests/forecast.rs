//! A sample of forecasts against what happens. As many as wanted: `cargo run --release -p forebay-chaos -- --forecast 1000000 --cases 300`.

use forebay_chaos::forecast::Compared;
use std::sync::OnceLock;

/// Forecasts of `forebay check` for the first scenarios.
fn sample() -> &'static [Compared] {
    static SAMPLE: OnceLock<Vec<Compared>> = OnceLock::new();
    SAMPLE.get_or_init(|| Compared::all(1..61, 1_000_000))
}

fn share(of: fn(&Compared) -> bool) -> f64 {
    let all = sample();
    all.iter().filter(|one| of(one)).count() as f64 / all.len() as f64
}

#[test]
fn packet_hops_are_within_twice_and_rows_within_a_fifth_for_95_of_100() {
    assert!(sample().len() > 30, "{}", Compared::summary(sample()));
    assert!(share(Compared::hops_are_right) >= 0.95, "{}", Compared::summary(sample()));
    assert!(share(Compared::rows_are_right) >= 0.95, "{}", Compared::summary(sample()));
}

/// Also where the pilot saw next to nothing.
#[test]
fn no_run_has_more_rows_than_at_most() {
    let blind = Compared::all(1..41, 200);
    for one in sample().iter().chain(&blind) {
        assert!(one.is_at_most(), "{one}");
    }
}
