use super::*;

/// Parses `"0-1 1-2"` and checks the rows.
fn check(n: usize, edges: &str, directed: bool, expect: &[&[u32]]) -> Graph {
    let list: Vec<[u32; 2]> = edges
        .split_whitespace()
        .map(|e| {
            let (u, v) = e.split_once('-').unwrap();
            [u.parse().unwrap(), v.parse().unwrap()]
        })
        .collect();
    let g = Graph::from_edges(n, &list, EdgeOptions { directed, ..Default::default() }).unwrap();
    let rows: Vec<&[u32]> = (0..n).map(|v| g.neighbours(v)).collect();
    assert_eq!(rows, expect);
    g
}

#[test]
fn duplicates_and_loops_are_merged_and_counted() {
    let g = check(4, "0-1 1-0 2-2 1-2 1-2", false, &[&[1], &[0, 2], &[1], &[]]);
    assert_eq!(g.counts(), EdgeCounts { edges: 2, self_loops: 1, duplicates: 2 });
    assert_eq!(g.isolated(), 1);
}

#[test]
fn directed_edges_send_to_their_target() {
    let g = check(3, "0-1 0-2 1-2 0-1", true, &[&[], &[0], &[0, 1]]);
    assert_eq!(g.counts(), EdgeCounts { edges: 3, self_loops: 0, duplicates: 1 });
    let t = g.transpose();
    assert_eq!((t.neighbours(0), t.neighbours(1), t.neighbours(2)), (&[1, 2][..], &[2][..], &[][..]));
}

#[test]
fn weights_of_duplicates_add_up() {
    let options = EdgeOptions { weights: Some(&[0.5, 0.25, 2.0]), ..Default::default() };
    let g = Graph::from_edges(3, &[[0, 1], [1, 0], [1, 2]], options).unwrap();
    assert_eq!((g.weights(0).unwrap(), g.weights(1).unwrap()), (&[0.75][..], &[0.75, 2.0][..]));
    assert_eq!(g.degree(1), 2.75);
}

/// Pseudo-random edges with loops and duplicates, some nodes busy, some never met.
fn crowd(n: u32, edges: u64) -> Vec<[u32; 2]> {
    let key = crate::rng::Key::new(5);
    let node = |i: u64| {
        let share = key.unit(i);
        (share * share * f64::from(n)) as u32
    };
    (0..edges).map(|i| [node(2 * i), node(2 * i + 1)]).collect()
}

