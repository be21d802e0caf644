//! Run directories: same bytes, nothing lost on the way back, and failures in one sentence.

use crate::support::{
    about, run, with_class_pauses, with_credits, with_links, with_memory_series, with_rpcs,
    with_why,
};
use forebay_jobs::{Algorithm, Operation};
use forebay_record::why::{Part, Subject, WhyRow};
use forebay_record::{
    CollectiveRow, FlowRow, IfExists, Quantity, RunDir, RunRecord, RunStart, Series, Status,
    StepCause, StepKind, StepRow, Summary, UnfinishedRow, Volatile, WaitsFor, columns, explain,
    partial_of, save,
};
use forebay_units::{Bytes, Span, Time};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fresh path under the target directory.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    let _ = fs::remove_dir_all(partial_of(&path));
    path
}

fn volatile(wall_s: f64) -> Volatile {
    Volatile { wall_s, host: "here".into(), threads: 1, ..Volatile::default() }
}

fn write(
    path: &Path,
    about: &RunStart,
    runs: &[RunRecord],
    wall_s: f64,
) -> forebay_record::WrittenRun {
    let mut dir = RunDir::create(path, about, IfExists::Refuse).unwrap();
    for run in runs {
        dir.add(run).unwrap();
    }
    dir.finish(runs, volatile(wall_s)).unwrap()
}

fn sampled(seed: u64) -> RunRecord {
    let whole = with_links(with_credits(with_rpcs(run(seed, 600), 40)));
    with_why(with_class_pauses(with_memory_series(whole, Span::from_us(100))))
}

fn sample() -> (RunStart, Vec<RunRecord>) {
    let mut runs = [1, 2, 3].map(sampled).to_vec();
    let endless = FlowRow { size: Bytes::MAX, delivered: None, acked: None, ..runs[0].flows[5] };
    runs[0].flows.push(endless);
    runs[1].series.push(Series {
        name: "odd, \"quoted\" name".into(),
        quantity: Quantity::Other,
        unit: "furlongs",
        at: vec![Time::ZERO, Time::from_ps(7)],
        values: vec![0.1 + 0.2, -1e-300],
    });
    (about(&[1, 2, 3]), runs)
}

fn assert_same(a: &RunRecord, b: &RunRecord) {
    assert_eq!((a.seed, a.digest, a.end, a.interrupted), (b.seed, b.digest, b.end, b.interrupted));
    assert_eq!(a.stalled, b.stalled);
    assert_eq!((a.not_started, &a.totals, &a.hosts), (b.not_started, &b.totals, &b.hosts));
    assert_eq!(a.flows, b.flows);
    assert_eq!(a.unfinished, b.unfinished);
    assert_eq!(a.credits, b.credits);
    assert_eq!(a.class_arrivals, b.class_arrivals);
    assert_eq!(a.connections, b.connections);
    assert_eq!(a.rpcs, b.rpcs);
    assert_eq!(a.collectives, b.collectives);
    assert_eq!(a.steps, b.steps);
    assert_eq!(a.ports, b.ports);
    assert_eq!(a.links, b.links);
    assert_eq!(a.class_pauses, b.class_pauses);
    assert_eq!(a.deadlocks, b.deadlocks);
    assert_eq!(a.memory, b.memory);
    assert_eq!(a.memory_series, b.memory_series);
    assert_eq!(a.series, b.series);
    assert_eq!(a.why, b.why);
}

#[test]
fn collectives_with_their_connections_and_steps_read_back_whole() {
    let (about, mut runs) = sample();
    let after = |ps: u64| about.warmup + Span::from_ps(ps);
    for run in &mut runs {
        // Connections of a collective have no responses, and a run of them alone has no RPCs.
        run.rpcs.clear();
        run.connections.iter_mut().for_each(|row| (row.responses, row.credits) = (None, None));
        let ended = CollectiveRow {
            traffic: 2,
            group: 1,
            operation: Operation::AllGather,
            algorithm: Algorithm::Direct,
            ranks: 8,
            bytes: Bytes::new(3_000_001),
            start: after(7),
            all_begun: Some(after(9)),
            end: Some(after(123_456_789)),
            done: 8,
            last: Some(3),
            wait: Some(Span::from_ps(5)),
            number: 0,
        };
        let (end, last, wait, all_begun) = (None, None, None, None);
        run.collectives =
            vec![ended, CollectiveRow { number: 1, done: 2, end, last, wait, all_begun, ..ended }];
        let step = StepRow {
            traffic: 2,
            host: 4,
            program: 1,
            number: 5,
            kind: StepKind::Recv,
            flow: Some(17),
            bytes: Bytes::new(99),
            begun: Some(Time::from_ps(8)),
            cause: StepCause::Step(4),
            ..StepRow::default()
        };
        let (kind, flow, cause) = (StepKind::Signal, None, StepCause::Signal);
        run.steps = vec![step, StepRow { number: 6, kind, flow, cause, ..step }];
    }
    let path = scratch("collectives");
    let finished = write(&path, &about, &runs, 1.0);
    assert!(!path.join("rpcs.csv").exists());
    let (_, back) = RunDir::load(&path).unwrap();
    runs.iter().zip(&back).for_each(|(one, other)| assert_same(one, other));
    let of = finished.summary.collective.as_ref().map(|of| &of.overall);
    assert_eq!(
        of.map(|of| (of.count, of.not_finished)),
        Some((runs.len() as u64, runs.len() as u64))
    );
    let said = finished.summary.render(100, false);
    assert!(said.contains("bus bandwidth") && said.contains("NOT FINISHED"), "{said}");
}

