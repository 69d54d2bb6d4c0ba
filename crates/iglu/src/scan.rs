//! Looking through long arrays on all threads.

use rayon::prelude::*;

/// Position of the first value of which `is` holds.
///
/// Whole pieces are looked at without stopping in between, which the processor does many at a time.
///
/// ```
/// let values = [1.0, 2.0, f32::NAN, f32::INFINITY];
/// assert_eq!(iglu::first_where(&values, |v| !v.is_finite()), Some(2));
/// ```
pub fn first_where<T: Sync>(values: &[T], is: impl Fn(&T) -> bool + Sync) -> Option<usize> {
    const PIECE: usize = 16 << 10;
    let holds = |piece: &[T]| piece.iter().fold(false, |found, v| found | is(v));
    let piece = values.par_chunks(PIECE).position_first(holds)? * PIECE;
    values[piece..].iter().position(is).map(|at| piece + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_is_found_in_any_piece() {
        let count = 100_000;
        for at in [0, 1, 16_383, 16_384, 70_000, count - 1] {
            let values: Vec<u32> = (0..count).map(|i| u32::from(i >= at)).collect();
            assert_eq!(first_where(&values, |v| *v == 1), Some(at));
        }
        assert_eq!(first_where(&vec![0; count], |v| *v == 1), None);
        assert_eq!(first_where::<u32>(&[], |_| true), None);
    }
}
