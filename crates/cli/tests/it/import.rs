//! The verbs import and export, from files of other simulators to completion times in their form.

use crate::common::Scratch;
use serde_json::Value;

/// A folder with the example files, and the import of the public HPCC simulator's in `made`.
fn imported(config: impl Fn(&str) -> String) -> Scratch {
    let here = Scratch::new();
    for (name, text) in [
        ("hpcc-topology.txt", include_str!("../../../scenario/tests/data/hpcc-topology.txt")),
        ("hpcc-flows.txt", include_str!("../../../scenario/tests/data/hpcc-flows.txt")),
        ("htsim.cm", include_str!("../../../scenario/tests/data/htsim.cm")),
        ("htsim.topo", include_str!("../../../scenario/tests/data/htsim.topo")),
        ("sizes.txt", include_str!("../../../scenario/tests/data/percent-first.txt")),
    ] {
        here.write(name, text);
    }
    here.write("config.txt", &config(include_str!("../../../scenario/tests/data/hpcc-config.txt")));
    here.run(&["import", "ns3-hpcc", "--config", "config.txt", "--out", "made"]).ends(0);
    here
}

fn digest(here: &Scratch, run: &str) -> String {
    let manifest: Value =
        serde_json::from_str(&here.read(&format!("{run}/manifest.json"))).unwrap();
    manifest["digest"].as_str().unwrap().into()
}

#[test]
fn an_import_is_explained_and_runs_at_once() {
    let here = imported(str::to_string);
    let explained = here.read("made/import.txt");
    assert!(explained.contains("left out config.txt:19: \"MY_OWN_KEY 7 8\""), "{explained}");
    let again =
        here.run(&["import", "ns3-hpcc", "--config", "config.txt", "--out", "made"]).ends(2);
    assert!(again.err.contains("made holds a scenario.toml already"), "{}", again.err);
    let brief = here
        .run(&[
            "import",
            "ns3-hpcc",
            "--config",
            "config.txt",
            "--out",
            "made",
            "--force",
            "--brief",
        ])
        .ends(0);
    assert!(
        !brief.out.contains("carried ") && explained.contains(&brief.out[..60]),
        "{}",
        brief.out
    );
    here.run(&["run", "made/scenario.toml", "--out", "run"]).ends(0);
    let fct = here.run(&["export", "fct", "run"]).ends(0).out;
    let rows: Vec<Vec<&str>> = fct.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(rows.len(), 6);
    assert!(rows.iter().all(|row| row.len() == 8), "{fct}");
    let small = rows.iter().find(|row| row[4] == "1").unwrap();
    assert_eq!(small[..6], ["0b000301", "0b000501", "10000", "7000", "1", "2000010500"]);
    assert_eq!(small[7], "12815", "the ideal time as the source counts it");
    let delivered =
        here.run(&["export", "fct", "run", "--fct", "delivered", "--ideal", "forebay"]).ends(0).out;
    let early = delivered.lines().find(|line| line.contains(" 7000 1 ")).unwrap();
    let number = |line: &str, at: usize| line.split(' ').nth(at).unwrap().parse::<u64>().unwrap();
    assert!(number(early, 6) < number(&small.join(" "), 6), "{early}");
    let manifest: Value = serde_json::from_str(&here.read("run/manifest.json")).unwrap();
    let rows = manifest["definitions"]["comparison"].as_array().unwrap();
    let says =
        |key: &str| rows.iter().find(|row| row["key"] == key).unwrap()["value"].as_str().unwrap();
    assert_eq!(says("header of a data packet"), "48B");
    assert!(says("clock").starts_with("each transmission takes whole nanoseconds"));
}

/// The hash alone and the paths that it gives, written down and read back with another hash, are one and the same run.
#[test]
fn exported_paths_take_the_very_same_routes() {
    let here = imported(str::to_string);
    // One way is longer than the other, so that a digest tells them apart.
    let longer =
        here.read("hpcc-topology.txt").replace("8 11 100Gbps 0.002ms", "8 11 100Gbps 0.003ms");
    here.write("hpcc-topology.txt", &longer);
    here.run(&["import", "ns3-hpcc", "--config", "config.txt", "--out", "made", "--force"]).ends(0);
    here.run(&["run", "made/scenario.toml", "--out", "hashed"]).ends(0);
    for what in ["topology", "flows", "paths"] {
        let file = format!("{what}.out");
        here.run(&["export", what, "hashed", "--numbers", "--out", &file]).ends(0);
    }
    let files = ["--config", "config.txt", "--topology", "topology.out", "--flows", "flows.out"];
    let args =
        [&["import", "ns3-hpcc"], &files[..], &["--paths", "paths.out", "--out", "again"]].concat();
    here.run(&args).ends(0);
    let other = ["run", "again/scenario.toml", "--set", "fabric.routing=ecmp", "--out"];
    here.run(&[&other[..], &["explicit"]].concat()).ends(0);
    assert_eq!(digest(&here, "explicit"), digest(&here, "hashed"));
    let without: String = here
        .read("again/scenario.toml")
        .lines()
        .filter(|line| !line.starts_with("paths = "))
        .map(|line| format!("{line}\n"))
        .collect();
    here.write("again/scenario.toml", &without);
    here.run(&[&other[..], &["free"]].concat()).ends(0);
    assert_ne!(digest(&here, "free"), digest(&here, "hashed"), "else this test sees nothing");
    let paths = here.run(&["export", "paths", "explicit"]).ends(0).out;
    assert!(paths.starts_with("flow,data,ack\n0,switch[08] switch["), "{paths}");
}

