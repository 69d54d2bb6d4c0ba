//! Cases 1 to 22: containers and bytes.

use super::common::folders::packed;
use super::common::{changed, floats, ints, npy, npy_with, npz, path_of_four};
use super::{Case, look, small};
use iglu::Features;
use iglu_data::load;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const FEATS: [&str; 2] = ["graphsaint", "feats.npy"];
const EDGES: [&str; 2] = ["ogb_citation", "raw/edge.csv.gz"];

pub fn cases() -> Vec<Case> {
    [files(), arrays(), types(), archives(), packs(), places()].into_iter().flatten().collect()
}

fn files() -> Vec<Case> {
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_vec();
    vec![
        Case::file(1, 65, "empty file", vec![]),
        Case::part(1, "empty file of a folder", FEATS, vec![]),
        Case::file(2, 65, "page instead of a file", b"<!DOCTYPE html><html>404".to_vec()),
        Case::file(2, 65, "pointer instead of a file", pointer),
        Case::file(2, 65, "unknown bytes", b"\x00\x01\x02\x03".to_vec()),
        Case::part(2, "page in a folder", FEATS, b"<html><body>404".to_vec()),
    ]
}

fn arrays() -> Vec<Case> {
    let good = ints("(2,)", &[1, 2]);
    let patched = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let long = [&b"\x93NUMPY\x02\x00"[..], &65_537_u32.to_le_bytes(), &good[10..]].concat();
    let feats = |number, name, bytes| Case::part(number, name, FEATS, bytes);
    vec![
        feats(3, "truncated array", npy("<f4", "(2708, 1433)", &[0; 9000])),
        feats(4, "bytes after the array", npy("<f4", "(1, 1)", &[0; 7])),
        feats(5, "header beyond the file", patched(8, &[0xff, 0x7f])),
        feats(6, "header of 64 KiB", long),
        feats(7, "version 9.0", patched(6, &[9])),
        feats(8, "shape beyond 64 bits", npy("<f4", "(4294967296, 4294967296)", &[])),
        feats(9, "declared terabytes", npy("<f4", "(1099511627776,)", &[0; 8])),
        feats(10, "negative shape", npy("<f4", "(-3, 2)", &[])),
        feats(11, "three dimensions", floats("(12, 1, 1)", &[0.0; 12])),
    ]
}

