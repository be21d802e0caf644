//! Suites as data: experiments, cases and formulas of `rows.toml`, and the scenarios beside it.
//!
//! ```toml
//! [experiment.incast]                 # runs incast.toml, all seeds of it
//! cases = ["12", "48"]                # once with the settings of each
//! [case.12]
//! set = { "traffic[0].file" = "incast-12.csv" }   # as `forebay sweep incast.toml --set ...` has them
//! quick = { seeds = 1 }                           # and in a quick run
//! [[row]]
//! formula = "max(incast[12].flows.elapsed_s)"
//! ```
//!
//! `[define]` names parts of formulas (`define.rs`).
//! A scenario with `[sweep]` has a point for each combination, and a formula chooses one by the labels of its values: `incast[12, dctcp]`.
//!
//! Invariant: results do not depend on the order in which simulations end.

use crate::across_racks::AcrossRacks;
use crate::define::Definitions;
use crate::folder::Folder;
use crate::functions::{FUNCTIONS, LISTS};
use crate::jobs::Cores;
use crate::laid_out;
use crate::measured::{MeasuredRows, Value};
use crate::row::{Row, number};
use crate::seeds;
use crate::signals;
use forebay_record::{RunRecord, RunStart, Summary};
use forebay_scenario::import::{self, Command, Htsim, Source};
use forebay_scenario::model::Scenario;
use forebay_scenario::{LoadedScenario, around, text_from};
use forebay_sim::{Inspection, Options, Simulation, Watch};
use forebay_study::about::about_under;
use forebay_study::expect::Problems;
use forebay_study::formula::columns::Column;
use forebay_study::formula::{
    Experiments, Formula, FunctionNames, NamedFunction, NamedList, NoValue, Reference, RunName,
    Runs, SummaryOfRuns, Window,
};
use forebay_study::sweep::{self, Plan};
use forebay_units::{Span, Time};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock};

/// A number that a picture needs and that has no row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CurvePoint {
    pub id: String,
    pub formula: String,
}

/// What `rows.toml` says beside its rows.
#[derive(Deserialize)]
struct File {
    /// Points of curves.
    #[serde(default)]
    point: Vec<CurvePoint>,
    #[serde(default)]
    experiment: BTreeMap<String, Experiment>,
    #[serde(default)]
    case: BTreeMap<String, Case>,
    /// Parts of formulas.
    #[serde(default)]
    define: BTreeMap<String, String>,
}

/// One scenario, in some cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Experiment {
    /// File of the scenario. Default: the name of the experiment, with `.toml`.
    scenario: Option<String>,
    /// Instead of a scenario: what `forebay import htsim` makes of this.
    htsim: Option<HtsimCommand>,
    /// A case whose settings apply to all cases, under their own.
    under: Option<String>,
    /// Names of cases. Default: the scenario as it is.
    #[serde(default)]
    cases: Vec<String>,
    /// Settings of all cases.
    #[serde(default)]
    set: Settings,
    /// Further settings of a quick run.
    #[serde(default)]
    quick: Settings,
    /// Further settings of single cases, after all others.
    #[serde(default)]
    case: BTreeMap<String, Case>,
    /// Whether hostCC's signals at the first host with a path to memory are kept, as series.
    #[serde(default)]
    signals: bool,
    /// Draws the flows of `poisson` traffic between hosts of different racks.
    across_racks: Option<AcrossRacks>,
    /// Labels of points that `*` leaves out in a quick run.
    #[serde(default)]
    whole_only: Vec<String>,
    /// Begin of the measured part of flows, RPCs and windows. Default: `output.warmup`, from which paths to memory are measured in any case.
    from: Option<MeasuredFrom>,
    /// Equal steps from the end of the warm-up to the last arrival, or the end of the run, after each of which ports and hosts are looked at.
    #[serde(default)]
    looks: u32,
}

/// When the measured part begins, in a whole run and in a quick one.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredFrom {
    whole: Time,
    quick: Time,
}

/// A connection matrix of csg-htsim, and flags of its program `htsim_ndp`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HtsimCommand {
    matrix: String,
    cwnd: u64,
    q: u64,
    mtu: u64,
    strat: String,
    paths: Option<u64>,
}

/// Settings with a name.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    set: Settings,
    #[serde(default)]
    quick: Settings,
}

type Settings = BTreeMap<String, toml::Value>;

