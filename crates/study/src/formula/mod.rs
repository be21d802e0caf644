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
//! - `+ - * / %` (`%` is the remainder) work on numbers and, value by value, on lists. A minus between names has spaces around it, since names may have hyphens.
//! - In a row `>`, `>=`, `<`, `<=` are 1 where they hold and 0 elsewhere: `mean(x > 70)` is the share of values above 70, and
//!   `sum(x * (t >= 2)) / sum(t >= 2)` the mean of a window of time.
//! - Functions make one number of a list: `mean`, `sum`, `min`, `max`, `count`, `jain`, and percentiles by nearest rank, `p50`, `p99`, `p999`.
//!   `sorted` puts a list in ascending order. `abs`, `ln` and `exp` are of a number, `ceil` of a number or of each of a list.
//! - `steps(x)` are the differences of neighbours. `spells(condition, t)` are the lengths of stretches in which a condition holds. `item(x, 3)` is the
//!   fourth value. `given(x, n)` is x, and says nothing if n is 0.
//! - `worst(a, b)` is the largest of some numbers. Unlike `max` it counts the samples beyond the percentiles of that one alone.
//! - `since(places, values, from)` has the values whose places are at least a number: samples from some time on.
//! - `rates(times, values, from, width, count)` is the growth per second of a counter in bins: `looks.at_s`, `looks.port(...).sent_bytes`, then
//!   numbers. A sixth argument is the step from the begin of a bin to that of the next.
//! - `flows(start < 2ms).elapsed_s` is a column of the flows for which the conditions hold.
//! - `each(...)` works out its formula once for each case of the experiments whose case is `*`; in `hostcc[lifo, *]` these are the cases or
//!   labels of all points with the label `lifo`. `each_seed(...)` does so for each seed. Both give a list.
//! - A formula has at most 1,000 values, and 64 brackets, functions and signs within each other.
//!
//! Invariants: the same runs give the same bits. Sums run in the order of the list. Nothing over nothing is no number
//! ([`NoValue::Empty`]), and a percentile knows how many samples lie beyond it ([`FormulaValue::beyond`]).

pub mod columns;
mod evaluate;
mod parse;

pub use columns::Window;
pub(crate) use columns::is_by_host;
pub use evaluate::{
    Experiments, FormulaValue, NoValue, Runs, SingleScenario, SummaryOfRuns, beyond,
};
pub use parse::{Formula, FunctionNames, NamedFunction, NamedList, Reference, RunName};

#[cfg(test)]
mod tests;
