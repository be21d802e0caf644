//! `forebay run` from the outside: what goes where, what is written, and how it ends.

use crate::common::{Ran, SMALL, Scratch, same_files};
use serde_json::Value;
use std::io::BufRead;

#[test]
fn a_run_leaves_a_directory_and_names_the_report_last() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let ran = here.run(&["run", "small.toml"]).ends(0);
    assert_eq!(ran.out.lines().last(), Some("report    results/small/report.html"), "{}", ran.out);
    assert!(ran.out.starts_with("small  dctcp  3 seeds"), "{}", ran.out);
    for file in ["flows.csv", "summary.json", "resolved.toml", "report.html", "volatile.json"] {
        assert!(here.has(&format!("results/small/{file}")), "{file}");
    }
    let again = here.run(&["run", "small.toml"]).ends(0);
    assert!(
        again.out.contains("results/small-2/report.html"),
        "never replaced unasked: {}",
        again.out
    );
}

#[test]
fn the_same_run_twice_is_the_same_bytes_whatever_jobs_and_threads() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml", "--out", "a", "--jobs", "1"]).ends(0);
    here.run(&["run", "small.toml", "--out", "b", "--jobs", "3"]).ends(0);
    here.run(&["run", "small.toml", "--out", "c", "--threads", "2"]).ends(0);
    here.run(&["run", "a/resolved.toml", "--out", "d"]).ends(0);
    for other in ["b", "c", "d"] {
        same_files(&here.path.join("a"), &here.path.join(other));
    }
}

#[test]
fn json_mode_prints_summary_json_and_nothing_else() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let ran = here.run(&["run", "small.toml", "--json"]).ends(0);
    assert_eq!(ran.out, here.read("results/small/summary.json"));
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["status"], "complete");
    assert_eq!(summary["seeds"], serde_json::json!([1, 2, 3]));
}

#[test]
fn without_a_terminal_stderr_has_a_line_at_each_end_and_json_lines_if_asked() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let ran = here.run(&["run", "small.toml"]).ends(0);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(
        lines[0].starts_with("small: 3 seeds, ") && lines[1].starts_with("small: ended after ")
    );
    let ran = here.run(&["run", "small.toml", "--progress", "jsonl"]).ends(0);
    let events: Vec<Value> = ran.err.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(events[0]["event"], "start");
    assert_eq!(events.last().unwrap()["event"], "end");
    let off = here.run(&["run", "small.toml", "--progress", "off"]).ends(0);
    assert_eq!(off.err, "");
    let quiet = here.run(&["run", "small.toml", "--quiet"]).ends(0);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn progress_lines_tell_time_flows_rate_and_what_is_left() {
    let here = Scratch::new();
    here.write("long.toml", crate::common::LONG);
    let mut child = here.start(&["run", "long.toml", "--jobs", "1", "--progress", "jsonl"]);
    let lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    let events = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // One a second. On a busy machine the first may come before the first flow is complete.
    let mut told = events.filter(|event| event["event"] == "progress").take(300);
    let keys =
        ["fraction", "simulated_us", "flows_completed", "flows", "packet_hops_per_s", "eta_s"];
    let begun = told.find(|event| {
        assert!(keys.iter().all(|key| event.get(key).is_some()), "{event}");
        assert_eq!(event["seeds"], 3);
        keys.iter().all(|key| event[key].as_f64().is_some_and(|n| n > 0.0))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(begun.is_some(), "progress stays at zero");
}

#[test]
fn seeds_and_settings_of_the_command_line_win() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let set = "traffic[0].size=\"50KB\"";
    let args = ["run", "small.toml", "--seed", "9", "--seeds", "4,5", "--set", set, "--json"];
    let ran = here.run(&args).ends(0);
    let summary: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(summary["seeds"], serde_json::json!([9, 4, 5]));
    assert!(here.read("results/small/resolved.toml").contains("50KB"));
    let twice = here.run(&["run", "small.toml", "--seed", "1", "--seed", "1"]).ends(2);
    assert!(twice.err.contains("--seed 1 is given twice"), "{}", twice.err);
}

#[test]
fn a_directory_that_holds_a_run_is_left_alone_unless_forced() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml", "--out", "here"]).ends(0);
    let before = here.read("here/volatile.json");
    let refused = here.run(&["run", "small.toml", "--out", "here"]).ends(2);
    assert_eq!(
        refused.err,
        "error: here holds a run already; name another directory, or add --force to replace it\n"
    );
    assert_eq!(here.read("here/volatile.json"), before);
    here.run(&["run", "small.toml", "--out", "here", "--force"]).ends(0);
    std::fs::create_dir(here.path.join("mine")).unwrap();
    here.write("mine/thesis.tex", "precious");
    let other = here.run(&["run", "small.toml", "--out", "mine", "--force"]).ends(2);
    assert!(other.err.contains("is not a run directory"), "{}", other.err);
    assert_eq!(here.read("mine/thesis.tex"), "precious");
}

