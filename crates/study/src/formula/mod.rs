//! Formulas: numbers of runs by name, and arithmetic over them. One grammar for `[[expect]]` and for the rows of `forebay reproduce`.
//!
//! ```text
//! flows.slowdown.p99 / flows.slowdown.p50                                   in [[expect]]: of the run itself
//! max(incast[48].flows.elapsed_s) / (48 * 450e3 * 8 / 10e9)                 in a row: of a point of an experiment
//! sum(each(homa-aeolus[*].total_losses))                                    the sum over all cases
//! ```
//!
//! - A **metric** (`forebay list metrics`) is one number of all seeds. A **column** is a list: a value for each flow, port or sample, seed by
//!   seed. The columns are in [`columns`](mod@columns).
//! - In a row each name begins with an experiment and its case: `incast[48].`.
//! - `+ - * /` work on numbers and, value by value, on lists. A minus between names has spaces around it, since names may have hyphens.
//! - Functions make one number of a list: `mean`, `sum`, `min`, `max`, `count`, `jain`, and percentiles by nearest rank, `p50`, `p99`, `p999`.
//!   `sorted` puts a list in ascending order. `abs` and `ln` are of a number.
//! - `each(...)` works out its formula once for each case of the experiments whose case is `*`. `each_seed(...)` does so for each seed.
//!   Both give a list.
//!
//! Invariants: the same runs give the same bits. Sums run in the order of the list. Nothing over nothing is no number
//! ([`NoValue::Empty`]), and a percentile knows how many samples lie beyond it ([`FormulaValue::beyond`]).

pub mod columns;
mod evaluate;
mod parse;

pub use columns::Window;
pub(crate) use columns::is_by_host;
pub use evaluate::{Experiments, FormulaValue, NoValue, Runs, SingleScenario, SummaryOfRuns};
pub use parse::{Formula, NamedFunction, Reference, RunName};

#[cfg(test)]
mod tests;
