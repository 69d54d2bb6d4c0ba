//! Products of numbers rounded to bf16, added up in full: `C = A B` in tiles, single-threaded as [`super::gemm`], which
//! multiplies tiles where there is AMX, or where there are no fused multiply-adds.
//!
//! Operands are rounded once and put into tiles of 16 x 16 words, a word being two numbers that meet in one sum: rows of
//! `A` with their words in a row, and words of `B` with their columns in a row. Processors with AMX multiply two
//! such tiles by one instruction ([`amx`]). Elsewhere [`multiply`] does what that instruction does, sum by sum, so both
//! give the same bytes where products and sums are fused; only results below 2^-126 are 0 with AMX.

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
mod amx;

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

/// Runs `work` with some rows and columns of `x` from a place on: where they leave it, with a copy that has zeros beyond its
/// ends. The copy has room for 512 numbers.
fn with_block(
    x: Rows<'_>,
    (row, col): (usize, usize),
    (high, wide): (usize, usize),
    work: impl FnOnce(Rows<'_>),
) {
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

/// Words of neighbours in the rows of `x`, from this one of its blocks of 16 rows and 32 columns.
fn in_rows(x: Rows<'_>, (i, j): (usize, usize), tile: &mut Tile) {
    with_block(x, (i * SIDE, j * DEPTH), (SIDE, DEPTH), |x| pair_columns(x, &mut tile.0));
}

/// Words of neighbours in the columns of `x`, from this one of its blocks of 32 rows and 16 columns.
fn in_columns(x: Rows<'_>, (i, j): (usize, usize), tile: &mut Tile) {
    with_block(x, (i * DEPTH, j * SIDE), (DEPTH, SIDE), |x| pair_rows(x, &mut tile.0));
}

/// Tile of the left operand: rows from `16 i` on, numbers of their sums from `32 t` on.
fn left(a: Operand<'_>, i: usize, t: usize, tile: &mut Tile) {
    match a {
        Operand::Rows(x) => in_rows(x, (i, t), tile),
        Operand::Columns(x) => {
            in_columns(x, (t, i), tile);
            transpose(&mut tile.0);
        }
    }
}

/// Tile of the right operand: numbers of the sums from `32 t` on, columns from `16 j` on.
fn right(b: Operand<'_>, t: usize, j: usize, tile: &mut Tile) {
    match b {
        Operand::Rows(x) => in_columns(x, (t, j), tile),
        Operand::Columns(x) => {
            in_rows(x, (j, t), tile);
            transpose(&mut tile.0);
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

/// Whoever multiplies tiles.
enum Multiplier {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
    Amx(amx::Unit),
    Plain,
}

impl Multiplier {
    fn new() -> Self {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
        if let Some(unit) = amx::Unit::new() {
            return Self::Amx(unit);
        }
        Self::Plain
    }

    /// Two rows of tiles times two columns of tiles.
    fn square(&self, rows: [&[Tile]; 2], columns: [&[Tile]; 2]) -> Square {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
            Self::Amx(unit) => unit.square(rows, columns),
            Self::Plain => plain(rows, columns),
        }
    }
}

fn plain(rows: [&[Tile]; 2], columns: [&[Tile]; 2]) -> Square {
    let mut out = Square([[0.0; SIDE * SIDE]; 4]);
    for (at, sums) in out.0.iter_mut().enumerate() {
        for (a, b) in rows[at / 2].iter().zip(columns[at % 2]) {
            multiply(&a.0, &b.0, sums);
        }
    }
    out
}

/// Whether the processor multiplies tiles by itself, and the system lets it.
pub fn native() -> bool {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64")))]
    {
        amx::usable()
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(feature = "f64"))))]
    {
        false
    }
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
        fill(&mut self.all, self.cols, self.terms, |j, t, tile| right(b, t, j, tile));
    }
}

