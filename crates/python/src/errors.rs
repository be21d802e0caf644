//! Errors as Python has them: `forebay._errors` defines their classes.

use forebay_record::RecordError;
use pyo3::prelude::*;
use pyo3::types::PyAny;

/// What is wrong with a scenario: place, key and sentence of each problem.
pub(crate) fn scenario(error: &forebay_scenario::Error) -> PyErr {
    problems(error.problems.iter().map(|p| (p.place.clone(), p.key.clone(), p.text.clone())))
}

/// A sentence about the scenario as a whole.
pub(crate) fn refused(place: &str, text: impl ToString) -> PyErr {
    problems([(place.to_string(), String::new(), text.to_string())])
}

fn problems(all: impl IntoIterator<Item = (String, String, String)>) -> PyErr {
    let all: Vec<_> = all.into_iter().collect();
    raised("ScenarioError", |class| class.call1((all,)))
}

/// Files of results that cannot be read or written.
pub(crate) fn results(error: &RecordError) -> PyErr {
    world(error)
}

/// A `ResultsError` with this sentence.
pub(crate) fn world(text: impl ToString) -> PyErr {
    raised("ResultsError", |class| class.call1((text.to_string(),)))
}

fn raised(
    class: &str,
    make: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyErr {
    Python::attach(|py| {
        let class = py.import("forebay._errors").and_then(|module| module.getattr(class));
        class.and_then(|class| make(&class)).map_or_else(|error| error, PyErr::from_value)
    })
}
