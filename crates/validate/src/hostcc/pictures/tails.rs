//! Figures 4, 12 and 15: percentiles of RPCs, and what the rows publish about them.

use super::row;
use crate::chart::{BarLabel, Chart, Panel, strings};
use crate::drawing::Drawing;
use crate::order::Samples;
use forebay_record::svg::{Axis, plain};

/// Request and response sizes.
pub(super) const SIZES: [&str; 5] = ["128B", "512B", "2KB", "8KB", "32KB"];

/// What runs beside an RPC: 4 flows without MApp, with MApp at 3x, and that under hostCC. By the names of their experiments.
const BESIDE: [&str; 3] = ["rpc-free", "rpc-dctcp", "rpc-hostcc"];

/// Percentiles of the table, in parts of 10,000.
const PERCENTILES: [u32; 5] = [5000, 9000, 9900, 9990, 9999];

/// RPCs below which P99.99 says nothing.
const ENOUGH_FOR_P9999: usize = 100_000;

const NAMES: [&str; 3] = ["0x, DCTCP", "3x, DCTCP", "3x, hostCC"];

/// Percentiles that have a panel, in parts of 10,000.
const DRAWN: [(u32, &str); 3] = [(5000, "P50, us"), (9900, "P99, us"), (9990, "P99.9, us")];

/// A figure of the first `series` of [`NAMES`].
pub(super) fn tails(
    drawing: &Drawing,
    title: &str,
    ddio: bool,
    series: usize,
    sizes: &[&str],
) -> String {
    let end = if ddio { "-ddio" } else { "" };
    let latencies = |beside: &str, size: &str| {
        let list = drawing.list(format!("{beside}{end}[{size}].rpcs.latency_us"));
        Samples::new(list.to_vec())
    };
    let samples: Vec<Vec<Samples>> = sizes
        .iter()
        .map(|size| BESIDE[..series].iter().map(|beside| latencies(beside, size)).collect())
        .collect();
    let panels = DRAWN.map(|(per_10_000, label)| {
        let of = |s: &Samples| s.percentile(per_10_000).value;
        let said = sizes.iter().zip(&samples).enumerate().flat_map(|(group, (size, ours))| {
            let levels = (0..series).filter_map(move |b| level(ddio, b, size, per_10_000));
            levels.map(move |level| level.above((group, level.bar), of(&ours[0])))
        });
        Panel {
            label: label.into(),
            axis: Axis::log(10.0, 1e6),
            published: said.collect(),
            values: samples.iter().map(|group| group.iter().map(of).collect()).collect(),
        }
    });
    let mut table =
        vec![strings(&["RPCs, us (95 % interval)", "P50", "P90", "P99", "P99.9", "P99.99"])];
    for (size, group) in sizes.iter().zip(&samples) {
        for (bar, ours) in group.iter().enumerate() {
            table.push(measured(&format!("{size}, {}", NAMES[bar]), ours));
            table.extend(paper(ddio, bar, size));
        }
    }
    Chart {
        title: title.into(),
        groups: strings(sizes),
        group_label: "request and response".into(),
        bars: strings(&NAMES[..series]),
        panels: panels.into(),
        table,
        foot: foot(ddio, series),
    }
    .svg()
}

/// A line of the table: percentiles of our RPCs.
fn measured(name: &str, ours: &Samples) -> Vec<String> {
    let cell = |per_10_000: &u32| match ours.percentile(*per_10_000) {
        _ if *per_10_000 == 9999 && ours.len() < ENOUGH_FOR_P9999 => "too few".into(),
        p => format!("{} ({} to {})", us(p.value), us(p.low), us(p.high)),
    };
    let first = format!("{name}: {} RPCs", ours.len());
    std::iter::once(first).chain(PERCENTILES.iter().map(cell)).collect()
}

/// The line below it: what the rows publish; none where they publish nothing.
fn paper(ddio: bool, bar: usize, size: &str) -> Option<Vec<String>> {
    let levels = PERCENTILES.map(|per_10_000| level(ddio, bar, size, per_10_000));
    let cells = levels.iter().map(|level| level.as_ref().map_or(String::new(), Level::words));
    let line = std::iter::once(format!("{size}, {}: published", NAMES[bar])).chain(cells);
    levels.iter().any(Option::is_some).then(|| line.collect())
}

/// What a row publishes about a percentile.
struct Level {
    id: String,
    bar: usize,
    /// Whether it is what is added to the percentile at 0x.
    added: bool,
}

