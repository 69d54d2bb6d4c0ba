//! The eight Planetoid files of a small dataset, as Python 2 pickled them.

use super::folders::{pickled_array, pickled_csr};

/// A dataset of 6 nodes: 0 to 3 in allx, of which 0 and 1 train; 5 and 4 in tx.
pub fn tiny() -> [(&'static str, Vec<u8>); 8] {
    let graph = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(K\x00](K\x01K\x02eK\x01]K\x00aK\x02]K\x00a\
        K\x03]K\x04aK\x04]K\x03aK\x05]u.";
    [
        ("x", x(2)),
        ("y", y(2)),
        ("tx", x(2)),
        ("ty", y(2)),
        ("allx", x(4)),
        ("ally", y(4)),
        ("graph", graph.to_vec()),
        ("test.index", b"5\n4\n".to_vec()),
    ]
}

/// Features of so many nodes, one each.
pub fn x(rows: i32) -> Vec<u8> {
    let indptr: Vec<i32> = (0..=rows).collect();
    let indices: Vec<i32> = (0..rows).map(|r| r % 2).collect();
    pickled_csr([rows, 3], &indptr, &indices)
}

/// Classes of so many nodes, all the second of two.
pub fn y(rows: usize) -> Vec<u8> {
    one_hot(&vec![[0, 1]; rows])
}

/// Classes of two.
pub fn one_hot(rows: &[[i32; 2]]) -> Vec<u8> {
    let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
    pickled_array("i4", &[rows.len() as i32, 2], &bytes)
}
