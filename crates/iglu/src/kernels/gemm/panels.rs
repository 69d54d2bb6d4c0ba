//! The right operand of a product, arranged in panels.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vectors are read and written through pointers")
)]

use super::product::check;
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx512, Set, Vector};
use crate::Real;
use crate::kernels::{Isa, Rows, isa};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, _mm_loadu_ps, _mm256_castps128_ps256, _mm256_insertf128_ps, _mm256_permute2f128_ps,
    _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

/// Numbers in a cache line.
pub(super) const LINE: usize = 64 / size_of::<Real>();

/// Rows of the right operand packed at a time.
#[cfg(target_arch = "x86_64")]
const SOME: usize = 8;

/// What one step of a sum takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    /// A number.
    Single,
    /// A word of two rounded numbers (`words`), by two fused multiply-adds.
    Pair,
    /// The same by one instruction.
    Dot,
}

/// How a product is computed: the instruction set, and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Path {
    pub isa: Isa,
    pub term: Term,
}

impl Path {
    /// The fastest one for numbers.
    pub fn best() -> Self {
        let here = Self { isa: isa(), term: Term::Single };
        if here.possible() { here } else { Self { isa: Isa::Portable, ..here } }
    }

    /// The fastest one for words; there is none without fused multiply-adds.
    pub fn best_for_words() -> Option<Self> {
        [Term::Dot, Term::Pair]
            .map(|term| Self { term, ..Self::best() })
            .into_iter()
            .find(|path| path.possible())
    }

    /// Whether this machine, and the type of the numbers, allow it: paths with vectors are written for `f32`.
    pub fn possible(self) -> bool {
        const SINGLE: bool = size_of::<Real>() == size_of::<f32>();
        let here = match (self.isa, isa()) {
            (Isa::Portable, _) => true,
            (Isa::Avx2, Isa::Avx512) => SINGLE,
            (path, here) => SINGLE && path == here,
        };
        here && match self.term {
            Term::Single => true,
            Term::Pair => self.isa != Isa::Portable,
            Term::Dot => self.isa == Isa::Avx512 && dots(),
        }
    }

    /// The same for so many columns: vectors of half the width where they suffice, as whole ones would multiply zeros.
    fn suited(self, cols: usize) -> Self {
        if self.isa == Isa::Avx512 && cols <= lanes(Isa::Avx2) {
            let term = if self.term == Term::Dot { Term::Pair } else { self.term };
            return Self { isa: Isa::Avx2, term };
        }
        self
    }
}

/// Whether the processor multiplies and adds words of rounded numbers.
fn dots() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512bf16")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Numbers in a vector.
pub(super) fn lanes(path: Isa) -> usize {
    match path {
        Isa::Avx512 => 16,
        Isa::Avx2 => 8,
        Isa::Portable => LINE,
    }
}

/// Vectors in the widest panel.
fn widest(path: Isa) -> usize {
    match path {
        Isa::Avx512 => 4,
        Isa::Avx2 => 2,
        Isa::Portable => 1,
    }
}

/// A cache line of numbers, aligned as such.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub [Real; LINE]);

/// Some neighbouring columns of the operand: step by step, all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    /// The first column, and how many there are.
    pub col: usize,
    pub cols: usize,
    /// Whole vectors the columns take; the rest of the last one is zero.
    pub vectors: usize,
    /// Index of the first line.
    pub line: usize,
}

/// Cuts columns into panels of nearly equal numbers of vectors.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    isa: Isa,
    steps: usize,
    cols: usize,
    panels: usize,
    /// The next panel's first column and line.
    col: usize,
    line: usize,
}

impl Cut {
    pub fn new(isa: Isa, steps: usize, cols: usize) -> Self {
        let panels = cols.div_ceil(lanes(isa)).div_ceil(widest(isa));
        Self { isa, steps, cols, panels, col: 0, line: 0 }
    }
}

#[expect(clippy::copy_iterator, reason = "walked anew for every band of rows")]
impl Iterator for Cut {
    type Item = Panel;

    fn next(&mut self) -> Option<Panel> {
        if self.panels == 0 {
            return None;
        }
        let (lanes, left) = (lanes(self.isa), self.cols - self.col);
        let vectors = left.div_ceil(lanes).div_ceil(self.panels);
        let cols = left.min(vectors * lanes);
        let panel = Panel { col: self.col, cols, vectors, line: self.line };
        self.line += (self.steps * vectors * lanes).div_ceil(LINE);
        self.col += cols;
        self.panels -= 1;
        Some(panel)
    }
}

/// The right operand of products (k x n), packed once for many uses.
///
/// The arrangement depends on the instruction set, the numbers of a product do not. Memory is kept from one packing
/// to the next.
pub(super) struct Panels {
    /// The path of the machine, and the one taken for the present operand.
    best: Path,
    path: Path,
    steps: usize,
    cols: usize,
    lines: Vec<Line>,
    /// Room for some of the left operand.
    aside: Vec<Line>,
}

