//! The task loss: the MEAN over training nodes, so that step sizes do not depend on their number.
//!
//! With `z` the logits of a node, `C` their number, `w` the class weights (1 if none are given), `e` the smoothing:
//!
//! ```text
//! one class y        l = sum_c t_c (ln sum_j exp z_j - z_c),   t_c = (1 - e) w_y [c = y] + e w_c / C
//!                    dl/dz_c = (sum_j t_j) softmax(z)_c - t_c
//!                    L = sum_i l_i / sum_i w_{y_i}
//! several labels     l = sum_c w_c t_c ln(1 + exp(-z_c)) + (1 - t_c) ln(1 + exp z_c),   t_c = (1 - e) y_c + e / 2
//!                    dl/dz_c = (w_c t_c + 1 - t_c) sigmoid(z_c) - w_c t_c
//!                    L = sum_i l_i / number of known (node, label) pairs
//! ```
//!
//! The first is PyTorch's `CrossEntropyLoss(weight, label_smoothing)`, the second its
//! `BCEWithLogitsLoss(pos_weight)` over the known labels. Sums run over the training nodes, the sums of `l` over
//! labels that are known. The code works a row at a time: whoever owns the logits loops and adds up.

#![expect(clippy::inline_always, reason = "the caller decides which instructions the loops may use")]

use crate::kernels::vecmath::{exp, sigmoid_and_log};
use crate::kernels::{self, Work, prefetch, prefetch_row};
use crate::{Error, Labels, Real, Result};
use serde::{Deserialize, Serialize};

#[cfg(test)]
#[path = "../tests/golden/cases.rs"]
pub(crate) mod cases;

/// Sums are kept in this many parts, so that additions need not wait for each other.
const LANES: usize = 16;

/// How the labels are weighed.
///
/// ```
/// use iglu::loss::LossOptions;
/// let options = LossOptions { smoothing: 0.1, ..Default::default() };
/// assert!(options.class_weights.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossOptions {
    /// Weight of each class; for several labels the weight of a yes to each. Empty = 1 for all.
    pub class_weights: Vec<f64>,
    /// Share of the target that is spread evenly over the answers, 0 <= smoothing < 1.
    pub smoothing: f64,
}

/// The loss of one problem, ready to be asked for single nodes.
///
/// ```
/// use iglu::{Labels, loss::{LossOptions, TaskLoss}};
/// let labels = Labels::Classes { ids: vec![1, 0], classes: 2 };
/// let loss = TaskLoss::new(&labels, &[0, 1], &LossOptions::default())?;
/// let mut gradient = [0.0; 2];
/// let value = loss.row(0, &[0.0, 0.0], &mut gradient);
/// assert!((value - 2f64.ln() / 2.0).abs() < 1e-6);
/// assert!((gradient[0] - 0.25).abs() < 1e-6 && (gradient[1] + 0.25).abs() < 1e-6);
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TaskLoss<'a> {
    labels: &'a Labels,
    /// One per class.
    weights: Vec<Real>,
    smoothing: Real,
    denominator: f64,
}

impl<'a> TaskLoss<'a> {
    /// The mean loss over the training nodes `rows`; unlabelled ones do not count.
    pub fn new(labels: &'a Labels, rows: &[u32], options: &LossOptions) -> Result<Self> {
        check_options(options, labels.classes())?;
        check_ids(labels)?;
        let weights = match options.class_weights.as_slice() {
            [] => vec![1.0; labels.classes()],
            given => given.iter().map(|&w| w as Real).collect(),
        };
        let denominator = total_weight(labels, rows, &weights);
        if denominator > 0.0 {
            return Ok(Self { labels, weights, smoothing: options.smoothing as Real, denominator });
        }
        let found = format!("the {} training nodes have no label with a weight above 0", rows.len());
        Err(Error::data("train", found, "list labelled nodes, and give their classes weights"))
    }

    /// What the sum over the training nodes is divided by: their weight, or their number of known labels.
    pub fn denominator(&self) -> f64 {
        self.denominator
    }

