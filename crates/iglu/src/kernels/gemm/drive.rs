//! The loops around the tiles of a product.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use super::panels::{Cut, Line, Panel, Panels, lanes};
use super::tile::{Across, Fresh, GROUP, InPlace, Later, Left, Out, Ready, Right};
use super::vector::{Sums, Vector};
use super::{Into, KC};
use crate::Real;
use crate::kernels::{Rows, RowsMut};
use std::iter::Take;

/// Rows of the left operand of `a b` that meet all panels before the next ones do: few enough for the second level
/// cache to hold a chunk of them.
const BAND: usize = 192;

/// Numbers from one row to the next from which on rows of a column push each other out of the first cache: a page.
const FAR: usize = 4096 / size_of::<Real>();

/// The right operand as the drivers see it: panels, and if `F` (fresh) the matrix they are yet to be filled from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, const F: bool> {
    panels: Cut,
    steps: usize,
    lanes: usize,
    lines: *mut Line,
    matrix: Rows<'a>,
    /// Room for a group of columns of the left operand.
    aside: *mut Real,
}

impl Source<'_, false> {
    /// Panels that are filled.
    pub fn ready(b: &Panels) -> Self {
        let matrix = Rows { data: &[], rows: 0, cols: 0, stride: 0 };
        let lines = b.lines().as_ptr().cast_mut();
        Self {
            panels: b.panels(),
            steps: b.steps(),
            lanes: lanes(b.path().isa),
            lines,
            matrix,
            aside: std::ptr::null_mut(),
        }
    }
}

impl<'a> Source<'a, true> {
    /// Panels arranged for a matrix, to be filled on the way.
    pub fn fresh(b: &mut Panels, matrix: Rows<'a>) -> Self {
        let (panels, steps, lanes) = (b.panels(), b.steps(), lanes(b.path().isa));
        let (lines, aside) = b.parts_mut(GROUP * KC);
        Self { panels, steps, lanes, lines: lines.as_mut_ptr(), matrix, aside: aside.as_mut_ptr().cast() }
    }
}

impl<const F: bool> Source<'_, F> {
    /// A filled panel from step `first` on.
    fn panel(&self, panel: &Panel, first: usize) -> Ready {
        let from = self.lines.wrapping_add(panel.line).cast::<Real>();
        Ready { from }.skip(first, panel.vectors * self.lanes)
    }

    /// A panel to be filled from step `first` on.
    fn columns(&self, panel: &Panel, first: usize) -> Fresh {
        Fresh {
            from: self.matrix.data.as_ptr().wrapping_add(first * self.matrix.stride + panel.col),
            stride: self.matrix.stride,
            to: self.panel(panel, first).from.cast_mut(),
        }
    }
}

/// A chunk of steps of one panel against some rows of the left operand.
#[derive(Clone, Copy)]
struct Job<L, R> {
    a: L,
    b: R,
    steps: usize,
    c: Out,
}

/// `c (+)= a b`, or `c (+)= a^T b` if `T`.
///
/// # Safety
/// The machine must have the instruction set; the views must be checked, and the shapes fit; no dimension is zero.
pub(super) unsafe fn product<S: Sums, const T: bool, const F: bool>(
    a: Rows<'_>,
    b: Source<'_, F>,
    c: &mut RowsMut<'_>,
    into: Into,
) {
    for first in (0..b.steps).step_by(KC) {
        let chunk = Chunk {
            b,
            first,
            steps: (b.steps - first).min(KC),
            c: Out {
                to: c.data.as_mut_ptr(),
                stride: c.stride,
                cols: 0,
                add: into == Into::Add || first > 0,
            },
            rows: c.rows,
        };
        // SAFETY: passed on; the chunk lies within the steps of `a` and `b`.
        unsafe { if T { across::<S, F>(a, chunk) } else { in_place::<S, F>(a, chunk) } }
    }
}

/// One chunk of the inner dimension, and the result it goes to.
#[derive(Clone, Copy)]
struct Chunk<'a, const F: bool> {
    b: Source<'a, F>,
    first: usize,
    steps: usize,
    /// The whole result; the columns are filled in per panel.
    c: Out,
    rows: usize,
}

impl<const F: bool> Chunk<'_, F> {
    /// The panels, as many at a time as the second cache holds beside other things.
    fn groups(&self) -> impl Iterator<Item = Take<Cut>> + use<F> {
        const NEAR: usize = 512 << 10;
        let each = (NEAR / (self.steps * 4 * self.b.lanes * size_of::<Real>())).max(1);
        let mut rest = self.b.panels;
        std::iter::from_fn(move || {
            let group = rest.take(each);
            rest.nth(each - 1);
            (group.clone().next().is_some()).then_some(group)
        })
    }

    /// One panel against the rows `row..row + count` of the result, which are those of `a`. The first tile ever to
    /// meet a panel fills it, if need be: its stores hide behind the arithmetic.
    unsafe fn panel<S: Sums, L: Left>(&self, a: L, panel: &Panel, row: usize, count: usize) {
        let to = self.c.to.wrapping_add(row * self.c.stride + panel.col);
        let mut c = Out { to, cols: panel.cols, ..self.c };
        let (mut a, steps) = (a, self.steps);
        let filling = if F && row == 0 { count.min(filling::<S::V>(panel.vectors)) } else { 0 };
        // SAFETY: passed on.
        unsafe {
            if F && filling > 0 {
                let b = self.b.columns(panel, self.first);
                rows::<S, _, _>(Job { a, b, steps, c }, panel.vectors, filling);
                a = a.down(filling);
                c.to = c.to.wrapping_add(filling * c.stride);
            }
            let b = self.b.panel(panel, self.first);
            rows::<S, _, _>(Job { a, b, steps, c }, panel.vectors, count - filling);
        }
    }
}

