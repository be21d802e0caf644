//! Charts of numbers that rows measured, each with what its row publishes.

use crate::chart::{BarLabel, Chart, Panel};
use crate::measured::MeasuredRows;
use crate::row::Row;
use forebay_record::svg::{Axis, plain, round_up};

/// A chart whose bars are rows.
pub(crate) struct RowChart {
    pub title: String,
    pub groups: Vec<String>,
    pub group_label: String,
    pub bars: Vec<String>,
    pub panels: Vec<RowPanel>,
    pub table: Vec<Vec<String>>,
    pub foot: Vec<String>,
}

/// One quantity of several rows, in their unit.
pub(crate) struct RowPanel {
    pub label: String,
    /// Whether numbers differ by orders of magnitude.
    pub log: bool,
    /// Rows by group and bar; an empty name leaves a place open.
    pub ids: Vec<Vec<String>>,
}

impl RowChart {
    /// The picture; `None` if none of its rows was measured.
    ///
    /// # Panics
    /// If there is no such row: names of rows are part of the program.
    pub fn svg(self, rows: &[Row], measured: &MeasuredRows) -> Option<String> {
        let panels: Vec<Panel> =
            self.panels.iter().map(|panel| panel.drawn(rows, measured)).collect();
        let mut values = panels.iter().flat_map(|panel| panel.values.iter().flatten());
        let seen = values.any(|value| !value.is_nan());
        let Self { title, groups, group_label, bars, table, foot, .. } = self;
        seen.then(|| Chart { title, groups, group_label, bars, panels, table, foot }.svg())
    }
}

impl RowPanel {
    fn drawn(&self, rows: &[Row], measured: &MeasuredRows) -> Panel {
        let (mut values, mut published) = (Vec::new(), Vec::new());
        for (g, group) in self.ids.iter().enumerate() {
            let mut bars = Vec::new();
            for (b, id) in group.iter().enumerate() {
                bars.push(measured.number(id).unwrap_or(f64::NAN));
                if !id.is_empty() {
                    let row = rows.iter().find(|row| row.id == *id);
                    let row = row.unwrap_or_else(|| panic!("there is no row \"{id}\""));
                    published.push(BarLabel::stated((g, b), row));
                }
            }
            values.push(bars);
        }
        let said = published.iter().map(BarLabel::number_of);
        let all: Vec<f64> =
            values.iter().flatten().copied().chain(said).filter(|v| v.is_finite()).collect();
        let most = all.iter().copied().fold(0.0, f64::max);
        let least = all.iter().copied().filter(|v| *v > 0.0).fold(most, f64::min);
        let axis = match self.log {
            true => Axis::log(round_up(least) / 10.0, round_up(most) * 2.0),
            false => Axis::linear(0.0, most * 1.1),
        };
        Panel { label: self.label.clone(), axis, values, published }
    }
}

/// A number for a table: `-` where there is none.
pub(crate) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.digits$}"))
}

/// A published number for a table.
pub(crate) fn said(rows: &[Row], id: &str) -> String {
    rows.iter().find(|row| row.id == id).map_or("-".into(), |row| plain(row.published))
}
