//! Where the values and gradients of a program live inside a block's workspace.
//!
//! Operations that need not remember what they overwrite work in place, parts of a concatenation are written
//! straight into their columns, so a block touches as little memory as the formula allows.

use super::{Builder, Op, Value};
use crate::kernels::rowwise::Activation;

/// A column range of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) col: usize,
}

/// Slots (their widths) and the place of every value.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) slots: Vec<usize>,
    pub(crate) places: Vec<Place>,
}

fn consumers(raw: &Builder, output: Value) -> Vec<usize> {
    let mut count = vec![0; raw.widths.len()];
    count[output.0] += 1;
    for v in raw.ops.iter().flat_map(Op::sources) {
        count[v.0] += 1;
    }
    count
}

/// Whether a gradient is computed from the value itself, which so must stay: some functions' from their output;
/// parts of a concatenation live in its memory.
fn must_stay(raw: &Builder, v: Value) -> bool {
    match raw.ops.iter().find(|op| op.dst() == v) {
        Some(Op::Activate { kind, .. }) => *kind != Activation::Gelu,
        Some(Op::L2Normalise { .. }) => true,
        Some(Op::Concat { parts, .. }) => parts.iter().any(|part| must_stay(raw, *part)),
        _ => false,
    }
}

/// Whether `op` may write its result over its first source.
fn works_in_place(op: &Op) -> bool {
    match op {
        Op::Bias { .. } | Op::L2Normalise { .. } | Op::Dropout { .. } | Op::ScaleRows { .. } => true,
        Op::Add { factors, .. } => factors[0] == 1.0,
        Op::Activate { kind, .. } => *kind != Activation::Gelu,
        _ => false,
    }
}

/// Places values backwards from the output; `shares(op, source)` says whether an operation's source may live
/// where its result does. Slot i is input i.
fn place(raw: &Builder, shares: impl Fn(&Op, usize) -> bool) -> Layout {
    let mut slots: Vec<usize> = raw.inputs.iter().map(|(_, v)| raw.widths[v.0]).collect();
    let mut places: Vec<Option<Place>> = vec![None; raw.widths.len()];
    for (i, (_, v)) in raw.inputs.iter().enumerate() {
        places[v.0] = Some(Place { slot: i, col: 0 });
    }
    for op in raw.ops.iter().rev() {
        let dst = op.dst();
        let at = *places[dst.0].get_or_insert_with(|| {
            slots.push(raw.widths[dst.0]);
            Place { slot: slots.len() - 1, col: 0 }
        });
        let mut col = at.col;
        for (i, v) in op.sources().iter().enumerate() {
            if shares(op, i) {
                places[v.0].get_or_insert(Place { slot: at.slot, col });
            }
            if matches!(op, Op::Concat { .. }) {
                col += raw.widths[v.0];
            }
        }
    }
    // What is neither an input nor a result was replaced by an equal value while programs were chained: never read.
    let places = places.into_iter().map(|p| p.unwrap_or(Place { slot: 0, col: 0 })).collect();
    Layout { slots, places }
}

fn is_input(raw: &Builder, v: Value) -> bool {
    raw.inputs.iter().any(|(_, i)| *i == v)
}

pub(crate) fn place_values(raw: &Builder, output: Value) -> Layout {
    let count = consumers(raw, output);
    let mut layout = place(raw, |op, i| {
        let v = op.sources()[i];
        let single = count[v.0] == 1 && !is_input(raw, v);
        match op {
            Op::Concat { .. } => single,
            _ => i == 0 && works_in_place(op) && single && !must_stay(raw, v),
        }
    });
    // Dropout of an input that nobody else reads works on the gathered copy itself.
    for op in &raw.ops {
        if let Op::Dropout { src, dst, .. } = op
            && is_input(raw, *src)
            && count[src.0] == 1
        {
            let (old, new) = (layout.places[dst.0], layout.places[src.0]);
            if raw.widths[dst.0] == layout.slots[old.slot] {
                for p in layout.places.iter_mut().filter(|p| p.slot == old.slot) {
                    *p = new;
                }
                layout.slots[old.slot] = 0;
            }
        }
    }
    layout
}

/// Whether a GELU is the only reader of a value, for every value; gradients do not need it either.
pub(crate) fn slopes(raw: &Builder, output: Value) -> Vec<bool> {
    let count = consumers(raw, output);
    let mut slopes = vec![false; raw.widths.len()];
    for op in &raw.ops {
        if let Op::Activate { kind: Activation::Gelu, src, .. } = op {
            slopes[src.0] = count[src.0] == 1 && !is_input(raw, *src) && !must_stay(raw, *src);
        }
    }
    slopes
}

pub(crate) fn place_grads(raw: &Builder, output: Value) -> Layout {
    let count = consumers(raw, output);
    place(raw, |op, i| {
        let v = op.sources()[i];
        let single = count[v.0] == 1 && !is_input(raw, v);
        match op {
            Op::Linear { .. } | Op::Largest { .. } | Op::PieceDot { .. } | Op::PieceMean { .. } => false,
            Op::Concat { .. } => single,
            Op::Add { factors, .. } => i == 0 && single && factors[0] == 1.0,
            _ => i == 0 && single,
        }
    })
}
