//! Figures 1, 2 and 4: short flows that meet long ones at one receiver.

use super::lab::{Lab, longest, longest_voq};
use super::law::voq_bound;
use super::setup::{
    BUNDLES, Buffers, C0, DOWN, ETA, LINE, NAMED, PACED, PACKET, Scheme, Setup, Wiring, advance,
    bursts, dealt, long,
};
use crate::bench::{mean, run};
use crate::measured::MeasuredRows;

/// A full link, or nearly.
const FULL: f64 = 0.9;

/// Figure 1: two long flows, and 16 of 20 KB at 100 us.
pub(super) fn figure_1(scheme: Scheme, delay: &'static str) -> Lab {
    figure_1_at(scheme, delay, 100, (40e-6, 1.5e-3))
}

/// Figure 1 with the burst at another time in us, sampled in a span of seconds.
pub(super) fn figure_1_at(
    scheme: Scheme,
    delay: &'static str,
    burst_us: u32,
    (from, end): (f64, f64),
) -> Lab {
    let short: Vec<String> = (2..18).map(dealt).collect();
    let at = format!("{burst_us}us");
    let traffic = long((0..2).map(dealt)) + &bursts(&short, "20KB", &[at.as_str()]);
    let setup =
        Setup { delay, buffers: Buffers::Unbounded, ..Setup::new(scheme, Wiring::Twenty, traffic) };
    Lab::new(&setup.text(), from, end)
}

/// What a burst of figure 1 does to flows that have converged: reading 18.
struct Burst {
    /// Longest queue of the down port, bytes.
    peak: f64,
    /// Until the port has been full again, s.
    gap: f64,
    /// Bytes that it did not carry.
    lost: f64,
}

/// What it is full with, bit/s.
const FILLED: f64 = ETA * LINE;

/// Over which its rate is a mean, s.
const SMOOTH: f64 = 20e-6;

impl Burst {
    fn of(scheme: Scheme, delay: &'static str, burst_us: u32) -> Option<Self> {
        let start = f64::from(burst_us) * 1e-6;
        let lab = figure_1_at(scheme, delay, burst_us, (start, start + 600e-6));
        let last = lab.last_byte(start)?;
        let under = |us: &u32| {
            let from = last + f64::from(*us) * 1e-6;
            lab.rate(from, from + SMOOTH) < FULL * FILLED
        };
        let late = (0..=300).rev().find(under);
        let missing = lab.rates(last, SMOOTH, 10).map(|(_, rate)| (FILLED - rate).max(0.0));
        Some(Self {
            peak: lab.seen.longest_queue(DOWN),
            gap: late.map_or(0.0, |us| f64::from(us) * 1e-6 + SMOOTH),
            lost: missing.sum::<f64>() * SMOOTH / 8.0,
        })
    }

    /// One in each round of the five that HPCC adds for, and a few more.
    fn all(scheme: Scheme, delay: &'static str) -> Option<Vec<Self>> {
        (0..8).map(|i| Self::of(scheme, delay, 400 + 10 * i)).collect()
    }
}

/// The mean over bursts, and its remark.
fn over_bursts(bursts: &[Burst], of: impl Fn(&Burst) -> f64) -> (f64, String) {
    let values: Vec<f64> = bursts.iter().map(of).collect();
    let low = values.iter().copied().fold(f64::MAX, f64::min);
    let high = values.iter().copied().fold(f64::MIN, f64::max);
    (mean(&values), format!("{low:.0} to {high:.0} over {} bursts", values.len()))
}

/// Figure 1 under reading 18.
pub(super) fn measure_1_printed(measured: &mut MeasuredRows) {
    let mut lost = Vec::new();
    for (delay, end) in [("1us", ""), ("500ns", "-half")] {
        let Some(bursts) = Burst::all(Scheme::HpccOwn, delay) else { return };
        let (peak, remark) = over_bursts(&bursts, |one| one.peak / 1e3);
        measured.insert_saying(format!("fig1a-hpcc-peak{end}-printed"), peak, remark);
        let (gap, remark) = over_bursts(&bursts, |one| one.gap * 1e6);
        measured.insert_saying(format!("fig1b-hpcc-gap{end}-printed"), gap, remark);
        lost.push(over_bursts(&bursts, |one| one.lost / 1e3));
        if end == "-half" {
            let gap_of = |id: &str| measured.number(id).unwrap_or(f64::NAN);
            let ratio = gap_of("fig1b-hpcc-gap-printed") / gap;
            measured.insert("fig1b-hpcc-gap-ratio-printed", ratio);
        }
    }
    let said = |(value, range): &(f64, String)| format!("{value:.0} KB, {range}");
    let remark = format!("{}; {}", said(&lost[0]), said(&lost[1]));
    measured.insert_saying("fig1b-hpcc-lost-order-printed", lost[0].0 / lost[1].0, remark);
    if let Some(bursts) = Burst::all(Scheme::HierCc(NAMED), "1us") {
        let ours = over_bursts(&bursts, |one| one.lost / 1e3);
        let remark = format!("{}; HPCC {}", said(&ours), said(&lost[0]));
        measured.insert_saying("fig1b-hiercc-lost-order-printed", ours.0 / lost[0].0, remark);
    }
}

