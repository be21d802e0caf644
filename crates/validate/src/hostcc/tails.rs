//! Figures 4, 12 and 15, and the introduction's tails: RPCs beside 4 long flows.

use super::lab::Lab;
use super::ratio;
use super::setup::{Control, HostCc, Setup};
use crate::measured::MeasuredRows;
use crate::order::{Percentile, Samples};

/// Request and response sizes, with their names in the ids of rows.
pub(super) const SIZES: [(u32, &str); 5] =
    [(128, "128B"), (512, "512B"), (2048, "2KB"), (8192, "8KB"), (32_768, "32KB")];

/// Percentiles drawn, in parts of 10,000.
pub(super) const PERCENTILES: [u32; 5] = [5000, 9000, 9900, 9990, 9999];

/// RPCs below which P99.99 says nothing.
pub(super) const ENOUGH_FOR_P9999: usize = 100_000;

/// What runs beside an RPC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BackgroundLoad {
    /// 4 flows, no MApp.
    Flows,
    /// 4 flows and MApp at 3x.
    Congested,
    /// 4 flows and MApp at 3x, under hostCC.
    HostCc,
    /// As [`BackgroundLoad::Congested`], and MApp rests.
    CongestedResting,
    /// As [`BackgroundLoad::HostCc`], and MApp rests.
    HostCcResting,
}

/// Microseconds at work and at rest of the MApp that rests: the reading -resting of figures 12 and 15. Its onsets, at which the NIC's buffer is full for
/// 60 to 100 us, are 1 % of the time.
const RESTS: (u32, u32) = (5000, 2500);

impl BackgroundLoad {
    pub const ALL: [Self; 3] = [Self::Flows, Self::Congested, Self::HostCc];
}

/// Latencies in us of RPCs of `size`, of all seeds together.
pub(super) fn latencies(lab: &Lab, ddio: bool, beside: BackgroundLoad, size: u32) -> Samples {
    let (seeds, measured_ms) = effort(lab.quick, beside, size);
    let control = match beside {
        BackgroundLoad::HostCc | BackgroundLoad::HostCcResting => Control::HostCc(HostCc::of(ddio)),
        BackgroundLoad::Flows | BackgroundLoad::Congested | BackgroundLoad::CongestedResting => {
            Control::None
        }
    };
    let cores = if beside == BackgroundLoad::Flows { 0 } else { 3 };
    let rests = match beside {
        BackgroundLoad::CongestedResting | BackgroundLoad::HostCcResting => RESTS,
        _ => (0, 0),
    };
    let mut all = Vec::new();
    for seed in 1..=seeds {
        let setup =
            Setup { rpc: Some(size), control, rests, measured_ms, seed, ..lab.setup(ddio, cores) };
        all.extend_from_slice(lab.see(&setup).latencies.values());
    }
    Samples::new(all)
}

/// Seeds, and measured milliseconds of each: at 3x 150,000 small RPCs, fifteen of them beyond P99.99.
fn effort(quick: bool, beside: BackgroundLoad, size: u32) -> (u64, u32) {
    match (quick, beside, size == 128) {
        (true, BackgroundLoad::Congested, _) => (1, 500),
        (false, BackgroundLoad::CongestedResting, _) => (2, 1000),
        (true, _, true) => (1, 150),
        (true, _, false) => (1, 100),
        (false, BackgroundLoad::Congested, true) => (4, 5000),
        (false, BackgroundLoad::Congested, false) => (4, 2500),
        (false, _, true) => (8, 800),
        (false, _, false) => (4, 400),
    }
}

fn percentile(lab: &Lab, ddio: bool, beside: BackgroundLoad, size: u32, per_10_000: u32) -> Tail {
    let samples = latencies(lab, ddio, beside, size);
    let (count, beyond) = (samples.len(), samples.beyond(per_10_000));
    Tail { count, beyond, percentile: samples.percentile(per_10_000) }
}

/// A percentile and the number of RPCs behind it.
#[derive(Clone, Copy)]
struct Tail {
    count: usize,
    beyond: usize,
    percentile: Percentile,
}

impl Tail {
    fn said(self, unit: f64) -> String {
        let Percentile { value, low, high } = self.percentile;
        let [value, low, high] = [value, low, high].map(|us| us / unit);
        format!("{value:.4} of {} RPCs, 95 % between {low:.4} and {high:.4}", self.count)
    }
}

/// A percentile beside what is `beside`, the same at 0x, and the RPCs beyond either.
fn with_and_free(
    lab: &Lab,
    (ddio, beside, size): (bool, BackgroundLoad, u32),
    per_10_000: u32,
) -> ([Tail; 2], usize) {
    let both = [beside, BackgroundLoad::Flows].map(|b| percentile(lab, ddio, b, size, per_10_000));
    (both, both[0].beyond.min(both[1].beyond))
}

