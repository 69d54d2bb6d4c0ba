use super::header::{ALIGN, HEADER, Kind, Section, parse_header};
use crate::{Layout, LoadOptions, Purpose, Verify, load, write_store};
use iglu::{
    Dataset, EdgeOptions, Features, Graph, Labels, Mat, Permutation, Relation, Result, SelfLoops, SparseMat,
    Split,
};
use std::fs;
use std::path::{Path, PathBuf};

fn options(verify: Verify) -> LoadOptions {
    LoadOptions { verify, ..LoadOptions::default() }
}

fn open(path: &Path, verify: Verify) -> Result<Dataset> {
    load(path.to_str().unwrap(), &options(verify))
}

fn graph(directed: bool, weights: Option<&[f32]>) -> Graph {
    let options = EdgeOptions { directed, weights, self_loops: SelfLoops::Keep };
    Graph::from_edges(5, &[[0, 1], [1, 2], [2, 2], [3, 1], [1, 3]], options).unwrap()
}

/// A dataset of five nodes that has everything a dataset can have.
fn everything() -> Dataset {
    let ids = vec![0, 1, 2, 0, -1];
    let split = Split { train: vec![0, 1], val: vec![2], test: vec![3] };
    let x = Mat::from_vec(5, 3, (0..15).map(|v| v as f32 / 4.0).collect());
    let mut data = Dataset::new(
        "everything",
        graph(true, Some(&[0.5, 1.0, 2.0, 0.25, 3.0])),
        Features::Dense(x),
        Labels::Classes { ids, classes: 3 },
        split.clone(),
    );
    data.splits = vec![split, Split { train: vec![3], val: vec![], test: vec![1, 0] }];
    data.relations = vec![
        Relation { name: "cites".into(), graph: graph(true, None), latent: false },
        Relation { name: "knows".into(), graph: graph(false, None), latent: true },
    ];
    data.node_names = Some(["a", "", "ß", "d e", "5"].into_iter().collect());
    data.class_names = Some(["red", "green", "blue"].into_iter().collect());
    data.notes = vec!["odd, but legal".into()];
    data.source = Some("somewhere.npz".into());
    data.licence = Some("CC0".into());
    data
}

/// Sparse features, many labels, no split, no names.
fn bare() -> Dataset {
    let x = SparseMat::from_parts(4, vec![0, 1, 1, 3, 3, 4], vec![2, 0, 3, 1], vec![1.0, 2.0, 3.0, 4.0]);
    let labels = Labels::Multi { values: vec![0, 1, 1, 1, -1, -1, 0, 0, 1, 0], classes: 2 };
    let mut data = Dataset::new("bare", graph(false, None), Features::Sparse(x), labels, Split::default());
    data.source = Some("made".into());
    data
}

fn written(name: &str, data: &Dataset) -> (PathBuf, Vec<u8>) {
    let path = crate::testing::folder(name).join("d.iglu");
    write_store(&path, data).unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[test]
fn every_field_comes_back_and_equal_data_are_equal_files() {
    for data in [everything(), bare()] {
        let (path, bytes) = written("store", &data);
        for verify in [Verify::Header, Verify::Structure, Verify::Everything] {
            let look =
                LoadOptions { purpose: Purpose::Predict, self_loops: SelfLoops::Keep, ..options(verify) };
            let back = load(path.to_str().unwrap(), &look).unwrap();
            assert_eq!(back, data);
            assert!(back.features.is_kept(), "features are used in place");
            write_store(&path, &back).unwrap();
            assert!(fs::read(&path).unwrap() == bytes, "written again, other bytes");
        }
        assert_eq!(bytes.len() as u64 % ALIGN, 0);
    }
}

#[test]
fn any_stored_split_can_be_asked_for_and_a_drawn_one_stands_alone() {
    let (path, _) = written("splits", &everything());
    let second = load(path.to_str().unwrap(), &LoadOptions { split: 1, ..Default::default() }).unwrap();
    assert_eq!(second.split, everything().splits[1]);
    let e = load(path.to_str().unwrap(), &LoadOptions { split: 2, ..Default::default() }).unwrap_err();
    assert!(e.to_string().contains("split 2 was asked for, the file has 2"), "{e}");
    let drawn = Split { train: vec![2], val: vec![1], test: vec![0] };
    let (path, _) = written("drawn", &Dataset { split: drawn.clone(), ..everything() });
    assert_eq!(open(&path, Verify::Header).unwrap().splits, [drawn]);
}

#[test]
fn every_truncation_and_addition_is_refused() {
    let (path, bytes) = written("cut", &everything());
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert!(open(&path, Verify::Header).is_err(), "{length} of {} bytes accepted", bytes.len());
    }
    fs::write(&path, [&bytes[..], &[0; 64]].concat()).unwrap();
    let e = open(&path, Verify::Header).unwrap_err();
    assert!(e.to_string().contains(&format!("declares {} bytes, the file has", bytes.len())), "{e}");
}

