//! Products with sparse rows (bag-of-words features): `X W` gathers rows of `W`, `X^T d` scatters into them.

use super::gemm::Into;
use super::rowwise::Mask;
use super::vecmath::madd;
use super::{Rows, RowsMut, simd_fn};
use crate::{Real, SparseMat};

/// Some rows of a sparse matrix, copied next to each other.
#[derive(Debug, Clone, Default)]
pub struct SparseBlock {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<Real>,
}

impl SparseBlock {
    /// Copies the rows named.
    pub fn gather(from: &SparseMat, ids: &[u32]) -> Self {
        let mut out = Self { offsets: vec![0], ..Self::default() };
        for &r in ids {
            let (columns, values) = from.row(r as usize);
            out.columns.extend_from_slice(columns);
            out.values.extend_from_slice(values);
            out.offsets.push(out.columns.len());
        }
        out
    }

    /// Multiplies by a dropout mask, `ids` naming the rows.
    pub fn drop(&mut self, mask: Mask, ids: &[u32]) {
        for (i, &id) in ids.iter().enumerate() {
            for entry in self.offsets[i]..self.offsets[i + 1] {
                self.values[entry] *= mask.at(id, self.columns[entry]);
            }
        }
    }
}

/// `y += c x`.
pub fn add_scaled(c: Real, x: &SparseBlock, y: &mut RowsMut<'_>) {
    for i in 0..y.rows {
        let y = y.row(i);
        for entry in x.offsets[i]..x.offsets[i + 1] {
            y[x.columns[entry] as usize] += c * x.values[entry];
        }
    }
}

/// `y = c x`.
pub fn set_scaled(c: Real, x: &SparseBlock, y: &mut RowsMut<'_>) {
    (0..y.rows).for_each(|i| y.row(i).fill(0.0));
    add_scaled(c, x, y);
}

simd_fn! {
    /// `c = x w`, set or added.
    pub fn nn(x: &SparseBlock, w: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut c = c;
        for i in 0..c.rows {
            let out = c.row(i);
            if into == Into::Set {
                out.fill(0.0);
            }
            for entry in x.offsets[i]..x.offsets[i + 1] {
                let v = x.values[entry];
                for (o, w) in out.iter_mut().zip(w.row(x.columns[entry] as usize)) {
                    *o = madd::<FMA>(v, *w, *o);
                }
            }
        }
    }
}

simd_fn! {
    /// `c = x^T d`, set or added.
    pub fn tn(x: &SparseBlock, d: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut c = c;
        if into == Into::Set {
            (0..c.rows).for_each(|i| c.row(i).fill(0.0));
        }
        for i in 0..d.rows {
            for entry in x.offsets[i]..x.offsets[i + 1] {
                let v = x.values[entry];
                for (o, d) in c.row(x.columns[entry] as usize).iter_mut().zip(d.row(i)) {
                    *o = madd::<FMA>(v, *d, *o);
                }
            }
        }
    }
}
