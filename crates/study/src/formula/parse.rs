//! The text of a formula, read and checked.

use super::columns::{Column, Step};
use crate::metrics;
use std::fmt;

/// A formula that has been understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// Its opposite.
    Negative(Box<Formula>),
    /// `+`, `-`, `*`, `/` or `%` between two, or a comparison: `>`, `<`, `≥`, `≤`.
    Binary(Box<Formula>, char, Box<Formula>),
    /// A function of these.
    Call(Function, Vec<Formula>),
    /// A number or a list of runs.
    Reference(Reference),
}

/// A metric or a column, and the runs that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The runs; `None`: those that `[[expect]]` stands in.
    pub run: Option<RunName>,
    /// Their metric or column.
    pub(super) quantity: Quantity,
    /// As written, without the runs.
    pub(super) text: String,
}

/// Name of runs in a row: `incast[48]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunName {
    /// The experiment.
    pub experiment: String,
    /// The case and labels of swept values that choose one of its points; `*`: each in turn.
    pub point: Vec<String>,
}

impl RunName {
    /// Whether a point of an experiment may be the one that is meant.
    pub fn covers(&self, experiment: &str, tags: &[String]) -> bool {
        let is = |one: &String| one == "*" || tags.contains(one);
        self.experiment == experiment && self.point.iter().all(is)
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.experiment)?;
        if self.point.is_empty() { Ok(()) } else { write!(f, "[{}]", self.point.join(", ")) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Quantity {
    Metric,
    Column(Column),
}

/// What a function makes of lists, by its caller's name for it.
pub type NamedFunction = fn(&[Vec<f64>]) -> f64;

/// Likewise, where it makes a list.
pub type NamedList = fn(&[Vec<f64>]) -> Vec<f64>;

/// Names of a caller's functions.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionNames<'a> {
    /// Those that make a number.
    pub numbers: &'a [&'a str],
    /// Those that make a list.
    pub lists: &'a [&'a str],
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub enum Function {
    /// One number of all numbers of the arguments.
    Reduce(Reduction),
    /// A percentile by nearest rank, in parts of 10,000.
    Percentile(u32),
    /// A list in ascending order.
    Sorted,
    /// A number without its sign.
    Abs,
    /// The natural logarithm of a number.
    Ln,
    /// What each value is above the one before it.
    Steps,
    /// How long each stretch of a condition lasts, by the times of its first and last value.
    Spells,
    /// One value of a list, counted from 0.
    Item,
    /// A number, if another one is not zero: else nothing happened.
    Given,
    /// The exponential function of a number.
    Exp,
    /// Values whose places are at least a number: `since(places, values, from)`.
    Since,
    /// Growth per second of a counter in bins: `rates(times, values, from, width, count)`, with a sixth argument for the step between bins.
    Rates,
    /// The formula for each case that `*` stands for.
    Each,
    /// The formula for each seed.
    EachSeed,
    /// The largest of some numbers; how many samples it rests on is said of it alone.
    Worst,
    /// The next whole number, of a number or of each of a list.
    Ceil,
    /// One of the caller's.
    Named(String),
    /// One of the caller's that makes a list.
    NamedList(String),
}

/// One number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Sum over count.
    Mean,
    /// In the order of the list.
    Sum,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// How many.
    Count,
    /// Jain's index of fairness.
    Jain,
}

impl Function {
    fn of(name: &str, named: FunctionNames<'_>) -> Option<Self> {
        Some(match name {
            "mean" => Self::Reduce(Reduction::Mean),
            "sum" => Self::Reduce(Reduction::Sum),
            "min" => Self::Reduce(Reduction::Min),
            "max" => Self::Reduce(Reduction::Max),
            "count" => Self::Reduce(Reduction::Count),
            "jain" => Self::Reduce(Reduction::Jain),
            "sorted" => Self::Sorted,
            "abs" => Self::Abs,
            "ln" => Self::Ln,
            "steps" => Self::Steps,
            "spells" => Self::Spells,
            "item" => Self::Item,
            "given" => Self::Given,
            "exp" => Self::Exp,
            "rates" => Self::Rates,
            "since" => Self::Since,
            "each" => Self::Each,
            "each_seed" => Self::EachSeed,
            "worst" => Self::Worst,
            "ceil" => Self::Ceil,
            _ if named.numbers.contains(&name) => Self::Named(name.into()),
            _ if named.lists.contains(&name) => Self::NamedList(name.into()),
            _ => Self::Percentile(per_10_000(name.strip_prefix('p')?)?),
        })
    }
}

