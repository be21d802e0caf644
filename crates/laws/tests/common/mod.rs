//! What the tests of several roles share.

/// Every law's file in the folder of the role `role` has its row in the role's registry, whose text is given. Returns how
/// many there are.
pub fn registered(role: &str, registry: &str) -> usize {
    let folder = format!("{}/src/{role}", env!("CARGO_MANIFEST_DIR"));
    let (_, rows) = registry.rsplit_once("registry! {").expect("the rows end the file");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of the role") {
        let name = entry.expect("readable").file_name().into_string().expect("ASCII");
        let law = name.trim_end_matches(".rs");
        if ["mod", "registry"].contains(&law) || !name.ends_with(".rs") {
            continue;
        }
        files += 1;
        assert!(
            rows.contains(&format!("\n    {law}::")),
            "{role}/{name} has no row in registry.rs"
        );
    }
    files
}
