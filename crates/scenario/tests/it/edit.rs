//! Values in a text that change where they are written.

use forebay_scenario::edit::{value_at, with_value, without};

const TEXT: &str = "\
version = 1 # the only one
stop = { time = \"1ms\" }
[fabric]
kind = \"star\" # one switch
[fabric.switch]
buffer = \"none\"
[[traffic]] # first
load = 0.5
[[traffic]]
load = 0.6
";

fn changed(path: &str, value: &str, from: &str, to: &str) {
    assert_eq!(with_value(TEXT, path, value), Ok(TEXT.replace(from, to)), "{path}");
}

#[test]
fn a_value_changes_where_it_stands_and_nothing_else_does() {
    changed("fabric.kind", "\"clos\"", "\"star\"", "\"clos\"");
    changed("traffic[1].load", "0.9", "0.6", "0.9");
    changed("stop.time", "\"9s\"", "\"1ms\"", "\"9s\"");
    changed("version", "2", "version = 1", "version = 2");
}

#[test]
fn a_key_that_is_not_there_goes_into_its_table() {
    changed("stop.flows", "\"all\"", "\"1ms\" }", "\"1ms\", flows = \"all\" }");
    changed("fabric.hosts", "3", "[fabric]\n", "[fabric]\nhosts = 3\n");
    changed("fabric.switch.ecn.k", "\"9KB\"", "switch]\n", "switch]\necn.k = \"9KB\"\n");
    changed("traffic[0].law", "\"x\"", "# first\n", "# first\nlaw = \"x\"\n");
    changed("name", "\"n\"", "version", "name = \"n\"\nversion");
    let added = with_value(TEXT, "host.memory.cores", "3");
    assert_eq!(added, Ok(format!("{TEXT}\n[host.memory]\ncores = 3\n")));
    assert!(with_value(TEXT, "traffic[2].load", "1").unwrap_err().contains("traffic[2]"));
    assert!(with_value("a = ", "a", "1").unwrap_err().contains("not valid TOML"));
}

#[test]
fn a_key_goes_with_its_line() {
    assert_eq!(
        without(TEXT, "fabric.kind"),
        Ok(TEXT.replace("kind = \"star\" # one switch\n", ""))
    );
    assert_eq!(without(TEXT, "fabric.hosts"), Ok(TEXT.into()));
    assert!(without(TEXT, "stop.time").unwrap_err().contains("line of its own"));
}

#[test]
fn values_are_read_as_written() {
    assert_eq!(value_at(TEXT, "traffic[1].load"), Some("0.6"));
    assert_eq!(value_at(TEXT, "stop.time"), Some("\"1ms\""));
    assert_eq!(value_at(TEXT, "fabric.switch.ecn"), None);
    assert_eq!(value_at("a = ", "a"), None);
}
