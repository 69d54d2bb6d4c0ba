//! A confusion matrix: rows are true classes, columns predicted ones; a cell is as dark as its share of the row. As
//! wide as its classes need, not as other plots.

use super::canvas::{Anchor, Canvas, Frame, text_width};
use crate::escape;
use crate::numbers::shortened;

/// Up to this many classes cells have their numbers in them.
const NUMBERED: usize = 16;
/// Up to this many classes rows and columns have their names.
const NAMED: usize = 32;

/// A plot of who is taken for whom.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// What it shows.
    pub title: String,
    /// Names of the classes.
    pub names: Vec<String>,
    /// `[true, predicted, count]` of the cells that are not empty.
    pub cells: Vec<[usize; 3]>,
}

/// Where cells lie.
struct Grid {
    size: f64,
    left: f64,
    top: f64,
}

impl Matrix {
    /// The picture; nothing without classes.
    pub fn svg(&self, frame: Frame) -> Option<String> {
        let n = self.names.len();
        if n == 0 || self.cells.is_empty() {
            return None;
        }
        let names: Vec<String> = self.names.iter().map(|name| shortened(name, 20)).collect();
        let longest = names.iter().map(|n| text_width(n, 11.0)).fold(16.0, f64::max);
        let size = (560.0 / n as f64).clamp(9.0, 34.0);
        // Column names lean to the right at 60 degrees.
        let grid = Grid { size, left: 12.0 + longest, top: 10.0 + longest * 0.87 };
        let mut canvas = Canvas::default();
        draw_names(&mut canvas, &grid, &names);
        self.draw_cells(&mut canvas, &grid);
        let side = size * n as f64;
        let (left, top) = (grid.left, grid.top);
        canvas.add(format_args!(
            r#"<rect class="frame" x="{left:.1}" y="{top:.1}" width="{side:.1}" height="{side:.1}"/>"#
        ));
        Some(canvas.finish(frame, &self.title, [left + side + longest * 0.5 + 8.0, top + side + 8.0]))
    }

    fn draw_cells(&self, canvas: &mut Canvas, grid: &Grid) {
        let n = self.names.len();
        let mut totals = vec![0.0; n];
        let inside = self.cells.iter().filter(|[t, p, _]| *t < n && *p < n);
        inside.clone().for_each(|[t, _, count]| totals[*t] += *count as f64);
        for &[truth, prediction, count] in inside {
            let share = count as f64 / totals[truth].max(1.0);
            let (x, y) = (grid.left + grid.size * prediction as f64, grid.top + grid.size * truth as f64);
            let kind = if truth == prediction { "right" } else { "wrong" };
            let [truly, predicted] = [truth, prediction].map(|c| escape(&self.names[c]));
            // Even one node in a thousand is seen.
            let opacity = 0.12 + 0.88 * share;
            let (size, percent) = (grid.size, 100.0 * share);
            canvas.add(format_args!(
                r#"<rect class="cell {kind}" x="{x:.1}" y="{y:.1}" width="{size:.1}" height="{size:.1}" fill-opacity="{opacity:.2}"><title>{truly} taken for {predicted}: {count} ({percent:.1} %)</title></rect>"#
            ));
            if n <= NUMBERED {
                let class = if share > 0.5 { "inside strong" } else { "inside" };
                let at = [x + size / 2.0, y + size / 2.0 + 3.5];
                canvas.text(class, at, Anchor::Middle, &super::ticks::short(count as f64));
            }
        }
    }
}

fn draw_names(canvas: &mut Canvas, grid: &Grid, names: &[String]) {
    let every = if names.len() <= NAMED { 1 } else { 5 };
    for (class, name) in names.iter().enumerate().step_by(every) {
        let middle = grid.size * (class as f64 + 0.5) + 4.0;
        canvas.text("tick", [grid.left - 6.0, grid.top + middle], Anchor::End, name);
        let (x, y) = (grid.left + middle, grid.top - 6.0);
        let name = escape(name);
        canvas.add(format_args!(
            r#"<text class="tick" transform="translate({x:.1} {y:.1}) rotate(-60)">{name}</text>"#
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_dark_as_their_share_and_names_are_escaped() {
        let names = ["<a>", "b"].map(String::from).to_vec();
        let matrix =
            Matrix { title: "m".into(), names, cells: vec![[0, 0, 3], [0, 1, 1], [1, 1, 5], [7, 0, 1]] };
        let svg = matrix.svg(Frame::Page).unwrap();
        assert_eq!(svg.matches("class=\"cell").count(), 3);
        assert!(svg.contains("&lt;a&gt; taken for b: 1 (25.0 %)") && !svg.contains("<a>"), "{svg}");
        assert!(svg.contains("fill-opacity=\"0.78\"") && svg.contains("fill-opacity=\"1.00\""), "{svg}");
        assert!(Matrix::default().svg(Frame::Page).is_none());
    }
}
