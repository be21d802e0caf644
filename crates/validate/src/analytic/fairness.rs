//! n DCTCP flows through one bottleneck: what each of them gets.

use super::{ms, quiet, scenario, simulation};
use crate::measured::MeasuredRows;
use forebay_record::jain;

pub(super) fn measure(quick: bool, all: &mut MeasuredRows) {
    for (id, n) in [("fair-share-2", 2), ("fair-share-8", 8)] {
        let shares = shares(n, quick);
        all.insert(id, least(&shares));
    }
    let shares = shares(32, quick);
    all.insert("fair-share-32", least(&shares));
    all.insert("fair-share-32-jain", jain(&shares).unwrap_or(0.0));
    all.insert("fair-share-32-sum", shares.iter().sum());
}

/// The smallest share in units of the mean of what all got.
fn least(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    shares.iter().copied().fold(f64::MAX, f64::min) * shares.len() as f64 / sum
}

/// Goodput of each receiver, one flow each, in Mb/s.
fn shares(n: usize, quick: bool) -> Vec<f64> {
    let (warm, end) = if quick { (100, 500) } else { (200, 1_000) };
    let text = format!(
        "version = 1\nseeds = [1]\nstop = {{ time = \"1s\" }}\n\
         [fabric]\nkind = \"dumbbell\"\nleft = {n}\nright = {n}\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         bottleneck = {{ rate = \"10Gbps\", delay = \"47249280ps\" }}\n\
         [fabric.switch]\necn = {{ k = \"65 packets\" }}\n\
         [transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n\
         [[traffic]]\nkind = \"long\"\nfrom = \"left.host[*]\"\nto = \"right.host[*]\"\nstagger = \"1ms\"\n"
    );
    let scenario = scenario("fair-share", &text);
    let mut simulation = simulation(&scenario);
    simulation.advance(ms(warm), &quiet());
    let before = simulation.inspect().hosts;
    simulation.advance(ms(end), &quiet());
    let after = simulation.inspect().hosts;
    let receivers = before[n..].iter().zip(&after[n..]);
    receivers
        .map(|(b, a)| {
            (a.delivered_bytes - b.delivered_bytes) as f64 * 8.0 / ((end - warm) as f64 * 1e3)
        })
        .collect()
}
