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

#[test]
fn host_laws_are_set_and_told_off_like_flow_laws() {
    use forebay_laws::host::HostParams;
    let error = HostParams::new("dctcp").err().map(|e| e.to_string()).unwrap_or_default();
    assert_eq!(error, "there is no law of this name; use hostcc or nicdrop");
    let mut hostcc = HostParams::new("hostcc").expect("registered");
    for (name, text) in [
        ("variant", "module"),
        ("iio_threshold", "50"),
        ("target", "40Gbps"),
        ("lower_hold", "0us"),
        ("lease", "2ms"),
    ] {
        assert_eq!(hostcc.set(name, text), Ok(()), "{name}");
    }
    let shown: Vec<_> = hostcc.values().map(|(p, v)| format!("{}={v}", p.name)).collect();
    let shown = shown.join(" ");
    assert_eq!(
        shown,
        "variant=module side=receive iio_threshold=50 target=40Gbps occupancy_weight=1/8 \
         bandwidth_weight=1/256 local_response=true network_response=true mark_all=false \
         lower_hold=0ps lease=2ms stale_after=none"
    );
    for (name, text, takes) in [
        ("iio_threshold", "0", "\"auto\" or a whole number of lines from 1 to 65535"),
        ("iio_threshold", "70.5", "\"auto\" or a whole number of lines from 1 to 65535"),
        ("target", "84", "a rate with its unit, such as \"84Gbps\""),
        ("lease", "0us", "\"none\" or a time of a microsecond or more, such as \"5ms\""),
        ("side", "both", "\"receive\" or \"send\""),
    ] {
        let error = hostcc.set(name, text).expect_err("not a value").to_string();
        assert_eq!(error, format!("hostcc.{name} takes {takes}"));
    }
}