/// Why an experiment cannot be laid out.
struct Refusal(String);

impl From<Problems> for Refusal {
    fn from(problems: Problems) -> Self {
        Self(problems.0)
    }
}

/// One scenario that is run, and its results.
struct Point {
    experiment: String,
    /// What chooses it: the case, and labels of swept values.
    tags: Vec<String>,
    /// Whether `*` stands for it.
    in_star: bool,
    looks: u32,
    signals: bool,
    /// Columns of the looks that formulas name.
    looked: Vec<Column>,
    across_racks: Option<AcrossRacks>,
    scenario: Scenario,
    about: RunStart,
    /// By seed.
    results: Mutex<Vec<Option<(RunRecord, Window)>>>,
}

/// Points with their results.
pub(crate) struct Results {
    points: Vec<FinishedPoint>,
    definitions: Definitions,
}

struct FinishedPoint {
    experiment: String,
    tags: Vec<String>,
    in_star: bool,
    about: RunStart,
    records: Vec<RunRecord>,
    windows: Vec<Window>,
    summary: OnceLock<Summary>,
}

/// A row with its formula.
struct RowFormula<'a> {
    row: &'a Row,
    formula: Formula,
    /// Its remark: text and formulas in turn.
    remark: Vec<(String, Option<Formula>)>,
}

/// Runs the experiments that these rows name, and measures the rows. Rows without a formula, and those that a quick run leaves out, are none of
/// its.
///
/// # Panics
/// If the files of the suite are not as they should be: they are part of the program.
pub(crate) fn measure(
    folder: &Folder,
    rows: &[Row],
    cores: &Cores<'_>,
    quick: bool,
) -> MeasuredRows {
    results(folder, rows, &Lists::default(), cores, quick).0
}

/// Formulas beyond those of rows, each a list, and settings for all experiments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    pub formulas: Vec<String>,
    pub further: Vec<(String, String)>,
}

impl Lists {
    /// No formulas, and these settings.
    pub fn under(further: Vec<(String, String)>) -> Self {
        Self { further, ..Self::default() }
    }
}

/// As [`measure`], and the lists by their formulas: for pictures and for tables. A list of something that is not there is empty.
///
/// # Panics
/// As [`measure`].
pub(crate) fn measure_with_lists(
    folder: &Folder,
    rows: &[Row],
    lists: &Lists,
    cores: &Cores<'_>,
    quick: bool,
) -> (MeasuredRows, BTreeMap<String, Vec<f64>>) {
    let (measured, results) = results(folder, rows, lists, cores, quick);
    let list = |text: &String| results.as_ref().map_or_else(Vec::new, |found| found.list(text));
    (measured, lists.formulas.iter().map(|text| (text.clone(), list(text))).collect())
}

/// As [`measure`], with further settings. Also gives the results, unless nothing was run.
///
/// Only points that a formula names are run. Rows without a formula are left out, and in a quick run those that it is too short for.
///
/// # Panics
/// As [`measure`].
pub(crate) fn results(
    folder: &Folder,
    rows: &[Row],
    lists: &Lists,
    cores: &Cores<'_>,
    quick: bool,
) -> (MeasuredRows, Option<Results>) {
    let wrong = |why: String| -> ! { panic!("validation/{}: {why}", folder.suite) };
    let run = |row: &&Row| row.formula.is_some() && !(quick && row.whole_only);
    let rows: Vec<Row> = rows.iter().filter(run).cloned().collect();
    let definitions = definitions(folder).unwrap_or_else(|why| wrong(why));
    let formulas = formulas(&rows, &definitions).unwrap_or_else(|why| wrong(why));
    let list = |text: &String| list_formula(text, &definitions).unwrap_or_else(|why| wrong(why));
    let lists_of: Vec<Formula> = lists.formulas.iter().map(list).collect();
    let all = formulas.iter().flat_map(RowFormula::all).chain(&lists_of);
    let references: Vec<&Reference> = all.flat_map(Formula::references).collect();
    let points =
        lay_out(folder, quick, &references, &lists.further).unwrap_or_else(|why| wrong(why));
    let runs = points.iter().flat_map(|point| {
        (0..point.scenario.seeds.len()).map(move |at| move || point.simulate(at))
    });
    cores.call(runs.collect());
    let Some(points) = points.into_iter().map(Point::finished).collect() else {
        return (MeasuredRows::new(), None); // scenarios were laid out and not run
    };
    let results = Results { points, definitions };
    let mut measured = MeasuredRows::new();
    formulas.iter().for_each(|one| one.enter(&results, &mut measured));
    (measured, Some(results))
}