/// Enters what congestion adds to a percentile, and how sure that is.
fn added(
    lab: &Lab,
    all: &mut MeasuredRows,
    id: String,
    run: (bool, BackgroundLoad, u32),
    (per_10_000, unit): (u32, f64),
) {
    let ([with, free], beyond) = with_and_free(lab, run, per_10_000);
    let remark = format!("{}; 0x {}", with.said(unit), free.said(unit));
    let value = (with.percentile.value - free.percentile.value) / unit;
    all.insert_tail(id, value, beyond, remark);
}

const US: f64 = 1.0;
const MS: f64 = 1e3;

/// Figure 4: what 3x adds to P99 and P99.9.
pub(super) fn figure_4(lab: &Lab, all: &mut MeasuredRows) {
    for (size, name) in SIZES {
        let run = (false, BackgroundLoad::Congested, size);
        added(lab, all, format!("fig4-{name}-p99"), run, (9900, US));
        added(lab, all, format!("fig4-{name}-p999"), run, (9990, MS));
    }
    let [(small, few), (large, fewer)] = [128, 32_768].map(|size| inflation(lab, size));
    all.insert_tail("fig4-order", ratio(small, large), few.min(fewer), String::new());
    whiskers(lab, all);
}

/// Figure 4's whiskers below P99: the least, over all sizes, of a percentile at 3x over that at 0x.
fn whiskers(lab: &Lab, all: &mut MeasuredRows) {
    for (name, per_10_000) in [("fig4-p50-least", 5000), ("fig4-p90-least", 9000)] {
        let inflations = SIZES.map(|(size, _)| {
            let of = |beside| latencies(lab, false, beside, size).percentile(per_10_000).value;
            ratio(of(BackgroundLoad::Congested), of(BackgroundLoad::Flows))
        });
        all.insert(name, inflations.into_iter().fold(f64::NAN, f64::min));
    }
}

/// Seeds of that reading: with four, 8 RPCs of 128 B lay beyond P99.9, and a row needs ten.
const SEEDS: u64 = 8;

/// P99.9 at 3x where the NIC refuses every frame while less than the longest would fit.
fn refusing(lab: &Lab, size: u32) -> Tail {
    let mut all = Vec::new();
    for seed in 1..=SEEDS {
        let (changed, measured_ms) = (("nic_refuse_below = \"9KB\"\n", ""), 2500);
        let setup = Setup { rpc: Some(size), changed, measured_ms, seed, ..lab.setup(false, 3) };
        all.extend_from_slice(lab.see(&setup).latencies.values());
    }
    let samples = Samples::new(all);
    let (count, beyond) = (samples.len(), samples.beyond(9990));
    Tail { count, beyond, percentile: samples.percentile(9990) }
}

/// P99.9 at 3x under that reading over P99.9 at 0x, by size, and the RPCs beyond either.
fn inflations_refusing(lab: &Lab) -> Vec<(f64, usize)> {
    let of = |(size, _)| {
        let (with, free) =
            (refusing(lab, size), percentile(lab, false, BackgroundLoad::Flows, size, 9990));
        (ratio(with.percentile.value, free.percentile.value), with.beyond.min(free.beyond))
    };
    SIZES.map(of).to_vec()
}

/// Rows of figure 4 and of the introduction under that reading, which short runs have too few RPCs for.
pub(super) fn threshold(lab: &Lab, all: &mut MeasuredRows) {
    if lab.quick {
        return;
    }
    for (size, name) in SIZES {
        let (with, free) =
            (refusing(lab, size), percentile(lab, false, BackgroundLoad::Flows, size, 9990));
        let added = (with.percentile.value - free.percentile.value) / MS;
        let beyond = with.beyond.min(free.beyond);
        all.insert_tail(format!("fig4-{name}-p999-threshold"), added, beyond, with.said(MS));
    }
    let inflations = inflations_refusing(lab);
    let (small, large) = (inflations[0], inflations[SIZES.len() - 1]);
    let order = ratio(small.0, large.0);
    all.insert_tail("fig4-order-threshold", order, small.1.min(large.1), String::new());
    let beyond = inflations.iter().map(|one| one.1).min().unwrap_or(0);
    let most = |of: fn(f64, f64) -> f64| inflations.iter().map(|one| one.0).fold(f64::NAN, of);
    all.insert_tail("intro-tail-least-threshold", most(f64::min), beyond, String::new());
    all.insert_tail("intro-tail-most-threshold", most(f64::max), beyond, String::new());
}

/// P99.9 at 3x over P99.9 at 0x, and the RPCs beyond either.
fn inflation(lab: &Lab, size: u32) -> (f64, usize) {
    let ([with, free], beyond) = with_and_free(lab, (false, BackgroundLoad::Congested, size), 9990);
    (ratio(with.percentile.value, free.percentile.value), beyond)
}

