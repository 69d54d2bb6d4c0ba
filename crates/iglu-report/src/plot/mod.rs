//! Small SVG plots: curves, bars, columns, matrices. Drawn with classes that one style sheet colours, for light and
//! dark; every value can be read by pointing at it. Knows no runs.

mod bars;
mod canvas;
mod columns;
mod lines;
mod matrix;
mod ticks;

pub use bars::{Bar, Bars};
pub use canvas::{Frame, STYLE};
pub use columns::{Column, Columns};
pub use lines::{Axis, Begin, Lines, Look, Mark, Series};
pub use matrix::Matrix;
pub use ticks::{Scale, Values};