/// The points of a suite's curves.
///
/// # Panics
/// As [`measure`].
pub(crate) fn curve_points(folder: &Folder) -> Vec<CurvePoint> {
    file(folder).unwrap_or_else(|why| panic!("validation/{}: {why}", folder.suite)).point
}

/// What `rows.toml` says beside its rows.
fn file(folder: &Folder) -> Result<File, String> {
    toml::from_str(folder.rows).map_err(|error| format!("rows.toml: {error}"))
}

/// What the suite defines.
fn definitions(folder: &Folder) -> Result<Definitions, String> {
    Definitions::new(&file(folder)?.define)
}

/// Records of an experiment with further settings, seed 1, by case: for pictures.
///
/// # Panics
/// As [`measure`].
pub(crate) fn records(
    folder: &Folder,
    experiment: &str,
    sets: &[(&str, String)],
) -> Vec<(String, RunRecord)> {
    let sets: Vec<_> = sets.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    let named = BTreeSet::from([experiment.to_string()]);
    let points = points_of(folder, false, &named, &|_, _, _| true, &sets)
        .unwrap_or_else(|why| panic!("validation/{}: {why}", folder.suite));
    let run = |point: Point| {
        point.simulate(0);
        let point = point.finished().expect("it has run");
        let record = point.records.into_iter().next().expect("a seed each");
        (point.tags.join(" "), record)
    };
    points.into_iter().map(run).collect()
}

/// Says what is wrong with the experiments and formulas of a suite; nothing is run.
#[cfg(test)]
fn check(folder: &Folder, rows: &[Row], quick: bool) -> Result<usize, String> {
    let definitions = definitions(folder)?;
    let formulas = formulas(rows, &definitions)?;
    let curves = curve_points(folder);
    let curves = curves.iter().map(|point| list_formula(&point.formula, &definitions));
    let curves = curves.collect::<Result<Vec<Formula>, String>>()?;
    let all = || formulas.iter().flat_map(RowFormula::all).chain(&curves);
    let references = || all().flat_map(Formula::references);
    let named: BTreeSet<String> = names(references()).map(|name| name.experiment.clone()).collect();
    let points = points_of(folder, quick, &named, &|_, _, _| true, &[])?;
    let all = points.iter().map(|point| (point.experiment.as_str(), &point.tags[..]));
    let run = |one: &&RowFormula<'_>| !(quick && one.row.whole_only);
    let run = formulas.iter().filter(run).flat_map(RowFormula::all).chain(&curves);
    for name in names(run.flat_map(Formula::references)) {
        let star = name.point.iter().any(|one| one == "*");
        let in_star = points.iter().filter(|point| point.in_star);
        let in_star = in_star.map(|point| (point.experiment.as_str(), &point.tags[..]));
        let each = if star { starred(in_star, name) } else { vec![String::new()] };
        for case in &each {
            let point = name.point.iter().map(|one| if one == "*" { case } else { one }.clone());
            let name = RunName { point: point.collect(), ..name.clone() };
            chosen(all.clone(), &name)?;
        }
    }
    match file(folder)?.experiment.keys().find(|name| !named.contains(*name)) {
        // Rows that are not run as quick ones may need it.
        Some(name) if !quick => Err(format!("no row names experiment.{name}; leave it out")),
        _ => Ok(points.len()),
    }
}

/// The formulas of all rows.
fn formulas<'a>(rows: &'a [Row], definitions: &Definitions) -> Result<Vec<RowFormula<'a>>, String> {
    let read = |row: &Row, text: &str| {
        formula(text, definitions).map_err(|why| format!("row {}: formula {text:?} {why}", row.id))
    };
    let of = |row: &'a Row| -> Result<RowFormula<'a>, String> {
        let text = row.formula.as_ref();
        let text = text.ok_or_else(|| format!("row {} has no formula; write one", row.id))?;
        let mut remark = Vec::new();
        for part in row.remark.iter().flat_map(|remark| remark.split('}')) {
            remark.push(match part.split_once('{') {
                Some((words, formula)) => (words.to_string(), Some(read(row, formula)?)),
                None => (part.to_string(), None),
            });
        }
        Ok(RowFormula { row, formula: read(row, text)?, remark })
    };
    rows.iter().map(of).collect()
}

