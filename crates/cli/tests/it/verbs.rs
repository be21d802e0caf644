//! The verbs that only print: new, check, laws, list, explain, schema, report, help.

use crate::common::{FOREBAY, Ran, SMALL, Scratch, in_sample};
use serde_json::Value;

#[test]
fn the_help_is_what_was_reviewed() {
    let here = Scratch::new();
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/help.txt");
    let ran = here.run(&["--help"]).ends(0);
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(golden, &ran.out).unwrap();
    }
    assert_eq!(ran.out, std::fs::read_to_string(golden).unwrap(), "FOREBAY_BLESS=1 renews it");
    assert!(ran.out.lines().all(|line| line.chars().count() <= 100));
    for verb in
        ["new", "check", "run", "sweep", "report", "laws", "list", "explain", "bench", "schema"]
    {
        assert!(ran.out.contains(&format!("\n  {verb} ")), "{verb}");
        here.run(&[verb, "--help"]).ends(0);
    }
    assert!(here.run(&["--version"]).ends(0).out.starts_with("forebay "));
}

#[test]
fn every_preset_can_be_written_checked_and_named() {
    let here = Scratch::new();
    let listed = here.run(&["list", "presets"]).ends(0).out;
    assert!(listed.starts_with("First steps\n  websearch "), "{listed}");
    let (scenarios, samples) = listed.split_once("\n\nFiles for forebay import\n").unwrap();
    let (samples, own) = samples.split_once("\n\nA law of your own\n").unwrap();
    let names = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with("  "));
        rows.map(|line| line.split_whitespace().next().unwrap().to_string()).collect()
    };
    assert!(names(scenarios).len() >= 40 && names(samples).len() == 3, "{listed}");
    assert_eq!(names(own), ["bpf-law"], "{listed}");
    for name in ["pfc-storm", "rdma-websearch", "tcp-beside-rdma", "carc-slow-consumer", "homa-rpc"]
    {
        assert!(names(scenarios).iter().any(|known| known == name), "{name}: {listed}");
    }
    for (index, name) in names(scenarios).iter().enumerate() {
        let file = format!("{name}.toml");
        here.run(&["new", name, "--out", &file]).ends(0);
        assert_eq!(here.run(&["new", name]).ends(0).out, here.read(&file));
        // A check simulates for a moment. That no preset has a pitfall is a test of the scenarios.
        if !in_sample(index) {
            continue;
        }
        let check = here.run(&["check", &file]).ends(0);
        assert!(
            check.out.starts_with("scenario  ")
                && (check.out.contains("no problems") || check.out.contains("no errors")),
            "{}",
            check.out
        );
    }
    let again = here.run(&["new", "incast", "--out", "incast.toml"]).ends(2);
    assert!(again.err.contains("incast.toml exists"), "{}", again.err);
    here.run(&["new", "incast", "--out", "incast.toml", "--force"]).ends(0);
    for (name, said) in [
        (
            "web-serch",
            "there is no preset \"web-serch\"; did you mean \"websearch\"? (forebay list presets)",
        ),
        ("pfcstorm", "did you mean \"pfc-storm\"?"),
        ("TCP_beside_RDMA", "did you mean \"tcp-beside-rdma\"?"),
        ("zzzzzzzz", "there is no preset \"zzzzzzzz\"; see \"forebay list presets\""),
        ("import-hpcc", "import-hpcc is 3 files; write --out DIR"),
    ] {
        let ran = here.run(&["new", name]).ends(2);
        assert!(ran.err.contains(said), "{name}: {}", ran.err);
    }
    let run = here.run(&["run", "--preset", "import-cdf"]).ends(2);
    assert!(
        run.err.contains("write them with \"forebay new import-cdf --out DIR\""),
        "{}",
        run.err
    );
}

/// The samples are files of other simulators, and the command that comes with them imports them, in an empty folder.
#[test]
fn samples_of_other_simulators_are_imported_by_the_command_that_is_said() {
    for name in ["import-hpcc", "import-htsim", "import-cdf"] {
        let here = Scratch::new();
        let wrote = here.run(&["new", name, "--out", "files"]).ends(0);
        let next = wrote.err.trim().rsplit_once("next: forebay ").unwrap().1.to_string();
        here.run(&next.split(' ').collect::<Vec<_>>()).ends(0);
        assert!(here.has("mine/scenario.toml"), "{next}");
        let again = here.run(&["new", name, "--out", "files"]).ends(2);
        assert!(again.err.contains("exists; name another file"), "{}", again.err);
    }
}