#[test]
fn every_law_of_the_source_runs() {
    for mode in ["1", "3", "7", "8"] {
        let here = imported(|config| config.replace("CC_MODE 8", &format!("CC_MODE {mode}")));
        here.run(&["run", "made/scenario.toml", "--out", "run"]).ends(0);
        assert_eq!(
            here.run(&["export", "fct", "run"]).ends(0).out.lines().count(),
            6,
            "mode {mode}"
        );
    }
}

#[test]
fn matrices_and_distributions_run_at_once() {
    let here = imported(str::to_string);
    let matrix = here.read("htsim.cm").replace("3000000000", "300000");
    here.write("small.cm", &matrix);
    here.run(&["import", "htsim", "small.cm", "--topology", "htsim.topo", "--out", "matrix"])
        .ends(0);
    here.run(&["run", "matrix/scenario.toml", "--out", "run"]).ends(0);
    let fct = here.run(&["export", "fct", "run"]).ends(0).out;
    assert_eq!(fct.lines().count(), 7, "{fct}");
    let flows = here.run(&["export", "flows", "run"]).ends(0);
    assert!(
        flows.out.starts_with("4\n") && flows.err.contains("3 flows that wait for others"),
        "{}",
        flows.err
    );
    here.run(&["import", "cdf", "sizes.txt", "--out", "sizes"]).ends(0);
    here.run(&["run", "sizes/scenario.toml", "--set", "stop.time=200us", "--out", "drawn"]).ends(0);
}

/// As with csg-htsim: 100 packets of 4,064 B over six links of 100 Gb/s and 1 us, and the last ACK back, which waits for a pull at its first port.
#[test]
fn a_run_of_htsim_with_its_flags_takes_as_long_here() {
    let here = Scratch::new();
    here.write("lone.cm", "Nodes 16\nConnections 1\n0->15 start 0 size 399999\n");
    let flags = ["--cwnd", "50", "-q", "35", "--mtu", "4000", "--strat", "perm"];
    let import = ["import", "htsim", "lone.cm", "--transport", "ndp", "--out", "lone"];
    here.run(&[&import[..], &flags].concat()).ends(0);
    here.run(&["run", "lone/scenario.toml", "--out", "run"]).ends(0);
    let flow = here.read("run/flows.csv");
    let acked = flow.lines().nth(1).unwrap().split(',').nth(8);
    assert_eq!(acked, Some("46170155"), "{flow}");
    let wrong = [&import[..5], &["--cwnd", "0", "--strat", "rand", "--out", "x"]].concat();
    let said = here.run(&wrong).ends(2).err;
    assert!(said.contains("--cwnd: 0 packets are not possible; write 1 to 60000"), "{said}");
}

