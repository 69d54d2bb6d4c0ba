//! What the fuzz targets do with their bytes: one function per reader, which may refuse them but not panic, hang or
//! take memory. `README.md` says how to run them.
//!
//! Readers of folders get their file among sound ones, in a folder of the process under the system's temporary folder.

use iglu_data::formats::gz::{Unpacked, cause};
use iglu_data::formats::lines::{Columns, Lines, decimal, whole};
use iglu_data::formats::mat::MatFile;
use iglu_data::formats::npy::Array;
use iglu_data::formats::npz::Npz;
use iglu_data::formats::pickle::Pickle;
use iglu_data::formats::scipy_npz::{self, Csr, Keys};
use iglu_data::formats::{facebook100, plain, shchur, yandex};
use iglu_data::{Card, Limits, LoadOptions, Purpose, Verify};
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Inputs have a few kilobytes, so a mebibyte is a bomb.
const LIMITS: Limits = Limits { max_decompressed: 1 << 20 };

fn options() -> LoadOptions {
    ready();
    LoadOptions { limits: LIMITS, purpose: Purpose::Predict, verify: Verify::Structure, ..LoadOptions::default() }
}

/// Arrays of NumPy.
pub fn npy(bytes: &[u8]) {
    let Ok(array) = Array::parse(bytes.to_vec()) else { return };
    assert_eq!(array.floats().len(), array.len());
    let _ = (array.ints::<u32>(), array.ints::<i64>(), array.describe());
}

/// Archives of NumPy, as bytes.
pub fn npz(bytes: &[u8]) {
    if let Ok(mut npz) = Npz::new(Cursor::new(bytes), LIMITS) {
        let _ = plain::parse(&mut npz, &options());
        let _ = scipy_npz::from_scipy(&mut npz);
    }
}

/// The arrays of three forms in sound archives: the first byte says which form, the rest is [`framed`].
pub fn npz_arrays(bytes: &[u8]) {
    let Some((form, rest)) = bytes.split_first() else { return };
    let Ok(mut npz) = Npz::new(Cursor::new(framed(rest)), LIMITS) else { return };
    let _ = match form % 3 {
        0 => plain::parse(&mut npz, &options()),
        1 => shchur::parse(&mut npz, &options()),
        _ => yandex::parse(&mut npz, &options()),
    };
}

/// The arrays of a SciPy matrix, [`framed`].
pub fn scipy_npz(bytes: &[u8]) {
    ready();
    if let Ok(mut npz) = Npz::new(Cursor::new(framed(bytes)), LIMITS)
        && let Ok(matrix) = scipy_npz::from_scipy(&mut npz)
        && matrix.cols <= bytes.len()
    {
        assert_eq!(matrix.transposed().indices.len(), matrix.indices.len());
    }
}

/// An archive of the arrays in `bytes`: length of the name, name, length of the array in two bytes, array; and so on.
fn framed(mut bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    while let Some((&length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at(rest.len().min(length.into()));
        let Some((length, rest)) = rest.split_first_chunk() else { break };
        let (array, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
        bytes = rest;
        let name = format!("{}.npy", String::from_utf8_lossy(name));
        // Names that are there twice are refused by the writer already.
        if zip.start_file(name, stored).is_ok() {
            zip.write_all(array).expect("memory takes all");
        }
    }
    zip.finish().expect("memory takes all").into_inner()
}

/// Pickles of Planetoid.
pub fn pickle(bytes: &[u8]) {
    let Ok(pickle) = Pickle::parse(bytes.to_vec()) else { return };
    let root = pickle.root();
    let _ = (pickle.array(root), pickle.items(root).map(<[_]>::len), pickle.text(root).map(|text| text.len()));
    if let Ok(parts) = pickle.csr(root) {
        let _ = Csr::check(&parts, &Keys::SCIPY);
    }
    for &(key, value) in pickle.dict(root).unwrap_or_default() {
        let _ = (pickle.text(key).map(|text| text.len()), pickle.items(value).map(<[_]>::len));
    }
}

/// MATLAB files.
pub fn mat(bytes: &[u8]) {
    if let Ok(mut file) = MatFile::parse(bytes.to_vec(), LIMITS) {
        let _ = facebook100::parse(&mut file, &options());
    }
}

/// Graphs of networkx.
pub fn node_link(bytes: &[u8]) {
    dataset("node_link", &[("g-G.json", bytes)]);
}

/// Classes of GraphSAGE and GraphSAINT.
pub fn class_map(bytes: &[u8]) {
    let graph = br#"{"nodes": [{"id": 0}, {"id": 1}, {"id": 2}], "links": [{"source": 0, "target": 1}]}"#;
    dataset("class_map", &[("g-G.json", graph), ("g-class_map.json", bytes)]);
}

/// Tables of edges and of nodes as text; the first byte says which of the two it is.
pub fn table(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, nodes)) => dataset("nodes", &[("edges.csv", b"source,target\n0,1\n1,2\n"), ("nodes.csv", nodes)]),
        Some((1, edges)) => dataset("edges", &[("edges.csv", edges)]),
        Some((_, edges)) => dataset("both", &[("edges.csv", edges), ("nodes.csv", b"id,label,x\n0,a,1\n1,b,2\n2,a,3\n")]),
        None => {}
    }
}

