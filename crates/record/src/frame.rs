//! Tables as columns in memory, for programs that analyse results without reading files.
//!
//! Names, order and meaning are those of the files of a run directory (`flows.csv` and so on); values are not rounded, as text of a CSV
//! file is. A column has one kind whatever its rows hold.

use crate::columns::TABLES;
use crate::csv::{RowValues as Row, Value};
use crate::rows::RunRecord;
use forebay_units::Time;

/// A table by its columns, all of them of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Rows.
    pub rows: usize,
    /// Name and values, in the order of the file.
    pub columns: Vec<(&'static str, Values)>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers, one in each row. A number above `i64::MAX` stands as that.
    Whole(Vec<i64>),
    /// Whole numbers, with zero where there is none, and whether there is one.
    MaybeWhole(Vec<i64>, Vec<bool>),
    /// Numbers; NaN where there is none.
    Real(Vec<f64>),
    /// Lists of numbers: where each begins, with the end of the last, and all of them one after another.
    Lists(Vec<i32>, Vec<f64>),
    /// Texts: which of the different ones, and these in order of their first appearance.
    Words(Vec<i32>, Vec<String>),
}

/// Names of the tables, without the ending of their files, in the order of a run directory.
pub fn frames() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| stem(table.file()))
}

/// A table of these simulations; `None` if there is none of this name.
pub fn frame(name: &str, runs: &[RunRecord], warmup: Time) -> Option<Frame> {
    let table = TABLES.iter().find(|table| stem(table.file()) == name)?;
    let mut frame = Builder::new(table.header());
    // Each simulation has the same hosts, which their table lists once.
    let once = if table.header().first() == Some(&"seed") { runs.len() } else { 1 };
    for run in runs.iter().take(once) {
        table.visit(run, warmup, &mut |row| frame.row(row));
    }
    Some(frame.finish())
}