/// A folder that clang compiles, and whose scenario runs.
#[test]
fn new_bpf_law_writes_a_folder_that_compiles_and_runs() {
    let here = Scratch::new();
    let wrote = here.run(&["new", "bpf-law", "mine"]).ends(0);
    assert!(wrote.err.contains("next: make -C mine && forebay run mine/try.toml"), "{}", wrote.err);
    for tool in ["clang", "make"] {
        if std::process::Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: {tool} is not installed");
            return;
        }
    }
    let mut make = std::process::Command::new("make");
    let made = make.args(["-C", "mine"]).current_dir(&here.path).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let page = here.run(&["laws", "bpf:mine/halve.bpf.o"]).ends(0);
    assert!(page.out.contains("forebay_halve") && page.out.contains("keep"), "{}", page.out);
    here.run(&["run", "mine/try.toml", "--out", "r", "--quiet"]).ends(0);
    assert!(here.read("r/manifest.json").contains("object of bpf:halve.bpf.o"));
}

#[test]
fn check_forecasts_what_the_run_then_does() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    let check = here.run(&["check", "small.toml", "--json"]).ends(0);
    let forecast: Value = serde_json::from_str(&check.out).unwrap();
    let run = here.run(&["run", "small.toml", "--json"]).ends(0);
    let summary: Value = serde_json::from_str(&run.out).unwrap();
    let did = summary["runs"][0]["packet_hops"].as_f64().unwrap();
    let expected = forecast["packet_hops"].as_f64().unwrap();
    assert!((expected / did - 1.0).abs() < 0.05, "{expected} forecast, {did} done");
    assert_eq!(forecast["flows"], 8.0);
    assert!(forecast["memory_bytes"].as_f64().unwrap() > 0.0);
    let full = here.run(&["check", "small.toml", "--resolved"]).ends(0);
    assert_eq!(full.out, here.read("results/small/resolved.toml"));
}

#[test]
fn each_law_has_a_page_with_defaults_ranges_and_sources() {
    let here = Scratch::new();
    let listed = here.run(&["laws"]).ends(0).out;
    assert_eq!(listed, here.run(&["list", "laws"]).ends(0).out);
    for line in listed.lines() {
        let name = line.split_whitespace().next().unwrap();
        let page = here.run(&["laws", name]).ends(0).out;
        assert!(page.starts_with(&format!("{name}\n")), "{page}");
        let law: Value =
            serde_json::from_str(&here.run(&["laws", name, "--json"]).ends(0).out).unwrap();
        for param in law["params"].as_array().unwrap() {
            for key in ["name", "default", "takes", "source"] {
                let text = param[key].as_str().unwrap();
                assert!(!text.is_empty() && page.contains(text), "{name}: {key} {text}");
            }
        }
    }
    for (name, role, table) in [
        ("dctcp", "flow", "transport.params"),
        ("hostcc", "host", "host.memory.control.params"),
        ("hiercc", "group", "fabric.switch.hierarchical.params"),
        ("carc", "pool", "Parameters, as keys of [traffic.pool.params]:"),
    ] {
        let line = listed.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(role));
        assert!(here.run(&["laws", name]).ends(0).out.contains(table));
        assert!(here.run(&["explain", name]).ends(0).out.contains(role));
    }
    let ran = here.run(&["laws", "cubci"]).ends(2);
    assert!(
        ran.err.contains("there is no law \"cubci\"; did you mean \"cubic\"? use one of"),
        "{}",
        ran.err
    );
}

/// The list said the contrary of each.
#[test]
fn a_workload_is_listed_as_it_is_drawn() {
    let here = Scratch::new();
    let listed = here.run(&["list", "workloads"]).ends(0).out;
    let line =
        |name: &str| listed.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    assert!(line("websearch").ends_with("straight lines between points"), "{listed}");
    assert!(line("fb_webserver_intracluster").ends_with("steps"), "{listed}");
}