fn types() -> Vec<Case> {
    let feats = |number, name, bytes| Case::part(number, name, FEATS, bytes);
    let records = npy_with("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]);
    let big: Vec<u8> = (1..=8).flat_map(|v: u16| f32::from(v).to_be_bytes()).collect();
    // Column by column.
    let turned: Vec<u8> =
        [1, 3, 5, 7, 2, 4, 6, 8].iter().flat_map(|v: &u16| f32::from(*v).to_le_bytes()).collect();
    let turned = npy_with("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 2), }", &turned);
    let halves: Vec<u8> = (1..=8_u16).flat_map(|v| half(v).to_le_bytes()).collect();
    vec![
        feats(12, "pickled objects", npy("|O", "(12,)", &[0; 96])),
        feats(13, "records", records),
        one_to_eight(14, "big-endian", npy(">f4", "(4, 2)", &big)),
        one_to_eight(15, "column by column", turned),
        one_to_eight(16, "float16", npy("<f2", "(4, 2)", &halves)),
        feats(16, "complex", npy("<c8", "(1,)", &[0; 8])),
        feats(16, "text", npy("<U3", "(1,)", &[0; 12])),
    ]
}

/// Bits of a whole number from 1 to 8 in half precision.
fn half(value: u16) -> u16 {
    let exponent = value.ilog2() as u16;
    ((exponent + 15) << 10) | ((value << (10 - exponent)) & 0x3ff)
}

/// Features that are 1 to 8, however they are written.
fn one_to_eight(number: u8, name: &'static str, x: Vec<u8>) -> Case {
    Case::new(number, 0, name, move |folder| {
        let path = folder.join("data.npz");
        std::fs::write(&path, changed(&[("x", x.clone())])).unwrap();
        let data = load(path.to_str().unwrap(), &small())?;
        let Features::Dense(x) = &data.features else { panic!("dense features") };
        assert_eq!(x.data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        Ok(Vec::new())
    })
}

fn archives() -> Vec<Case> {
    let stored = npz(path_of_four(), CompressionMethod::Stored);
    let find = |needle: &[u8]| stored.windows(needle.len()).position(|w| w == needle).unwrap();
    let (central, one) = (find(b"PK\x01\x02"), find(&1.0_f64.to_le_bytes()));
    let flipped = |at: usize, bits: u8| {
        let mut file = stored.clone();
        file[at] ^= bits;
        file
    };
    let bomb = || npy("<f4", "(65536, 32)", &vec![0; 8 << 20]);
    let mut twice =
        npz(path_of_four().into_iter().chain([("z", ints("(1,)", &[0]))]), CompressionMethod::Stored);
    while let Some(at) = twice.windows(5).position(|w| w == b"z.npy") {
        twice[at] = b'y';
    }
    vec![
        Case::file(17, 65, "bomb", changed(&[("x", bomb())])),
        Case::file(17, 0, "bomb that nobody opens", changed(&[("other", bomb())])),
        Case::file(18, 0, "names that climb out", changed(&[("../../etc/x", bomb()), ("/etc/x", bomb())])),
        Case::file(18, 65, "link as member", with_link()),
        Case::file(19, 65, "member twice", twice),
        Case::file(20, 65, "encrypted", flipped(central + 8, 1)),
        Case::file(20, 65, "unknown compression", flipped(central + 10, 93)),
        Case::file(20, 65, "wrong checksum", flipped(one + 6, 1)),
        Case::file(20, 65, "cut", stored[..stored.len() - 40].to_vec()),
    ]
}

/// An archive whose features are a symbolic link.
fn with_link() -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (key, bytes) in path_of_four() {
        if key == "x" {
            zip.add_symlink("x.npy", "/etc/passwd", SimpleFileOptions::default()).unwrap();
            continue;
        }
        zip.start_file(format!("{key}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn packs() -> Vec<Case> {
    let good = packed(b"0,1\n1,2\n");
    let flipped = {
        let mut file = good.clone();
        let checksum = file.len() - 8;
        file[checksum] ^= 1;
        file
    };
    vec![
        Case::part(21, "gzip cut", EDGES, good[..20].to_vec()),
        Case::part(21, "gzip with more behind", EDGES, [&good[..], b"more"].concat()),
        Case::part(21, "gzip with a wrong checksum", EDGES, flipped),
        Case::part(21, "gzip bomb", EDGES, packed(&b"0,1\n".repeat(2 << 20))),
    ]
}

fn places() -> Vec<Case> {
    let none = Case::new(22, 66, "nothing there", |folder| look(&folder.join("none.npz"), &small()));
    let empty = Case::new(22, 65, "empty folder", |folder| look(folder, &small()));
    let inside = Case::new(22, 65, "folder in place of a file", |folder| {
        let feats = folder.join("feats.npy");
        if !feats.is_dir() {
            super::common::folders::copy_files(&super::golden("graphsaint"), folder);
            std::fs::remove_file(&feats).unwrap();
            std::fs::create_dir(&feats).unwrap();
        }
        look(folder, &small())
    });
    if !cfg!(unix) {
        return vec![none, empty, inside];
    }
    let device = Case::new(22, 65, "device", |_| look(Path::new("/dev/zero"), &small()));
    let pipe = Case::new(22, 65, "pipe", |folder| look(&unread_pipe(folder), &small()));
    vec![none, empty, inside, device, pipe]
}

/// A pipe into which nobody writes.
fn unread_pipe(folder: &Path) -> PathBuf {
    let path = folder.join("data.npz");
    if !path.exists() {
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    path
}