#[test]
fn the_same_run_leaves_the_same_bytes_and_reads_back_whole() {
    let (about, runs) = sample();
    let (a, b) = (scratch("same-a"), scratch("same-b"));
    let finished = write(&a, &about, &runs, 1.0);
    assert!(finished.volatile.render().starts_with("took      1.00 s on 1 thread, "));
    write(&b, &about, &runs, 2.0);
    let mut names: Vec<_> =
        fs::read_dir(&a).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "class_arrivals.csv",
            "class_pauses.csv",
            "connections.csv",
            "credits.csv",
            "deadlocks.csv",
            "flows.csv",
            "hosts.csv",
            "links.csv",
            "manifest.json",
            "memory.csv",
            "memory_series.csv",
            "ports.csv",
            "report.html",
            "resolved.toml",
            "rpcs.csv",
            "runs.csv",
            "series.csv",
            "summary.json",
            "unfinished.csv",
            "volatile.json",
            "why.csv"
        ]
    );
    for name in names {
        let same = fs::read(a.join(&name)).unwrap() == fs::read(b.join(&name)).unwrap();
        assert_eq!(same, name != "volatile.json", "{name}");
    }
    let (about_back, runs_back) = RunDir::load(&a).unwrap();
    assert_eq!(runs_back.len(), runs.len());
    for (one, other) in runs.iter().zip(&runs_back) {
        assert_same(one, other);
    }
    let expected = RunStart { rerun: Some(about.rerun().into()), ..about };
    assert_eq!(about_back, expected);
    assert_eq!(Summary::of(&about_back, &runs_back), finished.summary);
    assert_eq!(RunDir::load_summary(&a).unwrap(), finished.summary);
    let before = fs::read(a.join("report.html")).unwrap();
    fs::remove_file(a.join("report.html")).unwrap();
    let report = RunDir::redraw(&a).unwrap();
    assert_eq!(fs::read(report).unwrap(), before);
}

#[test]
fn a_run_in_progress_can_be_read() {
    let (about, runs) = sample();
    let path = scratch("in-progress");
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    dir.add(&runs[0]).unwrap();
    assert!(!path.exists(), "a directory gets its name when it is whole");
    let work = partial_of(&path);
    assert!(!work.join("flows.csv").exists(), "and so does a file");
    let (_, back) = RunDir::load(&work).unwrap();
    assert_eq!(back.len(), 1);
    assert_same(&runs[0], &back[0]);
    let rest = RunDir::unfinished(&work, &back).unwrap().unwrap();
    assert!(rest.at_work);
    assert_eq!((rest.whole, rest.missing), (vec![1], vec![2, 3]));
    let wrong = dir.add(&runs[0]).unwrap_err();
    assert_eq!(wrong.to_string(), "seed 1 was recorded out of turn; the next one is 2");
}

/// An interrupt may stop a seed before it begins, and leave a later one that had begun.
#[test]
fn a_seed_that_never_began_is_missing_and_later_ones_are_kept() {
    let (about, runs) = sample();
    let path = scratch("gap");
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    dir.add(&runs[1]).unwrap();
    let (_, back) = RunDir::load(&partial_of(&path)).unwrap();
    assert_eq!(back.len(), 1);
    assert_same(&runs[1], &back[0]);
    let rest = RunDir::unfinished(&partial_of(&path), &back).unwrap().unwrap();
    assert_eq!((rest.whole, rest.missing), (vec![2], vec![1, 3]));
    let wrong = dir.add(&runs[0]).unwrap_err();
    assert_eq!(wrong.to_string(), "seed 1 was recorded out of turn; the next one is 3");
}

