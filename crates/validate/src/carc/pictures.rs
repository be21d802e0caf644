//! CARC's figures and its table 1: numbers of rows, with what the text states of a figure. Points of curves have a file of their own beside them.

use super::{IDLE, LONG, NAMED, READINGS, cache, points};
use crate::chart::strings;
use crate::measured::MeasuredRows;
use crate::row::Row;
use crate::row_chart::{RowChart, RowPanel, cell, said};

/// Every picture that has a number: those of a reading other than the named one end in its name.
pub(crate) fn all(measured: &MeasuredRows) -> Vec<(String, String)> {
    let rows = crate::rows("carc");
    let mut pictures = vec![
        ("carc-fig3.svg".to_string(), figure_3().svg(&rows, measured)),
        ("carc-fig4.svg".to_string(), figure_4().svg(&rows, measured)),
        ("carc-fig7.svg".to_string(), figure_7().svg(&rows, measured)),
    ];
    let curves = points::pictures(&rows, measured);
    for name in READINGS {
        let end = if name == NAMED { String::new() } else { format!("-{name}") };
        let figures = [
            ("fig2", figure_2(name)),
            ("fig5", figure_5(name)),
            ("fig8", figure_8(name)),
            ("table1", table_1(name, &rows, measured)),
        ];
        for (figure, chart) in figures {
            if name == NAMED && !curves.is_empty() && matches!(figure, "fig5" | "fig8") {
                continue; // curves have more
            }
            pictures.push((format!("carc-{figure}{end}.svg"), chart.svg(&rows, measured)));
        }
    }
    let numbers = points::text(measured).map(|text| ("carc-points.toml".to_string(), text));
    let drawn = pictures.into_iter().filter_map(|(name, picture)| Some((name, picture?)));
    drawn.chain(curves).chain(numbers).collect()
}

/// A chart with a bar for each group; `""` leaves a group out of a panel.
fn simple(title: &str, groups: &[&str], bar: &str, panels: &[(&str, &[String])]) -> RowChart {
    let panel = |(label, ids): &(&str, &[String])| RowPanel {
        label: (*label).into(),
        log: false,
        ids: ids.iter().map(|id| vec![id.clone()]).collect(),
    };
    RowChart {
        title: title.into(),
        groups: strings(groups),
        group_label: String::new(),
        bars: strings(&[bar]),
        panels: panels.iter().map(panel).collect(),
        table: Vec::new(),
        foot: Vec::new(),
    }
}

/// Ids that end in the name of a reading; an empty one stays.
fn under(bundle: &str, ids: &[&str]) -> Vec<String> {
    let of = |id: &&str| if id.is_empty() { String::new() } else { format!("{id}-{bundle}") };
    ids.iter().map(of).collect()
}

/// Rows that only the named reading has.
fn if_named<'a>(bundle: &str, id: &'a str) -> &'a str {
    if bundle == NAMED { id } else { "" }
}

fn figure_2(bundle: &str) -> RowChart {
    let speedup = if_named(bundle, "fig2-speedup");
    let ids = under(bundle, &["fig2-erpc", "fig2-hostcc", speedup]);
    let groups = ["eRPC", "hostCC + eRPC", "16 connections: hostCC + eRPC over eRPC"];
    let label = "Throughput of a core, 1 connection over 16";
    RowChart {
        foot: vec![
            "The last bar is missing where hostCC marked nothing: then both sides are equal for want of an event.".into(),
        ],
        ..simple(
            &format!("CARC, figure 2: requests of 7.9 MB; {bundle}"),
            &groups,
            "Forebay",
            &[(label, &ids)],
        )
    }
}

fn figure_3() -> RowChart {
    let steps =
        ["step-1-held", "step-2-misses", "step-2-evicts-6", "step-3-evicts", "step-4-misses"];
    let ids = steps.map(|step| format!("{}-fig3-{step}", cache::PART));
    let groups = [
        "1: 6 and 7 are held",
        "2: of 4 reads miss",
        "2: evicts 6 alone",
        "3: evictions",
        "4: of 4 reads miss",
    ];
    simple(
        "CARC, figure 3: eight buffers, of which the cache holds five and the NIC fills two",
        &groups,
        "Forebay",
        &[("Buffers", &ids)],
    )
}

fn figure_4() -> RowChart {
    let queues = ["literal", "fits", NAMED];
    let states = ["s1", "s2", "s3"];
    // A ring of S holds no more than S.
    let id = |state: &str, queue: &str| match (state, queue) {
        ("s3", "fits") => String::new(),
        _ => format!("{}-fig4-{state}-{queue}", cache::PART),
    };
    let ids = states.iter().map(|state| queues.iter().map(|queue| id(state, queue)).collect());
    RowChart {
        title: "CARC, figure 4: reads that miss, by how much data waits".into(),
        groups: strings(&["S1: half of D", "S2: between D and S", "S3: 1.5 S"]),
        group_label: "unread data".into(),
        bars: strings(&["ring of 94 MiB", "ring of S", "94 MiB, last freed is filled first"]),
        panels: vec![RowPanel {
            label: "Reads that miss, %".into(),
            log: false,
            ids: ids.collect(),
        }],
        table: Vec::new(),
        foot: vec!["A ring of S cannot hold 1.5 S.".into()],
    }
}

