//! The playground: the simulator as a page in a browser. This crate is what its web worker calls; the page is in `web/`.
//!
//! Invariants: a scenario gives the same digest here as under `forebay run`; whatever the page asks for is a sequence of
//! texts, and every answer is JSON or numbers, so there is no binding to generate; looking at a run changes nothing in it.

#[cfg(target_arch = "wasm32")]
mod exports;
mod frame;
mod play;
pub mod presets;
mod said;

pub use play::{Files, Play};
pub use said::{check, edited, presets_as_json};

/// What an editor's text is called in sentences about it.
pub(crate) const NAME: &str = "playground.toml";
