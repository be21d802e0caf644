//! One kit for all pictures: figures of reports, charts of sweeps, pictures of the validation.
//!
//! Shapes have classes; `figure.css` gives the classes widths and type, and the two themes give them colours. A page
//! carries these sheets once, and a picture that stands alone carries them itself. Same values, same bytes.

mod alone;
mod canvas;
mod chart;
mod plot;
mod scale;

pub use alone::{LINE, SvgFile, WIDTH};
pub use canvas::{Canvas, esc, px, text_width};
pub use chart::{Chart, Margins};
pub use plot::{Frame, Plot};
pub use scale::{Axis, Scale, Tick, plain, pow10, quarters, round_up, time_unit};

/// Colours of series that a reader tells apart.
pub const SERIES: usize = 8;

/// Widths, type and fills of the classes.
pub const FIGURE_STYLE: &str = include_str!("figure.css");

/// Style sheet of both themes: as the reader's system has it, as the page's `data-theme` says, light on paper.
pub fn themes() -> String {
    const LIGHT: &str = include_str!("light.css");
    const DARK: &str = include_str!("dark.css");
    format!(
        ":root{{{LIGHT}}}\n@media (prefers-color-scheme:dark){{:root{{{DARK}}}}}\n\
         :root[data-theme=light]{{{LIGHT}}}\n:root[data-theme=dark]{{{DARK}}}\n\
         @media print{{:root,:root[data-theme]{{{LIGHT}}}}}\n"
    )
}