    /// Loss of node `i` over [`denominator`](Self::denominator); its gradient, scaled alike, is written to `grad`.
    /// Nothing known of the node: 0 and zeros.
    pub fn row(&self, i: usize, logits: &[Real], grad: &mut [Real]) -> f64 {
        kernels::run(Row { loss: self, i, logits, grad })
    }

    /// Asks for the labels of node `i` ahead of their use.
    pub(crate) fn prefetch(&self, i: usize) {
        match self.labels {
            Labels::Classes { ids, .. } => prefetch(ids, i),
            Labels::Multi { values, classes } => prefetch_row(values, i * classes, *classes),
        }
    }

    #[inline(always)]
    fn row_of<const FMA: bool>(&self, i: usize, logits: &[Real], grad: &mut [Real]) -> f64 {
        let c = self.weights.len();
        assert_eq!(
            (logits.len(), grad.len()),
            (c, c),
            "one logit and one derivative for each of {c} classes"
        );
        match self.labels {
            Labels::Classes { ids, .. } if ids[i] < 0 => {
                grad.fill(0.0);
                0.0
            }
            Labels::Classes { ids, .. } => self.softmax::<FMA>(ids[i] as usize, logits, grad),
            Labels::Multi { values, .. } => self.sigmoids::<FMA>(&values[i * c..(i + 1) * c], logits, grad),
        }
    }

    #[inline(always)]
    fn softmax<const FMA: bool>(&self, y: usize, z: &[Real], grad: &mut [Real]) -> f64 {
        let high = largest(z);
        for (grad, z) in grad.chunks_mut(LANES).zip(z.chunks(LANES)) {
            // No `map`, which is not always inlined.
            let mut powers = whole(z, high);
            for z in &mut powers {
                *z = exp::<FMA>(*z - high);
            }
            grad.copy_from_slice(&powers[..grad.len()]);
        }
        let sum = f64::from(sum_of(grad));
        let [one, spread] = self.targets(y);
        let share = (one + spread * self.spread_weight()) / sum / self.denominator;
        for (g, &w) in grad.iter_mut().zip(&self.weights) {
            *g = share as Real * *g - (spread / self.denominator) as Real * w;
        }
        grad[y] -= (one / self.denominator) as Real;
        let log_sum = sum.ln();
        let below = |z: Real| log_sum + f64::from(high - z);
        let mut value = one * below(z[y]);
        if spread > 0.0 {
            let all = self.weights.iter().zip(z);
            value += spread * all.map(|(&w, &z)| f64::from(w) * below(z)).sum::<f64>();
        }
        value / self.denominator
    }

    /// The target of class `c` is `one [c = y] + spread w_c`.
    #[inline(always)]
    fn targets(&self, y: usize) -> [f64; 2] {
        let e = f64::from(self.smoothing);
        [(1.0 - e) * f64::from(self.weights[y]), e / self.weights.len() as f64]
    }

    /// `sum_c w_c`, needed only with smoothing.
    #[inline(always)]
    fn spread_weight(&self) -> f64 {
        if self.smoothing > 0.0 { f64::from(sum_of(&self.weights)) } else { 0.0 }
    }

    #[inline(always)]
    fn sigmoids<const FMA: bool>(&self, labels: &[i8], z: &[Real], grad: &mut [Real]) -> f64 {
        let mut sums = [0.0; LANES];
        let known = labels.chunks(LANES).zip(z.chunks(LANES)).zip(self.weights.chunks(LANES));
        for (grad, ((y, z), w)) in grad.chunks_mut(LANES).zip(known) {
            let known = (whole(y, -1), whole(z, 0.0), whole(w, 0.0));
            grad.copy_from_slice(&self.add_sigmoids::<FMA>(&mut sums, known)[..grad.len()]);
        }
        f64::from(sums.iter().sum::<Real>()) / self.denominator
    }

