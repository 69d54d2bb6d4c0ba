//! Small hostile files take little memory: at no moment more than four times their bytes and 64 KiB.
//!
//! The allocator of this test counts. There is one test only, so that nothing else allocates meanwhile. Packed files are
//! measured against what they unpack to, which has a limit of its own.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]
#![expect(
    unsafe_code,
    reason = "an allocator is unsafe to write; this one hands everything on to the system's"
)]

mod common;

use common::damage::{Dice, mutated, mutated_file};
use common::folders::{copy_files, files, golden};
use common::{csr, floats, ints, npy, npz, path_of_four};
use iglu_data::formats::npy::Array;
use iglu_data::formats::npz::Npz;
use iglu_data::formats::pickle::Pickle;
use iglu_data::formats::scipy_npz;
use iglu_data::{Limits, LoadOptions, Purpose, load};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use zip::CompressionMethod;

/// Counts what is allocated now, and the most there was.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        NOW.fetch_sub(layout.size(), Relaxed);
        MOST.fetch_max(NOW.fetch_add(size, Relaxed) + size, Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as for the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that `work` has at a time.
fn peak(work: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    work();
    MOST.load(Relaxed).saturating_sub(before)
}

const UNPACKED: u64 = 32 << 10;

fn options() -> LoadOptions {
    let limits = Limits { max_decompressed: UNPACKED };
    LoadOptions { limits, purpose: Purpose::Predict, ..LoadOptions::default() }
}

/// Name, extra field and comment of a member: the zip library takes up to 64 KiB for each before it reads them.
const ZIP: usize = 3 << 16;

/// Checks that reading `input` bytes, packed ones counted by what they may unpack to, took few.
fn check(what: &str, input: usize, peak: usize) {
    let zip = if what.contains("npz") { ZIP } else { 0 };
    let most = 4 * input + (64 << 10) + zip;
    assert!(peak <= most, "{what}: {peak} bytes for an input of {input}; at most {most}");
}

fn arrays() {
    let declared = [
        npy("<f4", "(1099511627776,)", &[0; 8]),
        npy("<f4", "(4294967296, 4294967296)", &[]),
        [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes(), &[b' '; 100]].concat(),
    ];
    let mut dice = Dice(0x5eed_0001_0002_0003);
    let good = floats("(8, 8)", &[0.5; 64]);
    let damaged = (0..2000).map(|_| mutated(&good, &mut dice));
    for bytes in declared.into_iter().chain(damaged) {
        let length = bytes.len();
        check("npy", length, peak(|| drop(Array::parse(bytes.clone()).map(|array| array.floats()))));
    }
}

fn archives() {
    let huge = [4_000_000_000, 4_000_000_000];
    let coordinates = vec![
        ("format", npy("<U3", "()", b"c\0\0\0o\0\0\0o\0\0\0")),
        ("shape", ints("(2,)", &[1_000_000, 1_000_000])),
        ("row", ints("(1,)", &[0])),
        ("col", ints("(1,)", &[1])),
        ("data", floats("(1,)", &[1.0])),
    ];
    let columns = csr(&[3, 1_000_000], &[0, 1, 1, 1], &[7]);
    let sparse = [csr(&huge, &[0], &[]), coordinates, columns];
    for arrays in sparse {
        let bytes = npz(arrays, CompressionMethod::Stored);
        let read = || {
            drop(
                Npz::new(Cursor::new(&bytes), options().limits)
                    .and_then(|mut npz| scipy_npz::from_scipy(&mut npz)),
            );
        };
        check("npz of a sparse matrix", bytes.len(), peak(read));
    }
    let mut dice = Dice(0x5eed_0004_0005_0006);
    let good = npz(path_of_four(), CompressionMethod::Stored);
    for _ in 0..2000 {
        let bytes = mutated(&good, &mut dice);
        let length = bytes.len();
        check("npz", length, peak(|| drop(common::parse(bytes, &options()))));
    }
}

fn pickles() {
    let mut dice = Dice(0x5eed_0007_0008_0009);
    for name in files(&golden("planetoid")) {
        let good = std::fs::read(golden("planetoid").join(&name)).unwrap();
        for _ in 0..300 {
            let bytes = mutated(&good, &mut dice);
            let length = bytes.len();
            let read = || drop(Pickle::parse(bytes).and_then(|pickle| pickle.array(pickle.root())));
            check("pickle", length, peak(read));
        }
    }
}

/// All bytes of a folder; packed files count as what they may unpack to.
fn bytes_of(folder: &Path) -> usize {
    let bytes = |name: &Path| {
        let length = folder.join(name).metadata().unwrap().len();
        let ending = name.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let packed = ["gz", "npz", "mat", "parquet"].contains(&ending);
        (if packed { length + UNPACKED } else { length }) as usize
    };
    files(folder).iter().map(|name| bytes(name)).sum()
}

/// Damages every file of a dataset, one at a time.
fn dataset(from: &Path, source: &str) {
    let work = common::folder("allocations");
    copy_files(from, &work);
    let mut dice = Dice(0x5eed_000a_000b_000c);
    let path = work.join(source).to_str().unwrap().to_string();
    load(&path, &options()).unwrap();
    for name in files(&work) {
        let good = std::fs::read(work.join(&name)).unwrap();
        for _ in 0..40 {
            std::fs::write(work.join(&name), mutated_file(&name, &good, &mut dice)).unwrap();
            let (input, peak) = (bytes_of(&work), peak(|| drop(load(&path, &options()))));
            let archives = files(&work).iter().any(|file| file.extension().is_some_and(|e| e == "npz"));
            let form = if archives { "npz files" } else { "files" };
            check(&format!("{form} of {} with another {}", from.display(), name.display()), input, peak);
        }
        std::fs::write(work.join(&name), good).unwrap();
    }
}

#[test]
fn small_files_take_little_memory() {
    // The pool of threads and tables of the standard library are made once.
    load("synth:village@0.05", &LoadOptions::default()).unwrap();
    load(golden("graphsaint").to_str().unwrap(), &options()).unwrap();
    arrays();
    archives();
    pickles();
    let folders = [
        ("planetoid", "ind.mixed.x"),
        ("ogb_citation", ""),
        ("ogb_proteins", ""),
        ("ogb_binary", ""),
        ("graphsaint", ""),
        ("graphsaint_multi", ""),
        ("graphsage", ""),
        ("authors_ppi", ""),
        ("ppi", ""),
    ];
    for (folder, source) in folders {
        dataset(&golden(folder), source);
    }
    for (folder, source) in common::wild() {
        dataset(&golden("../wild").join(folder), source);
    }
}
