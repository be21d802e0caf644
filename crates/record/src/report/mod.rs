//! The report.

use crate::about::About;
use crate::rows::RunRecord;
use crate::summary::Summary;

/// One self-contained page.
pub fn render(_about: &About, _summary: &Summary, _runs: &[RunRecord]) -> String {
    String::new()
}
