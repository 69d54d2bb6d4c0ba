//! Curves over an axis, with a legend, round ticks and a tip at every point.

use super::canvas::{Anchor, Canvas, Frame, Key, Sign, WIDTH, colour, legend, text_width};
use super::ticks::{self, Scale, Values, short};

/// Height of the area with the curves.
const HEIGHT: f64 = 190.0;

/// Points of a curve drawn at most; between them the extremes are kept.
const MOST_POINTS: usize = 400;

/// One axis.
#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// What it counts.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Where it begins.
    pub begin: Begin,
    /// What can lie on it.
    pub values: Values,
}

/// Where an axis begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begin {
    /// At the smallest value.
    #[default]
    Smallest,
    /// At 0, so that heights can be compared; linear axes only.
    Zero,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_string(), ..Self::default() }
    }

    /// A linear axis of whole numbers.
    pub fn counting(label: &str) -> Self {
        Self { values: Values::Whole, ..Self::linear(label) }
    }

    /// A linear axis that begins at 0.
    pub fn from_zero(label: &str) -> Self {
        Self { begin: Begin::Zero, ..Self::linear(label) }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// As usual.
    #[default]
    Plain,
    /// Thin and without dots: one of many.
    Thin,
    /// Dashed: of less interest.
    Dashed,
}

/// One curve.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// What the legend calls it; curves of one name share an entry.
    pub name: String,
    /// The points, in order of x; what is not finite interrupts the curve.
    pub points: Vec<[f64; 2]>,
    /// Number of its colour.
    pub colour: usize,
    /// How it is drawn.
    pub look: Look,
}

/// A point that deserves attention; the legend says why.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Where.
    pub at: [f64; 2],
    /// What is to be said.
    pub text: String,
    /// Number of its colour.
    pub colour: usize,
}

/// A plot of curves.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// Points that deserve attention.
    pub marks: Vec<Mark>,
}

/// An axis on the canvas: values `low..high` lie between `from` and `to`.
struct Span {
    scale: Scale,
    values: Values,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Span {
    fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + share * (self.to - self.from)
    }

    fn ticks(&self, count: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => ticks::linear([self.low, self.high], count, self.values),
            Scale::Log => ticks::log(self.low, self.high),
        }
    }
}

/// The two axes.
struct Plane {
    x: Span,
    y: Span,
}

impl Plane {
    fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.x.at(x), self.y.at(y)]
    }
}

impl Lines {
    /// The picture; nothing if there is no point to draw.
    pub fn svg(&self, frame: Frame) -> Option<String> {
        let x = range(self.values(0), &self.x, 0.0)?;
        let y = range(self.values(1), &self.y, 0.06)?;
        let mut canvas = Canvas::default();
        let mut y =
            Span { scale: self.y.scale, values: self.y.values, low: y[0], high: y[1], from: 0.0, to: 0.0 };
        let y_ticks = y.ticks(6);
        let y_labels = ticks::labels(&y_ticks, self.y.scale);
        let left = 10.0 + y_labels.iter().map(|l| text_width(l, 11.0)).fold(14.0, f64::max);
        let top = 18.0 + legend(&mut canvas, &self.keys(), left, 0.0);
        (y.from, y.to) = (top + HEIGHT, top);
        let x = Span {
            scale: self.x.scale,
            values: self.x.values,
            low: x[0],
            high: x[1],
            from: left + 6.0,
            to: WIDTH - 10.0,
        };
        let plane = Plane { x, y };
        self.draw_axes(&mut canvas, &plane, &y_ticks, &y_labels);
        self.series.iter().for_each(|s| self.draw_series(&mut canvas, &plane, s));
        for mark in &self.marks {
            canvas.circle(&format!("mark {}", colour(mark.colour)), plane.at(mark.at), 5.0, &mark.text);
        }
        Some(canvas.finish(frame, &self.title, [WIDTH, top + HEIGHT + 38.0]))
    }

    /// Whether a point has a place on both axes.
    fn visible(&self, point: [f64; 2]) -> bool {
        let fits = |v: f64, scale| v.is_finite() && (scale == Scale::Linear || v > 0.0);
        fits(point[0], self.x.scale) && fits(point[1], self.y.scale)
    }