fn stem(file: &'static str) -> &'static str {
    file.strip_suffix(".csv").unwrap_or(file)
}

/// A frame that grows row by row. A column takes its kind from its first value.
struct Builder {
    names: Vec<&'static str>,
    columns: Vec<Option<Values>>,
    known: Vec<std::collections::BTreeMap<String, i32>>, // of each column with words
    at: usize,
    rows: usize,
}

impl Builder {
    fn new(names: Vec<&'static str>) -> Self {
        let columns = names.iter().map(|_| None).collect();
        let known = names.iter().map(|_| Default::default()).collect();
        Self { names, columns, known, at: 0, rows: 0 }
    }

    fn row(&mut self, fill: &mut dyn FnMut(&mut Row<'_>)) {
        self.at = 0;
        fill(&mut |value| {
            self.push(value);
        });
        self.rows += 1;
    }

    fn push(&mut self, value: Value<'_>) {
        let column = &mut self.columns[self.at];
        let known = &mut self.known[self.at];
        self.at += 1;
        let list = |offsets: &mut Vec<i32>, all: &Vec<f64>| offsets.push(all.len() as i32);
        match (column.get_or_insert_with(|| empty(&value)), value) {
            (Values::Whole(all), Value::Number(number)) => all.push(whole(number)),
            (Values::MaybeWhole(all, there), Value::Maybe(number)) => {
                all.push(number.map_or(0, whole));
                there.push(number.is_some());
            }
            (Values::Real(all), Value::Ratio(number)) => all.push(number.unwrap_or(f64::NAN)),
            (Values::Real(all), Value::Exact(number)) => all.push(number),
            (Values::Real(all), Value::Single(number)) => {
                all.push(number.map_or(f64::NAN, f64::from));
            }
            (Values::Lists(offsets, all), Value::List(values)) => {
                all.extend(values);
                list(offsets, all);
            }
            (Values::Lists(offsets, all), Value::Singles(values)) => {
                all.extend(values.iter().map(|value| f64::from(*value)));
                list(offsets, all);
            }
            (Values::Words(codes, words), Value::Text(text)) => word(text, codes, words, known),
            (Values::Words(codes, words), Value::Owned(text)) => word(&text, codes, words, known),
            _ => unreachable!("a column has values of one kind"),
        }
    }

    fn finish(self) -> Frame {
        let columns = self.names.into_iter().zip(self.columns);
        let columns = columns.map(|(name, values)| (name, values.unwrap_or(Values::Real(vec![]))));
        Frame { rows: self.rows, columns: columns.collect() }
    }
}

fn empty(of: &Value<'_>) -> Values {
    match of {
        Value::Number(_) => Values::Whole(Vec::new()),
        Value::Maybe(_) => Values::MaybeWhole(Vec::new(), Vec::new()),
        Value::Ratio(_) | Value::Exact(_) | Value::Single(_) => Values::Real(Vec::new()),
        Value::List(_) | Value::Singles(_) => Values::Lists(vec![0], Vec::new()),
        Value::Text(_) | Value::Owned(_) => Values::Words(Vec::new(), Vec::new()),
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn word(
    text: &str,
    codes: &mut Vec<i32>,
    words: &mut Vec<String>,
    known: &mut std::collections::BTreeMap<String, i32>,
) {
    let code = known.get(text).copied().unwrap_or_else(|| {
        let code = words.len() as i32;
        words.push(text.into());
        known.insert(text.into(), code);
        code
    });
    codes.push(code);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::FlowRow;
    use forebay_units::{Bytes, Span};

    fn run(seed: u64, delivered: Option<u64>) -> RunRecord {
        let flow = FlowRow {
            flow: 0,
            traffic: 0,
            src: 1,
            dst: 0,
            size: Bytes::new(3_000),
            start: Time::from_ps(1_000),
            delivered: delivered.map(Time::from_ps),
            acked: None,
            gave_up: None,
            ideal: Span::from_ps(500),
            retransmits: 2,
            timeouts: 0,
        };
        RunRecord {
            seed,
            hosts: vec!["host[0]".into(), "host[1]".into()],
            flows: vec![flow],
            ..RunRecord::default()
        }
    }

    #[test]
    fn columns_have_the_names_of_the_file_and_the_values_of_the_rows() {
        let runs = [run(7, Some(2_500)), run(8, None)];
        let flows = frame("flows", &runs, Time::ZERO).expect("a table");
        let names: Vec<&str> = flows.columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(crate::columns::tables()[1], ("flows.csv", names));
        let column = |name| &flows.columns.iter().find(|(other, _)| *other == name).expect("it").1;
        assert_eq!(flows.rows, 2);
        assert_eq!(*column("seed"), Values::Whole(vec![7, 8]));
        assert_eq!(*column("fct_ps"), Values::MaybeWhole(vec![1_500, 0], vec![true, false]));
        assert_eq!(*column("src"), Values::Words(vec![0, 0], vec!["host[1]".into()]));
        let Values::Real(slowdown) = column("slowdown") else { panic!("numbers") };
        assert!(slowdown[0] == 3.0 && slowdown[1].is_nan());
    }

    #[test]
    fn hosts_are_listed_once_and_an_unknown_table_is_none() {
        let runs = [run(1, None), run(2, None)];
        assert_eq!(frame("hosts", &runs, Time::ZERO).expect("a table").rows, 2);
        assert_eq!(frame("colours", &runs, Time::ZERO), None);
        assert!(
            frames().eq([
                "hosts",
                "flows",
                "unfinished",
                "credits",
                "class_arrivals",
                "ports",
                "links",
                "series"
            ]
            .into_iter()
            .chain([
                "runs",
                "connections",
                "rpcs",
                "collectives",
                "steps",
                "class_pauses",
                "deadlocks",
                "memory",
                "memory_series",
                "why",
                "why_rpcs"
            ]))
        );
    }
}
