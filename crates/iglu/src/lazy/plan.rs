//! An update order as data: a list of four kinds of step, printed on request, interpreted by one engine.
//!
//! With K graph layers and classifier L (algorithm names of the paper; `Y^ = X^L`, `G = alpha^L`):
//!
//! | order | when caches are due | every epoch |
//! |---|---|---|
//! | `inverted` (released) | `A_{K-1} .. A_1` | `T_1 X_1 .. T_{K-1} X_{K-1}`, `Tail(K)`, `X_K` |
//! | `inverted-printed` (Alg. 2) | `X_L A_L .. A_1` | `T_1 X_1 .. T_{L-1} X_{L-1}`, `T_L` |
//! | `backprop` (Alg. 1) | `X_1 .. X_L`, `A_L` | `Tail(L)`, `A_{L-1} T_{L-1} .. A_1 T_1` |
//! | `exact` | | `Tail(1)` on the whole graph |
//!
//! Algorithm 1 is printed with k = K..2, which would never train `E^1`; we go on to 1.

use super::start::start_tail;
use crate::config::{Auto, Config, HIDDEN, Head, Order, Proximal, Start, TrainConfig};
use crate::network::Network;
use crate::{Result, layers};
use std::fmt;

/// One step of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `Z^k` and `X^k` of all rows.
    RefreshX(usize),
    /// `alpha^k` from the layers above (Lemma 1.2).
    RefreshAlpha(usize),
    /// Mini-batches over layer k with frozen `alpha^k` (Lemma 1.1).
    Train(usize),
    /// Layers k..L together on the fresh loss.
    TrainTail(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefreshX(k) => write!(f, "X_{k}"),
            Self::RefreshAlpha(k) => write!(f, "A_{k}"),
            Self::Train(k) => write!(f, "T_{k}"),
            Self::TrainTail(k) => write!(f, "Tail({k})"),
        }
    }
}

/// The steps of an order.
///
/// ```
/// use iglu::config::Order;
/// use iglu::lazy::plan::Plan;
/// let plan = Plan::new(Order::Inverted, 3, 4);
/// assert_eq!(Plan::line(&plan.due), "A_2 A_1");
/// assert_eq!(Plan::line(&plan.every), "T_1 X_1 T_2 X_2 Tail(3) X_3");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Before the first epoch.
    pub initial: Vec<Step>,
    /// When the stale side is due.
    pub due: Vec<Step>,
    /// In every epoch, or part of one.
    pub every: Vec<Step>,
    /// First layer trained on the fresh loss; L + 1 where none is.
    pub tail: usize,
    /// First layer that passes the fresh loss down as alpha and so needs no cached output; L + 1 where the cached
    /// `G` is used instead.
    pub uncached: usize,
}

impl Plan {
    /// The steps for `k` graph layers and classifier `l` (`l == k`: the last graph layer is the classifier).
    pub fn new(order: Order, k: usize, l: usize) -> Self {
        use Step::{RefreshAlpha as A, RefreshX as X, Train as T, TrainTail};
        let upward = |last: usize| (1..=last).flat_map(|i| [T(i), X(i)]);
        match order {
            Order::Inverted => Self {
                initial: (1..k).map(X).collect(),
                due: (1..k).rev().map(A).collect(),
                every: upward(k - 1).chain([TrainTail(k), X(k)]).collect(),
                tail: k,
                uncached: k,
            },
            Order::InvertedPrinted => Self {
                initial: (1..l).map(X).collect(),
                due: std::iter::once(X(l)).chain((1..=l).rev().map(A)).collect(),
                every: upward(l - 1).chain([T(l)]).collect(),
                tail: l + 1,
                uncached: l + 1,
            },
            Order::Backprop => Self {
                initial: Vec::new(),
                due: (1..=l).map(X).chain([A(l)]).collect(),
                every: std::iter::once(TrainTail(l)).chain((1..l).rev().flat_map(|i| [A(i), T(i)])).collect(),
                tail: l,
                uncached: l + 1,
            },
            Order::Exact => {
                Self { initial: Vec::new(), due: Vec::new(), every: vec![TrainTail(1)], tail: 1, uncached: k }
            }
        }
    }

    /// Whether all that is stale is refreshed before epoch `next` (from 0) of `epochs` at frequency `f`, so that the
    /// caches need not be kept until then.
    pub fn can_pause(&self, f: f64, next: usize, epochs: usize) -> bool {
        next >= epochs || self.due.is_empty() || refreshes(f, next) > 0
    }

    /// Whether every `alpha^k` is made anew between two visits of its layer at frequency `f`, so that it need not be kept
    /// from one to the next.
    pub fn renews_alphas(order: Order, f: f64) -> bool {
        order == Order::Inverted && f >= 1.0
    }

    /// Whether embeddings change between two uses of what was aggregated of them at frequency `f`.
    pub fn renews_aggregates(order: Order, f: f64) -> bool {
        order != Order::Backprop || f >= 1.0
    }