impl Default for Panels {
    fn default() -> Self {
        let path = Path::best();
        Self { best: path, path, steps: 0, cols: 0, lines: Vec::new(), aside: Vec::new() }
    }
}

impl Panels {
    /// Takes the path that operands are packed for from now on.
    pub fn be_for(&mut self, path: Path) {
        assert!(path.possible(), "{path:?} is not available here");
        self.best = path;
    }

    /// The path the operand is packed for.
    pub fn path(&self) -> Path {
        self.path
    }

    /// The inner dimension, k.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The columns, n.
    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn panels(&self) -> Cut {
        Cut::new(self.path.isa, self.steps, self.cols)
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The panels to be filled, and room for `count` other numbers.
    #[cfg(target_arch = "x86_64")]
    pub fn parts_mut(&mut self, count: usize) -> (&mut [Line], &mut [Line]) {
        self.aside.resize(self.aside.len().max(count.div_ceil(LINE)), Line([0.0; LINE]));
        (&mut self.lines, &mut self.aside)
    }

    /// Packs an operand given as its k rows of n numbers.
    pub fn rows(&mut self, b: Rows<'_>) {
        check(b);
        self.arrange(b.rows, b.cols);
        match self.path.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `be_for` made sure of the instruction set, `check` of the view.
            Isa::Avx512 => unsafe { self.fill_rows::<Avx512>(b) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Isa::Avx2 => unsafe { self.fill_rows::<Avx2>(b) },
            _ => self.fill(|step, col| b.row(step)[col]),
        }
    }

    /// Packs an operand given by its transpose: n rows of k numbers.
    pub fn columns(&mut self, b: Rows<'_>) {
        check(b);
        self.arrange(b.cols, b.rows);
        match self.path.isa {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `be_for` made sure of the instruction set, which includes AVX2, and `check` of the view.
            Isa::Avx512 | Isa::Avx2 => unsafe { self.fill_columns(b) },
            _ => self.fill(|step, col| b.row(col)[step]),
        }
    }

    /// Takes the shape and makes room for it.
    pub fn arrange(&mut self, steps: usize, cols: usize) {
        self.path = self.best.suited(cols);
        (self.steps, self.cols) = (steps, cols);
        let mut cut = self.panels();
        cut.by_ref().for_each(drop);
        if self.lines.len() < cut.line {
            self.lines.resize(cut.line, Line([0.0; LINE]));
        }
    }

    /// Packs number by number: panels of one line per step.
    fn fill(&mut self, number: impl Fn(usize, usize) -> Real) {
        for panel in self.panels() {
            let lines = &mut self.lines[panel.line..][..self.steps];
            for (step, line) in lines.iter_mut().enumerate() {
                line.0 =
                    std::array::from_fn(|c| if c < panel.cols { number(step, panel.col + c) } else { 0.0 });
            }
        }
    }

    /// # Safety
    /// The machine must have the instruction set, and `b` must be checked and of the shape last arranged for.
    #[cfg(target_arch = "x86_64")]
    unsafe fn fill_rows<S: Set>(&mut self, b: Rows<'_>) {
        let to = self.lines.as_mut_ptr();
        // Some rows at a time, so that they are read from end to end.
        let panels = self.panels();
        for (first, p) in (0..b.rows).step_by(SOME).flat_map(|first| panels.map(move |p| (first, p))) {
            let steps = (b.rows - first).min(SOME);
            // SAFETY: `arrange` made room for `steps` by `vectors` from `line` on; the columns of the panel are
            // columns of `b`.
            unsafe {
                let from = b.data.as_ptr().add(first * b.stride + p.col);
                let piece = Piece { from, stride: b.stride, steps, cols: p.cols };
                let to = to.add(p.line).cast::<Real>().add(first * p.vectors * S::V::LANES);
                match p.vectors {
                    1 => S::pack_rows::<1>(piece, to),
                    2 => S::pack_rows::<2>(piece, to),
                    3 => S::pack_rows::<3>(piece, to),
                    _ => S::pack_rows::<4>(piece, to),
                }
            }
        }
    }

    /// # Safety
    /// The machine must have AVX2, and `b` must be checked and of the shape last arranged for.
    #[cfg(target_arch = "x86_64")]
    unsafe fn fill_columns(&mut self, b: Rows<'_>) {
        if b.cols == 0 {
            return;
        }
        let to = self.lines.as_mut_ptr();
        for p in self.panels() {
            // SAFETY: as in `fill_rows`; the columns are rows of `b`.
            unsafe {
                let from = b.data.as_ptr().add(p.col * b.stride);
                let piece = Piece { from, stride: b.stride, steps: b.cols, cols: p.cols };
                copy_columns(piece, to.add(p.line).cast(), p.vectors * lanes(self.path.isa));
            }
        }
    }
}

/// Part of an operand: so many steps and columns from an address on, the rows of its array `stride` apart.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub from: *const Real,
    pub stride: usize,
    pub steps: usize,
    pub cols: usize,
}

