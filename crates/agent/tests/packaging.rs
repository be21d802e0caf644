//! The service file, as far as `systemd-analyze` can judge it without running it.

use std::path::Path;
use std::process::Command;

#[test]
fn systemd_accepts_the_service_and_it_is_not_exposed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("skipped: systemd-analyze is not installed");
        return;
    }
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/forebay-agent.service");
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
