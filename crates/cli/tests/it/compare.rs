//! `forebay compare`: what is defined alike is compared, seed by seed; what is not is refused in a sentence.

use crate::common::{Ran, SMALL, Scratch};
use serde_json::Value;

/// The small scenario with flows that meet, so that laws and seeds matter.
fn scenario() -> String {
    let traffic = "kind = \"poisson\"\nsizes = \"200KB\"\nload = 0.7\nuntil = \"4ms\"";
    let meets = SMALL.replace("kind = \"permutation\"\nsize = \"200KB\"", traffic);
    meets.replace("\"2ms\", flows", "\"200ms\", flows")
}

/// Runs it with settings into a folder.
fn run(here: &Scratch, out: &str, settings: &[&str]) {
    here.write("s.toml", &scenario());
    let sets: Vec<&str> = settings.iter().flat_map(|set| ["--set", set]).collect();
    here.run(
        &[&["run", "s.toml", "--out", out, "--quiet", "--progress", "off"], &sets[..]].concat(),
    )
    .ends(0);
}

fn compare(here: &Scratch, args: &[&str]) -> Ran {
    here.run(&[&["compare"], args].concat())
}

#[test]
fn two_laws_are_compared_on_a_page_in_a_table_and_as_json() {
    let here = Scratch::new();
    run(&here, "a", &[]);
    run(&here, "b", &["transport.law=\"reno\""]);
    let table = compare(&here, &["a", "b"]).ends(0).out;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["dctcp", "reno"]);
    assert!(lines[1].starts_with("p99 slowdown "), "{table}");
    assert!(table.ends_with("page      compare.html\n"), "{table}");

    let page = here.read("compare.html");
    for part in [
        "<section id=\"metrics\">",
        "<section id=\"slowdown-cdf\">",
        "<section id=\"runs\">",
        "defined alike",
        "<tr><th>transport.law<td>dctcp<td>reno",
        "forebay compare a b",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("id=\"runs\"><h2>Runs</h2>"));

    let json = compare(&here, &["a", "b", "--json", "--out", "again.html"]).ends(0).out;
    let all: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&all["format"], &all["first"]), (&1.into(), &"dctcp".into()));
    assert_eq!(all["runs"][1]["laws"], serde_json::json!(["reno"]));
    assert_eq!(all["differences"][0]["key"], "transport.law");
    let p99 = &all["metrics"][0];
    assert_eq!((&p99["name"], &p99["better"]), (&"flows.slowdown.p99".into(), &"lower".into()));
    assert!(p99["values"][0]["against_first"].is_null());
    let against = &p99["values"][1]["against_first"];
    assert_eq!(against["pairs"], 3);
    // The numbers are those of the runs.
    let of = |dir: &str| -> Value {
        serde_json::from_str(&here.read(&format!("{dir}/summary.json"))).unwrap()
    };
    let (a, b) = (of("a"), of("b"));
    let mean = |of: &Value| of["overall"]["slowdown"]["p99"]["mean"].as_f64().unwrap();
    assert_eq!(p99["values"][1]["mean"].as_f64(), Some(mean(&b)));
    assert!((against["difference"].as_f64().unwrap() - (mean(&b) - mean(&a))).abs() < 1e-9);

    // The same runs, the same bytes, but for the command that the page names.
    let again = here.read("again.html").replace(" --json --out again.html", "");
    assert!(page == again);
    assert_eq!(compare(&here, &["a", "b"]).ends(0).out, table);
}

#[test]
fn one_seed_has_no_interval_and_a_run_beside_itself_no_difference() {
    let here = Scratch::new();
    run(&here, "a", &["seeds=[7]"]);
    run(&here, "b", &["seeds=[7]", "transport.law=\"reno\""]);
    let ran = compare(&here, &["a", "b"]).ends(0);
    assert!(ran.out.contains("One seed: no interval."), "{}", ran.out);
    assert!(!ran.out.contains("better") && !ran.out.contains("worse"), "{}", ran.out);
    assert!(here.read("compare.html").contains("one seed: no interval"));
    let same = compare(&here, &["a", "a", "--json"]).ends(0).out;
    let all: Value = serde_json::from_str(&same).unwrap();
    for metric in all["metrics"].as_array().unwrap() {
        assert_eq!(metric["values"][1]["against_first"]["word"], "same", "{metric}");
    }
}

#[test]
fn runs_that_are_not_defined_alike_are_refused_unless_forced() {
    let here = Scratch::new();
    run(&here, "a", &[]);
    for (name, settings, why) in [
        ("headers", &["transport.header=\"80B\""][..], "headers (transport.header is 80B, not "),
        ("topology", &["fabric.hosts=9"], "topology (fabric.hosts is 9, not 8)"),
        (
            "window",
            &["output.warmup=\"100us\""],
            "measured window (output.warmup is 100us, not 0s)",
        ),
        ("traffic", &["traffic[0].load=0.6"], "traffic (traffic[0].load is 0.6, not 0.7)"),
        (
            "clock",
            &["fabric.clock=\"truncate-ns\""],
            "clock (fabric.clock is truncate-ns, not exact)",
        ),
        ("seeds", &["seeds=[8, 9]"], "a and seeds have no seed in common (1, 2, 3; 8, 9)"),
    ] {
        run(&here, name, settings);
        let ran = compare(&here, &["a", name]).ends(2);
        assert!(ran.err.contains(why), "{}", ran.err);
        assert!(ran.err.trim_end().ends_with("; --force compares them and says so on the page"));
        assert_eq!(ran.err.lines().count(), 1);
        assert!(!here.has("compare.html"));
    }
    let ran = compare(&here, &["a", "headers", "--force"]).ends(0);
    assert!(ran.out.contains("Compared by force"), "{}", ran.out);
    let page = here.read("compare.html");
    assert!(page.contains("definitions differ") && page.contains("transport.header (headers)"));
    // Settings are what runs are compared by.
    run(&here, "settings", &["fabric.switch.ecn={ k = \"90KB\" }", "fabric.routing=\"spray\""]);
    compare(&here, &["a", "settings"]).ends(0);
}

