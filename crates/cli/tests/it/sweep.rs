//! `forebay sweep`: every point once, whatever is killed on the way.
#![cfg(unix)]

use crate::common::{Ran, SMALL, Scratch, same_files, signal, try_signal, try_until, wait_until};
use serde_json::Value;

/// Six points of two seeds each.
fn scenario() -> String {
    let sweep = "[sweep]\n\"traffic[0].size\" = [\"20KB\", \"2MB\", \"4MB\"]\n\"transport.law\" = [\"dctcp\", \"reno\"]\n";
    let slower = SMALL.replace("stop = { time = \"2ms\"", "stop = { time = \"40ms\"");
    format!("{}{sweep}", slower.replace("[1, 2, 3]", "[1, 2]"))
}

fn complete_runs(here: &Scratch, dir: &str) -> usize {
    let entries = std::fs::read_dir(here.path.join(dir).join("runs"));
    let names = entries.into_iter().flatten().flatten().map(|e| e.file_name());
    names.filter(|name| !name.to_string_lossy().contains(".part")).count()
}

#[test]
fn a_sweep_that_was_killed_goes_on_and_ends_as_if_nothing_had_been() {
    let whole = Scratch::new();
    whole.write("s.toml", &scenario());
    whole.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
    assert_eq!(complete_runs(&whole, "s"), 12);

    let (here, before) = try_until("a sweep is killed before it is complete", || {
        let here = Scratch::new();
        here.write("s.toml", &scenario());
        for already in [1, 4, 8] {
            let mut child = here.start(&["sweep", "s.toml", "--out", "s", "--jobs", "2"]);
            wait_until("some runs are complete", || {
                complete_runs(&here, "s") > already || child.try_wait().unwrap().is_some()
            });
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let before = complete_runs(&here, "s");
        (before < 12).then_some((here, before))
    });
    let ran = here.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
    assert!(ran.err.contains(&format!("{} to go", 12 - before)), "{}", ran.err);
    assert_eq!(complete_runs(&here, "s"), 12);
    same_files(&whole.path.join("s"), &here.path.join("s"));

    // And again, with nothing to do.
    let again = here.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
    assert!(again.err.contains("12 of 12 runs were done before; 0 to go"), "{}", again.err);
    same_files(&whole.path.join("s"), &here.path.join("s"));
}

#[test]
fn the_tables_have_a_row_for_each_point_and_every_link_leads_somewhere() {
    let here = Scratch::new();
    here.write("s.toml", &scenario());
    let ran = here.run(&["sweep", "s.toml", "--out", "s", "--json"]).ends(0);
    let table: Value = serde_json::from_str(&ran.out).unwrap();
    let points = table["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    assert_eq!(
        points[1]["settings"],
        serde_json::json!({
            "traffic[0].size": "\"20KB\"", "transport.law": "\"reno\""
        })
    );
    for point in points {
        assert_eq!(point["status"], "complete");
        assert_eq!(point["seeds"], serde_json::json!([1, 2]));
        assert_eq!(point["metrics"]["flows.completed"]["mean"], 16.0);
    }
    let csv = here.read("s/sweep.csv");
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.lines().all(|line| line.split(',').count() == columns));
    let page = here.read("s/index.html");
    let links: Vec<&str> =
        page.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let links: Vec<&str> = links.into_iter().filter(|link| *link != "data:,").collect();
    assert_eq!(links.len(), 2 + 6 + 12);
    assert!(links.iter().all(|link| here.has(&format!("s/{link}"))));
}

#[test]
fn a_point_is_what_run_makes_of_the_same_settings() {
    let here = Scratch::new();
    here.write("s.toml", &scenario());
    let ran = here.run(&["sweep", "s.toml", "--out", "s", "--json"]).ends(0);
    let table: Value = serde_json::from_str(&ran.out).unwrap();
    let set = ["--set", "traffic[0].size=\"2MB\"", "--set", "transport.law=reno"];
    let run = here.run(&[&["run", "s.toml", "--json"], &set[..]].concat()).ends(0);
    let summary: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(table["points"][3]["digest"], summary["digest"]);
    let mean = &summary["overall"]["slowdown"]["p99"]["mean"];
    assert_eq!(&table["points"][3]["metrics"]["flows.slowdown.p99"]["mean"], mean);
}