/// From the last byte of the burst to the end of the last bin that is not full, s.
fn gap(lab: &Lab) -> Option<f64> {
    let last = lab.last_byte(100e-6)?;
    let full = FULL * lab.rate(50e-6, 100e-6);
    let late = lab.rates(last, 5e-6, 60).rfind(|(_, rate)| *rate < full);
    Some(late.map_or(0.0, |(i, _)| 5e-6 * (i + 1) as f64))
}

pub(super) fn measure_1(measured: &mut MeasuredRows) {
    let mut gaps = Vec::new();
    for (delay, end) in [("1us", ""), ("500ns", "-half")] {
        let lab = figure_1(Scheme::Hpcc, delay);
        measured.insert(format!("fig1a-hpcc-peak{end}"), lab.seen.longest_queue(DOWN) / 1e3);
        if let Some(gap) = gap(&lab) {
            measured.insert(format!("fig1b-hpcc-gap{end}"), gap * 1e6);
            gaps.push(gap);
        }
    }
    if let [long, short] = gaps[..] {
        measured.insert("fig1b-hpcc-gap-ratio", long / short);
    }
    for bundle in BUNDLES.into_iter().chain([PACED]) {
        let lab = figure_1(Scheme::HierCc(bundle), "1us");
        measured.insert(
            format!("fig1a-hiercc-bound-{bundle}"),
            lab.seen.longest_queue(DOWN) / (16.0 * (advance(bundle) + PACKET)),
        );
        if let Some(gap) = gap(&lab) {
            measured.insert(format!("fig1b-hiercc-gap-{bundle}"), gap * 1e6);
        }
    }
}

/// Numbers of flows in figure 2.
pub(super) const FLOWS: [u32; 5] = [16, 32, 64, 128, 256];

/// Figure 2: the longest queue of so many flows of 75 KB, bytes.
pub(super) fn figure_2(scheme: Scheme, flows: u32, delay: &'static str) -> f64 {
    let setup = Setup { delay, ..Setup::new(scheme, Wiring::Twenty, String::new()) };
    longest_of(setup, flows)
}

/// Longest queue of figure 2 for a setup without traffic of its own.
pub(super) fn longest_of(setup: Setup, flows: u32) -> f64 {
    let from: Vec<String> = (0..flows).map(dealt).collect();
    let rest = bursts(&from, "75KB", &["0us"]);
    let setup = Setup { buffers: Buffers::Unbounded, rest, ..setup };
    run("hiercc", &setup.text(), 0.0, 20e-3).longest_queue(DOWN)
}

/// Figure 2 with T as the paths take it, and as printed.
pub(super) fn measure_2(scheme: Scheme, measured: &mut MeasuredRows) {
    let end = if scheme == Scheme::HpccOwn { "-printed" } else { "" };
    let peaks = |delay| FLOWS.map(|flows| figure_2(scheme, flows, delay) / 1e6);
    let (whole, half) = (peaks("1us"), peaks("500ns"));
    let each: Vec<String> =
        FLOWS.iter().zip(&whole).map(|(flows, peak)| format!("{flows}: {peak:.2}")).collect();
    measured.insert_saying(
        format!("fig2-16{end}"),
        whole[0],
        format!("MB by flows {}", each.join(", ")),
    );
    measured.insert(format!("fig2-256{end}"), whole[4]);
    measured.insert(format!("fig2-256-half{end}"), half[4]);
    for (i, flows) in FLOWS.into_iter().enumerate() {
        measured.insert(format!("fig2-half-{flows}{end}"), half[i] / whole[i]);
        if let Some(next) = whole.get(i + 1) {
            measured.insert(format!("fig2-rise-{flows}{end}"), next / whole[i]);
        }
    }
    if !end.is_empty() {
        let line = |flows: u32| {
            whole[0]
                + (whole[4] - whole[0]) * f64::from(flows - FLOWS[0])
                    / f64::from(FLOWS[4] - FLOWS[0])
        };
        let least = (1..4).map(|i| whole[i] / line(FLOWS[i])).fold(f64::MAX, f64::min);
        measured.insert("fig2-linear-printed", least);
    }
}