/// The definition, word by word: messages gathered in a map, weights added in the order of the list.
fn plain_rows(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Vec<Vec<(u32, Real)>> {
    let mut rows = vec![std::collections::BTreeMap::<u32, Real>::new(); n];
    for (row, &[u, v]) in edges.iter().enumerate() {
        let w = options.weights.map_or(1.0, |w| w[row]);
        let mut send = |from: u32, to: u32| *rows[to as usize].entry(from).or_insert(0.0) += w;
        if u != v || options.self_loops == SelfLoops::Keep {
            send(u, v);
        }
        if u != v && !options.directed {
            send(v, u);
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

fn assert_rows(g: &Graph, expect: &[Vec<(u32, Real)>]) {
    assert_eq!(g.nodes(), expect.len());
    for (v, expect) in expect.iter().enumerate() {
        let found: Vec<(u32, Real)> =
            g.neighbours(v).iter().enumerate().map(|(at, &u)| (u, g.weight(v, at))).collect();
        let unweighted = g.weights.is_none();
        let expect: Vec<_> = expect.iter().map(|&(u, w)| (u, if unweighted { 1.0 } else { w })).collect();
        assert_eq!(found, expect, "row {v}");
    }
}

/// Enough nodes for several in a bucket, enough edges for several parts.
#[test]
fn rows_are_those_of_the_definition_for_any_number_of_threads() {
    let (n, edges) = (1500, crowd(1500, 100_000));
    let weights: Vec<Real> = (0..edges.len()).map(|i| 1.0 / (i + 1) as Real).collect();
    for (directed, weighted, self_loops) in [
        (false, false, SelfLoops::Drop),
        (true, false, SelfLoops::Keep),
        (false, true, SelfLoops::Keep),
        (true, true, SelfLoops::Drop),
    ] {
        let options = EdgeOptions { directed, self_loops, weights: weighted.then_some(&weights) };
        let expect = plain_rows(n, &edges, options);
        let distinct: usize = expect.iter().map(Vec::len).sum();
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (g, t) = pool.install(|| {
                let g = Graph::from_edges(n, &edges, options).unwrap();
                (g.clone(), g.transpose().transpose())
            });
            assert_rows(&g, &expect);
            assert_eq!(t, g, "turned twice");
            assert_eq!(g.entries(), distinct);
        }
    }
}

#[test]
fn counts_are_exact_with_loops_kept() {
    let edges = [[0, 0], [0, 0], [1, 1], [1, 1], [0, 1], [1, 0], [0, 1]];
    for (directed, expect) in [(false, [1, 4, 4]), (true, [2, 4, 3])] {
        let options = EdgeOptions { directed, self_loops: SelfLoops::Keep, ..Default::default() };
        let c = Graph::from_edges(2, &edges, options).unwrap().counts();
        assert_eq!([c.edges, c.self_loops, c.duplicates], expect, "directed: {directed}");
    }
}

#[test]
fn rows_given_are_sorted_and_merged() {
    let g = Graph::from_rows(vec![0, 3, 4, 4], vec![1, 0, 1, 0], None, false).unwrap();
    assert_eq!((g.neighbours(0), g.neighbours(1)), (&[0, 1][..], &[0][..]));
    assert_eq!(g.counts(), EdgeCounts { edges: 1, self_loops: 1, duplicates: 1 });
    let weights = Some(vec![2.0, 1.0, 0.5, 4.0]);
    let g = Graph::from_rows(vec![0, 3, 4], vec![1, 0, 1, 1], weights, true).unwrap();
    assert_eq!((g.neighbours(0), g.weights(0).unwrap()), (&[0, 1][..], &[1.0, 2.5][..]));
    let edges = crowd(2000, 30_000);
    let g = Graph::from_edges(2000, &edges, EdgeOptions::default()).unwrap();
    let back = Graph::from_rows(g.offsets.to_vec(), g.neighbours.to_vec(), None, false).unwrap();
    assert_eq!((back.columns(), back.counts().edges), (g.columns(), g.counts().edges));
    assert_eq!(Graph::from_rows(vec![0], vec![], None, false).unwrap().nodes(), 0);
}

#[test]
fn rows_that_cannot_be_are_refused() {
    for (offsets, neighbours, weights, expect) in [
        (vec![], vec![], None, "start at None"),
        (vec![1, 1], vec![0], None, "start at Some(1)"),
        (vec![0, 2], vec![0], None, "end at 2, but there are 1 entries"),
        (vec![0, 2, 1, 3], vec![0, 1, 2], None, "row 1 goes from 2 back to 1"),
        (vec![0, 1, 1, 2], vec![1, 3], None, "row 2: node 3, but there are 3 nodes (0..2)"),
        (vec![0, 1, 2], vec![1, 0], Some(vec![1.0]), "1 weights for 2 entries"),
        (vec![0, 1, 2], vec![1, 0], Some(vec![1.0, -1.0]), "weight -1"),
        (vec![0, 1, 2], vec![1, 0], Some(vec![1.0, 2.0]), "row 0 has 1, row 1 does not have 0 alike"),
        (vec![0, 2, 3, 3], vec![1, 2, 0], None, "row 0 has 2, row 2 does not have 0 alike"),
    ] {
        let e = Graph::from_rows(offsets, neighbours, weights, false).unwrap_err();
        assert!(e.to_string().contains(expect), "{e}\nexpected {expect}");
    }
    assert!(Graph::from_rows(vec![0, 2, 3, 3], vec![1, 2, 0], None, true).is_ok());
}

#[test]
fn induced_subgraph_is_compact_and_follows_the_order_given() {
    let g = check(4, "0-1 1-2 2-3 3-0", false, &[&[1, 3], &[0, 2], &[1, 3], &[0, 2]]);
    let s = g.induced(&[2, 1, 3]);
    assert_eq!((s.neighbours(0), s.neighbours(1), s.neighbours(2)), (&[1, 2][..], &[0][..], &[0][..]));
}

#[test]
fn bad_edges_name_row_and_value() {
    let e = Graph::from_edges(3, &[[0, 1], [1, 3]], EdgeOptions::default()).unwrap_err();
    assert!(e.to_string().starts_with("edges: row 1: target 3, but there are 3 nodes (0..2)"), "{e}");
    assert!(!e.to_string().contains("start at 1"), "{e}");
    let e = Graph::from_edges(3, &[[2, 1], [1, 3]], EdgeOptions::default()).unwrap_err();
    assert!(e.to_string().contains("start at 1"), "{e}");
    let options = EdgeOptions { weights: Some(&[-1.0]), ..Default::default() };
    let e = Graph::from_edges(3, &[[0, 1]], options).unwrap_err();
    assert!(e.to_string().contains("weight -1"), "{e}");
}

#[test]
fn parts_make_the_same_graph_and_are_checked_on_demand() {
    let g = Graph::from_edges(4, &[[0, 1], [1, 2], [1, 2]], EdgeOptions::default()).unwrap();
    let parts = || GraphParts {
        offsets: g.offsets.clone(),
        neighbours: g.neighbours.clone(),
        weights: None,
        directed: false,
        counts: g.counts,
    };
    let back = Graph::from_parts(parts()).unwrap();
    assert!(back == g && back.check().is_ok());
    let refused = |parts: GraphParts, expect: &str| {
        let e = Graph::from_parts(parts).and_then(|g| g.check()).unwrap_err();
        assert!(e.to_string().contains(expect), "{e}");
    };
    refused(
        GraphParts { offsets: vec![0, 1, 3, 4].into(), neighbours: vec![1, 2, 0, 1].into(), ..parts() },
        "row 1 is not sorted",
    );
    refused(GraphParts { neighbours: vec![1, 0, 2, 4].into(), ..parts() }, "row 2: node 4");
    refused(GraphParts { neighbours: vec![1, 0, 2].into(), ..parts() }, "end at 4, but there are 3");
    refused(GraphParts { weights: Some(vec![1.0].into()), ..parts() }, "1 weights for 4 entries");
}
