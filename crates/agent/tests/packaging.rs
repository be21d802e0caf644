//! The service file, as far as `systemd-analyze` can judge it without running it.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn systemd_accepts_the_service_and_it_is_not_exposed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: systemd-analyze is not installed");
        return;
    }
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/forebay-agent.service");
    let text = fs::read_to_string(from).expect("it is there");
    let unit = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forebay-agent.service");
    let here = text.replace("/usr/local/bin/forebay-agent", env!("CARGO_BIN_EXE_forebay-agent"));
    fs::write(&unit, here).expect("written");
    let analyze = |args: &[&str]| {
        let out = Command::new("systemd-analyze").args(args).arg(&unit).output().expect("it runs");
        let said = [out.stdout, out.stderr].concat();
        (out.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    assert_eq!(analyze(&["verify"]), (true, String::new()));
    let (_, said) = analyze(&["security", "--offline=true", "--no-pager"]);
    let exposed = said.lines().find(|line| line.contains("Overall exposure level"));
    let exposed: Option<f64> =
        exposed.and_then(|line| line.split_whitespace().find_map(|word| word.parse().ok()));
    assert!(exposed.is_some_and(|level| level <= 5.2), "{said}");
}
