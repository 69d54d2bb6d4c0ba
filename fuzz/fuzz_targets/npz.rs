//! Archives of NumPy, as bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::npz(bytes));