/// `99` is 9,900, `999` is 9,990; `100` is none.
fn per_10_000(digits: &str) -> Option<u32> {
    let plain = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let number: u32 = digits.parse().ok().filter(|_| plain)?;
    let scaled = match digits.len() {
        1 | 2 => number * 100,
        3 => number * 10,
        _ => number,
    };
    let reads_as_whole = digits.len() > 2 && digits.ends_with('0'); // p100 is not p10
    (scaled > 0 && !reads_as_whole).then_some(scaled)
}

/// What a formula is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Number,
    List,
}

impl Formula {
    /// Reads a formula of `[[expect]]`, whose names are of the run itself.
    ///
    /// # Errors
    /// What cannot be understood, as the rest of a sentence that begins with the formula.
    pub fn of_run(text: &str) -> Result<Self, String> {
        let formula = Self::read(text, false, FunctionNames::default())?;
        if let Some(one) = formula.references().find(|one| one.needs_window()) {
            return Err(format!(
                "has {}, which is known of the experiments of a suite only; write a metric or a column of flows",
                one.text
            ));
        }
        Ok(formula)
    }

    /// Reads a formula of a row, whose names begin with an experiment. `named` are functions beyond the built-in ones.
    ///
    /// # Errors
    /// As [`Formula::of_run`].
    pub fn of_suite(text: &str, named: FunctionNames<'_>) -> Result<Self, String> {
        Self::read(text, true, named)
    }

    /// Reads a formula as [`Formula::of_suite`] does, which may be a list.
    ///
    /// # Errors
    /// As [`Formula::of_run`].
    pub fn list_of_suite(text: &str, named: FunctionNames<'_>) -> Result<Self, String> {
        let formula = Self::parse(text, true, named)?;
        formula.shape().map(|_| formula)
    }

    fn parse(text: &str, in_suite: bool, named: FunctionNames<'_>) -> Result<Self, String> {
        let mut reader = Reader { text, at: 0, in_suite, named, nested: 0, values: 0 };
        let formula = reader.comparison()?;
        reader.skip();
        match reader.at < text.len() {
            true => Err(reader.wrong("ends too early", "write + - * / between values")),
            false => Ok(formula),
        }
    }

    fn read(text: &str, in_suite: bool, named: FunctionNames<'_>) -> Result<Self, String> {
        let formula = Self::parse(text, in_suite, named)?;
        match formula.shape()? {
            Shape::Number => Ok(formula),
            Shape::List => Err("is a list; write what makes one number of it, for instance mean(...), max(...) or p99(...)".into()),
        }
    }

