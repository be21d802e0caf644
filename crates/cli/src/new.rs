//! `forebay new`: a commented example to start from.

use crate::args::New;
use crate::failure::Failure;
use crate::{say, source};
use forebay_scenario::presets::{Sample, samples};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// The verb.
pub fn new(args: &New) -> Result<(), Failure> {
    if let Some(sample) = samples().find(|sample| sample.name == args.preset) {
        return files(sample, args);
    }
    let text = source::preset_text(&args.preset)?;
    let Some(path) = args.place() else { return say::data(text) };
    write(path, text, args.force)?;
    say::note(&format!("wrote {}; next: forebay check {0}", path.display()));
    Ok(())
}

/// Writes the files of a sample into a folder.
fn files(sample: &Sample, args: &New) -> Result<(), Failure> {
    let Some(folder) = args.place() else {
        return Err(Failure::Input(format!(
            "{} is {} files; write --out DIR for the folder that takes them",
            sample.name,
            sample.files.len()
        )));
    };
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    for (name, text) in sample.files {
        write(&folder.join(name), text, args.force)?;
    }
    let folder = folder.display().to_string();
    say::note(&format!("wrote {folder}; next: {}", sample.next.replace("DIR", &folder)));
    Ok(())
}

fn write(path: &Path, text: &str, force: bool) -> Result<(), Failure> {
    let mut how = OpenOptions::new();
    how.write(true);
    if force {
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
        .map_err(|error| Failure::io(format!("write {}", path.display()), &error))
}