/// Copies `steps` rows of `cols` numbers to rows of `NV` whole vectors.
///
/// # Safety
/// The memory must be there; `cols` must be more than `NV - 1` vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_rows<V: Vector, const NV: usize>(b: Piece, to: *mut Real) {
    // SAFETY: the mask hides the columns of the last vector that do not exist.
    unsafe {
        let mask = V::mask(b.cols - (NV - 1) * V::LANES);
        for step in 0..b.steps {
            let (from, to) = (b.from.add(step * b.stride), to.add(step * NV * V::LANES));
            for v in 0..NV - 1 {
                V::load(from.add(v * V::LANES)).store(to.add(v * V::LANES));
            }
            let last = (NV - 1) * V::LANES;
            V::load_part(from.add(last), mask).store(to.add(last));
        }
    }
}

/// Copies `cols` rows of `steps` numbers, transposing them, to `steps` rows of `width` numbers, of which those after
/// `cols` become zero.
///
/// Goes by squares of a line each way, so that every line is read and written at once.
///
/// # Safety
/// The memory must be there; `width` must be a multiple of 8, and the machine have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn copy_columns(b: Piece, to: *mut Real, width: usize) {
    let Piece { from, stride, steps, cols } = b;
    for far in (0..width).step_by(LINE) {
        for step in (0..steps).step_by(LINE) {
            for (col, step) in
                [(far, step), (far + SIDE, step), (far, step + SIDE), (far + SIDE, step + SIDE)]
            {
                if col >= width || step >= steps {
                    continue;
                }
                // SAFETY: the square begins within the operand and the panel.
                unsafe {
                    let (from, to) =
                        (from.add(col.min(cols - 1) * stride + step), to.add(step * width + col));
                    if col + SIDE <= cols && step + SIDE <= steps {
                        square(whole(from, stride), to, width, SIDE);
                    } else {
                        let rows = (steps - step).min(SIDE);
                        square(part(from, stride, cols.saturating_sub(col), rows), to, width, rows);
                    }
                }
            }
        }
    }
}

/// The side of the squares that are transposed in registers.
#[cfg(target_arch = "x86_64")]
const SIDE: usize = 8;

/// Four rows beside the four after them: first their first halves, then their second ones.
#[cfg(target_arch = "x86_64")]
type Halves = [[__m256; 4]; 2];

/// Reads a square from `SIDE` rows.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn whole(from: *const Real, stride: usize) -> Halves {
    // SAFETY: the caller has AVX2 and all of the square.
    unsafe {
        let mut halves = [[_mm256_setzero_ps(); 4]; 2];
        for (h, half) in halves.iter_mut().enumerate() {
            for (r, pair) in half.iter_mut().enumerate() {
                let at = from.add(r * stride + 4 * h);
                let upper = _mm_loadu_ps(at.add(4 * stride).cast());
                *pair = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(at.cast())), upper);
            }
        }
        halves
    }
}

/// Reads what there is of a square: `rows` rows of `steps` numbers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn part(from: *const Real, stride: usize, rows: usize, steps: usize) -> Halves {
    // SAFETY: the caller has AVX2; what is not there is not read.
    unsafe {
        let mask = <__m256 as Vector>::mask(steps);
        let mut all = [_mm256_setzero_ps(); SIDE];
        for (r, row) in all.iter_mut().enumerate().take(rows) {
            *row = <__m256 as Vector>::load_part(from.add(r * stride), mask);
        }
        let mut halves = [[_mm256_setzero_ps(); 4]; 2];
        for r in 0..4 {
            halves[0][r] = _mm256_permute2f128_ps::<0x20>(all[r], all[r + 4]);
            halves[1][r] = _mm256_permute2f128_ps::<0x31>(all[r], all[r + 4]);
        }
        halves
    }
}

/// Writes the first `rows` rows of the transposed square.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn square(from: Halves, to: *mut Real, width: usize, rows: usize) {
    for (h, x) in from.into_iter().enumerate() {
        // SAFETY: the caller has AVX2 and room for the rows.
        unsafe {
            let (a, b) = (_mm256_unpacklo_ps(x[0], x[1]), _mm256_unpacklo_ps(x[2], x[3]));
            let (c, d) = (_mm256_unpackhi_ps(x[0], x[1]), _mm256_unpackhi_ps(x[2], x[3]));
            let out = [
                _mm256_shuffle_ps::<0x44>(a, b),
                _mm256_shuffle_ps::<0xee>(a, b),
                _mm256_shuffle_ps::<0x44>(c, d),
                _mm256_shuffle_ps::<0xee>(c, d),
            ];
            for (r, row) in out.into_iter().enumerate() {
                if 4 * h + r < rows {
                    row.store(to.add((4 * h + r) * width));
                }
            }
        }
    }
}