    /// All metrics and columns in it.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        let mut all = Vec::new();
        self.collect(&mut all);
        all.into_iter()
    }

    fn collect<'a>(&'a self, all: &mut Vec<&'a Reference>) {
        match self {
            Self::Number(_) => {}
            Self::Negative(one) => one.collect(all),
            Self::Binary(left, _, right) => {
                left.collect(all);
                right.collect(all);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|one| one.collect(all)),
            Self::Reference(reference) => all.push(reference),
        }
    }

    /// Whether conditions on flows can choose anything in it.
    pub fn is_of_flows(&self) -> bool {
        self.references().any(Reference::is_of_flows)
    }

    /// Whether conditions on collectives can choose anything in it.
    pub fn is_of_collectives(&self) -> bool {
        self.references().any(Reference::is_of_collectives)
    }

    fn shape(&self) -> Result<Shape, String> {
        Ok(match self {
            Self::Number(_) => Shape::Number,
            Self::Negative(one) => one.shape()?,
            Self::Binary(left, _, right) => match (left.shape()?, right.shape()?) {
                (Shape::Number, Shape::Number) => Shape::Number,
                _ => Shape::List,
            },
            Self::Reference(one) => match &one.quantity {
                Quantity::Column(column) if column.is_list() => Shape::List,
                _ => Shape::Number,
            },
            Self::Call(function, arguments) => {
                let shapes = arguments.iter().map(Self::shape).collect::<Result<Vec<_>, _>>()?;
                let one = |of: Shape| match shapes[..] {
                    [shape] if shape == of => Ok(()),
                    _ => {
                        let what = if of == Shape::List { "list" } else { "number" };
                        Err(format!("has a function of one {what} that gets something else"))
                    }
                };
                let all = |of: &[Shape]| {
                    match shapes == of {
                    true => Ok(()),
                    false => Err("has a function of two that gets something else; spells is of two lists, item of a list and a number, given of two numbers".to_string()),
                }
                };
                match function {
                    Function::Reduce(_) | Function::Named(_) => Shape::Number,
                    Function::NamedList(_) => Shape::List,
                    Function::Worst => match shapes.contains(&Shape::List) {
                        true => return Err("has worst(...) of a list; write max(...)".into()),
                        false => Shape::Number,
                    },
                    Function::Ceil => match shapes[..] {
                        [shape] => shape,
                        _ => return Err("has ceil of several values; write one".into()),
                    },
                    Function::Percentile(_) => one(Shape::List).map(|()| Shape::Number)?,
                    Function::Sorted => one(Shape::List).map(|()| Shape::List)?,
                    Function::Steps => one(Shape::List).map(|()| Shape::List)?,
                    Function::Spells => all(&[Shape::List; 2]).map(|()| Shape::List)?,
                    Function::Item => all(&[Shape::List, Shape::Number]).map(|()| Shape::Number)?,
                    Function::Given => all(&[Shape::Number; 2]).map(|()| Shape::Number)?,
                    Function::Abs | Function::Ln | Function::Exp => {
                        one(Shape::Number).map(|()| Shape::Number)?
                    }
                    Function::Since => {
                        match shapes[..] {
                            [Shape::List, Shape::List, Shape::Number] => Shape::List,
                            _ => {
                                return Err("has since(...) of something else than places, values and a number".into());
                            }
                        }
                    }
                    Function::Rates => match &shapes[..] {
                        [Shape::List, Shape::List, numbers @ ..]
                            if matches!(numbers.len(), 3 | 4)
                                && numbers.iter().all(|one| *one == Shape::Number) =>
                        {
                            Shape::List
                        }
                        _ => {
                            return Err("has rates(...) of something else than times, values, from, width, count and perhaps a step".into());
                        }
                    },
                    Function::Each | Function::EachSeed => {
                        one(Shape::Number).map(|()| Shape::List)?
                    }
                }
            }
        })
    }
}

impl Reference {
    fn is_of_flows(&self) -> bool {
        match &self.quantity {
            Quantity::Metric => metrics::by_name(&self.text).is_some_and(|metric| metric.of_flows),
            Quantity::Column(column) => column.is_of_flows(),
        }
    }

    fn is_of_collectives(&self) -> bool {
        matches!(self.quantity, Quantity::Metric)
            && metrics::by_name(&self.text).is_some_and(|metric| metric.is_of_collectives())
    }

    /// The column, if it is of looks.
    pub fn column_of_looks(&self) -> Option<&Column> {
        match &self.quantity {
            Quantity::Column(column) => Some(column).filter(|column| column.is_of_looks()),
            Quantity::Metric => None,
        }
    }

    fn needs_window(&self) -> bool {
        matches!(&self.quantity, Quantity::Column(column) if column.needs_window())
    }
}

