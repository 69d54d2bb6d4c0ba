//! MATLAB files.

use super::common::matlab::{array, element, matlab, packed, words32};
use super::common::{assert_says, folder};
use super::{Case, refused};
use iglu::Dataset;
use iglu_data::formats::{facebook100, mat::MatFile};
use iglu_data::{Limits, LoadOptions, load};

/// One friendship of two.
fn friends(rows: &[i32], offsets: &[i32], values: &[u8]) -> Vec<u8> {
    array("A", 5, &[2, 2], &[element(5, &words32(rows)), element(5, &words32(offsets)), element(2, values)])
}

fn info(values: &[u8]) -> Vec<u8> {
    array("local_info", 9, &[2, 3], &[element(2, values)])
}

fn read(bytes: Vec<u8>) -> iglu::Result<Dataset> {
    let options = LoadOptions { limits: Limits { max_decompressed: 1 << 20 }, ..LoadOptions::default() };
    facebook100::parse(&mut MatFile::parse(bytes, options.limits)?, &options)
}

fn good_friends() -> Vec<u8> {
    friends(&[1, 0], &[0, 1, 2], &[1, 1])
}

fn good_info() -> Vec<u8> {
    info(&[1, 2, 1, 0, 5, 6])
}

/// A good graph with another array behind it; the array starts at byte 240.
fn beside(array: Vec<u8>) -> Vec<u8> {
    matlab(&[good_friends(), array])
}

/// Other members of the good graph.
fn members(class: i32, dims: &[i32], numbers: &[Vec<u8>]) -> Vec<u8> {
    beside(array("local_info", class, dims, numbers))
}

/// Another graph of the good members.
fn graph(array: Vec<u8>) -> Vec<u8> {
    matlab(&[array, good_info()])
}