#[test]
fn what_is_not_a_run_is_said_in_a_sentence() {
    let here = Scratch::new();
    run(&here, "a", &["seeds=[7]"]);
    for (args, why) in [
        (&["a"][..], "there is nothing to compare it with"),
        (&["a", "a", "--seeds", "1,2"], "--set, --seed and --seeds need a scenario file"),
        (
            &["a", "nowhere"],
            "nowhere is not there; name the results directory of a run, the directory of a sweep, or a scenario file",
        ),
    ] {
        let ran = compare(&here, args).ends(2);
        assert!(ran.err.contains(why) && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

#[test]
fn a_scenario_with_a_sweep_is_simulated_and_compared_along_its_numbers() {
    let here = Scratch::new();
    let sweep =
        "[sweep]\n\"transport.law\" = [\"dctcp\", \"reno\"]\n\"traffic[0].load\" = [0.7, 0.4]\n";
    here.write("s.toml", &format!("{}{sweep}", scenario()));
    let ran = compare(&here, &["s.toml", "--progress", "off"]).ends(0);
    let rows: Vec<&str> = ran.out.lines().take(3).map(|l| l.split("  ").next().unwrap()).collect();
    assert_eq!(rows, ["p99 slowdown, load", "0.4", "0.7"], "{}", ran.out);
    let page = here.read("compare.html");
    assert!(page.contains("<h2>Along traffic[0].load</h2>") && !page.contains("NaN"));
    // Nothing on the page has the name of something else.
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);

    // What is there is not simulated again, and the directory of the sweep is the same thing.
    let again = compare(&here, &["results/small-sweep", "--json"]).ends(0);
    let all: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(all["along"], "traffic[0].load");
    let places = all["places"].as_array().unwrap();
    assert_eq!(places.iter().map(|p| &p["value"]).collect::<Vec<_>>(), ["0.4", "0.7"]);
    let of = &places[1]["comparison"];
    assert_eq!((&of["first"], &of["runs"][1]["name"]), (&"dctcp".into(), &"reno".into()));
    assert_eq!(of["metrics"][0]["values"][1]["against_first"]["pairs"], 3);
    // A point is what a run of the same settings is.
    run(&here, "a", &[]);
    run(&here, "b", &["transport.law=\"reno\""]);
    let runs = compare(&here, &["a", "b", "--json"]).ends(0).out;
    let runs: Value = serde_json::from_str(&runs).unwrap();
    assert_eq!(runs["metrics"], of["metrics"]);
}

#[test]
fn runs_of_a_sweep_that_change_nothing_are_said_to_be_the_same() {
    let here = Scratch::new();
    let keys = "\"transport.rto_min\" = [\"150ms\", \"160ms\"]\n\"traffic[0].load\" = [0.4, 0.7]\n";
    let sweep = format!("[sweep]\n{keys}");
    here.write("s.toml", &format!("{}{sweep}", scenario()));
    compare(&here, &["s.toml", "--progress", "off", "--quiet"]).ends(0);
    let page = here.read("compare.html");
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains("gave the same numbers at every load</h1>"), "{head}");
    assert!(!head.contains("oo few seeds to tell"), "{head}");
}

#[test]
fn more_runs_than_colours_are_in_the_table_and_the_page_says_so() {
    let here = Scratch::new();
    run(&here, "a", &["seeds=[7]"]);
    let ran = compare(&here, &["a"; 10]).ends(0);
    assert!(
        ran.out.contains("Pictures have the first 8 of 10 runs; tables have all."),
        "{}",
        ran.out
    );
    let page = here.read("compare.html");
    assert_eq!(page.matches("<small>(first)</small>").count(), 1);
    let row = page.split("<tr><th>p99 slowdown").nth(1).and_then(|rest| rest.split("</tr>").next());
    assert_eq!(row.unwrap_or_default().matches("<td").count(), 10);
}

#[test]
fn scenario_files_without_a_sweep_are_runs() {
    let here = Scratch::new();
    here.write("a.toml", &scenario());
    here.write("b.toml", &scenario().replace("\"dctcp\"", "\"reno\""));
    let ran =
        compare(&here, &["a.toml", "b.toml", "--seeds", "1,2,3", "--progress", "off"]).ends(0);
    let first: Vec<&str> = ran.out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first, ["dctcp", "reno"], "{}", ran.out);
    assert!(!ran.err.contains("has no [sweep]"), "{}", ran.err);
}
