//! The eight Planetoid files, made by hand as Python 2 pickled them.

use super::common::folders::{golden, pickled_array, pickled_csr};
use super::common::planetoid::{one_hot, tiny, x, y};
use super::common::{assert_says, folder};
use super::{Case, error_of};
use iglu_data::{LoadOptions, load};
use std::path::{Path, PathBuf};

/// Writes the dataset for the test `test`.
fn written(test: &str) -> PathBuf {
    let folder = folder(&format!("planetoid-{test}"));
    for (part, bytes) in tiny() {
        std::fs::write(folder.join(format!("ind.tiny.{part}")), bytes).unwrap();
    }
    folder
}

fn check(part: &str, cases: &[Case<'_>]) {
    let folder = written(part);
    for (case, bytes, fragments) in cases {
        std::fs::write(folder.join(format!("ind.tiny.{part}")), bytes).unwrap();
        let e = error_of(&folder, &LoadOptions::default());
        assert_eq!(e.exit_code(), 65, "{part}, {case}: {e}");
        assert_says(&format!("{part}, {case}"), &e, fragments);
    }
}

#[test]
fn files_as_python_2_wrote_them() {
    let data = load(written("good").to_str().unwrap(), &LoadOptions::default()).unwrap();
    assert_eq!((data.graph.counts().edges, data.features.cols(), data.labels.classes()), (3, 3, 2));
    assert_eq!(
        (&data.split.train[..], &data.split.val[..], &data.split.test[..]),
        (&[0, 1][..], &[2, 3][..], &[5, 4][..])
    );
}

#[test]
fn programs() {
    check(
        "allx",
        &[(
            "program",
            b"cos\nsystem\n(S'touch pwned'\ntR.".to_vec(),
            &[
                "ind.tiny.allx`: asks to call os.system at byte 0; refused, nothing was run",
                "original source",
            ],
        )],
    );
    check(
        "y",
        &[
            ("partial", b"cfunctools\npartial\n.".to_vec(), &["asks to call functools.partial at byte 0"]),
            (
                "classes",
                pickled_array("i4", &[2, 1], &[1, 0, 0, 0, 1, 0, 0, 0]),
                &["x`: 1 classes, but allx has 2"],
            ),
        ],
    );
    assert!(!Path::new("pwned").exists());
}

#[test]
fn graphs() {
    // One list of 300 neighbours, used by 300 nodes: fewer bytes than neighbours.
    let mut shared = b"\x80\x02}(K\x00](".to_vec();
    shared.extend(b"K\x01".repeat(300));
    shared.extend(b"eq\x00");
    (1..300_u16).for_each(|v| shared.extend([b'M', v as u8, (v >> 8) as u8, b'h', 0]));
    shared.extend(b"u.");
    check(
        "graph",
        &[
            (
                "hidden program",
                b"\x80\x02}(K\x00](K\x01c__builtin__\neval\n(U\x011tReu.".to_vec(),
                &["ind.tiny.graph`: asks to call __builtin__.eval at byte 10; refused"],
            ),
            ("deep", [b"(".repeat(200_000), b".".to_vec()].concat(), &["not a whole pickle"]),
            (
                "lists",
                [b"]".repeat(200_000), b"a".repeat(199_999), b".".to_vec()].concat(),
                &["ind.tiny.graph`: a list where a dictionary was expected"],
            ),
            ("shared lists", shared, &["more neighbours than the", "bytes of the file can name"]),
            ("no list", b"}K\x00K\x01s.".to_vec(), &["a whole number where a list was expected"]),
            ("id", b"}K\x00]K\x06as.".to_vec(), &["ind.tiny.graph`: node 6, but there are 6 nodes (0..5)"]),
            ("negative id", b"}K\x00]J\xff\xff\xff\xffas.".to_vec(), &["node -1, but there are 6 nodes"]),
            ("name as id", b"}K\x00]U\x01aas.".to_vec(), &["a node that is no whole number"]),
        ],
    );
}

#[test]
fn features_and_labels() {
    check(
        "tx",
        &[
            ("cut", x(2)[..90].to_vec(), &["ind.tiny.tx`: "]),
            (
                "page",
                b"<html>404".to_vec(),
                &["ind.tiny.tx`: starts with \"<html>404\", looks like HTML: the download failed"],
            ),
            ("no bytes", vec![], &["ind.tiny.tx`: asks for 1 bytes at byte 0, 0 are left"]),
            ("rows of tx", x(3), &["ind.tiny.ty`: 2 rows, but tx has 3"]),
            (
                "features",
                pickled_csr([2, 4], &[0, 1, 2], &[0, 3]),
                &["ind.tiny.tx`: 4 features, but allx has 3"],
            ),
            (
                "falling",
                pickled_csr([2, 3], &[0, 2, 1], &[0, 1]),
                &["tx`: indptr: entry 2: falls from 2 to 1"],
            ),
            (
                "column",
                pickled_csr([2, 3], &[0, 1, 2], &[0, 3]),
                &["tx`: indices: entry 1: column 3, but `shape` has 3"],
            ),
            (
                "declared rows",
                pickled_csr([2_000_000_000, 3], &[0], &[]),
                &["tx`: indptr: (1,) int32; expected 2000000001"],
            ),
            ("array", y(2), &["tx`: a NumPy array where a SciPy csr_matrix was expected"]),
        ],
    );
    check(
        "ty",
        &[
            (
                "4 GiB",
                b"\x80\x02T\xff\xff\xff\xffabc.".to_vec(),
                &["asks for 4294967295 bytes at byte 7, 4 are left"],
            ),
            ("two classes", one_hot(&[[0, 1], [1, 1]]), &["ty`: row 1: classes 0 and 1; expected one class"]),
            ("no 0 or 1", one_hot(&[[0, 1], [5, 0]]), &["ty`: row 1, column 0: 5; expected 0 or 1"]),
            ("flat", pickled_array("i4", &[2], &[0; 8]), &["ty`: (2,) int32; expected one column per class"]),
            (
                "short array",
                pickled_array("i4", &[2, 2], &[0; 8]),
                &["(2, 2) int32 = 16 bytes, the file has 8"],
            ),
            ("objects", pickled_array("O8", &[2, 2], &[0; 8]), &["object array = pickled Python"]),
        ],
    );
    check(
        "ally",
        &[
            ("rows of ally", y(3), &["ind.tiny.ally`: 3 rows, but allx has 4"]),
            (
                "unlabelled training node",
                one_hot(&[[0, 0], [0, 1], [0, 1], [0, 1]]),
                &["training node 0 has no label"],
            ),
        ],
    );
}

#[test]
fn test_nodes() {
    check(
        "test.index",
        &[
            ("twice", b"5\n5\n".to_vec(), &["test.index`: line 2: node 5 stands there twice"]),
            ("known node", b"5\n3\n".to_vec(), &["test.index`: line 2: node 3; expected 4 to 5"]),
            ("beyond", b"5\n6\n".to_vec(), &["test.index`: line 2: node 6; expected 4 to 5"]),
            ("few", b"5\n".to_vec(), &["test.index`: 1 nodes, but tx has 2 rows"]),
            ("letters", b"5\nx\n".to_vec(), &["test.index`: line 2, column 1: 'x'; expected a node id"]),
        ],
    );
}

#[test]
fn missing_files_and_unclear_names() {
    let folder = written("missing");
    for (part, bytes) in tiny() {
        let path = folder.join(format!("ind.tiny.{part}"));
        std::fs::remove_file(&path).unwrap();
        let e = error_of(&folder, &LoadOptions::default());
        assert_eq!(e.exit_code(), 66, "{e}");
        assert_says(part, &e, &[&format!("ind.tiny.{part}`: this file is not there"), "eight files"]);
        std::fs::write(path, bytes).unwrap();
    }
    let e = error_of(&folder, &LoadOptions { split: 1, ..LoadOptions::default() });
    assert_eq!(e.exit_code(), 64);
    assert_says("split", &e, &["split 1 was asked for, but this dataset has one split"]);
    assert_says(
        "two datasets",
        &error_of(&golden("planetoid"), &LoadOptions::default()),
        &["files of 2 datasets: mixed, turned", "name a file of one of them", "ind.mixed.x"],
    );
}
