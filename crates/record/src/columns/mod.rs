//! The tables of a run directory, column by column: name, unit, meaning, and how a row gives and takes its value.
//!
//! Everything that knows columns takes them from here: the CSV writer, the reader (which finds columns by name), `explain`, totals over
//! ports in the summary, the metrics of these and the report. A new counter of a port is a field and a column in [`ports`].
//! Invariant: a name means the same wherever it appears.

mod collectives;
mod credits;
mod flows;
mod keys;
mod links;
mod memory;
mod pauses;
mod ports;
mod rpcs;
mod runs;
mod table;
mod unfinished;
mod why;

pub use crate::rows::PortRow;

pub use keys::{IDEAL_FCT_DEFINITION, IDEAL_LATENCY_DEFINITION};
pub use memory::{memory_columns, memory_numbers};
pub(crate) use ports::totals;
pub(crate) use runs::{HOSTS, RUNS};
pub(crate) use table::{Cell, Records, RowTable, TableOf};

/// Tables of samples over time, which may be cut short.
pub(crate) const SAMPLES: [&str; 3] = ["series.csv", "memory_series.csv", "links.csv"];

pub(crate) use why::{WHY, WHY_RPCS};

use crate::csv::Value;
use crate::error::RecordError;
use crate::rows::RunRecord;
use forebay_units::{Bytes, Span, Time};

/// One column of a table of rows `R`.
pub struct Column<R: 'static> {
    /// Name in the header.
    pub name: &'static str,
    /// Unit of its values; empty for names, numbers of things and ratios.
    pub unit: &'static str,
    /// What it means; empty if a table before this one says it.
    pub doc: &'static str,
    pub(crate) get: CellGetter<R>,
    pub(crate) set: Option<Set<R>>, // None: follows from other columns, and is a number or empty
    pub(crate) counter: Option<Counter<R>>,
    pub(crate) total: Total,
    pub(crate) heading: &'static str, // in the report's table of ports, where some port has any
}

/// How a counter is read and set.
type Counter<R> = (fn(&R) -> u64, fn(&mut R, u64));
type CellGetter<R> = for<'a> fn(&'a R, &Place<'a>) -> Value<'a>;
type Set<R> = fn(&mut R, &Cell<'_>) -> Result<(), RecordError>;

/// How the values of a column add up over rows and seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// No total.
    No,
    /// To their sum.
    Sum,
    /// To the largest.
    Max,
}

/// Where a row stands: in which simulation, and where its warm-up ends.
pub(crate) struct Place<'a> {
    pub run: &'a RunRecord,
    pub warmup: Time,
}

impl<R> Column<R> {
    /// The counter's value in a row; 0 of what is no counter.
    fn count(&self, row: &R) -> u64 {
        self.counter.map_or(0, |(get, _)| get(row))
    }
}

impl Total {
    /// Of two values.
    fn of(self, a: u64, b: u64) -> u64 {
        match self {
            Self::No => a,
            Self::Sum => a + b,
            Self::Max => a.max(b),
        }
    }
}

impl<'a> Place<'a> {
    /// Name of the host with an index.
    fn host(&self, index: u32) -> Value<'a> {
        Value::Text(&self.run.hosts[index as usize])
    }
}

/// A field that counts, whatever it counts.
trait Count: Copy {
    fn of(value: u64) -> Self;
    fn value(self) -> u64;
}

impl Count for u64 {
    fn of(value: u64) -> Self {
        value
    }

    fn value(self) -> u64 {
        self
    }
}

impl Count for Bytes {
    fn of(value: u64) -> Self {
        Self::new(value)
    }

    fn value(self) -> u64 {
        self.get()
    }
}

impl Count for Span {
    fn of(value: u64) -> Self {
        Self::from_ps(value)
    }

    fn value(self) -> u64 {
        self.as_ps()
    }
}

