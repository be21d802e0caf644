//! `forebay compare`: runs beside each other, on one page and in one table.

use crate::args::{Compare, Input, Sweep};
use crate::failure::Failure;
use crate::sweep::{default_dir, sweep};
use crate::{human, interrupt, itself, say};
use forebay_record::{RunDir, RunRecord, RunStart, write_whole};
use forebay_study::compare::along::{self, Arrangement, KeyComparison, Point, arrange};
use forebay_study::compare::{self, Comparison, Side, refusal};
use forebay_study::sweep::WrittenSweep;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One thing to compare: the directories of its seeds.
struct SeedDirs {
    point: Point,
    /// For sentences.
    place: String,
    dirs: Vec<PathBuf>,
}

/// The verb.
pub fn compare(args: &Compare) -> Result<(), Failure> {
    let mut found = Vec::new();
    for place in &args.places {
        found.extend(find(args, place)?);
    }
    if found.len() < 2 {
        return Err(Failure::Input(
            "there is nothing to compare it with; name two runs or more, or a sweep that varies something".into(),
        ));
    }
    let for_scenarios = !args.set.is_empty() || args.seeds.chosen()?.is_some();
    if for_scenarios && !args.places.iter().any(|place| place.is_file()) {
        return Err(Failure::Input(
            "--set, --seed and --seeds need a scenario file, and none is compared here".into(),
        ));
    }
    let points: Vec<Point> = found.iter().map(|one| one.point.clone()).collect();
    let arranged = arrange(&points);
    let typed = itself::typed().skip(1);
    let typed = typed.map(|arg| if arg.contains([' ', '[']) { format!("'{arg}'") } else { arg });
    let command = format!("forebay {}", typed.collect::<Vec<_>>().join(" "));
    let width = say::stdout_width();
    let (page, json, table, cautions, answer) = match &arranged.key {
        None => {
            let of = at(args, &found, &arranged, 0)?;
            let page = compare::page(&of, &command);
            let answer = [compare::headline(&of) + ".", compare::verdict(&of)];
            (page, compare::json(&of), compare::terminal(&of, width), of.cautions(), answer)
        }
        Some(key) => {
            let mut all = KeyComparison::new(key.clone(), arranged.left_out.clone());
            for (n, (value, _)) in arranged.places.iter().enumerate() {
                all.add(value.clone(), at(args, &found, &arranged, n)?);
            }
            let table = along::terminal(&all, width);
            let page = along::page(&all, &command);
            (page, along::json(&all), table, all.cautions(), along::answer(&all))
        }
    };
    write_whole(&args.out, &page)?;
    let answer = answer.iter().filter(|text| !text.is_empty());
    let said: Vec<String> =
        answer.chain(&cautions).map(|text| human::wrapped(text, width, 0)).collect();
    print(args, &json, table, &said)
}

fn print(args: &Compare, json: &Value, mut text: String, said: &[String]) -> Result<(), Failure> {
    if args.json {
        return say::json(json);
    }
    if args.show.quiet {
        return Ok(());
    }
    text.push('\n');
    for sentence in said {
        text.push_str(&format!("{sentence}\n"));
    }
    text.push_str(&format!("{:<10}{}\n", "page", args.out.display()));
    say::data(&text)
}

/// What stands beside each other at one place, read and compared.
fn at(
    args: &Compare,
    found: &[SeedDirs],
    arranged: &Arrangement,
    place: usize,
) -> Result<Comparison, Failure> {
    let all: Vec<&SeedDirs> = arranged.places[place].1.iter().map(|i| &found[*i]).collect();
    let loaded = all.iter().map(|one| load(one)).collect::<Result<Vec<_>, _>>()?;
    // Runs have names of their own; points of a sweep those of their settings.
    let names = match found.iter().all(|one| one.point.settings.is_empty()) {
        true => {
            let of = loaded.iter().zip(&all);
            let named: Vec<_> = of.map(|((about, _), one)| (about, one.place.clone())).collect();
            compare::names(&named)
        }
        false => arranged.names.clone(),
    };
    let sides = loaded.into_iter().zip(names).zip(&all);
    let sides =
        sides.map(|(((about, runs), name), one)| Side::new(name, one.place.clone(), about, runs));
    let of = Comparison::of(sides.collect());
    match refusal(&of.sides, &of.differences).filter(|_| !args.force) {
        Some(why) => {
            Err(Failure::Input(format!("{why}; --force compares them and says so on the page")))
        }
        None => Ok(of),
    }
}

