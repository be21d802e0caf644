//! `forebay report`: the report of a results directory, drawn anew.

use crate::args::Report;
use crate::failure::Failure;
use crate::say;
use forebay_record::{RunDir, Summary};

/// The verb.
pub fn report(args: &Report) -> Result<(), Failure> {
    if !args.dir.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is not a results directory (it has no manifest.json)",
            args.dir.display()
        )));
    }
    let path = match &args.out {
        None => RunDir::redraw(&args.dir)?,
        Some(out) => {
            let (about, runs) = RunDir::load(&args.dir)?;
            let summary = Summary::of(&about, &runs);
            let page = forebay_record::report::render(&about, &summary, &runs);
            std::fs::write(out, page)
                .map_err(|error| Failure::io(format!("write {}", out.display()), &error))?;
            out.clone()
        }
    };
    say::data(&format!("{}\n", path.display()))
}
