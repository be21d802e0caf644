//! What a formula comes to.

use super::columns::{Column, Window, chosen_collective, chosen_flow};
use super::parse::{
    Formula, Function, NamedFunction, NamedList, Quantity, Reduction, Reference, RunName,
};
use crate::metrics;
use forebay_record::{RunRecord, RunStart, Summary, jain};
use forebay_scenario::expect::Condition;
use std::cell::Cell;
use std::sync::OnceLock;

/// Simulations of one scenario, one for each seed.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// What they are of.
    pub about: &'a RunStart,
    /// What each left.
    pub records: &'a [RunRecord],
    /// The measured part of each; none where only records were kept.
    pub windows: &'a [Window],
    /// Their summary.
    pub summary: SummaryOfRuns<'a>,
}

/// A summary that is there, or is made when a metric needs it.
#[derive(Clone, Copy)]
pub enum SummaryOfRuns<'a> {
    /// There it is.
    Given(&'a Summary),
    /// Where to keep it.
    Lazy(&'a OnceLock<Summary>),
}

/// What a formula may name.
pub trait Experiments {
    /// The runs of this name; `None`: those that `[[expect]]` stands in.
    ///
    /// # Errors
    /// What there is instead, as the end of a sentence.
    fn runs(&self, name: Option<&RunName>) -> Result<Runs<'_>, String>;

    /// What `*` stands for in a name: the cases or labels of the points that have the rest of it, in order.
    fn cases(&self, name: &RunName) -> Vec<String>;

    /// A function beyond the built-in ones.
    fn function(&self, name: &str) -> Option<NamedFunction>;

    /// Such a function that makes a list.
    fn list_function(&self, _: &str) -> Option<NamedList> {
        None
    }
}

/// The runs of one scenario.
pub struct SingleScenario<'a>(pub Runs<'a>);

impl Experiments for SingleScenario<'_> {
    fn runs(&self, _: Option<&RunName>) -> Result<Runs<'_>, String> {
        Ok(self.0)
    }

    fn cases(&self, _: &RunName) -> Vec<String> {
        Vec::new()
    }

    fn function(&self, _: &str) -> Option<NamedFunction> {
        None
    }
}

/// A number, and how much it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormulaValue {
    /// The number.
    pub value: f64,
    /// Fewest samples beyond any of its percentiles; `None` without one.
    pub beyond: Option<usize>,
}

/// Why there is no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// Something is not there; a sentence.
    Missing(String),
    /// Both sides of a ratio are zero: nothing happened on either.
    Empty,
}

enum Value {
    Number(f64),
    List(Vec<f64>),
}

impl Value {
    fn into_list(self) -> Vec<f64> {
        match self {
            Self::Number(number) => vec![number],
            Self::List(list) => list,
        }
    }

    /// The number, or each of the list.
    fn map(self, of: impl Fn(f64) -> f64) -> Self {
        match self {
            Self::Number(number) => Self::Number(of(number)),
            Self::List(list) => Self::List(list.into_iter().map(of).collect()),
        }
    }
}

/// The simulations with only the flows and collectives for which all conditions hold.
fn chosen(conditions: &[Condition], runs: &[RunRecord]) -> Vec<RunRecord> {
    let of = |run: &RunRecord| RunRecord {
        seed: run.seed,
        hosts: run.hosts.clone(),
        flows: run
            .flows
            .iter()
            .filter(|flow| chosen_flow(conditions, flow, &run.hosts))
            .copied()
            .collect(),
        collectives: run
            .collectives
            .iter()
            .filter(|row| chosen_collective(conditions, row))
            .copied()
            .collect(),
        end: run.end,
        interrupted: run.interrupted,
        totals: run.totals,
        digest: run.digest,
        ..RunRecord::default()
    };
    runs.iter().map(of).collect()
}

impl Formula {
    /// Works it out, of the flows for which `rows` hold.
    ///
    /// # Errors
    /// If something is not there, or nothing happened.
    pub fn value(
        &self,
        from: &dyn Experiments,
        rows: &[Condition],
    ) -> Result<FormulaValue, NoValue> {
        let evaluation =
            Evaluation { from, rows, case: None, seed: None, beyond: &Cell::new(None) };
        match evaluation.value(self)? {
            Value::Number(value) => Ok(FormulaValue { value, beyond: evaluation.beyond.get() }),
            Value::List(_) => unreachable!("a formula that was read is one number"),
        }
    }

