//! Every path against the definition, byte by byte.

use super::*;
use crate::Real;
use crate::rng::Key;

/// `m x k x n`: whole tiles, rests of every kind, several chunks of terms and groups of panels, long rows, nothing at all.
const SHAPES: &[[usize; 3]] = &[
    [1, 1, 1],
    [3, 5, 2],
    [17, 33, 50],
    [64, 602, 40],
    [5, 1100, 7],
    [100, 257, 65],
    [1, 300, 64],
    [25, 63, 15],
    [49, 128, 47],
    [23, 256, 17],
    [31, 255, 33],
    [7, 513, 81],
    [13, 769, 128],
    [6, 2, 200],
    [48, 7, 31],
    [12, 65, 8],
    [200, 40, 24],
    [1030, 20, 70],
    [10, 530, 600],
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
];

fn numbers(count: usize, salt: u64) -> Vec<Real> {
    (0..count as u64).map(|i| (2.0 * Key::new(salt).unit(i) - 1.0) as Real).collect()
}

fn rows(data: &[Real], [rows, cols]: [usize; 2], gap: usize) -> Rows<'_> {
    Rows { data, rows, cols, stride: cols + gap }
}

fn transposed(a: Rows<'_>) -> Vec<Real> {
    (0..a.cols).flat_map(|j| (0..a.rows).map(move |i| a.row(i)[j])).collect()
}

/// Chunks of terms, a sum each, in order.
fn plain(a: Rows<'_>, b: Rows<'_>, c: &mut RowsMut<'_>, into: Into, fused: bool) {
    let cols = c.cols;
    for (i, j) in (0..c.rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let chunks = (0..a.cols).step_by(KC).map(|first| {
            (first..a.cols.min(first + KC)).fold(0.0, |sum: Real, k| {
                let (x, y) = (a.row(i)[k], b.row(k)[j]);
                if fused { x.mul_add(y, sum) } else { sum + x * y }
            })
        });
        let old = if into == Into::Add { Some(c.row(i)[j]) } else { None };
        c.row(i)[j] = old.into_iter().chain(chunks).reduce(|sum, chunk| sum + chunk).unwrap_or(0.0);
    }
}

fn check(path: Isa, [m, k, n]: [usize; 3], into: Into, gap: usize) {
    let (a, b) = (numbers(m * (k + gap), 1), numbers(k * (n + gap), 2));
    let old = numbers(m * (n + gap), 3);
    let (a, b) = (rows(&a, [m, k], gap), rows(&b, [k, n], gap));
    let (at, bt) = (transposed(a), transposed(b));
    let with = |product: &dyn Fn(RowsMut<'_>)| {
        let mut data = old.clone();
        product(RowsMut { data: &mut data, rows: m, cols: n, stride: n + gap });
        data.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let fused = path != Isa::Portable || cfg!(target_arch = "aarch64");
    let expect = with(&|mut c| plain(a, b, &mut c, into, fused));
    let packed = |pack: &dyn Fn(&mut Packed)| {
        let mut packed = Packed::on(path);
        // What was there before does not matter.
        packed.rows(rows(&numbers(90, 4), [9, 10], 0));
        pack(&mut packed);
        packed
    };
    let what = format!("{path:?}, {m} x {k} x {n}, {into:?}, gap {gap}");
    let by_rows = packed(&|p| p.rows(b));
    assert!(with(&|c| nn_packed(a, &by_rows, c, into)) == expect, "A B: {what}");
    let by_columns = packed(&|p| p.columns(rows(&bt, [n, k], 0)));
    assert!(with(&|c| nn_packed(a, &by_columns, c, into)) == expect, "A B^T: {what}");
    let within = |c: RowsMut<'_>| tn_within(rows(&at, [k, m], 0), b, c, into, &mut packed(&|_| {}));
    assert!(with(&within) == expect, "A^T B: {what}");
}

#[test]
fn every_path_gives_the_bytes_of_the_definition() {
    for path in [Isa::Avx512, Isa::Avx2, Isa::Portable].into_iter().filter(|path| panels::possible(*path)) {
        for shape in SHAPES {
            for into in [Into::Set, Into::Add] {
                [0, 3, 16].into_iter().for_each(|gap| check(path, *shape, into, gap));
            }
        }
    }
}

#[test]
fn products_that_pack_for_themselves_are_the_same() {
    let (a, b) = (numbers(6 * 9, 1), numbers(9 * 5, 2));
    let (a, b) = (rows(&a, [6, 9], 0), rows(&b, [9, 5], 0));
    let (at, bt) = (transposed(a), transposed(b));
    let with = |product: &dyn Fn(RowsMut<'_>)| {
        let mut data = vec![0.5; 30];
        product(RowsMut::dense(&mut data, 6, 5));
        data
    };
    let expect = with(&|c| nn(a, b, c, Into::Add));
    assert_eq!(with(&|c| tn(rows(&at, [9, 6], 0), b, c, Into::Add)), expect);
    assert_eq!(with(&|c| nt(a, rows(&bt, [5, 9], 0), c, Into::Add)), expect);
}

#[test]
#[should_panic(expected = "leaves its array")]
fn rows_beyond_their_array_are_refused() {
    let a = [0.0; 8];
    nn(
        Rows { data: &a, rows: 3, cols: 3, stride: 3 },
        rows(&[0.0; 3], [3, 1], 0),
        RowsMut::dense(&mut [0.0; 3], 3, 1),
        Into::Set,
    );
}
