//! A sample of the random scenarios. As many as wanted: `cargo run --release -p forebay-chaos -- --cases 10000`.

use forebay_chaos::check::{CheckOutcome, check};
use forebay_chaos::wide::draw;

/// Seeds of the sample: the first half, and all of them in `./test --all`.
fn seeds() -> std::ops::RangeInclusive<u64> {
    1..=if std::env::var_os("FOREBAY_WHOLE").is_some() { 40 } else { 20 }
}

#[test]
fn a_sample_of_all_features_holds() {
    let (mut right, mut hops) = (0, 0);
    for seed in seeds() {
        match check(&draw(seed)) {
            CheckOutcome::Right(packets) => (right, hops) = (right + 1, hops + packets),
            CheckOutcome::Refused(_) | CheckOutcome::Long => {}
            CheckOutcome::Wrong(fault) => {
                panic!(
                    "seed {seed}: {}: {}; forebay-chaos --seed {seed} --cases 1 makes it small",
                    fault.kind, fault.text
                )
            }
        }
    }
    let count = *seeds().end();
    assert!(right >= count * 3 / 5 && hops > count * 500, "{right} scenarios, {hops} packet-hops");
}

/// Every law, both transports, several side by side, weights, machines and captures are among accepted scenarios.
#[test]
fn the_draw_reaches_all_features() {
    let texts: Vec<String> = (1..600)
        .map(draw)
        .filter(|text| forebay_scenario::text("drawn.toml", text).is_ok())
        .collect();
    let some = |word: &str| texts.iter().filter(|text| text.contains(word)).count();
    for law in forebay_laws::flow::LAWS {
        assert!(some(&format!("law = \"{}\"", law.name())) > 3, "{}", law.name());
    }
    for word in [
        "kind = \"rdma\"",
        "kind = \"tcp\"",
        "cache_model = \"buffers\"",
        "read_placed = true",
        "per_packet = \"10us\"",
        "rnr = \"nak\"",
        "rnr = \"wait\"",
        "pool = { law",
        "transport = \"other1\"",
        "weights = [",
        "hierarchical = {",
        "queue_for = \"pod\"",
        "drop = [",
        "kind = \"poisson\"",
        "after = \"one\"",
        "\nloss = ",
        "[[host.machine]]",
        "[[output.capture]]",
        "[[fault]]",
        "[host.override.memory]",
        "kind = \"rpc\"",
        "kind = \"collective\"",
        "algorithm = \"halving-doubling\"",
        "spread = \"split\"",
        "window = \"6000B\"",
        "pause_above = ",
        "params = {",
        "recovery = \"selective\"",
        "pause = {",
        "max_inflight",
    ] {
        assert!(some(word) > 3, "{word}: {} of {}", some(word), texts.len());
    }
    let reads =
        |text: &&String| text.contains("law = \"homa\"") && text.contains("read_placed = true");
    let reads = texts.iter().filter(reads).count();
    assert!(reads > 3, "homa with applications that read: {reads}");
}