/// One formula, with what is defined.
fn formula(text: &str, definitions: &Definitions) -> Result<Formula, String> {
    read(Formula::of_suite, text, definitions)
}

/// One that may be a list.
fn list_formula(text: &str, definitions: &Definitions) -> Result<Formula, String> {
    read(Formula::list_of_suite, text, definitions).map_err(|why| format!("{text} {why}"))
}

fn read(
    how: fn(&str, FunctionNames<'_>) -> Result<Formula, String>,
    text: &str,
    definitions: &Definitions,
) -> Result<Formula, String> {
    let (numbers, lists) = (FUNCTIONS.map(|(name, _)| name), LISTS.map(|(name, _)| name));
    how(&definitions.expand(text)?, FunctionNames { numbers: &numbers, lists: &lists })
}

/// The runs that formulas name.
fn names<'a>(references: impl Iterator<Item = &'a Reference>) -> impl Iterator<Item = &'a RunName> {
    references.filter_map(|reference| reference.run.as_ref())
}

/// The points that these references are of with further settings.
fn lay_out(
    folder: &Folder,
    quick: bool,
    references: &[&Reference],
    further: &[(String, String)],
) -> Result<Vec<Point>, String> {
    let names = || names(references.iter().copied());
    let named: BTreeSet<String> = names().map(|name| name.experiment.clone()).collect();
    // Further settings need not suit the others.
    let is_named = |experiment: &str, case: &str, cases: &[String]| {
        names().filter(|name| name.experiment == experiment).any(|name| {
            let mut own = name.point.iter().filter(|one| cases.contains(one));
            own.clone().next().is_none() || own.any(|one| one == case)
        })
    };
    let mut points = points_of(folder, quick, &named, &is_named, further)?;
    let covers = |point: &Point, name: &RunName| {
        let is = point.in_star || name.point.iter().all(|one| one != "*");
        name.covers(&point.experiment, &point.tags) && is
    };
    points.retain(|point| names().any(|name| covers(point, name)));
    for point in &mut points {
        for reference in references {
            let of = reference.run.as_ref().is_some_and(|name| covers(point, name));
            let Some(column) = reference.column_of_looks().filter(|_| of) else { continue };
            if !point.looked.contains(column) {
                point.looked.push(column.clone());
            }
        }
    }
    Ok(points)
}

/// Whether a case of an experiment, which has these cases, is wanted.
type WantsCase<'a> = &'a dyn Fn(&str, &str, &[String]) -> bool;

/// The points of these experiments and cases with further settings.
fn points_of(
    folder: &Folder,
    quick: bool,
    named: &BTreeSet<String>,
    wants: WantsCase<'_>,
    further: &[(String, String)],
) -> Result<Vec<Point>, String> {
    let file = file(folder)?;
    if let Some(name) = named.iter().find(|name| !file.experiment.contains_key(name.as_str())) {
        let known: Vec<&str> = file.experiment.keys().map(String::as_str).collect();
        return Err(format!("there is no experiment {name:?}; write one of {}", known.join(", ")));
    }
    let mut points = Vec::new();
    for (name, experiment) in file.experiment {
        if !named.contains(&name) {
            continue;
        }
        let none = Case::default();
        let under = match &experiment.under {
            Some(under) => file.case.get(under).ok_or_else(|| {
                format!("experiment.{name}: there is no [case.{under}]; write it")
            })?,
            None => &none,
        };
        let all = experiment.cases.iter().filter(|case| wants(&name, case, &experiment.cases));
        for case in all.map(Some).chain(experiment.cases.is_empty().then_some(None)) {
            let known = case.map_or(Some(&none), |case| file.case.get(case));
            let known = known.ok_or_else(|| {
                let case = case.map_or("", String::as_str);
                format!("experiment.{name}: there is no [case.{case}]; write it")
            })?;
            let own = case.and_then(|case| experiment.case.get(case)).unwrap_or(&none);
            let sets = [&experiment.sets([under, known, own], quick)[..], further].concat();
            let plan = experiment.plan(&name, folder, &sets);
            let plan = plan.map_err(|Refusal(why)| format!("experiment.{name}: {why}"))?;
            let tags = labels(&plan);
            for (point, labels) in plan.points.into_iter().zip(tags) {
                let tags: Vec<String> = case.cloned().into_iter().chain(labels).collect();
                let mut about = about_under(&point.scenario, &point.expect, &[]);
                if let Some(from) = experiment.from {
                    about.warmup = if quick { from.quick } else { from.whole };
                }
                points.push(Point {
                    experiment: name.clone(),
                    in_star: !(quick && tags.iter().any(|tag| experiment.whole_only.contains(tag))),
                    tags,
                    looks: experiment.looks,
                    signals: experiment.signals,
                    looked: vec![Column::LookSeconds],
                    across_racks: experiment.across_racks,
                    about,
                    results: Mutex::new(vec![None; point.scenario.seeds.len()]),
                    scenario: point.scenario,
                });
            }
        }
    }
    Ok(points)
}

