//! A run that takes the place of another: nothing of the old one is left in any format, and files of others stay.

use crate::support::{about, run, with_why};
use forebay_record::capture::{CaptureFiles, CapturedPort, Sink};
use forebay_record::columnar::{self, Format};
use forebay_record::law_logs::{LawLogFiles, LawLogs};
use forebay_record::{IfExists, RunDir, RunRecord, RunStart, Volatile, partial_of, perfetto};
use forebay_units::{Bytes, Time};
use std::fs;
use std::path::{Path, PathBuf};

/// A path under the target directory, without anything there or beside it.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    for path in [&path, &partial_of(&path), &replaced(&path)] {
        let _ = fs::remove_dir_all(path);
    }
    path
}

fn replaced(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap().to_string_lossy();
    path.with_file_name(format!("{name}.replaced"))
}

/// Names of all files below a folder, sorted.
fn names(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match path.is_dir() {
                true => todo.push(path),
                false => all.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned()),
            }
        }
    }
    all.sort();
    all
}

/// How much a run leaves besides its tables.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// Nothing.
    Tables,
    /// Captures and law logs, and after its end every export.
    Everything,
}

/// Begins a run and writes what a simulation writes.
fn begin(path: &Path, about: &RunStart, run: &RunRecord, extent: Extent) -> RunDir {
    let mut dir = RunDir::create(path, about, IfExists::Replace).unwrap();
    if extent == Extent::Everything {
        let mut captures = CaptureFiles::new(dir.path(), "x", run.seed);
        let port = CapturedPort {
            node: "leaf[0]".into(),
            peer: "spine[0]".into(),
            rate: 1,
            snap: Bytes::new(64),
        };
        captures.begin(vec![port], &[(0, "leaf[0].host[0]".into())]);
        let logs = LawLogFiles::new(dir.path(), run.seed);
        for whose in ["7", "pool-3", "host-leaf[0].host[1]", "grant-leaf[0].host[1]"] {
            logs.open(whose).write(b"a line");
        }
        assert_eq!(logs.finish().unwrap().len(), 4);
        dir.add(run).unwrap();
        dir.captured(captures.finish()).unwrap();
    } else {
        dir.add(run).unwrap();
    }
    dir
}

/// A run of few flows, whose report is soon drawn.
fn small() -> RunRecord {
    let mut run = with_why(run(1, 30));
    run.ports.truncate(1);
    run
}

fn write(path: &Path, columnar: Option<Format>, extent: Extent) {
    let run = small();
    let about = RunStart { columnar, ..about(&[1]) };
    let dir = begin(path, &about, &run, extent);
    let runs = [run];
    dir.finish(&runs, Volatile::default()).unwrap();
    if extent == Extent::Everything {
        for format in Format::ALL {
            columnar::export(path, format, &runs, Time::ZERO).unwrap();
        }
        fs::write(path.join(perfetto::FILE), perfetto::trace(&about, &runs)).unwrap();
    }
}

#[test]
fn a_forced_run_has_the_files_of_its_own_format_alone_however_often_it_is_forced() {
    let (path, formats) = (scratch("force"), [Some(Format::Parquet), Some(Format::Arrow), None]);
    for format in formats {
        let fresh = scratch("force-fresh");
        write(&fresh, format, Extent::Tables);
        let expected = names(&fresh);
        let typed = expected.iter().filter(|name| !name.ends_with(".csv")).count();
        assert_eq!(typed > 6, format.is_some(), "{expected:?}");
        // It has every table in every format, captures, law logs and a trace.
        write(&path, None, Extent::Everything);
        assert!(names(&path).len() > expected.len() + 10);
        for time in 1..=3 {
            write(&path, format, Extent::Tables);
            assert_eq!(names(&path), expected, "{format:?}, time {time}");
            assert!(!replaced(&path).exists() && !partial_of(&path).exists());
        }
    }
}

#[test]
fn what_a_killed_run_left_in_any_format_is_in_no_later_one() {
    let (path, run) = (scratch("force-killed"), small());
    write(&path, None, Extent::Tables);
    let expected = names(&path);
    for format in Format::ALL {
        let about = RunStart { columnar: Some(format), ..about(&[1]) };
        let dir = begin(&path, &about, &run, Extent::Everything);
        let at = dir.path().to_path_buf();
        columnar::export(&at, format, std::slice::from_ref(&run), Time::ZERO).unwrap();
        fs::write(at.join(format!("ports.{}.partial", format.extension())), "half").unwrap();
        drop(dir); // as a kill leaves it
        write(&path, None, Extent::Tables);
        assert_eq!(names(&path), expected, "{format:?}");
        assert!(!partial_of(&path).exists());
    }
}

