//! Figures 1, 2 and 4: short flows that meet long ones at one receiver.

use super::lab::{Lab, longest, longest_voq};
use super::law::voq_bound;
use super::setup::{
    BUNDLES, Buffers, C0, DOWN, LINE, PACKET, Scheme, Setup, Wiring, bursts, dealt, long,
};
use crate::bench::run;
use crate::measured::Measured;

/// A full link, or nearly.
const FULL: f64 = 0.9;

/// Figure 1: two long flows, and 16 of 20 KB at 100 us.
pub(super) fn figure_1(scheme: Scheme, delay: &'static str) -> Lab {
    let short: Vec<String> = (2..18).map(dealt).collect();
    let traffic = long((0..2).map(dealt)) + &bursts(&short, "20KB", &["100us"]);
    let setup =
        Setup { delay, buffers: Buffers::Unbounded, ..Setup::new(scheme, Wiring::Twenty, traffic) };
    Lab::new(&setup.text(), 40e-6, 1.5e-3)
}

/// From the last byte of the burst to the end of the last bin that is not full, s.
fn gap(lab: &Lab) -> Option<f64> {
    let last = lab.last_byte(100e-6)?;
    let full = FULL * lab.rate(50e-6, 100e-6);
    let late = lab.rates(last, 5e-6, 60).rfind(|(_, rate)| *rate < full);
    Some(late.map_or(0.0, |(i, _)| 5e-6 * (i + 1) as f64))
}

pub(super) fn measure_1(measured: &mut Measured) {
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
    for bundle in BUNDLES {
        let lab = figure_1(Scheme::HierCc(bundle), "1us");
        measured.insert(
            format!("fig1a-hiercc-bound-{bundle}"),
            lab.seen.longest_queue(DOWN) / (16.0 * (C0 + PACKET)),
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
    let from: Vec<String> = (0..flows).map(dealt).collect();
    let traffic = bursts(&from, "75KB", &["0us"]);
    let setup =
        Setup { delay, buffers: Buffers::Unbounded, ..Setup::new(scheme, Wiring::Twenty, traffic) };
    run("hiercc", &setup.text(), 0.0, 20e-3).longest_queue(DOWN)
}

pub(super) fn measure_2(measured: &mut Measured) {
    let peaks = |delay| FLOWS.map(|flows| figure_2(Scheme::Hpcc, flows, delay) / 1e6);
    let (whole, half) = (peaks("1us"), peaks("500ns"));
    measured.insert("fig2-16", whole[0]);
    measured.insert("fig2-256", whole[4]);
    measured.insert("fig2-256-half", half[4]);
    for (i, flows) in FLOWS.into_iter().enumerate() {
        measured.insert(format!("fig2-half-{flows}"), half[i] / whole[i]);
        if let Some(next) = whole.get(i + 1) {
            measured.insert(format!("fig2-rise-{flows}"), next / whole[i]);
        }
    }
}

pub(super) fn bound_2(bundle: &'static str, measured: &mut Measured) {
    for flows in [16, 64, 256] {
        let peak = figure_2(Scheme::HierCc(bundle), flows, "1us");
        measured.insert(format!("fig2-bound-{flows}-{bundle}"), peak / (16.0 * (C0 + PACKET)));
    }
}

/// Begin of the bursts of figure 4, s.
pub(super) const BURSTS: [f64; 2] = [1e-3, 3e-3];

/// End of figure 4, s.
pub(super) const END: f64 = 5e-3;

/// Figure 4: a long flow, and 15 of 75 KB at 1 and 3 ms, all of one rack.
pub(super) fn figure_4(scheme: Scheme) -> Lab {
    let host = |i| format!("pod[1].edge[0].host[{i}]");
    let short: Vec<String> = (1..16).map(host).collect();
    let traffic = long([host(0)]) + &bursts(&short, "75KB", &["1ms", "3ms"]);
    Lab::new(&Setup::new(scheme, Wiring::Four, traffic).text(), 0.0, END)
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
fn regain(lab: &Lab) -> Option<f64> {
    let mut slowest: f64 = 0.0;
    for (burst, until) in BURSTS.into_iter().zip([BURSTS[1], END]) {
        let last = lab.last_byte(burst)?;
        let bins = ((until - last) / 5e-6).max(0.0) as usize;
        let full = lab.rates(last, 5e-6, bins).find(|(_, rate)| *rate >= FULL * LINE);
        slowest = slowest.max(full.map_or(f64::INFINITY, |(i, _)| 5e-6 * (i + 1) as f64));
    }
    Some(slowest)
}

pub(super) fn measure_4(measured: &mut Measured) {
    let dcqcn = figure_4(Scheme::Dcqcn);
    let dcqcn_peak = dcqcn.seen.longest_queue(DOWN);
    let dcqcn_least = least(&dcqcn);
    measured.insert("fig4b-dcqcn-peak", dcqcn_peak / 1e3);
    if let Some(least) = dcqcn_least {
        measured.insert("fig4a-dcqcn-waste", least / 1e9);
    }
    for bundle in BUNDLES {
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
        row("fig4b-down-bound", seen.longest_queue(DOWN) / (C0 + PACKET));
        row("fig4b-drops", seen.lost());
        let ahead = seen.after.racks.iter().map(|rack| rack.counters.ahead.get()).max();
        row("law-invariant", ahead.unwrap_or(0) as f64 / C0);
    }
}
