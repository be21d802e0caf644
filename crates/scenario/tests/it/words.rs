//! Words of a file that say which, and words of sentences.

use forebay_scenario::model::WhyFlows;
use forebay_scenario::{nearest, or_list};

fn words(text: &str) -> Option<WhyFlows> {
    match serde_json::from_value(text.into()) {
        Ok(WhyFlows::Unknown(_)) => None,
        flows => Some(flows.unwrap_or_else(|e| panic!("{e}"))),
    }
}

#[test]
fn words_say_which_flows() {
    assert_eq!(words("all"), Some(WhyFlows::All));
    assert_eq!(words("slowest 0.5%"), Some(WhyFlows::Percent(0.5)));
    assert_eq!(words(" slowest 20 "), Some(WhyFlows::Count(20)));
    for wrong in [
        "",
        "slowest",
        "slowest 0",
        "slowest 0 %",
        "slowest 101 %",
        "slowest -1",
        "fastest 1 %",
        "slowest nan %",
    ] {
        assert_eq!(words(wrong), None, "{wrong}");
    }
}

#[test]
fn the_nearest_name_is_the_one_meant() {
    let keys = ["leaves", "spines", "hosts_per_leaf", "host_link", "routing"];
    assert_eq!(nearest("leafs", keys), None.or(nearest("leave", ["leaves"])).and(None));
    assert_eq!(nearest("leavse", keys), Some("leaves"));
    assert_eq!(nearest("spine", keys), Some("spines"));
    assert_eq!(nearest("hosts-per-leaf", keys), Some("hosts_per_leaf"));
    assert_eq!(nearest("colour", keys), None);
}

#[test]
fn lists_read_as_sentences() {
    assert_eq!(or_list(["a"]), "a");
    assert_eq!(or_list(["a", "b", "c"]), "a, b or c");
    assert_eq!(or_list([]), "nothing");
}