pub(super) fn bound_2(bundle: &'static str, measured: &mut MeasuredRows) {
    for flows in [16, 64, 256] {
        let peak = figure_2(Scheme::HierCc(bundle), flows, "1us");
        let bound = 16.0 * (advance(bundle) + PACKET);
        measured.insert(format!("fig2-bound-{flows}-{bundle}"), peak / bound);
    }
}

/// Begin of the bursts of figure 4, s.
pub(super) const BURSTS: [f64; 2] = [1e-3, 3e-3];

/// End of figure 4, s.
pub(super) const END: f64 = 5e-3;

/// Figure 4: a long flow, and 15 of 75 KB at 1 and 3 ms, all of one rack.
pub(super) fn figure_4(scheme: Scheme) -> Lab {
    figure_4_of(Setup::new(scheme, Wiring::Four, String::new()))
}

/// Figure 4 for a setup without traffic of its own.
pub(super) fn figure_4_of(setup: Setup) -> Lab {
    let host = |i| format!("pod[1].edge[0].host[{i}]");
    let short: Vec<String> = (1..16).map(host).collect();
    let rest = long([host(0)]) + &bursts(&short, "75KB", &["1ms", "3ms"]);
    Lab::new(&Setup { rest, ..setup }.text(), 0.0, END)
}

/// Least rate in a bin of 50 us within 500 us of the end of a burst, bit/s.
fn least(lab: &Lab) -> Option<f64> {
    let mut least = f64::INFINITY;
    for burst in BURSTS {
        let last = lab.last_byte(burst)?;
        let bins = (((END - last) / 50e-6) as usize).min(10);
        least = lab.rates(last, 50e-6, bins).map(|(_, rate)| rate).fold(least, f64::min);
    }
    Some(least)
}

/// The slower of both times from the last byte of a burst until the port is full, s; infinite: not by the end.
pub(super) fn regain(lab: &Lab) -> Option<f64> {
    let mut slowest: f64 = 0.0;
    for (burst, until) in BURSTS.into_iter().zip([BURSTS[1], END]) {
        let last = lab.last_byte(burst)?;
        let bins = ((until - last) / 5e-6).max(0.0) as usize;
        let full = lab.rates(last, 5e-6, bins).find(|(_, rate)| *rate >= FULL * LINE);
        slowest = slowest.max(full.map_or(f64::INFINITY, |(i, _)| 5e-6 * (i + 1) as f64));
    }
    Some(slowest)
}

pub(super) fn measure_4(measured: &mut MeasuredRows) {
    let dcqcn = figure_4(Scheme::Dcqcn);
    let dcqcn_peak = dcqcn.seen.longest_queue(DOWN);
    let dcqcn_least = least(&dcqcn);
    measured.insert("fig4b-dcqcn-peak", dcqcn_peak / 1e3);
    if let Some(least) = dcqcn_least {
        measured.insert("fig4a-dcqcn-waste", least / 1e9);
    }
    for bundle in BUNDLES.into_iter().chain([PACED]) {
        let lab = figure_4(Scheme::HierCc(bundle));
        let seen = &lab.seen;
        let mut row = |what: &str, value: f64| measured.insert(format!("{what}-{bundle}"), value);
        row("fig4a-rate", lab.rate(0.5e-3, END) / 1e9);
        if let Some(least) = least(&lab) {
            row("fig4a-least", least / 1e9);
            if let Some(of_dcqcn) = dcqcn_least {
                row("fig4a-over-dcqcn", least / of_dcqcn);
            }
        }
        if let Some(time) = regain(&lab) {
            row("fig4a-regain", time * 1e6);
        }
        row("fig4b-ratio", dcqcn_peak / longest(seen));
        row("fig4b-ratio-down", dcqcn_peak / seen.longest_queue(DOWN));
        row("fig4b-voq-bound", longest_voq(seen) / voq_bound(16.0));
        row("fig4b-down-bound", seen.longest_queue(DOWN) / (advance(bundle) + PACKET));
        row("fig4b-drops", seen.lost());
        if bundle == PACED {
            continue;
        }
        let ahead = seen.after.racks.iter().map(|rack| rack.counters.ahead.get()).max();
        row("law-invariant", ahead.unwrap_or(0) as f64 / C0);
    }
}
