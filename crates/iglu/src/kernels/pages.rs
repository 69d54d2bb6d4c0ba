//! Large pages for large tables: rows read at random otherwise wait for the translation of addresses.

/// Tables below this size gain nothing.
pub(super) const LEAST: usize = 8 << 20;
/// Size of a large page on the systems that have them.
const PAGE: usize = 2 << 20;

/// Asks the system to back a table with large pages; to be called before it is first written. Where that is not
/// possible nothing happens.
pub fn advise_large<T>(table: &[T]) {
    advise_block(table.as_ptr().cast(), size_of_val(table));
}

/// As [`advise_large`] for a block of memory.
pub(super) fn advise_block(start: *const u8, bytes: usize) {
    if bytes >= LEAST {
        advise(start, bytes);
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn advise(start: *const u8, bytes: usize) {
    use std::ffi::{c_int, c_void};
    const MADV_HUGEPAGE: c_int = 14;
    #[expect(unsafe_code, reason = "the C library's function")]
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    let first = (start as usize).next_multiple_of(PAGE);
    let last = (start as usize + bytes) / PAGE * PAGE;
    if first < last {
        // SAFETY: the pages lie wholly inside the block, and this advice changes no value, wherever it is.
        #[expect(unsafe_code, reason = "large pages have no safe interface")]
        unsafe {
            madvise(first as *mut c_void, last - first, MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn advise(_: *const u8, _: usize) {
    let _ = PAGE;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Real;

    #[test]
    fn advice_keeps_values() {
        let values: Vec<Real> = (0..3 << 20).map(|i| i as Real).collect();
        for from in [0, 1, 12345] {
            advise_large(&values[from..]);
        }
        advise_large::<Real>(&[]);
        assert!(values.iter().enumerate().all(|(i, v)| *v == i as Real));
    }
}
