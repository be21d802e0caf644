//! What the rows publish, as marks beside the bars of a picture: a picture holds no number of the paper.

use crate::chart::BarLabel;
use crate::row::Row;
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| crate::rows("hostcc"));

/// The row of this name.
///
/// # Panics
/// If there is none: the names that pictures ask for are part of the program.
pub(super) fn row(id: &str) -> &'static Row {
    let found = ROWS.iter().find(|row| row.id == id);
    found.unwrap_or_else(|| panic!("validation/hostcc/rows.toml has no row \"{id}\""))
}

/// Marks for bars: group, bar, and the row that publishes something about it.
pub(super) fn said(of: &[(usize, usize, &str)]) -> Vec<BarLabel> {
    of.iter().map(|(group, bar, id)| BarLabel::row((*group, *bar), row(id))).collect()
}