/// Sections of a file.
fn sections(bytes: &[u8]) -> Vec<Section> {
    let start: [u8; HEADER] = bytes[..HEADER].try_into().unwrap();
    parse_header(&start, bytes.len() as u64).unwrap().parse_table(bytes).unwrap()
}

#[test]
fn every_flipped_bit_is_found() {
    for (name, data) in [("flip", everything()), ("flip-bare", bare()), ("flip-order", reordered())] {
        let purpose = Purpose::Predict;
        let (path, bytes) = written(name, &data);
        let table = sections(&bytes);
        let checked = |kind| {
            let mapped = [Kind::Offsets, Kind::Neighbours, Kind::Weights, Kind::Dense];
            let sparse = [Kind::SparseOffsets, Kind::SparseIndices, Kind::SparseValues];
            !mapped.contains(&kind) && !sparse.contains(&kind)
        };
        let first = table[0].start as usize;
        let flips = (0..first * 8).chain((first..bytes.len()).map(|at| at * 8 + at % 8));
        for flip in flips {
            let (at, bit) = (flip / 8, flip % 8);
            let section = table.iter().find(|s| s.padded().contains(&at));
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            fs::write(&path, &damaged).unwrap();
            let read = |verify| load(path.to_str().unwrap(), &LoadOptions { purpose, ..options(verify) });
            // Header, table and what is copied: always. The rest: when asked, and nothing panics otherwise.
            if section.is_none_or(|s| checked(s.kind)) {
                assert!(read(Verify::Header).is_err(), "byte {at} accepted, {section:?}");
            } else {
                let e = read(Verify::Everything).expect_err("a flipped bit was accepted");
                assert!(e.to_string().contains("checksum"), "byte {at}: {e}");
                let _ = read(Verify::Structure);
            }
        }
    }
}

/// The bytes with a new header and table for `sections`, checksums made right.
fn resealed(mut bytes: Vec<u8>, mut sections: Vec<Section>) -> Vec<u8> {
    for section in &mut sections {
        section.checksum = crc32fast::hash(&bytes[section.padded()]);
    }
    let head = super::header::write(&sections);
    bytes[..head.len()].copy_from_slice(&head);
    bytes
}

fn refused(path: &Path, bytes: &[u8], expect: &[&str]) {
    fs::write(path, bytes).unwrap();
    let e = load(path.to_str().unwrap(), &options(Verify::Everything)).expect_err(expect[0]);
    assert_eq!(e.exit_code(), 65, "{e}");
    for part in expect.iter().chain(&["d.iglu`", "fix: "]) {
        assert!(e.to_string().contains(part), "{e}\nexpected {part}");
    }
}

#[test]
fn newer_versions_and_files_sent_as_text_are_named() {
    let (path, mut bytes) = written("version", &everything());
    let text: Vec<u8> = bytes.iter().filter(|b| **b != b'\r').copied().collect();
    refused(&path, &text, &["sent as text?", "binary mode"]);
    bytes[8] = 3;
    let sum = crc32fast::hash(&bytes[..HEADER - 4]);
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
    refused(&path, &bytes, &["version 3 of the store", "update this one"]);
}

