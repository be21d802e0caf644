//! Flow-size distributions.

/// A checked cumulative distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Name for people, `websearch`.
    pub name: String,
    /// `(bytes, cumulative probability)`, both non-decreasing, the last probability 1.
    pub points: Vec<(f64, f64)>,
    /// Straight lines between points (`lin`), or a step function (`step`).
    pub interpolate: bool,
}
