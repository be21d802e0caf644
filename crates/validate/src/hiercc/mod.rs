//! HierCC (APNet 2021): what of its suite is not data. Experiments and rows are in `validation/hiercc/`.

mod pictures;
mod sensitivity;

use crate::experiments::{Lists, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::row::Row;
use forebay_scenario::cdf;
pub(crate) use sensitivity::sensitivity;

/// Parts, by the figure of their rows.
const PARTS: [&str; 8] = ["fig1", "fig2", "fig4", "fig5", "text", "law", "own", "epcode"];

pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// The bundles of readings; the verdict names the last.
const BUNDLES: [&str; 3] = ["literal", "recommended", "recommended-count"];
const NAMED: &str = BUNDLES[2];

/// The port to the receiver of all flows but those of figure 5.
const DOWN: &str = "port(pod[0].edge[0]->pod[0].edge[0].host[0])";

/// "fig5a-over-hpcc-literal" belongs to "fig5". Two rows stand with the runs that answer them.
pub(crate) fn part_of(row: &Row) -> &str {
    if row.id.starts_with("text-queue-traffic") {
        return "fig5";
    }
    for (end, part) in [("-own", "own"), ("-epcode", "epcode")] {
        if row.id.ends_with(end) {
            return part;
        }
    }
    if row.id.starts_with("law-invariant") {
        return "fig4";
    }
    PARTS.into_iter().find(|part| row.id.starts_with(part)).unwrap_or("text")
}

/// Everything, or one part. `quick` shortens figure 5 and leaves reading 17 out.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let rows = crate::rows_of(&crate::whole_name("hiercc", part));
    let figure_5 = part.is_none_or(|part| part == "fig5");
    let formulas = if draw { pictures::formulas(figure_5) } else { Vec::new() };
    let lists = Lists { formulas, further: Vec::new() };
    let (mut measured, lists) =
        measure_with_lists(Folder::of("hiercc"), &rows, &lists, cores, quick);
    if rows.iter().any(|row| row.id.starts_with("text-input")) {
        inputs(&mut measured);
    }
    let pictures = if draw { pictures::all(&lists, figure_5.then_some(quick)) } else { Vec::new() };
    (measured, pictures)
}

/// What the text says of flows in data centres, checked on the distributions in use.
fn inputs(measured: &mut MeasuredRows) {
    let rows = [
        ("cache", "cachefollower", 20_000),
        ("web", "webserver", 10_000),
        ("hadoop", "fbhadoop_hpcc", 1_000),
    ];
    for (row, sizes, bytes) in rows {
        measured.insert(format!("text-input-{row}"), share_under(sizes, bytes));
    }
}

/// Share of the flows of a distribution under a size, per cent.
fn share_under(sizes: &str, bytes: u64) -> f64 {
    let sizes = cdf::by_name(sizes).expect("it is packaged");
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if sizes.sample(middle).get() < bytes { low = middle } else { high = middle }
    }
    low * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data one way and ACKs of the other fill `fill` of a link: HPCC adds telemetry of 42 B to both. SIGCOMM 2019, section 4; U is
    /// `eta` + `w_ai` / (B T), 0.2 % more than `eta`.
    #[test]
    fn with_data_both_ways_a_link_carries_less_under_hpcc() {
        let [here, there] = ["pod[0].edge[0].host[0]", "pod[1].edge[0].host[0]"];
        let long = |from, to| format!("{{ kind = \"long\", from = \"{from}\", to = \"{to}\" }}");
        let further = [
            ("traffic", format!("[{}, {}]", long(there, here), long(here, there))),
            ("stop.time", "\"3ms\"".into()),
            ("output.warmup", "\"1ms\"".into()),
        ];
        let schemes =
            [("fig1[hpcc]", 0.95, 1090.0 + 106.0), ("round-trip[dcqcn]", 1.0, 1048.0 + 64.0)];
        let formula = |scheme: &str| format!("{scheme}.window.flows.acked_bytes * 8 / 2e-3");
        let lists = Lists {
            formulas: schemes.iter().map(|(scheme, ..)| formula(scheme)).collect(),
            further: further.map(|(key, value)| (key.to_string(), value)).to_vec(),
        };
        let cores = Cores::new(&|_, _| {});
        let found = measure_with_lists(Folder::of("hiercc"), &[], &lists, &cores, false).1;
        for (scheme, fill, packet_and_ack) in schemes {
            let payloads = &found[&formula(scheme)];
            assert_eq!(payloads.len(), 2, "{scheme}");
            for payload in payloads {
                let expected = fill * 25e9 * 1000.0 / packet_and_ack;
                let off = (payload / expected - 1.0).abs();
                assert!(off < 0.005, "{scheme}: {payload} is not {expected}");
            }
        }
    }
}
