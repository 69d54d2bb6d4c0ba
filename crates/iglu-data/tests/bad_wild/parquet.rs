//! Tables in Parquet files.

use super::tables::NODES;
use super::{Files, refused};
use iglu::Dataset;
use iglu_data::LoadOptions;
use std::path::Path;

/// A Parquet table of `golden/wild/tables/bad`, with some bytes changed.
fn parquet(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> iglu::Result<Dataset> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wild/tables/bad").join(name);
    let mut edges = std::fs::read(path).unwrap();
    change(&mut edges);
    Files::write("parquet", &[("edges.parquet", &edges), ("nodes.csv", NODES)]).load(&LoadOptions::default())
}

#[test]
fn parquet_tables() {
    let as_it_is = |name: &str| parquet(name, |_| ());
    assert_eq!(as_it_is("good.parquet").unwrap().graph.counts().edges, 3);
    assert_eq!(as_it_is("dictionary.parquet").unwrap().graph.counts().edges, 3);
    let files: &[(&str, &[&str])] = &[
        ("nested.parquet", &["edges.parquet`: columns inside columns", "save a plain table"]),
        ("pair.parquet", &["columns inside columns"]),
        ("null.parquet", &["row 1, column 1: the value is missing; expected the id of a node", "fill it in"]),
        ("decimal.parquet", &["column `source` has the type FIXED_LEN_BYTE_ARRAY", "whole numbers"]),
        ("unsigned.parquet", &["row 2, column 1: 18446744073709551615 does not fit"]),
        ("gzip.parquet", &["column `source`: packed with GZIP", "compression=\"snappy\""]),
        ("delta.parquet", &["column `source`: encoding 5; plain values and dictionaries are read"]),
    ];
    for (name, fragments) in files {
        refused(name, as_it_is(name), fragments);
    }
    let good = |change: fn(&mut Vec<u8>)| parquet("good.parquet", change);
    let coded = |change: fn(&mut Vec<u8>)| parquet("dictionary.parquet", change);
    let cases = [
        ("cut", good(|file| file.truncate(400)), "the end of the file is missing"),
        ("only magic", good(|file| file.truncate(4)), "the end of the file is missing"),
        (
            "footer",
            good(|file| file[752..756].fill(0x7f)),
            "a footer of 2139062143 bytes is declared, the file has 760",
        ),
        ("broken footer", good(|file| file[300..700].fill(0xff)), "the footer is malformed"),
        ("no size", good(|file| file[7] = 0x7f), "column `source`: a page without a size"),
        (
            "page beyond",
            good(|file| file[9] = 0x7e),
            "column `source`: a page of 63 bytes reaches beyond its column",
        ),
        ("encoding", good(|file| file[14] = 0x0a), "column `source`: encoding 5"),
        ("header", good(|file| file[4] = 0xff), "column `source`: the header of a page is malformed"),
        (
            "dictionary",
            coded(|file| file[12] = 0x7e),
            "column `source`: a dictionary of 63 values in 15 bytes",
        ),
        ("index", coded(|file| file[0x46] = 0xff), "cannot be read as Parquet"),
    ];
    for (case, result, fragment) in cases {
        refused(case, result, &[fragment]);
    }
    let renamed = parquet("good.parquet", |file| {
        while let Some(at) = file.windows(6).position(|w| w == b"source") {
            file[at..at + 6].copy_from_slice(b"person");
        }
    });
    refused("missing column", renamed, &["header: columns `person`, `target`; no two of them are the ends"]);
}
