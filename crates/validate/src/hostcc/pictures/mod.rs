//! The paper's figures drawn again, with what it says in so many words beside ours.

mod published;
mod signals;
mod tails;

use super::control::{
    INCAST, TARGETS, THRESHOLDS, at_threshold, at_threshold_resting, incast, targeted,
    targeted_resting,
};
use super::dctcp::{FLOWS, MTUS, held, sized};
use super::lab::Lab;
use super::outcome::Outcome;
use super::signals::ideas;
use super::tails::SIZES;
use crate::chart::{BarLabel, Chart, Panel, strings};
use forebay_record::svg::Axis;
use published::{row, said};
use signals::{figure_8, figure_18, figure_19};
use tails::tails;

type Pictures = Vec<(String, String)>;

/// A part, and how it is drawn.
type Picture = (&'static str, fn(&Lab) -> String);

/// Every picture of the wanted parts.
pub(super) fn pictures(lab: &Lab, wanted: &dyn Fn(&str) -> bool) -> Pictures {
    let all: [Picture; 14] = [
        ("fig2", figure_2),
        ("fig3", figure_3),
        ("fig4", |lab| {
            tails(lab, "hostCC, figure 4: RPCs beside DCTCP, DDIO off", false, 2, &SIZES)
        }),
        ("fig8", figure_8),
        ("fig9", figure_9),
        ("fig10", |lab| degrees(lab, "hostCC, figure 10: hostCC, DDIO off", false)),
        ("fig11", figure_11),
        ("fig12", |lab| {
            tails(lab, "hostCC, figure 12: RPCs under hostCC, DDIO off", false, 3, &SIZES)
        }),
        ("fig13", figure_13),
        ("fig14", |lab| degrees(lab, "hostCC, figure 14: hostCC, DDIO on, I_T 50", true)),
        ("fig15", |lab| {
            let ends = [SIZES[0], SIZES[4]];
            tails(lab, "hostCC, figure 15: RPCs under hostCC, DDIO on, I_T 50", true, 3, &ends)
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

fn panel(label: &str, axis: Axis, runs: &[Vec<&Outcome>], of: fn(&Outcome) -> f64) -> Panel {
    let values = runs.iter().map(|group| group.iter().map(|run| of(run)).collect()).collect();
    Panel { label: label.into(), axis, values, published: Vec::new() }
}

fn goodput(runs: &[Vec<&Outcome>], published: Vec<BarLabel>) -> Panel {
    Panel { published, ..panel("Goodput, Gb/s", GOODPUT, runs, |run| run.goodput) }
}

/// Shares of packets on a logarithmic axis, on which none has no place.
fn losses(what: &str, runs: &[Vec<&Outcome>], of: fn(&Outcome) -> f64) -> Panel {
    panel(&format!("{what}, % (none: on the floor)"), DROPS, runs, of)
}

fn drops(runs: &[Vec<&Outcome>], published: Vec<BarLabel>) -> Panel {
    Panel { published, ..losses("NIC drops", runs, |run| run.drops) }
}

fn memory(runs: &[Vec<&Outcome>], published: Vec<BarLabel>) -> Panel {
    Panel { published, ..panel("Memory bandwidth of MApp, GB/s", MEMORY, runs, |run| run.mapp) }
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
        foot: Vec::new(),
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
    let rate = [
        (0, 0, "fig2-off-0x-goodput"),
        (0, 1, "fig2-on-0x-goodput"),
        (3, 0, "fig2-off-3x-goodput"),
        (3, 1, "fig2-on-3x-goodput"),
    ];
    let lost = [
        (2, 0, "fig2-off-2x-drops"),
        (2, 1, "fig2-on-2x-drops"),
        (3, 0, "fig2-off-3x-drops"),
        (3, 1, "fig2-on-3x-drops"),
    ];
    let panels = vec![
        goodput(&runs, said(&rate)),
        drops(&runs, said(&lost)),
        memory(&runs, said(&[(3, 0, "fig2-off-3x-mapp")])),
    ];
    let bars = ["DDIO off", "DDIO on"];
    Chart {
        table: owners(&groups, &runs, &bars),
        ..chart(
            "hostCC, figure 2: host congestion under DCTCP",
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
    let panels = vec![goodput(&runs, Vec::new()), drops(&runs, Vec::new())];
    chart(
        "hostCC, figure 3: larger packets and more flows under DCTCP, 3x",
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
    let rate = [
        (0, 0, "fig2-off-3x-goodput"),
        (3, 0, "fig9-off-3-goodput"),
        (4, 0, "fig9-off-4-goodput"),
        (3, 1, "fig9-on-3-goodput"),
    ];
    // Level 4 stops MApp, so what it loses there is all that level 3 leaves it.
    let left = said(&[(3, 0, "fig9-mapp-loss")]);
    let panels = vec![goodput(&runs, said(&rate)), memory(&runs, left)];
    let bars = ["DDIO off", "DDIO on"];
    Chart {
        table: owners(
            &groups.map(|g| ["level 0", "1", "2", "3", "4"][g.parse::<usize>().unwrap_or(0)]),
            &runs,
            &bars,
        ),
        ..chart(
            "hostCC, figure 9: levels held by hand, 3x",
            strings(&groups),
            "level",
            &bars,
            panels,
        )
    }
    .svg()
}

fn degrees(lab: &Lab, title: &str, ddio: bool) -> String {
    let groups = ["0x", "1x", "2x", "3x"];
    let runs: Vec<Vec<&Outcome>> =
        (0..4).map(|k| vec![lab.base(ddio, k), lab.hostcc(ddio, k)]).collect();
    let figure = if ddio { "fig14" } else { "fig10" };
    let target = [2, 3].map(|k| BarLabel::row((k, 1), row(&format!("{figure}-{k}x-goodput"))));
    // The row is of drops with hostCC over those without, which stand beside them.
    let less = ddio.then(|| BarLabel::row((3, 1), row("fig14-3x-drop-factor")));
    let less = less.map(|said| said.drawn(|factor| factor * runs[3][0].drops));
    let panels = vec![
        goodput(&runs, target.into()),
        drops(&runs, less.into_iter().collect()),
        memory(&runs, Vec::new()),
    ];
    let bars = ["DCTCP", "hostCC"];
    Chart {
        table: owners(&groups, &runs, &bars),
        ..chart(title, strings(&groups), "degree of host congestion", &bars, panels)
    }
    .svg()
}

fn figure_11(lab: &Lab) -> String {
    let cells = [
        (1500, 4, "fig11-mtu-1500-goodput"),
        (4000, 4, "fig10-3x-goodput"),
        (9000, 4, "fig11-mtu-9000-goodput"),
        (4000, 8, "fig11-flows-8-goodput"),
        (4000, 16, "fig11-flows-16-goodput"),
    ];
    let groups = cells.iter().map(|(mtu, flows, _)| format!("{mtu} B, {flows}")).collect();
    let runs: Vec<Vec<&Outcome>> = cells
        .iter()
        .map(|(mtu, flows, _)| {
            let setup = sized(lab, false, *mtu, *flows);
            vec![lab.see(&setup), lab.see(&setup.clone().with_hostcc())]
        })
        .collect();
    let target = cells.iter().enumerate().map(|(g, cell)| BarLabel::row((g, 1), row(cell.2)));
    let panels = vec![goodput(&runs, target.collect()), drops(&runs, Vec::new())];
    chart(
        "hostCC, figure 11: hostCC over packet sizes and flows, 3x, DDIO off",
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
    let target = INCAST.iter().enumerate();
    let target =
        target.map(|(g, flows)| BarLabel::row((g, 3), row(&format!("fig13b-{flows}-goodput"))));
    let panels = vec![
        goodput(&runs, target.collect()),
        losses("Segments retransmitted", &runs, |run| run.retransmits),
    ];
    let bars = ["DCTCP, 0x", "hostCC, 0x", "DCTCP, 3x", "hostCC, 3x"];
    chart("hostCC, figure 13: two senders, DDIO off", groups, "", &bars, panels).svg()
}

/// Bars of figures 16 and 17: beside a MApp that never rests hostCC loses nothing.
const STEADY_AND_RESTING: [&str; 2] = ["hostCC", "hostCC, MApp 2 ms on, 1 ms off"];

fn figure_16(lab: &Lab) -> String {
    let runs: Vec<Vec<&Outcome>> =
        TARGETS.iter().map(|t| vec![targeted(lab, *t), targeted_resting(lab, *t)]).collect();
    let groups = TARGETS.iter().map(u32::to_string).collect();
    let target = TARGETS.iter().enumerate();
    let target = target.map(|(g, t)| BarLabel::row((g, 0), row(&format!("fig16-{t}-goodput"))));
    let panels =
        vec![goodput(&runs, target.collect()), drops(&runs, Vec::new()), memory(&runs, Vec::new())];
    let title = "hostCC, figure 16: hostCC over B_T, 3x, DDIO off";
    chart(title, groups, "B_T, Gb/s", &STEADY_AND_RESTING, panels).svg()
}

fn figure_17(lab: &Lab) -> String {
    let pair = |t: &u32| vec![at_threshold(lab, *t), at_threshold_resting(lab, *t)];
    let runs: Vec<Vec<&Outcome>> = THRESHOLDS.iter().map(pair).collect();
    let groups = THRESHOLDS.iter().map(u32::to_string).collect();
    let panels =
        vec![goodput(&runs, Vec::new()), drops(&runs, Vec::new()), memory(&runs, Vec::new())];
    let title = "hostCC, figure 17: hostCC over I_T, 3x, DDIO off";
    chart(title, groups, "I_T, lines", &STEADY_AND_RESTING, panels).svg()
}

/// The responses of hostCC in figure 18, as the paper calls them: echo of congestion signals, and host-local response.
const RESPONSES: [&str; 4] = ["none", "echo", "host-local", "both"];

fn figure_18a(lab: &Lab) -> String {
    let runs = vec![
        vec![lab.base(false, 3)],
        vec![ideas(lab, true, false)],
        vec![ideas(lab, false, true)],
        vec![ideas(lab, true, true)],
    ];
    let rate = [
        (0, 0, "fig2-off-3x-goodput"),
        (1, 0, "fig18-echo-goodput"),
        (2, 0, "fig18-local-goodput"),
        (3, 0, "fig18-both-goodput"),
    ];
    let panels =
        vec![goodput(&runs, said(&rate)), drops(&runs, Vec::new()), memory(&runs, Vec::new())];
    let title = "hostCC, figure 18a: echo of congestion signals, host-local response, and both; 3x, DDIO off";
    chart(title, strings(&RESPONSES), "response of hostCC", &["DCTCP and this response"], panels)
        .svg()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::jobs::Cores;

    /// A laboratory in which nothing was run.
    pub(in crate::hostcc) fn nothing() -> Lab {
        Lab::new(&Cores::new(&|_, _| {}), true, &|_| {})
    }

    fn drawn(figure: &str) -> String {
        let mut drawn = pictures(&nothing(), &|name| name == figure);
        drawn.swap_remove(0).1
    }

    #[test]
    fn every_picture_is_drawn_and_a_level_in_it_has_a_row() {
        let all = pictures(&nothing(), &|_| true);
        assert_eq!(all.len(), 16);
        let ids = |name: &str| {
            let (_, svg) = all.iter().find(|one| one.0 == name).expect("it is drawn");
            svg.matches("<title>fig").count()
        };
        assert_eq!(ids("hostcc-fig2.svg"), 9);
        assert_eq!(ids("hostcc-fig16.svg"), TARGETS.len());
        assert_eq!(ids("hostcc-fig17.svg"), 0, "nothing is published of a value of I_T");
    }

    #[test]
    fn a_logarithmic_axis_says_where_none_is() {
        for (figure, label) in [
            ("fig2", "NIC drops, % (none: on the floor)"),
            ("fig13", "Segments retransmitted, % (none: on the floor)"),
        ] {
            assert!(drawn(figure).contains(&format!(">{label}</text>")), "{figure}: {label}");
        }
    }

    #[test]
    fn drops_over_both_parameters_are_drawn_beside_a_mapp_that_rests_too() {
        for figure in ["fig16", "fig17"] {
            let svg = drawn(figure);
            assert!(svg.contains(">hostCC, MApp 2 ms on, 1 ms off</text>"), "{svg}");
            let drawn = ["class=\"fill s1\"", "class=\"dot s1\""];
            let bars: usize = drawn.iter().map(|class| svg.matches(class).count()).sum();
            assert!(bars > 3 * 5, "{figure}: {bars} bars of three panels, and the legend");
        }
    }

    #[test]
    fn figure_18_has_the_papers_words() {
        let [a, over_time] = [0, 1].map(|i| pictures(&nothing(), &|n| n == "fig18")[i].1.clone());
        for svg in [&a, &over_time] {
            assert!(svg.contains("echo of congestion signals, host-local response"), "{svg}");
            assert!(svg.contains(">echo</text>") && svg.contains(">host-local</text>"), "{svg}");
            assert!(!svg.contains(">local") && !svg.contains("marks"), "{svg}");
        }
    }

    #[test]
    fn a_published_number_below_which_nothing_is_known_is_drawn_as_a_bound() {
        let svg = drawn("fig16");
        assert!(svg.contains("<title>fig16-20-goodput: at most 40 Gb/s</title>"), "{svg}");
        assert!(svg.contains("<title>fig16-80-goodput: 80 Gb/s</title>"), "{svg}");
        assert!(svg.contains(">published, at most</text>"), "{svg}");
    }
}
