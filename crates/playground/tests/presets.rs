//! Presets: every value that a control offers makes a scenario that runs, and a run that is watched has the digest of one that is not.

use forebay_playground::presets::{Control, PRESETS};
use forebay_playground::{Files, Play, check, edited};
use forebay_scenario::text;
use forebay_sim::{Options, Watch, simulate};

fn options(control: &Control) -> (&'static str, Vec<&'static str>) {
    match control {
        Control::Choice { key, options, .. } => (key, options.iter().map(|o| o.1).collect()),
        Control::Slider { key, values, .. } => (key, values.to_vec()),
    }
}

#[test]
fn every_value_of_every_control_makes_a_scenario() {
    for preset in PRESETS {
        for (key, values) in preset.controls.iter().map(options) {
            let written = check(preset.text, [key].into_iter(), &Files::default());
            let written = written["values"][key].as_str().unwrap_or_default();
            let known = values.contains(&written);
            assert!(known, "{}: {key}: the preset itself has {written:?}", preset.name);
            for value in values {
                let text = edited(preset.text, [(key, value)].into_iter()).expect(key);
                let said = check(&text, [key].into_iter(), &Files::default());
                assert!(said.get("problems").is_none(), "{}: {key} = {value}: {said}", preset.name);
                assert_eq!(said["too_much"].as_str(), None, "{}: {key} = {value}", preset.name);
                assert_eq!(said["values"][key].as_str().unwrap_or_default(), value);
                let back = edited(&text, [(key, written)].into_iter()).expect(key);
                let again = check(&back, [key].into_iter(), &Files::default());
                assert_eq!(again["values"][key].as_str().unwrap_or_default(), written);
            }
        }
    }
}

#[test]
fn watching_changes_no_digest_and_every_byte_is_in_some_frame() {
    for name in ["incast", "pfc-storm", "host-congestion", "ai-straggler"] {
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect(name);
        let short = edited(preset.text, [("stop.time", "\"3ms\"")].into_iter()).expect(name);
        let scenario = text("short.toml", &short).expect(name).scenario;
        let alone = simulate(&scenario, 1, Options::default(), &Watch::default()).expect(name);
        let mut play = Play::new(&scenario).expect(name);
        let mut gigabits = 0.0;
        let mut before = 0.0;
        for until in 1.. {
            let frame = play.advance(f64::from(until) * 17.3);
            gigabits += f64::from(frame[2]) * (f64::from(frame[0]) - before) * 1e-6;
            before = f64::from(frame[0]);
            if frame[1] > 0.0 {
                break;
            }
        }
        let end = play.finish();
        assert_eq!(end["digest"], format!("{:016x}", alone.record.digest), "{name}");
        let delivered = alone.record.totals.delivered_bytes as f64 * 8e-9;
        assert!((gigabits / delivered - 1.0).abs() < 1e-4, "{name}: {gigabits} of {delivered}");
    }
}

/// 2 (n - 1)/n S/B of 8 ranks, 32 MiB and 100 Gb/s is 4,697.6 us.
#[test]
fn a_slow_server_doubles_the_time_of_all_and_the_run_says_so() {
    let preset = PRESETS.iter().find(|preset| preset.name == "ai-straggler").expect("it is one");
    let took = |cores: &str| {
        let key = "host.override[0].memory.antagonist[0].cores";
        let changed = edited(preset.text, [(key, cores)].into_iter()).expect("a text");
        let scenario = text("playground.toml", &changed).expect("it is right").scenario;
        let mut play = Play::new(&scenario).expect("it runs");
        play.advance(1e9);
        let end = play.finish();
        let all = &end["collectives"];
        assert_eq!(all["last_rank"].as_array().map(Vec::len), Some(1), "{all}");
        let number = |key: &str| all[key][0].as_f64().expect(key);
        let us = number("done_us") - number("start_us");
        let busbw = 2.0 * 7.0 / 8.0 * f64::from(32 << 20) * 8e-3 / us;
        assert!((number("busbw_gbps") / busbw - 1.0).abs() < 1e-9, "{all}");
        us
    };
    let (quiet, busy) = (took("0"), took("3"));
    assert!((4_697.6..5_000.0).contains(&quiet), "{quiet}");
    assert!(busy > 2.0 * quiet, "{busy}");
}

#[test]
fn mistakes_have_a_line_and_a_column() {
    let text = PRESETS[0].text.replace("fan_in = 32", "fan_inn = 32");
    let said = check(&text, ["traffic[0].fan_in"].into_iter(), &Files::default());
    let line = text.lines().position(|line| line.starts_with("fan_inn")).expect("it is there") + 1;
    let problem = &said["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&line.into(), &1.into()), "{said}");
    assert!(problem["text"].as_str().is_some_and(|text| text.contains("fan_in")), "{said}");
    let file = edited(PRESETS[1].text, [("traffic[0].sizes", "\"mine.csv\"")].into_iter());
    let said = check(&file.expect("a text"), [].into_iter(), &Files::default());
    assert!(said["problems"][0]["text"].as_str().is_some_and(|t| t.contains("browser")), "{said}");
}

#[test]
fn an_object_that_the_page_was_given_is_a_law() {
    let preset = PRESETS.iter().find(|of| of.name == "incast").expect("there is one");
    let law = [("transport.law", "\"bpf:cc.bpf.o\"")];
    let text = edited(preset.text, law.into_iter()).expect("a text");
    let mut files = Files::default();
    let said = check(&text, [].into_iter(), &files);
    let problem = said["problems"][0]["text"].as_str().unwrap_or_default();
    assert!(problem.contains("cc.bpf.o cannot be read in a browser"), "{said}");
    files.give("cc.bpf.o", include_bytes!("../../bpf/obj/halve.bpf.o"));
    let said = check(&text, [].into_iter(), &files);
    assert_eq!(said.get("problems"), None, "{said}");
    files.give("cc.bpf.o", b"other");
    let said = check(&text, [].into_iter(), &files);
    assert!(
        said["problems"][0]["text"].as_str().is_some_and(|t| t.contains("no object")),
        "{said}"
    );
}
