//! The paper's figures over time and of RPCs drawn again, with what it says in so many words beside ours. Figures of bars are data: `bars.rs`.

mod signals;
mod tails;

use crate::drawing::Drawing;
use crate::row::Row;
use signals::{figure_8, figure_18, figure_19};
use std::sync::LazyLock;
use tails::{SIZES, tails};

type Pictures = Vec<(String, String)>;

/// A part, its file, and how it is drawn.
type Picture = (&'static str, &'static str, fn(&Drawing) -> String);

const PICTURES: [Picture; 6] = [
    ("fig4", "hostcc-fig4.svg", |drawing| {
        tails(drawing, "hostCC, figure 4: RPCs beside DCTCP, DDIO off", false, 2, &SIZES)
    }),
    ("fig8", "hostcc-fig8.svg", figure_8),
    ("fig12", "hostcc-fig12.svg", |drawing| {
        tails(drawing, "hostCC, figure 12: RPCs under hostCC, DDIO off", false, 3, &SIZES)
    }),
    ("fig15", "hostcc-fig15.svg", |drawing| {
        let ends = [SIZES[0], SIZES[4]];
        tails(drawing, "hostCC, figure 15: RPCs under hostCC, DDIO on, I_T 50", true, 3, &ends)
    }),
    ("fig18", "hostcc-fig18.svg", figure_18),
    ("fig19", "hostcc-fig19.svg", figure_19),
];

/// Every picture of the wanted parts that is not of bars alone.
pub(super) fn pictures(drawing: &Drawing, wanted: &dyn Fn(&str) -> bool) -> Pictures {
    let drawn = PICTURES.iter().filter(|(part, ..)| wanted(part));
    drawn.map(|(_, file, draw)| (file.to_string(), draw(drawing))).collect()
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| crate::rows("hostcc"));

/// The row of this name: a picture holds no number of the paper.
///
/// # Panics
/// If there is none: the names that pictures ask for are part of the program.
fn row(id: &str) -> &'static Row {
    let found = ROWS.iter().find(|row| row.id == id);
    found.unwrap_or_else(|| panic!("validation/hostcc/rows.toml has no row \"{id}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;

    /// Pictures of bars, all of which are zero.
    fn bars_of(wanted: &dyn Fn(&str) -> bool) -> Pictures {
        let draw = |drawing: &Drawing| bars::pictures("hostcc", drawing, wanted);
        let asked = Drawing::formulas(|drawing| drop(draw(drawing)));
        draw(&Drawing::of(asked.into_iter().map(|formula| (formula, vec![0.0])).collect()))
    }

    fn drawn(figure: &str) -> String {
        bars_of(&|name| name == figure).swap_remove(0).1
    }

    #[test]
    fn every_picture_is_drawn_and_a_level_in_it_has_a_row() {
        let mut all = bars_of(&|_| true);
        all.extend(pictures(&Drawing::default(), &|_| true));
        assert_eq!(all.len(), 16);
        let ids = |name: &str| {
            let (_, svg) = all.iter().find(|one| one.0 == name).expect("it is drawn");
            svg.matches("<title>fig").count()
        };
        assert_eq!(ids("hostcc-fig2.svg"), 9);
        assert_eq!(ids("hostcc-fig16.svg"), 9, "one for each B_T");
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
        let over_time = pictures(&Drawing::default(), &|name| name == "fig18").swap_remove(0).1;
        for svg in [&drawn("fig18"), &over_time] {
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
