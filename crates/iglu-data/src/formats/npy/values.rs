//! The values of an array in the type the caller needs, in row-major order whatever the file's order.

use super::{Array, Kind};
use crate::formats::lines::exact;

/// A value that the caller cannot use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place, counted row by row.
    pub index: usize,
    /// The value as it stands in the file.
    pub value: String,
}

impl Array {
    /// All values as f32. What f32 cannot hold becomes infinite or loses digits.
    pub fn floats(&self) -> Vec<f32> {
        // `Some` everywhere: nothing is refused.
        self.numbers(|v| Some(v as f32)).unwrap_or_default()
    }

    /// All values through `of`, which refuses by `None`. Integers beyond 2^53 reach it rounded.
    pub fn numbers<T: Copy + Default>(&self, of: impl Fn(f64) -> Option<T>) -> Result<Vec<T>, Refused> {
        match (self.dtype.kind, self.dtype.size) {
            (Kind::Bool, _) => self.map(|[b]| of(f64::from(u8::from(b != 0)))),
            (Kind::Float, 2) => self.map(|b| of(half_to_f64(u16::from_le_bytes(b)))),
            (Kind::Float, 4) => self.map(|b| of(f32::from_le_bytes(b).into())),
            (Kind::Float, _) => self.map(|b| of(f64::from_le_bytes(b))),
            (Kind::Int, 1) => self.map(|b| of(i8::from_le_bytes(b).into())),
            (Kind::Int, 2) => self.map(|b| of(i16::from_le_bytes(b).into())),
            (Kind::Int, 4) => self.map(|b| of(i32::from_le_bytes(b).into())),
            (Kind::Int, _) => self.map(|b| of(i64::from_le_bytes(b) as f64)),
            (Kind::Uint, 1) => self.map(|b| of(u8::from_le_bytes(b).into())),
            (Kind::Uint, 2) => self.map(|b| of(u16::from_le_bytes(b).into())),
            (Kind::Uint, 4) => self.map(|b| of(u32::from_le_bytes(b).into())),
            (Kind::Uint, _) => self.map(|b| of(u64::from_le_bytes(b) as f64)),
        }
    }

    /// All values as whole numbers of type `T`; floats only where they are whole.
    pub fn ints<T: TryFrom<i64> + Copy + Default>(&self) -> Result<Vec<T>, Refused> {
        let of = |v: i64| T::try_from(v).ok();
        match (self.dtype.kind, self.dtype.size) {
            (Kind::Int, 8) => self.map(|b| of(i64::from_le_bytes(b))),
            (Kind::Uint, 8) => self.map(|b| i64::try_from(u64::from_le_bytes(b)).ok().and_then(of)),
            _ => self.numbers(|v| exact(v).and_then(of)),
        }
    }

    /// The value at `index` (row by row) as text.
    pub fn text(&self, index: usize) -> String {
        let size = self.dtype.size;
        let at = self.stored(index) * size;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.body()[at..at + size]);
        if self.dtype.big_endian {
            bytes[..size].reverse();
        }
        let bits = u64::from_le_bytes(bytes);
        let unused = 64 - 8 * size as u32;
        match (self.dtype.kind, size) {
            (Kind::Float, 2) => half_to_f64(bits as u16).to_string(),
            (Kind::Float, 4) => f32::from_bits(bits as u32).to_string(),
            (Kind::Float, _) => f64::from_bits(bits).to_string(),
            (Kind::Int, _) => (((bits << unused) as i64) >> unused).to_string(),
            (Kind::Bool | Kind::Uint, _) => bits.to_string(),
        }
    }

    /// The same values from the last to the first.
    pub(in super::super) fn reversed(&self) -> Self {
        let size = self.dtype.size;
        let bytes = self.body().chunks_exact(size).rev().flatten().copied().collect();
        Self { dtype: self.dtype, shape: self.shape.clone(), fortran: self.fortran, bytes, start: 0 }
    }

    /// Every element of `N` bytes through `of`, then in row-major order.
    fn map<const N: usize, T: Copy + Default>(
        &self,
        of: impl Fn([u8; N]) -> Option<T>,
    ) -> Result<Vec<T>, Refused> {
        debug_assert_eq!(N, self.dtype.size, "element size");
        let (items, _) = self.body().as_chunks::<N>();
        let mut out = Vec::with_capacity(items.len());
        for (place, &(mut item)) in items.iter().enumerate() {
            if self.dtype.big_endian {
                item.reverse();
            }
            let Some(value) = of(item) else { return Err(self.refused(place)) };
            out.push(value);
        }
        Ok(match self.column_major() {
            Some((rows, cols)) => transposed(&out, rows, cols),
            None => out,
        })
    }

    fn refused(&self, stored: usize) -> Refused {
        let index = match self.column_major() {
            Some((rows, cols)) => stored % rows * cols + stored / rows,
            None => stored,
        };
        Refused { index, value: self.text(index) }
    }

    /// Where the value at `index` (row by row) stands in the file.
    fn stored(&self, index: usize) -> usize {
        match self.column_major() {
            Some((rows, cols)) => index % cols * rows + index / cols,
            None => index,
        }
    }

    fn column_major(&self) -> Option<(usize, usize)> {
        match self.shape[..] {
            [rows, cols] if self.fortran => Some((rows, cols)),
            _ => None,
        }
    }
}

/// `values` holds columns one after the other; the result holds rows.
fn transposed<T: Copy + Default>(values: &[T], rows: usize, cols: usize) -> Vec<T> {
    let mut out = vec![T::default(); values.len()];
    for (c, column) in values.chunks_exact(rows.max(1)).enumerate() {
        for (r, &value) in column.iter().enumerate() {
            out[r * cols + c] = value;
        }
    }
    out
}

/// IEEE half precision: 1 sign, 5 exponent, 10 fraction bits.
fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    }
}