fn check(cases: &[Case<'_>]) {
    for (case, bytes, fragments) in cases {
        refused(case, read(bytes.clone()), fragments);
    }
}

#[test]
fn good_files_are_read_packed_or_not() {
    let good = read(beside(good_info())).unwrap();
    assert_eq!((good.graph.counts().edges, good.features.cols()), (1, 4));
    assert_eq!(good.labels, iglu::Labels::Classes { ids: vec![0, -1], classes: 2 });
    assert_eq!(read(matlab(&[packed(&good_friends()), packed(&good_info())])).unwrap().graph, good.graph);
}

#[test]
fn containers() {
    let hdf = [&b"MATLAB 7.3 MAT-file"[..], &[b' '; 105], b"\x00\x02IM\x89HDF"].concat();
    let order = [&matlab(&[])[..126], b"XX"].concat();
    let mut beyond = beside(good_info());
    beyond.truncate(300);
    let half = beside(vec![14, 0]);
    let cut = beside(packed(&good_info())[..40].to_vec());
    let bomb = packed(&array("local_info", 9, &[2, 3], &[element(2, &vec![0; 4 << 20])]));
    check(&[
        ("version 7.3", hdf, &["a MATLAB file of version 7.3 (HDF5)", "'-v7'"]),
        ("short", b"MATLAB 5.0 MAT".to_vec(), &["14 bytes; the header alone has 128", "cut short"]),
        ("order", order, &["byte 124: version and byte order \"\\x00\\x01XX\""]),
        (
            "type 255",
            matlab(&[element(255, &[0; 8])]),
            &["byte 128: an element of type 255; expected an array"],
        ),
        ("no type", matlab(&[element(14 << 16, &[0; 8])]), &["byte 128: type 917504 and length 8"]),
        ("beyond", beyond, &["byte 240: an element of 72 bytes is declared, 52 are there"]),
        ("half a tag", half, &["byte 240: the data end inside a tag of 8 bytes"]),
        ("bomb", beside(bomb), &["local_info: unpacks to more than 0.0 GiB", "--max-decompressed"]),
        ("cut stream", cut, &["byte 240: an element of"]),
        ("broken stream", beside(element(15, &[1; 40])), &["byte 240: cannot be unpacked"]),
        ("empty stream", beside(packed(b"")), &["byte 240: the data end inside a tag"]),
        ("packed number", beside(packed(&element(9, &[0; 8]))), &["type 9; expected a packed array"]),
        ("twice", beside(good_friends()), &["byte 240: variable `A` is there twice"]),
        ("nothing", matlab(&[]), &["A: no such variable; the file has none"]),
    ]);
}

#[test]
fn arrays() {
    let typed = |kind: u32| members(9, &[2, 3], &[element(kind, &[1; 6])]);
    let six = [element(2, &[1; 6])];
    let large = [i32::MAX; 3];
    let other = matlab(&[array("W", 5, &[2, 2], &[]), array("net", 2, &[1, 1], &[]), good_info()]);
    let there = "A: no such variable; the file has `W` (sparse 2 x 2), `net` (struct 1 x 1), `local_info` (uint8 2 x 3)";
    check(&[
        ("type 8", typed(8), &["local_info: an element of type 8; expected numbers"]),
        ("type 20", typed(20), &["local_info: an element of type 20; expected numbers"]),
        ("overflow", members(9, &large, &six), &["local_info: header declares", "more bytes than 64 bits"]),
        ("dimensions", members(9, &[2, 1 << 30], &six), &["= 2147483648 bytes, the file has 6"]),
        ("negative", members(9, &[-2, 3], &six), &["dimensions: -2; expected 0 or more"]),
        ("one dimension", members(9, &[6], &six), &["dimensions: 1 of them; expected 2 or more"]),
        ("other names", other, &[there, "scipy.io.loadmat"]),
        ("object", members(17, &[2, 2], &[]), &["local_info: no such variable"]),
        ("old object", members(3, &[1, 1], &[]), &["local_info: object 1 x 1; expected numbers"]),
        ("function", members(16, &[1, 1], &[]), &["local_info: function handle 1 x 1; expected numbers"]),
        ("cell", members(1, &[1, 1], &[]), &["local_info: cell 1 x 1; expected numbers"]),
        ("text", members(4, &[1, 1], &[]), &["local_info: char 1 x 1; expected numbers"]),
        ("complex", members(9 | 8 << 8, &[2, 3], &[]), &["complex uint8 2 x 3; expected real numbers"]),
        ("sparse", members(5, &[2, 3], &[]), &["local_info: sparse 2 x 3; expected a full matrix"]),
    ]);
}

#[test]
fn graphs_and_members() {
    let halves = element(9, &[0.5_f64, 1.0, 1.0, 1.0].map(f64::to_le_bytes).concat());
    let full = array("A", 6, &[2, 2], &[element(9, &[0; 32])]);
    let flat = array("A", 5, &[1, 2], &[element(5, &[]), element(5, &words32(&[0, 0, 0])), element(2, &[])]);
    check(&[
        ("full", graph(full), &["A: double 2 x 2; expected a sparse matrix", "sparse(...)"]),
        ("flat", graph(flat), &["A: shape: 2 x 1; expected as many columns as rows"]),
        (
            "row",
            graph(friends(&[1, 2], &[0, 1, 2], &[1, 1])),
            &["A: row indices: entry 1: row 2, but `dimensions` has 2"],
        ),
        (
            "offsets",
            graph(friends(&[1, 0], &[0, 2, 1], &[1, 1])),
            &["A: column offsets: entry 2: falls from 2 to 1"],
        ),
        (
            "few offsets",
            graph(friends(&[1, 0], &[0, 2], &[1, 1])),
            &["A: column offsets: (2,) int32; expected 3"],
        ),
        (
            "few rows",
            graph(friends(&[1], &[0, 1, 2], &[1, 1])),
            &["A: row indices: (1,) int32; expected 2 indices"],
        ),
        (
            "few values",
            graph(friends(&[1, 0], &[0, 1, 2], &[1])),
            &["A: values: (1,) uint8; expected 2 values"],
        ),
        (
            "gender",
            beside(info(&[1, 2, 3, 0, 5, 6])),
            &["local_info: row 0, column 1: 3; expected 1 or 2, or 0"],
        ),
        (
            "fraction",
            members(6, &[2, 2], &[halves]),
            &["local_info: row 0, column 0: 0.5; expected a whole number"],
        ),
        (
            "one column",
            members(9, &[2, 1], &[element(2, &[1, 2])]),
            &["(2, 1) uint8; expected a column of genders"],
        ),
        ("rows", members(9, &[3, 2], &[element(2, &[1; 6])]), &["x: 3 rows, but the graph has 2 nodes"]),
    ]);
    let path = folder("matlab").join("net.mat");
    std::fs::write(&path, matlab(&[good_friends()])).unwrap();
    let e = load(path.to_str().unwrap(), &LoadOptions::default()).unwrap_err();
    assert_says("path", &e, &["net.mat`: local_info: no such variable; the file has `A` (sparse 2 x 2)"]);
}