    /// The derivatives of some labels, with `ln(1 + exp z) = max(z, 0) + ln(1 + exp(-|z|))`.
    #[inline(always)]
    fn add_sigmoids<const FMA: bool>(
        &self,
        sums: &mut [Real; LANES],
        (y, z, w): ([i8; LANES], [Real; LANES], [Real; LANES]),
    ) -> [Real; LANES] {
        let scale = (1.0 / self.denominator) as Real;
        let mut derivatives = [0.0; LANES];
        for j in 0..LANES {
            let [yes, no] = answers(y[j], w[j], self.smoothing);
            let [share, log] = sigmoid_and_log::<FMA>(z[j]);
            let distance = if z[j] > 0.0 { no } else { yes } * z[j].abs();
            sums[j] += distance + (yes + no) * log;
            derivatives[j] = scale * ((yes + no) * share - yes);
        }
        derivatives
    }
}

/// A chunk, filled up where it is the last.
#[inline(always)]
fn whole<T: Copy>(chunk: &[T], rest: T) -> [T; LANES] {
    chunk.as_chunks().0.first().copied().unwrap_or_else(|| {
        let mut out = [rest; LANES];
        out[..chunk.len()].copy_from_slice(chunk);
        out
    })
}

/// [`TaskLoss::row`], to be done.
struct Row<'r, 'l> {
    loss: &'r TaskLoss<'l>,
    i: usize,
    logits: &'r [Real],
    grad: &'r mut [Real],
}

impl Work for Row<'_, '_> {
    type Out = f64;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        self.loss.row_of::<FMA>(self.i, self.logits, self.grad)
    }
}

/// Weights of yes and no as the target of one label; both 0 if it is unknown.
#[inline(always)]
fn answers(label: i8, weight: Real, smoothing: Real) -> [Real; 2] {
    let known = if label < 0 { 0.0 } else { 1.0 };
    let target = if label > 0 { 1.0 - 0.5 * smoothing } else { 0.5 * smoothing };
    [known * weight * target, known * (1.0 - target)]
}

#[inline(always)]
fn largest(z: &[Real]) -> Real {
    let larger = |a: Real, b: Real| if b > a { b } else { a };
    fold_lanes(z, Real::NEG_INFINITY, larger).into_iter().fold(Real::NEG_INFINITY, larger)
}

#[inline(always)]
fn sum_of(values: &[Real]) -> Real {
    fold_lanes(values, 0.0, |sum, x| sum + x).iter().sum()
}