#[test]
fn an_interrupted_run_says_so_everywhere() {
    let (about, mut runs) = sample();
    runs.truncate(2);
    runs[1].interrupted = true;
    let path = scratch("interrupted");
    let finished = write(&path, &about, &runs, 1.0);
    assert_eq!(finished.summary.status, Status::Interrupted);
    for file in ["manifest.json", "summary.json"] {
        let text = fs::read_to_string(path.join(file)).unwrap();
        assert!(text.contains("\"status\": \"interrupted\""), "{file}");
    }
}

#[test]
fn a_directory_in_use_is_left_alone_unless_asked() {
    let (about, runs) = sample();
    let path = scratch("in-use");
    write(&path, &about, &runs, 1.0);
    fs::write(path.join("notes.txt"), "mine").unwrap();
    fs::write(path.join("law-3-seed-1.log"), "of the old run").unwrap();
    let refused = RunDir::create(&path, &about, IfExists::Refuse).err().unwrap().to_string();
    assert!(refused.ends_with("holds a run already; name another directory, or ask to replace it"));
    let before = fs::read(path.join("summary.json")).unwrap();
    let mut dir = RunDir::create(&path, &about, IfExists::Replace).unwrap();
    dir.add(&runs[0]).unwrap();
    assert!(fs::read(path.join("summary.json")).unwrap() == before, "not before the end");
    dir.finish(&runs[..1], volatile(1.0)).unwrap();
    assert!(fs::read(path.join("summary.json")).unwrap() != before);
    assert!(path.join("notes.txt").exists() && !path.join("law-3-seed-1.log").exists());
    assert!(!partial_of(&path).exists() && !scratch_has(&path, "run.lock"));

    let foreign = scratch("foreign");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("thesis.tex"), "").unwrap();
    for if_exists in [IfExists::Refuse, IfExists::Replace] {
        let refused = RunDir::create(&foreign, &about, if_exists).err().unwrap().to_string();
        assert!(refused.ends_with("has files and is not a run directory; name another"));
    }
    let file = foreign.join("thesis.tex");
    let refused = RunDir::create(&file, &about, IfExists::Refuse).err().unwrap().to_string();
    assert!(refused.contains("thesis.tex is a file or lies below one"), "{refused}");
}

fn scratch_has(path: &Path, name: &str) -> bool {
    fs::read_dir(path).unwrap().any(|entry| entry.unwrap().file_name() == name)
}

#[test]
fn one_run_at_a_time_and_what_a_dead_one_left_is_named() {
    let (about, runs) = sample();
    let path = scratch("one-at-a-time");
    write(&path, &about, &runs, 1.0);
    let whole = fs::read(path.join("flows.csv")).unwrap();
    let mut dead = RunDir::create(&path, &about, IfExists::Replace).unwrap();
    dead.add(&runs[0]).unwrap();
    let said = RunDir::create(&path, &about, IfExists::Replace).err().unwrap().to_string();
    assert!(said.starts_with("another run is at work in ") && said.contains("one-at-a-time;"));
    drop(dead); // as the system does with a process that was killed
    assert!(fs::read(path.join("flows.csv")).unwrap() == whole, "what was whole is still there");

    let elsewhere = scratch("one-at-a-time-alone");
    fs::rename(partial_of(&path), partial_of(&elsewhere)).unwrap();
    let said = RunDir::create(&elsewhere, &about, IfExists::Refuse).err().unwrap().to_string();
    assert!(said.contains("-alone.partial is left of a run of "), "{said}");
    let (_, back) = RunDir::load(&partial_of(&elsewhere)).unwrap();
    assert_same(&runs[0], &back[0]);
    let rest = RunDir::unfinished(&partial_of(&elsewhere), &back).unwrap().unwrap();
    assert!(!rest.at_work);
    assert_eq!(RunDir::unfinished(&path, &back).unwrap(), None);

    let mut dir = RunDir::create(&elsewhere, &about, IfExists::Replace).unwrap();
    runs.iter().for_each(|run| dir.add(run).unwrap());
    dir.finish(&runs, volatile(1.0)).unwrap();
    assert!(fs::read(elsewhere.join("flows.csv")).unwrap() == whole);
    assert!(!partial_of(&elsewhere).exists());
}