#[test]
fn ctrl_c_keeps_what_is_complete() {
    let (here, ran) = try_until("a sweep is interrupted before it is complete", || {
        let here = Scratch::new();
        here.write("s.toml", &scenario());
        let child = here.start(&["sweep", "s.toml", "--out", "s", "--jobs", "1"]);
        wait_until("a run is complete", || complete_runs(&here, "s") > 0);
        signal(child.id(), "INT");
        let ran = Ran::from(child.wait_with_output().unwrap());
        (ran.code != Some(0)).then_some((here, ran))
    });
    let ran = ran.ends(130);
    assert!(
        ran.err.lines().last().unwrap().contains("the same command continues from there"),
        "{}",
        ran.err
    );
    let table: Value = serde_json::from_str(&here.read("s/sweep.json")).unwrap();
    assert_eq!(table["points"].as_array().unwrap().len(), 6);
    here.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
}

/// Processes that a process has started.
fn children(pid: u32) -> Vec<u32> {
    let mut all = String::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        all += &std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    }
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn a_run_that_is_killed_takes_no_other_with_it() {
    let sweep = "[sweep]\n\"transport.law\" = [\"dctcp\", \"reno\"]\n";
    let heavy = SMALL.replace("200KB", "60MB").replace("2ms", "200ms");
    let (here, ran) = try_until("a process is killed before it has ended", || {
        let here = Scratch::new();
        here.write("s.toml", &format!("{heavy}{sweep}"));
        let child = here.start(&["sweep", "s.toml", "--out", "s", "--jobs", "2"]);
        let mut victim = None;
        wait_until("a process is at work", || {
            victim = children(child.id()).first().copied();
            victim.is_some()
        });
        let sent = try_signal(victim.unwrap(), "KILL");
        let ran = Ran::from(child.wait_with_output().unwrap());
        (sent && ran.code != Some(0)).then_some((here, ran))
    });
    let ran = ran.ends(1);
    assert!(ran.err.contains("was killed (signal 9"), "{}", ran.err);
    assert!(
        ran.err.ends_with("error: 1 of 6 runs failed; the same command tries them again\n"),
        "{}",
        ran.err
    );
    assert_eq!(complete_runs(&here, "s"), 5);
    here.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
    assert_eq!(complete_runs(&here, "s"), 6);
}

#[test]
fn two_sweeps_do_not_work_in_one_directory() {
    let here = Scratch::new();
    here.write("long.toml", crate::common::LONG);
    let mut first = here.start(&["sweep", "long.toml", "--out", "s", "--jobs", "1"]);
    wait_until("the first is at work", || {
        std::fs::read_dir(here.path.join("s/runs"))
            .is_ok_and(|mut entries| entries.next().is_some())
    });
    let second = here.run(&["sweep", "long.toml", "--out", "s"]).ends(2);
    assert!(second.err.contains("another sweep is at work in s"), "{}", second.err);
    signal(first.id(), "KILL");
    first.wait().unwrap();
    // Its orphan notices and goes, leaving nothing that counts.
    wait_until("the orphan has gone", || {
        std::fs::read_dir(here.path.join("s/runs")).unwrap().next().is_none()
    });
}

#[test]
fn what_the_command_line_sets_does_not_vary() {
    let here = Scratch::new();
    here.write("s.toml", &scenario());
    let args = ["sweep", "s.toml", "--out", "s", "--set", "transport.law=\"reno\"", "--seeds", "7"];
    here.run(&args).ends(0);
    assert_eq!(complete_runs(&here, "s"), 3);
    let wrong = scenario().replace("\"4MB\"", "\"0B\"");
    here.write("wrong.toml", &wrong);
    let ran = here.run(&["sweep", "wrong.toml", "--out", "w"]).ends(2);
    assert!(ran.err.contains("size"), "{}", ran.err);
    assert!(!here.has("w"), "nothing was begun");
}