/// Folds values 0, 16, 32, .. into the first result, 1, 17, 33, .. into the second, and so on.
#[inline(always)]
fn fold_lanes(values: &[Real], start: Real, f: impl Fn(Real, Real) -> Real) -> [Real; LANES] {
    let mut lanes = [start; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = f(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = f(*lane, x);
    }
    lanes
}

fn check_options(options: &LossOptions, classes: usize) -> Result<()> {
    let LossOptions { class_weights, smoothing } = options;
    if !(0.0..1.0).contains(smoothing) {
        let found = format!("{smoothing}, expected 0 <= smoothing < 1");
        return Err(Error::usage("smoothing", found, "0.1 is usual, 0 turns it off"));
    }
    if !class_weights.is_empty() && class_weights.len() != classes {
        let found = format!("{} weights for {classes} classes", class_weights.len());
        return Err(Error::usage("class_weights", found, "give one weight per class, or none"));
    }
    match class_weights.iter().position(|&w| !(w >= 0.0 && w.is_finite())) {
        None => Ok(()),
        Some(c) => {
            let found =
                format!("class {c} has weight {}, expected a finite number, 0 or larger", class_weights[c]);
            Err(Error::usage("class_weights", found, "give 0 to a class that shall not count"))
        }
    }
}

fn check_ids(labels: &Labels) -> Result<()> {
    let Labels::Classes { ids, classes } = labels else { return Ok(()) };
    match ids.iter().position(|&y| y >= 0 && y as usize >= *classes) {
        None => Ok(()),
        Some(i) => {
            let found = format!("class {}, but there are {classes} classes", ids[i]);
            Err(Error::data(format!("y: row {i}"), found, "classes start at 0; -1 means unlabelled"))
        }
    }
}

fn total_weight(labels: &Labels, rows: &[u32], weights: &[Real]) -> f64 {
    let nodes = rows.iter().map(|&i| i as usize);
    match labels {
        Labels::Classes { ids, .. } => {
            nodes.filter(|&i| ids[i] >= 0).map(|i| f64::from(weights[ids[i] as usize])).sum()
        }
        Labels::Multi { values, classes } => {
            nodes.map(|i| known(&values[i * classes..(i + 1) * classes]) as f64).sum()
        }
    }
}

fn known(labels: &[i8]) -> usize {
    labels.iter().filter(|&&y| y >= 0).count()
}

/// Class weights under which every class (or the yes and the no of every label) counts alike among `rows`.
///
/// One class per node: `n / (present classes * n_c)`, as scikit-learn's "balanced". Several labels: `no / yes`. A
/// class that never occurs, and a label with only one answer, has weight 1.
///
/// ```
/// use iglu::{Labels, loss::balanced_weights};
/// let labels = Labels::Classes { ids: vec![0, 0, 0, 1], classes: 3 };
/// assert_eq!(balanced_weights(&labels, &[0, 1, 2, 3]), [4.0 / 6.0, 2.0, 1.0]);
/// ```
pub fn balanced_weights(labels: &Labels, rows: &[u32]) -> Vec<f64> {
    let ratio = |a: usize, b: usize| if a > 0 && b > 0 { a as f64 / b as f64 } else { 1.0 };
    match labels {
        Labels::Classes { ids, classes } => {
            let mut counts = vec![0; *classes];
            rows.iter().filter_map(|&i| usize::try_from(ids[i as usize]).ok()).for_each(|y| counts[y] += 1);
            let present = counts.iter().filter(|&&n| n > 0).count();
            let nodes: usize = counts.iter().sum();
            counts.iter().map(|&n| ratio(nodes, present * n)).collect()
        }
        Labels::Multi { values, classes } => {
            let mut counts = vec![[0, 0]; *classes];
            for &i in rows {
                let row = &values[i as usize * classes..];
                for (count, &y) in counts.iter_mut().zip(row).filter(|(_, y)| **y >= 0) {
                    count[usize::from(y > 0)] += 1;
                }
            }
            counts.iter().map(|&[no, yes]| ratio(no, yes)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cases::{Case, cases};
    use super::{LossOptions, TaskLoss, balanced_weights};
    use crate::{Error, Labels, Real};

    const TOLERANCE: f64 = if cfg!(feature = "f64") { 1e-12 } else { 1e-6 };

    fn labels(case: &Case<'_>) -> Labels {
        let (numbers, classes) = (case.numbers("labels"), case.numbers("classes")[0] as usize);
        match case.text("kind") {
            "classes" => Labels::Classes { ids: numbers.iter().map(|&y| y as i32).collect(), classes },
            _ => Labels::Multi { values: numbers.iter().map(|&y| y as i8).collect(), classes },
        }
    }

    /// Value and gradient of all rows, by the instructions that there are.
    fn evaluate(loss: &TaskLoss<'_>, logits: &[Real], classes: usize) -> (f64, Vec<Real>) {
        // Rows must be overwritten, not added to.
        let mut grad = vec![7.0; logits.len()];
        let rows = logits.chunks(classes).zip(grad.chunks_mut(classes)).enumerate();
        (rows.map(|(i, (z, g))| loss.row(i, z, g)).sum(), grad)
    }

    /// The same by instructions that any machine has.
    fn evaluate_plainly(loss: &TaskLoss<'_>, logits: &[Real], classes: usize) -> (f64, Vec<Real>) {
        let mut grad = vec![7.0; logits.len()];
        let rows = logits.chunks(classes).zip(grad.chunks_mut(classes)).enumerate();
        (rows.map(|(i, (z, g))| loss.row_of::<false>(i, z, g)).sum(), grad)
    }

    #[test]
    fn values_and_gradients_agree_with_pytorch() {
        for case in cases(include_str!("../tests/golden/loss.txt")) {
            let labels = labels(&case);
            let rows: Vec<u32> = (0..labels.len() as u32).collect();
            let options = LossOptions {
                class_weights: case.numbers("weights"),
                smoothing: case.numbers("smoothing")[0],
            };
            let loss = TaskLoss::new(&labels, &rows, &options).unwrap();
            let logits: Vec<Real> = case.numbers("logits").iter().map(|&z| z as Real).collect();
            let expected = case.numbers("loss")[0];
            for (value, grad) in [evaluate, evaluate_plainly].map(|e| e(&loss, &logits, labels.classes())) {
                let close = (value - expected).abs() < TOLERANCE * expected.max(1.0);
                assert!(close, "{}: {value}, not {expected}", case.name);
                for (&found, expected) in grad.iter().zip(case.numbers("grad")) {
                    let close = (f64::from(found) - expected).abs() < TOLERANCE;
                    assert!(close, "{}: derivative {found}, not {expected}", case.name);
                }
            }
        }
    }

    #[test]
    fn the_mean_is_over_the_labelled_training_nodes() {
        let labels = Labels::Classes { ids: vec![0, 1, -1, 1], classes: 2 };
        let weighted = LossOptions { class_weights: vec![3.0, 0.5], ..Default::default() };
        let denominator =
            |options: &LossOptions| TaskLoss::new(&labels, &[0, 1, 2], options).unwrap().denominator();
        assert_eq!(denominator(&LossOptions::default()), 2.0);
        assert_eq!(denominator(&weighted), 3.5);
        let labels = Labels::Multi { values: vec![1, -1, 0, -1, -1, -1], classes: 3 };
        assert_eq!(TaskLoss::new(&labels, &[0, 1], &LossOptions::default()).unwrap().denominator(), 2.0);
    }

    #[test]
    fn a_confident_mistake_is_large_and_finite() {
        let labels = Labels::Classes { ids: vec![1], classes: 2 };
        let loss = TaskLoss::new(&labels, &[0], &LossOptions::default()).unwrap();
        let mut grad = [0.0; 2];
        assert_eq!(loss.row(0, &[1e30, -1e30], &mut grad), f64::from(1e30 as Real) + f64::from(1e30 as Real));
        assert_eq!(grad, [1.0, -1.0]);
        assert!(loss.row(0, &[Real::NAN, 0.0], &mut grad).is_nan());
    }

    #[test]
    fn options_that_do_not_fit_are_refused() {
        let labels = Labels::Classes { ids: vec![0, 2, -1], classes: 3 };
        let refused = |class_weights: &[f64], smoothing: f64| {
            let options = LossOptions { class_weights: class_weights.into(), smoothing };
            let error = TaskLoss::new(&labels, &[0, 1], &options).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
            error.to_string()
        };
        assert!(refused(&[1.0], 0.0).contains("1 weights for 3 classes"));
        assert!(refused(&[1.0, -1.0, 1.0], 0.0).contains("class 1 has weight -1"));
        assert!(refused(&[], 1.0).contains("expected 0 <= smoothing < 1"));
        assert!(refused(&[], f64::NAN).contains("NaN"));
    }

    #[test]
    fn labels_that_cannot_be_learned_are_refused() {
        let refused = |ids: &[i32], classes: usize| {
            let labels = Labels::Classes { ids: ids.into(), classes };
            TaskLoss::new(&labels, &[0], &LossOptions::default()).unwrap_err().to_string()
        };
        assert!(refused(&[-1, 0], 2).contains("no label"));
        assert!(refused(&[0, 2], 2).contains("y: row 1: class 2"));
    }

    #[test]
    fn balanced_labels_have_as_much_yes_as_no() {
        let labels = Labels::Multi { values: vec![1, 0, 1, 0, 0, 1, 0, -1, 1], classes: 3 };
        assert_eq!(balanced_weights(&labels, &[0, 1, 2]), [2.0, 1.0, 1.0]);
    }
}
