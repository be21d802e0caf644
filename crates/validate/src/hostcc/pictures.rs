//! The paper's figures drawn again, with what it says in so many words beside ours.

use super::control::{
    INCAST, TARGETS, THRESHOLDS, at_threshold, incast, targeted, targeted_resting,
};
use super::dctcp::{FLOWS, MTUS, held, sized};
use super::lab::Lab;
use super::outcome::{Outcome, Point};
use super::setup::{Control, HostCc};
use super::signals::{TARGET, THRESHOLD, ideas, traced};
use super::tails::{Beside, ENOUGH_FOR_P9999, PERCENTILES, SIZES, latencies};
use crate::chart::{Chart, Panel};
use crate::plot::{self, Line, Rule, plot};
use forebay_record::svg::Axis;

type Pictures = Vec<(String, String)>;

/// A part, and how it is drawn.
type Picture = (&'static str, fn(&Lab) -> String);

/// Every picture of the wanted parts.
pub(super) fn pictures(lab: &Lab, wanted: &dyn Fn(&str) -> bool) -> Pictures {
    let all: [Picture; 14] = [
        ("fig2", figure_2),
        ("fig3", figure_3),
        ("fig4", |lab| tails(lab, "Figure 4: RPCs beside DCTCP, DDIO off", false, 2, &SIZES)),
        ("fig8", figure_8),
        ("fig9", figure_9),
        ("fig10", |lab| degrees(lab, "Figure 10: hostCC, DDIO off", false)),
        ("fig11", figure_11),
        ("fig12", |lab| tails(lab, "Figure 12: RPCs under hostCC, DDIO off", false, 3, &SIZES)),
        ("fig13", figure_13),
        ("fig14", |lab| degrees(lab, "Figure 14: hostCC, DDIO on, I_T 50", true)),
        ("fig15", |lab| {
            let ends = [SIZES[0], SIZES[4]];
            tails(lab, "Figure 15: RPCs under hostCC, DDIO on, I_T 50", true, 3, &ends)
        }),
        ("fig16", figure_16),
        ("fig17", figure_17),
        ("fig19", figure_19),
    ];
    let drawn = all.into_iter().filter(|(name, _)| wanted(name));
    let mut drawn: Pictures =
        drawn.map(|(name, draw)| (format!("hostcc-{name}.svg"), draw(lab))).collect();
    if wanted("fig18") {
        drawn.push(("hostcc-fig18a.svg".into(), figure_18a(lab)));
        drawn.push(("hostcc-fig18.svg".into(), figure_18(lab)));
    }
    drawn
}

const DROPS: Axis = Axis::log(1e-5, 10.0);
const GOODPUT: Axis = Axis::linear(0.0, 110.0);
const MEMORY: Axis = Axis::linear(0.0, 40.0);

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_string()).collect()
}

fn panel(label: &str, axis: Axis, runs: &[Vec<&Outcome>], of: fn(&Outcome) -> f64) -> Panel {
    let values = runs.iter().map(|group| group.iter().map(|run| of(run)).collect()).collect();
    Panel { label: label.into(), axis, values, published: Vec::new() }
}

fn goodput(runs: &[Vec<&Outcome>], published: &[(usize, usize, f64, f64)]) -> Panel {
    let bare = panel("Goodput, Gb/s", GOODPUT, runs, |run| run.goodput);
    Panel { published: published.to_vec(), ..bare }
}

fn drops(runs: &[Vec<&Outcome>], published: &[(usize, usize, f64, f64)]) -> Panel {
    let bare = panel("NIC drops, % (none: on the floor)", DROPS, runs, |run| run.drops);
    Panel { published: published.to_vec(), ..bare }
}

/// NetApp-T's and MApp's bandwidth, bars of each run in turn.
fn memory(runs: &[Vec<&Outcome>], published: &[(usize, usize, f64, f64)]) -> Panel {
    let values = runs.iter().map(|group| group.iter().map(|run| run.mapp).collect()).collect();
    Panel {
        label: "Memory bandwidth of MApp, GB/s".into(),
        axis: MEMORY,
        values,
        published: published.to_vec(),
    }
}

fn chart(
    title: &str,
    groups: Vec<String>,
    label: &str,
    bars: &[&str],
    panels: Vec<Panel>,
) -> Chart {
    Chart {
        title: title.into(),
        groups,
        group_label: label.into(),
        bars: strings(bars),
        panels,
        table: Vec::new(),
        foot: String::new(),
    }
}

