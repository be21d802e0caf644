//! CSV files of a run directory: values, the writer, and the reader, which finds columns by name.

mod rows;
mod table;

pub(crate) use rows::Rows;
pub use table::write_whole;
pub(crate) use table::{LOCK, PARTIAL, PROGRESS, Table};

/// What a row has in a column.
pub(crate) enum Value<'a> {
    Number(u64),
    /// Empty if there is none.
    Maybe(Option<u64>),
    /// Six decimals; empty if there is none.
    Ratio(Option<f64>),
    /// The shortest text that reads back to the same value.
    Exact(f64),
    /// The shortest text in single precision; empty if there is none.
    Single(Option<f32>),
    /// Values parted by semicolons, each as [`Value::Exact`].
    List(&'a [f64]),
    /// Likewise in single precision.
    Singles(&'a [f32]),
    Text(&'a str),
    Owned(String),
}

/// Takes the values of a row, from the first to the last.
pub(crate) type RowValues<'a> = dyn FnMut(Value<'_>) + 'a;