/// What the introduction says of tails.
pub(super) fn introduction(lab: &Lab, all: &mut MeasuredRows) {
    let inflations = SIZES.map(|(size, _)| inflation(lab, size));
    let beyond = inflations.map(|one| one.1).into_iter().min().unwrap_or(0);
    let most = |of: fn(f64, f64) -> f64| inflations.map(|one| one.0).into_iter().fold(f64::NAN, of);
    all.insert_tail("intro-tail-least", most(f64::min), beyond, String::new());
    all.insert_tail("intro-tail-most", most(f64::max), beyond, String::new());
}

/// Figure 12: hostCC.
pub(super) fn figure_12(lab: &Lab, all: &mut MeasuredRows) {
    added(lab, all, "fig12-128B-p99".into(), (false, BackgroundLoad::HostCc, 128), (9900, US));
    for (size, name) in SIZES {
        let p99 = |beside| percentile(lab, false, beside, size, 9900);
        let tails =
            [BackgroundLoad::Flows, BackgroundLoad::HostCc, BackgroundLoad::Congested].map(p99);
        let beyond = tails.map(|tail| tail.beyond).into_iter().min().unwrap_or(0);
        let [free, with, without] = tails.map(|tail| tail.percentile.value);
        let value = ratio(with - free, without - free);
        all.insert_tail(format!("fig12-{name}-p99-less"), value, beyond, String::new());
        timeouts(lab, all, format!("fig12-{name}-p999"), (false, BackgroundLoad::HostCc, size));
    }
    let resting = |size| (false, BackgroundLoad::HostCcResting, size);
    added(lab, all, "fig12-128B-p99-resting".into(), resting(128), (9900, US));
    if lab.quick {
        return;
    }
    for (size, name) in SIZES {
        let p99 = |beside| percentile(lab, false, beside, size, 9900);
        let tails = [
            BackgroundLoad::Flows,
            BackgroundLoad::HostCcResting,
            BackgroundLoad::CongestedResting,
        ]
        .map(p99);
        let beyond = tails.map(|tail| tail.beyond).into_iter().min().unwrap_or(0);
        let [free, with, without] = tails.map(|tail| tail.percentile.value);
        let value = ratio(with - free, without - free);
        all.insert_tail(format!("fig12-{name}-p99-less-resting"), value, beyond, String::new());
        timeouts(lab, all, format!("fig12-{name}-p999-resting"), resting(size));
    }
}

/// Figure 15: DDIO on.
pub(super) fn figure_15(lab: &Lab, all: &mut MeasuredRows) {
    let run = |beside| (true, beside, 128);
    added(lab, all, "fig15-dctcp-p99".into(), run(BackgroundLoad::Congested), (9900, US));
    added(lab, all, "fig15-dctcp-p999".into(), run(BackgroundLoad::Congested), (9990, MS));
    added(lab, all, "fig15-hostcc-p99".into(), run(BackgroundLoad::HostCc), (9900, US));
    for (size, name) in SIZES {
        timeouts(lab, all, format!("fig15-{name}-p999"), (true, BackgroundLoad::HostCc, size));
    }
    let resting = |size| (true, BackgroundLoad::HostCcResting, size);
    added(lab, all, "fig15-hostcc-p99-resting".into(), resting(128), (9900, US));
    for (size, name) in SIZES.iter().filter(|_| !lab.quick) {
        timeouts(lab, all, format!("fig15-{name}-p999-resting"), resting(*size));
    }
    for (size, name) in &SIZES[1..] {
        let [on, off] = [true, false].map(|ddio| {
            let ([with, free], beyond) =
                with_and_free(lab, (ddio, BackgroundLoad::Congested, *size), 9900);
            (with.percentile.value - free.percentile.value, beyond)
        });
        let value = ratio(on.0, off.0);
        all.insert_tail(format!("fig15-{name}-p99-same"), value, on.1.min(off.1), String::new());
    }
}

/// P99 in us of RPCs of 128 B at 3x with twice our NIC buffer over that with ours.
pub(super) fn text(lab: &Lab, all: &mut MeasuredRows) {
    let ours = percentile(lab, false, BackgroundLoad::Congested, 128, 9900);
    let changed = ("nic_buffer = \"768KB\"\n", "");
    let measured_ms = if lab.quick { 500 } else { 5000 };
    let setup = Setup { rpc: Some(128), changed, measured_ms, ..lab.setup(false, 3) };
    let large = &lab.see(&setup).latencies;
    let value = ratio(large.percentile(9900).value, ours.percentile.value);
    let beyond = large.beyond(9900).min(ours.beyond);
    all.insert_tail("text-buffer-large-p99", value, beyond, ours.said(US));
}

/// Enters P99.9 under hostCC in ms.
fn timeouts(
    lab: &Lab,
    all: &mut MeasuredRows,
    id: String,
    (ddio, beside, size): (bool, BackgroundLoad, u32),
) {
    let tail = percentile(lab, ddio, beside, size, 9990);
    all.insert_tail(id, tail.percentile.value / MS, tail.beyond, tail.said(MS));
}
