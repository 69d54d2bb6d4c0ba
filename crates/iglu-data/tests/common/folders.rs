//! Copies of the golden folders, to be changed by tests.

use std::path::{Path, PathBuf};

/// The golden dataset `name`.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/folders").join(name)
}

/// Files of a folder and of the folders in it, relative to it and sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inner) = todo.pop() {
        for entry in std::fs::read_dir(folder.join(&inner)).unwrap() {
            let name = inner.join(entry.unwrap().file_name());
            if folder.join(&name).is_dir() { todo.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    found
}

/// A copy of the golden dataset `name` for the test `test`.
pub fn copy(name: &str, test: &str) -> PathBuf {
    let to = super::folder(&format!("{test}-{name}"));
    copy_files(&golden(name), &to);
    to
}

/// Copies all files of a folder.
pub fn copy_files(from: &Path, to: &Path) {
    for file in files(from) {
        std::fs::create_dir_all(to.join(&file).parent().unwrap()).unwrap();
        std::fs::copy(from.join(&file), to.join(&file)).unwrap();
    }
}

/// Bytes packed with gzip.
pub fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

/// Bytes unpacked with gzip.
pub fn unpacked(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

/// A pickled array as Python 2 wrote it; `code` is its type, such as `i4`.
pub fn pickled_array(code: &str, shape: &[i32], body: &[u8]) -> Vec<u8> {
    [b"\x80\x02", &array_steps(code, shape, body)[..], b"."].concat()
}

fn array_steps(code: &str, shape: &[i32], body: &[u8]) -> Vec<u8> {
    let mut out =
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(".to_vec();
    for n in shape {
        out.push(b'J');
        out.extend(n.to_le_bytes());
    }
    out.extend(b"tcnumpy\ndtype\nU\x02");
    out.extend(code.as_bytes());
    out.extend(b"K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T");
    out.extend((body.len() as u32).to_le_bytes());
    out.extend(body);
    out.extend(b"tb");
    out
}

/// A pickled `csr_matrix` of ones as Python 2 wrote it.
pub fn pickled_csr(shape: [i32; 2], indptr: &[i32], indices: &[i32]) -> Vec<u8> {
    let bytes = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let ones: Vec<u8> = indices.iter().flat_map(|_| 1.0_f32.to_le_bytes()).collect();
    let mut out = b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape".to_vec();
    for n in shape {
        out.push(b'J');
        out.extend(n.to_le_bytes());
    }
    out.extend(b"\x86U\x06indptr");
    out.extend(array_steps("i4", &[indptr.len() as i32], &bytes(indptr)));
    out.extend(b"U\x07indices");
    out.extend(array_steps("i4", &[indices.len() as i32], &bytes(indices)));
    out.extend(b"U\x04data");
    out.extend(array_steps("f4", &[indices.len() as i32], &ones));
    out.extend(b"ub.");
    out
}
