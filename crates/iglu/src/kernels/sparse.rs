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
        let rows = || ids.iter().map(|&r| from.row(r as usize));
        let count = rows().map(|(columns, _)| columns.len()).sum();
        let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut offsets = Vec::with_capacity(ids.len() + 1);
        offsets.push(0);
        for (some, numbers) in rows() {
            columns.extend_from_slice(some);
            values.extend_from_slice(numbers);
            offsets.push(columns.len());
        }
        Self { offsets, columns, values }
    }

    /// The entries in the order of their columns, those of a column in the order of their rows, as `(row, value)`; and where
    /// those of each of so many columns end.
    fn by_column(&self, columns: usize) -> (Vec<u32>, Vec<(u32, Real)>) {
        let mut places = vec![0_u32; columns];
        self.columns.iter().for_each(|&c| places[c as usize] += 1);
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        let mut entries = vec![(0, 0.0); self.columns.len()];
        for (row, span) in self.offsets.windows(2).enumerate() {
            for entry in span[0]..span[1] {
                let place = &mut places[self.columns[entry] as usize];
                entries[*place as usize] = (row as u32, self.values[entry]);
                *place += 1;
            }
        }
        (places, entries)
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

/// Bytes of rows that stay in the second cache while other rows go past them.
const NEAR: usize = 384 << 10;

/// As many columns of `out` from column `from` on as strips of `W` cover: `out (+)= sum value row`, every sum in a register,
/// with its terms in order. Returns the column after them.
#[inline(always)]
fn strips<const FMA: bool, const W: usize, I: Iterator<Item = (Real, usize)>>(
    terms: &impl Fn() -> I,
    rows: Rows<'_>,
    from: usize,
    out: &mut [Real],
    into: Into,
) -> usize {
    let mut from = from;
    while let Some((out, _)) = out[from..].split_first_chunk_mut::<W>() {
        let mut sums = if into == Into::Add { *out } else { [0.0; W] };
        for (value, row) in terms() {
            let first = row * rows.stride + from;
            let row = rows.data[first..first + W].as_chunks::<W>().0[0];
            for j in 0..W {
                sums[j] = madd::<FMA>(value, row[j], sums[j]);
            }
        }
        *out = sums;
        from += W;
    }
    from
}

/// `out (+)= sum value row` over terms `(value, row)`, in strips as wide as the registers (`WIDE`: 32 of 16 numbers) allow.
#[inline(always)]
fn sum_of_rows<const FMA: bool, const WIDE: bool, I: Iterator<Item = (Real, usize)>>(
    terms: impl Fn() -> I,
    rows: Rows<'_>,
    out: &mut [Real],
    into: Into,
) {
    let mut from = 0;
    if WIDE {
        from = strips::<FMA, 256, _>(&terms, rows, from, out, into);
        from = strips::<FMA, 192, _>(&terms, rows, from, out, into);
        from = strips::<FMA, 128, _>(&terms, rows, from, out, into);
    }
    from = strips::<FMA, 64, _>(&terms, rows, from, out, into);
    from = strips::<FMA, 16, _>(&terms, rows, from, out, into);
    strips::<FMA, 1, _>(&terms, rows, from, out, into);
}

simd_fn! {
    /// `c = x w`, set or added. As many rows of `w` at a time as the second cache holds meet all rows of `x`, which have their
    /// entries in the order of columns: every sum takes its terms in that order.
    pub fn nn(x: &SparseBlock, w: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut c = c;
        let some = (NEAR / (w.cols * size_of::<Real>()).max(1)).max(1);
        let mut places = x.offsets.clone();
        for first in (0..w.rows.max(1)).step_by(some) {
            let into = if first > 0 { Into::Add } else { into };
            for i in 0..c.rows {
                let rest = places[i]..x.offsets[i + 1];
                let count = x.columns[rest.clone()].partition_point(|&column| (column as usize) < first + some);
                let mine = rest.start..rest.start + count;
                places[i] = mine.end;
                if !mine.is_empty() || into == Into::Set {
                    let terms = || mine.clone().map(|entry| (x.values[entry], x.columns[entry] as usize));
                    sum_of_rows::<FMA, WIDE, _>(terms, w, c.row(i), into);
                }
            }
        }
    }
}

simd_fn! {
    /// `c = x^T d`, set or added. Entries are put in the order of their columns first, so that a row of `c` is read and
    /// written once, however many rows of `x` have its column.
    pub fn tn(x: &SparseBlock, d: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut c = c;
        let (ends, entries) = x.by_column(c.rows);
        let mut first = 0;
        for (i, &end) in ends.iter().enumerate() {
            let mine = &entries[first..end as usize];
            first = end as usize;
            if !mine.is_empty() || into == Into::Set {
                let terms = || mine.iter().map(|&(row, value)| (value, row as usize));
                sum_of_rows::<FMA, WIDE, _>(terms, d, c.row(i), into);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use crate::Mat;

    /// Every entry is multiplied and added once, whatever the widths of strips and however many rows of weights are near; in the
    /// last case they are taken in three parts.
    #[test]
    fn products_are_those_of_dense_rows() {
        let value = |i: usize, salt: usize| ((i * 37 + salt) % 23) as Real / 8.0 - 1.0;
        let filled = |rows: usize, cols: usize, salt: usize| {
            Mat::from_vec(rows, cols, (0..rows * cols).map(|i| value(i, salt)).collect())
        };
        for (rows, features, cols) in
            [(1, 1, 1), (5, 9, 64), (40, 30, 100), (13, 50, 145), (3, 4, 16), (0, 3, 5), (6, 1500, 145)]
        {
            // Two columns in three are empty in most rows; row 1 has nothing.
            let dense = |i: usize, j: usize| {
                if (i * 7 + j * 5).is_multiple_of(3) && i != 1 { value(i + j, 4) } else { 0.0 }
            };
            let (mut offsets, mut indices, mut values) = (vec![0_u64], Vec::new(), Vec::new());
            for i in 0..rows {
                let there = (0..features).filter(|&j| dense(i, j) != 0.0);
                there.for_each(|j| {
                    indices.push(j as u32);
                    values.push(dense(i, j));
                });
                offsets.push(indices.len() as u64);
            }
            let all = SparseMat::from_parts(features, offsets, indices, values);
            let ids: Vec<u32> = (0..rows as u32).collect();
            let block = SparseBlock::gather(&all, &ids);
            let x = Mat::from_vec(
                rows,
                features,
                (0..rows * features).map(|i| dense(i / features, i % features)).collect(),
            );
            let (w, d) = (filled(features, cols, 1), filled(rows, cols, 2));
            for into in [Into::Set, Into::Add] {
                let check = |rows: usize, expect: &Mat, product: &dyn Fn(RowsMut<'_>)| {
                    let mut c = filled(rows, cols, 3);
                    product(RowsMut::dense(c.data_mut(), rows, cols));
                    if into == Into::Add {
                        let old = filled(rows, cols, 3);
                        c.data_mut().iter_mut().zip(old.data()).for_each(|(c, old)| *c -= old);
                    }
                    reference::assert_close(&c, expect, 1e-4);
                };
                let (view_w, view_d) =
                    (Rows::dense(w.data(), features, cols), Rows::dense(d.data(), rows, cols));
                check(rows, &reference::matmul(&x, &w), &|c| nn(&block, view_w, c, into));
                let expect = reference::matmul(&reference::transpose(&x), &d);
                check(features, &expect, &|c| tn(&block, view_d, c, into));
            }
        }
    }
}
