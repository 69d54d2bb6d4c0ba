use super::*;
use crate::{Dataset, EdgeOptions, Features, Labels, Mat, Real, Relation, SparseMat, Split};

/// `blocks` groups of `each` nodes, of whose edges nine in ten stay inside; ids are shuffled.
fn planted(blocks: u32, each: u32, degree: u64) -> Graph {
    let (n, key) = (blocks * each, Key::new(1).with("planted"));
    let mut ids: Vec<u32> = (0..n).collect();
    key.shuffle(&mut ids);
    let below = |i: u64, end: u32| (key.unit(i) * f64::from(end)) as u32;
    let edge = |i: u64| {
        let v = below(3 * i, n);
        let inside = key.unit(3 * i + 1) < 0.9;
        let u = if inside { v / each * each + below(3 * i + 2, each) } else { below(3 * i + 2, n) };
        [ids[u as usize], ids[v as usize]]
    };
    let edges: Vec<[u32; 2]> = (0..u64::from(n) * degree / 2).map(edge).collect();
    Graph::from_edges(n as usize, &edges, EdgeOptions::default()).unwrap()
}

/// Mean distance between the numbers of neighbours.
fn span(graph: &Graph) -> f64 {
    let row = |v: usize| graph.neighbours(v).iter().map(|&u| f64::from(u.abs_diff(v as u32))).sum::<f64>();
    (0..graph.nodes()).map(row).sum::<f64>() / graph.entries() as f64
}

/// Any graph: some nodes busy, some alone, loops, weights, directions.
fn any_graph(seed: u64) -> Graph {
    let key = Key::new(seed).with("any");
    let n: u32 = [0, 1, 2, 3, 17, 300, 1500][seed as usize % 7];
    let node = |i: u64| (key.unit(i).powi(3) * f64::from(n)) as u32;
    let count = if n == 0 { 0 } else { key.u64(u64::MAX) % (4 * u64::from(n)) };
    let edges: Vec<[u32; 2]> = (0..count).map(|i| [node(2 * i), node(2 * i + 1)]).collect();
    let weights: Vec<Real> = (0..count).map(|i| key.at(1).unit(i) as Real).collect();
    let options = EdgeOptions {
        directed: key.u64(1).is_multiple_of(2),
        weights: key.u64(2).is_multiple_of(2).then_some(&weights),
        self_loops: crate::SelfLoops::Keep,
    };
    Graph::from_edges(n as usize, &edges, options).unwrap()
}

/// A dataset on a graph that has everything.
fn dataset(graph: Graph, seed: u64) -> Dataset {
    let (n, key) = (graph.nodes(), Key::new(seed).with("dataset"));
    let features = if key.u64(0).is_multiple_of(2) {
        Features::Dense(Mat::from_vec(n, 2, (0..2 * n).map(|v| v as Real).collect()))
    } else {
        let offsets = (0..=n as u64).map(|v| v / 2).collect();
        let stored = n / 2;
        SparseMat::from_parts(3, offsets, vec![1; stored], (0..stored).map(|v| v as Real).collect()).into()
    };
    let labels = if key.u64(1).is_multiple_of(2) {
        Labels::Classes { ids: (0..n as i32).collect(), classes: n }
    } else {
        Labels::Multi { values: (0..2 * n).map(|v| (v % 3) as i8 - 1).collect(), classes: 2 }
    };
    let part = |rest: usize| (0..n as u32).rev().filter(|v| *v as usize % 4 == rest).collect();
    let split = Split { train: part(0), val: part(1), test: part(2) };
    let mut data = Dataset::new("any", graph.clone(), features, labels, split.clone());
    data.splits = vec![split, Split { train: part(3), ..Split::default() }];
    data.relations = vec![Relation { name: "again".into(), graph, latent: true }];
    data.node_names = Some((0..n).map(|v| format!("node {v}")).collect());
    data.notes = vec!["odd".into()];
    data
}

impl From<SparseMat> for Features {
    fn from(m: SparseMat) -> Self {
        Self::Sparse(m)
    }
}