impl Experiment {
    /// Its settings in a case, which stands over another, as key and TOML text. It knows better than a case, which several experiments share; its own
    /// settings of a case come last.
    fn sets(&self, [under, case, own]: [&Case; 3], quick: bool) -> Vec<(String, String)> {
        let short = [&under.quick, &case.quick, &self.quick, &own.quick];
        let short = short.into_iter().filter(|_| quick);
        let all = [&under.set, &case.set, &self.set, &own.set].into_iter().chain(short).flatten();
        all.map(|(key, value)| (key.clone(), value.to_string())).collect()
    }

    /// Its points under these settings.
    fn plan(
        &self,
        name: &str,
        folder: &Folder,
        sets: &[(String, String)],
    ) -> Result<Plan, Refusal> {
        if let Some(command) = &self.htsim {
            let imported = command.import(name, folder)?;
            return plan("scenario.toml", &|file| imported.file(file), sets);
        }
        let file = self.scenario.clone().unwrap_or_else(|| format!("{name}.toml"));
        plan(&file, &|file| folder.file(file).map(String::from), sets)
    }
}

/// The points of a scenario, as `forebay sweep` has them.
fn plan(
    scenario: &str,
    read: &dyn Fn(&str) -> Result<String, String>,
    sets: &[(String, String)],
) -> Result<Plan, Refusal> {
    let text = read(scenario).map_err(|why| Refusal(format!("{scenario} {why}")))?;
    let load = |point: &[(String, String)]| -> Result<LoadedScenario, Refusal> {
        text_from(scenario, &text, &around(sets, point), &|file| read(file).map(String::into_bytes))
            .map_err(|error| Refusal(error.to_string()))
    };
    Plan::of(load(&[])?, sets, None, Vec::new(), scenario, load)
}

/// Files of an imported scenario.
struct ImportedFiles(Vec<(String, String)>);

impl ImportedFiles {
    fn file(&self, name: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.clone()).ok_or_else(|| "was not imported".into())
    }
}

impl HtsimCommand {
    /// The scenario that the import writes, as a user reads it.
    fn import(&self, name: &str, folder: &Folder) -> Result<ImportedFiles, Refusal> {
        let text = folder.file(&self.matrix);
        let text = text.map_err(|why| Refusal(format!("{} {why}", self.matrix)))?;
        let command = Command {
            transport: Some("ndp"),
            cwnd: Some(self.cwnd),
            queue: Some(self.q),
            mtu: Some(self.mtu),
            strategy: Some(&self.strat),
            paths: self.paths,
            ..Command::default()
        };
        let matrix = Source { name: &self.matrix, text };
        let made = import::htsim(name, &Htsim { matrix, topology: None, command });
        made.map(|made| ImportedFiles(made.files)).map_err(|error| Refusal(error.to_string()))
    }
}

/// The labels of the swept values of each point.
fn labels(plan: &Plan) -> Vec<Vec<String>> {
    let values = plan.points.iter().map(|point| point.values.iter().map(String::as_str).collect());
    let keys = sweep::labels_by_key(&values.collect::<Vec<_>>());
    (0..plan.points.len()).map(|at| keys.iter().map(|key| key[at].clone()).collect()).collect()
}

/// What `*` stands for in a name: the tag of each point that has all others.
fn starred<'a>(
    points: impl Iterator<Item = (&'a str, &'a [String])>,
    name: &RunName,
) -> Vec<String> {
    let others: Vec<&String> = name.point.iter().filter(|one| *one != "*").collect();
    let left = points.filter(|(of, _)| *of == name.experiment).filter_map(|(_, tags)| {
        let mut left = tags.iter().filter(|tag| !others.contains(tag));
        let all = others.iter().all(|one| tags.contains(one));
        let one = left.next().filter(|_| all && left.next().is_none());
        one.cloned()
    });
    left.collect()
}

