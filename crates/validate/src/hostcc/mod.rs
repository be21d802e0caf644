//! What is not data of `validation/hostcc/`: the plant alone, pictures, and a table of what free parameters do.

mod pictures;
mod plant;
mod sensitivity;

use crate::bars;
use crate::drawing::Drawing;
use crate::experiments::{Lists, measure_with_lists};
use crate::folder::Folder;
use crate::jobs::Cores;
use crate::measured::MeasuredRows;
use crate::row::Row;
pub(crate) use sensitivity::sensitivity;

/// What can run by itself.
const PARTS: [&str; 21] = [
    "plant",
    "fig8",
    "fig2",
    "fig3",
    "fig9",
    "fig18",
    "fig10",
    "fig11",
    "fig14",
    "fig16",
    "fig17",
    "fig4",
    "fig12",
    "fig15",
    "fig13",
    "fig19",
    "intro",
    "text",
    "set2",
    "threshold",
    "nohold",
];

/// Names of the parts.
pub(crate) fn parts() -> Vec<&'static str> {
    PARTS.to_vec()
}

/// The part that a row belongs to: how its id begins.
pub(crate) fn part_of(row: &Row) -> &str {
    for reading in ["threshold", "nohold"] {
        if row.id.strip_suffix(reading).is_some_and(|rest| rest.ends_with('-')) {
            return reading;
        }
    }
    let head = row.id.split('-').next().unwrap_or_default();
    if head.starts_with("fig") { head.trim_end_matches(['a', 'b']) } else { head }
}

/// Runs all parts, or one, and draws them if they are wanted.
pub(crate) fn measure(
    cores: &Cores<'_>,
    part: Option<&str>,
    quick: bool,
    draw: bool,
) -> (MeasuredRows, Vec<(String, String)>) {
    let wanted = |name: &str| draw && part.is_none_or(|part| part == name);
    let pictures = |drawing: &Drawing| {
        let mut drawn = bars::pictures("hostcc", drawing, &wanted);
        drawn.extend(pictures::pictures(drawing, &wanted));
        drawn
    };
    let rows = crate::rows_of(&crate::whole_name("hostcc", part));
    let lists = Lists {
        formulas: Drawing::formulas(|drawing| drop(pictures(drawing))),
        ..Lists::default()
    };
    let (mut measured, found) =
        measure_with_lists(Folder::of("hostcc"), &rows, &lists, cores, quick);
    if part.is_none_or(|part| part == "plant") {
        plant::measure(&mut measured);
    }
    (measured, pictures(&Drawing::of(found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_belongs_to_a_part_and_only_the_plant_is_code() {
        for row in crate::rows("hostcc") {
            assert!(PARTS.contains(&part_of(&row)), "{}", row.id);
            assert_eq!(row.formula.is_none(), part_of(&row) == "plant", "{}", row.id);
        }
    }
}
