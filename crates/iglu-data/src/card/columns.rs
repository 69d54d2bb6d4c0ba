//! The columns of a feature matrix: their range, what is zero, what never changes, what is no number.

use iglu::{Features, Mat, SparseMat};
use rayon::prelude::*;
use serde::Serialize;

/// Columns named at most.
const NAMED: usize = 10;

/// The values of the features in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Columns {
    /// Smallest finite value.
    pub min: f32,
    /// Largest finite value.
    pub max: f32,
    /// Share of values that are zero.
    pub zeros: f64,
    /// Columns with one value only.
    pub constant: usize,
    /// The first of them.
    pub constant_columns: Vec<usize>,
    /// Columns with a value that is not finite.
    pub not_finite: usize,
    /// The first of them.
    pub not_finite_columns: Vec<usize>,
}

/// One column.
#[derive(Debug, Clone, Copy)]
struct Column {
    min: f32,
    max: f32,
    zeros: usize,
    stored: usize,
    odd: usize,
}

impl Column {
    const EMPTY: Self = Self { min: f32::INFINITY, max: f32::NEG_INFINITY, zeros: 0, stored: 0, odd: 0 };

    fn add(&mut self, value: f32) {
        self.stored += 1;
        if value.is_finite() {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            self.zeros += usize::from(value == 0.0);
        } else {
            self.odd += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        *self = Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            zeros: self.zeros + other.zeros,
            stored: self.stored + other.stored,
            odd: self.odd + other.odd,
        };
    }
}

impl Columns {
    /// Reads all values.
    pub(super) fn of(features: &Features) -> Self {
        let rows = features.rows();
        let mut columns = match features {
            Features::Dense(x) => dense(x),
            Features::Sparse(x) => sparse(x),
        };
        for column in columns.iter_mut().filter(|c| c.stored < rows) {
            let missing = rows - column.stored;
            column.merge(Column { min: 0.0, max: 0.0, zeros: missing, stored: missing, odd: 0 });
        }
        Self::sum_up(&columns, rows)
    }

    fn sum_up(columns: &[Column], rows: usize) -> Self {
        let named = |is: fn(&Column) -> bool| -> (usize, Vec<usize>) {
            let all: Vec<usize> = (0..columns.len()).filter(|&c| is(&columns[c])).collect();
            (all.len(), all.into_iter().take(NAMED).collect())
        };
        let (constant, constant_columns) = named(|c| c.odd == 0 && c.min == c.max);
        let (not_finite, not_finite_columns) = named(|c| c.odd > 0);
        let zeros = columns.iter().map(|c| c.zeros).sum::<usize>() as f64;
        let finite = |v: f32| if v.is_finite() { v } else { 0.0 };
        Self {
            min: finite(columns.iter().map(|c| c.min).fold(f32::INFINITY, f32::min)),
            max: finite(columns.iter().map(|c| c.max).fold(f32::NEG_INFINITY, f32::max)),
            zeros: zeros / (rows * columns.len()).max(1) as f64,
            constant: if rows > 1 { constant } else { 0 },
            constant_columns: if rows > 1 { constant_columns } else { Vec::new() },
            not_finite,
            not_finite_columns,
        }
    }
}

fn merged(mut a: Vec<Column>, b: Vec<Column>) -> Vec<Column> {
    a.iter_mut().zip(b).for_each(|(a, b)| a.merge(b));
    a
}

fn dense(x: &Mat) -> Vec<Column> {
    const ROWS: usize = 4096;
    let empty = || vec![Column::EMPTY; x.cols()];
    let part = |values: &[f32]| {
        let mut columns = empty();
        for row in values.chunks_exact(x.cols()) {
            columns.iter_mut().zip(row).for_each(|(column, &v)| column.add(v));
        }
        columns
    };
    x.data().par_chunks(ROWS * x.cols().max(1)).map(part).reduce(empty, merged)
}

fn sparse(x: &SparseMat) -> Vec<Column> {
    let mut columns = vec![Column::EMPTY; x.cols()];
    x.indices().iter().zip(x.values()).for_each(|(&c, &v)| columns[c as usize].add(v));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_columns_by_hand() {
        let x = SparseMat::from_parts(
            4,
            vec![0, 3, 5, 6],
            vec![0, 1, 2, 1, 2, 1],
            vec![2.0, 5.0, -1.0, 5.0, 0.0, 5.0],
        );
        let expect = Columns {
            min: -1.0,
            max: 5.0,
            zeros: 7.0 / 12.0,
            constant: 2,
            constant_columns: vec![1, 3],
            not_finite: 0,
            not_finite_columns: vec![],
        };
        assert_eq!(Columns::of(&Features::Dense(x.to_dense())), expect);
        assert_eq!(Columns::of(&Features::Sparse(x)), expect);
    }

    #[test]
    fn values_that_are_no_numbers_are_counted_apart() {
        let x = Mat::from_rows(&[[f32::NAN, 1.0, f32::INFINITY], [f32::NAN, 2.0, 3.0]]);
        let found = Columns::of(&Features::Dense(x));
        assert_eq!((found.min, found.max, found.not_finite), (1.0, 3.0, 2));
        assert_eq!((found.not_finite_columns, found.constant), (vec![0, 2], 0));
        let found = Columns::of(&Features::Dense(Mat::zeros(0, 2)));
        assert_eq!((found.min, found.zeros, found.constant), (0.0, 0.0, 0));
    }
}
