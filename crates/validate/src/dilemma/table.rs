//! Table 1 as a picture: what each scheme falls short of, by our rule and in the paper.

use super::{PROACTIVE, SUITE};
use crate::measured::MeasuredRows;
use crate::row::{Row, Tolerance};
use forebay_record::svg::{Canvas, LINE, SvgFile, px};

/// Lines of the table: as ids of rows have them, and as the picture has them.
const LINES: [(&str, &str); 4] = [
    ("tiny", "tiny flows"),
    ("network", "congested network"),
    ("buffer", "8 MB of buffer"),
    ("incast", "incast"),
];

const LEFT: f64 = 62.0;
const NAMES: f64 = 170.0; // width of the column of lines
const TOP: f64 = 72.0;
const CELL: (f64, f64) = (172.0, 62.0);

/// A cell: the ratio that was measured, if there is one, and the row that judges it.
type Cell = (Option<f64>, Row);

/// The picture, if a cell of it was measured.
pub(super) fn table_1(measured: &MeasuredRows) -> Option<String> {
    let rows = crate::rows(SUITE);
    let cell = |line: &str, scheme: &str| {
        let id = format!("table1-{line}-{scheme}");
        Some((measured.number(&id), rows.iter().find(|row| row.id == id)?.clone()))
    };
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    for (line, _) in LINES {
        cells.push(PROACTIVE.iter().map(|(name, _)| cell(line, name)).collect::<Option<_>>()?);
    }
    let known = || cells.iter().flatten().filter_map(|(ratio, row)| Some((*ratio.as_ref()?, row)));
    let share = |crosses: bool| {
        let of = || known().filter(|(_, row)| said(row) == crosses);
        (of().filter(|(ratio, row)| is_cross(*ratio, row) == crosses).count(), of().count())
    };
    let (crosses, blanks) = (share(true), share(false));
    (crosses.1 + blanks.1 > 0).then(|| {
        let title = format!(
            "Dilemma, table 1: {} of {} crosses and {} of {} blanks as published",
            crosses.0, crosses.1, blanks.0, blanks.1
        );
        draw(&title, &cells)
    })
}

/// Whether the paper has a cross there.
fn said(row: &Row) -> bool {
    row.tolerance == Tolerance::AtLeast
}

/// Whether a ratio is a cross, by the rule fixed beforehand.
fn is_cross(ratio: f64, row: &Row) -> bool {
    ratio >= row.published
}

fn draw(title: &str, cells: &[Vec<Cell>]) -> String {
    let bottom = TOP + CELL.1 * cells.len() as f64;
    let mut sheet = SvgFile::new(title, LEFT, bottom + 78.0);
    let canvas = &mut sheet.canvas;
    for (column, (_, title)) in PROACTIVE.iter().enumerate() {
        let x = LEFT + NAMES + CELL.0 * (column as f64 + 0.5);
        canvas.text((x, TOP - 12.0), "label mid", title);
    }
    for (line, (cells, (_, name))) in cells.iter().zip(LINES).enumerate() {
        let y = TOP + CELL.1 * line as f64;
        canvas.text((LEFT, y + CELL.1 / 2.0 + 4.0), "label", name);
        for (column, (ratio, row)) in cells.iter().enumerate() {
            draw_cell(canvas, (LEFT + NAMES + CELL.0 * column as f64, y), *ratio, row);
        }
    }
    cross(canvas, (LEFT + 6.0, bottom + 17.0));
    let key = "slowdown, the worse of mean and 99th percentile, is at least twice the median of six schemes";
    canvas.text((LEFT + 20.0, bottom + 21.0), "note", key);
    let key = "(8 MB of buffer: the 99th percentile of FCT is at least 1.5 times that with 32 MB). The number is that ratio.";
    canvas.text((LEFT + 20.0, bottom + 21.0 + LINE), "note", key);
    sheet.sentence(bottom + 63.0, "Green: as in the paper. Red: the paper has it otherwise.");
    sheet.finish()
}

fn draw_cell(canvas: &mut Canvas, (x, y): (f64, f64), ratio: Option<f64>, row: &Row) {
    let agrees = ratio.map(|ratio| is_cross(ratio, row) == said(row));
    let fill = match agrees {
        Some(true) => "fill:var(--good-bg)",
        Some(false) => "fill:var(--bad-bg)",
        None => "fill:var(--grid)",
    };
    canvas.card((x + 3.0, y + 3.0), (CELL.0 - 6.0, CELL.1 - 6.0), "", fill);
    let text = ratio.map_or("not run".into(), three_digits);
    let crossed = ratio.is_some_and(|ratio| is_cross(ratio, row));
    if crossed {
        cross(canvas, (x + 26.0, y + 26.0));
    }
    canvas.text((x + 44.0, y + 31.0), "label", &text);
    let paper = if said(row) { "paper: a cross" } else { "paper: a blank" };
    canvas.text((x + 44.0, y + 47.0), "note", paper);
}

fn cross(canvas: &mut Canvas, (x, y): (f64, f64)) {
    let [left, right, top, bottom] = [x - 6.0, x + 6.0, y - 6.0, y + 6.0].map(px);
    canvas.shape(
        &format!("M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"),
        "said",
        "",
    );
}

/// A ratio to three digits.
fn three_digits(ratio: f64) -> String {
    match ratio {
        _ if ratio >= 100.0 => format!("{ratio:.0}"),
        _ if ratio >= 10.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picture of the page is that of the page's numbers. Rewrite it with `FOREBAY_BLESS=1 cargo test -p forebay-validate --lib table`.
    #[test]
    fn the_picture_of_the_page_has_the_numbers_of_the_page() {
        let page = include_str!("../../../../docs/papers/pcc-dilemma.md");
        let lines: Vec<&str> = page
            .lines()
            .skip_while(|line| !line.starts_with("| | ExpressPass"))
            .skip(2)
            .take(4)
            .collect();
        let number = |cell: &str| -> f64 {
            let digits: String = cell
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            digits.parse().expect("each cell has a number")
        };
        let mut measured = MeasuredRows::new();
        for (line, (id, _)) in lines.iter().zip(LINES) {
            let cells = line.split('|').skip(2);
            for (cell, (scheme, _)) in cells.zip(PROACTIVE) {
                measured.insert(format!("table1-{id}-{scheme}"), number(cell));
            }
        }
        let picture = table_1(&measured).expect("all cells are there");
        let title = picture.split_once("table 1: ").expect("it has a title").1;
        let shares = title.split_once(" as published").expect("the title ends so").0;
        assert!(page.contains(shares), "the page says {shares}");
        crate::recorded::tests::check("pcc-dilemma-table1.svg", &picture);
    }

    /// A part that was not run leaves its cells open, and a table without a number is none.
    #[test]
    fn parts_that_were_not_run_leave_their_cells_open() {
        let mut measured = MeasuredRows::new();
        assert_eq!(table_1(&measured), None);
        measured.insert("table1-incast-ndp", 4.5);
        let picture = table_1(&measured).expect("one cell is there");
        assert_eq!(picture.matches(">not run<").count(), 15);
        assert!(
            picture.contains("Dilemma, table 1: 0 of 0 crosses and 0 of 1 blanks as published")
                && picture.contains(">4.50<")
        );
    }
}