fn figure_5(bundle: &str) -> RowChart {
    let falls = under(bundle, &["fig5a-throughput", "fig5b-short", "fig5c-long"]);
    let short = if_named(bundle, "fig5b-misses");
    let misses = under(bundle, &["fig5a-misses", short, "fig5c-misses"]);
    RowChart {
        foot: vec![
            "a: from 0 to the most ticks. b: from 0 to 8 long cores. c: a core, from 1 to 8 long cores; misses with 8.".into(),
        ],
        ..simple(
            &format!("CARC, figure 5: what a full cache costs hostCC; {bundle}"),
            &["a: echoes", "b: short requests", "c: long requests"],
            "hostCC",
            &[("Fall of throughput, %", &falls), ("Reads that miss, %", &misses)],
        )
    }
}

fn figure_7() -> RowChart {
    let ids = ["basic", "loosened"].map(|credits| format!("{IDLE}-fig7-{credits}"));
    simple(
        "CARC, figure 7: cores that idle, in a setting of ours",
        &["basic credits, below rate x RTT", "loosened credits"],
        "CARC",
        &[("Time in which cores idle, %", &ids)],
    )
}

fn figure_8(bundle: &str) -> RowChart {
    let over = under(bundle, &["fig8a-throughput", "fig8b-throughput"]);
    let less = under(bundle, &["fig8a-misses", "fig8b-misses"]);
    RowChart {
        foot: vec![
            "a: at the most ticks. b: the best of 2, 4, 6 and 8 long cores; misses with 8.".into(),
        ],
        ..simple(
            &format!("CARC, figure 8: credits against hostCC; {bundle}"),
            &["a: echoes", "b: long requests"],
            "CARC against hostCC",
            &[("Throughput, CARC over hostCC", &over), ("Fewer reads that miss, %", &less)],
        )
    }
}

fn table_1(bundle: &str, rows: &[Row], measured: &MeasuredRows) -> RowChart {
    let id = |what: &str, percentile: &str, long: u32| {
        format!("table1-{what}-{percentile}-8-{long}-{bundle}")
    };
    let panel = |percentile: &str| RowPanel {
        label: format!("{} of requests of 7.9 MB, us", percentile.to_uppercase()),
        log: false,
        ids: LONG
            .map(|long| ["hostcc", "carc"].map(|scheme| id(scheme, percentile, long)).to_vec())
            .to_vec(),
    };
    let groups = LONG.map(|long| format!("8:{long}"));
    let mut table = vec![
        ["hostCC over CARC".to_string()].into_iter().chain(groups.clone()).collect::<Vec<_>>(),
    ];
    for percentile in ["p50", "p99"] {
        let name = percentile.to_uppercase();
        let gain = |long| id("gain", percentile, long);
        let here = LONG.map(|long| cell(measured.number(&gain(long)), 2)).to_vec();
        let paper = LONG.map(|long| said(rows, &gain(long))).to_vec();
        table.push([vec![format!("{name}, here")], here].concat());
        table.push([vec![format!("{name}, published")], paper].concat());
    }
    RowChart {
        title: format!("CARC, table 1: long requests beside eight cores with short ones; {bundle}"),
        groups: groups.to_vec(),
        group_label: "short and long cores".into(),
        bars: strings(&["hostCC", "CARC"]),
        panels: vec![panel("p50"), panel("p99")],
        table,
        foot: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pictures of the page are those of recorded numbers. `FOREBAY_BLESS=1` rewrites them.
    #[test]
    fn pictures_of_the_page_are_drawn_from_recorded_numbers() {
        let mut drawn = all(&crate::recorded::numbers("carc"));
        drawn.retain(|(name, _)| name.ends_with(".svg"));
        let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
        let figures = ["fig3", "fig4", "fig7", "fig2", "table1", "fig5a-fig8a", "fig5bc-fig8b"];
        assert_eq!(names, figures.map(|figure| format!("carc-{figure}.svg")));
        drawn.iter().for_each(|(name, picture)| crate::recorded::tests::check(name, picture));
        let table = &drawn[4].1;
        // Table 1 of the text, 8:8: 5,983 and 4,341 us, 1.38 times.
        assert!(table.contains("table1-hostcc-p50-8-8-lifo16six: 5983 us"), "{table}");
        assert!(table.contains(">1.38</text>") && table.contains(">1.41</text>"), "{table}");
        // No whole run of P99 at 8:2: a mark without a bar.
        assert!(!table.contains("8:2 hostCC: 4025"));
        assert!(table.contains("table1-hostcc-p99-8-2-lifo16six: 4025 us"));
    }

    #[test]
    fn a_run_of_one_part_draws_the_figures_of_that_part() {
        let mut measured = MeasuredRows::new();
        cache::measure(&mut measured);
        let names: Vec<String> = all(&measured).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["carc-fig3.svg", "carc-fig4.svg"]);
    }
}