#[test]
fn lists_are_not_empty_and_names_are_explained() {
    let here = Scratch::new();
    let kinds = here.run(&["list"]).ends(0).out;
    for kind in kinds.lines().map(|line| line.split_whitespace().next().unwrap()) {
        assert!(here.run(&["list", kind]).ends(0).out.lines().count() >= 2, "{kind}");
    }
    for name in ["slowdown", "ideal_fct_ps", "overall.slowdown.p99", "flows.slowdown.p99", "drops"]
    {
        let ran = here.run(&["explain", name]).ends(0);
        assert!(ran.out.len() > name.len() + 5, "{name}: {}", ran.out);
    }
    here.run(&["explain", "no_such_column"]).ends(2);
    let key = here.run(&["explain", "transport.base_rtt"]).ends(0).out;
    assert!(
        key.starts_with("transport.base_rtt (kind = \"rdma\"): \"longest\", \"path\" or"),
        "{key}"
    );
    let long = here.run(&["explain", "fabric.switch.ecn"]).ends(0).out;
    assert!(long.lines().all(|line| line.chars().count() <= 100), "{long}");
    let words = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("or a list of marks by the queues of classes."), "{long}");
    let close = here.run(&["explain", "transport.base_rrt"]).ends(2);
    assert!(close.err.contains("did you mean \"transport.base_rtt\"?"), "{}", close.err);
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml"]).ends(0);
    for file in ["flows", "ports", "runs", "series", "hosts"] {
        let text = here.read(&format!("results/small/{file}.csv"));
        for column in text.lines().next().unwrap().split(',') {
            here.run(&["explain", column]).ends(0);
        }
    }
}

#[test]
fn the_schema_is_one_and_reports_can_be_drawn_anew() {
    let here = Scratch::new();
    let schema: Value = serde_json::from_str(&here.run(&["schema"]).ends(0).out).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml"]).ends(0);
    let report = here.read("results/small/report.html");
    std::fs::remove_file(here.path.join("results/small/report.html")).unwrap();
    let ran = here.run(&["report", "results/small"]).ends(0);
    assert_eq!(ran.out, "results/small/report.html\n");
    assert_eq!(here.read("results/small/report.html"), report);
    here.run(&["report", "results/small", "--out", "other.html"]).ends(0);
    assert_eq!(here.read("other.html"), report);
    let ran = here.run(&["report", "results"]).ends(2);
    assert!(ran.err.contains("is not a results directory"), "{}", ran.err);
}

#[test]
fn a_bench_prints_one_flat_object_with_its_stable_keys() {
    let here = Scratch::new();
    for (name, mtu, law) in [
        ("dctcp-perm-16", 4096, "tcp/dctcp"),
        ("dctcp-websearch-16", 4096, "tcp/dctcp"),
        ("spray-perm-16", 4064, "tcp/dctcp"),
    ] {
        let ran = here.run(&["bench", name, "--json", "--time", "500us"]).ends(0);
        let bench: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(
            (&bench["name"], &bench["hosts"], &bench["mtu"]),
            (&name.into(), &16.into(), &mtu.into())
        );
        assert_eq!((&bench["transport"], &bench["statistics"]), (&law.into(), &true.into()));
        assert_eq!(bench["threads"], 1);
        assert_eq!(bench["digest"].as_str().unwrap().len(), 16);
        for key in ["packet_hops", "ns_per_packet_hop", "peak_rss_bytes", "bytes_per_host"] {
            assert!(bench[key].as_f64().unwrap() > 0.0, "{key}: {}", ran.out);
        }
        assert!(bench.as_object().unwrap().values().all(|v| !v.is_object() && !v.is_array()));
        let two = here.run(&["bench", name, "--json", "--time", "500us", "--threads", "2"]).ends(0);
        let two: Value = serde_json::from_str(&two.out).unwrap();
        assert_eq!(two["digest"], bench["digest"], "threads change nothing");
    }
    let ran = here.run(&["bench", "dctcp-perm-100"]).ends(2);
    assert!(ran.err.contains("use one of 16, 54, 128, 250"), "{}", ran.err);
    let table = here.run(&["bench", "dctcp-perm-16", "spray-perm-16", "--time", "500us"]).ends(0);
    assert_eq!(table.out.lines().count(), 3, "{}", table.out);
    let scenario = here.run(&["bench", "dctcp-perm-128", "--scenario"]).ends(0);
    here.write("bench.toml", &scenario.out);
    here.run(&["check", "bench.toml"]).ends(0);
}