    fn values(&self, axis: usize) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|s| s.points.iter().copied());
        points.filter(|p| self.visible(*p)).map(move |p| p[axis])
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for series in &self.series {
            if !series.name.is_empty() && keys.iter().all(|k| k.name != series.name) {
                keys.push(Key { sign: Sign::Line, class: class(series), name: series.name.clone() });
            }
        }
        let mark = |m: &Mark| Key { sign: Sign::Circle, class: colour(m.colour), name: m.text.clone() };
        keys.extend(self.marks.iter().map(mark));
        keys
    }

    fn draw_axes(&self, canvas: &mut Canvas, plane: &Plane, y_ticks: &[f64], y_labels: &[String]) {
        let (left, right) = (plane.x.from - 6.0, plane.x.to + 6.0);
        let (top, bottom) = (plane.y.to, plane.y.from);
        for (value, label) in y_ticks.iter().zip(y_labels) {
            let y = plane.y.at(*value);
            canvas.line("grid", [left, y], [right, y]);
            canvas.text("tick", [left - 6.0, y + 4.0], Anchor::End, label);
        }
        let x_ticks = apart(plane.x.ticks(6), &plane.x);
        for (value, label) in x_ticks.iter().zip(ticks::labels(&x_ticks, self.x.scale)) {
            let x = plane.x.at(*value);
            canvas.line("grid", [x, top], [x, bottom]);
            canvas.text("tick", [x, bottom + 15.0], Anchor::Middle, &label);
        }
        canvas.line("frame", [left, bottom], [right, bottom]);
        canvas.line("frame", [left, top], [left, bottom]);
        canvas.text("label", [left - 6.0, top - 7.0], Anchor::Start, &self.y.label);
        canvas.text("label", [right, bottom + 32.0], Anchor::End, &self.x.label);
    }

    fn draw_series(&self, canvas: &mut Canvas, plane: &Plane, series: &Series) {
        let points = thinned(&series.points);
        for piece in points.split(|p| !self.visible(*p)).filter(|piece| !piece.is_empty()) {
            let path: Vec<String> = piece.iter().map(|p| place(plane.at(*p))).collect();
            let class = class(series);
            canvas.add(format_args!(r#"<polyline class="curve {class}" points="{}"/>"#, path.join(" ")));
        }
        let radius = if series.look == Look::Thin || points.len() > 30 { 1.6 } else { 2.6 };
        for point in points.iter().filter(|p| self.visible(**p)) {
            let tip = self.tip(series, *point);
            let class = format!("dot {}", colour(series.colour));
            canvas.circle(&class, plane.at(*point), radius, &tip);
        }
    }

    fn tip(&self, series: &Series, [x, y]: [f64; 2]) -> String {
        let name = if series.name.is_empty() { &self.y.label } else { &series.name };
        format!("{name}: {} ({} {})", fine(y), self.x.label, fine(x))
    }
}

fn class(series: &Series) -> String {
    let look = match series.look {
        Look::Plain => "",
        Look::Thin => " thin",
        Look::Dashed => " dashed",
    };
    format!("{}{look}", colour(series.colour))
}

fn place([x, y]: [f64; 2]) -> String {
    format!("{x:.1},{y:.1}")
}

/// A number with four digits that count.
fn fine(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e6 { format!("{value:.0}") } else { four_digits(value) }
}

fn four_digits(value: f64) -> String {
    match value.abs() {
        v if !(1e-3..1e6).contains(&v) => short(value),
        v => {
            let decimals = (3.0 - v.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
    }
}

/// Smallest and largest value, with a share of room around them; `None` without values. Room does not reach below 0
/// where no value does.
fn range(values: impl Iterator<Item = f64>, axis: &Axis, room: f64) -> Option<[f64; 2]> {
    let [mut low, mut high] =
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |r, v| [r[0].min(v), r[1].max(v)]);
    if low > high {
        return None;
    }
    if axis.begin == Begin::Zero {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    Some(match axis.scale {
        Scale::Log => {
            let factor = if low == high { 2.0 } else { (high / low).powf(room) };
            [low / factor, high * factor]
        }
        Scale::Linear => {
            let around = match high - low {
                0.0 if low == 0.0 => 1.1,
                0.0 => 0.1 * low.abs(),
                size => room * size,
            };
            let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
            [(low - around).max(floor), high + around]
        }
    })
}

/// The ticks whose labels do not touch those before them.
fn apart(ticks: Vec<f64>, span: &Span) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    let width = |v: f64| text_width(&short(v), 11.0);
    for tick in ticks {
        let free = kept.last().is_none_or(|&last| {
            span.at(tick) - span.at(last) > f64::midpoint(width(tick), width(last)) + 8.0
        });
        if free {
            kept.push(tick);
        }
    }
    kept
}

/// Few enough points: of each stretch the lowest and the highest, so that no peak is lost.
fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for part in points.chunks(stretch) {
        let by_y = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let ends = [part.iter().min_by(by_y), part.iter().max_by(by_y)];
        let mut ends: Vec<[f64; 2]> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a[0].total_cmp(&b[0]));
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(points: &[[f64; 2]], scale: Scale) -> Lines {
        let series = Series { name: "a<b".into(), points: points.to_vec(), ..Series::default() };
        Lines {
            title: "T & t".into(),
            x: Axis::linear("epoch"),
            y: Axis { scale, ..Axis::linear("loss") },
            series: vec![series],
            ..Lines::default()
        }
    }

    #[test]
    fn a_gap_interrupts_the_curve_and_names_are_escaped() {
        let lines = plot(&[[1.0, 2.0], [2.0, f64::NAN], [3.0, 1.0], [4.0, 3.0]], Scale::Linear);
        let svg = lines.svg(Frame::Page).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(
            svg.contains("a&lt;b: 3 (epoch 4)") && !svg.contains("a<b") && svg.contains("T &amp; t"),
            "{svg}"
        );
    }

    #[test]
    fn log_axes_leave_out_what_has_no_place() {
        let svg = plot(&[[1.0, 0.0], [2.0, 0.1], [3.0, 10.0]], Scale::Log).svg(Frame::Page).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(plot(&[[1.0, 0.0]], Scale::Log).svg(Frame::Page).is_none());
        assert!(plot(&[], Scale::Linear).svg(Frame::Page).is_none());
    }

    #[test]
    fn one_point_and_equal_points_have_a_place() {
        for points in [&[[1.0, 0.0]][..], &[[1.0, 0.5], [2.0, 0.5]]] {
            let svg = plot(points, Scale::Linear).svg(Frame::File).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn thinning_keeps_ends_and_peaks() {
        let mut points: Vec<[f64; 2]> =
            (0..10_000).map(|i| [f64::from(i), 1.0 + f64::from(i) * 1e-6]).collect();
        points[5_003][1] = 9.0;
        points[7_001][1] = -9.0;
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS && kept.is_sorted_by(|a, b| a[0] <= b[0]));
        assert!(kept.contains(&[5_003.0, 9.0]) && kept.contains(&[7_001.0, -9.0]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[9_999]));
    }
}
