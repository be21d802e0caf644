//! A table by its columns: written from a record, and read back by the names of its columns.

use super::{Column, ColumnHelp, Place};
use crate::csv::{RowValues as FrameRow, Rows, Table, Value};
use crate::error::RecordError;
use crate::part::Part;
use crate::rows::RunRecord;
use forebay_units::Time;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// A table of rows `R`: its file, where its rows stand in a record, and its columns.
pub(crate) struct RowTable<R: 'static> {
    pub file: &'static str,
    /// Whether the file is there without rows, too.
    pub always: bool,
    /// Whether it begins with the seed of a simulation.
    pub seeded: bool,
    /// Columns without which a row means nothing; a run directory may lack others.
    pub needed: &'static [&'static str],
    /// A row before anything is read.
    pub blank: fn() -> R,
    /// Whether a record has such rows, or may.
    pub any: fn(&RunRecord) -> bool,
    pub each: fn(&RunRecord, &mut Visit<'_, R>) -> Result<(), RecordError>,
    /// Takes a row that was read, or says what is wrong with it.
    pub take: fn(&mut RunRecord, R) -> Result<(), &'static str>,
    pub columns: &'static [Column<R>],
}

type Visit<'a, R> = dyn FnMut(&R) -> Result<(), RecordError> + 'a;

/// Takes each row as a function that fills it.
type VisitRows<'a> = dyn FnMut(&mut dyn FnMut(&mut FrameRow<'_>)) + 'a;

/// A table, whatever its rows are.
pub(crate) trait TableOf: Sync {
    fn file(&self) -> &'static str;
    fn always(&self) -> bool;
    fn any(&self, run: &RunRecord) -> bool;
    fn header(&self) -> Vec<&'static str>;
    fn explained(&self) -> Vec<ColumnHelp>;
    /// Adds the rows of a simulation; they are on disk when this returns. Once `stop` says so, only some more.
    fn write(
        &self,
        table: &mut Table,
        run: &RunRecord,
        warmup: Time,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), RecordError>;
    /// Hands over the rows of a simulation, value by value.
    fn visit(&self, run: &RunRecord, warmup: Time, row: &mut VisitRows<'_>);
    /// Reads the rows into the records of their simulations.
    fn read(&self, dir: &Path, records: &mut Records) -> Result<(), RecordError>;
}

impl<R> RowTable<R> {
    /// Reads row by row; a table that only some runs have may be absent.
    pub fn read_each(
        &self,
        dir: &Path,
        hosts: &BTreeMap<String, u32>,
        lacks: &mut Vec<String>,
        mut row: impl FnMut(&Rows, R) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let (header, needed) = (self.header(), self.needed);
        let rows = match self.always {
            true => Rows::open_if_begun(dir, self.file, header, needed)?,
            false => Rows::open_if_any(dir, self.file, header, needed)?,
        };
        let Some(mut rows) = rows else { return Ok(()) };
        lacks.extend(rows.lacks().map(|name| format!("{} has no column {name}", self.file)));
        let first = usize::from(self.seeded);
        while rows.next()? {
            let mut one = (self.blank)();
            for (at, column) in (first..).zip(self.columns) {
                let cell = Cell { rows: &rows, at, hosts };
                match column.set {
                    _ if !rows.has(at) => {}
                    Some(set) => set(&mut one, &cell)?,
                    None => cell.is_number_or_empty()?,
                }
            }
            row(&rows, one)?;
        }
        Ok(())
    }
}

impl<R> TableOf for RowTable<R> {
    fn file(&self) -> &'static str {
        self.file
    }

    fn always(&self) -> bool {
        self.always
    }

    fn any(&self, run: &RunRecord) -> bool {
        (self.any)(run)
    }

    fn header(&self) -> Vec<&'static str> {
        let seed = self.seeded.then_some("seed");
        seed.into_iter().chain(self.columns.iter().map(|column| column.name)).collect()
    }

    fn explained(&self) -> Vec<ColumnHelp> {
        let of = |c: &Column<R>| ColumnHelp { name: c.name, unit: c.unit, doc: c.doc };
        self.columns.iter().map(of).collect()
    }

    fn write(
        &self,
        table: &mut Table,
        run: &RunRecord,
        warmup: Time,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), RecordError> {
        let place = Place { run, warmup };
        (self.each)(run, &mut |one| {
            table.row_until(stop, |row| {
                if self.seeded {
                    row.number(run.seed);
                }
                for column in self.columns {
                    row.value((column.get)(one, &place));
                }
            })
        })?;
        table.flush()
    }

    fn visit(&self, run: &RunRecord, warmup: Time, row: &mut VisitRows<'_>) {
        let place = Place { run, warmup };
        let all = (self.each)(run, &mut |one| {
            row(&mut |take| {
                if self.seeded {
                    take(Value::Number(run.seed));
                }
                for column in self.columns {
                    take((column.get)(one, &place));
                }
            });
            Ok(())
        });
        all.expect("nothing is written, so nothing fails");
    }

    fn read(&self, dir: &Path, records: &mut Records) -> Result<(), RecordError> {
        let Records { runs, by_seed, hosts, lacks } = records;
        self.read_each(dir, hosts, lacks, |rows, one| {
            let Some(at) = by_seed.get(&rows.number(0)?) else { return Ok(()) };
            (self.take)(&mut runs[*at], one).map_err(|why| rows.wrong(why))
        })
    }
}

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Records {
    pub runs: Vec<RunRecord>,
    pub by_seed: BTreeMap<u64, usize>,
    pub hosts: BTreeMap<String, u32>,
    /// A sentence for each column that is not there.
    pub lacks: Vec<String>,
}

