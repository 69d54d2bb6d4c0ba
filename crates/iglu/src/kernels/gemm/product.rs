//! Products with panels: shapes are checked, and the path taken that the panels are arranged for. Numbers and words are the
//! same here.

#[cfg(target_arch = "x86_64")]
use super::drive::{self, Source};
use super::panels::Panels;
#[cfg(target_arch = "x86_64")]
use super::panels::{Path, Term};
#[cfg(target_arch = "x86_64")]
use super::vector::{Avx2, Avx2Pairs, Avx512, Avx512Pairs, Dots};
use super::{Into, portable};
use crate::kernels::{Isa, Rows, RowsMut};

/// `c = a b` (`m x k`, `k x n`).
pub(super) fn straight(a: Rows<'_>, b: &Panels, mut c: RowsMut<'_>, into: Into) {
    check(a);
    check_result(&c);
    assert_eq!((a.cols, a.rows, b.cols()), (b.steps(), c.rows, c.cols), "shapes of a product");
    if nothing(b.steps(), &mut c, into) {
        return;
    }
    match b.path().isa {
        Isa::Portable => portable::product::<false>(a, b, &mut c, into),
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: the shapes were checked, and panels are arranged for a path of this machine.
        _ => unsafe { on_vectors::<false, false>(b.path(), a, Source::ready(b), &mut c, into) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => unreachable!("no other path is possible"),
    }
}

/// `c = a^T b` (`k x m`, `k x n`) with `b` arranged in `spare` on the way.
pub(super) fn transposed(a: Rows<'_>, b: Rows<'_>, mut c: RowsMut<'_>, into: Into, spare: &mut Panels) {
    check(a);
    check(b);
    check_result(&c);
    assert_eq!((a.rows, a.cols, b.cols), (b.rows, c.rows, c.cols), "shapes of a transposed product");
    if nothing(b.rows, &mut c, into) {
        return;
    }
    spare.arrange(b.rows, b.cols);
    match spare.path().isa {
        Isa::Portable => {
            spare.rows(b);
            portable::product::<true>(a, spare, &mut c, into);
        }
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: the shapes were checked, and `spare` is arranged for them and a path of this machine.
        _ => unsafe { on_vectors::<true, true>(spare.path(), a, Source::fresh(spare, b), &mut c, into) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => unreachable!("no other path is possible"),
    }
}

/// # Safety
/// The path must be possible here, `b` be arranged for it; as [`drive::product`] otherwise.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "run-time detected instruction set")]
unsafe fn on_vectors<const T: bool, const F: bool>(
    path: Path,
    a: Rows<'_>,
    b: Source<'_, F>,
    c: &mut RowsMut<'_>,
    into: Into,
) {
    // SAFETY: passed on.
    unsafe {
        match (path.isa, path.term) {
            (Isa::Avx512, Term::Single) => drive::product::<Avx512, T, F>(a, b, c, into),
            (Isa::Avx512, Term::Pair) => drive::product::<Avx512Pairs, T, F>(a, b, c, into),
            (Isa::Avx512, Term::Dot) => drive::product::<Dots, T, F>(a, b, c, into),
            (_, Term::Single) => drive::product::<Avx2, T, F>(a, b, c, into),
            (_, _) => drive::product::<Avx2Pairs, T, F>(a, b, c, into),
        }
    }
}

/// Rows that leave their array are refused before pointers are made of them.
pub(super) fn check(a: Rows<'_>) {
    assert!(fits((a.rows, a.cols, a.stride), a.data.len()), "an operand leaves its array");
}

fn check_result(c: &RowsMut<'_>) {
    assert!(fits((c.rows, c.cols, c.stride), c.data.len()), "the result leaves its array");
}

fn fits((rows, cols, stride): (usize, usize, usize), len: usize) -> bool {
    let end = || (rows - 1).checked_mul(stride)?.checked_add(cols);
    rows == 0 || cols == 0 || (cols <= stride && end().is_some_and(|end| end <= len))
}

/// Whether a product is done already, because nothing is to be added up.
fn nothing(steps: usize, c: &mut RowsMut<'_>, into: Into) -> bool {
    if steps == 0 && into == Into::Set {
        (0..c.rows).for_each(|i| c.row(i).fill(0.0));
    }
    steps == 0 || c.rows == 0 || c.cols == 0
}
