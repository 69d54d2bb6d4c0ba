//! The arrays of the plain, the Shchur and the heterophilous form, in sound archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::npz_arrays(bytes));