/// Brackets, functions and signs within each other, at most: each is a call of the functions that read and work out a formula.
const MOST_NESTED: usize = 64;

/// Values of a formula, at most, likewise: `1 + 1 + 1` is a sum of a sum.
const MOST_VALUES: usize = 1000;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    in_suite: bool,
    named: FunctionNames<'a>,
    nested: usize,
    values: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn wrong(&self, what: &str, remedy: &str) -> String {
        let place = self.text[..self.at].chars().count() + 1;
        format!("{what} at character {place}; {remedy}")
    }

    /// A sum, or two with `>`, `>=`, `<` or `<=` between them: 1 where that holds, else 0. In a suite alone: `[[expect]]` has bounds.
    fn comparison(&mut self) -> Result<Formula, String> {
        let left = self.sum()?;
        self.skip();
        let Some(sign) = ['>', '<'].into_iter().find(|sign| self.in_suite && self.take(*sign))
        else {
            return Ok(left);
        };
        let sign = match (sign, self.take('=')) {
            ('>', true) => '≥',
            ('<', true) => '≤',
            (sign, _) => sign,
        };
        Ok(Formula::Binary(Box::new(left), sign, Box::new(self.sum()?)))
    }

    fn sum(&mut self) -> Result<Formula, String> {
        self.operators(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Formula, String> {
        self.operators(&['*', '/', '%'], Self::factor)
    }

    /// From left to right.
    fn operators(
        &mut self,
        signs: &[char],
        operand: fn(&mut Self) -> Result<Formula, String>,
    ) -> Result<Formula, String> {
        let mut left = operand(self)?;
        loop {
            self.skip();
            let Some(sign) = signs.iter().copied().find(|sign| self.take(*sign)) else {
                return Ok(left);
            };
            let right = operand(self)?;
            left = Formula::Binary(Box::new(left), sign, Box::new(right));
        }
    }

    fn factor(&mut self) -> Result<Formula, String> {
        self.skip();
        (self.nested, self.values) = (self.nested + 1, self.values + 1);
        if self.nested > MOST_NESTED {
            let what = format!("nests more than {MOST_NESTED} brackets, functions and signs");
            return Err(self.wrong(&what, "write a shorter formula"));
        }
        if self.values > MOST_VALUES {
            let what = format!("has more than {MOST_VALUES} values");
            return Err(self.wrong(&what, "write a shorter formula"));
        }
        let value = self.operand();
        self.nested -= 1;
        value
    }

    fn operand(&mut self) -> Result<Formula, String> {
        match self.rest().chars().next() {
            Some('-') => {
                self.take('-');
                Ok(Formula::Negative(Box::new(self.factor()?)))
            }
            Some('(') => {
                self.take('(');
                let inner = self.comparison()?;
                self.skip();
                if self.take(')') { Ok(inner) } else { Err(self.wrong("lacks a )", "close it")) }
            }
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            _ => Err(self.wrong(
                "lacks a value",
                "write a number, a metric (forebay list metrics), a column or a function",
            )),
        }
    }

    fn number(&mut self) -> Result<Formula, String> {
        let (mut before, mut end) = (' ', 0);
        for c in self.rest().chars() {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
            if !(sign || c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E')) {
                break;
            }
            (before, end) = (c, end + 1);
        }
        let text = &self.rest()[..end];
        match text.parse() {
            Ok(number) => {
                self.at += end;
                Ok(Formula::Number(number))
            }
            Err(_) => Err(self.wrong(&format!("has {text:?}, which is no number,"), "write one")),
        }
    }

    /// A word: letters, digits, `_`, and `-` within.
    fn word(&mut self) -> String {
        let rest = self.rest();
        let mut end = 0;
        let mut characters = rest.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, c)| *c);
            let within = c == '-' && at > 0 && next.is_some_and(|c| c.is_ascii_alphanumeric());
            if !(c.is_ascii_alphanumeric() || c == '_' || within) {
                break;
            }
            end = at + c.len_utf8();
        }
        let word = rest[..end].to_string();
        self.at += end;
        word
    }

    /// What stands between brackets, which may hold some of their kind.
    fn between(&mut self, (open, close): (char, char)) -> Result<Option<String>, String> {
        if !self.rest().starts_with(open) {
            return Ok(None);
        }
        let mut depth = 0;
        for (at, c) in self.rest().char_indices() {
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                let inner = self.rest()[1..at].to_string();
                self.at += at + 1;
                return Ok(Some(inner));
            }
        }
        Err(self.wrong(&format!("lacks a {close} for the {open}"), "close it"))
    }

    fn name(&mut self) -> Result<Formula, String> {
        let begin = self.at;
        let first = self.word();
        let is_column =
            !self.in_suite && matches!(&*first, "flows" | "port" | "memory" | "series" | "rpcs");
        if self.rest().starts_with('(') && !is_column {
            return self.call(&first, begin);
        }
        let mut run = None;
        let mut path: Vec<Step> = Vec::new();
        if self.in_suite {
            let point = self.between(('[', ']'))?.unwrap_or_default();
            let point = point.split(',').map(|one| one.trim().to_string());
            let point = point.filter(|one| !one.is_empty()).collect();
            run = Some(RunName { experiment: first, point });
            if !self.take('.') {
                return Err(self.wrong(
                    &format!("has {:?} alone,", &self.text[begin..self.at]),
                    "write a metric or a column of it behind a dot",
                ));
            }
        } else {
            let argument = self.between(('(', ')'))?;
            path.push((first, argument));
            if !self.take('.') {
                return self.reference(run, &path);
            }
        }
        loop {
            let name = self.word();
            let argument = self.between(('(', ')'))?;
            path.push((name, argument));
            if !self.take('.') {
                return self.reference(run, &path);
            }
        }
    }

    fn reference(&self, run: Option<RunName>, path: &[Step]) -> Result<Formula, String> {
        let step = |(name, argument): &Step| match argument {
            Some(argument) => format!("{name}({argument})"),
            None => name.clone(),
        };
        let text = path.iter().map(step).collect::<Vec<_>>().join(".");
        let column = Column::of(path).map(Quantity::Column);
        let metric = || metrics::by_name(&text).map(|_| Quantity::Metric);
        match column.or_else(metric) {
            Some(quantity) => Ok(Formula::Reference(Reference { run, quantity, text })),
            None => {
                let example = "see \"forebay list metrics\", for instance flows.slowdown.p99";
                let word = path.iter().all(|(_, argument)| argument.is_none());
                Err(match word && !self.in_suite {
                    true if text == self.text => format!("is not a metric; {example}"),
                    true => format!("has {text:?}, which is not a metric; {example}"),
                    false => format!(
                        "has {text:?}, which is neither a metric nor a column; {example}, or the columns {}",
                        Column::all()
                    ),
                })
            }
        }
    }

    fn call(&mut self, name: &str, begin: usize) -> Result<Formula, String> {
        let Some(function) = Function::of(name, self.named) else {
            self.at = begin;
            let all = "mean, sum, min, max, worst, count, jain, sorted, abs, ln, exp, ceil, steps, spells, item, given, since, rates, each, each_seed, p50, p99, p999";
            return Err(self.wrong(
                &format!("has {name:?}, which is no function,"),
                &format!(
                    "write one of {}",
                    [&[all], self.named.numbers, self.named.lists].concat().join(", ")
                ),
            ));
        };
        if !self.in_suite && function == Function::Each {
            self.at = begin;
            let remedy = "write each_seed(...) for a value of each seed";
            return Err(self.wrong("has each(...), which is for the cases of a suite,", remedy));
        }
        self.take('(');
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.comparison()?);
            self.skip();
            if self.take(')') {
                return Ok(Formula::Call(function, arguments));
            }
            if !self.take(',') {
                return Err(self.wrong("lacks a ) or a comma", "close the arguments"));
            }
        }
    }
}
