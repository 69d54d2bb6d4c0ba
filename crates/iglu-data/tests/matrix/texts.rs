//! Cases 23 to 38: text, JSON, pickles, Parquet and MATLAB files.

use super::common::folders::{golden, packed};
use super::common::matlab::{self, element, matlab, words32};
use super::common::planetoid::{tiny, x, y};
use super::common::{csr, npz};
use super::{Case, look, small, write};
use iglu::config::SplitChoice;
use iglu_data::LoadOptions;
use zip::CompressionMethod;

const EDGES: [&str; 2] = ["ogb_citation", "raw/edge.csv.gz"];
const CLASSES: [&str; 2] = ["graphsaint", "class_map.json"];

pub fn cases() -> Vec<Case> {
    [lines(), headers(), counts(), json(), matrices(), pickles(), planetoid(), parquet(), matlab_files()]
        .into_iter()
        .flatten()
        .collect()
}

fn edges(number: u8, name: &'static str, text: &[u8]) -> Case {
    Case::part(number, name, EDGES, packed(text))
}

fn lines() -> Vec<Case> {
    let long = format!("0,{}1\n", " ".repeat(3 << 20));
    vec![
        edges(23, "letters for a node", b"0,1\n12,abc\n"),
        edges(24, "three columns", b"0,1\n1,2,3\n"),
        edges(25, "fraction for a node", b"0,1\n0,3.7\n"),
        edges(26, "line of megabytes", long.as_bytes()),
        edges(26, "NUL byte", b"0,1\n0,\x00\n"),
        edges(26, "not UTF-8", b"0,\xff\n"),
        edges(26, "carriage returns alone", b"0,1\r1,2\r"),
        edges(26, "header", b"source,target\n0,1\n"),
        edges(27, "number beyond 64 bits", b"0,9999999999999999999999\n"),
    ]
}

const NODES: &[u8] = b"id,label,x\n0,a,1\n1,b,1\n2,a,2\n3,b,3\n";

fn tables(
    number: u8,
    exit: u8,
    name: &'static str,
    edges: &[u8],
    options: fn(LoadOptions) -> LoadOptions,
) -> Case {
    let files = vec![("edges.csv", edges.to_vec()), ("nodes.csv", NODES.to_vec())];
    Case::new(number, exit, name, move |folder| {
        write(folder, &files);
        let split_choice = SplitChoice::Random([0.5, 0.25, 0.25]);
        look(folder, &options(LoadOptions { split_choice, ..small() }))
    })
}

fn headers() -> Vec<Case> {
    let skipping = |options| LoadOptions { skip_header: true, ..options };
    vec![
        tables(25, 0, "whole number as float", b"0.0,1.0\n1.0,2.0\n2.0,3.0\n", |options| options),
        tables(26, 0, "byte order mark", b"\xef\xbb\xbf0,1\n1,2\n2,3\n", |options| options),
        tables(26, 65, "header of unknown names", b"person,friend\n0,1\n1,2\n2,3\n", |options| options),
        tables(26, 0, "header passed over", b"person,friend\n0,1\n1,2\n2,3\n", skipping),
    ]
}

fn counts() -> Vec<Case> {
    let absent = Case::new(28, 66, "no number of nodes", |folder| {
        super::common::folders::copy_files(&golden("ogb_citation"), folder);
        std::fs::remove_file(folder.join("raw/num-node-list.csv.gz")).unwrap();
        look(folder, &small())
    });
    let other = ["ogb_citation", "raw/num-node-list.csv.gz"];
    vec![absent, Case::part(28, "another number of nodes", other, packed(b"13\n"))]
}

fn json() -> Vec<Case> {
    let deep = format!("{{\"nodes\": {}", "[".repeat(100_000));
    let classes = |number, name, text: &str| Case::part(number, name, CLASSES, text.as_bytes().to_vec());
    vec![
        Case::part(29, "depth of 100 000", ["graphsage", "toy-G.json"], deep.into_bytes()),
        classes(29, "depth of 100 000 in a map", &format!("{{\"0\": {}", "[".repeat(100_000))),
        classes(30, "node labelled twice", "{\"0\": 1,\n \"0\": 2}"),
        classes(31, "NaN", "{\"0\": NaN}"),
        classes(31, "number beyond 64 bits", "{\"0\": 1e400}"),
        classes(32, "class of no node", "{\"0\": 1, \"12\": 0}"),
    ]
}

fn matrices() -> Vec<Case> {
    let adjacency = |name, arrays: Vec<(&'static str, Vec<u8>)>| {
        Case::part(33, name, ["graphsaint", "adj_full.npz"], npz(arrays, CompressionMethod::Stored))
    };
    vec![
        adjacency("offsets that fall", csr(&[3, 3], &[0, 2, 1, 2], &[1, 0])),
        adjacency("offsets beyond the indices", csr(&[2, 2], &[0, 1, 3], &[1, 0])),
        adjacency("index beyond the matrix", csr(&[2, 2], &[0, 1, 2], &[1, 2])),
    ]
}

/// The small Planetoid dataset with other bytes in one part.
fn part(number: u8, name: &'static str, part: &'static str, bytes: &[u8]) -> Case {
    let files = named(tiny().into_iter().map(|(p, old)| (p, if p == part { bytes.to_vec() } else { old })));
    Case::new(number, 65, name, move |folder| {
        for (file, bytes) in &files {
            std::fs::write(folder.join(file), bytes).unwrap();
        }
        look(folder, &small())
    })
}

