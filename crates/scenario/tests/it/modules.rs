//! Modules of the crate import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules of the crate's root that the code of each of them imports; a folder is one module.
fn imports(folder: &Path, module: Option<&str>, found: &mut BTreeMap<String, BTreeSet<String>>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = module.unwrap_or(&stem);
        if path.is_dir() {
            imports(&path, Some(module), found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        let word = |rest: &str| -> String {
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
        };
        let used = found.entry(module.into()).or_default();
        used.extend(code.split("crate::").skip(1).map(word).filter(|name| name != module));
    }
}

#[test]
fn imports_have_no_circle() {
    let mut left = BTreeMap::new();
    imports(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut left);
    left.remove("lib");
    assert!(left.len() > 20 && left["whole"].contains("fabric"), "{left:?}");
    // Modules that import nothing that is left go, until none is left or only circles are.
    loop {
        let gone: Vec<String> = left
            .iter()
            .filter(|(_, used)| used.iter().all(|name| !left.contains_key(name)))
            .map(|(module, _)| module.clone())
            .collect();
        if gone.is_empty() {
            break;
        }
        gone.iter().for_each(|module| _ = left.remove(module));
    }
    assert!(left.is_empty(), "circles among these, each with what it imports: {left:?}");
}
