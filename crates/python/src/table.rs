//! Tables of results as Python sees them: columns as numpy arrays, all of them as an Arrow stream, none of them copied.

use crate::arrow::{Schema, Stream};
use forebay_record::frame::{Frame, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use std::sync::Arc;

/// A table of results.
#[pyclass(frozen, module = "forebay._core")]
pub struct Table {
    frame: Arc<Frame>,
}

impl Table {
    pub(crate) fn new(frame: Frame) -> Self {
        Self { frame: Arc::new(frame) }
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.frame.rows
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.frame.columns.iter().map(|(name, _)| *name).collect()
    }

    /// Kind of a column and the blocks that make it up.
    fn blocks<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyTuple>> {
        let column = self.frame.columns.iter().position(|(other, _)| *other == name);
        let column = column.ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        let block = |part| Block { frame: self.frame.clone(), column, part };
        match &self.frame.columns[column].1 {
            Values::Whole(_) | Values::Real(_) => ("plain", block(0)).into_pyobject(py),
            Values::MaybeWhole(..) => ("maybe", block(0), block(1)).into_pyobject(py),
            Values::Lists(..) => ("lists", block(0), block(1)).into_pyobject(py),
            Values::Words(_, words) => ("words", block(0), words.clone()).into_pyobject(py),
        }
    }

    /// The table as an Arrow stream of one batch, by the Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish, which the interface lets us leave unfulfilled
        PyCapsule::new_with_value(py, Stream::of(self.frame.clone()), c"arrow_array_stream")
    }

    /// The table's schema, by the Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        PyCapsule::new_with_value(py, Schema::of(&self.frame), c"arrow_schema")
    }
}

/// Values that lie one after another, for numpy to look at.
#[pyclass(frozen, module = "forebay._core")]
pub struct Block {
    frame: Arc<Frame>,
    column: usize,
    part: usize,
}

#[pymethods]
impl Block {
    /// Where numpy finds the values. It keeps this object, and so the values.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (at, length, kind) = match (&self.frame.columns[self.column].1, self.part) {
            (Values::Whole(all) | Values::MaybeWhole(all, _), 0) => place(all, "i8"),
            (Values::MaybeWhole(_, there), _) => place(there, "b1"),
            (Values::Real(all), _) | (Values::Lists(_, all), 1) => place(all, "f8"),
            (Values::Lists(offsets, _), _) => place(offsets, "i4"),
            (Values::Words(codes, _), _) => place(codes, "i4"),
            (Values::Whole(_), _) => unreachable!("one part"),
        };
        let order = if kind == "b1" {
            "|"
        } else if cfg!(target_endian = "big") {
            ">"
        } else {
            "<"
        };
        let of = PyDict::new(py);
        of.set_item("version", 3)?;
        of.set_item("shape", (length,))?;
        of.set_item("typestr", format!("{order}{kind}"))?;
        of.set_item("data", (at, true))?; // read-only
        Ok(of)
    }
}

fn place<T>(values: &[T], kind: &'static str) -> (usize, usize, &'static str) {
    (values.as_ptr() as usize, values.len(), kind)
}
