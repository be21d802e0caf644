//! Laws from object files: `law = "bpf:cc.bpf.o"`, the path relative to the scenario.

use forebay_laws::params::NamedLaw;
use forebay_scenario::{LoadedScenario, Loader, resolved};
use std::path::Path;

/// A scenario in the folder of the objects, with this transport and entry of traffic.
fn load(transport: &str, entry: &str) -> Result<LoadedScenario, String> {
    load_as("tcp", transport, entry)
}

fn load_as(kind: &str, transport: &str, entry: &str) -> Result<LoadedScenario, String> {
    let name = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/obj/t.toml");
    let text = format!(
        "version = 1\nstop = {{ time = \"20ms\" }}\n[fabric]\nkind = \"dumbbell\"\nleft = 1\nright = 1\n\
         host_link = {{ rate = \"1Gbps\", delay = \"10us\" }}\nbottleneck = {{ rate = \"100Mbps\", delay = \"5ms\" }}\n\
         [transport]\nkind = \"{kind}\"\n{transport}\n[[traffic]]\nkind = \"long\"\nfrom = \"left.host[0]\"\nto = \"right.host[0]\"\n{entry}\n"
    );
    let loaded = Loader::default().text::<&str>(&name.display().to_string(), &text, &[]);
    loaded.map_err(|error| error.to_string())
}

#[test]
fn a_law_is_found_beside_the_scenario_with_the_object_s_parameters() {
    let of =
        load("law = \"bpf:halve.bpf.o\"\nparams = { keep = 700, hz = 250 }", "").expect("a law");
    let law = of.scenario.laws.flow("bpf:halve.bpf.o").expect("it is known");
    assert!(law.is_module());
    assert_eq!(law.texts(), ["1000", "halve", "512"], "as in the object");
    let text = resolved(&of.scenario);
    assert!(text.contains("law = \"bpf:halve.bpf.o\""), "{text}");
    assert!(text.contains("keep = ") && text.contains("700"), "{text}");
    let of = load("law = \"reno\"", "law = \"bpf:reno.bpf.o\"").expect("an entry has its own law");
    assert!(of.scenario.laws.flow("bpf:reno.bpf.o").is_ok());
}

#[test]
fn what_is_wrong_with_an_object_is_said_at_the_key() {
    let said = |transport: &str| load(transport, "").expect_err("it is refused");
    let missing = said("law = \"bpf:nobody.bpf.o\"");
    assert!(
        missing.contains("transport.law: \"bpf:nobody.bpf.o\": nobody.bpf.o is missing"),
        "{missing}"
    );
    assert!(missing.contains("t.toml:11:"), "the line of the key: {missing}");
    let echo = said("law = \"bpf:echo.bpf.o\"");
    assert!(echo.contains("the object has no type information"), "{echo}");
    let text = said("law = \"bpf:../c/halve.bpf.c\"");
    assert!(text.contains("this is no object file"), "{text}");
    let keep = said("law = \"bpf:halve.bpf.o\"\nparams = { keep = -1 }");
    assert!(keep.contains("halve.bpf.o.keep takes a whole number of 32 bits"), "{keep}");
    let several = said("law = \"bpf:parts.bpf.o\"");
    assert!(several.contains("transport.params: the object has several"), "{several}");
    assert!(several.contains("set params.ops to array or hash"), "{several}");
    assert!(load("law = \"bpf:parts.bpf.o\"\nparams = { ops = \"hash\" }", "").is_ok());
    let several = load("law = \"reno\"", "law = \"bpf:parts.bpf.o\"").expect_err("an entry's law");
    assert!(several.contains("traffic[0].params: the object has several"), "{several}");
    let keep = said("law = \"bpf:halve.bpf.o\"\nparams = { kep = 1 }");
    assert!(keep.contains("keep"), "{keep}");
}

#[test]
fn queue_pairs_take_no_law_from_an_object_and_the_sentence_names_the_line() {
    let own = load_as("rdma", "law = \"bpf:halve.bpf.o\"", "").expect_err("it is refused");
    assert!(own.contains("t.toml:11:"), "{own}");
    assert!(
        own.contains(
            "has the callbacks of a congestion control of TCP; write transport.kind = \"tcp\""
        ),
        "{own}"
    );
    let entry = load_as("rdma", "law = \"dcqcn\"", "law = \"bpf:halve.bpf.o\"");
    let entry = entry.expect_err("it is refused");
    assert!(entry.contains("traffic[0].law: \"bpf:halve.bpf.o\" has the callbacks"), "{entry}");
}

#[test]
fn an_object_beyond_8_mb_is_not_read() {
    let path = std::env::temp_dir().join(format!("forebay-large-{}.bpf.o", std::process::id()));
    let file = std::fs::File::create(&path).expect("made");
    file.set_len((8 << 20) + 1).expect("a hole");
    let said = load(&format!("law = \"bpf:{}\"", path.display()), "").expect_err("it is refused");
    std::fs::remove_file(&path).expect("removed");
    assert!(said.contains("is too big (8388609 bytes); at most 8388608 bytes are read"), "{said}");
}
