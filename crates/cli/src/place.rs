//! Where the results of a run go, and what is done about what is there already.

use crate::failure::Failure;
use forebay_record::IfExists;
use std::path::{Path, PathBuf};

/// Where results go.
pub struct Place {
    pub path: PathBuf,
    pub if_exists: IfExists,
    /// Whether the directory is new, so that it may go again if nothing comes of the run.
    fresh: bool,
}

impl Place {
    /// `--out` as it is; else `results/NAME`, or the first of `results/NAME-2` and so on that is free. Nothing is
    /// ever replaced without `--force`.
    pub fn choose(out: Option<&Path>, force: bool, name: &str) -> Result<Self, Failure> {
        let if_exists = if force { IfExists::Replace } else { IfExists::Refuse };
        if let Some(out) = out {
            if !force && out.join("manifest.json").exists() {
                return Err(Failure::Input(format!(
                    "{} holds a run already; name another directory, or add --force to replace it",
                    out.display()
                )));
            }
            return Ok(Self { path: out.into(), if_exists, fresh: !out.exists() });
        }
        let base = Path::new("results").join(file_name(name));
        if force {
            let fresh = !base.exists();
            return Ok(Self { path: base, if_exists, fresh });
        }
        std::fs::create_dir_all("results")
            .map_err(|error| Failure::io("create the folder results here", &error))?;
        for n in 1..10_000 {
            let path = if n == 1 {
                base.clone()
            } else {
                Path::new("results").join(format!("{}-{n}", file_name(name)))
            };
            // Making it is what claims it, so two runs that begin together get two directories.
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, if_exists, fresh: true }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Failure::io(format!("create {}", path.display()), &error));
                }
            }
        }
        Err(Failure::Input(format!("{} is taken many times over; use --out", base.display())))
    }

    /// Removes a directory that is ours and holds no results.
    pub fn undo(&self) {
        if self.fresh {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// A title as the name of a folder.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().take(80).map(safe).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "run".into() } else { name.into() }
}
