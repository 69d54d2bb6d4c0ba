//! Nodes of Geom-GCN.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iglu_fuzz::geom_gcn(bytes));
