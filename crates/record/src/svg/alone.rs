//! Pictures that stand alone: a title, plots, tables of text, and the style sheets that a page would have.

use super::{Canvas, FIGURE_STYLE, esc, px, themes};

/// Width of every picture that stands alone.
pub const WIDTH: f64 = 960.0;

/// From one row of text to the next.
pub const LINE: f64 = 18.0;

/// A picture that is being drawn.
pub struct SvgFile {
    /// Shapes so far.
    pub canvas: Canvas,
    title: String,
    left: f64,
    height: f64,
}

impl SvgFile {
    /// An empty picture of this height; its title and its text begin at `left`.
    pub fn new(title: &str, left: f64, height: f64) -> Self {
        let mut canvas = Canvas::default();
        canvas.text((left, 22.0), "head", title);
        Self { canvas, title: title.into(), left, height }
    }

    /// Writes rows of text across the picture, the first one the head; `first` is the width of the first column, and `y` where the
    /// head stands.
    pub fn table(&mut self, table: &[Vec<String>], first: f64, y: f64, right: f64) {
        let columns = table.first().map_or(0, Vec::len);
        let wide = (right - self.left - first) / columns.saturating_sub(1).max(1) as f64;
        for (r, row) in table.iter().enumerate() {
            let class = if r == 0 { "cell strong" } else { "cell" };
            for (c, cell) in row.iter().enumerate() {
                let x = self.left + if c == 0 { 0.0 } else { first + wide * (c - 1) as f64 };
                self.canvas.text((x, y + LINE * r as f64), class, cell);
            }
        }
    }

    /// Writes a sentence below all.
    pub fn sentence(&mut self, y: f64, text: &str) {
        self.canvas.text((self.left, y), "note", text);
    }

    /// The file.
    pub fn finish(self) -> String {
        let (width, height, title) = (px(WIDTH), px(self.height), esc(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}</title>\n\
             <style>\n{}{FIGURE_STYLE}</style>\n<rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n{}\n</svg>\n",
            themes(),
            self.canvas.body()
        )
    }
}
