//! The header that is checked in is the one that the source gives.
//!
//! The crate that makes it (cbindgen) takes 17 s to compile with all that it needs, so it is behind the feature `header`. Without it a hash
//! in the header's last line says whether the declarations of the source, or the header, are others than when it was made.

use std::path::{Path, PathBuf};

/// How to make the header.
const HOW: &str =
    "FOREBAY_BLESS=1 cargo test -p forebay-credits-c --features header --test it header::";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_default().replace("\r\n", "\n")
}

/// The source without the bodies of functions, which the header does not have.
fn declarations(source: &str) -> String {
    let (mut inside, mut kept) = (false, String::new());
    for line in source.lines() {
        inside &= line != "}";
        if !inside {
            kept.extend([line, "\n"]);
        }
        let at_margin = !line.starts_with([' ', '/']);
        inside |=
            at_margin && line.ends_with('{') && (line.starts_with(')') || line.contains("fn "));
    }
    kept
}

/// Last line of a header, which says what it and the source were like. FNV-1a.
fn seal(header: &str) -> String {
    let all = declarations(&text("src/lib.rs")) + header;
    let hash = all.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("/* Made from declarations with hash {hash:016x}. */\n")
}

#[test]
fn the_header_is_of_the_declarations_as_they_are() {
    let published = text("include/forebay_credits.h");
    let at = published.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let (header, last) = published.split_at(at);
    assert!(
        last == seal(header),
        "include/forebay_credits.h is not that of src/lib.rs; make it: {HOW}"
    );
}

#[test]
fn bodies_of_functions_are_no_declarations() {
    let source = "/// A.\npub fn a(\n    b: u8,\n) -> u8 {\n    b\n}\n\npub enum C {\n    /// D.\n    D = 1,\n}\nfn e() {\n    f();\n}\n";
    let kept = "/// A.\npub fn a(\n    b: u8,\n) -> u8 {\n}\n\npub enum C {\n    /// D.\n    D = 1,\n}\nfn e() {\n}\n";
    assert_eq!(declarations(source), kept);
}

#[cfg(feature = "header")]
#[test]
fn the_header_is_what_cbindgen_makes_of_the_source() {
    let mut of = Vec::new();
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        include_guard: Some("FOREBAY_CREDITS_H".into()),
        header: Some("/* Credits that keep unread data inside a receiver's cache. Made by a test; see docs/credits.md. */".into()),
        cpp_compat: true,
        usize_is_size_t: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        ..cbindgen::Config::default()
    };
    config.enumeration.prefix_with_name = false;
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(file("src/lib.rs"))
        .generate()
        .expect("the source is read")
        .write(&mut of);
    let header = String::from_utf8(of).unwrap();
    let now = format!("{header}{}", seal(&header));
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(file("include/forebay_credits.h"), &now).unwrap();
    }
    assert!(
        text("include/forebay_credits.h") == now,
        "include/forebay_credits.h is out of date: {HOW}"
    );
}