/// The row about a percentile of RPCs of this size, if there is one. With DDIO the paper calls the results of figure 4 identical.
fn level(ddio: bool, bar: usize, size: &str, per_10_000: u32) -> Option<Level> {
    let (small, percentile) = (size == "128B", if per_10_000 == 9900 { "p99" } else { "p999" });
    let (id, added) = match (BESIDE[bar], per_10_000) {
        ("rpc-dctcp", 9900 | 9990) if ddio && small => (format!("fig15-dctcp-{percentile}"), true),
        ("rpc-dctcp", 9900 | 9990) => (format!("fig4-{size}-{percentile}"), true),
        ("rpc-hostcc", 9900) if small => {
            ((if ddio { "fig15-hostcc-p99" } else { "fig12-128B-p99" }).into(), true)
        }
        ("rpc-hostcc", 9990) => (format!("{}-{size}-p999", figure(ddio)), false),
        _ => return None,
    };
    Some(Level { id, bar, added })
}

fn figure(ddio: bool) -> &'static str {
    if ddio { "fig15" } else { "fig12" }
}

impl Level {
    /// In us, as the row has it.
    fn said(&self, at: (usize, usize)) -> BarLabel {
        let row = row(&self.id);
        let unit = if row.unit == "ms" { 1e3 } else { 1.0 };
        BarLabel::row(at, row).drawn(|value| value * unit)
    }

    /// As it stands in a panel where the percentile at 0x is `free`.
    fn above(&self, at: (usize, usize), free: f64) -> BarLabel {
        let base = if self.added { free } else { 0.0 };
        self.said(at).drawn(|value| value + base)
    }

    fn words(&self) -> String {
        let more = if self.added { " more" } else { "" };
        self.said((0, 0)).limit.words() + more
    }
}

/// How the published levels are to be read.
fn foot(ddio: bool, series: usize) -> Vec<String> {
    let mut foot = strings(&[
        "Published: what is \"more\" is drawn above our 0x. P99 is the middle of \"roughly 60 - 100 us\".",
        "\"At least\" is the paper's least inflation: 120 times 0x, as 0x was when the rows were written.",
    ]);
    if series == 3 {
        foot.push(
            "Under hostCC \"no timeouts even at P99.9\": at most half of the shortest.".into(),
        );
    }
    if ddio {
        foot.push("32KB under DCTCP: as without DDIO, which the paper calls identical.".into());
    }
    foot
}

/// Microseconds in few digits.
fn us(value: f64) -> String {
    if value.is_finite() { plain(value) } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Limit;

    fn drawn(ddio: bool, bar: usize, size: &str, per_10_000: u32) -> Option<Limit> {
        level(ddio, bar, size, per_10_000).map(|level| level.above((0, bar), 50.0).limit)
    }

    #[test]
    fn the_level_of_a_tail_is_its_rows_number_or_bound() {
        let p999 = |size| drawn(false, 1, size, 9990).expect("a row");
        assert_eq!(p999("2KB"), Limit::Between(200_050.0, 200_050.0));
        assert_eq!(p999("8KB"), Limit::AtLeast(8_650.0));
        assert_eq!(p999("32KB"), Limit::AtLeast(10_050.0));
        let named = level(false, 1, "8KB", 9990).expect("a row").above((3, 1), 50.0);
        assert_eq!(named.title, "fig4-8KB-p999: at least 8.6 ms");
        assert_eq!(drawn(true, 1, "32KB", 9990), Some(Limit::AtLeast(10_050.0)), "as figure 4");
        assert_eq!(drawn(true, 1, "128B", 9900), Some(Limit::Between(130.0, 130.0)));
    }

    #[test]
    fn under_hostcc_a_tail_is_bounded_from_above_and_adds_to_nothing() {
        assert_eq!(drawn(false, 2, "8KB", 9990), Some(Limit::AtMost(100_000.0)));
        assert_eq!(drawn(true, 2, "32KB", 9990), Some(Limit::AtMost(100_000.0)));
        assert_eq!(drawn(false, 2, "128B", 9900), Some(Limit::Between(63.0, 63.0)));
        assert_eq!(drawn(false, 2, "8KB", 9900), None);
        assert_eq!(drawn(false, 0, "128B", 9990), None);
    }

    #[test]
    fn the_table_says_which_published_levels_are_bounds() {
        let svg = tails(&Drawing::default(), "t", false, 3, &SIZES);
        for said in [
            ">8KB, 3x, DCTCP: published</text>",
            ">200k more</text>",
            ">at least 8600 more</text>",
            ">at least 10k more</text>",
            ">at most 100k</text>",
            ">published</text>",
            ">published, at least</text>",
            ">published, at most</text>",
        ] {
            assert!(svg.contains(said), "{said} in {svg}");
        }
        assert_eq!(svg.matches(">200k more</text>").count(), 3, "up to 2 KB");
        assert!(!svg.contains("0x, DCTCP: published"), "of 0x nothing is published");
    }
}
