//! Figures 2, 3 and 9, the introduction and the text: DCTCP without hostCC.

use super::lab::Lab;
use super::outcome::Outcome;
use super::setup::{Control, Setup};
use super::{MODES, mode, ratio};
use crate::measured::MeasuredRows;

/// Memory bandwidth at which it is full, GB/s.
const FULL: f64 = 34.8;

/// Figure 2: goodput, drops and shares of memory bandwidth at 0x to 3x.
pub(super) fn figure_2(lab: &Lab, all: &mut MeasuredRows) {
    for ddio in MODES {
        let m = mode(ddio);
        let by_degree: Vec<&Outcome> = (0..=3).map(|cores| lab.base(ddio, cores)).collect();
        all.insert(format!("fig2-{m}-0x-goodput"), by_degree[0].goodput);
        all.insert(format!("fig2-{m}-0x-drops"), by_degree[0].drops);
        all.insert(format!("fig2-{m}-1x-drops"), by_degree[1].drops);
        for k in 2..=3 {
            all.insert(format!("fig2-{m}-{k}x-drops"), by_degree[k].drops);
            all.insert(format!("fig2-{m}-{k}x-retransmits"), by_degree[k].retransmits);
            all.insert(format!("fig2-{m}-{k}x-memory"), by_degree[k].memory() / FULL);
            let below = by_degree[k - 1].goodput;
            all.insert(format!("fig2-{m}-{k}x-order"), ratio(by_degree[k].goodput, below));
        }
        for k in 1..=3 {
            let share = |of: &Outcome| of.netapp / of.memory();
            let value = ratio(share(by_degree[k]), share(by_degree[k - 1]));
            all.insert(format!("fig2-{m}-{k}x-share"), value);
        }
        all.insert(format!("fig2-{m}-3x-goodput"), by_degree[3].goodput);
    }
    let [off, on] = MODES.map(|ddio| move |cores| lab.base(ddio, cores));
    all.insert("fig2-off-1x-below", ratio(off(1).goodput, off(0).goodput));
    all.insert("fig2-off-1x-busy", off(1).busy);
    all.insert("fig2-on-1x-goodput", ratio(on(1).goodput, on(0).goodput));
    all.insert_ratio("fig2-drops-on-over-off", on(3).drops, off(3).drops);
    all.insert("fig2-on-3x-loss", ratio(on(3).goodput, on(0).goodput));
    all.insert("fig2-on-over-off-3x", ratio(on(3).goodput, off(3).goodput));
    all.insert("fig2-off-0x-memory", off(0).memory());
    all.insert("fig2-on-0x-memory-less", ratio(on(0).memory(), off(0).memory()));
    all.insert("fig2-on-0x-memory-some", ratio(on(0).memory(), off(0).memory()));
    all.insert("fig2-off-1x-memory", off(1).memory() / FULL);
    all.insert("fig2-off-3x-netapp", off(3).netapp);
    all.insert("fig2-off-3x-mapp", off(3).mapp);
}

/// Packet sizes of Figures 3 and 11.
pub(super) const MTUS: [u32; 3] = [1500, 4000, 9000];
/// Numbers of flows of Figures 3 and 11.
pub(super) const FLOWS: [u32; 3] = [4, 8, 16];

/// A setup of Figures 3 and 11.
pub(super) fn sized(lab: &Lab, ddio: bool, mtu: u32, flows: u32) -> Setup {
    Setup { mtu, flows, ..lab.setup(ddio, 3) }
}

/// Figure 3: packet sizes and numbers of flows at 3x.
pub(super) fn figure_3(lab: &Lab, all: &mut MeasuredRows) {
    let run = |ddio, mtu, flows| lab.see(&sized(lab, ddio, mtu, flows));
    for ddio in MODES {
        let m = mode(ddio);
        let (small, large) = (run(ddio, 1500, 4), run(ddio, 9000, 4));
        let (few, many) = (run(ddio, 4000, 4), run(ddio, 4000, 16));
        all.insert_ratio(format!("fig3-{m}-mtu-drops"), large.drops, small.drops);
        all.insert_ratio(format!("fig3-{m}-flows-drops"), many.drops, few.drops);
        all.insert(format!("fig3-{m}-mtu-goodput"), ratio(large.goodput, small.goodput));
        all.insert(format!("fig3-{m}-flows-goodput"), ratio(many.goodput, few.goodput));
    }
    for (id, mtu, flows) in
        [("fig3-mtu-on-over-off", 9000, 4), ("fig3-flows-on-over-off", 4000, 16)]
    {
        all.insert_ratio(id, run(true, mtu, flows).drops, run(false, mtu, flows).drops);
    }
}

