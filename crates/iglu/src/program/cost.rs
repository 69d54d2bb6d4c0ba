//! What a pass over some rows costs: the dense products that the operations need, forward and backward.

use super::{Lanes, Op, Program, Value};
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
    /// Rows of a block in a pass over `rows`: so many that a block lies in the second cache and its weights are used often.
    /// Short passes, mini-batches, have an even number of equal blocks, so that no thread waits for the other's last one.
    pub(crate) fn block(&self, rows: usize) -> usize {
        const SHORT: usize = 8;
        const LEAST: usize = 64;
        let widest = self.raw.widths.iter().max().copied().unwrap_or(0);
        let usual = if widest > 512 { 512 } else { 256 };
        if !(2 * LEAST..=SHORT * usual).contains(&rows) {
            return usual;
        }
        let nearest = (rows + usual / 2) / usual;
        rows.div_ceil(nearest.max(1).next_multiple_of(2)).next_multiple_of(8)
    }

    /// Copies in which the parameter gradients of a pass over `rows` are summed.
    pub(crate) fn lanes(&self, rows: usize) -> usize {
        rows.div_ceil(self.block(rows)).min(Lanes::MOST)
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
        let m = self.block(batch).min(batch).max(1);
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

    /// A mini-batch has work for two threads, and no block that is nearly empty.
    #[test]
    fn blocks_of_a_mini_batch_are_alike() {
        let narrow = program();
        let mut b = Builder::default();
        let x = b.input(Source::Embedding(0), 767);
        let y = b.linear("w", &[x], 8);
        let wide = b.finish(y);
        for (program, usual) in [(&narrow, 256), (&wide, 512)] {
            for rows in 128..=8 * usual {
                let block = program.block(rows);
                let (count, rest) = (rows.div_ceil(block), rows % block);
                assert!(count % 2 == 0 && program.lanes(rows) == count, "{rows} rows: {count} blocks");
                assert!(
                    block <= usual * 3 / 2 && (rest == 0 || block - rest <= 8 * count),
                    "{rows}: {block}, {rest}"
                );
            }
            assert_eq!((program.block(100), program.block(1 << 20)), (usual, usual));
            assert_eq!(program.lanes(1 << 20), Lanes::MOST);
        }
        assert_eq!([256, 512, 1024, 2048].map(|rows| narrow.block(rows)), [128, 256, 256, 256]);
        assert_eq!([256, 512, 1031, 4096].map(|rows| wide.block(rows)), [128, 256, 520, 512]);
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
