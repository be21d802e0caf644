//! Comparisons from Python: the page, the table and the JSON of `forebay compare`.

use crate::results::{Results, read_all};
use forebay_study::compare::along::{self, KeyComparison};
use forebay_study::compare::{self, Side, refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Runs beside each other, at one place or along the values of a key.
#[pyclass(frozen, module = "forebay._core")]
pub struct Comparison {
    of: Kind,
    page: String,
}

enum Kind {
    One(compare::Comparison),
    Along(KeyComparison),
}

/// What stands beside each other: names, and the directories of the seeds of each.
type Sides = Vec<(String, Vec<PathBuf>)>;

#[pymethods]
impl Comparison {
    /// Of run directories: at each value of `key` those that stand beside each other; one place without a key.
    #[staticmethod]
    fn of_dirs(
        py: Python<'_>,
        places: Vec<(String, Sides)>,
        key: Option<String>,
        left_out: Vec<String>,
        force: bool,
        command: String,
    ) -> PyResult<Self> {
        let read = |sides: Sides| {
            let one = |(name, dirs): (String, Vec<PathBuf>)| {
                let place = dirs.first().map_or(String::new(), |dir| dir.display().to_string());
                let (about, runs) = read_all(&dirs)?;
                Ok(Side::new(name, place, about, runs))
            };
            sides.into_iter().map(one).collect::<PyResult<Vec<_>>>()
        };
        py.detach(|| {
            let Some(key) = key else {
                let (_, sides) = places.into_iter().next().unwrap_or_default();
                return Self::one(read(sides)?, force, &command);
            };
            let mut all = KeyComparison::new(key, left_out);
            for (value, sides) in places {
                all.add(value, of_sides(read(sides)?, force)?);
            }
            let page = along::page(&all, &command);
            Ok(Self { of: Kind::Along(all), page })
        })
    }

    /// Of results in memory.
    #[staticmethod]
    fn of_results(
        py: Python<'_>,
        results: Vec<Py<Results>>,
        names: Option<Vec<String>>,
        force: bool,
        command: String,
    ) -> PyResult<Self> {
        let all: Vec<_> = results.iter().map(Py::get).collect();
        py.detach(|| {
            let named: Vec<_> =
                all.iter().map(|of| (&of.about, of.about.scenario.clone())).collect();
            let names = names.unwrap_or_else(|| compare::names(&named));
            let side = |(of, name): (&&Results, String)| {
                let place = of.about.scenario.clone();
                Side::new(name, place, of.about.clone(), of.runs.clone())
            };
            Self::one(all.iter().zip(names).map(side).collect(), force, &command)
        })
    }

    /// The page, one file of HTML.
    #[getter]
    fn page(&self) -> &str {
        &self.page
    }

    /// The table as for a terminal of so many columns.
    fn text(&self, width: usize) -> String {
        match &self.of {
            Kind::One(of) => compare::terminal(of, width),
            Kind::Along(of) => along::terminal(of, width),
        }
    }

    /// Doubts of a careful reader.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        match &self.of {
            Kind::One(of) => of.cautions(),
            Kind::Along(of) => of.cautions(),
        }
    }

    /// As `forebay compare --json` prints it.
    fn json(&self) -> String {
        match &self.of {
            Kind::One(of) => compare::json(of).to_string(),
            Kind::Along(of) => along::json(of).to_string(),
        }
    }
}

impl Comparison {
    fn one(sides: Vec<Side>, force: bool, command: &str) -> PyResult<Self> {
        let of = of_sides(sides, force)?;
        let page = compare::page(&of, command);
        Ok(Self { of: Kind::One(of), page })
    }
}

fn of_sides(sides: Vec<Side>, force: bool) -> PyResult<compare::Comparison> {
    let of = compare::Comparison::of(sides);
    match refusal(&of.sides, &of.differences).filter(|_| !force) {
        Some(why) => Err(PyValueError::new_err(format!(
            "{why}; force=True compares them and says so on the page"
        ))),
        None => Ok(of),
    }
}
