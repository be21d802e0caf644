//! `forebay reproduce`: the rows of `validation/`, each a published number with its tolerance, run and judged.

use crate::args::Reproduce;
use crate::failure::Failure;
use crate::progress::Meter;
use crate::say;
use forebay_study::progress::State;
use forebay_validate::{Row, Verdict};
use std::path::PathBuf;
use std::sync::Mutex;

mod all;

/// Runs a suite and prints its rows; with `--strict`, a row that is out is a missed band.
pub fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    if args.all {
        return all::all(args);
    }
    let suite = match args.suites.as_slice() {
        [] => {
            let (papers, first) = (forebay_validate::papers(), forebay_validate::first_count());
            return say::data(&format!("{papers}\n{first}"));
        }
        [suite] => suite,
        several => {
            return Err(Failure::Input(format!(
                "there are {} suites: {}; write one, or all of them with --all",
                several.len(),
                several.join(", ")
            )));
        }
    };
    forebay_validate::find(suite).map_err(Failure::Input)?;
    let state = State { name: suite.clone(), parts: "experiments", ..State::default() };
    let meter = Mutex::new((Meter::new(args.show), state));
    let lock = || all::lock(&meter);
    let on_progress = |over, of| {
        let (meter, state) = &mut *lock();
        // Several cores tell of what each has done, not always in order.
        (state.parts_done, state.parts_all) = (state.parts_done.max(over), of);
        meter.tick(state);
    };
    if args.sensitivity {
        let text = forebay_validate::sensitivity(suite, args.quick, &on_progress);
        lock().0.clear();
        let text = text.ok_or_else(|| {
            Failure::Input(format!(
                "suite \"{}\" has no open settings; leave out --sensitivity",
                suite
            ))
        })?;
        return say::data(&text);
    }
    if let Some(sets) = args.seeds {
        let sets = forebay_validate::with_seeds(suite, args.quick, sets, &on_progress);
        lock().0.clear();
        let readings = forebay_validate::readings(suite);
        return if args.json {
            let spread = forebay_validate::Spread::of(&sets, readings);
            say::json(&spread)
        } else {
            say::data(&forebay_validate::spread(&sets, readings))
        };
    }
    if let Some(folder) = &args.pictures {
        // Before the work: some suites take hours.
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::io(format_args!("create {}", folder.display()), &e))?;
    }
    let draw = args.pictures.is_some() || args.page.is_some();
    let (rows, pictures) = forebay_validate::reproduce(suite, args.quick, draw, &on_progress);
    lock().0.clear();
    if let Some(path) = &args.page {
        let default = || PathBuf::from(format!("{}.html", suite.replace('/', "-")));
        let path = path.clone().unwrap_or_else(default);
        let quick = if args.quick { " --quick" } else { "" };
        let command = format!("forebay reproduce {suite}{quick} --page");
        let page = forebay_validate::page(suite, &rows, &pictures, &command);
        forebay_record::write_whole(&path, page)?;
        say::note(&format!("wrote {}", path.display()));
    }
    for (folder, (name, svg)) in
        pictures.into_iter().filter_map(|one| Some((args.pictures.as_ref()?, one)))
    {
        let path = folder.join(name);
        forebay_record::write_whole(&path, svg)?;
    }
    if args.json {
        say::data(&(forebay_validate::json(&rows) + "\n"))?;
    } else {
        say::data(&forebay_validate::table(suite, &rows))?;
    }
    judge(args, rows.iter())
}

/// With `--strict`, a row that is out is a missed band.
fn judge<'a>(args: &Reproduce, rows: impl Iterator<Item = &'a Row> + Clone) -> Result<(), Failure> {
    let out = rows.clone().filter(|row| row.verdict == Verdict::Out).count();
    if args.strict && out > 0 {
        let all = rows.count();
        return Err(Failure::Missed(format!("{out} of {all} rows are out of their tolerance")));
    }
    Ok(())
}