#[test]
fn every_node_has_one_place_and_the_way_back_is_exact() {
    for seed in 0..70 {
        let graph = any_graph(seed);
        let order = order(&graph);
        let mut sorted = order.old().to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..graph.nodes() as u32).collect::<Vec<_>>(), "seed {seed}");
        let data = dataset(graph, seed);
        let there = data.reordered(&order);
        there.graph.check().unwrap();
        assert_eq!(there.order.is_some(), !order.is_identity());
        assert_eq!(there.clone().in_file_order(), data, "seed {seed}");
        assert_eq!(there.reordered(&order.inverse()), data, "seed {seed}");
    }
}

#[test]
fn everything_of_a_node_moves_with_it() {
    for seed in 0..28 {
        let data = dataset(any_graph(seed), seed);
        let order = order(&data.graph);
        let there = data.reordered(&order);
        for (new, &old) in order.old().iter().enumerate() {
            let (new_row, old_row) = (new as u32, old as usize);
            let names = [&there, &data].map(|d| d.node_names.clone().unwrap());
            assert_eq!(names[0].get(new), names[1].get(old_row));
            assert_eq!((there.number(new_row), there.place(old)), (old, new_row));
            assert_eq!(there.features.select(&[new_row]), data.features.select(&[old]));
            assert_eq!(there.labels.select(&[new_row]), data.labels.select(&[old]));
            for (mine, theirs) in
                [(&there.graph, &data.graph), (&there.relations[0].graph, &data.relations[0].graph)]
            {
                let row = |graph: &Graph, v: usize, call: &dyn Fn(u32) -> u32| {
                    let weights =
                        graph.weights(v).map_or(vec![1.0; graph.neighbours(v).len()], <[_]>::to_vec);
                    let mut row: Vec<_> = graph.neighbours(v).iter().map(|&u| call(u)).zip(weights).collect();
                    row.sort_by_key(|(u, _)| *u);
                    row
                };
                assert_eq!(row(mine, new, &|u| there.number(u)), row(theirs, old_row, &|u| u));
                assert_eq!((mine.counts(), mine.directed()), (theirs.counts(), theirs.directed()));
            }
        }
        let numbers = |ids: &[u32]| ids.iter().map(|&v| there.number(v)).collect::<Vec<_>>();
        assert_eq!(numbers(&there.split.val), data.split.val);
        assert_eq!(numbers(&there.splits[1].train), data.splits[1].train);
    }
}

#[test]
fn threads_change_nothing() {
    let graph = planted(12, 400, 8);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let order = order(&graph);
            let there = graph.reordered(&order);
            (order, there)
        })
    };
    let one = with(1);
    for threads in [2, 3, 8] {
        assert!(with(threads) == one, "{threads} threads");
    }
}

#[test]
fn neighbours_come_near_each_other() {
    let graph = planted(50, 200, 10);
    let before = span(&graph);
    assert!((before / graph.nodes() as f64 - 1.0 / 3.0).abs() < 0.01, "shuffled: a third of all nodes apart");
    // One edge in ten stays a third of all nodes long, the others shrink to a third of a block.
    let after = span(&graph.reordered(&order(&graph)));
    assert!(after < before / 4.0, "{before} before, {after} after");
}

/// Neither hubs nor a crowd without groups swallow everybody.
#[test]
fn no_community_is_too_large() {
    let (n, key) = (3000, Key::new(3));
    let any = |i: u64| (key.unit(i) * f64::from(n)) as u32;
    let star = (1..n).map(|v| [0, v]).collect();
    let crowd = (0..8 * u64::from(n)).map(|i| [any(2 * i), any(2 * i + 1)]).collect();
    let check = |edges: Vec<[u32; 2]>, largest: u32, expect: u32| {
        let graph = Graph::from_edges(n as usize, &edges, EdgeOptions::default()).unwrap();
        let mut sizes = vec![0; n as usize];
        labels(&graph, largest).iter().for_each(|&label| sizes[label as usize] += 1);
        assert_eq!(sizes.into_iter().max(), Some(expect));
    };
    check(star, 100, 100);
    check(crowd, 100, 100);
}
