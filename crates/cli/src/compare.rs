//! `forebay compare`: runs beside each other, on one page and in one table.

use crate::args::Compare;
use crate::failure::Failure;
use crate::say;
use forebay_record::{RunDir, write_whole};
use forebay_study::compare::{Comparison, Side, json, names, page, refusal, terminal};
use std::path::Path;

/// The verb.
pub fn compare(args: &Compare) -> Result<(), Failure> {
    if args.places.len() < 2 {
        return Err(Failure::Input(
            "there is nothing to compare it with; name two results directories or more".into(),
        ));
    }
    let read = |place: &std::path::PathBuf| load(place);
    let loaded = args.places.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<_> = loaded
        .iter()
        .zip(&args.places)
        .map(|((about, _), place)| (about, place.display().to_string()))
        .collect();
    let names = names(&named);
    let sides = loaded.into_iter().zip(names).zip(&args.places);
    let sides = sides.map(|(((about, runs), name), place)| {
        Side::new(name, place.display().to_string(), about, runs)
    });
    let of = Comparison::of(sides.collect());
    if let Some(why) = refusal(&of.sides, &of.differences).filter(|_| !args.force) {
        return Err(Failure::Input(format!(
            "{why}; --force compares them and says so on the page"
        )));
    }
    let typed: Vec<String> = std::env::args()
        .skip(1)
        .map(|arg| if arg.contains(' ') { format!("'{arg}'") } else { arg })
        .collect();
    write_whole(&args.out, &page(&of, &format!("forebay {}", typed.join(" "))))?;
    if args.json {
        return say::json(&json(&of));
    }
    if args.quiet {
        return Ok(());
    }
    let mut text = terminal(&of, say::stdout_width());
    text.push('\n');
    for caution in of.cautions() {
        text.push_str(&format!("{caution}\n"));
    }
    text.push_str(&format!("{:<10}{}\n", "page", args.out.display()));
    say::data(&text)
}

/// What a run left.
fn load(dir: &Path) -> Result<(forebay_record::About, Vec<forebay_record::RunRecord>), Failure> {
    if !dir.join("manifest.json").exists() {
        return Err(Failure::Input(format!(
            "{} is not a results directory (it has no manifest.json)",
            dir.display()
        )));
    }
    let (about, runs) = RunDir::load(dir)?;
    if runs.is_empty() {
        return Err(Failure::Input(format!("{} has no simulation to compare", dir.display())));
    }
    Ok((about, runs))
}