#[test]
fn what_cannot_be_read_or_written_is_one_sentence() {
    let here = imported(str::to_string);
    for (args, said) in [
        (&["import", "cdf", "none.txt", "--out", "x"][..], "none.txt cannot be read"),
        (
            &["import", "htsim", "hpcc-flows.txt", "--out", "x"],
            "hpcc-flows.txt:1: \"6\" cannot begin a line of a connection matrix",
        ),
        (&["export", "fct", "made"], "made is not a results directory; run the scenario first"),
        (&["export", "paths", "made/scenario.toml", "--seed", "x"], "invalid value"),
        (&["export", "topology", "none.toml"], "none.toml: is missing; check the path"),
    ] {
        let ran = here.run(args).ends(2);
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
    here.write("bytes.txt", "");
    std::fs::write(here.path.join("bytes.txt"), [0xff, 0xfe]).unwrap();
    let ran = here.run(&["import", "cdf", "bytes.txt", "--out", "x"]).ends(2);
    assert!(
        ran.err.contains("bytes.txt is not UTF-8 text (byte 1); save it as UTF-8"),
        "{}",
        ran.err
    );
}

/// Published lists are long and come compressed.
#[test]
fn a_gzip_file_is_read_as_its_text() {
    let here = imported(str::to_string);
    let text = here.read("hpcc-flows.txt");
    let packed = here.write("flows.txt.gz", "");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    std::fs::write(&packed, &gzip).unwrap();
    let arguments = |flows, out| {
        ["import", "ns3-hpcc", "--topology", "hpcc-topology.txt", "--flows", flows, "--out", out]
    };
    here.run(&arguments("hpcc-flows.txt", "plain")).ends(0);
    here.run(&arguments("flows.txt.gz", "packed")).ends(0);
    assert_eq!(here.read("packed/flows.csv"), here.read("plain/flows.csv"));
    std::fs::write(here.write("cut.gz", ""), &gzip[..gzip.len() / 2]).unwrap();
    let cut = here.run(&arguments("cut.gz", "cut")).ends(2);
    assert!(cut.err.contains("cut.gz is a damaged gzip file"), "{}", cut.err);
}

#[test]
fn a_file_that_the_config_names_and_that_is_not_there_is_told_with_its_flag() {
    let here = imported(str::to_string);
    let config = here.read("config.txt").replace("hpcc-topology.txt", "elsewhere.txt");
    here.write("config.txt", &config);
    let said =
        here.run(&["import", "ns3-hpcc", "--config", "config.txt", "--out", "x"]).ends(2).err;
    let expected = "config.txt: TOPOLOGY_FILE names elsewhere.txt, which is not there; write --topology FILE with the topology";
    assert!(said.contains(expected), "{said}");
}

/// A folder of results is no place for an import, whatever is imported, nor is one in which a run is at work.
#[test]
fn an_import_into_a_run_or_a_sweep_is_refused() {
    let here = imported(str::to_string);
    here.run(&["run", "made/scenario.toml", "--out", "run"]).ends(0);
    std::fs::create_dir_all(here.path.join("swept")).unwrap();
    here.write("swept/sweep.json", "{}");
    std::fs::create_dir_all(here.path.join("next.partial")).unwrap();
    here.write("next.partial/manifest.json", "{}");
    let before = crate::common::files(&here.path.join("run"));
    for import in [
        &["import", "ns3-hpcc", "--config", "config.txt"][..],
        &["import", "htsim", "htsim.cm", "--topology", "htsim.topo"],
        &["import", "cdf", "sizes.txt"],
    ] {
        for force in [&[][..], &["--force"]] {
            for (out, said) in [
                ("run", "run holds the results of a run; name another folder"),
                ("run/", "holds the results of a run; name another folder"),
                ("swept", "swept holds the results of a sweep; name another folder"),
                ("next", "next.partial is of a run that is at work or died; name another folder"),
                ("next.partial", "next.partial holds the results of a run; name another folder"),
            ] {
                let ran = here.run(&[import, &["--out", out], force].concat()).ends(2);
                assert!(ran.err.contains(said), "{import:?} {out}: {}", ran.err);
            }
        }
    }
    assert_eq!(crate::common::files(&here.path.join("run")), before);
}

/// The form of a fork, and what its files say, at the command line: stop time, four numbers, bare rates, five columns, an end for each flow.
#[test]
fn files_of_forks_are_imported_and_run() {
    let here = Scratch::new();
    here.write(
        "topology.txt",
        "4 1 1 3\n3\n0 3 25000000000.0 1us 0\n1 3 25000000000.0 1us 0\n2 3 25000000000.0 1us 0\n",
    );
    here.write("five.txt", "2\n0 1 3 10000 2.000000212\n1 2 3 20000 2.000000300\n");
    here.write("both.txt", "2\n0 1 3 100 2 9\n1 2 3 100 2 9\n");
    here.write("config.txt", "TOPOLOGY_FILE topology.txt\nFLOW_FILE five.txt\nENABLE_PFC 0\nCC_MODE 1\nSIMULATOR_STOP_TIME 40000000000000.00\n");
    let import = ["import", "ns3-hpcc", "--config", "config.txt", "--start-at", "0s"];
    let made = here.run(&[&import[..], &["--out", "five"]].concat()).ends(0);
    assert!(made.out.contains("five columns, the form of ConWeave"), "{}", made.out);
    let scenario = here.read("five/scenario.toml");
    for line in [
        "host_link = { rate = \"25Gbps\", delay = \"1us\" }",
        "pause = \"off\"",
        "86397999999788ns",
    ] {
        assert!(scenario.contains(line), "{line}: {scenario}");
    }
    here.run(&["run", "five/scenario.toml", "--out", "run"]).ends(0);
    assert_eq!(here.read("run/flows.csv").lines().count(), 3);
    let unclear =
        here.run(&[&import[..], &["--flows", "both.txt", "--out", "both"]].concat()).ends(2);
    let said = "both.txt:2: the last three columns may be a port, bytes and a start (HPCC) or packets, a start and an end";
    assert!(unclear.err.contains(said), "{}", unclear.err);
    let told = ["--flows", "both.txt", "--flow-columns", "packets,start,end", "--out", "both"];
    here.run(&[&import[..], &told].concat()).ends(0);
    assert!(here.read("both/flows.csv").contains(",100KB,0"), "{}", here.read("both/flows.csv"));
    let wrong = here.run(&[&import[..], &["--flow-columns", "a,b", "--out", "x"]].concat()).ends(2);
    assert!(wrong.err.contains("write port,bytes,start or packets,start,end"), "{}", wrong.err);
}