/// Columns of a row type. `NAME UNIT DOC` and then one of: `counts FIELD, TOTAL HEADING` for a counter; `= GET => SET` for what is written
/// and read back; `= GET` alone for what follows from other columns.
macro_rules! columns {
    (@one $row:ty, $name:literal $unit:literal $doc:expr, counts $field:ident, $total:ident $heading:literal) => {
        $crate::columns::Column::<$row> {
            name: $name,
            unit: $unit,
            doc: $doc,
            get: |row, _| $crate::csv::Value::Number($crate::columns::Count::value(row.$field)),
            set: Some(|row, cell| {
                row.$field = $crate::columns::Count::of(cell.number()?);
                Ok(())
            }),
            counter: Some((
                |row| $crate::columns::Count::value(row.$field),
                |row, value| row.$field = $crate::columns::Count::of(value),
            )),
            total: $crate::columns::Total::$total,
            heading: $heading,
        }
    };
    (@one $row:ty, $name:literal $unit:literal $doc:expr, = $get:expr $(=> |$to:ident, $cell:ident| $set:expr)?) => {
        $crate::columns::Column::<$row> {
            name: $name,
            unit: $unit,
            doc: $doc,
            get: $get,
            set: columns!(@set $(|$to, $cell| $set)?),
            counter: None,
            total: $crate::columns::Total::No,
            heading: "",
        }
    };
    (@set) => { None };
    (@set |$to:ident, $cell:ident| $set:expr) => {
        Some(|$to, $cell| {
            $set;
            Ok(())
        })
    };
    ($row:ty: $([$($column:tt)*])*) => { &[$(columns!(@one $row, $($column)*)),*] };
}
use columns;

/// A column of some table, for people.
pub struct ColumnHelp {
    /// Name of the column.
    pub name: &'static str,
    /// Unit; empty for none.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// The tables, in the order of the manifest.
pub(crate) const TABLES: [&dyn TableOf; 19] = [
    &runs::HOSTS,
    &flows::FLOWS,
    &unfinished::UNFINISHED,
    &credits::CREDITS,
    &credits::CLASS_ARRIVALS,
    &ports::PORTS,
    &links::LINKS,
    &runs::SERIES,
    &runs::RUNS,
    &rpcs::CONNECTIONS,
    &rpcs::RPCS,
    &collectives::COLLECTIVES,
    &collectives::STEPS,
    &pauses::CLASS_PAUSES,
    &pauses::DEADLOCKS,
    &memory::MEMORY,
    &memory::MEMORY_SERIES,
    &why::WHY,
    &why::WHY_RPCS,
];

/// What the column `seed` is, which tables of several simulations begin with.
const SEED: ColumnHelp =
    ColumnHelp { name: "seed", unit: "", doc: "Seed of the simulation that the row belongs to." };

/// The tables with the names of their columns, in the order of a run directory.
pub fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    TABLES.iter().map(|table| (table.file(), table.header())).collect()
}

/// Counters of ports, each with the way in which it adds up.
pub fn port_counters() -> impl Iterator<Item = (&'static str, &'static str, Total)> {
    let summed = ports::PORTS.columns.iter().filter(|column| column.total != Total::No);
    summed.map(|column| (column.name, column.doc, column.total))
}

/// What a column of a CSV file or a key of `summary.json`, `manifest.json` or `volatile.json` means.
pub fn explain(name: &str) -> Option<&'static str> {
    let known = explained().into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
    known.or_else(|| crate::signals::explain(name))
}

/// All names that [`explain`] knows, with their explanations, table by table.
pub fn explained() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&'static str, &'static str)> = vec![(SEED.name, SEED.doc)];
    let columns = TABLES.iter().flat_map(|table| table.explained());
    let known = columns.filter(|column| !column.doc.is_empty());
    for (name, doc) in
        known.map(|column| (column.name, column.doc)).chain(keys::KEYS.iter().copied())
    {
        if !all.iter().any(|(other, _)| *other == name) {
            all.push((name, doc));
        }
    }
    all
}