    /// Works out a formula that may be a list.
    ///
    /// # Errors
    /// As [`Formula::value`].
    pub fn list(&self, from: &dyn Experiments) -> Result<Vec<f64>, NoValue> {
        let evaluation =
            Evaluation { from, rows: &[], case: None, seed: None, beyond: &Cell::new(None) };
        Ok(evaluation.value(self)?.into_list())
    }
}

#[derive(Clone)]
struct Evaluation<'a> {
    from: &'a dyn Experiments,
    rows: &'a [Condition],
    /// What `*` stands for.
    case: Option<String>,
    /// The only seed that counts, by its place.
    seed: Option<usize>,
    beyond: &'a Cell<Option<usize>>,
}

impl Evaluation<'_> {
    fn value(&self, formula: &Formula) -> Result<Value, NoValue> {
        Ok(match formula {
            Formula::Number(number) => Value::Number(*number),
            Formula::Negative(one) => self.value(one)?.map(|value| -value),
            Formula::Binary(left, sign, right) => {
                combine(self.value(left)?, *sign, self.value(right)?)?
            }
            Formula::Call(function, arguments) => self.call(function, arguments)?,
            Formula::Reference(reference) => self.reference(reference)?,
        })
    }

    fn call(&self, function: &Function, arguments: &[Formula]) -> Result<Value, NoValue> {
        if let Function::Each | Function::EachSeed = function {
            return self.each(function, &arguments[0]);
        }
        if let Function::Worst = function {
            return self.worst(arguments);
        }
        if let Function::Ceil = function {
            return Ok(self.value(&arguments[0])?.map(f64::ceil));
        }
        let lists = arguments.iter().map(|one| Ok(self.value(one)?.into_list()));
        let mut lists = lists.collect::<Result<Vec<_>, NoValue>>()?;
        Ok(match function {
            Function::Reduce(reduction) => Value::Number(reduction.of(&lists.concat())),
            Function::Sorted => {
                lists[0].sort_by(f64::total_cmp);
                Value::List(lists.swap_remove(0))
            }
            Function::Steps => {
                Value::List(lists[0].windows(2).map(|two| two[1] - two[0]).collect())
            }
            Function::Spells => Value::List(spells(&lists[0], &lists[1])?),
            Function::Item => {
                let which = lists[1][0] as usize;
                Value::Number(lists[0].get(which).copied().unwrap_or(f64::NAN))
            }
            Function::Given if lists[1][0] == 0.0 => return Err(NoValue::Empty),
            Function::Given => Value::Number(lists[0][0]),
            Function::Abs => Value::Number(lists[0][0].abs()),
            Function::Ln => Value::Number(lists[0][0].ln()),
            Function::Exp => Value::Number(lists[0][0].exp()),
            Function::Since => {
                let both = lists[0].iter().zip(&lists[1]);
                Value::List(both.filter(|one| *one.0 >= lists[2][0]).map(|one| *one.1).collect())
            }
            Function::Rates if lists[2][0].is_finite() => Value::List(rates(&lists)),
            Function::Rates => {
                let text = "has rates(...) from a time that is not finite: a flow has not ended";
                return Err(NoValue::Missing(text.into()));
            }
            Function::Percentile(per_10_000) => {
                let (value, beyond) = percentile(&mut lists[0], *per_10_000);
                let fewest = self.beyond.get().map_or(beyond, |fewest| fewest.min(beyond));
                self.beyond.set(Some(fewest));
                Value::Number(value)
            }
            Function::NamedList(name) => {
                let function = self.from.list_function(name);
                Value::List(function.expect("it was read with its name")(&lists))
            }
            Function::Named(name) => {
                let function = self.from.function(name);
                Value::Number(function.expect("it was read with its name")(&lists))
            }
            Function::Each | Function::EachSeed | Function::Worst | Function::Ceil => {
                unreachable!("these were done above")
            }
        })
    }

    /// The largest, with the samples beyond its percentiles and not those of the others.
    fn worst(&self, arguments: &[Formula]) -> Result<Value, NoValue> {
        let mut worst: Option<(f64, Option<usize>)> = None;
        for argument in arguments {
            let beyond = Cell::new(None);
            let own = Evaluation { beyond: &beyond, ..self.clone() };
            let Value::Number(value) = own.value(argument)? else {
                unreachable!("it was read with numbers")
            };
            if worst.is_none_or(|(largest, _)| value.total_cmp(&largest).is_ge()) {
                worst = Some((value, beyond.get()));
            }
        }
        let (value, beyond) = worst.unwrap_or((f64::NAN, None));
        if let Some(beyond) = beyond {
            self.beyond.set(Some(self.beyond.get().map_or(beyond, |fewest| fewest.min(beyond))));
        }
        Ok(Value::Number(value))
    }

    /// The formula for each case or seed.
    fn each(&self, function: &Function, formula: &Formula) -> Result<Value, NoValue> {
        let runs = formula.references().map(|one| one.run.as_ref());
        let of = |inner: Self| match inner.value(formula)? {
            Value::Number(number) => Ok(number),
            Value::List(_) => unreachable!("the function was read with one number"),
        };
        let values: Result<Vec<f64>, NoValue> = if *function == Function::EachSeed {
            let Some(run) = runs.into_iter().next() else { return Ok(Value::List(Vec::new())) };
            let seeds = self.runs(run)?.records.len();
            (0..seeds).map(|seed| of(Self { seed: Some(seed), ..self.clone() })).collect()
        } else {
            let starred = |run: &&RunName| run.point.iter().any(|one| one == "*");
            let run = runs.flatten().find(starred).ok_or_else(|| {
                NoValue::Missing("each(...) has no experiment with the case *".into())
            })?;
            let cases = self.from.cases(run).into_iter();
            cases.map(|case| of(Self { case: Some(case), ..self.clone() })).collect()
        };
        values.map(Value::List)
    }

    fn runs(&self, name: Option<&RunName>) -> Result<Runs<'_>, NoValue> {
        let bound = name.map(|name| RunName {
            experiment: name.experiment.clone(),
            point: name
                .point
                .iter()
                .map(|one| match (&self.case, one.as_str()) {
                    (Some(case), "*") => case.clone(),
                    _ => one.clone(),
                })
                .collect(),
        });
        self.from.runs(bound.as_ref()).map_err(NoValue::Missing)
    }

    fn reference(&self, reference: &Reference) -> Result<Value, NoValue> {
        let runs = self.runs(reference.run.as_ref())?;
        let whole = 0..runs.records.len();
        let seeds = self.seed.map_or(whole, |seed| seed..seed + 1);
        match &reference.quantity {
            Quantity::Metric => self.metric(&reference.text, runs, seeds).map(Value::Number),
            Quantity::Column(column) => {
                let mut list = Vec::new();
                for seed in seeds {
                    let of = (&runs.records[seed], runs.about.warmup);
                    let found = column.values(of, runs.windows.get(seed), self.rows);
                    list.extend(found.map_err(|why| {
                        NoValue::Missing(format!("has {}, which {why}", reference.text))
                    })?);
                }
                Ok(if *column == Column::Seconds {
                    Value::Number(list[0])
                } else {
                    Value::List(list)
                })
            }
        }
    }

    fn metric(
        &self,
        name: &str,
        runs: Runs<'_>,
        seeds: std::ops::Range<usize>,
    ) -> Result<f64, NoValue> {
        let metric = metrics::by_name(name).expect("it was read by its name");
        let chooses = !self.rows.is_empty() && (metric.of_flows || metric.is_of_collectives());
        let value = if chooses {
            metric.value(&Summary::of(runs.about, &chosen(self.rows, &runs.records[seeds])))
        } else if seeds.len() < runs.records.len() {
            metric.value(&Summary::of(runs.about, &runs.records[seeds]))
        } else {
            metric.value(match runs.summary {
                SummaryOfRuns::Given(summary) => summary,
                SummaryOfRuns::Lazy(kept) => {
                    kept.get_or_init(|| Summary::of(runs.about, runs.records))
                }
            })
        };
        let of = if metric.is_of_collectives() { "collective" } else { "flow" };
        let none = || NoValue::Missing(format!("has no value: no such {of} completed"));
        value.mean.ok_or_else(none)
    }
}

