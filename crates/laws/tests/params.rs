//! Laws and parameters by name, and what the user reads when a name or a value is wrong.

use forebay_laws::flow::{Echo, FlowParams};

#[test]
fn a_value_is_set_by_text_and_shown_as_text() {
    let mut dctcp = FlowParams::new("dctcp").expect("registered");
    dctcp.set("g", "0.0625").expect("a power of one half");
    dctcp.set("alpha", "linux").expect("a form");
    dctcp.set("prr_on_ce", "true").expect("a switch");
    let shown: Vec<_> = dctcp.values().map(|(p, v)| format!("{} = {v}", p.name)).collect();
    assert_eq!(shown, ["g = 1/16", "alpha = linux", "cut = bytes", "prr_on_ce = true"]);
}

#[test]
fn parameters_reach_the_needs() {
    let mut dctcp = FlowParams::new("dctcp").expect("registered");
    assert!(dctcp.needs().own_cwr);
    dctcp.set("prr_on_ce", "true").expect("a switch");
    assert!(!dctcp.needs().own_cwr);
    assert_eq!(dctcp.needs().echo, Echo::Exact);
}

#[test]
fn each_error_names_the_remedy() {
    let error = FlowParams::new("dctpc").err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.starts_with("there is no law of this name; use reno"), "{error}");
    let mut dctcp = FlowParams::new("dctcp").expect("registered");
    let error = |result: Result<(), forebay_laws::params::ParamError>| match result {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error(dctcp.set("g", "0.06")),
        "dctcp.g takes a power of one half from 1/1024 to 1, written as \"1/16\" or \"0.0625\""
    );
    assert_eq!(
        error(dctcp.set("gain", "1")),
        "dctcp has no parameter of this name; use g, alpha, cut or prr_on_ce"
    );
    assert_eq!(error(dctcp.set("alpha", "float")), "dctcp.alpha takes \"exact\" or \"linux\"");
    // A refused value changes nothing.
    assert!(dctcp.values().any(|(p, v)| p.name == "alpha" && v.to_string() == "exact"));
}
