//! `forebay new`: a commented example to start from.

use crate::args::New;
use crate::failure::Failure;
use crate::{say, source};
use std::fs::OpenOptions;
use std::io::Write;

/// The verb.
pub fn new(args: &New) -> Result<(), Failure> {
    let text = source::preset_text(&args.preset)?;
    let Some(path) = &args.out else { return say::data(text) };
    let mut how = OpenOptions::new();
    how.write(true);
    if args.force {
        how.create(true).truncate(true)
    } else {
        how.create_new(true)
    };
    let mut file = how.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Input(format!(
            "{} exists; name another file, or add --force to replace it",
            path.display()
        )),
        _ => Failure::unwritten(path, &error),
    })?;
    file.write_all(text.as_bytes())
        .map_err(|error| Failure::io(format!("write {}", path.display()), &error))?;
    say::note(&format!("wrote {}; next: forebay check {0}", path.display()));
    Ok(())
}
