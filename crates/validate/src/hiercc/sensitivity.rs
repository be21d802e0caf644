//! What each free parameter of HierCC, and the seed, do to what a reader takes home.

use super::incast::{figure_4_of, longest_of, regain};
use super::lab::{longest, longest_voq};
use super::setup::{C0, DOWN, NAMED, PACKET, Scheme, Setup, Wiring};
use super::traffic::times;
use crate::bench::with_seeds_above;
use crate::jobs::Cores;
use crate::row::Row;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Each key of the bundle that is a number a fifth less and a fifth more.
const FIFTHS: [(&str, &str, &str); 9] = [
    ("c0", "8KB", "12KB"),
    ("credit", "800B", "1200B"),
    ("q0", "16KB", "24KB"),
    ("beta", "0.16", "0.24"),
    ("window", "8us", "12us"),
    ("v_high", "56KB", "84KB"),
    ("v_low", "40KB", "60KB"),
    ("mark_every", "8us", "12us"),
    ("r_min", "672Mbps", "1008Mbps"),
];

/// Seeds of the headline claims.
const SEEDS: u64 = 5;

/// Load of the flow completion times.
const LOAD: f64 = 0.5;

/// Schemes that are compared, each as its own paper has it.
const OTHERS: [Scheme; 3] = [Scheme::HpccOwn, Scheme::DcqcnOwn, Scheme::TimelyOwn];

/// What HierCC does in one line of the table.
#[derive(Clone, Copy)]
struct Ours {
    times: [f64; 2],
    bound: f64,
    ratio: f64,
    voq: f64,
    regain: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    seed: u64,
    changed: Option<(&'static str, &'static str)>,
}

impl Line {
    fn setup(self, scheme: Scheme, wiring: Wiring) -> Setup {
        Setup { changed: self.changed, ..Setup::new(scheme, wiring, String::new()) }
    }

    fn ours(self, arrivals: f64) -> Ours {
        let of = |wiring| self.setup(Scheme::HierCc(NAMED), wiring);
        let c0 = match self.changed {
            Some(("c0", "8KB")) => 0.8 * C0,
            Some(("c0", _)) => 1.2 * C0,
            _ => C0,
        };
        let lab = figure_4_of(of(Wiring::Four));
        let dcqcn = figure_4_of(Setup::new(Scheme::Dcqcn, Wiring::Four, String::new()));
        Ours {
            times: times(of(Wiring::Twenty), LOAD, arrivals),
            bound: longest_of(of(Wiring::Twenty), 256) / (16.0 * (c0 + PACKET)),
            ratio: dcqcn.seen.longest_queue(DOWN) / longest(&lab.seen),
            voq: longest_voq(&lab.seen) / 1e3,
            regain: regain(&lab).map_or(f64::NAN, |s| s * 1e6),
        }
    }
}

/// A table for people.
pub(crate) fn sensitivity(cores: &Cores<'_>, _rows: &[Row], quick: bool) -> String {
    let arrivals = if quick { 2e-3 } else { 5e-3 };
    let seeds = (1..=SEEDS).map(|seed| Line { seed, changed: None });
    let fifths = FIFTHS.iter().flat_map(|(key, less, more)| {
        [less, more].map(|value| Line { seed: 1, changed: Some((*key, *value)) })
    });
    let lines: Vec<Line> = seeds.clone().chain(fifths).collect();
    let others: Mutex<BTreeMap<(u64, usize), [f64; 2]>> = Mutex::default();
    let ours: Mutex<BTreeMap<Line, Ours>> = Mutex::default();
    let mut calls: Vec<Box<dyn FnOnce() + Send + '_>> = Vec::new();
    for line in seeds {
        for (i, scheme) in OTHERS.into_iter().enumerate() {
            let others = &others;
            calls.push(Box::new(move || {
                let setup = line.setup(scheme, Wiring::Twenty);
                let found = with_seeds_above(line.seed - 1, || times(setup, LOAD, arrivals));
                others.lock().expect("entering does not panic").insert((line.seed, i), found);
            }));
        }
    }
    for &line in &lines {
        let ours = &ours;
        calls.push(Box::new(move || {
            let found = with_seeds_above(line.seed - 1, || line.ours(arrivals));
            ours.lock().expect("entering does not panic").insert(line, found);
        }));
    }
    cores.call(calls);
    let others = others.into_inner().expect("every worker has ended");
    let ours = ours.into_inner().expect("every worker has ended");
    let mut text = format!(
        "Headline claims of {NAMED} over seeds, and with each of its numbers a fifth less and more. By how much FCT is lower than that of others,\n\
         each by its own paper, at load {LOAD}, {} ms of arrivals, in % (mean, then 99th percentile); longest queue of the down port, 256 flows, over\n\
         its bound; figure 4: longest queue of DCQCN over ours, longest VOQ in KB, and us until the link is full again.\n\n\
         {:20}{:>12}{:>14}{:>14}{:>9}{:>8}{:>8}{:>8}\n",
        arrivals * 1e3,
        "",
        "HPCC",
        "DCQCN",
        "TIMELY",
        "bound",
        "ratio",
        "VOQ",
        "us"
    );
    for line in &lines {
        let name = match line.changed {
            Some((key, value)) => format!("{key} {value}"),
            None => format!("seed {}", line.seed),
        };
        let one = ours[line];
        text += &format!("{name:20}");
        for (i, width) in [12, 14, 14].into_iter().enumerate() {
            let other = others[&(line.seed, i)];
            let less = [0, 1].map(|which| (1.0 - one.times[which] / other[which]) * 100.0);
            text += &format!("{:>width$}", format!("{:.0} {:.0}", less[0], less[1]));
        }
        text +=
            &format!("{:>9.2}{:>8.1}{:>8.0}{:>8.0}\n", one.bound, one.ratio, one.voq, one.regain);
    }
    text
}