/// Memory bandwidth by owner.
fn owners(groups: &[&str], runs: &[Vec<&Outcome>], names: &[&str]) -> Vec<Vec<String>> {
    let mut table = vec![vec!["NetApp-T + MApp, GB/s".to_string()]];
    table[0].extend(groups.iter().map(|g| (*g).to_string()));
    for (b, name) in names.iter().enumerate() {
        let mut row = vec![(*name).to_string()];
        row.extend(runs.iter().map(|group| {
            let run = group[b];
            format!("{:.1} + {:.1} = {:.1}", run.netapp, run.mapp.abs(), run.memory())
        }));
        table.push(row);
    }
    table
}

fn figure_2(lab: &Lab) -> String {
    let groups = ["0x", "1x", "2x", "3x"];
    let runs: Vec<Vec<&Outcome>> =
        (0..4).map(|k| vec![lab.base(false, k), lab.base(true, k)]).collect();
    let rate = goodput(
        &runs,
        &[(0, 0, 98.0, 100.0), (0, 1, 98.0, 100.0), (3, 0, 43.0, 43.0), (3, 1, 45.0, 65.0)],
    );
    let said: Vec<_> = [(2, 0), (2, 1), (3, 0), (3, 1)].map(|(g, b)| (g, b, 0.3, 0.3)).to_vec();
    let panels = vec![rate, drops(&runs, &said), memory(&runs, &[(3, 0, 23.5, 23.5)])];
    let bars = ["DDIO off", "DDIO on"];
    Chart {
        table: owners(&groups, &runs, &bars),
        ..chart(
            "Figure 2: host congestion under DCTCP",
            strings(&groups),
            "degree of host congestion",
            &bars,
            panels,
        )
    }
    .svg()
}

fn figure_3(lab: &Lab) -> String {
    let cells = MTUS.map(|mtu| (mtu, 4)).into_iter().chain(FLOWS[1..].iter().map(|f| (4000, *f)));
    let cells: Vec<(u32, u32)> = cells.collect();
    let groups = cells.iter().map(|(mtu, flows)| format!("{mtu} B, {flows}")).collect();
    let runs: Vec<Vec<&Outcome>> = cells
        .iter()
        .map(|(mtu, flows)| {
            [false, true].map(|ddio| lab.see(&sized(lab, ddio, *mtu, *flows))).to_vec()
        })
        .collect();
    let panels = vec![goodput(&runs, &[]), drops(&runs, &[])];
    chart(
        "Figure 3: larger packets and more flows under DCTCP, 3x",
        groups,
        "packet, flows",
        &["DDIO off", "DDIO on"],
        panels,
    )
    .svg()
}

fn figure_9(lab: &Lab) -> String {
    let runs: Vec<Vec<&Outcome>> = (0..5)
        .map(|level| [false, true].map(|ddio| lab.see(&held(lab, ddio, level))).to_vec())
        .collect();
    let groups = ["0", "1", "2", "3", "4"];
    let rate = goodput(
        &runs,
        &[(0, 0, 43.0, 43.0), (3, 0, 77.0, 77.0), (4, 0, 100.0, 100.0), (3, 1, 100.0, 100.0)],
    );
    let panels = vec![rate, memory(&runs, &[(3, 0, 13.8, 13.8)])];
    let bars = ["DDIO off", "DDIO on"];
    Chart {
        table: owners(
            &groups.map(|g| ["level 0", "1", "2", "3", "4"][g.parse::<usize>().unwrap_or(0)]),
            &runs,
            &bars,
        ),
        ..chart("Figure 9: levels held by hand, 3x", strings(&groups), "level", &bars, panels)
    }
    .svg()
}

fn degrees(lab: &Lab, title: &str, ddio: bool) -> String {
    let groups = ["0x", "1x", "2x", "3x"];
    let runs: Vec<Vec<&Outcome>> =
        (0..4).map(|k| vec![lab.base(ddio, k), lab.hostcc(ddio, k)]).collect();
    let target = [(2, 1, 80.0, 80.0), (3, 1, 80.0, 80.0)];
    let dropped = if ddio { vec![(3, 1, 0.3 / 37.0, 0.3 / 37.0)] } else { Vec::new() };
    let panels = vec![goodput(&runs, &target), drops(&runs, &dropped), memory(&runs, &[])];
    let bars = ["DCTCP", "hostCC"];
    Chart {
        table: owners(&groups, &runs, &bars),
        ..chart(title, strings(&groups), "degree of host congestion", &bars, panels)
    }
    .svg()
}

