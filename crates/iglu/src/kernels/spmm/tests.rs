//! Strips of any width against plain loops, bit by bit.

use super::*;
use crate::kernels::stored::Bf16;
use crate::kernels::{Isa, isa};
use crate::rng::Key;

const NODES: usize = 40;

/// A graph with rows of no entry, of one, and of more than are asked for ahead.
fn graph() -> (Vec<u64>, Vec<u32>) {
    let key = Key::new(3);
    let mut columns = Vec::new();
    let mut offsets = vec![0];
    for row in 0..NODES {
        let count = [0, 1, 3, 17, 70][row % 5];
        columns.extend((0..count).map(|i| (key.at(row as u64).u64(i) % NODES as u64) as u32));
        offsets.push(columns.len() as u64);
    }
    (offsets, columns)
}

fn numbers(count: usize, salt: u64) -> Vec<Real> {
    let key = Key::new(salt);
    (0..count).map(|i| (key.unit(i as u64) - 0.5) as Real).collect()
}

/// Every column on its own, in the order of the entries.
fn plain<S: Stored>(a: SparseView<'_>, x: Rows<'_, S>, old: Option<&[Real]>) -> Vec<Real> {
    let value = |row: usize, c: usize| x.data[row * x.stride + c].real();
    let mut out = Vec::new();
    for row in 0..a.offsets.len() - 1 {
        for c in 0..x.cols {
            let mut sum = 0.0;
            for entry in a.offsets[row] as usize..a.offsets[row + 1] as usize {
                sum = a.weight(entry).mul_add(value(a.columns[entry] as usize, c), sum);
            }
            if a.diagonal != 0.0 {
                sum = a.self_weight(row).mul_add(value(row, c), sum);
            }
            let scale = a.row_scale.map_or(1.0, |s| s[row]);
            out.push(old.map_or(scale * sum, |old| scale.mul_add(sum, old[row * x.cols + c])));
        }
    }
    out
}

fn check<S: Stored>(a: SparseView<'_>, data: &[S], cols: usize) {
    let x = Rows::dense(data, NODES, cols);
    let old = numbers(NODES * cols, 5);
    let (mut set, mut added) = (vec![0.0; NODES * cols], old.clone());
    spmm(a, x, &mut set, false);
    spmm(a, x, &mut added, true);
    assert_eq!(set, plain(a, x, None), "{cols} columns");
    assert_eq!(added, plain(a, x, Some(&old)), "{cols} columns, added");
    let list: Vec<u32> = (0..NODES as u32).rev().step_by(3).collect();
    let mut some = vec![0.0; list.len() * cols];
    spmm_listed(a, x, &list, &mut some);
    for (row, some) in list.iter().zip(some.chunks_exact(cols)) {
        assert_eq!(some, &set[*row as usize * cols..][..cols], "{cols} columns, row {row}");
    }
}

#[test]
fn strips_of_any_width_are_the_sums_of_plain_loops() {
    if isa() == Isa::Portable {
        // Without fused multiply-adds sums round differently.
        return;
    }
    let (offsets, columns) = graph();
    let (weights, scale) = (numbers(columns.len(), 1), numbers(NODES, 2));
    let bare = SparseView {
        offsets: &offsets,
        columns: &columns,
        weights: None,
        row_scale: None,
        col_scale: None,
        diagonal: 0.0,
    };
    let full = SparseView {
        weights: Some(&weights),
        row_scale: Some(&scale),
        col_scale: Some(&scale),
        diagonal: 0.75,
        ..bare
    };
    for cols in (1..=70).chain([100, 127, 128, 129, 240, 241, 255, 256, 257, 300, 512, 602]) {
        let values = numbers(NODES * cols, 4);
        let rounded: Vec<Bf16> = values.iter().map(|v| Bf16::of(*v)).collect();
        for a in [bare, full] {
            check(a, &values, cols);
            check(a, &rounded, cols);
        }
    }
}

/// The path of AVX-512 is not the only one that is tried where there is AVX-512.
#[test]
fn narrow_strips_are_wide_ones() {
    if isa() == Isa::Portable {
        return;
    }
    let (offsets, columns) = graph();
    let scale = numbers(NODES, 2);
    let a = SparseView {
        offsets: &offsets,
        columns: &columns,
        weights: None,
        row_scale: Some(&scale),
        col_scale: Some(&scale),
        diagonal: 0.5,
    };
    for cols in [5, 16, 40, 64, 100, 256, 300] {
        let values = numbers(NODES * cols, 6);
        let x = Rows::dense(&values, NODES, cols);
        let mut sums = [0.0; WIDEST];
        let mut narrow = vec![0.0; NODES * cols];
        for (row, out) in narrow.chunks_exact_mut(cols).enumerate() {
            one::<true, false, _, _>(Factors { a, x }, (row, row), &mut sums, out, false);
        }
        let mut all = vec![0.0; NODES * cols];
        rows(a, x, 0, &mut all, false);
        assert_eq!(narrow, all, "{cols} columns");
    }
}
