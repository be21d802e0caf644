//! Laws from object files: which folder their paths begin in, and what is read.

use crate::common::{SMALL, Scratch};
use std::path::Path;

/// A scenario in a folder below, beside its object.
fn beside_an_object() -> Scratch {
    let here = Scratch::new();
    std::fs::create_dir(here.path.join("in")).unwrap();
    let text = SMALL.replace("law = \"dctcp\"", "law = \"bpf:cc.bpf.o\"");
    let text = text.replace("[1, 2, 3]", "[1]").replace("200KB", "20KB");
    here.write("in/s.toml", &text);
    put(&here, "halve", "in/cc.bpf.o");
    here
}

fn put(here: &Scratch, name: &str, at: &str) {
    let objects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/obj");
    std::fs::copy(objects.join(format!("{name}.bpf.o")), here.path.join(at)).unwrap();
}

#[test]
fn a_sweep_from_another_folder_finds_the_object_beside_the_scenario() {
    let here = beside_an_object();
    let text = here.read("in/s.toml") + "[sweep]\n\"traffic[0].size\" = [\"20KB\", \"30KB\"]\n";
    here.write("in/s.toml", &text);
    here.run(&["sweep", "in/s.toml", "--out", "s", "--quiet"]).ends(0);
    assert_eq!(std::fs::read_dir(here.path.join("s/runs")).unwrap().count(), 2);
}

#[test]
fn why_takes_the_object_in_the_folder_of_the_run() {
    let here = beside_an_object();
    here.run(&["run", "in/s.toml", "--out", "r", "--quiet"]).ends(0);
    let missing = here.run(&["why", "r"]).ends(2);
    assert!(missing.err.contains("cc.bpf.o is missing"), "{}", missing.err);
    put(&here, "halve", "r/cc.bpf.o");
    let said = here.run(&["why", "r"]).ends(0);
    assert!(said.out.contains("FCT"), "{}", said.out);
    here.run(&["report", "r"]).ends(0);
    put(&here, "reno", "r/cc.bpf.o");
    let other = here.run(&["why", "r"]).ends(2);
    let said = "\"bpf:cc.bpf.o\" is not the object of the run: SHA-256 ";
    assert!(other.err.contains(said) && other.err.contains(" then, SHA-256 "), "{}", other.err);
}

#[test]
fn laws_reads_regular_files_of_8_mb_at_most() {
    let here = Scratch::new();
    put(&here, "halve", "cc.bpf.o");
    here.run(&["laws", "bpf:cc.bpf.o"]).ends(0);
    let large = std::fs::File::create(here.path.join("large.o")).unwrap();
    large.set_len(1 << 40).unwrap();
    let said = here.run(&["laws", "bpf:large.o"]).ends(2);
    assert!(said.err.contains("large.o is too big (1099511627776 bytes)"), "{}", said.err);
    let said = here.run(&["laws", "bpf:none.o"]).ends(2);
    assert!(said.err.contains("none.o is missing; check the path"), "{}", said.err);
    if cfg!(unix) {
        let said = here.run(&["laws", "bpf:/dev/zero"]).ends(2);
        assert!(said.err.contains("/dev/zero is a device or a pipe"), "{}", said.err);
    }
}