fn combine(left: Value, sign: char, right: Value) -> Result<Value, NoValue> {
    let of = |a: f64, b: f64| match sign {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '%' => a % b,
        '>' => f64::from(u8::from(a > b)),
        '<' => f64::from(u8::from(a < b)),
        '≥' => f64::from(u8::from(a >= b)),
        '≤' => f64::from(u8::from(a <= b)),
        _ => a / b,
    };
    Ok(match (left, right) {
        (Value::Number(a), Value::Number(b)) if sign == '/' && a == 0.0 && b == 0.0 => {
            return Err(NoValue::Empty);
        }
        (Value::Number(a), Value::Number(b)) => Value::Number(of(a, b)),
        (Value::Number(a), Value::List(list)) => {
            Value::List(list.into_iter().map(|b| of(a, b)).collect())
        }
        (Value::List(list), Value::Number(b)) => {
            Value::List(list.into_iter().map(|a| of(a, b)).collect())
        }
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            Value::List(a.into_iter().zip(b).map(|(a, b)| of(a, b)).collect())
        }
        (Value::List(a), Value::List(b)) => {
            let text = format!("has lists of {} and {} values side by side", a.len(), b.len());
            return Err(NoValue::Missing(text));
        }
    })
}

/// Length of each stretch of values that are not 0, from the time of its first to that of its last value.
fn spells(values: &[f64], times: &[f64]) -> Result<Vec<f64>, NoValue> {
    if values.len() != times.len() {
        let text = format!("has spells of {} values at {} times", values.len(), times.len());
        return Err(NoValue::Missing(text));
    }
    let pairs: Vec<(bool, f64)> =
        values.iter().zip(times).map(|(value, at)| (*value != 0.0, *at)).collect();
    let stretches = pairs.chunk_by(|a, b| a.0 == b.0).filter(|stretch| stretch[0].0);
    Ok(stretches.map(|stretch| stretch[stretch.len() - 1].1 - stretch[0].1).collect())
}