#[test]
fn a_law_log_is_written_and_replayed() {
    let here = Scratch::new();
    let incast = "kind = \"incast\"\nfan_in = 7";
    here.write("small.toml", &SMALL.replace("kind = \"permutation\"", incast));
    here.run(&["run", "small.toml", "--out", "out", "--law-log", "0", "--progress", "off"]).ends(0);
    let name = "out/law-0-seed-1.log";
    let log = std::fs::read(here.path.join(name)).unwrap();
    let ran = here.run(&["laws", "replay", name]).ends(0);
    assert!(
        ran.out.contains("repeats the logged actions of its start and all ")
            && ran.out.starts_with(name),
        "{}",
        ran.out
    );
    // Another parameter at the start: the law's name is followed by its parameters as texts.
    let at = log.windows(4).position(|of| of == b"1/16").expect("dctcp's g");
    let mut other = log.clone();
    other[at..at + 4].copy_from_slice(b"1/32");
    std::fs::write(here.path.join("other.log"), &other).unwrap();
    let ran = here.run(&["laws", "replay", "other.log"]).ends(3);
    assert!(
        ran.err.contains("dctcp answers event ") && ran.err.contains("the log has "),
        "{}",
        ran.err
    );
    for (args, says) in [
        (&["laws", "replay"][..], "name the log: forebay laws replay LOG"),
        (&["laws", "dctcp", "x.log"], "write \"forebay laws replay x.log\""),
        (&["laws", "replay", "small.toml"], "small.toml: this is not a law log"),
        (&["laws", "replay", "none.log"], "none.log: "),
    ] {
        let ran = here.run(args).ends(2);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

/// The agent beside the program gets every argument, and its exit code is that of the command; without one, how to build it.
#[cfg(target_os = "linux")]
#[test]
fn the_agent_is_a_program_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    let scratch = Scratch::new();
    let forebay = scratch.path.join("forebay");
    std::fs::hard_link(FOREBAY, &forebay)
        .or_else(|_| std::fs::copy(FOREBAY, &forebay).map(|_| ()))
        .unwrap();
    let run = || {
        Command::new(&forebay).args(["agent", "probe", "--json", "--help"]).env("PATH", "").output()
    };
    let out = run().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("cargo build --release -p forebay-agent"), "{said}");
    let agent = scratch.write("forebay-agent", "#!/bin/sh\necho \"$@\"\nexit 7\n");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let out = run().unwrap();
    assert_eq!(out.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "probe --json --help\n");
}