#[test]
fn a_run_killed_between_two_renames_loses_nothing() {
    let (about, runs) = sample();
    let path = scratch("between");
    write(&path, &about, &runs, 1.0);
    fs::write(path.join("notes.txt"), "mine").unwrap();
    // The old run has been put aside, the new one does not have its name yet.
    let aside = path.with_file_name("between.replaced");
    fs::rename(&path, &aside).unwrap();
    let dir = RunDir::create(&path, &about, IfExists::Replace).unwrap();
    assert!(path.join("flows.csv").exists() && !aside.exists());
    dir.abandon();
    assert!(!partial_of(&path).exists());
    // The new one has it, and the old one is still aside.
    fs::create_dir(&aside).unwrap();
    for name in ["flows.csv", "notes.txt"] {
        fs::rename(path.join(name), aside.join(name)).unwrap();
    }
    RunDir::create(&path, &about, IfExists::Replace).unwrap().abandon();
    assert!(path.join("notes.txt").exists() && !aside.exists());
}

#[test]
#[cfg(unix)]
fn a_link_to_a_directory_stays_one() {
    let (about, runs) = sample();
    let (real, link) = (scratch("linked"), scratch("link"));
    let _ = fs::remove_file(&link);
    fs::create_dir_all(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write(&link, &about, &runs, 1.0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && real.join("flows.csv").exists());
    fs::remove_dir_all(&real).unwrap();
    let said = RunDir::create(&link, &about, IfExists::Refuse).err().unwrap().to_string();
    assert!(said.contains("is a symbolic link to something that is not there"), "{said}");
    fs::remove_file(&link).unwrap();
    if Path::new("/proc/self").exists() {
        let said = RunDir::create(Path::new("/proc"), &about, IfExists::Refuse).err().unwrap();
        assert!(said.to_string().contains("is the root of a file system"), "{said}");
    }
}

#[test]
fn a_killed_run_keeps_what_its_seeds_had_when_they_were_saved() {
    let (about, runs) = sample();
    let path = scratch("saved");
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    let at = dir.path().to_path_buf();
    let mut early = runs[2].clone();
    (early.interrupted, early.end) = (true, Time::from_ps(1_500_000));
    early.flows.truncate(100);
    save(&at, &about, &early, &|| false).unwrap();
    early.flows.push(runs[2].flows[100]);
    save(&at, &about, &early, &|| false).unwrap();
    let (_, back) = RunDir::load(&at).unwrap();
    assert_same(&early, &back[0]);
    save(&at, &about, &runs[0], &|| false).unwrap();
    dir.add(&runs[0]).unwrap();
    drop(dir);
    let (_, back) = RunDir::load(&at).unwrap();
    assert_eq!(back.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 3]);
    assert_same(&runs[0], &back[0]);
    assert_same(&early, &back[1]);
    let rest = RunDir::unfinished(&at, &back).unwrap().unwrap().to_string();
    assert!(
        rest.ends_with("1 of 3 seeds complete, seed 3 until 1.500 us, seed 2 missing"),
        "{rest}"
    );

    let mut dir = RunDir::create(&path, &about, IfExists::Replace).unwrap();
    for run in &runs {
        save(&at, &about, run, &|| false).unwrap();
        dir.add(run).unwrap();
    }
    save(&at, &about, &early, &|| false).unwrap();
    dir.finish(&runs, volatile(1.0)).unwrap();
    assert!(!scratch_has(&path, "unfinished") && !at.exists());
}

/// A run of a million samples is told to stop while they are written: it takes a hundred thousand more, and what is there is whole and says so.
#[test]
fn a_run_that_is_told_to_stop_while_it_is_written_leaves_out_samples_and_nothing_else() {
    const SAMPLES: u64 = 500_000;
    let (about, mut runs) = sample();
    runs.truncate(2);
    let at: Vec<Time> = (0..SAMPLES).map(Time::from_ps).collect();
    for name in ["first", "second"] {
        let values = vec![1.0; at.len()];
        let (name, at) = (name.into(), at.clone());
        runs[0].series.push(Series { name, quantity: Quantity::Other, unit: "bytes", at, values });
    }
    let asked = std::cell::Cell::new(0);
    // The first seed is told after about 300,000 rows of samples.
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() * 256 > 300_000
    };
    let path = scratch("told-to-stop");
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    let whole = runs.clone();
    for run in &mut runs {
        dir.add_until(run, &stop).unwrap();
    }
    let left_out = dir.left_out();
    dir.finish(&runs, volatile(1.0)).unwrap();
    let rows = fs::read_to_string(path.join("series.csv")).unwrap().lines().count() as u64 - 1;
    assert!((100_000..400_256).contains(&rows), "{rows} rows of samples");
    let before: usize = whole.iter().flat_map(|run| &run.series).map(|s| s.at.len()).sum();
    let of_series = left_out.iter().find(|(file, _)| *file == "series.csv").unwrap();
    assert_eq!(rows + of_series.1, before as u64);
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["status"], "interrupted");
    let files = manifest["files"].as_array().unwrap();
    let of = |name: &str| files.iter().find(|file| file["file"] == name).unwrap();
    assert_eq!(
        (&of("series.csv")["rows"], &of("series.csv")["left_out"]),
        (&rows.into(), &of_series.1.into())
    );
    assert!(of("flows.csv").get("left_out").is_none());
    // What is read back is what the run has now, and nothing but samples is missing.
    let (_, back) = RunDir::load(&path).unwrap();
    for ((back, now), whole) in back.iter().zip(&runs).zip(&whole) {
        assert_same(back, now);
        assert!(
            now.interrupted
                && (now.flows.len(), now.ports.len()) == (whole.flows.len(), whole.ports.len())
        );
    }
}