/// Growth per second of a counter in bins. Between two of its samples it grows on a straight line.
pub(super) fn rates(lists: &[Vec<f64>]) -> Vec<f64> {
    let [times, values] = [&lists[0], &lists[1]];
    let [from, width, count] = [2, 3, 4].map(|i: usize| lists[i][0]);
    let step = lists.get(5).map_or(width, |list| list[0]);
    if times.len() < 2 || times.len() != values.len() {
        return Vec::new();
    }
    let value_at = |at: f64| {
        let i = times.partition_point(|time| *time < at).clamp(1, times.len() - 1);
        let share = ((at - times[i - 1]) / (times[i] - times[i - 1])).clamp(0.0, 1.0);
        values[i - 1] + (values[i] - values[i - 1]) * share
    };
    let bin = |i: usize| {
        let begin = from + step * i as f64;
        let end = begin + width;
        (value_at(end) - value_at(begin)) / (end - begin)
    };
    (0..count.max(0.0) as usize).map(bin).collect()
}

/// Nearest rank, and how many samples lie beyond it on its thin side.
fn percentile(list: &mut [f64], per_10_000: u32) -> (f64, usize) {
    list.sort_by(f64::total_cmp);
    let rank = (list.len() * per_10_000 as usize).div_ceil(10_000);
    let value = list.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN);
    (value, beyond(list.len(), per_10_000))
}

/// How many of `count` samples lie beyond their nearest-rank percentile, on its thin side.
pub fn beyond(count: usize, per_10_000: u32) -> usize {
    let rank = (count * per_10_000 as usize).div_ceil(10_000);
    if per_10_000 >= 5_000 { count - rank } else { rank.saturating_sub(1) }
}

impl Reduction {
    fn of(self, values: &[f64]) -> f64 {
        let sum = || values.iter().sum::<f64>();
        match self {
            Self::Mean => sum() / values.len() as f64,
            Self::Sum => sum(),
            Self::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Count => values.len() as f64,
            Self::Jain => jain(values).unwrap_or(0.0),
        }
    }
}