/// A folder with a page in it is served file by file, to readers only; without one, how to build it.
#[test]
fn the_playground_is_served_or_how_to_build_it_is_said() {
    use std::io::{BufRead, BufReader, Read, Write};
    let here = Scratch::new();
    let ran = here.run(&["play", "--no-open", "--folder", "."]).ends(2);
    assert!(ran.err.contains("has no playground ("), "{}", ran.err);
    here.write("index.html", "<p>page");
    here.write("playground.wasm", "code");
    here.write("secret.txt", "no");
    let mut served = here.start(&["play", "--no-open", "--folder", ".", "--port", "0"]);
    let mut address = String::new();
    BufReader::new(served.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let own = address.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_string();
    let port = own.strip_prefix("127.0.0.1:").expect("loopback alone").to_string();
    let ask = |request: &str| {
        let mut stream = std::net::TcpStream::connect(&own).unwrap();
        write!(stream, "{request}\r\nHost: {own}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("GET / HTTP/1.1");
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.ends_with("<p>page"), "{page}");
    assert!(ask("GET /playground.wasm HTTP/1.1").contains("Content-Type: application/wasm"));
    assert!(ask("HEAD / HTTP/1.1").ends_with("\r\n\r\n"));
    for (request, status) in [
        ("GET /secret.txt HTTP/1.1", "404"),
        ("GET /../index.html HTTP/1.1", "404"),
        ("GET /other.js HTTP/1.1", "404"),
        ("POST / HTTP/1.1", "405"),
    ] {
        assert!(ask(request).starts_with(&format!("HTTP/1.1 {status}")), "{request}");
    }
    let taken = here.run(&["play", "--no-open", "--folder", ".", "--port", &port]).ends(2);
    assert!(taken.err.contains("is taken"), "{}", taken.err);
    served.kill().unwrap();
    served.wait().unwrap();
}

#[test]
fn the_doctor_says_what_is_missing_and_how_to_get_it() {
    let here = Scratch::new();
    let found: Value = serde_json::from_str(&here.run(&["doctor", "--json"]).ends(0).out).unwrap();
    let found = found.as_array().unwrap();
    for what in ["cores", "memory", "disk", "large pages", "agent", "Chromium"] {
        assert!(found.iter().any(|finding| finding["what"] == what), "{what}");
    }
    for finding in found {
        assert_eq!(finding["ok"] == false, finding["remedy"].is_string(), "{finding}");
    }
    let bare = here.command(&["doctor"]).env("PATH", "").output().unwrap();
    let bare = String::from_utf8(bare.stdout).unwrap();
    assert!(bare.contains("no   Wireshark") && bare.contains("apt-get install tshark"), "{bare}");
}

#[test]
fn shells_and_man_know_every_verb() {
    let here = Scratch::new();
    let help = here.run(&["--help"]).ends(0).out;
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(verbs.len() > 12, "{verbs:?}");
    here.run(&["man", "--out", "man"]).ends(0);
    for shell in ["bash", "zsh", "fish"] {
        let script = here.run(&["completions", shell]).ends(0).out;
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
    }
    for verb in verbs {
        assert!(here.read(&format!("man/forebay-{verb}.1")).contains(".SH"), "{verb}");
    }
    here.write("taken", "a file");
    let taken = here.run(&["man", "--out", "taken"]).ends(1);
    assert!(taken.err.contains("write pages to taken"), "{}", taken.err);
}

#[test]
fn results_become_files_with_typed_columns() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml", "--out", "small"]).ends(0);
    for (what, magic) in [("parquet", &b"PAR1"[..]), ("arrow", b"ARROW1")] {
        let said = here.run(&["export", what, "small"]).ends(0);
        assert!(said.err.contains(&format!("small/flows.{what}")), "{}", said.err);
        let flows = std::fs::read(here.path.join(format!("small/flows.{what}"))).unwrap();
        assert!(flows.starts_with(magic) && flows.ends_with(magic), "{what}");
        here.run(&["export", what, "small", "--seed", "1", "--out", "others"]).ends(0);
        assert!(here.path.join(format!("others/links.{what}")).exists());
        assert!(!here.path.join(format!("others/rpcs.{what}")).exists(), "a table without rows");
    }
    here.run(&["report", "small"]).ends(0);
    let both = ["run", "small.toml", "--set", "output.format=\"parquet\"", "--out", "both"];
    here.run(&both).ends(0);
    let file = |name: &str| std::fs::read(here.path.join(name)).unwrap();
    assert_eq!(file("both/flows.parquet"), file("small/flows.parquet"));
    assert_eq!(file("both/flows.csv"), file("small/flows.csv"));
    let none = here.run(&["export", "parquet", "small.toml"]).ends(2);
    assert!(
        none.err.contains("is not a results directory; run the scenario first"),
        "{}",
        none.err
    );
}

#[test]
fn results_become_a_perfetto_trace() {
    let here = Scratch::new();
    here.write("small.toml", SMALL);
    here.run(&["run", "small.toml", "--out", "small"]).ends(0);
    let said = here.run(&["export", "perfetto", "small"]).ends(0);
    assert!(said.err.contains("ui.perfetto.dev") && said.out.is_empty(), "{}", said.err);
    let trace = std::fs::read(here.path.join("small/trace.pftrace")).unwrap();
    let names = String::from_utf8_lossy(&trace);
    assert!(names.contains("small, seed 1") && names.contains("flow 0 to "));
    here.run(&["export", "perfetto", "small", "--out", "again"]).ends(0);
    assert_eq!(std::fs::read(here.path.join("again")).unwrap(), trace);
    here.run(&["report", "small"]).ends(0);
    let none = here.run(&["export", "perfetto", "small.toml"]).ends(2);
    assert!(
        none.err.contains("is not a results directory; run the scenario first"),
        "{}",
        none.err
    );
    let seed = here.run(&["export", "perfetto", "small", "--seed", "77"]).ends(2);
    assert!(seed.err.contains("no results of that seed"), "{}", seed.err);
}

/// Queue pairs whose timer is shorter than their path, by default.
const FAR: &str = r#"
version = 1
stop = { time = "40ms" }
[fabric]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "2ms" }
[transport]
kind = "rdma"
law = "dcqcn"
[[traffic]]
kind = "list"
flows = [{ from = "host[0]", to = "host[1]", size = "10KB" }]
"#;

