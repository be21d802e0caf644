//! Laws from object files: `law = "bpf:cc.bpf.o"`, the path relative to the scenario.

use forebay_laws::params::NamedLaw;
use forebay_scenario::{LoadedScenario, Loader, resolved};
use std::path::Path;

/// A scenario beside the objects, with this transport and entry of traffic.
fn load(transport: &str, entry: &str) -> Result<LoadedScenario, String> {
    let name = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/obj/t.toml");
    let text = format!(
        "version = 1\nstop = {{ time = \"20ms\" }}\n[fabric]\nkind = \"dumbbell\"\nleft = 1\nright = 1\n\
         host_link = {{ rate = \"1Gbps\", delay = \"10us\" }}\nbottleneck = {{ rate = \"100Mbps\", delay = \"5ms\" }}\n\
         [transport]\nkind = \"tcp\"\n{transport}\n[[traffic]]\nkind = \"long\"\nfrom = \"left.host[0]\"\nto = \"right.host[0]\"\n{entry}\n"
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
    let keep = said("law = \"bpf:halve.bpf.o\"\nparams = { kep = 1 }");
    assert!(keep.contains("keep"), "{keep}");
}