fn named(parts: impl Iterator<Item = (&'static str, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    parts.map(|(part, bytes)| (format!("ind.tiny.{part}"), bytes)).collect()
}

fn pickles() -> Vec<Case> {
    let deep = [b"(".repeat(200_000), b".".to_vec()].concat();
    let nested = [b"]".repeat(200_000), b"a".repeat(199_999), b".".to_vec()].concat();
    // One list of 300 neighbours, used by 300 nodes: fewer bytes than neighbours.
    let mut laughs = b"\x80\x02}(K\x00](".to_vec();
    laughs.extend(b"K\x01".repeat(300));
    laughs.extend(b"eq\x00");
    (1..300_u16).for_each(|v| laughs.extend([b'M', v as u8, (v >> 8) as u8, b'h', 0]));
    laughs.extend(b"u.");
    vec![
        part(34, "os.system", "allx", b"cos\nsystem\n(S'touch pwned'\ntR."),
        part(34, "eval inside a graph", "graph", b"\x80\x02}(K\x00](K\x01c__builtin__\neval\n(U\x011tReu."),
        part(34, "functools.partial", "y", b"cfunctools\npartial\n."),
        part(35, "depth of 200 000 marks", "graph", &deep),
        part(35, "depth of 200 000 lists", "graph", &nested),
        part(35, "list in itself", "graph", b"]q\x00h\x00a."),
        part(35, "shared lists", "graph", &laughs),
        part(35, "string of 4 GiB", "ty", b"\x80\x02T\xff\xff\xff\xffabc."),
    ]
}

fn planetoid() -> Vec<Case> {
    let absent = Case::new(36, 66, "file missing", |folder| {
        for (file, bytes) in named(tiny().into_iter().filter(|(part, _)| *part != "tx")) {
            std::fs::write(folder.join(file), bytes).unwrap();
        }
        look(folder, &small())
    });
    // Node 5 is tested, node 4 is only in the graph.
    let known = [("tx", x(1)), ("ty", y(1)), ("test.index", b"5\n".to_vec())];
    let files = tiny().map(|(part, old)| {
        let new = known.iter().find(|(name, _)| *name == part).map(|(_, bytes)| bytes.clone());
        (part, new.unwrap_or(old))
    });
    let files = named(files.into_iter());
    let isolated = Case::new(36, 0, "test nodes without a row", move |folder| {
        for (file, bytes) in &files {
            std::fs::write(folder.join(file), bytes).unwrap();
        }
        look(folder, &small())
    });
    vec![
        absent,
        part(36, "test node twice", "test.index", b"5\n5\n"),
        part(36, "rows of labels", "ally", &y(3)),
        isolated,
    ]
}

#[cfg(not(feature = "parquet"))]
fn parquet() -> Vec<Case> {
    let files = vec![("edges.parquet", b"PAR1".to_vec()), ("nodes.csv", NODES.to_vec())];
    vec![Case::folder(37, 65, "not built in", files)]
}

#[cfg(feature = "parquet")]
fn parquet() -> Vec<Case> {
    let file = |name: &str| std::fs::read(golden("../wild/tables/bad").join(name)).unwrap();
    let case = |name, edges: Vec<u8>| {
        Case::folder(37, 65, name, vec![("edges.parquet", edges), ("nodes.csv", NODES.to_vec())])
    };
    let good = |change: fn(&mut Vec<u8>)| {
        let mut bytes = file("good.parquet");
        change(&mut bytes);
        bytes
    };
    let mut index = file("dictionary.parquet");
    index[0x46] = 0xff;
    let mut renamed = file("good.parquet");
    while let Some(at) = renamed.windows(6).position(|w| w == b"source") {
        renamed[at..at + 6].copy_from_slice(b"person");
    }
    vec![
        case("footer cut", good(|bytes| bytes.truncate(400))),
        case("footer of gigabytes", good(|bytes| bytes[752..756].fill(0x7f))),
        case("page that lies", good(|bytes| bytes[9] = 0x7e)),
        case("index beyond the dictionary", index),
        case("nested column", file("nested.parquet")),
        case("missing column", renamed),
        case("no value for a node", file("null.parquet")),
    ]
}

fn matlab_files() -> Vec<Case> {
    let friends = || {
        let parts = [element(5, &words32(&[1, 0])), element(5, &words32(&[0, 1, 2])), element(2, &[1, 1])];
        matlab::array("A", 5, &[2, 2], &parts)
    };
    let members = |dims: &[i32], numbers: Vec<u8>| {
        matlab(&[friends(), matlab::array("local_info", 9, dims, &[numbers])])
    };
    let bomb = matlab::packed(&matlab::array("local_info", 9, &[2, 3], &[element(2, &vec![0; 8 << 20])]));
    let newer = [&b"MATLAB 7.3 MAT-file"[..], &[b' '; 105], b"\x00\x02IM\x89HDF"].concat();
    vec![
        Case::file(38, 65, "version 7.3", newer),
        Case::file(38, 65, "type 8", members(&[2, 3], element(8, &[1; 6]))),
        Case::file(38, 65, "type 20", members(&[2, 3], element(20, &[1; 6]))),
        Case::file(38, 65, "type 255", matlab(&[element(255, &[0; 8])])),
        Case::file(38, 65, "dimensions beyond 64 bits", members(&[i32::MAX; 3], element(2, &[1; 6]))),
        Case::file(38, 65, "zlib bomb", matlab(&[friends(), bomb])),
    ]
}