/// Files with right checksums and wrong contents.
#[test]
fn contents_that_cannot_be_are_refused() {
    let (path, good) = written("forged", &everything());
    let table = sections(&good);
    let with = |kind: Kind, at: usize, new: &[u8]| {
        let mut bytes = good.clone();
        let start = table.iter().find(|s| s.kind == kind).unwrap().start as usize + at;
        bytes[start..start + new.len()].copy_from_slice(new);
        resealed(bytes, table.clone())
    };
    refused(&path, &with(Kind::Neighbours, 0, &9_u32.to_le_bytes()), &["graph: rows", "node 9"]);
    refused(&path, &with(Kind::Offsets, 16, &9_u64.to_le_bytes()), &["row 2 goes from 9 back"]);
    refused(&path, &with(Kind::Offsets, 0, &1_u64.to_le_bytes()), &["start at Some(1)"]);
    refused(&path, &with(Kind::Dense, 8, &f32::NAN.to_le_bytes()), &["features: value 2 is NaN"]);
    refused(&path, &with(Kind::Weights, 0, &f32::NAN.to_le_bytes()), &["weight NaN"]);
    refused(&path, &with(Kind::Classes, 4, &3_i32.to_le_bytes()), &["labels: class 3 of 3"]);
    refused(&path, &with(Kind::Splits, 0, &7_u32.to_le_bytes()), &["train: entry 0: node 7"]);
    refused(&path, &with(Kind::NodeEnds, 0, &9_u64.to_le_bytes()), &["names: 5 ends"]);
    refused(&path, &with(Kind::NodeLetters, 1, b"\xff"), &["not UTF-8"]);
    refused(&path, &with(Kind::About, 0, b"["), &["about: "]);
    let renamed = |from: Kind, to: Kind| {
        let change = |s: &Section| Section { kind: if s.kind == from { to } else { s.kind }, ..*s };
        resealed(good.clone(), table.iter().map(change).collect())
    };
    refused(&path, &renamed(Kind::Dense, Kind::SparseOffsets), &["section SparseOffsets: "]);
    refused(&path, &renamed(Kind::Classes, Kind::Labels), &["labels: "]);
    refused(&path, &renamed(Kind::Neighbours, Kind::Offsets), &["no section Neighbours"]);
    refused(&path, &renamed(Kind::Splits, Kind::SparseValues), &["splits: 2 nodes beyond the end"]);
    let mut shifted = table.clone();
    shifted[2].start += 64;
    refused(&path, &resealed(good.clone(), shifted), &["is not where it should be"]);
    let mut endless = good.clone();
    let last = HEADER + (table.len() - 1) * 32;
    endless[last + 16..last + 24].copy_from_slice(&(u64::MAX - 8).to_le_bytes());
    let sum = crc32fast::hash(&endless[HEADER..table[0].start as usize]);
    endless[24..28].copy_from_slice(&sum.to_le_bytes());
    let sum = crc32fast::hash(&endless[..HEADER - 4]);
    endless[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
    refused(&path, &endless, &["table: ", "is not where it should be"]);
}

#[test]
fn declared_counts_are_checked_and_never_allocated() {
    let (path, good) = written("counts", &bare());
    let table = sections(&good);
    let about = table.iter().find(|s| s.kind == Kind::About).unwrap().bytes();
    let text = String::from_utf8(good[about.clone()].to_vec()).unwrap();
    for (from, to, expect) in [
        ("\"nodes\":5", "\"nodes\":6", "section Offsets: 6 numbers; expected 7"),
        ("\"features\":4", "\"features\":1", "features: rows: row 0 is not sorted, or has a column beyond 1"),
        ("\"classes\":2", "\"classes\":3", "labels: 10 values"),
        ("\"name\":\"bare\"", "\"nome\":\"bare\"", "about: "),
    ] {
        let new = text.replace(from, to);
        assert!(new != text && new.len() == text.len(), "{from}");
        let mut bytes = good.clone();
        bytes[about.clone()].copy_from_slice(new.as_bytes());
        refused(&path, &resealed(bytes, table.clone()), &[expect]);
    }
}

#[test]
fn self_loops_follow_the_conversion_and_say_so() {
    let kept = everything();
    let dropped = Dataset {
        graph: Graph::from_edges(5, &[[0, 1], [2, 2]], EdgeOptions::default()).unwrap(),
        ..everything()
    };
    for (data, self_loops, note) in [
        (&kept, SelfLoops::Drop, Some("1 self loops were kept when")),
        (&kept, SelfLoops::Keep, None),
        (&dropped, SelfLoops::Drop, None),
        (&dropped, SelfLoops::Keep, Some("1 self loops were dropped when")),
    ] {
        let (path, _) = written("loops", data);
        let back = load(path.to_str().unwrap(), &LoadOptions { self_loops, ..Default::default() }).unwrap();
        assert_eq!(back.notes.get(1).is_some(), note.is_some(), "{:?}", back.notes);
        assert!(note.is_none_or(|note| back.notes[1].starts_with(note)), "{:?}", back.notes);
        let refuse = LoadOptions { self_loops: SelfLoops::Error, ..Default::default() };
        let e = load(path.to_str().unwrap(), &refuse).unwrap_err();
        assert!(e.to_string().contains("1 edges from a node to itself"), "{e}");
    }
}

/// The old file stays readable for who has it open, and stays in place when writing fails.
#[test]
fn a_store_is_replaced_never_changed() {
    let (path, _) = written("replace", &everything());
    let first = open(&path, Verify::Header).unwrap();
    write_store(&path, &Dataset { features: Features::Dense(Mat::zeros(5, 3)), ..everything() }).unwrap();
    assert_eq!(first.features, everything().features);
    assert_ne!(open(&path, Verify::Header).unwrap().features, first.features);
}

/// Everything, its nodes in another order.
fn reordered() -> Dataset {
    everything().reordered(&Permutation::new(vec![3, 1, 0, 2, 4]).unwrap())
}

#[test]
fn an_order_is_kept_and_the_nodes_come_back_as_they_were() {
    let (path, bytes) = written("order", &reordered());
    assert_eq!(bytes[8], 2, "readers that know no orders must refuse it");
    assert_eq!(written("no-order", &everything()).1[8], 1, "others are read by all");
    for verify in [Verify::Header, Verify::Structure, Verify::Everything] {
        let options = LoadOptions { self_loops: SelfLoops::Keep, ..options(verify) };
        let read = |layout| load(path.to_str().unwrap(), &LoadOptions { layout, ..options.clone() }).unwrap();
        let stored = read(Layout::Stored);
        assert_eq!(stored, reordered());
        assert!(stored.features.is_kept(), "used in place");
        assert_eq!(read(Layout::File), everything());
    }
    let again = load(path.to_str().unwrap(), &LoadOptions { layout: Layout::Stored, ..Default::default() });
    write_store(&path, &Dataset { notes: reordered().notes, ..again.unwrap() }).unwrap();
    assert!(fs::read(&path).unwrap() == bytes, "written again, other bytes");
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let (path, good) = written("bad-order", &reordered());
    let table = sections(&good);
    let order = table.iter().find(|s| s.kind == Kind::Order).unwrap();
    for (number, expect) in
        [(1_u32, "node 1 has places 0 and 1"), (5, "place 0: node 5, but there are 5 nodes")]
    {
        let mut bytes = good.clone();
        bytes[order.start as usize..order.start as usize + 4].copy_from_slice(&number.to_le_bytes());
        refused(&path, &resealed(bytes, table.clone()), &["order of nodes", expect]);
    }
    let mut short = table.clone();
    short.last_mut().unwrap().length -= 4;
    refused(&path, &resealed(good.clone(), short), &["order of nodes: 4 rows"]);
    // Rows are read when nodes are put back, so they are checked even if nobody asks.
    let mut bytes = good.clone();
    let start = table.iter().find(|s| s.kind == Kind::Neighbours).unwrap().start as usize;
    bytes[start..start + 4].copy_from_slice(&9_u32.to_le_bytes());
    fs::write(&path, resealed(bytes, table.clone())).unwrap();
    assert!(open(&path, Verify::Header).unwrap_err().to_string().contains("node 9"));
    // So are the splits, all of them.
    let mut bytes = good.clone();
    let splits = table.iter().find(|s| s.kind == Kind::Splits).unwrap();
    let end = (splits.start + splits.length) as usize;
    bytes[end - 4..end].copy_from_slice(&9_u32.to_le_bytes());
    refused(&path, &resealed(bytes, table), &["test: entry 1: node 9, but there are 5 nodes"]);
}
