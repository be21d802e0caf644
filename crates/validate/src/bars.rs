//! Pictures of bars as data: `pictures.toml` of a suite.
//!
//! ```toml
//! [[picture]]
//! part = "fig2"
//! file = "hostcc-fig2.svg"
//! title = "hostCC, figure 2"
//! groups = ["0x", "3x"]
//! bars = ["DDIO off", "DDIO on"]
//! runs = [["dctcp[0x]", "dctcp-ddio[0x]"], ["dctcp[3x]", "dctcp-ddio[3x]"]]   # of each group, one for each bar
//! [[picture.panel]]
//! label = "Goodput, Gb/s"
//! linear = [0, 110]
//! formula = "RUN.memory.goodput_gbps"                                         # RUN is the run of a bar
//! published = [{ at = [1, 0], row = "fig2-off-3x-goodput" }]                  # group and bar
//! ```

use crate::chart::{BarLabel, Chart, Panel};
use crate::drawing::Drawing;
use crate::folder::Folder;
use crate::row::Row;
use forebay_record::svg::Axis;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    picture: Vec<Picture>,
}

/// A chart of groups of bars, in panels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    /// The part of the suite that draws it.
    part: String,
    file: String,
    title: String,
    groups: Vec<String>,
    #[serde(default)]
    group_label: String,
    bars: Vec<String>,
    runs: Vec<Vec<String>>,
    table: Option<PictureTable>,
    panel: Vec<PicturePanel>,
}

/// A table below: a row for each bar, a column for each group.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PictureTable {
    head: String,
    /// Text with formulas in braces.
    cell: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PicturePanel {
    label: String,
    /// Ends of the axis, of one of two kinds.
    linear: Option<[f64; 2]>,
    log: Option<[f64; 2]>,
    formula: String,
    #[serde(default)]
    published: Vec<PublishedMark>,
}

/// What a row publishes about a bar.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedMark {
    at: (usize, usize),
    row: String,
    /// The bar is this number times what the row is about.
    times: Option<String>,
}

/// The pictures of the wanted parts.
///
/// # Panics
/// If the file is not as it should be: it is part of the program.
pub(crate) fn pictures(
    suite: &str,
    drawing: &Drawing,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let text = Folder::of(suite).file("pictures.toml").expect("the suite has pictures");
    let file: File = toml::from_str(text)
        .unwrap_or_else(|error| panic!("validation/{suite}/pictures.toml: {error}"));
    let rows = crate::rows(suite);
    let drawn = file.picture.iter().filter(|picture| wanted(&picture.part));
    drawn.map(|picture| (picture.file.clone(), picture.chart(&rows, drawing).svg())).collect()
}

impl Picture {
    fn chart(&self, rows: &[Row], drawing: &Drawing) -> Chart {
        Chart {
            title: self.title.clone(),
            groups: self.groups.clone(),
            group_label: self.group_label.clone(),
            bars: self.bars.clone(),
            panels: self.panel.iter().map(|panel| panel.of(rows, &self.runs, drawing)).collect(),
            table: self.table.as_ref().map_or(Vec::new(), |table| table.rows(self, drawing)),
            foot: Vec::new(),
        }
    }
}

impl PictureTable {
    fn rows(&self, of: &Picture, drawing: &Drawing) -> Vec<Vec<String>> {
        let cell = |run: &String| {
            let mut text = String::new();
            for part in self.cell.split('}') {
                let (words, formula) = part.split_once('{').unwrap_or((part, ""));
                text += words;
                if !formula.is_empty() {
                    text += &format!("{:.1}", drawing.number(formula.replace("RUN", run)));
                }
            }
            text
        };
        let head = std::iter::once(self.head.clone()).chain(of.groups.iter().cloned()).collect();
        let row = |(bar, name): (usize, &String)| {
            let cells = of.runs.iter().map(|group| cell(&group[bar]));
            std::iter::once(name.clone()).chain(cells).collect()
        };
        std::iter::once(head).chain(of.bars.iter().enumerate().map(row)).collect()
    }
}

impl PicturePanel {
    fn of(&self, rows: &[Row], runs: &[Vec<String>], drawing: &Drawing) -> Panel {
        let axis = match (self.linear, self.log) {
            (Some([low, high]), None) => Axis::linear(low, high),
            (None, Some([low, high])) => Axis::log(low, high),
            _ => panic!("panel {:?} has linear or log", self.label),
        };
        let value = |run: &String| drawing.number(self.formula.replace("RUN", run));
        Panel {
            label: self.label.clone(),
            axis,
            values: runs.iter().map(|group| group.iter().map(value).collect()).collect(),
            published: self.published.iter().map(|mark| mark.label(rows, drawing)).collect(),
        }
    }
}

impl PublishedMark {
    fn label(&self, rows: &[Row], drawing: &Drawing) -> BarLabel {
        let row = rows.iter().find(|row| row.id == self.row);
        let row = row.unwrap_or_else(|| panic!("there is no row {:?}", self.row));
        let label = BarLabel::row(self.at, row);
        match &self.times {
            Some(formula) => {
                let times = drawing.number(formula.clone());
                label.drawn(|factor| factor * times)
            }
            None => label,
        }
    }
}
