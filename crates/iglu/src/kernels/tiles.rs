//! Products of numbers rounded to bf16, added up in full: `C = A B` in tiles, single-threaded as [`super::gemm`], which
//! multiplies tiles where there is AMX, or where there are no fused multiply-adds.
//!
//! Operands are rounded once and put into tiles of 16 x 16 words, a word being two numbers that meet in one sum: rows of
//! `A` with their words in a row, and words of `B` with their columns in a row. Processors with AMX make tiles sixteen words
//! at a time ([`vectors`]) and multiply two of them by one instruction ([`amx`]). Elsewhere [`multiply`] does what that
//! instruction does, sum by sum, so both give the same bytes where products and sums are fused; only results below
//! 2^-126 are 0 with AMX.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64"))))]
mod absent;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
mod amx;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
mod vectors;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64"))))]
use absent::{Unit, Vectors, usable};
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
use amx::{Unit, usable};
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
use vectors::Vectors;

use super::gemm::Into;
use super::gemm::words::word;
use super::vecmath::madd;
use super::{Rows, RowsMut, simd_fn};
use crate::Real;
use std::cell::Cell;

/// Rows of a tile, and words in each of them.
const SIDE: usize = 16;
/// Numbers of a sum in one tile.
const DEPTH: usize = 2 * SIDE;
/// Tiles of a row or column that are multiplied at once.
const AT_ONCE: usize = 16;

/// A tile of an operand: 16 rows of 16 words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
struct Tile([u32; SIDE * SIDE]);

/// Sums of one tile.
type Sums = [Real; SIDE * SIDE];

/// Sums of two tiles of rows and two of columns: those of the first rows first.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
struct Square([Sums; 4]);

/// A matrix, or the transpose of one.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// These rows.
    Rows(Rows<'a>),
    /// The matrix that has these rows as its columns.
    Columns(Rows<'a>),
}

impl Operand<'_> {
    fn rows(&self) -> usize {
        match self {
            Self::Rows(x) => x.rows,
            Self::Columns(x) => x.cols,
        }
    }

    fn cols(&self) -> usize {
        match self {
            Self::Rows(x) => x.cols,
            Self::Columns(x) => x.rows,
        }
    }
}

/// Which numbers make a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    /// Neighbours in a row.
    Along,
    /// Neighbours in a column.
    Across,
}

/// How the words of a tile lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As the numbers do.
    Upright,
    /// Transposed.
    Turned,
}

/// What becomes a tile: 16 rows and 32 columns of `x` from a place on, or 32 rows and 16 columns; zeros beyond its ends.
#[derive(Clone, Copy)]
struct Cutout<'a> {
    x: Rows<'a>,
    row: usize,
    col: usize,
    pairs: Pairs,
    way: Way,
}

impl Cutout<'_> {
    /// The tile by plain loops.
    fn plain(self, tile: &mut Tile) {
        match self.pairs {
            Pairs::Along => self.with_block((SIDE, DEPTH), |x| pair_columns(x, &mut tile.0)),
            Pairs::Across => self.with_block((DEPTH, SIDE), |x| pair_rows(x, &mut tile.0)),
        }
        if self.way == Way::Turned {
            transpose(&mut tile.0);
        }
    }

    /// Runs `work` with so many rows and columns: where they leave `x`, with a copy. The copy has room for 512 numbers.
    fn with_block(self, (high, wide): (usize, usize), work: impl FnOnce(Rows<'_>)) {
        let Self { x, row, col, .. } = self;
        let (rows, cols) = (x.rows.saturating_sub(row).min(high), x.cols.saturating_sub(col).min(wide));
        if (rows, cols) == (high, wide) {
            return work(Rows { data: &x.data[row * x.stride + col..], rows, cols, stride: x.stride });
        }
        let mut copy = [0.0; SIDE * DEPTH];
        if cols > 0 {
            for i in 0..rows {
                copy[i * wide..i * wide + cols].copy_from_slice(&x.row(row + i)[col..col + cols]);
            }
        }
        work(Rows::dense(&copy, high, wide));
    }
}

simd_fn! {
    /// Words of neighbours in a row, of 16 rows and 32 columns.
    pub fn pair_columns(x: Rows<'_>, out: &mut [u32; SIDE * SIDE]) {
        for (i, out) in out.chunks_exact_mut(SIDE).enumerate() {
            let x = &x.row(i)[..DEPTH];
            for p in 0..SIDE {
                out[p] = word(x[2 * p], x[2 * p + 1]);
            }
        }
    }
}

simd_fn! {
    /// Words of neighbours in a column, of 32 rows and 16 columns.
    pub fn pair_rows(x: Rows<'_>, out: &mut [u32; SIDE * SIDE]) {
        for (p, out) in out.chunks_exact_mut(SIDE).enumerate() {
            let (first, second) = (&x.row(2 * p)[..SIDE], &x.row(2 * p + 1)[..SIDE]);
            for j in 0..SIDE {
                out[j] = word(first[j], second[j]);
            }
        }
    }
}