/// Tables in Parquet files.
pub fn parquet(bytes: &[u8]) {
    dataset("parquet", &[("edges.parquet", bytes)]);
}

/// Tables of numbers as text.
pub fn lines(bytes: &[u8]) {
    let open = || Unpacked::new(bytes, LIMITS).map(Lines::new);
    let decimals = Columns { separator: b',', count: None, read: decimal, expected: "a number" };
    let ids = Columns { separator: b'\t', count: Some(2), read: whole, expected: "a node id" };
    let _ = open().and_then(|mut lines| lines.table(&decimals));
    let _ = open().and_then(|mut lines| lines.table(&ids));
}

/// Nodes of Geom-GCN.
pub fn geom_gcn(bytes: &[u8]) {
    let edges = b"node_id\tnode_id\n0\t1\n1\t2\n";
    dataset("geom_gcn", &[("out1_graph_edges.txt", edges), ("out1_node_feature_label.txt", bytes)]);
}

/// Files packed with gzip.
pub fn gz(bytes: &[u8]) {
    let Ok(mut file) = Unpacked::new(bytes, LIMITS) else { return };
    let mut out = Vec::new();
    match file.read_to_end(&mut out).map_err(cause) {
        Ok(_) => assert!(out.len() as u64 <= LIMITS.max_decompressed.max(bytes.len() as u64)),
        Err(e) => assert_eq!(e.exit_code(), 65, "{e}"),
    }
}

/// Trained networks.
pub fn model(bytes: &[u8]) {
    ready();
    let path = folder("model").join("m.safetensors");
    write(&path, bytes);
    let _ = iglu_data::model::load(&path);
}

/// Stores, their checksums mended so that damage gets past them.
pub fn store(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    mend(&mut bytes);
    let path = folder("store").join("g.iglu");
    write(&path, &bytes);
    read(&path);
}

/// Writes the checksums that sections, table and header should have, and the length of the file.
fn mend(file: &mut [u8]) {
    const HEADER: usize = 64;
    const ENTRY: usize = 32;
    if file.len() < HEADER {
        return;
    }
    let (length, count) = (file.len(), u32_at(file, 12) as usize);
    let Some(table) = count.checked_mul(ENTRY).map(|size| HEADER..(HEADER + size).next_multiple_of(64)) else { return };
    if table.end > length {
        return;
    }
    for entry in (HEADER..HEADER + count * ENTRY).step_by(ENTRY) {
        let (start, size) = (u64_at(file, entry + 8), u64_at(file, entry + 16));
        let end = start.checked_add(size).and_then(|end| end.checked_next_multiple_of(64));
        if let Some(section) = end.and_then(|end| file.get(start as usize..end as usize)) {
            let checksum = crc32fast::hash(section);
            file[entry + 24..entry + 28].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&file[table]);
    file[16..24].copy_from_slice(&(length as u64).to_le_bytes());
    file[24..28].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32fast::hash(&file[..HEADER - 4]);
    file[HEADER - 4..HEADER].copy_from_slice(&checksum.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, &b| value << 8 | u32::from(b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |value, &b| value << 8 | u64::from(b))
}

/// Keeps the fuzzer, which ends the process in the panic hook, from seeing panics of libraries that are caught; and work in
/// parallel on this thread, since handing it to another takes longer than doing it.
fn ready() {
    static READY: OnceLock<()> = OnceLock::new();
    READY.get_or_init(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        pool.build_global().expect("the first pool");
        let announce = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !iglu_data::catching_panics() {
                announce(panic);
            }
        }));
    });
}

/// Reads a folder of these files; what is read can be summed up.
fn dataset(name: &str, files: &[(&str, &[u8])]) {
    let folder = folder(name);
    for (file, bytes) in files {
        write(&folder.join(file), bytes);
    }
    read(&folder);
}

fn read(path: &Path) {
    if let Ok(data) = iglu_data::load(path.to_str().expect("a plain path"), &options()) {
        let _ = Card::of(&data);
    }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("the temporary folder can be written");
}

/// A folder of this process.
fn folder(name: &str) -> PathBuf {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    let root = ROOT.get_or_init(|| std::env::temp_dir().join(format!("iglu-fuzz-{}", std::process::id())));
    let folder = root.join(name);
    if !folder.exists() {
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
    }
    folder
}
