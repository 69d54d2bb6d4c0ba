//! Every path against the definition, byte by byte.

use super::panels::{Panels, Path, Term};
use super::*;
use crate::kernels::stored::{Bf16, Stored};
use crate::kernels::{Isa, reference};
use crate::operator::rows_of;
use crate::rng::Key;
use crate::{Mat, Real};

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

/// A sum with one more product of terms.
fn term(sum: Real, [x, y]: [Real; 2], path: Path) -> Real {
    let fused = path.isa != Isa::Portable || cfg!(target_arch = "aarch64");
    let step = |sum: Real, [x, y]: [Real; 2]| if fused { x.mul_add(y, sum) } else { sum + x * y };
    if path.term == Term::Single {
        return step(sum, [x, y]);
    }
    #[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate, which takes no words")]
    let [x, y] = [x, y].map(|v| (v as f32).to_bits());
    let half = |word: u32| Real::from(f32::from_bits(word));
    let seconds = [x, y].map(|word| half(word & 0xffff_0000));
    step(step(sum, seconds), [x, y].map(|word| half(word << 16)))
}

/// Chunks of terms, a sum each, in order.
fn plain(a: Rows<'_>, b: Rows<'_>, c: &mut RowsMut<'_>, into: Into, path: Path) {
    let cols = c.cols;
    for (i, j) in (0..c.rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let chunks = (0..a.cols).step_by(KC).map(|first| {
            (first..a.cols.min(first + KC)).fold(0.0, |sum, k| term(sum, [a.row(i)[k], b.row(k)[j]], path))
        });
        let old = if into == Into::Add { Some(c.row(i)[j]) } else { None };
        c.row(i)[j] = old.into_iter().chain(chunks).reduce(|sum, chunk| sum + chunk).unwrap_or(0.0);
    }
}

/// Numbers, or words of such.
fn terms(count: usize, salt: u64, path: Path) -> Vec<Real> {
    if path.term == Term::Single {
        return numbers(count, salt);
    }
    let mut room = Vec::new();
    words::in_rows(rows(&numbers(2 * count, salt), [1, 2 * count], 0), &mut room);
    room
}

fn check(path: Path, [m, k, n]: [usize; 3], into: Into, gap: usize) {
    let (a, b) = (terms(m * (k + gap), 1, path), terms(k * (n + gap), 2, path));
    let old = numbers(m * (n + gap), 3);
    let (a, b) = (rows(&a, [m, k], gap), rows(&b, [k, n], gap));
    let (at, bt) = (transposed(a), transposed(b));
    let with = |product: &dyn Fn(RowsMut<'_>)| {
        let mut data = old.clone();
        product(RowsMut { data: &mut data, rows: m, cols: n, stride: n + gap });
        data.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let expect = with(&|mut c| plain(a, b, &mut c, into, path));
    let packed = |pack: &dyn Fn(&mut Panels)| {
        let mut panels = Panels::default();
        panels.be_for(path);
        // What was there before does not matter.
        panels.rows(rows(&numbers(90, 4), [9, 10], 0));
        pack(&mut panels);
        panels
    };
    let what = format!("{path:?}, {m} x {k} x {n}, {into:?}, gap {gap}");
    let by_rows = packed(&|p| p.rows(b));
    assert!(with(&|c| product::straight(a, &by_rows, c, into)) == expect, "A B: {what}");
    let by_columns = packed(&|p| p.columns(rows(&bt, [n, k], 0)));
    assert!(with(&|c| product::straight(a, &by_columns, c, into)) == expect, "A B^T: {what}");
    let within = |c: RowsMut<'_>| product::transposed(rows(&at, [k, m], 0), b, c, into, &mut packed(&|_| {}));
    assert!(with(&within) == expect, "A^T B: {what}");
}

#[test]
fn every_path_gives_the_bytes_of_the_definition() {
    let terms = [Term::Single, Term::Pair, Term::Dot];
    let paths = [Isa::Avx512, Isa::Avx2, Isa::Portable].map(|isa| terms.map(|term| Path { isa, term }));
    for path in paths.into_iter().flatten().filter(|path| path.possible()) {
        for shape in SHAPES {
            for into in [Into::Set, Into::Add] {
                [0, 3, 16].into_iter().for_each(|gap| check(path, *shape, into, gap));
            }
        }
    }
}

#[test]
fn products_of_bf16_are_those_of_the_rounded_numbers() {
    let filled = |rows: usize, cols: usize, salt| Mat::from_vec(rows, cols, numbers(rows * cols, salt));
    let rounded =
        |m: &Mat| Mat::from_vec(m.rows(), m.cols(), m.data().iter().map(|v| Bf16::of(*v).real()).collect());
    for &[m, k, n] in SHAPES {
        let (a, b, old) = (filled(m, k, 1), filled(k, n, 2), filled(m, n, 3));
        let mut expect = reference::matmul(&rounded(&a), &rounded(&b));
        expect.data_mut().iter_mut().zip(old.data()).for_each(|(e, old)| *e += old);
        let (at, bt) = (reference::transpose(&a), reference::transpose(&b));
        let forms: [&dyn Fn(RowsMut<'_>); 3] = [
            &|c| Precision::Bf16.nn(rows_of(&a), rows_of(&b), c, Into::Add),
            &|c| Precision::Bf16.tn(rows_of(&at), rows_of(&b), c, Into::Add),
            &|c| Precision::Bf16.nt(rows_of(&a), rows_of(&bt), c, Into::Add),
        ];
        for form in forms {
            let mut c = old.clone();
            form(RowsMut::dense(c.data_mut(), m, n));
            reference::assert_close(&c, &expect, 1e-5 * (k + 1) as Real);
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
    let expect = with(&|c| Precision::F32.nn(a, b, c, Into::Add));
    assert_eq!(with(&|c| Precision::F32.tn(rows(&at, [9, 6], 0), b, c, Into::Add)), expect);
    assert_eq!(with(&|c| Precision::F32.nt(a, rows(&bt, [5, 9], 0), c, Into::Add)), expect);
}

#[test]
#[should_panic(expected = "leaves its array")]
fn rows_beyond_their_array_are_refused() {
    let a = [0.0; 8];
    Precision::F32.nn(
        Rows { data: &a, rows: 3, cols: 3, stride: 3 },
        rows(&[0.0; 3], [3, 1], 0),
        RowsMut::dense(&mut [0.0; 3], 3, 1),
        Into::Set,
    );
}
