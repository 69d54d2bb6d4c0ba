//! Cases 41 to 52: graphs.

use super::common::{changed, floats, ints};
use super::{Case, look, small, write};
use iglu::config::{Duplicates, Isolated};
use iglu::{EdgeOptions, Graph, SelfLoops};
use iglu_data::{LoadOptions, load};

pub fn cases() -> Vec<Case> {
    [ids(), sizes(), policies(), weights(), vec![hub()]].into_iter().flatten().collect()
}

/// The path of four nodes with other edges.
fn edges(number: u8, exit: u8, name: &'static str, pairs: &[[i64; 2]]) -> Case {
    with(number, exit, name, pairs, |options| options)
}

/// The same under other options.
fn with(
    number: u8,
    exit: u8,
    name: &'static str,
    pairs: &[[i64; 2]],
    options: fn(LoadOptions) -> LoadOptions,
) -> Case {
    let array = ints(&format!("({}, 2)", pairs.len()), pairs.as_flattened());
    let file = changed(&[("edges", array)]);
    Case::new(number, exit, name, move |folder| {
        let path = folder.join("data.npz");
        std::fs::write(&path, &file).unwrap();
        look(&path, &options(small()))
    })
}

fn ids() -> Vec<Case> {
    let from_one = |options| LoadOptions { one_based: true, ..options };
    let one_based = changed(&[
        ("edges", ints("(3, 2)", &[1, 2, 2, 3, 3, 4])),
        ("train", ints("(2,)", &[1, 2])),
        ("val", ints("(1,)", &[3])),
        ("test", ints("(1,)", &[4])),
    ]);
    let zero_based = changed(&[]);
    let same = Case::new(43, 0, "ids from 1, as said", move |folder| {
        let read = |name: &str, bytes: &[u8], options: &LoadOptions| {
            std::fs::write(folder.join(name), bytes).unwrap();
            load(folder.join(name).to_str().unwrap(), options)
        };
        let [one, zero] =
            [read("one.npz", &one_based, &from_one(small()))?, read("zero.npz", &zero_based, &small())?];
        assert!(one.graph == zero.graph && one.split == zero.split);
        Ok(Vec::new())
    });
    vec![
        edges(41, 65, "id beyond the nodes", &[[0, 1], [1, 4], [2, 0]]),
        edges(42, 65, "negative id", &[[0, 1], [-3, 2]]),
        edges(43, 65, "ids from 1", &[[1, 2], [2, 3], [3, 4]]),
        same,
        with(43, 65, "id 0 where ids start at 1", &[[1, 2], [0, 3]], from_one),
    ]
}

fn sizes() -> Vec<Case> {
    let none = changed(&[
        ("x", floats("(0, 2)", &[])),
        ("y", ints("(0,)", &[])),
        ("edges", ints("(0, 2)", &[])),
        ("train", ints("(0,)", &[])),
        ("val", ints("(0,)", &[])),
        ("test", ints("(0,)", &[])),
    ]);
    let one = changed(&[
        ("x", floats("(1, 2)", &[1.0, 2.0])),
        ("y", ints("(1,)", &[0])),
        ("edges", ints("(0, 2)", &[])),
        ("train", ints("(1,)", &[0])),
        ("val", ints("(0,)", &[])),
        ("test", ints("(0,)", &[])),
    ]);
    let many = Case::new(46, 64, "more nodes than 32 bits count", |_| {
        Graph::from_edges(1 << 33, &[], EdgeOptions::default()).map(|_| Vec::new())
    });
    vec![
        edges(44, 0, "no edges", &[]),
        Case::file(45, 65, "no nodes", none),
        Case::file(45, 0, "one node", one),
        many,
    ]
}

fn policies() -> Vec<Case> {
    const LOOPED: &[[i64; 2]] = &[[0, 1], [2, 2], [1, 2], [2, 3]];
    const REPEATED: &[[i64; 2]] = &[[0, 1], [1, 0], [1, 2], [1, 2], [2, 3]];
    let one_way: &[u8] = b"source,target\n0,1\n1,0\n1,2\n2,3\n";
    let nodes: &[u8] = b"id,label,split,x\n0,a,train,0\n1,b,train,1\n2,a,val,2\n3,b,test,3\n";
    let files = vec![("edges.csv", one_way.to_vec()), ("nodes.csv", nodes.to_vec())];
    vec![
        with(47, 65, "self loops refused", LOOPED, |o| LoadOptions { self_loops: SelfLoops::Error, ..o }),
        with(47, 0, "self loops dropped", LOOPED, |o| o),
        with(48, 65, "duplicates refused", REPEATED, |o| LoadOptions { duplicates: Duplicates::Error, ..o }),
        with(48, 0, "duplicates dropped", REPEATED, |o| o),
        kept(),
        with(49, 65, "isolated refused", &[[0, 1]], |o| LoadOptions { isolated: Isolated::Error, ..o }),
        with(49, 0, "half the nodes isolated", &[[0, 1]], |o| o),
        with(49, 0, "more than half isolated", &[[0, 0]], |o| LoadOptions {
            self_loops: SelfLoops::Keep,
            ..o
        }),
        Case::new(50, 0, "some edges in one direction only", move |folder| {
            write(folder, &files);
            look(folder, &small())
        }),
    ]
}

/// Each of three edges between two nodes counts, with its weight.
fn kept() -> Case {
    let file = changed(&[("edges", ints("(4, 2)", &[0, 1, 1, 0, 0, 1, 2, 3]))]);
    Case::new(48, 0, "duplicates kept", move |folder| {
        let path = folder.join("data.npz");
        std::fs::write(&path, &file).unwrap();
        let options = LoadOptions { duplicates: Duplicates::Keep, ..small() };
        let data = load(path.to_str().unwrap(), &options)?;
        assert_eq!((data.graph.weights(0), data.graph.weights(3)), (Some(&[3.0][..]), Some(&[1.0][..])));
        Ok(Vec::new())
    })
}

fn weights() -> Vec<Case> {
    let weighted = |exit, name, weights: [f64; 3]| {
        Case::file(51, exit, name, changed(&[("edge_weight", floats("(3,)", &weights))]))
    };
    vec![
        weighted(65, "weight NaN", [1.0, f64::NAN, 1.0]),
        weighted(65, "weight infinite", [1.0, 1.0, f64::INFINITY]),
        weighted(65, "weight negative", [-1.0, 1.0, 1.0]),
        weighted(0, "weights all 0", [0.0; 3]),
    ]
}

/// Everybody knows node 0.
fn hub() -> Case {
    const N: usize = 300_000;
    Case::new(52, 0, "hub", |folder| {
        let path = folder.join("data.npz");
        if !path.exists() {
            let pairs: Vec<i64> = (1..N as i64).flat_map(|v| [0, v]).collect();
            let values = |v: f64| floats(&format!("({N}, 1)"), &vec![v; N]);
            let ids: Vec<i64> = (0..N as i64).map(|v| v % 2).collect();
            let star = changed(&[
                ("edges", ints(&format!("({}, 2)", N - 1), &pairs)),
                ("x", values(1.0)),
                ("y", ints(&format!("({N},)"), &ids)),
            ]);
            std::fs::write(&path, star).unwrap();
        }
        let data = load(path.to_str().unwrap(), &LoadOptions::default())?;
        assert_eq!((data.graph.neighbours(0).len(), data.graph.neighbours(7)), (N - 1, &[0][..]));
        Ok(Vec::new())
    })
}
