//! Horizontal bars with names: shares of a whole, or counts in parts.

use super::canvas::{Anchor, Canvas, Frame, Key, Sign, WIDTH, colour, legend, text_width};
use crate::numbers::shortened;

const ROW: f64 = 20.0;
/// Widest column of names, in letters.
const NAME: usize = 24;

/// One row.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    /// What it stands for.
    pub name: String,
    /// Lengths of its parts.
    pub parts: Vec<f64>,
    /// What stands at its end.
    pub note: String,
}

/// A plot of horizontal bars.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// Names of the parts; one part needs none.
    pub parts: Vec<String>,
    /// The rows, from the top.
    pub bars: Vec<Bar>,
}

impl Bars {
    /// The picture; nothing if all bars are empty.
    pub fn svg(&self, frame: Frame) -> Option<String> {
        let longest = self.bars.iter().map(|b| b.parts.iter().sum::<f64>()).fold(0.0, f64::max);
        if longest <= 0.0 || !longest.is_finite() {
            return None;
        }
        let mut canvas = Canvas::default();
        let names: Vec<String> = self.bars.iter().map(|b| shortened(&b.name, NAME)).collect();
        let left = 8.0 + names.iter().map(|n| text_width(n, 12.0)).fold(20.0, f64::max);
        let notes = 10.0 + self.bars.iter().map(|b| text_width(&b.note, 11.0)).fold(0.0, f64::max);
        let top = legend(&mut canvas, &self.keys(), 0.0, 0.0);
        let scale = (WIDTH - left - notes) / longest;
        for (row, (bar, name)) in self.bars.iter().zip(&names).enumerate() {
            let y = top + ROW * row as f64;
            canvas.text("name", [left - 7.0, y + 14.0], Anchor::End, name);
            let end = self.draw_parts(&mut canvas, bar, [left, y + 3.0], scale);
            canvas.text("tick", [end + 5.0, y + 14.0], Anchor::Start, &bar.note);
        }
        let height = top + ROW * self.bars.len() as f64 + 4.0;
        canvas.line("frame", [left, top], [left, height - 4.0]);
        Some(canvas.finish(frame, &self.title, [WIDTH, height]))
    }

    /// Draws one row and returns where it ends.
    fn draw_parts(&self, canvas: &mut Canvas, bar: &Bar, [mut x, y]: [f64; 2], scale: f64) -> f64 {
        for (part, &length) in bar.parts.iter().enumerate() {
            let what = self.parts.get(part).map_or(String::new(), |name| format!(", {name} {length}"));
            let tip = format!("{}{what}: {}", bar.name, bar.note);
            let width = length * scale;
            canvas.rect(&format!("bar {}", colour(part)), [x, y], [width, ROW - 6.0], &tip);
            x += width;
        }
        x
    }

    fn keys(&self) -> Vec<Key> {
        let key =
            |(i, name): (usize, &String)| Key { sign: Sign::Line, class: colour(i), name: name.clone() };
        self.parts.iter().enumerate().map(key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_the_length_of_their_parts() {
        let bar =
            |name: &str, parts: &[f64]| Bar { name: name.into(), parts: parts.to_vec(), note: "n".into() };
        let bars = Bars {
            title: "t".into(),
            parts: vec!["x".into(), "y".into()],
            bars: vec![bar("<a>", &[1.0, 3.0]), bar("b", &[2.0, 0.0])],
        };
        let svg = bars.svg(Frame::Page).unwrap();
        let width = |at: usize| -> f64 {
            let part = svg.split("<rect").nth(at + 1).unwrap();
            part.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!((width(1) / width(0) - 3.0).abs() < 0.01 && (width(2) / width(0) - 2.0).abs() < 0.01);
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>"));
        assert!(Bars { bars: vec![bar("a", &[0.0])], ..Bars::default() }.svg(Frame::Page).is_none());
    }
}