/// Place of the point that a formula names. The error says what there is.
fn chosen<'a>(
    points: impl Iterator<Item = (&'a str, &'a [String])> + Clone,
    name: &RunName,
) -> Result<usize, String> {
    let own = points.enumerate().filter(|(_, (of, _))| *of == name.experiment);
    let found: Vec<usize> =
        own.clone().filter(|(_, (of, tags))| name.covers(of, tags)).map(|(at, _)| at).collect();
    match found[..] {
        [at] => Ok(at),
        _ => {
            let all = own.map(|(_, (_, tags))| format!("[{}]", tags.join(", ")));
            Err(format!(
                "{name} is {} points; write one of {}{}",
                found.len(),
                name.experiment,
                all.collect::<Vec<_>>().join(" ")
            ))
        }
    }
}

impl Point {
    /// Simulates one of its seeds.
    fn simulate(&self, at: usize) {
        laid_out::begins(&self.scenario);
        let seed = seeds::seed(self.scenario.seeds[at]);
        let drawn = self.across_racks.map(|across| across.drawn(&self.scenario, seed));
        let scenario = drawn.as_ref().unwrap_or(&self.scenario);
        let mut simulation = Simulation::new(scenario, seed, Options::default())
            .unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
        let names = simulation.names().to_vec();
        let (warmup, end) = (self.about.warmup, self.scenario.stop.time);
        let mut look = |at: Time| {
            simulation.advance(at, &Watch::default());
            without_packets(simulation.inspect())
        };
        let before = look(warmup);
        let signal_times = signals::times(warmup).take_while(|at| self.signals && *at < end);
        let states: Vec<_> =
            signal_times.filter_map(|at| look(at).memories.first().copied()).collect();
        let last = self.scenario.traffic.iter().map(|entry| entry.until).max();
        let span = last.unwrap_or(end).min(end).since(warmup).as_ps();
        let step = |i: u32| Span::from_ps(span * u64::from(i) / u64::from(self.looks));
        let mut looks: Vec<_> =
            self.looked.iter().map(|column| (column.clone(), Vec::new())).collect();
        for i in 1..=self.looks {
            let seen = look(warmup + step(i));
            for (column, values) in &mut looks {
                values.extend(column.look(&names, &before, &seen));
            }
        }
        let after = look(Time::MAX);
        let seconds = end.as_secs_f64() - warmup.as_secs_f64();
        let window = Window { before, looks, after, seconds, names };
        let mut record = simulation.finish().record;
        record.series.extend(signals::series(&states).into_iter().filter(|_| self.signals));
        let mut results = self.results.lock().expect("entering does not panic");
        results[at] = Some((record, window));
    }

    /// What its seeds left; `None` unless all have run.
    fn finished(self) -> Option<FinishedPoint> {
        let results = self.results.into_inner().expect("every worker has ended");
        let (records, windows) =
            results.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
        Some(FinishedPoint {
            experiment: self.experiment,
            tags: self.tags,
            in_star: self.in_star,
            about: self.about,
            records,
            windows,
            summary: OnceLock::new(),
        })
    }
}

/// No formula looks at packets under way.
fn without_packets(mut seen: Inspection) -> Inspection {
    seen.ports.iter_mut().for_each(|port| port.flying = Vec::new());
    seen
}

impl Experiments for Results {
    fn runs(&self, name: Option<&RunName>) -> Result<Runs<'_>, String> {
        let name = name.ok_or("has no experiment; write its name and a dot first")?;
        let tags = self.points.iter().map(|point| (point.experiment.as_str(), &point.tags[..]));
        let point = &self.points[chosen(tags, name)?];
        Ok(Runs {
            about: &point.about,
            records: &point.records,
            windows: &point.windows,
            summary: SummaryOfRuns::Lazy(&point.summary),
        })
    }

    fn cases(&self, name: &RunName) -> Vec<String> {
        let points = self.points.iter().filter(|point| point.in_star);
        starred(points.map(|point| (point.experiment.as_str(), &point.tags[..])), name)
    }

    fn function(&self, name: &str) -> Option<NamedFunction> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    fn list_function(&self, name: &str) -> Option<NamedList> {
        LISTS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }
}

