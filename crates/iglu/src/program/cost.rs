//! What a pass over some rows costs: the dense products that the operations need, forward and backward.

use super::{Op, Program, Value};
use crate::kernels::limits::{Form, Product};

/// What a pass computes besides the output.
#[derive(Debug, Clone, Default)]
pub struct Gradients {
    /// Gradients of all parameters.
    pub params: bool,
    /// Gradients of these values.
    pub values: Vec<Value>,
}

/// A product and how often it is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeated {
    /// The product.
    pub product: Product,
    /// How often; the last block of a pass may be a part of one.
    pub times: f64,
}

impl Program {
    /// Rows of a block.
    pub(crate) fn block(&self) -> usize {
        let widest = self.raw.widths.iter().max().copied().unwrap_or(0);
        if widest > 512 { 512 } else { 256 }
    }

    /// Values whose gradient leads to something wanted.
    pub(super) fn live(&self, params: bool, wanted: impl IntoIterator<Item = Value>) -> Vec<bool> {
        let mut live = vec![false; self.raw.widths.len()];
        for value in wanted {
            live[value.0] = true;
        }
        for op in &self.raw.ops {
            let below = op.sources().iter().any(|v| live[v.0]);
            live[op.dst().0] |= below || (params && !op.params().is_empty());
        }
        live
    }

    /// The products of a pass over `rows` rows in batches of `batch`, with dense inputs. What attention does to
    /// the neighbours' rows is not among them.
    pub fn products(&self, rows: usize, batch: usize, gradients: &Gradients) -> Vec<Repeated> {
        let m = self.block().min(batch).max(1);
        let times = rows as f64 / m as f64;
        let live = self.live(gradients.params, gradients.values.iter().copied());
        let mut out = Vec::new();
        for op in &self.raw.ops {
            let Op::Linear { src, precision, dst, .. } = op else { continue };
            let mut add = |form, m, k, n| {
                out.push(Repeated { product: Product { precision: *precision, form, m, k, n }, times });
            };
            let n = self.raw.widths[dst.0];
            for (at, v) in src.iter().enumerate().filter(|(at, v)| !src[..*at].contains(v)) {
                let k = self.raw.widths[src[at].0];
                add(Form::Nn, m, k, n);
                if gradients.params {
                    add(Form::Tn, k, m, n);
                }
                if live[v.0] {
                    add(Form::Nt, m, n, k);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activation;
    use crate::program::{Builder, Source};

    /// `relu([z | x] W) V` with widths 3, 5, 8 and 2.
    fn program() -> Program {
        let mut b = Builder::default();
        let z = b.input(Source::Aggregate { layer: 1, part: 0 }, 3);
        let x = b.input(Source::Embedding(0), 5);
        let h = b.linear("w", &[z, x], 8);
        let h = b.activate(h, Activation::Relu);
        let y = b.linear("v", &[h], 2);
        b.finish(y)
    }

    fn flops(gradients: &Gradients) -> f64 {
        let products = program().products(1000, 1000, gradients);
        products.iter().map(|r| r.product.flops() * r.times).sum()
    }

    #[test]
    fn only_what_is_asked_for_is_counted() {
        let (first, second) = (2.0 * 8.0 * 8.0 * 1000.0, 2.0 * 8.0 * 2.0 * 1000.0);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b, "{a}, not {b}");
        close(flops(&Gradients::default()), first + second);
        // Weights of both, and the way from the second down to the first.
        close(flops(&Gradients { params: true, values: vec![] }), 2.0 * first + 3.0 * second);
        let z = program().input_value(0);
        let to_z = 2.0 * 8.0 * 3.0 * 1000.0;
        close(flops(&Gradients { params: false, values: vec![z] }), first + 2.0 * second + to_z);
    }
}