/// A setup of Figure 9.
pub(super) fn held(lab: &Lab, ddio: bool, level: u8) -> Setup {
    match level {
        0 => lab.setup(ddio, 3),
        _ => Setup { control: Control::Level(level), ..lab.setup(ddio, 3) },
    }
}

/// Figure 9: levels held by hand at 3x.
pub(super) fn figure_9(lab: &Lab, all: &mut MeasuredRows) {
    let run = |ddio, level| lab.see(&held(lab, ddio, level));
    for ddio in MODES {
        let m = mode(ddio);
        all.insert(format!("fig9-{m}-3-goodput"), run(ddio, 3).goodput);
        for level in 1..=4 {
            let value = ratio(run(ddio, level).goodput, run(ddio, level - 1).goodput);
            all.insert(format!("fig9-{m}-{level}-order"), value);
        }
        let steps = |of: fn(&Outcome) -> f64| {
            (1..=4).map(move |level| ratio(of(run(ddio, level)), of(run(ddio, level - 1))))
        };
        let (falls, rises) = (steps(|one| one.mapp), steps(|one| one.netapp));
        all.insert(format!("fig9-{m}-mapp-falls"), falls.fold(f64::NAN, f64::max));
        all.insert(format!("fig9-{m}-netapp-rises"), rises.fold(f64::NAN, f64::min));
    }
    for level in 0..=3 {
        let value = ratio(run(true, level).goodput, run(false, level).goodput);
        all.insert(format!("fig9-on-over-off-{level}"), value);
    }
    let [third, fourth] = [3, 4].map(|level| run(false, level));
    all.insert("fig9-off-4-goodput", fourth.goodput);
    all.insert("fig9-netapp-gain", fourth.netapp - third.netapp);
    all.insert("fig9-mapp-loss", third.mapp - fourth.mapp);
    all.insert("fig9-level3-latency", third.slot_ns);
}

/// What the introduction says of Figures 2 and 3; its tails are with the RPCs.
pub(super) fn introduction(lab: &Lab, all: &mut MeasuredRows) {
    let mut drops = Vec::new();
    for ddio in MODES {
        drops.extend((0..=3).map(|cores| lab.base(ddio, cores).drops));
        drops.extend(MTUS.map(|mtu| lab.see(&sized(lab, ddio, mtu, 4)).drops));
        drops.extend(FLOWS.map(|flows| lab.see(&sized(lab, ddio, 4000, flows)).drops));
        let lost = 1.0 - ratio(lab.base(ddio, 3).goodput, lab.base(ddio, 0).goodput);
        all.insert(format!("intro-loss-{}", mode(ddio)), lost * 100.0);
    }
    all.insert("intro-drops", drops.into_iter().fold(f64::NAN, f64::max));
}

/// Numbers of the text that are in no figure.
pub(super) fn text(lab: &Lab, all: &mut MeasuredRows) {
    let free = lab.base(false, 0);
    all.insert("text-memory-per-goodput", ratio(free.netapp * 8.0, free.goodput));
    all.insert("text-pcie-overhead", ratio(free.pcie, free.goodput));
    let idle = Setup { flows: 0, rpc: Some(128), ..lab.setup(false, 0) };
    let latencies = &lab.see(&idle).latencies;
    let (median, beyond) = (latencies.percentile(5000).value, latencies.beyond(5000));
    all.insert_tail("text-rtt", median, beyond, String::new());
    let changed = ("nic_buffer = \"192KB\"\n", "");
    let half = lab.see(&Setup { changed, ..lab.setup(false, 3) });
    all.insert_ratio("text-buffer-small-drops", half.drops, lab.base(false, 3).drops);
}
