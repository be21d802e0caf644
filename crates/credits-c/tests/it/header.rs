//! The header that is checked in is the one that the source gives.

use std::path::Path;

/// Rewrite the file with `FOREBAY_BLESS=1 cargo test -p forebay-credits-c --test it header::`.
#[test]
fn the_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
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
        .with_src(here.join("src/lib.rs"))
        .generate()
        .expect("the source is read")
        .write(&mut of);
    let now = String::from_utf8(of).unwrap();
    let path = here.join("include/forebay_credits.h");
    if std::env::var_os("FOREBAY_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(published == now, "include/forebay_credits.h is out of date; see the top of this test");
}
