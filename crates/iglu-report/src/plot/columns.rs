//! Columns over named bins: histograms.

use super::canvas::{Anchor, Canvas, Frame, WIDTH, colour, text_width};
use super::ticks::{self, Scale, Values};

const HEIGHT: f64 = 190.0;
/// From this ratio of the largest to the smallest column on, small ones are shown by a logarithmic axis.
const UNEVEN: f64 = 50.0;

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// What stands below it.
    pub label: String,
    /// Its height.
    pub value: f64,
    /// What is said when it is pointed at.
    pub tip: String,
}

/// A plot of columns.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// What it shows.
    pub title: String,
    /// What the bins are.
    pub x: String,
    /// What is counted.
    pub y: String,
    /// The columns, from the left.
    pub columns: Vec<Column>,
}

impl Columns {
    /// The picture; nothing if all columns are empty.
    pub fn svg(&self, frame: Frame) -> Option<String> {
        let values = || self.columns.iter().map(|c| c.value).filter(|v| *v > 0.0);
        let high = values().reduce(f64::max)?;
        let low = values().reduce(f64::min)?;
        let scale = if high / low > UNEVEN { Scale::Log } else { Scale::Linear };
        let (base, ticks) = match scale {
            Scale::Linear => (0.0, ticks::linear([0.0, high], 5, Values::Whole)),
            Scale::Log => (low / 2.0, ticks::log(low / 2.0, high)),
        };
        let share = |v: f64| match scale {
            Scale::Linear => v / high,
            Scale::Log => (v / base).ln().max(0.0) / (high / base).ln(),
        };
        let labels = ticks::labels(&ticks, scale);
        let left = 10.0 + labels.iter().map(|l| text_width(l, 11.0)).fold(14.0, f64::max);
        let (top, bottom) = (20.0, 20.0 + HEIGHT);
        let mut canvas = Canvas::default();
        for (value, label) in ticks.iter().zip(&labels) {
            let y = bottom - share(*value) * HEIGHT;
            canvas.line("grid", [left, y], [WIDTH, y]);
            canvas.text("tick", [left - 6.0, y + 4.0], Anchor::End, label);
        }
        self.draw_columns(&mut canvas, [left, bottom], share);
        canvas.line("frame", [left, bottom], [WIDTH, bottom]);
        canvas.line("frame", [left, top], [left, bottom]);
        let scale = if scale == Scale::Log { " (logarithmic)" } else { "" };
        canvas.text("label", [left - 6.0, top - 7.0], Anchor::Start, &format!("{}{scale}", self.y));
        canvas.text("label", [WIDTH, bottom + 32.0], Anchor::End, &self.x);
        Some(canvas.finish(frame, &self.title, [WIDTH, bottom + 38.0]))
    }

    fn draw_columns(&self, canvas: &mut Canvas, [left, bottom]: [f64; 2], share: impl Fn(f64) -> f64) {
        let each = (WIDTH - left - 6.0) / self.columns.len() as f64;
        let mut free_from = f64::NEG_INFINITY;
        for (i, column) in self.columns.iter().enumerate() {
            let x = left + 6.0 + each * i as f64;
            let height = share(column.value) * HEIGHT;
            if column.value > 0.0 {
                let class = format!("bar {}", colour(0));
                canvas.rect(&class, [x, bottom - height], [(each - 2.0).max(1.0), height], &column.tip);
            }
            let (middle, half) = (x + each / 2.0 - 1.0, text_width(&column.label, 11.0) / 2.0);
            if middle - half > free_from {
                canvas.text("tick", [middle, bottom + 15.0], Anchor::Middle, &column.label);
                free_from = middle + half + 5.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(values: &[f64]) -> Columns {
        let column = |&value: &f64| Column { label: "bin".into(), value, tip: format!("{value} nodes") };
        Columns { y: "nodes".into(), columns: values.iter().map(column).collect(), ..Columns::default() }
    }

    #[test]
    fn uneven_columns_get_a_logarithmic_axis_and_empty_ones_nothing() {
        let even = columns(&[1.0, 2.0, 0.0]).svg(Frame::Page).unwrap();
        assert_eq!(even.matches("<rect").count(), 2);
        assert!(!even.contains("logarithmic"));
        let uneven = columns(&[1.0, 1e4]).svg(Frame::Page).unwrap();
        assert!(uneven.contains("nodes (logarithmic)") && !uneven.contains("NaN"));
        assert!(columns(&[0.0]).svg(Frame::Page).is_none());
    }

    #[test]
    fn crowded_labels_are_left_out() {
        let svg = columns(&[1.0; 100]).svg(Frame::Page).unwrap();
        assert!(svg.matches(">bin<").count() < 25, "{}", svg.matches(">bin<").count());
    }
}