/// Makes the tiles of `count` rows or columns with so many terms each.
fn fill(tiles: &mut Vec<Tile>, count: usize, terms: usize, make: impl Fn(usize, usize, &mut Tile)) {
    let depth = terms.div_ceil(DEPTH);
    let all = pairs(count) * depth;
    tiles.resize(tiles.len().max(all), Tile([0; SIDE * SIDE]));
    tiles.iter_mut().enumerate().take(all).for_each(|(at, tile)| make(at / depth, at % depth, tile));
}

thread_local! {
    /// Room for the tiles of the left operand, kept from product to product.
    static ROOM: Cell<Vec<Tile>> = const { Cell::new(Vec::new()) };
}

/// `c = a b` (`m x k`, `k x n`).
pub fn product(a: Operand<'_>, b: &Tiles, mut c: RowsMut<'_>, into: Into) {
    assert_eq!((a.cols(), a.rows(), b.cols), (b.terms, c.rows, c.cols), "shapes of a product");
    let mut lefts = ROOM.take();
    fill(&mut lefts, c.rows, b.terms, |i, t, tile| left(a, i, t, tile));
    multiply_all([&lefts, &b.all], b.terms.div_ceil(DEPTH), &mut c, into);
    ROOM.set(lefts);
}

/// All tiles of both operands, `depth` of them for every 16 rows or columns.
fn multiply_all([lefts, rights]: [&[Tile]; 2], depth: usize, c: &mut RowsMut<'_>, into: Into) {
    let multiplier = Multiplier::new();
    let [high, wide] = [c.rows, c.cols].map(pairs);
    for j in (0..wide).step_by(2) {
        let columns = [j, j + 1].map(|j| &rights[j * depth..(j + 1) * depth]);
        for i in (0..high).step_by(2) {
            let rows = [i, i + 1].map(|i| &lefts[i * depth..(i + 1) * depth]);
            for (at, sums) in multiplier.square(rows, columns).0.iter().enumerate() {
                put(sums, (i + at / 2) * SIDE, (j + at % 2) * SIDE, c, into);
            }
        }
    }
}

/// Tiles that cover some rows or columns, in twos.
fn pairs(count: usize) -> usize {
    2 * count.div_ceil(2 * SIDE)
}

/// Sums of a tile to their rows and columns, as far as there are such.
fn put(sums: &Sums, row: usize, col: usize, c: &mut RowsMut<'_>, into: Into) {
    let (rows, cols) = (c.rows.saturating_sub(row).min(SIDE), c.cols.saturating_sub(col).min(SIDE));
    if cols == 0 {
        return;
    }
    for (i, sums) in sums.chunks_exact(SIDE).enumerate().take(rows) {
        let to = &mut c.row(row + i)[col..col + cols];
        match into {
            Into::Set => to.copy_from_slice(&sums[..cols]),
            Into::Add => to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum),
        }
    }
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
    fn the_processor_multiplies_tiles_as_plain_loops_do() {
        let Some(multiplier) = Some(Multiplier::new()).filter(|m| !matches!(m, Multiplier::Plain)) else {
            eprintln!("skipped: this processor has no AMX, or the system does not let it be used");
            return;
        };
        let (a, b) = (filled(32, 200, 4), filled(200, 32, 5));
        let tiles = |make: &dyn Fn(usize, &mut Tile)| {
            let mut tiles = vec![Tile([0; SIDE * SIDE]); 7];
            tiles.iter_mut().enumerate().for_each(|(t, tile)| make(t, tile));
            tiles
        };
        let rows = [0, 1].map(|i| tiles(&|t, tile| left(Operand::Rows(view(&a)), i, t, tile)));
        let columns = [0, 1].map(|j| tiles(&|t, tile| right(Operand::Rows(view(&b)), t, j, tile)));
        let (rows, columns) = ([&rows[0][..], &rows[1]], [&columns[0][..], &columns[1]]);
        assert_eq!(multiplier.square(rows, columns), plain(rows, columns));
    }
}