fn transpose(tile: &mut [u32; SIDE * SIDE]) {
    for i in 0..SIDE {
        for j in 0..i {
            tile.swap(i * SIDE + j, j * SIDE + i);
        }
    }
}

/// Tile of the left operand: rows from `16 i` on, numbers of their sums from `32 t` on.
fn left(a: Operand<'_>, i: usize, t: usize) -> Cutout<'_> {
    match a {
        Operand::Rows(x) => {
            Cutout { x, row: i * SIDE, col: t * DEPTH, pairs: Pairs::Along, way: Way::Upright }
        }
        Operand::Columns(x) => {
            Cutout { x, row: t * DEPTH, col: i * SIDE, pairs: Pairs::Across, way: Way::Turned }
        }
    }
}

/// Tile of the right operand: numbers of the sums from `32 t` on, columns from `16 j` on.
fn right(b: Operand<'_>, t: usize, j: usize) -> Cutout<'_> {
    match b {
        Operand::Rows(x) => {
            Cutout { x, row: t * DEPTH, col: j * SIDE, pairs: Pairs::Across, way: Way::Upright }
        }
        Operand::Columns(x) => {
            Cutout { x, row: j * SIDE, col: t * DEPTH, pairs: Pairs::Along, way: Way::Turned }
        }
    }
}

simd_fn! {
    /// `sums += a b`: the first and the second numbers of all words are added up apart, fused, and then both together.
    pub fn multiply(a: &[u32; SIDE * SIDE], b: &[u32; SIDE * SIDE], sums: &mut [Real; SIDE * SIDE]) {
        let first = |word: u32| Real::from(f32::from_bits(word << 16));
        let second = |word: u32| Real::from(f32::from_bits(word & 0xffff_0000));
        for i in 0..SIDE {
            let (mut firsts, mut seconds) = ([0.0; SIDE], [0.0; SIDE]);
            for p in 0..SIDE {
                let (x, y) = (first(a[i * SIDE + p]), second(a[i * SIDE + p]));
                for j in 0..SIDE {
                    firsts[j] = madd::<FMA>(x, first(b[p * SIDE + j]), firsts[j]);
                    seconds[j] = madd::<FMA>(y, second(b[p * SIDE + j]), seconds[j]);
                }
            }
            for j in 0..SIDE {
                sums[i * SIDE + j] += firsts[j] + seconds[j];
            }
        }
    }
}

/// Some rows of tiles times some columns of tiles, all of one length.
#[derive(Clone, Copy)]
struct Factors<'a> {
    rows: [&'a [Tile]; 2],
    columns: [&'a [Tile]; 2],
}

/// Whoever multiplies tiles.
enum Multiplier {
    Amx(Unit),
    Plain,
}

impl Multiplier {
    fn new() -> Self {
        Unit::new().map_or(Self::Plain, Self::Amx)
    }

    /// The sums of two rows and two columns of tiles, from a place of `c` on.
    fn square(&self, factors: Factors<'_>, c: &mut RowsMut<'_>, at: (usize, usize), into: Into) {
        if let Self::Amx(unit) = self
            && unit.square_within(factors, c, at, into)
        {
            return;
        }
        let mut sums = Square([[0.0; SIDE * SIDE]; 4]);
        if into == Into::Add {
            each_row(c, at, &mut sums, |row, sums| sums.copy_from_slice(row));
        }
        match self {
            Self::Amx(unit) => unit.square(factors, &mut sums),
            Self::Plain => plain(factors, &mut sums),
        }
        each_row(c, at, &mut sums, |row, sums| row.copy_from_slice(sums));
    }
}

/// Runs `work` with every row of a square as far as `c` has it, and the sums of that row.
fn each_row(
    c: &mut RowsMut<'_>,
    (row, col): (usize, usize),
    square: &mut Square,
    work: impl Fn(&mut [Real], &mut [Real]),
) {
    for (at, sums) in square.0.iter_mut().enumerate() {
        let (row, col) = (row + at / 2 * SIDE, col + at % 2 * SIDE);
        let (rows, cols) = (c.rows.saturating_sub(row).min(SIDE), c.cols.saturating_sub(col).min(SIDE));
        if cols > 0 {
            let rows = (row..row + rows).zip(sums.chunks_exact_mut(SIDE));
            rows.for_each(|(i, sums)| work(&mut c.row(i)[col..col + cols], &mut sums[..cols]));
        }
    }
}

fn plain(factors: Factors<'_>, out: &mut Square) {
    for (at, sums) in out.0.iter_mut().enumerate() {
        for (a, b) in factors.rows[at / 2].iter().zip(factors.columns[at % 2]) {
            multiply(&a.0, &b.0, sums);
        }
    }
}

/// Whether the processor multiplies tiles by itself, and the system lets it.
pub fn native() -> bool {
    usable()
}

/// A right operand in tiles. Memory is kept from one to the next.
#[derive(Default)]
pub struct Tiles {
    /// Those of the first 16 columns first; columns are taken in twos of 16.
    all: Vec<Tile>,
    terms: usize,
    cols: usize,
}

impl Tiles {
    /// Takes an operand.
    pub fn take(&mut self, b: Operand<'_>) {
        (self.terms, self.cols) = (b.rows(), b.cols());
        fill(&mut self.all, self.cols, self.terms, |j, t| right(b, t, j));
    }
}

/// Makes the tiles of `count` rows or columns with so many terms each.
fn fill<'a>(tiles: &mut Vec<Tile>, count: usize, terms: usize, cutout: impl Fn(usize, usize) -> Cutout<'a>) {
    let depth = terms.div_ceil(DEPTH);
    let all = pairs(count) * depth;
    tiles.resize(tiles.len().max(all), Tile([0; SIDE * SIDE]));
    let places = tiles.iter_mut().take(all).enumerate().map(|(at, tile)| ((at / depth, at % depth), tile));
    match Vectors::new() {
        Some(vectors) => places.for_each(|((i, t), tile)| vectors.make(cutout(i, t), tile)),
        None => places.for_each(|((i, t), tile)| cutout(i, t).plain(tile)),
    }
}

thread_local! {
    /// Room for the tiles of the left operand, kept from product to product.
    static ROOM: Cell<Vec<Tile>> = const { Cell::new(Vec::new()) };
}

/// `c = a b` (`m x k`, `k x n`).
pub fn product(a: Operand<'_>, b: &Tiles, mut c: RowsMut<'_>, into: Into) {
    assert_eq!((a.cols(), a.rows(), b.cols), (b.terms, c.rows, c.cols), "shapes of a product");
    let mut lefts = ROOM.take();
    fill(&mut lefts, c.rows, b.terms, |i, t| left(a, i, t));
    multiply_all(&Multiplier::new(), [&lefts, &b.all], b.terms.div_ceil(DEPTH), &mut c, into);
    ROOM.set(lefts);
}

/// All tiles of both operands, `depth` of them for every 16 rows or columns.
///
/// Goes by pieces of [`AT_ONCE`], whose columns stay in the first cache while rows pass by. Where a sum is put away and
/// taken up again changes nothing of it.
fn multiply_all(
    multiplier: &Multiplier,
    [lefts, rights]: [&[Tile]; 2],
    depth: usize,
    c: &mut RowsMut<'_>,
    into: Into,
) {
    let [high, wide] = [c.rows, c.cols].map(pairs);
    // Nothing to add up is a piece as well: it gives zeros.
    for first in (0..depth.max(1)).step_by(AT_ONCE) {
        let into = if first > 0 { Into::Add } else { into };
        let piece = |i: usize| i * depth + first..i * depth + depth.min(first + AT_ONCE);
        for j in (0..wide).step_by(2) {
            let columns = [j, j + 1].map(|j| &rights[piece(j)]);
            for i in (0..high).step_by(2) {
                let factors = Factors { rows: [i, i + 1].map(|i| &lefts[piece(i)]), columns };
                multiplier.square(factors, c, (i * SIDE, j * SIDE), into);
            }
        }
    }
}

/// Tiles that cover some rows or columns, in twos.
fn pairs(count: usize) -> usize {
    2 * count.div_ceil(2 * SIDE)
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::super::stored::{Bf16, Stored};
    use super::*;
    use crate::Mat;

    fn filled(rows: usize, cols: usize, salt: usize) -> Mat {
        let value = |i: usize| ((i * 37 + salt * 11) % 1009) as Real / 300.0 - 1.7;
        Mat::from_vec(rows, cols, (0..rows * cols).map(value).collect())
    }

    fn rounded(m: &Mat) -> Mat {
        let data = m.data().iter().map(|v| Bf16::of(*v).real()).collect();
        Mat::from_vec(m.rows(), m.cols(), data)
    }

    fn view(m: &Mat) -> Rows<'_> {
        Rows::dense(m.data(), m.rows(), m.cols())
    }

    #[test]
    fn products_are_those_of_the_rounded_numbers() {
        for (m, k, n) in [(1, 1, 1), (3, 0, 2), (16, 32, 16), (17, 33, 50), (40, 602, 7), (33, 64, 100)] {
            let (a, b) = (filled(m, k, 1), filled(k, n, 2));
            let expect = reference::matmul(&rounded(&a), &rounded(&b));
            let (at, bt) = (reference::transpose(&a), reference::transpose(&b));
            for into in [Into::Set, Into::Add] {
                let start = filled(m, n, 3);
                for (a, b) in [
                    (Operand::Rows(view(&a)), Operand::Rows(view(&b))),
                    (Operand::Columns(view(&at)), Operand::Rows(view(&b))),
                    (Operand::Rows(view(&a)), Operand::Columns(view(&bt))),
                ] {
                    let (mut tiles, mut c) = (Tiles::default(), start.clone());
                    tiles.take(b);
                    product(a, &tiles, RowsMut::dense(c.data_mut(), m, n), into);
                    if into == Into::Add {
                        c.data_mut().iter_mut().zip(start.data()).for_each(|(c, s)| *c -= s);
                    }
                    reference::assert_close(&c, &expect, 1e-4 * (k + 1) as Real);
                }
            }
        }
    }

    /// What the instruction does, bit by bit: sums of firsts and of seconds apart.
    #[test]
    fn sums_are_added_in_the_order_of_the_instruction() {
        let (mut a, mut b) = ([0; SIDE * SIDE], [0; SIDE * SIDE]);
        let small = 1.0 / (1 << 24) as Real;
        // 1 + 2^-24 - 1: the firsts alone cancel exactly, in another order the small number would be lost.
        (a[0], a[1]) = (word(1.0, small), word(-1.0, 0.0));
        (b[0], b[SIDE]) = (word(1.0, 1.0), word(1.0, 0.0));
        let mut sums = [0.0; SIDE * SIDE];
        multiply(&a, &b, &mut sums);
        assert_eq!(sums[0], small);
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "says that nothing was compared")]
    fn vectors_make_the_tiles_of_plain_loops() {
        let Some(vectors) = Vectors::new() else {
            return eprintln!("skipped: this processor has no AVX-512 with BF16");
        };
        let mut m = filled(70, 75, 6);
        let odd = [
            1e-39,
            -1e-39,
            1.1754942e-38,
            Real::INFINITY,
            -Real::MAX,
            257.0 / 256.0,
            259.0 / 256.0,
            -0.0,
            3.0,
        ];
        m.data_mut().iter_mut().step_by(7).zip(odd.iter().cycle()).for_each(|(v, odd)| *v = *odd);
        let x = view(&m);
        for (row, col) in [(0, 0), (3, 40), (48, 64), (64, 0), (64, 64), (80, 0), (0, 96)] {
            for (pairs, way) in [
                (Pairs::Along, Way::Upright),
                (Pairs::Along, Way::Turned),
                (Pairs::Across, Way::Upright),
                (Pairs::Across, Way::Turned),
            ] {
                let cutout = Cutout { x, row, col, pairs, way };
                let (mut a, mut b) = (Tile([1; SIDE * SIDE]), Tile([2; SIDE * SIDE]));
                vectors.make(cutout, &mut a);
                cutout.plain(&mut b);
                // Zeros have no sign in plain loops.
                let half = |h: u32| if h & 0x7f80 == 0 { 0 } else { h };
                a.0.iter_mut().for_each(|w| *w = half(*w & 0xffff) | half(*w >> 16) << 16);
                assert_eq!(a, b, "{pairs:?} {way:?} from ({row}, {col})");
            }
        }
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "says that nothing was compared")]
    fn the_processor_multiplies_tiles_as_plain_loops_do() {
        let Some(multiplier) = Some(Multiplier::new()).filter(|m| !matches!(m, Multiplier::Plain)) else {
            eprintln!("skipped: this processor has no AMX, or the system does not let it be used");
            return;
        };
        // Whole squares and parts of such; one piece of terms and several; rows with a gap; nothing to add up.
        for (m, k, n) in [(32, 200, 32), (70, 1100, 100), (33, 31, 7), (1, 513, 64), (64, 0, 40)] {
            let (a, b) = (filled(m, k, 4), filled(k, n, 5));
            let (mut lefts, mut rights) = (Vec::new(), Vec::new());
            fill(&mut lefts, m, k, |i, t| left(Operand::Rows(view(&a)), i, t));
            fill(&mut rights, n, k, |j, t| right(Operand::Rows(view(&b)), t, j));
            for (into, gap) in [(Into::Set, 0), (Into::Add, 0), (Into::Set, 3), (Into::Add, 3)] {
                let with = |multiplier: &Multiplier| {
                    let mut c = filled(m, n + gap, 6);
                    let mut to = RowsMut { data: c.data_mut(), rows: m, cols: n, stride: n + gap };
                    multiply_all(multiplier, [&lefts, &rights], k.div_ceil(DEPTH), &mut to, into);
                    c
                };
                let what = format!("{m} x {k} x {n}, {into:?}, gap {gap}");
                assert!(with(&multiplier) == with(&Multiplier::Plain), "{what}");
            }
        }
    }
}
