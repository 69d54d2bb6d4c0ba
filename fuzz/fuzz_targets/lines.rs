//! Tables of numbers as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::lines(bytes));