/// Values of a list in one field, at most: 256 throttle levels, and more antagonists than a host has cores.
const MOST_VALUES: usize = 1024;

/// One field of a row that is read.
pub(crate) struct Cell<'a> {
    rows: &'a Rows,
    at: usize,
    hosts: &'a BTreeMap<String, u32>,
}

impl Cell<'_> {
    pub fn text(&self) -> &str {
        self.rows.text(self.at)
    }

    pub fn number(&self) -> Result<u64, RecordError> {
        self.rows.number(self.at)
    }

    /// `None` if it is empty.
    pub fn maybe(&self) -> Result<Option<u64>, RecordError> {
        self.rows.maybe(self.at)
    }

    pub fn small<T: TryFrom<u64>>(&self) -> Result<T, RecordError> {
        let large = |_| self.rows.wrong(&format!("{} is too large", self.rows.name(self.at)));
        T::try_from(self.number()?).map_err(large)
    }

    /// `None` if it is empty.
    pub fn small_or_none<T: TryFrom<u64>>(&self) -> Result<Option<T>, RecordError> {
        if self.text().is_empty() { Ok(None) } else { self.small().map(Some) }
    }

    /// A number that need not be whole.
    pub fn float<T: FromStr>(&self) -> Result<T, RecordError> {
        self.parse(self.text())
    }

    /// A number that need not be whole; `None` if the cell is empty.
    pub fn some<T: FromStr>(&self) -> Result<Option<T>, RecordError> {
        if self.text().is_empty() { Ok(None) } else { self.float().map(Some) }
    }

    /// Numbers that need not be whole, parted by semicolons, at most [`MOST_VALUES`].
    pub fn floats<T: FromStr>(&self) -> Result<Vec<T>, RecordError> {
        let values = || self.text().split(';').filter(|value| !value.is_empty());
        let have = values().count();
        if have > MOST_VALUES {
            let name = self.rows.name(self.at);
            return Err(self.rows.wrong(&format!("{name} has {have} values, above {MOST_VALUES}")));
        }
        values().map(|value| self.parse(value)).collect()
    }

    /// So many of them.
    pub fn shares<const N: usize>(&self) -> Result<[f64; N], RecordError> {
        self.floats()?.try_into().map_err(|other: Vec<f64>| {
            let (name, have) = (self.rows.name(self.at), other.len());
            self.rows.wrong(&format!("{name} has {have} values, not {N}"))
        })
    }

    /// Waits of senders; files of 0.1 have no `pause`, the last.
    pub fn waits(&self) -> Result<[f64; crate::WAITS.len()], RecordError> {
        let mut values = self.floats()?;
        if values.len() + 1 == crate::WAITS.len() {
            values.push(0.0);
        }
        values.try_into().map_err(|other: Vec<f64>| {
            let (name, have) = (self.rows.name(self.at), other.len());
            self.rows.wrong(&format!("{name} has {have} values, not {}", crate::WAITS.len()))
        })
    }

    pub fn hexadecimal(&self) -> Result<u64, RecordError> {
        let name = self.rows.name(self.at);
        u64::from_str_radix(self.text(), 16)
            .map_err(|_| self.rows.wrong(&format!("{name} is not a hexadecimal number")))
    }

    pub fn yes(&self) -> Result<bool, RecordError> {
        match self.text() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => {
                let name = self.rows.name(self.at);
                Err(self.rows.wrong(&format!("{name} is neither true nor false")))
            }
        }
    }

    /// What a word names.
    pub fn word<T>(&self, named: fn(&str) -> Option<T>) -> Result<T, RecordError> {
        let text = self.text();
        named(text).ok_or_else(|| {
            let name = self.rows.name(self.at);
            self.rows.wrong(&format!("{name} \"{text}\" is not known"))
        })
    }

    pub fn part(&self) -> Result<Part, RecordError> {
        let text = self.text();
        Part::named(text).ok_or_else(|| {
            self.rows.wrong(&format!("part \"{text}\" is not a part of a completion time"))
        })
    }

    /// Index of the host that stands there.
    pub fn host(&self) -> Result<u32, RecordError> {
        let unknown = || self.rows.wrong(&format!("host \"{}\" is not in hosts.csv", self.text()));
        self.hosts.get(self.text()).copied().ok_or_else(unknown)
    }

    /// Name of the host that stands there.
    pub fn known_host(&self) -> Result<String, RecordError> {
        self.host().map(|_| self.text().into())
    }

    /// What other columns say again is not taken, but it has to be a number.
    /// What follows from other columns is never below zero.
    fn is_number_or_empty(&self) -> Result<(), RecordError> {
        match self.some::<f64>()? {
            Some(value) if value < 0.0 => {
                let (name, text) = (self.rows.name(self.at), self.text());
                Err(self.rows.wrong(&format!("{name} is \"{text}\", below zero")))
            }
            _ => Ok(()),
        }
    }

    /// NaN and infinities are words of floats and no results.
    fn parse<T: FromStr>(&self, text: &str) -> Result<T, RecordError> {
        let finite = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
        let value = finite.then(|| text.parse().ok()).flatten();
        value.ok_or_else(|| self.rows.not_a_number(self.at))
    }
}