fn figure_11(lab: &Lab) -> String {
    let cells = [(1500, 4), (4000, 4), (9000, 4), (4000, 8), (4000, 16)];
    let groups = cells.iter().map(|(mtu, flows)| format!("{mtu} B, {flows}")).collect();
    let runs: Vec<Vec<&Outcome>> = cells
        .iter()
        .map(|(mtu, flows)| {
            let setup = sized(lab, false, *mtu, *flows);
            vec![lab.see(&setup), lab.see(&setup.clone().with_hostcc())]
        })
        .collect();
    let target: Vec<_> = (0..cells.len()).map(|g| (g, 1, 80.0, 80.0)).collect();
    let panels = vec![goodput(&runs, &target), drops(&runs, &[])];
    chart(
        "Figure 11: hostCC over packet sizes and flows, 3x, DDIO off",
        groups,
        "packet, flows",
        &["DCTCP", "hostCC"],
        panels,
    )
    .svg()
}

fn figure_13(lab: &Lab) -> String {
    let runs: Vec<Vec<&Outcome>> = INCAST
        .iter()
        .map(|flows| {
            let cells = [0, 3].map(|cores| incast(lab, cores, *flows));
            cells.iter().flat_map(|s| [lab.see(s), lab.see(&s.clone().with_hostcc())]).collect()
        })
        .collect();
    let groups = INCAST.iter().map(|flows| format!("{flows} flows")).collect();
    let target: Vec<_> = (0..INCAST.len()).map(|g| (g, 3, 80.0, 80.0)).collect();
    let retransmits = panel("Segments retransmitted, %", DROPS, &runs, |run| run.retransmits);
    let bars = ["DCTCP, 0x", "hostCC, 0x", "DCTCP, 3x", "hostCC, 3x"];
    chart(
        "Figure 13: two senders, DDIO off",
        groups,
        "",
        &bars,
        vec![goodput(&runs, &target), retransmits],
    )
    .svg()
}

fn figure_16(lab: &Lab) -> String {
    let runs: Vec<Vec<&Outcome>> =
        TARGETS.iter().map(|t| vec![targeted(lab, *t), targeted_resting(lab, *t)]).collect();
    let groups = TARGETS.iter().map(u32::to_string).collect();
    let said = |g: usize| (g, 0, f64::from(TARGETS[g]), f64::from(TARGETS[g]));
    let panels = vec![
        goodput(&runs, &(2..8).map(said).collect::<Vec<_>>()),
        drops(&runs, &[]),
        memory(&runs, &[]),
    ];
    let bars = ["hostCC", "hostCC, MApp 2 ms on, 1 ms off"];
    chart("Figure 16: hostCC over B_T, 3x, DDIO off", groups, "B_T, Gb/s", &bars, panels).svg()
}

fn figure_17(lab: &Lab) -> String {
    let runs: Vec<Vec<&Outcome>> = THRESHOLDS.iter().map(|t| vec![at_threshold(lab, *t)]).collect();
    let groups = THRESHOLDS.iter().map(u32::to_string).collect();
    let panels = vec![goodput(&runs, &[]), drops(&runs, &[]), memory(&runs, &[])];
    chart("Figure 17: hostCC over I_T, 3x, DDIO off", groups, "I_T, lines", &["hostCC"], panels)
        .svg()
}

fn tails(lab: &Lab, title: &str, ddio: bool, series: usize, sizes: &[(u32, &str)]) -> String {
    let names = ["0x, DCTCP", "3x, DCTCP", "3x, hostCC"];
    let besides = &Beside::ALL[..series];
    let samples: Vec<Vec<_>> = sizes
        .iter()
        .map(|(size, _)| besides.iter().map(|b| latencies(lab, ddio, *b, *size)).collect())
        .collect();
    // What the paper adds to the latency without MApp, here to ours.
    let published = |per_10_000: u32| -> Vec<(usize, usize, f64, f64)> {
        let free = |g: usize| samples[g][0].percentile(per_10_000).value;
        let mut said: Vec<_> = match per_10_000 {
            9900 => (0..sizes.len()).map(|g| (g, 1, free(g) + 60.0, free(g) + 100.0)).collect(),
            9990 => (0..sizes.len()).map(|g| (g, 1, free(g) + 2e5, free(g) + 2e5)).collect(),
            _ => Vec::new(),
        };
        if per_10_000 == 9900 && series == 3 {
            said.push((0, 2, free(0) + 13.0, free(0) + 13.0));
        }
        said
    };
    let panel = |per_10_000: u32, label: &str| Panel {
        label: format!("{label}, us"),
        axis: Axis::log(10.0, 1e6),
        values: samples
            .iter()
            .map(|group| group.iter().map(|s| s.percentile(per_10_000).value).collect())
            .collect(),
        published: published(per_10_000),
    };
    let mut table =
        vec![strings(&["RPCs, us (95 % interval)", "P50", "P90", "P99", "P99.9", "P99.99"])];
    for ((_, size), group) in sizes.iter().zip(&samples) {
        for (name, s) in names.iter().zip(group) {
            let mut row = vec![format!("{size}, {name}: {} RPCs", s.len())];
            row.extend(PERCENTILES.iter().map(|p| match s.percentile(*p) {
                _ if *p == 9999 && s.len() < ENOUGH_FOR_P9999 => "too few".into(),
                p => format!("{} ({} to {})", us(p.value), us(p.low), us(p.high)),
            }));
            table.push(row);
        }
    }
    let groups = sizes.iter().map(|s| s.1.to_string()).collect();
    let panels = vec![panel(5000, "P50"), panel(9900, "P99"), panel(9990, "P99.9")];
    Chart { table, ..chart(title, groups, "request and response", &names[..series], panels) }.svg()
}

