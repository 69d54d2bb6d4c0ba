//! The right operand of products, whatever numbers they multiply.

use super::panels::{Panels, Path, Term};
use super::{Into, Precision, product, words};
use crate::Real;
use crate::kernels::tiles::{self, Operand, Tiles};
use crate::kernels::{Rows, RowsMut};
use std::cell::Cell;

/// What multiplies rounded numbers here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Unit {
    /// AMX: tiles of them by one instruction.
    Matrix,
    /// AVX-512 with BF16: words of two of them.
    Words,
    /// Nothing made for it: they are multiplied in f32.
    None,
}

/// The unit of this machine.
pub fn unit() -> Unit {
    if tiles::native() {
        return Unit::Matrix;
    }
    if Path::best_for_words().is_some_and(|path| path.term == Term::Dot) { Unit::Words } else { Unit::None }
}

/// The right operand of products (k x n), arranged once for many of them.
///
/// The arrangement depends on the machine, the numbers of a product of f32 do not. Memory is kept from one operand to
/// the next.
#[derive(Default)]
pub struct Packed {
    kind: Kind,
    /// Of numbers, or of words.
    panels: Panels,
    tiles: Tiles,
}

/// How an operand is arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Numbers,
    Words,
    Tiles,
}

thread_local! {
    /// Room for the words of two operands, kept from product to product.
    static ROOM: Cell<[Vec<Real>; 2]> = const { Cell::new([Vec::new(), Vec::new()]) };
}

/// Runs `work` with room for words.
fn with_room(work: impl FnOnce([&mut Vec<Real>; 2])) {
    let mut room = ROOM.take();
    work(room.each_mut());
    ROOM.set(room);
}

impl Packed {
    /// Takes `b` (`k x n`) for products `a b`.
    pub fn rows(&mut self, b: Rows<'_>, precision: Precision) {
        match self.become_of(precision) {
            Kind::Numbers => self.panels.rows(b),
            Kind::Words => with_room(|[room, _]| self.panels.rows(words::in_columns(b, room))),
            Kind::Tiles => self.tiles.take(Operand::Rows(b)),
        }
    }

    /// Takes the transpose of `b` (`n x k`) for products `a b^T`.
    pub fn columns(&mut self, b: Rows<'_>, precision: Precision) {
        match self.become_of(precision) {
            Kind::Numbers => self.panels.columns(b),
            Kind::Words => with_room(|[room, _]| self.panels.columns(words::in_rows(b, room))),
            Kind::Tiles => self.tiles.take(Operand::Columns(b)),
        }
    }

    /// `c = a b` (`m x k`, `k x n`).
    pub fn product(&self, a: Rows<'_>, c: RowsMut<'_>, into: Into) {
        match self.kind {
            Kind::Numbers => product::straight(a, &self.panels, c, into),
            Kind::Words => {
                with_room(|[room, _]| product::straight(words::in_rows(a, room), &self.panels, c, into));
            }
            Kind::Tiles => tiles::product(Operand::Rows(a), &self.tiles, c, into),
        }
    }

    /// Makes ready for products `a^T b` of one `b` (`k x n`) with several `a`.
    pub fn transposing<'p>(&'p mut self, b: Rows<'p>, precision: Precision) -> Transposing<'p> {
        if self.become_of(precision) == Kind::Tiles {
            self.tiles.take(Operand::Rows(b));
        }
        Transposing { packed: self, b }
    }

    /// `c = a^T b` (`k x m`, `k x n`), with `b` arranged here on the way.
    pub fn transposed(
        &mut self,
        (a, b): (Rows<'_>, Rows<'_>),
        c: RowsMut<'_>,
        into: Into,
        precision: Precision,
    ) {
        self.transposing(b, precision).product(a, c, into);
    }

    /// Makes room for an operand of these numbers.
    fn become_of(&mut self, precision: Precision) -> Kind {
        let (kind, path) = match precision {
            Precision::F32 => (Kind::Numbers, Path::best()),
            Precision::Bf16 => match Path::best_for_words() {
                Some(path) if !tiles::native() => (Kind::Words, path),
                _ => (Kind::Tiles, Path::best()),
            },
        };
        self.kind = kind;
        self.panels.be_for(path);
        kind
    }
}

/// Products `a^T b` of one `b`. Tiles of it are made once, panels for each product, piece by piece.
pub struct Transposing<'p> {
    packed: &'p mut Packed,
    b: Rows<'p>,
}

impl Transposing<'_> {
    /// `c = a^T b` (`k x m`, `k x n`).
    pub fn product(&mut self, a: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let Packed { kind, panels, tiles } = &mut *self.packed;
        match kind {
            Kind::Numbers => product::transposed(a, self.b, c, into, panels),
            Kind::Words => with_room(|[left, right]| {
                let (a, b) = (words::in_columns(a, left), words::in_columns(self.b, right));
                product::transposed(a, b, c, into, panels);
            }),
            Kind::Tiles => tiles::product(Operand::Columns(a), tiles, c, into),
        }
    }
}