#[test]
fn a_place_that_cannot_be_written_is_one_sentence_before_any_work() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.write("file", "");
    let ran = here.run(&["run", "small.toml", "--out", "file/below"]).ends(2);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.contains("file/below") && !ran.err.contains("os error"), "{}", ran.err);
}

/// In the paper of hostCC the antagonist keeps about 11.8 GB/s.
#[test]
fn the_preset_of_a_busy_host_says_that_hostcc_takes_more_than_published() {
    let here = Scratch::new();
    let args = ["--set", "stop.time=2ms", "--set", "output.warmup=0s"];
    let ran = here.run(&[&["run", "--preset", "host-congestion"], &args[..]].concat()).ends(0);
    assert!(ran.err.contains("about 11.8 GB/s. The cause is not established."), "{}", ran.err);
    let ran = here.run(&[&["run", "--preset", "incast"], &args[..]].concat()).ends(0);
    assert!(!ran.err.contains("hostCC"), "{}", ran.err);
}

#[test]
fn a_preset_and_standard_input_are_scenarios_too() {
    use std::io::Write;
    let here = Scratch::new();
    let args = ["run", "--preset", "incast", "--set", "traffic[0].rounds=2", "--json"];
    here.run(&args).ends(0);
    let mut child = here
        .command(&["run", "-", "--json", "--progress", "off"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    let ran = here.run(&["run", "--preset", "nothing"]).ends(2);
    assert!(
        ran.err.contains("there is no preset \"nothing\"; see \"forebay list presets\""),
        "{}",
        ran.err
    );
}

#[test]
fn bands_decide_between_0_and_3() {
    let here = Scratch::new();
    let met = "[[expect]]\nmetric = \"flows.completed\"\nmin = 24\nmax = 24\n\
               [[expect]]\nmetric = \"flows.slowdown.p99\"\nwhere = \"size < 1MB\"\nmax = 1000\n";
    here.write("met.toml", &format!("{SMALL}{met}"));
    here.run(&["run", "met.toml"]).ends(0);
    let missed = "[[expect]]\nmetric = \"flows.slowdown.p50\"\nmax = 0.5\n\
                  [[expect]]\nmetric = \"flows.completed\"\nwhere = \"size > 1MB\"\nmin = 1\n\
                  [[expect]]\nmetric = \"drops\"\nmax = 1e9\n";
    here.write("missed.toml", &format!("{SMALL}{missed}"));
    let ran = here.run(&["run", "missed.toml", "--out", "m"]).ends(3);
    assert!(ran.err.contains("above the expected maximum of 0.5"), "{}", ran.err);
    assert!(ran.err.contains("flows.completed where size > 1MB is 0, below"), "{}", ran.err);
    assert!(ran.err.ends_with("error: 2 of 3 expected bands missed\n"), "{}", ran.err);
    assert!(here.has("m/report.html"), "the results are there to look at");
}

#[test]
fn a_sweep_in_the_file_is_mentioned() {
    let here = Scratch::new();
    here.write("s.toml", &format!("{SMALL}[sweep]\n\"transport.law\" = [\"dctcp\", \"reno\"]\n"));
    let ran = here.run(&["run", "s.toml"]).ends(0);
    assert!(ran.err.contains("forebay sweep") && ran.err.contains("2 points"), "{}", ran.err);
}

#[test]
fn a_run_that_stalls_fails_and_keeps_what_it_has() {
    let here = Scratch::new();
    let fabric = "version = 1\nname = \"cut\"\nseeds = [4]\nstop = { time = \"100s\", flows = \"all\" }\n[fabric]\nkind = \"star\"\nhosts = 2\n\
                  host_link = { rate = \"10Gbps\", delay = \"1us\" }\n";
    let cut = "[transport]\nkind = \"tcp\"\nlaw = \"dctcp\"\n[[traffic]]\nkind = \"list\"\nflows = [{ from = \"host[0]\", to = \"host[1]\", size = \"4MB\", at = \"0s\" }]\n\
               [[fault]]\nat = \"50us\"\nlink = \"host[1]-tor\"\nchange = \"down\"\n";
    here.write("cut.toml", &format!("{fabric}{cut}"));
    let ran = here.run(&["run", "cut.toml"]).ends(1);
    assert!(
        ran.err.contains("seed 4 stalled: no progress with 1 flow(s) unfinished"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.ends_with("error: 1 of 1 seed stalled (4); results in results/cut end there\n"),
        "{}",
        ran.err
    );
    assert!(here.has("results/cut/report.html") && ran.out.contains("report"), "{}", ran.out);
    assert!(ran.out.contains("STALLED") && !ran.out.contains("complete\n"), "{}", ran.out);
    let manifest = here.read("results/cut/manifest.json");
    assert!(manifest.contains("\"what\": \"host[1]-tor down\""), "{manifest}");
    for file in ["summary.json", "manifest.json"] {
        let text = here.read(&format!("results/cut/{file}"));
        assert!(text.contains("\"status\": \"stalled\""), "{file}");
    }
}

#[test]
fn more_threads_than_cores_are_capped_with_a_word() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let cores = std::thread::available_parallelism().unwrap().get();
    let args = ["run", "small.toml", "--threads", "1000", "--jobs", "1", "--progress", "off"];
    let ran = here.run(&args).ends(0);
    assert!(ran.err.contains("note: --threads 1000: this machine has "), "{}", ran.err);
    let volatile: Value = serde_json::from_str(&here.read("results/small/volatile.json")).unwrap();
    assert_eq!(volatile["threads"], cores);
}

/// The third forced run in Parquet used to fail after its simulation, and a run in CSV kept the Parquet files of the one before.
#[test]
fn a_forced_run_replaces_every_file_of_the_one_before_in_every_format() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let names = |dir: &str| {
        let files = crate::common::files(&here.path.join(dir));
        files.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let run = |out: &str, format: &str, more: &[&str]| {
        let format = match format {
            "csv" => vec![],
            other => vec!["--set".into(), format!("output.format=\"{other}\"")],
        };
        let mut args = vec!["run", "small.toml", "--seed", "1", "--out", out];
        args.extend(format.iter().map(String::as_str));
        args.extend(more);
        here.run(&args).ends(0);
    };
    for format in ["csv", "parquet", "arrow"] {
        run(format, format, &[]);
        for law in ["dctcp", "cubic", "reno"] {
            let law = format!("transport.law=\"{law}\"");
            run("out", format, &["--force", "--set", &law]);
            assert_eq!(names("out"), names(format), "{format}");
            assert!(!here.has("out.replaced") && !here.has("out.partial"));
        }
        for what in ["parquet", "arrow", "perfetto"] {
            here.run(&["export", what, "out"]).ends(0);
        }
        run("out", "csv", &["--force", "--capture", "host[0]", "--law-log", "0"]);
    }
    run("out", "csv", &["--force"]);
    same_files(&here.path.join("out"), &here.path.join("csv"));
}

/// As with few descriptors: a log that is not there is no warning beside a result that says "complete".
#[test]
fn a_law_log_that_cannot_be_written_fails_the_run() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let script = format!(
        "ulimit -f 64; exec {} run small.toml --seed 1 --law-log 0 --set traffic[0].size=20MB --set stop.time=20ms --set output.queues.every=1ms --out out",
        crate::common::FOREBAY
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here.path)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let ran = Ran::from(output).ends(1);
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("error")).collect();
    assert!(
        errors.len() == 1 && errors[0].contains("law-0-seed-1.log: File too large"),
        "{}",
        ran.err
    );
    assert!(!here.has("out") && !here.read("out.partial/manifest.json").contains("\"complete\""));
}
