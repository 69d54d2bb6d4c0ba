//! Bytes of .npy and .npz files, good and bad, made by hand.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

pub mod damage;
pub mod folders;
pub mod matlab;
pub mod planetoid;
pub mod reading;

use iglu::{Dataset, Error, Result};
use iglu_data::formats::{npz::Npz, plain};
use iglu_data::{Limits, LoadOptions, prepare};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The small datasets of `tests/golden/../wild`: folder, and the file or name in it.
pub fn wild() -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("shchur", "one_way.npz"),
        ("shchur", "weighted.npz"),
        ("shchur", "bare.npz"),
        ("yandex", "toy.npz"),
        ("matlab", "packed.mat"),
        ("matlab", "unpacked.mat"),
        ("matlab", "big_endian.mat"),
        ("musae/pages", ""),
        ("musae/streams", ""),
        ("geom_gcn", "words"),
        ("geom_gcn", "film"),
        ("tables/quoted", ""),
        ("tables/plain", "toy_edges.txt"),
    ];
    if cfg!(feature = "parquet") {
        all.extend([("tables/columns", ""), ("tables/typed", "")]);
    }
    all
}

/// Checks that a message has these fragments and a remedy.
pub fn assert_says(case: &str, e: &Error, fragments: &[&str]) {
    let text = e.to_string();
    for fragment in fragments {
        assert!(text.contains(fragment), "{case}: expected `{fragment}` in:\n{text}");
    }
    assert!(text.contains("\n  fix: "), "{case}: no remedy in:\n{text}");
}

/// An .npy file of version 1.0 with this text as its header.
pub fn npy_with(header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

/// An .npy file; `shape` as Python writes it.
pub fn npy(descr: &str, shape: &str, body: &[u8]) -> Vec<u8> {
    npy_with(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n"), body)
}

pub fn ints(shape: &str, values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub fn floats(shape: &str, values: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
}

pub fn bools(shape: &str, values: &[u8]) -> Vec<u8> {
    npy("|b1", shape, values)
}

/// A zip archive of these arrays.
pub fn npz<'a>(arrays: impl IntoIterator<Item = (&'a str, Vec<u8>)>, method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (key, bytes) in arrays {
        zip.start_file(format!("{key}.npy"), SimpleFileOptions::default().compression_method(method))
            .unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The arrays of a path of 4 nodes; every test changes one of them.
pub fn path_of_four() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("edges", ints("(3, 2)", &[0, 1, 1, 2, 2, 3])),
        ("x", floats("(4, 2)", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])),
        ("y", ints("(4,)", &[0, 1, 1, -1])),
        ("train", ints("(2,)", &[0, 1])),
        ("val", ints("(1,)", &[2])),
        ("test", ints("(1,)", &[3])),
    ]
}

/// The path of four nodes with `changes` made; a key changed to nothing is left out.
pub fn changed(changes: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let mut arrays = path_of_four();
    arrays.retain(|(key, _)| changes.iter().all(|(k, _)| k != key));
    arrays.extend(changes.iter().filter(|(_, bytes)| !bytes.is_empty()).cloned());
    npz(arrays, CompressionMethod::Deflated)
}

/// The arrays of a SciPy matrix of ones.
pub fn csr(shape: &[i64], indptr: &[i64], indices: &[i64]) -> Vec<(&'static str, Vec<u8>)> {
    let vector = |values: &[i64]| ints(&format!("({},)", values.len()), values);
    vec![
        ("shape", vector(shape)),
        ("indptr", vector(indptr)),
        ("indices", vector(indices)),
        ("data", floats(&format!("({},)", indices.len()), &vec![1.0; indices.len()])),
        ("format", npy("|S3", "()", b"csr")),
    ]
}

/// Reads the plain form from memory.
pub fn parse(bytes: Vec<u8>, options: &LoadOptions) -> Result<Dataset> {
    let data = plain::parse(&mut Npz::new(Cursor::new(bytes), options.limits)?, options)?;
    prepare(data, options)
}

/// Limits for inputs of a few kilobytes.
pub fn small() -> LoadOptions {
    LoadOptions { limits: Limits { max_decompressed: 1 << 20 }, ..LoadOptions::default() }
}

/// An empty folder of its own for the test `name`, where builds are thrown away.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
