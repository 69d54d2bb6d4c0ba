//! Files packed with gzip.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::gz(bytes));
