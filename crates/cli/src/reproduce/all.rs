//! `forebay reproduce --all`: suites, each into a file of its own. A command that was stopped goes on with the suites that have none.

use crate::args::Reproduce;
use crate::failure::Failure;
use crate::progress::Meter;
use crate::say;
use forebay_study::progress::State;
use forebay_units::human;
use forebay_validate::{Row, SUITES};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// File of a suite that has ended.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    suite: String,
    version: String,
    quick: bool,
    rows: Vec<Row>,
}

impl Saved {
    /// Whether a run of this program would have the same rows to judge.
    fn is_of(&self, suite: &str, quick: bool) -> bool {
        let asked = |row: &Row| (row.id.clone(), row.published, row.tolerance, row.basis);
        self.suite == suite
            && self.version == VERSION
            && self.quick == quick
            && self.rows.iter().map(asked).eq(forebay_validate::rows_of(suite).iter().map(asked))
    }
}

/// File of a suite or of a part, `carc/credits`, in the folder.
fn path(folder: &Path, suite: &str) -> PathBuf {
    folder.join(format!("{}.json", suite.replace('/', "-")))
}

/// Rows of an earlier command, if it finished this suite at the same length and version.
fn kept(folder: &Path, suite: &str, quick: bool) -> Result<Option<Vec<Row>>, Failure> {
    let path = path(folder, suite);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(format_args!("read {}", path.display()), &error)),
    };
    let saved: Saved = serde_json::from_str(&text).map_err(|error| {
        Failure::Input(format!(
            "{} is not a file of this command ({error}); move it away, or write another --out",
            path.display()
        ))
    })?;
    Ok(saved.is_of(suite, quick).then_some(saved.rows))
}

/// Names of suites, each once.
fn suites(args: &Reproduce) -> Result<Vec<&str>, Failure> {
    let mut seen = BTreeSet::new();
    for suite in &args.suites {
        forebay_validate::find(suite).map_err(Failure::Input)?;
        if !seen.insert(suite) {
            return Err(Failure::Input(format!("suite \"{suite}\" is named twice; leave one out")));
        }
    }
    Ok(match args.suites.is_empty() {
        true => SUITES.to_vec(),
        false => args.suites.iter().map(String::as_str).collect(),
    })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// Runs the suites that have no file, and prints a table of all.
pub fn all(args: &Reproduce) -> Result<(), Failure> {
    let (names, folder) = (suites(args)?, &args.out);
    let mut rows: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for suite in &names {
        rows.extend(kept(folder, suite, args.quick)?.map(|found| (*suite, found)));
    }
    let left: Vec<&str> = names.iter().copied().filter(|suite| !rows.contains_key(suite)).collect();
    if !rows.is_empty() && !args.show.quiet {
        let of = human::counted(names.len(), "suite");
        say::note(&format!("{} of {of} were done before; {} to go", rows.len(), left.len()));
    }
    // Before the work, which takes hours.
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::io(format_args!("create {}", folder.display()), &e))?;
    let run = Run {
        args,
        waiting: Mutex::new(left.iter()),
        done: Mutex::new((rows, None)),
        progress: Mutex::new((Meter::new(args.show), BTreeMap::new())),
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.min(left.len()) {
            scope.spawn(|| run.work());
        }
    });
    lock(&run.progress).0.clear();
    let (rows, failure) = run.done.into_inner().unwrap_or_else(|broken| broken.into_inner());
    if let Some(failure) = failure {
        return Err(failure);
    }
    let rows: Vec<(&str, &[Row])> =
        names.iter().map(|suite| (*suite, rows[suite].as_slice())).collect();
    say::data(&forebay_validate::summary(&rows))?;
    super::judge(args, rows.iter().flat_map(|(_, rows)| rows.iter()))
}

/// Experiments that are over and those that are known of, by suite.
type Experiments<'a> = BTreeMap<&'a str, (usize, usize)>;

/// Rows of suites that have ended, and why the command ends early.
type Done<'a> = (BTreeMap<&'a str, Vec<Row>>, Option<Failure>);

/// What all workers share.
struct Run<'a> {
    args: &'a Reproduce,
    waiting: Mutex<std::slice::Iter<'a, &'a str>>,
    done: Mutex<Done<'a>>,
    progress: Mutex<(Meter, Experiments<'a>)>,
}

impl<'a> Run<'a> {
    /// Takes suites until there is none, or a file could not be written.
    fn work(&self) {
        loop {
            let Some(suite) = lock(&self.waiting).next().copied() else { return };
            if lock(&self.done).1.is_some() {
                return;
            }
            let rows = self.one(suite);
            let (done, failure) = &mut *lock(&self.done);
            match rows {
                Ok(rows) => _ = done.insert(suite, rows),
                Err(why) => _ = failure.get_or_insert(why),
            }
        }
    }

    fn one(&self, suite: &'a str) -> Result<Vec<Row>, Failure> {
        let quick = self.args.quick;
        let on_progress = |over, of| self.tick(suite, over, of);
        let (rows, _) = forebay_validate::reproduce(suite, quick, false, &on_progress);
        let saved = Saved { suite: suite.into(), version: VERSION.into(), quick, rows };
        let text = serde_json::to_string_pretty(&saved).expect("rows hold texts and numbers only");
        let path = path(&self.args.out, suite);
        forebay_record::write_whole(&path, text + "\n")?;
        lock(&self.progress).0.sentence(&format!("{suite}: {}", path.display()));
        Ok(saved.rows)
    }

    fn tick(&self, suite: &'a str, over: usize, of: usize) {
        let (meter, suites) = &mut *lock(&self.progress);
        let own = suites.entry(suite).or_default();
        // Several cores tell of what each has done, not always in order.
        *own = (own.0.max(over), of);
        let sum = |part: fn(&(usize, usize)) -> usize| suites.values().map(part).sum();
        let (parts_done, parts_all) = (sum(|one| one.0), sum(|one| one.1));
        let name = "reproduce".into();
        meter.tick(&State {
            name,
            parts: "experiments",
            parts_done,
            parts_all,
            ..State::default()
        });
    }
}
