//! Classes of GraphSAGE and GraphSAINT.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::class_map(bytes));