#[test]
fn files_of_others_move_on_to_the_run_that_takes_the_place() {
    let path = scratch("force-others");
    write(&path, Some(Format::Parquet), Extent::Everything);
    let others =
        ["notes.txt", "flows.xlsx", "plots/fct.svg", "captures/why.txt", "captures/seed-1/x.txt"];
    for other in others {
        fs::create_dir_all(path.join(other).parent().unwrap()).unwrap();
        fs::write(path.join(other), other).unwrap();
    }
    for extent in [Extent::Everything, Extent::Tables, Extent::Everything] {
        write(&path, None, extent);
        for other in others {
            assert_eq!(fs::read_to_string(path.join(other)).unwrap(), other);
        }
        assert!(!replaced(&path).exists());
    }
}

/// Before the simulation and not after it: a run that has no place is known at its start.
#[test]
fn what_cannot_be_replaced_is_said_at_the_start_with_its_name() {
    let path = scratch("force-refused");
    write(&path, None, Extent::Tables);
    let begun = || {
        RunDir::create(&path, &about(&[1]), IfExists::Replace)
            .map(RunDir::abandon)
            .map_err(|e| e.to_string())
    };
    // An older version left its Parquet files there: they are of a run, and go.
    fs::create_dir_all(replaced(&path)).unwrap();
    fs::write(replaced(&path).join("flows.parquet"), "old").unwrap();
    fs::write(replaced(&path).join("notes.txt"), "mine").unwrap();
    begun().unwrap();
    assert!(!replaced(&path).exists() && path.join("notes.txt").exists());
    // Two files of the same name that are of no run: neither is lost.
    fs::create_dir_all(replaced(&path)).unwrap();
    fs::write(replaced(&path).join("notes.txt"), "mine too").unwrap();
    let said = begun().unwrap_err();
    let expected = "force-refused.replaced holds files of yours under names that the run in its place has too; move them away";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(replaced(&path).join("notes.txt")).unwrap(), "mine too");
    fs::remove_dir_all(replaced(&path)).unwrap();
    // As Dask writes a table.
    fs::create_dir_all(path.join("flows.parquet")).unwrap();
    let said = begun().unwrap_err();
    assert!(
        said.ends_with(
            "flows.parquet is a folder with the name of a file that a run writes; move it away"
        ),
        "{said}"
    );
    fs::remove_dir(path.join("flows.parquet")).unwrap();
    begun().unwrap();
    assert!(!partial_of(&path).exists(), "nothing is left of runs that did not begin");
}

/// Child half of the next test: exports under the file-size limit that its parent's shell has set.
#[test]
fn child_exports_under_a_limit() {
    let Ok(path) = std::env::var("FOREBAY_EXPORT_LIMITED") else { return };
    let (path, runs) = (Path::new(&path), [run(1, 3_000)]);
    let said = columnar::export(path, Format::Parquet, &runs, Time::ZERO).unwrap_err();
    println!("said: {said}");
    let trace = perfetto::trace(&about(&[1]), &runs);
    let said = forebay_record::write_whole(&path.join(perfetto::FILE), trace).unwrap_err();
    println!("said: {said}");
}

#[cfg(unix)]
#[test]
fn an_export_without_room_leaves_nothing_under_a_final_name() {
    let path = scratch("force-no-room");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(perfetto::FILE), "an older one").unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "force::child_exports_under_a_limit", "--nocapture"])
        .env("FOREBAY_EXPORT_LIMITED", &path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said: Vec<&str> = text.lines().filter_map(|l| Some(l.split_once("said: ")?.1)).collect();
    assert!(output.status.success() && said.len() == 2, "{text}");
    assert!(said[0].contains("flows.parquet: File too large"), "{}", said[0]);
    assert!(said[1].contains("trace.pftrace: File too large"), "{}", said[1]);
    let left = names(&path);
    assert!(
        !left.iter().any(|name| name == "flows.parquet" || name.ends_with(".partial")),
        "{left:?}"
    );
    assert_eq!(fs::read_to_string(path.join(perfetto::FILE)).unwrap(), "an older one");
    for name in left.iter().filter(|name| name.ends_with(".parquet")) {
        assert!(fs::read(path.join(name)).unwrap().ends_with(b"PAR1"), "{name} is whole");
    }
}
