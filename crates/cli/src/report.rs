//! `forebay report`: the report of a results directory, drawn anew.

use crate::args::Report;
use crate::failure::Failure;
use crate::say;
use forebay_record::{RunDir, partial_of};

/// The verb.
pub fn report(args: &Report) -> Result<(), Failure> {
    let dir = &args.dir;
    if !dir.join("manifest.json").exists() {
        let left = partial_of(dir);
        let text = match left.join("manifest.json").exists() {
            true => format!(
                "{} is not there yet: its run is at work, or did not end; \"forebay report {}\" shows what it has",
                dir.display(),
                left.display()
            ),
            false if dir.join("run.lock").exists() => format!(
                "{} is left of a run that died before it wrote anything; remove it",
                dir.display()
            ),
            false => {
                format!("{} is not a results directory (it has no manifest.json)", dir.display())
            }
        };
        return Err(Failure::Input(text));
    }
    let (about, runs) = RunDir::load(dir)?;
    if let Some(unfinished) = RunDir::unfinished(dir, &runs)? {
        say::warning(&format!("{} {unfinished}", dir.display()));
    }
    let path = args.out.clone().unwrap_or_else(|| dir.join("report.html"));
    RunDir::draw(&path, &about, &runs)?;
    say::data(&format!("{}\n", path.display()))
}