#[test]
fn settings_that_cannot_work_are_said_by_check_and_at_the_start_of_a_run_and_once() {
    let here = Scratch::new();
    here.write("far.toml", FAR);
    let text = "transport.timeout = \"4ms\" (the default) is shorter than the round trip";
    let check = here.run(&["check", "far.toml"]).ends(0);
    assert_eq!(check.err.matches(text).count(), 1, "{}", check.err);
    assert!(check.out.contains("no errors, 1 warning"), "{}", check.out);
    let run = here.run(&["run", "far.toml"]).ends(0);
    assert_eq!(run.err.matches(text).count(), 1, "{}", run.err);
    let [warning, begins] = [text, "into results"].map(|what| run.err.find(what).unwrap());
    assert!(warning < begins, "{}", run.err);
    let longer = here.run(&["check", "far.toml", "--set", "transport.timeout=\"20ms\""]).ends(0);
    assert!(longer.err.is_empty() && longer.out.contains("no problems"), "{}", longer.err);
    // A point of a sweep is one of its runs.
    here.write(
        "sweep.toml",
        &format!("{FAR}[sweep]\n\"transport.timeout\" = [\"20ms\", \"1ms\"]\n"),
    );
    let sweep = here.run(&["check", "sweep.toml"]).ends(0);
    assert!(sweep.err.contains("(with transport.timeout = \"1ms\")"), "{}", sweep.err);
}

/// A flow of 1 KB over 50 ms, sampled each microsecond until it is acknowledged: over a million rows.
#[test]
fn a_forecast_knows_delays_and_how_many_rows_there_can_be() {
    let here = Scratch::new();
    let text = FAR
        .replace("40ms", "1s")
        .replace("100Gbps\", delay = \"2ms", "400Gbps\", delay = \"25ms")
        .replace("kind = \"rdma\"\nlaw = \"dcqcn\"", "kind = \"tcp\"\nlaw = \"reno\"")
        + "[output]\nflows = { every = \"1us\" }\n";
    here.write("slow.toml", &text);
    let check = here.run(&["check", "slow.toml", "--json"]).ends(0);
    let forecast: Value = serde_json::from_str(&check.out).unwrap();
    here.run(&["run", "slow.toml", "--quiet", "--out", "o"]).ends(0);
    let tables = std::fs::read_dir(here.path.join("o")).unwrap().map(|entry| entry.unwrap().path());
    let tables = tables.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    let rows_of =
        |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap().lines().count() - 1;
    let rows = tables.map(rows_of).sum::<usize>() as f64;
    let (said, most) =
        (forecast["rows"].as_f64().unwrap(), forecast["rows_at_most"].as_f64().unwrap());
    // A pilot of a million events reaches the end, so each row is known.
    assert!(rows > 1e5 && rows == said, "{said} said, {rows} written");
    assert!(rows <= most, "{most} at most, {rows} written");
}

/// The address space of a process is a budget of memory like any other.
#[cfg(target_os = "linux")]
#[test]
fn a_run_above_the_budget_starts_only_if_told_so() {
    let here = Scratch::new();
    here.write("far.toml", FAR);
    let under = |more: &str| {
        let line = format!("ulimit -v 90000 && exec {FOREBAY} run far.toml --quiet {more}");
        let mut command = std::process::Command::new("sh");
        Ran::from(command.args(["-c", &line]).current_dir(&here.path).output().unwrap())
    };
    let refused = under("").ends(2);
    assert!(refused.err.contains("the limit of its address space leaves"), "{}", refused.err);
    assert!(refused.err.contains("--over-budget starts it all the same"), "{}", refused.err);
    assert!(!here.has("results"), "nothing has begun");
    let started = under("--over-budget");
    assert!(started.err.contains("warning: this will need about"), "{}", started.err);
}

/// A sweep has the same gate, and leaves nothing behind that was not begun.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_above_the_budget_starts_only_if_told_so() {
    let here = Scratch::new();
    here.write(
        "far.toml",
        &format!("{FAR}[sweep]\n\"transport.timeout\" = [\"20ms\", \"30ms\"]\n"),
    );
    let under = |more: &str| {
        let line = format!("ulimit -v 90000 && exec {FOREBAY} sweep far.toml --quiet {more}");
        let mut command = std::process::Command::new("sh");
        Ran::from(command.args(["-c", &line]).current_dir(&here.path).output().unwrap())
    };
    let refused = under("").ends(2);
    assert!(refused.err.contains("the limit of its address space leaves"), "{}", refused.err);
    assert!(refused.err.contains("--over-budget starts it all the same"), "{}", refused.err);
    assert!(!here.has("results"), "nothing has begun");
    let started = under("--over-budget");
    assert!(started.err.contains("warning: this will need about"), "{}", started.err);
    assert!(here.has("results/far-sweep"), "it has begun");
}
