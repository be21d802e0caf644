//! `forebay reproduce`: the rows of `validation/`, each a published number with its tolerance, run and judged.

use crate::args::Reproduce;
use crate::failure::Failure;
use crate::say;
use forebay_validate::{SUITES, Verdict};

/// Runs a suite and prints its rows; with `--strict`, a row that is out is a missed band.
pub fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    if !SUITES.contains(&args.suite.as_str()) {
        return Err(Failure::Input(format!(
            "there is no suite \"{}\"; write {}",
            args.suite,
            SUITES.join(" or ")
        )));
    }
    if args.sensitivity {
        let text = forebay_validate::sensitivity(&args.suite, args.quick).ok_or_else(|| {
            Failure::Input(format!(
                "suite \"{}\" has no open settings; leave out --sensitivity",
                args.suite
            ))
        })?;
        return say::data(text.trim_end());
    }
    if let Some(folder) = &args.pictures {
        for (name, svg) in forebay_validate::pictures(&args.suite) {
            let path = folder.join(name);
            std::fs::write(&path, svg)
                .map_err(|e| Failure::io(format_args!("write {}", path.display()), &e))?;
        }
    }
    let rows = forebay_validate::run(&args.suite, args.quick);
    if args.json {
        say::data(&forebay_validate::json(&rows))?;
    } else {
        say::data(forebay_validate::table(&rows).trim_end())?;
    }
    let out = rows.iter().filter(|r| r.verdict == Verdict::Out).count();
    if args.strict && out > 0 {
        return Err(Failure::Missed(format!(
            "{out} of {} rows are out of their tolerance",
            rows.len()
        )));
    }
    Ok(())
}
