//! The arrays of a SciPy matrix, in a sound archive.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::scipy_npz(bytes));
