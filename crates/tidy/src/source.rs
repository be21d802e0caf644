//! Source files of the workspace, for the rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of all crates.
pub fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Text of a file.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text before the module of tests at the end of a file, if there is one.
fn without_tests(text: &str) -> &str {
    let begins = [
        "\n#[cfg(test)]\nmod ",
        "\n#[cfg(feature = \"reference\")]\n#[doc(hidden)]\npub mod tests ",
    ];
    let tests = begins.iter().find_map(|begin| text.rfind(begin)).map(|at| text.split_at(at));
    match tests {
        Some((before, rest))
            if rest
                .lines()
                .nth(2)
                .is_some_and(|line| line.ends_with('{') || line.starts_with("#[doc")) =>
        {
            before
        }
        _ => text,
    }
}

/// Code of a crate by file (`net/src/port.rs`): without comments, and without tests.
pub fn code(of: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![crates().join(of).join("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).expect("a folder of code").flatten().map(|e| e.path()) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let is_test = name.as_deref().is_some_and(|n| n == "tests" || n.ends_with("tests.rs"));
            if is_test {
                continue;
            } else if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = read(&path);
                let lines = without_tests(&text)
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                let at = path.strip_prefix(crates()).expect("below crates/").to_string_lossy();
                found.insert(at.replace('\\', "/"), lines.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    assert!(!found.is_empty(), "crates/{of}/src has code");
    found
}