#[test]
fn a_run_that_is_not_told_to_stop_is_whole() {
    let (about, runs) = sample();
    let (path, other) = (scratch("not-told"), scratch("not-asked"));
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    let mut mine = runs.clone();
    for run in &mut mine {
        dir.add_until(run, &|| false).unwrap();
    }
    assert_eq!(dir.left_out(), []);
    dir.finish(&mine, volatile(1.0)).unwrap();
    write(&other, &about, &runs, 1.0);
    for file in ["series.csv", "runs.csv", "manifest.json", "summary.json", "report.html"] {
        assert!(
            fs::read(path.join(file)).unwrap() == fs::read(other.join(file)).unwrap(),
            "{file}"
        );
    }
}

/// Nothing is saved of a run that is to stop; what was saved before stays.
#[test]
fn a_save_that_is_told_to_stop_changes_nothing() {
    let (about, runs) = sample();
    let dir = RunDir::create(&scratch("save-told"), &about, IfExists::Refuse).unwrap();
    let mut later = runs[2].clone();
    let at: Vec<Time> = (0..200_000).map(Time::from_ps).collect();
    let values = vec![1.0; at.len()];
    later.series.push(Series {
        name: "long".into(),
        quantity: Quantity::Other,
        unit: "bytes",
        at,
        values,
    });
    save(dir.path(), &about, &runs[2], &|| false).unwrap();
    save(dir.path(), &about, &later, &|| true).unwrap();
    let (_, back) = RunDir::load(dir.path()).unwrap();
    assert_same(&runs[2], &back[0]);
}

#[test]
fn a_row_that_a_killed_run_was_writing_does_not_count() {
    let (about, runs) = sample();
    let path = scratch("cut-row");
    let mut dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    dir.add(&runs[0]).unwrap();
    drop(dir);
    let flows = partial_of(&path).join("flows.csv.partial");
    let mut text = fs::read_to_string(&flows).unwrap();
    text.push_str("2,0,0,leaf[0].ho");
    fs::write(&flows, text).unwrap();
    let (_, back) = RunDir::load(&partial_of(&path)).unwrap();
    assert_same(&runs[0], &back[0]);
}

/// Killed between two lines of the code that begins its tables.
#[test]
fn a_run_that_died_early_is_read_as_one_without_rows() {
    let (about, runs) = sample();
    let path = scratch("early");
    let dir = RunDir::create(&path, &about, IfExists::Refuse).unwrap();
    let at = dir.path().to_path_buf();
    drop(dir);
    let none = |why: &str| {
        let (_, back) = RunDir::load(&at).unwrap_or_else(|error| panic!("{why}: {error}"));
        assert!(back.is_empty(), "{why}");
        let rest = RunDir::unfinished(&at, &back).unwrap().unwrap().to_string();
        assert!(rest.ends_with("0 of 3 seeds complete, seeds 1, 2, 3 missing"), "{rest}");
    };
    none("every table begun");
    fs::write(at.join("links.csv.partial"), "").unwrap();
    none("a table of the first seed is empty");
    for file in ["runs.csv", "series.csv", "ports.csv", "flows.csv", "hosts.csv"] {
        fs::write(at.join(format!("{file}.partial")), "").unwrap();
        none(file);
        fs::remove_file(at.join(format!("{file}.partial"))).unwrap();
        none(file);
    }
    // Of a run that came to its end, a table that is not there is damage.
    let whole = scratch("early-whole");
    write(&whole, &about, &runs, 1.0);
    fs::remove_file(whole.join("runs.csv")).unwrap();
    let said = RunDir::load(&whole).unwrap_err().to_string();
    assert!(said.contains("runs.csv: No such file"), "{said}");
}

