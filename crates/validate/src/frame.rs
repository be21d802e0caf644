//! What pictures have in common: a sheet with its title, the frame of a panel, rows of text. All lengths in pixels.

use std::fmt::Display;

/// How wide every picture is.
pub(crate) const WIDTH: f64 = 960.0;

/// From one row of text to the next.
pub(crate) const LINE: f64 = 18.0;

/// Between the frames of a row.
const GAP: f64 = 84.0;

/// A sheet of this height, with its title above `left`. Who draws ends it with `</svg>`.
pub(crate) fn sheet(title: &str, left: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{left}\" y=\"22\" font-size=\"15\" font-weight=\"600\">{title}</text>\n"
    )
}

/// What the axes of a panel enclose.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub wide: f64,
    pub high: f64,
}

impl Frame {
    /// From `left` to `margin` before the right end of the sheet.
    pub fn across(left: f64, margin: f64, top: f64, high: f64) -> Self {
        Self { left, top, wide: WIDTH - left - margin, high }
    }

    /// As many frames side by side, in place of this one.
    pub fn abreast(self, count: usize) -> impl Iterator<Item = Self> {
        let wide = (self.wide - GAP * (count as f64 - 1.0)) / count as f64;
        (0..count).map(move |i| Self { left: self.left + i as f64 * (wide + GAP), wide, ..self })
    }

    pub fn right(self) -> f64 {
        self.left + self.wide
    }

    /// The lower end.
    pub fn floor(self) -> f64 {
        self.top + self.high
    }

    /// Where a share of the vertical axis lies, 0 on the floor.
    pub fn y(self, share: f64) -> f64 {
        self.floor() - self.high * share
    }

    /// A faint line at each of these shares of the vertical axis, with what it is called.
    pub fn grid(self, ticks: impl IntoIterator<Item = (f64, impl Display)>) -> String {
        let (left, right) = (self.left, self.right());
        let line = |(share, name)| {
            let at = self.y(share);
            format!(
                "<path d=\"M{left:.1} {at:.1}H{right:.1}\" stroke=\"#e3e3e3\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\n",
                left - 6.0,
                at + 4.0
            )
        };
        ticks.into_iter().map(line).collect()
    }

    /// A name or a number below the horizontal axis.
    pub fn below(self, x: f64, what: impl Display) -> String {
        let y = self.floor() + 17.0;
        format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{what}</text>\n")
    }

    /// The axes, and what the vertical one is of.
    pub fn axes(self, label: &str) -> String {
        let Self { left, top, .. } = self;
        format!(
            "<path d=\"M{left:.1} {top}V{}H{:.1}\" fill=\"none\" stroke=\"#444\"/>\n\
             <text transform=\"translate({:.1} {}) rotate(-90)\" text-anchor=\"middle\">{label}</text>\n",
            self.floor(),
            self.right(),
            left - 48.0,
            top + self.high / 2.0
        )
    }

    /// What the horizontal axis is of.
    pub fn along(self, label: &str) -> String {
        format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\n",
            self.left + self.wide / 2.0,
            self.floor() + 36.0
        )
    }

    /// Rows of text as wide as the frame, the first one the head; `first` is the width of the first column, and `y` where the
    /// head stands.
    pub fn rows(self, table: &[Vec<String>], first: f64, y: f64) -> String {
        let columns = table.first().map_or(0, Vec::len);
        let wide = (self.wide - first) / columns.saturating_sub(1).max(1) as f64;
        let mut svg = String::new();
        for (r, row) in table.iter().enumerate() {
            let weight = if r == 0 { " font-weight=\"600\"" } else { "" };
            for (c, cell) in row.iter().enumerate() {
                svg += &format!(
                    "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\"{weight}>{cell}</text>\n",
                    self.left + if c == 0 { 0.0 } else { first + wide * (c - 1) as f64 },
                    y + LINE * r as f64
                );
            }
        }
        svg
    }

    /// A sentence below all.
    pub fn sentence(self, y: f64, text: &str) -> String {
        format!("<text x=\"{}\" y=\"{y:.1}\" fill=\"#444\">{text}</text>\n", self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_abreast_fill_the_width_with_gaps_between_them() {
        let all = Frame::across(60.0, 42.0, 10.0, 200.0);
        let three: Vec<Frame> = all.abreast(3).collect();
        assert_eq!((three[0].left, three[2].right()), (60.0, WIDTH - 42.0));
        for pair in three.windows(2) {
            assert_eq!(pair[1].left - pair[0].right(), GAP);
            assert_eq!(pair[1].wide, pair[0].wide);
        }
    }
}