    /// Whether `X^k` is read by nobody between the refresh of its gradient and its own: the next layer alone reads it, and
    /// layer k is not held to it by a proximal term.
    pub fn renews_embeddings(train: &TrainConfig, network: &Network, k: usize) -> bool {
        let skipped = || (k + 1..=network.depth()).any(|m| (1..k).any(|j| network.at(m).reads(j)));
        train.order == Order::Inverted && train.proximal == Proximal::Off && !skipped()
    }

    /// Steps in one line.
    pub fn line(steps: &[Step]) -> String {
        steps.iter().map(Step::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// How often the stale side is refreshed in epoch `e` (from 0) at frequency `f`: 0, or the number of parts into
/// which the epoch's batches are cut, each after a refresh.
///
/// ```
/// use iglu::lazy::plan::refreshes;
/// assert_eq!((0..4).map(|e| refreshes(0.5, e)).collect::<Vec<_>>(), [1, 0, 1, 0]);
/// assert_eq!((0..3).map(|e| refreshes(2.0, e)).collect::<Vec<_>>(), [2, 2, 2]);
/// assert_eq!((0..4).map(|e| refreshes(1.5, e)).collect::<Vec<_>>(), [2, 1, 2, 1]);
/// ```
pub fn refreshes(f: f64, e: usize) -> usize {
    let upto = |e: usize| (e as f64 * f - 1e-9).ceil().max(0.0) as usize;
    upto(e + 1) - upto(e)
}

/// The plan of a configuration, for people.
pub fn describe(config: &Config) -> Result<String> {
    config.validate()?;
    let n = &config.network;
    layers::find(&n.layer).ok_or_else(|| crate::network::unknown_architecture(&n.layer))?;
    let l = if n.head == Head::Linear { n.layers + 1 } else { n.layers };
    let plan = Plan::new(config.train.order, n.layers, l);
    let t = &config.train;
    let passes = super::passes(config);
    let head = if n.head == Head::Linear {
        format!("linear classifier as layer {l}")
    } else {
        format!("layer {l} gives the classes")
    };
    let (hidden, note) = (n.hidden.or(HIDDEN), n.storage_note());
    let mut lines = vec![format!("network   {} x {hidden} ({}), {head}{note}", n.layers, n.layer)];
    if t.start != Auto::Set(Start::Random) {
        let kind = if let Auto::Set(kind) = t.start { kind } else { Start::Mlp };
        let passes = start_tail(t, kind);
        let tail = if plan.tail > l { String::new() } else { format!(", then {passes} passes of the tail") };
        let sees = match t.start {
            Auto::Set(Start::Hops) => "with hops",
            Auto::Set(Start::Both) => "without the graph and a few with hops",
            Auto::Auto => "without the graph (or with hops)",
            Auto::Set(_) => "without the graph",
        };
        lines.push(format!("start     {} epochs {sees}{tail}", t.start_epochs));
    }
    lines.push(format!("initial   {}", or_nothing(&plan.initial)));
    lines.push(format!("due       {}   ({} per epoch)", or_nothing(&plan.due), t.frequency));
    lines.push(format!(
        "every     {}   ({passes} {} per visit)",
        or_nothing(&plan.every),
        if passes == 1 { "pass" } else { "passes" }
    ));
    if t.proximal != Proximal::Off && t.order != Order::Exact {
        let kind = if t.proximal == Proximal::Fixed { "fixed" } else { "controlled" };
        lines.push(format!("proximal  {kind}, lambda {}", t.lambda));
    }
    lines.push(String::new());
    lines.push("X_k  refresh X^k and Z^k             A_k      refresh alpha^k".into());
    lines.push("T_k  train layer k on frozen alpha^k  Tail(k)  train layers k.. on the loss".into());
    Ok(lines.join("\n") + "\n")
}

fn or_nothing(steps: &[Step]) -> String {
    if steps.is_empty() { "-".into() } else { Plan::line(steps) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: Order, k: usize, l: usize, initial: &str, due: &str, every: &str) {
        let plan = Plan::new(order, k, l);
        assert_eq!(
            [Plan::line(&plan.initial), Plan::line(&plan.due), Plan::line(&plan.every)],
            [initial, due, every]
        );
    }

    #[test]
    fn orders_are_the_lists_of_the_paper() {
        check(Order::Inverted, 2, 3, "X_1", "A_1", "T_1 X_1 Tail(2) X_2");
        check(Order::Inverted, 3, 3, "X_1 X_2", "A_2 A_1", "T_1 X_1 T_2 X_2 Tail(3) X_3");
        check(Order::Inverted, 1, 2, "", "", "Tail(1) X_1");
        check(Order::InvertedPrinted, 2, 3, "X_1 X_2", "X_3 A_3 A_2 A_1", "T_1 X_1 T_2 X_2 T_3");
        check(Order::Backprop, 2, 3, "", "X_1 X_2 X_3 A_3", "Tail(3) A_2 T_2 A_1 T_1");
        check(Order::Exact, 2, 3, "", "", "Tail(1)");
    }
}