#[test]
fn empty_tables_are_explained() {
    let (about, runs) = sample();
    let empty =
        RunRecord { flows: Vec::new(), series: Vec::new(), not_started: 40, ..runs[0].clone() };
    let one = RunStart { seeds: vec![1], ..about };
    let finished = write(&scratch("empty"), &one, &[empty], 1.0);
    let said: Vec<String> = finished.empty.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "flows.csv has no rows: none of 40 flows had started by the end; see stop.time and traffic.start",
            "series.csv has no rows: nothing was sampled; see output.queues and output.flows"
        ]
    );
}

/// The run ended before a path to memory was sampled: that, and not the fabric, is why there is no row.
#[test]
fn a_series_of_memory_without_samples_is_explained_by_its_end() {
    let (about, mut runs) = sample();
    for series in &mut runs[0].memory_series {
        series.samples.clear();
        series.by_antagonist.clear();
    }
    let one = RunStart { seeds: vec![1], ..about };
    let finished = write(&scratch("no-samples"), &one, &runs[..1], 1.0);
    let said: Vec<String> = finished.empty.iter().map(ToString::to_string).collect();
    let why = "memory_series.csv has no rows: the run ended before the first sample; see output.memory and stop.time";
    assert_eq!(said, [why]);
}

/// Every key of a JSON value, all the way down.
fn keys(value: &serde_json::Value, into: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

#[test]
fn what_is_found_out_later_joins_what_was_known() {
    let about = about(&[1, 2]);
    let runs = [with_why(run(1, 60)), run(2, 60)];
    let path = scratch("explained-later");
    write(&path, &about, &runs, 1.0);
    let known: Vec<u32> = runs[0].why.iter().filter_map(|row| row.of.flow()).collect();
    let row = |flow: u32, part: Part| WhyRow {
        of: Subject::Flow(flow),
        part,
        port: "leaf[0]->spine[0]".into(),
        behind: None,
        span: Span::from_ps(7),
    };
    let fresh = vec![row(known[0], Part::Pause), row(59, Part::Queue)];
    RunDir::explain(&path, 1, fresh.clone()).unwrap();
    RunDir::explain(&path, 2, vec![row(3, Part::Queue)]).unwrap();
    let (_, read) = RunDir::load(&path).unwrap();
    // The new rows of a flow stand in place of its old ones, and other flows keep theirs.
    let of = |flow: u32| {
        let rows = read[0].why.iter().filter(|row| row.of == Subject::Flow(flow));
        rows.cloned().collect::<Vec<_>>()
    };
    assert_eq!((of(known[0]), of(59)), (fresh[..1].to_vec(), fresh[1..].to_vec()));
    let kept = |row: &&WhyRow| ![known[0], 59].contains(&row.of.number());
    assert!(runs[0].why.iter().filter(kept).eq(read[0].why.iter().filter(kept)));
    assert_eq!(read[1].why.len(), 1);
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    let rows = fs::read_to_string(path.join("why.csv")).unwrap().lines().count() - 1;
    assert!(
        manifest.contains(&format!("\"file\": \"why.csv\",\n      \"rows\": {rows}")),
        "{manifest}"
    );
    assert!(fs::read_to_string(path.join("report.html")).unwrap().contains("id=\"why\""));
}

#[test]
fn every_column_and_every_key_is_explained() {
    let (about, mut runs) = sample();
    for run in &mut runs {
        run.flows.retain(|flow| flow.size.get() <= 1_000_000);
        run.series.clear();
        // An entry of traffic of which nothing comes through.
        let of = *run.flows.last().unwrap();
        let last = run.flows.iter().map(|flow| flow.flow).max().unwrap();
        let (flow, start) = (last + 1, Time::ZERO);
        run.flows.push(FlowRow { flow, traffic: 9, start, delivered: None, acked: None, ..of });
        let waits_for = WaitsFor::Nic;
        run.unfinished.push(UnfinishedRow { flow, waits_for, ..UnfinishedRow::default() });
        run.collectives.push(CollectiveRow {
            ranks: 4,
            bytes: Bytes::new(1_000_000),
            end: Some(Time::ZERO + Span::from_us(90)),
            last: Some(2),
            wait: Some(Span::from_us(1)),
            ..CollectiveRow::default()
        });
        // And somebody who pauses others.
        run.ports[0].paused = Span::from_us(5);
    }
    let path = scratch("explained");
    write(&path, &about, &runs, 1.0);
    let header = |(_, columns): (_, Vec<&'static str>)| columns;
    let mut names: BTreeSet<String> =
        columns::tables().into_iter().flat_map(header).map(String::from).collect();
    for file in ["summary.json", "manifest.json", "volatile.json"] {
        let text = fs::read_to_string(path.join(file)).unwrap();
        keys(&serde_json::from_str(&text).unwrap(), &mut names);
    }
    for name in &names {
        assert!(explain(name).is_some(), "{name} has no explanation");
    }
    for (name, text) in columns::explained() {
        assert!(names.contains(name), "{name} is explained and appears nowhere");
        assert!(text.ends_with(['.']) || name == "ideal_fct_ps", "{name}: {text}");
    }
}

#[test]
fn a_malformed_file_is_refused_in_one_sentence() {
    let (about, runs) = sample();
    let path = scratch("malformed");
    write(&path, &about, &runs, 1.0);
    let flows = fs::read_to_string(path.join("flows.csv")).unwrap();
    let line = |n: usize| flows.lines().nth(n).unwrap().to_string();
    let cases: [(String, &str); 6] = [
        (flows.replacen("size_bytes", "size", 1), "line 1: no column is called \"size_bytes\""),
        (flows.replacen(&line(2), "1,2,3", 1), "line 3: has 3 fields, not 15"),
        (
            flows.replacen(&line(1), &line(1).replacen("1,0,", "1,x,", 1), 1),
            "line 2: flow is \"x\", not a number",
        ),
        (
            flows.replacen(&line(1), &line(1).replacen("leaf[", "loaf[", 1), 1),
            "is not in hosts.csv",
        ),
        (flows[..flows.len() - 1].into(), "the last row is cut off"),
        (String::new(), "line 1: is empty; a table begins with the names of its columns"),
    ];
    for (text, expected) in cases {
        fs::write(path.join("flows.csv"), text).unwrap();
        let said = RunDir::load(&path).unwrap_err().to_string();
        assert!(said.contains("flows.csv") && said.contains(expected), "{said}");
        assert_eq!(said.lines().count(), 1);
    }
    fs::remove_file(path.join("flows.csv")).unwrap();
    let said = RunDir::load(&path).unwrap_err().to_string();
    assert!(said.starts_with("cannot read ") && said.contains("flows.csv: No such file"), "{said}");
    fs::write(path.join("summary.json"), "{").unwrap();
    let said = RunDir::load_summary(&path).unwrap_err().to_string();
    assert!(said.contains("summary.json, line 1: "), "{said}");
}

/// `report` took a slowdown of NaN without a word, as it works that column out anew.
#[test]
fn a_derived_column_has_to_be_a_number_too() {
    let (about, runs) = sample();
    let path = scratch("derived");
    write(&path, &about, &runs, 1.0);
    let flows = fs::read_to_string(path.join("flows.csv")).unwrap();
    let first = flows.lines().nth(1).unwrap();
    let cells: Vec<&str> = first.split(',').collect();
    for bad in ["NaN", "inf", "fast"] {
        let mut cells = cells.clone();
        cells[12] = bad;
        fs::write(path.join("flows.csv"), flows.replacen(first, &cells.join(","), 1)).unwrap();
        let said = RunDir::load(&path).unwrap_err().to_string();
        let expected = format!("flows.csv, line 2: slowdown is \"{bad}\", not a number");
        assert!(said.ends_with(&expected), "{said}");
    }
    // A time that ends before it begins, as a column of its own and as two.
    for (at, bad, why) in [
        (10, "-5", "fct_ps is \"-5\", below zero"),
        (12, "-0.5", "slowdown is \"-0.5\", below zero"),
        (7, "0", "delivered_ps is before start_ps"),
    ] {
        let mut cells = cells.clone();
        cells[at] = bad;
        cells[6] = "1";
        fs::write(path.join("flows.csv"), flows.replacen(first, &cells.join(","), 1)).unwrap();
        let said = RunDir::load(&path).unwrap_err().to_string();
        assert!(said.ends_with(&format!("flows.csv, line 2: {why}")), "{said}");
    }
}

/// Columns are found by name: in another order, under an older name, among columns of a later version; what an older version had not
/// is said.
#[test]
fn directories_of_other_versions_are_read() {
    let (about, runs) = sample();
    let path = scratch("other-versions");
    write(&path, &about, &runs, 1.0);
    let edit = |name: &str, edit: &dyn Fn(Vec<&str>) -> Vec<String>| {
        let table = fs::read_to_string(path.join(name)).unwrap();
        let rows = table.lines().map(|line| edit(line.split(',').collect()).join(",") + "\n");
        fs::write(path.join(name), rows.collect::<String>()).unwrap();
    };
    let owned = |cells: Vec<&str>| cells.into_iter().map(String::from).collect::<Vec<_>>();
    edit("ports.csv", &|mut cells| {
        cells.reverse();
        owned(cells)
    });
    edit("flows.csv", &|mut cells| {
        cells.insert(3, if cells[0] == "seed" { "colour" } else { "red" });
        owned(cells)
    });
    edit("memory.csv", &|cells| {
        owned(cells)
            .into_iter()
            .map(|cell| {
                cell.replace("antagonist_", "neighbour_").replace("0.25;0;0.25;0", "0.25;0;0.25")
            })
            .collect()
    });
    let (about_back, back) = RunDir::load(&path).unwrap();
    assert!(about_back.lacks.is_empty());
    for (one, other) in runs.iter().zip(&back) {
        assert_same(one, other);
    }
    edit("flows.csv", &|mut cells| {
        cells.pop();
        owned(cells)
    });
    let (about_back, back) = RunDir::load(&path).unwrap();
    assert_eq!(about_back.lacks, ["flows.csv has no column timeouts"]);
    assert!(back.iter().flat_map(|run| &run.flows).all(|flow| flow.timeouts == 0));
    let report = RunDir::redraw(&path).unwrap();
    let html = fs::read_to_string(report).unwrap();
    assert!(html.contains("flows.csv has no column timeouts"), "the page says so, too");
}

#[test]
fn a_malformed_row_of_memory_is_refused_in_one_sentence() {
    let (about, runs) = sample();
    let path = scratch("malformed-memory");
    write(&path, &about, &runs, 1.0);
    let table = fs::read_to_string(path.join("memory.csv")).unwrap();
    let cases = [
        (table.replacen("leaf[0].host[5]", "loaf", 1), "host \"loaf\" is not in hosts.csv"),
        (table.replacen("0.25;0;", "", 1), "limited_by_shares has 4 values, not 6"),
        (
            table.replacen("0.25;0;", &"0;".repeat(2_000), 1),
            "limited_by_shares has 2004 values, above 1024",
        ),
        (table.replacen("0;0.5;", "", 1), "sender_wait_shares has 4 values, not 6"),
        (table.replacen("0.25;0;", "x;0;", 1), "limited_by_shares is \"x;0;"),
    ];
    for (text, expected) in cases {
        fs::write(path.join("memory.csv"), text).unwrap();
        let said = RunDir::load(&path).unwrap_err().to_string();
        assert!(said.contains("memory.csv, line 2: ") && said.contains(expected), "{said}");
    }
}

/// Child half of the next test: writes under the file-size limit that its parent's shell has set.
#[test]
fn child_writes_under_a_limit() {
    let Ok(path) = std::env::var("FOREBAY_RECORD_LIMITED") else { return };
    let about = about(&[1, 2]);
    let mut dir = RunDir::create(Path::new(&path), &about, IfExists::Refuse).unwrap();
    let first = run(1, 500);
    dir.add(&first).unwrap();
    let said = dir.add(&run(2, 60_000)).unwrap_err().to_string();
    println!("said: {said}");
    let after = dir.finish(&[first.clone(), run(2, 1)], volatile(1.0)).unwrap_err().to_string();
    assert!(after.contains("an earlier write failed"), "{after}");
}

#[test]
fn a_full_disk_gives_one_sentence_and_leaves_whole_rows() {
    let path = scratch("full-disk");
    let test = std::env::current_exe().unwrap();
    // 8,192 blocks of 512 bytes; the signal that would kill the process is ignored, so write fails.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8192 && exec \"$@\"", "sh"])
        .arg(&test)
        .args(["--exact", "run_dir::child_writes_under_a_limit", "--nocapture"])
        .env("FOREBAY_RECORD_LIMITED", &path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let said = text.lines().find_map(|line| line.split_once("said: ")).unwrap().1;
    assert!(
        said.starts_with("cannot write ") && said.contains("flows.csv: File too large"),
        "{said}"
    );
    assert!(said.contains("rows are kept"), "{said}");
    assert!(!path.exists(), "it is not whole");
    let path = partial_of(&path);
    let flows = fs::read_to_string(path.join("flows.csv")).unwrap();
    assert!(flows.ends_with('\n') && flows.lines().count() > 501);
    let (_, runs) = RunDir::load(&path).unwrap();
    assert_eq!(runs.len(), 1, "the seed that was not written whole does not count");
    assert_same(&run(1, 500), &runs[0]);
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"status\": \"failed\""));
    let rest = RunDir::unfinished(&path, &runs).unwrap().unwrap().to_string();
    assert!(rest.ends_with("1 of 2 seeds complete, seed 2 missing"), "{rest}");
}