/// What an argument stands for: a run, or the points of a sweep, which is simulated first where it is a scenario.
fn find(args: &Compare, place: &Path) -> Result<Vec<SeedDirs>, Failure> {
    if place.join("manifest.json").exists() {
        let name = place.display().to_string();
        let point = Point { source: name.clone(), settings: Vec::new() };
        return Ok(vec![SeedDirs { point, place: name, dirs: vec![place.into()] }]);
    }
    if place.join("sweep.json").exists() {
        return points(place, place);
    }
    if place.is_file() {
        return points(&simulated(args, place)?, place);
    }
    let why =
        if place.exists() { "has neither manifest.json nor sweep.json" } else { "is not there" };
    Err(Failure::Input(format!(
        "{} {why}; name the results directory of a run, the directory of a sweep, or a scenario file",
        place.display()
    )))
}

/// Simulates what is missing of a scenario file, as `forebay sweep` does, and gives the directory.
fn simulated(args: &Compare, file: &Path) -> Result<PathBuf, Failure> {
    let input = Input { file: Some(file.into()), preset: None, set: args.set.clone() };
    let dir = default_dir(&input.load()?.scenario.name);
    let quiet = crate::args::Verbosity { quiet: true, ..args.show };
    let ran = sweep(&Sweep {
        input,
        seeds: args.seeds.clone(),
        threads: 1,
        jobs: None,
        out: Some(dir.clone()),
        json: false,
        resume: false,
        over_budget: args.over_budget,
        show: quiet,
    });
    match ran {
        // Bands are about the scenario, not about what it is compared with; each miss has been printed.
        Err(Failure::Missed(_)) => Ok(dir),
        Err(why) => Err(why),
        Ok(()) if interrupt::requested() => Err(Failure::Interrupted("interrupted".into())),
        Ok(()) => Ok(dir),
    }
}

/// Points of a sweep that have a complete run; `typed` is what the user calls it.
fn points(dir: &Path, typed: &Path) -> Result<Vec<SeedDirs>, Failure> {
    let typed = typed.display().to_string();
    let path = dir.join("sweep.json");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::io(format!("read {}", path.display()), &error))?;
    let written = WrittenSweep::of(&text).map_err(|why| {
        Failure::Input(format!("{}: {why}; sweep again to simulate the run again", path.display()))
    })?;
    let mut all = Vec::new();
    for point in &written.points {
        let run = |hash: &str| dir.join("runs").join(hash);
        let dirs: Vec<PathBuf> =
            point.runs().map(run).filter(|dir| dir.join("manifest.json").exists()).collect();
        let settings = point.settings(&written.keys);
        let values: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let place = match values.is_empty() {
            true => typed.clone(),
            false => format!("{typed} ({})", values.join(", ")),
        };
        if !dirs.is_empty() {
            let point = Point { source: typed.clone(), settings };
            all.push(SeedDirs { point, place, dirs });
        }
    }
    Ok(all)
}

/// What the runs of a thing left, all seeds together.
fn load(one: &SeedDirs) -> Result<(RunStart, Vec<RunRecord>), Failure> {
    let mut all: Option<(RunStart, Vec<RunRecord>)> = None;
    for dir in &one.dirs {
        let (about, runs) = RunDir::load(dir)?;
        match &mut all {
            None => all = Some((about, runs)),
            Some((whole, records)) => {
                whole.seeds.extend(about.seeds);
                records.extend(runs);
            }
        }
    }
    match all {
        Some((about, runs)) if !runs.is_empty() => Ok((about, runs)),
        _ => Err(Failure::Input(format!("{} has no simulation to compare", one.place))),
    }
}
