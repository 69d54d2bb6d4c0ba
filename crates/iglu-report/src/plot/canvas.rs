//! The pen of all plots: SVG elements with classes, so that the style sheet colours them. Sizes are in units of the
//! view box, about a pixel each.

use crate::escape;
use std::fmt::{Display, Write};

/// Width of every plot. Narrow, so that its letters stay readable on a phone.
pub(super) const WIDTH: f64 = 400.0;

/// Room for the title of a plot that stands alone.
const TITLE: f64 = 28.0;

/// Colours of the style sheet; more series begin again with dashes.
pub(super) const COLOURS: usize = 8;

/// The style of plots that stand alone; pages have it in their own.
pub const STYLE: &str = include_str!("plot.css");

/// Where a plot is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// In a page that has the style and shows the title.
    Page,
    /// As a file of its own.
    File,
}

/// Where a text stands relative to its point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG under construction.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    pub(super) fn add(&mut self, element: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.body, "{element}");
    }

    pub(super) fn line(&mut self, class: &str, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) {
        self.add(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    pub(super) fn text(&mut self, class: &str, [x, y]: [f64; 2], anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.add(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// A circle that tells what it stands for.
    pub(super) fn circle(&mut self, class: &str, [x, y]: [f64; 2], radius: f64, tip: &str) {
        let tip = escape(tip);
        self.add(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="{radius}"><title>{tip}</title></circle>"#
        ));
    }

    /// A rectangle that tells what it stands for.
    pub(super) fn rect(&mut self, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2], tip: &str) {
        let tip = escape(tip);
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"><title>{tip}</title></rect>"#
        ));
    }

    /// The picture; `about` is its title and what is read aloud.
    pub(super) fn finish(self, frame: Frame, about: &str, [width, height]: [f64; 2]) -> String {
        let (label, body) = (escape(about), self.body);
        let attributes = format!(r#"role="img" aria-label="{label}""#);
        if frame == Frame::Page {
            return format!(
                r#"<svg class="plot" {attributes} viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}">{body}</svg>"#
            );
        }
        let full = height + TITLE;
        let size = format!(r#"width="{:.0}" height="{:.0}""#, 2.0 * width, 2.0 * full);
        let head = format!(
            r#"<rect class="ground" y="-{TITLE}" width="100%" height="100%"/><text class="title" x="8" y="-9">{label}</text>"#
        );
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="plot alone" {attributes} viewBox="0 -{TITLE} {width:.0} {full:.0}" {size}><style>{STYLE}</style>{head}{body}</svg>
"#
        )
    }
}

/// About how wide a text of this size is: letters of a sans-serif are a little more than half as wide as high.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 0.56 } else { 0.8 }).sum::<f64>() * size
}

/// How a legend shows what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Line,
    Circle,
}

/// One entry of a legend.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) sign: Sign,
    pub(super) class: String,
    pub(super) name: String,
}

/// Draws a legend in as many rows as it needs, from `left` at `top`; returns its height.
pub(super) fn legend(canvas: &mut Canvas, keys: &[Key], left: f64, top: f64) -> f64 {
    const ROW: f64 = 17.0;
    let (mut x, mut y) = (left, top + 12.0);
    for key in keys {
        let name = crate::numbers::shortened(&key.name, 56);
        let width = 38.0 + text_width(&name, 12.0);
        if x > left && x + width > WIDTH {
            (x, y) = (left, y + ROW);
        }
        match key.sign {
            Sign::Line => canvas.line(&format!("key {}", key.class), [x, y - 4.0], [x + 18.0, y - 4.0]),
            Sign::Circle => canvas.circle(&format!("mark {}", key.class), [x + 9.0, y - 4.0], 4.0, &key.name),
        }
        canvas.text("name", [x + 23.0, y], Anchor::Start, &name);
        x += width;
    }
    if keys.is_empty() { 0.0 } else { y - top + 8.0 }
}

/// The class of colour `index`, which goes round.
pub(super) fn colour(index: usize) -> String {
    let dashed = if (index / COLOURS).is_multiple_of(2) { "" } else { " dashed" };
    format!("c{}{dashed}", index % COLOURS)
}