#[test]
fn a_sweep_can_come_from_standard_input() {
    let here = Scratch::new();
    let file = std::fs::File::open(here.write("s.toml", &scenario())).unwrap();
    let output =
        here.command(&["sweep", "-", "--out", "s", "--quiet"]).stdin(file).output().unwrap();
    Ran::from(output).ends(0);
    assert_eq!(complete_runs(&here, "s"), 12);
}

#[test]
fn a_missed_band_names_its_point() {
    let here = Scratch::new();
    let expect = "[[expect]]\nmetric = \"flows.fct_us.mean\"\nmax = 100\n";
    here.write("s.toml", &format!("{}{expect}", scenario()));
    let ran = here.run(&["sweep", "s.toml"]).ends(3);
    assert!(ran.err.contains("size=2MB, law=dctcp: flows.fct_us.mean is"), "{}", ran.err);
    assert!(ran.err.contains("4 of 6 expected bands missed"), "{}", ran.err);
}

#[test]
fn a_point_out_of_range_is_told_as_what_the_file_says() {
    let here = Scratch::new();
    let kind = "kind = \"poisson\"\nsizes = \"10KB\"\nload = 0.5";
    let text = SMALL.replace("kind = \"permutation\"\nsize = \"200KB\"", kind);
    here.write("s.toml", &format!("{text}[sweep]\n\"traffic[0].load\" = [0.5, 1.4]\n"));
    for verb in ["sweep", "check"] {
        let ran = here.run(&[verb, "s.toml"]).ends(2);
        assert!(
            ran.err
                .starts_with("s.toml: [sweep] with traffic[0].load = 1.4: traffic[0].load: 1.4 "),
            "{verb}: {}",
            ran.err
        );
    }
}

#[test]
fn a_damaged_run_is_named_with_its_remedy() {
    let here = Scratch::new();
    here.write("s.toml", SMALL);
    here.run(&["sweep", "s.toml", "--out", "s", "--quiet"]).ends(0);
    let runs = here.path.join("s/runs");
    let victim = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(victim.join("flows.csv"), "nonsense\n").unwrap();
    let ran = here.run(&["sweep", "s.toml", "--out", "s", "--quiet"]).ends(1);
    let name = victim.file_name().unwrap().to_string_lossy();
    let remedy = format!("this run is damaged: remove s/runs/{name} and sweep again");
    assert!(ran.err.contains(&remedy), "{}", ran.err);
    std::fs::remove_dir_all(victim).unwrap();
    here.run(&["sweep", "s.toml", "--out", "s", "--quiet"]).ends(0);
}

#[test]
fn a_sweep_that_is_cut_off_shows_the_flows_that_are_left_out() {
    let here = Scratch::new();
    let cut = SMALL.replace("\"2ms\"", "\"1ms\"").replace("\"200KB\"", "\"1100KB\"");
    here.write("s.toml", &cut.replace("10Gbps", "20Gbps").replace("dctcp", "reno"));
    let mixed = "[[traffic]]\nkind = \"permutation\"\nsize = \"10KB\"\n[output]";
    let text = here.read("s.toml").replace("[output]", mixed);
    here.write("s.toml", &text.replace("1100KB", "10MB"));
    let ran = here.run(&["sweep", "s.toml", "--out", "s"]).ends(0);
    assert!(
        ran.out.contains(" 24 of 48 ") && ran.out.contains("\n* leaves out unfinished"),
        "{}",
        ran.out
    );
    let page = here.read("s/index.html");
    assert!(page.contains(">24 of 48<") && page.contains("* leaves out unfinished"), "{page}");
}