/// A chunk of `a b`: each panel in turn against all rows of a band.
unsafe fn in_place<S: Sums, const F: bool>(a: Rows<'_>, chunk: Chunk<'_, F>) {
    for panels in chunk.groups() {
        for row in (0..chunk.rows).step_by(BAND) {
            let from = a.data.as_ptr().wrapping_add(row * a.stride + chunk.first);
            let count = BAND.min(chunk.rows - row);
            for (i, panel) in panels.clone().enumerate() {
                // The first panel meets every row for the first time.
                let left = InPlace { from, stride: a.stride, fetch: i == 0 };
                // SAFETY: `left` has the rows of the result and the steps of the chunk.
                unsafe { chunk.panel::<S, _>(left, &panel, row, count) };
            }
        }
    }
}

/// A chunk of `a^T b`: a group of columns of `a` at a time goes against panels, read in place where rows are so short
/// that the first cache can hold a column of them; else copied together.
unsafe fn across<S: Sums, const F: bool>(a: Rows<'_>, chunk: Chunk<'_, F>) {
    for panels in chunk.groups() {
        for row in (0..chunk.rows).step_by(GROUP) {
            let width = (chunk.rows - row).min(GROUP);
            let from = a.data.as_ptr().wrapping_add(chunk.first * a.stride + row);
            // The first panel asks for the next group, once is enough.
            let mut next = Later { from: from.wrapping_add(GROUP), stride: a.stride, row: 0 };
            let (from, stride) = if F && a.stride >= FAR {
                // SAFETY: as below; there is room for a chunk of a group.
                unsafe { gather(from, a.stride, (chunk.steps, width), chunk.b.aside) };
                (chunk.b.aside.cast_const(), GROUP)
            } else {
                (from, a.stride)
            };
            for panel in panels.clone() {
                let left = Across { from, stride, next };
                // SAFETY: columns `row..row + width` and the steps are within `a`.
                unsafe { chunk.panel::<S, _>(left, &panel, row, width) };
                (next.from, next.stride) = (from, 0);
            }
        }
    }
}

/// Copies `width` numbers of each of `steps` rows to rows of [`GROUP`].
///
/// # Safety
/// The rows must be there, and room for [`GROUP`] numbers each.
unsafe fn gather(from: *const Real, stride: usize, (steps, width): (usize, usize), to: *mut Real) {
    for step in 0..steps {
        // SAFETY: as the caller promises.
        unsafe { to.add(step * GROUP).copy_from_nonoverlapping(from.add(step * stride), width) };
    }
}

/// Rows of the tile that fills a panel: narrow panels take less than a full one, as there are not registers enough
/// for all the addresses.
fn filling<V: Vector>(vectors: usize) -> usize {
    if (V::LANES, vectors) == (16, 4) || (V::LANES, vectors) == (8, 2) { 6 } else { 4 }
}

/// All rows of a job: full tiles, then ever smaller ones. The sizes keep about 24 accumulators of the 32 (AVX-512) or
/// 12 of the 16 (AVX2) registers busy.
unsafe fn rows<S: Sums, L: Left, R: Right>(job: Job<L, R>, vectors: usize, rows: usize) {
    let work = &mut Work { job, rows };
    // SAFETY: passed on; `vectors` are those of the panel.
    unsafe {
        match (S::V::LANES, vectors) {
            (16, 4) => {
                work.tiles::<S, 6, 4>();
                work.tiles::<S, 4, 4>();
                work.tiles::<S, 2, 4>();
                work.tiles::<S, 1, 4>();
            }
            (16, 3) => {
                work.tiles::<S, 8, 3>();
                work.tiles::<S, 4, 3>();
                work.tiles::<S, 2, 3>();
                work.tiles::<S, 1, 3>();
            }
            (16, 2) => {
                work.tiles::<S, 12, 2>();
                work.tiles::<S, 4, 2>();
                work.tiles::<S, 2, 2>();
                work.tiles::<S, 1, 2>();
            }
            (16, _) => {
                work.tiles::<S, 24, 1>();
                work.tiles::<S, 8, 1>();
                work.tiles::<S, 4, 1>();
                work.tiles::<S, 1, 1>();
            }
            (_, 2) => {
                work.tiles::<S, 6, 2>();
                work.tiles::<S, 4, 2>();
                work.tiles::<S, 2, 2>();
                work.tiles::<S, 1, 2>();
            }
            _ => {
                work.tiles::<S, 12, 1>();
                work.tiles::<S, 4, 1>();
                work.tiles::<S, 2, 1>();
                work.tiles::<S, 1, 1>();
            }
        }
    }
}

/// What is left of a job.
struct Work<L, R> {
    job: Job<L, R>,
    rows: usize,
}

impl<L: Left, R: Right> Work<L, R> {
    /// As many tiles of `MR` rows as there are.
    unsafe fn tiles<S: Sums, const MR: usize, const NV: usize>(&mut self) {
        while self.rows >= MR {
            let Job { a, b, steps, c } = self.job;
            // SAFETY: there are `MR` rows left in the operand and the result.
            unsafe {
                S::tile::<L, R, MR, NV>(a, b, steps, c);
                self.job.a = a.down(MR);
            }
            self.job.c.to = c.to.wrapping_add(MR * c.stride);
            self.rows -= MR;
        }
    }
}