/// Microseconds in few digits.
fn us(value: f64) -> String {
    if !value.is_finite() {
        "-".into()
    } else if value < 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{:.0}k", value / 1e3)
    }
}

/// I_S and B_S of runs above each other, from the beginning of the trace.
fn signals(title: &str, span: f64, runs: &[(&'static str, &Outcome)]) -> String {
    let points = |run: &Outcome, of: fn(&Point) -> f64| -> Vec<(f64, f64)> {
        let from = run.trace.first().map_or(0.0, |p| p.us);
        run.trace.iter().map(|p| (p.us - from, of(p))).take_while(|p| p.0 <= span).collect()
    };
    let lines = |of: fn(&Point) -> f64, named: bool| -> Vec<Line<'_>> {
        let line = |(name, run): &(&'static str, &Outcome)| Line {
            name: if named { name.trim_start_matches("I_S, ") } else { "" },
            points: points(run, of),
            steps: false,
        };
        runs.iter().map(line).collect()
    };
    let occupancy = |label, lines| plot::Panel {
        label,
        range: (40.0, 100.0),
        lines,
        rules: vec![
            Rule { name: "I_T, 70", at: THRESHOLD },
            Rule { name: "credits, 93", at: 93.0 },
        ],
    };
    let mut panels = vec![plot::Panel {
        label: "B_S, Gb/s",
        range: (0.0, 120.0),
        lines: lines(|p| p.bandwidth, true),
        rules: vec![Rule { name: "B_T, 84", at: TARGET }],
    }];
    if runs.len() < 3 {
        panels.push(occupancy("I_S, lines", lines(|p| p.occupancy, false)));
    } else {
        for (of, (name, _)) in runs.iter().enumerate() {
            let mut alone = lines(|p| p.occupancy, false);
            // A panel of its own, in the run's colour.
            alone.iter_mut().enumerate().for_each(|(i, line)| {
                if i != of {
                    line.points.clear();
                }
            });
            panels.push(occupancy(name, alone));
        }
    }
    if runs.iter().any(|r| r.1.trace.iter().any(|p| p.level > 0)) {
        let lines = lines(|p| f64::from(p.level), false);
        panels.push(plot::Panel { label: "Level", range: (0.0, 4.5), lines, rules: Vec::new() });
    }
    plot(title, "us", (0.0, span), &panels)
}

fn figure_8(lab: &Lab) -> String {
    let [free, busy] = [0, 3].map(|cores| traced(lab, cores, Control::None));
    signals(
        "Figure 8: occupancy and PCIe bandwidth under DCTCP, DDIO off",
        1000.0,
        &[("0x", free), ("3x", busy)],
    )
}

fn figure_18a(lab: &Lab) -> String {
    let runs = vec![
        vec![lab.base(false, 3)],
        vec![ideas(lab, true, false)],
        vec![ideas(lab, false, true)],
        vec![ideas(lab, true, true)],
    ];
    let groups = strings(&["none", "echo", "local", "both"]);
    let rate = goodput(&runs, &[(0, 0, 43.0, 43.0), (1, 0, 28.0, 28.0), (3, 0, 80.0, 80.0)]);
    let panels = vec![rate, drops(&runs, &[]), memory(&runs, &[])];
    chart(
        "Figure 18a: which idea does what, 3x, DDIO off",
        groups,
        "",
        &["DCTCP and this response of hostCC"],
        panels,
    )
    .svg()
}

fn figure_18(lab: &Lab) -> String {
    let runs = [
        ("I_S, echo only", ideas(lab, true, false)),
        ("I_S, local only", ideas(lab, false, true)),
        ("I_S, both", ideas(lab, true, true)),
    ];
    signals("Figure 18b to d: one millisecond, 3x, DDIO off", 1000.0, &runs)
}

fn figure_19(lab: &Lab) -> String {
    let run = traced(lab, 3, Control::HostCc(HostCc::of(false)));
    signals("Figure 19: 1 ms of hostCC's steady state, 3x, DDIO off", 1000.0, &[("hostCC", run)])
}
