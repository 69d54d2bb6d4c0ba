//! What stands for the instructions of `amx` and `vectors` where a program cannot have them: nobody has one of these.

use super::{Cutout, Factors, Into, RowsMut, Square, Tile};

/// No matrix unit.
pub(super) enum Unit {}

/// There is none.
pub(super) fn usable() -> bool {
    false
}

impl Unit {
    pub(super) fn new() -> Option<Self> {
        None
    }

    pub(super) fn square(&self, _: Factors<'_>, _: &mut Square) {
        match *self {}
    }

    pub(super) fn square_within(
        &self,
        _: Factors<'_>,
        _: &mut RowsMut<'_>,
        _: (usize, usize),
        _: Into,
    ) -> bool {
        match *self {}
    }
}

/// No vectors that make tiles.
#[derive(Clone, Copy)]
pub(super) enum Vectors {}

impl Vectors {
    pub(super) fn new() -> Option<Self> {
        None
    }

    pub(super) fn make(self, _: Cutout<'_>, _: &mut Tile) {
        match self {}
    }
}