impl Results {
    /// What a formula comes to, for pictures; `None` if it is of runs that are not there.
    ///
    /// # Panics
    /// If it cannot be understood: it is part of the program.
    pub fn number(&self, text: &str) -> Option<f64> {
        let formula = formula(text, &self.definitions).unwrap_or_else(|why| panic!("{text} {why}"));
        Some(formula.value(self, &[]).ok()?.value)
    }

    /// Likewise a list; empty if it is of something that is not there.
    fn list(&self, text: &str) -> Vec<f64> {
        let formula = list_formula(text, &self.definitions).unwrap_or_else(|why| panic!("{why}"));
        formula.list(self).unwrap_or_default()
    }

    /// Records of a point of an experiment, seed by seed.
    pub fn records(&self, experiment: &str, point: &[&str]) -> Option<&[RunRecord]> {
        let point = point.iter().map(ToString::to_string).collect();
        let name = RunName { experiment: experiment.into(), point };
        Some(self.runs(Some(&name)).ok()?.records)
    }
}

impl RowFormula<'_> {
    /// Its formula and those of its remark.
    fn all(&self) -> impl Iterator<Item = &Formula> {
        let remark = self.remark.iter().filter_map(|(_, formula)| formula.as_ref());
        std::iter::once(&self.formula).chain(remark)
    }

    /// Enters its value, or why there is none.
    fn enter(&self, results: &Results, measured: &mut MeasuredRows) {
        let rows = self.row.flows.as_ref().map_or(&[][..], |flows| flows.conditions());
        let mut remark = String::new();
        for (text, formula) in &self.remark {
            remark += text;
            if let Some(formula) = formula {
                let value = formula.value(results, &[]).map(|found| number(found.value));
                remark += value.as_deref().unwrap_or("none");
            }
        }
        let id = self.row.id.as_str();
        match self.formula.value(results, rows) {
            Ok(found) => match found.beyond {
                Some(beyond) => measured.insert_tail(id, found.value, beyond, remark),
                None => measured.insert_saying(id, found.value, remark),
            },
            Err(NoValue::Empty) => {
                measured.insert_none(id, Value::Empty("zero on both sides".into()), remark);
            }
            Err(NoValue::Missing(why)) => {
                measured.insert_none(id, Value::TooFew(format!("the formula {why}")), remark);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::folder::FOLDERS;

    /// The scenario of one point with further settings, as it is run.
    pub(crate) fn scenario(
        folder: &Folder,
        experiment: &str,
        tag: &str,
        further: &[(String, String)],
    ) -> Scenario {
        let named = BTreeSet::from([experiment.to_string()]);
        let laid_out = points_of(folder, false, &named, &|_, case, _| case == tag, further);
        let points = laid_out.unwrap_or_else(|why| panic!("{why}"));
        let point = points.into_iter().find(|point| point.tags.iter().any(|one| one == tag));
        point.unwrap_or_else(|| panic!("{experiment}[{tag}] is there")).scenario
    }

    #[test]
    fn every_row_of_a_folder_has_a_formula_whose_runs_exist() {
        for folder in &FOLDERS {
            let mut rows = crate::rows(folder.suite);
            // The others are measured by code.
            rows.retain(|row| row.formula.is_some());
            for quick in [true, false] {
                let points = check(folder, &rows, quick);
                let points = points.unwrap_or_else(|why| panic!("{}: {why}", folder.suite));
                assert!(points > 0, "{}", folder.suite);
            }
        }
    }

    /// Reading 5 of homa: arrivals for 1 ms, runs of three times that, a tenth of it if quick. Readings of rdma: PowerTCP bounded.
    #[test]
    fn a_quick_run_is_shorter_and_an_experiment_overrides_its_cases() {
        let laid_out = |suite, experiment: &str, quick| {
            let named = BTreeSet::from([experiment.to_string()]);
            let points = points_of(Folder::of(suite), quick, &named, &|_, _, _| true, &[]);
            points.unwrap_or_else(|why| panic!("{suite}: {why}"))
        };
        for (quick, us) in [(false, 3_000), (true, 300)] {
            let points = laid_out("homa", "racks", quick);
            let first = points.iter().find(|point| point.tags == ["w1"]).expect("a case");
            assert_eq!(first.scenario.stop.time, Time::from_ps(us * 1_000_000));
        }
        let bound = |experiment| {
            let points = laid_out("rdma", experiment, false);
            let point = points.iter().find(|point| point.tags == ["powertcp"]).expect("a case");
            point.scenario.transport.params.iter().any(|(key, _)| key == "least_current")
        };
        assert_eq!([bound("two"), bound("two-bounded")], [false, true]);
        let tags: Vec<_> = laid_out("rdma", "loss", false).into_iter().map(|p| p.tags).collect();
        assert_eq!((tags.len(), &tags[4]), (9, &vec!["irn".to_string(), "0.001".into()]));
        // An experiment's own settings of a case come last, but for those of a quick run: RPCs of 128 B run longer than others, or as long.
        for (experiment, quick, ms) in [
            ("rpc-free", false, [830, 430]),
            ("rpc-free", true, [180, 130]),
            ("rpc-dctcp", true, [530, 530]),
        ] {
            let points = laid_out("hostcc", experiment, quick);
            let ends = ["128B", "512B"].map(|size| {
                let point = points.iter().find(|point| point.tags == [size]).expect("a case");
                point.scenario.stop.time
            });
            assert_eq!(ends, ms.map(|ms| Time::from_ps(ms * 1_000_000_000)), "{experiment}");
        }
    }

    #[test]
    fn only_points_that_a_formula_names_are_run() {
        let mut rows = crate::rows("ndp");
        rows.retain(|row| row.id == "incast-last-48");
        let seen = laid_out::scenarios(|| {
            measure(Folder::of("ndp"), &rows, &Cores::new(&|_, _| {}), true);
        });
        assert_eq!(seen.scenarios, 1);
    }

    /// Readings 8 and 12 of carc: of long cores a quick run has 2 and 8, and the measured part begins after 20 ms, or 4 ms.
    #[test]
    fn a_star_of_a_quick_run_leaves_out_the_long_points() {
        let rows = crate::rows("carc");
        let row = rows.iter().find(|row| row.id == "fig8b-throughput-lifo").expect("it is a row");
        let folder = Folder::of("carc");
        let formulas = formulas(std::slice::from_ref(row), &definitions(folder).expect("it reads"));
        let formulas = formulas.expect("it reads");
        let all = formulas.iter().flat_map(RowFormula::all).flat_map(Formula::references);
        let references: Vec<&Reference> = all.collect();
        for (quick, labels, ms) in [(false, &["2", "4", "6", "8"][..], 20), (true, &["2", "8"], 4)]
        {
            let points = lay_out(folder, quick, &references, &[]).expect("they are there");
            let carc = points.iter().filter(|one| one.experiment == "carc");
            let tags: Vec<String> = carc.clone().map(|point| point.tags.join(" ")).collect();
            assert_eq!(tags, labels.iter().map(|one| format!("lifo {one}")).collect::<Vec<_>>());
            assert_eq!(points.len(), 2 * labels.len(), "and as many with hostCC");
            for point in carc {
                assert_eq!(point.about.warmup, Time::ZERO + Span::from_ms(ms));
                assert_eq!(
                    point.scenario.output.warmup,
                    Time::ZERO,
                    "memory is measured from 0 on"
                );
            }
        }
    }

    fn changed(suite: &'static str, from: &str, to: &str) -> String {
        let folder = Folder::of(suite);
        let text = folder.rows.replacen(from, to, 1);
        assert_ne!(text, folder.rows, "{from} is there");
        let rows = crate::row::parse(&text).expect("rows read");
        let changed = Folder { suite, rows: text.leak(), files: folder.files };
        check(&changed, &rows, false).expect_err(to)
    }

    #[test]
    fn what_an_experiment_lacks_is_said_with_what_there_is() {
        for (from, to, says) in [
            (
                "incast[12]",
                "incast[13]",
                "incast[13] is 0 points; write one of incast[12] [48] [100]",
            ),
            (
                "sum(outcast.",
                "sum(outkast.",
                "there is no experiment \"outkast\"; write one of incast, outcast",
            ),
            ("cases = [\"12\",", "cases = [\"11\",", "there is no [case.11]; write it"),
            ("incast-12.csv", "incast-11.csv", "is not among the files of validation/ndp"),
            ("max(incast[12]", "maximum(incast[12]", "row incast-last-12: formula"),
        ] {
            let why = changed("ndp", from, to);
            assert!(why.contains(says), "{to}: {why}");
        }
    }
}
