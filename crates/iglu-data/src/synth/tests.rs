//! Counts, determinism, and the point of it all: on these graphs neighbours help.

use super::*;
use crate::Card;
use iglu::Labels;

fn make(text: &str) -> Dataset {
    Recipe::parse(text).unwrap().make().unwrap()
}

#[test]
fn counts_are_exact_for_every_shape() {
    for shape in SHAPES {
        let scale = if shape.name == "village" { 1.0 } else { 3_000.0 / shape.nodes as f64 };
        let recipe = Recipe { shape, scale, seed: 1 };
        let data = recipe.make().unwrap();
        let card = Card::of(&data);
        let name = shape.name;
        assert_eq!((card.nodes, card.edges), (recipe.nodes(), recipe.edges()), "{name}");
        assert_eq!((card.self_loops, card.duplicates, card.unlabelled), (0, 0, 0), "{name}");
        assert_eq!((card.features, card.classes), (shape.features, shape.classes), "{name}");
        assert_eq!(card.train + card.val + card.test, card.nodes, "{name}");
        let share = card.train as f64 / card.nodes as f64;
        assert!((share - shape.train).abs() < 0.001, "{name}: {share}");
        assert_eq!(Recipe::parse(&recipe.name()).unwrap(), recipe);
        assert_eq!(recipe.outline(), Outline::of(&data), "{name}");
    }
}

#[test]
fn statistics_of_the_village_are_known() {
    let data = make("village");
    let card = Card::of(&data);
    assert_eq!((card.nodes, card.edges, card.features, card.classes), (2_000, 9_000, 32, 8));
    assert_eq!((card.mean_degree, card.train, card.val, card.test), (9.0, 1_200, 400, 400));
    let Labels::Classes { ids, .. } = &data.labels else { panic!("classes") };
    let sizes: Vec<usize> = (0..8).map(|c| ids.iter().filter(|&&id| id == c).count()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 2_000);
    assert!(sizes.iter().all(|&s| s > 50), "{sizes:?}");
    let inside = |v: usize| data.graph.neighbours(v).iter().filter(|&&u| ids[u as usize] == ids[v]).count();
    let homophily = (0..2_000).map(inside).sum::<usize>() as f64 / data.graph.entries() as f64;
    assert!((0.5..0.8).contains(&homophily), "{homophily}");
}

#[test]
fn degrees_have_a_heavy_tail() {
    let card = Card::of(&make("arxiv@0.2"));
    assert!((card.mean_degree - 13.77).abs() < 0.01, "{}", card.mean_degree);
    assert!(card.max_degree > 50 * card.mean_degree as usize, "{}", card.max_degree);
    assert!(card.isolated < card.nodes / 50, "{}", card.isolated);
}

#[test]
fn threads_change_nothing_and_seeds_change_everything() {
    for text in ["village", "ppi@0.05", "arxiv@0.5"] {
        let with = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| make(text))
        };
        let one = with(1);
        assert!(one == with(2) && one == with(3) && one == with(8), "{text}");
        let other = make(&format!("{text}#1"));
        assert!(other.graph != one.graph && other.features != one.features && other.labels != one.labels);
        assert_ne!(other.split, one.split);
    }
}

/// The bytes are part of what is promised: a change here changes every benchmark.
#[test]
fn first_values_are_the_same_on_every_machine() {
    let data = make("village");
    let Features::Dense(x) = &data.features else { panic!("dense") };
    let bits: u64 = x.data().iter().fold(0, |h: u64, v| h.rotate_left(5) ^ u64::from(v.to_bits()));
    let columns = data.graph.columns().iter().fold(0, |h: u64, &v| h.rotate_left(5) ^ u64::from(v));
    assert_eq!((bits, columns), (17_340_219_422_619_205_231, 13_401_117_979_658_311_892));
    assert_eq!(data.split.train[..4], [0, 1, 3, 6]);
}

#[test]
fn crowded_graphs_still_reach_their_count() {
    let recipe = Recipe::parse("proteins@0.0085").unwrap();
    let n = recipe.nodes();
    assert_eq!(recipe.edges(), n * (n - 1) / 16);
    assert_eq!(recipe.make().unwrap().graph.counts().edges, recipe.edges());
}

#[test]
fn neighbours_help() {
    for (text, gain) in [("village", 0.2), ("arxiv@0.02", 0.15)] {
        let data = make(text);
        let (alone, together) = (ridge_accuracy(&data, 0), ridge_accuracy(&data, 2));
        eprintln!("{text}: features alone {alone:.3}, with two hops {together:.3}");
        assert!(together > alone + gain, "{text}: {alone} {together}");
    }
}

/// Test accuracy of a ridge classifier on `[X, AX, .., A^hops X, 1]`, `A` the mean over a node and its neighbours.
fn ridge_accuracy(data: &Dataset, hops: usize) -> f64 {
    let Features::Dense(x) = &data.features else { panic!("dense") };
    let Labels::Classes { ids, classes } = &data.labels else { panic!("classes") };
    let n = x.rows();
    let mut layer: Vec<Vec<f64>> = (0..n).map(|v| x.row(v).iter().map(|&f| f64::from(f)).collect()).collect();
    let mut z = layer.clone();
    for _ in 0..hops {
        layer = (0..n).map(|v| mean_around(data, &layer, v)).collect();
        z.iter_mut().zip(&layer).for_each(|(z, row)| z.extend(row));
    }
    for row in &mut z {
        row.push(1.0);
    }
    let w = ridge(&z, ids, *classes, &data.split.train);
    let right = data.split.test.iter().filter(|&&v| best_class(&z[v as usize], &w) == ids[v as usize]);
    right.count() as f64 / data.split.test.len() as f64
}

fn mean_around(data: &Dataset, layer: &[Vec<f64>], v: usize) -> Vec<f64> {
    let near = data.graph.neighbours(v);
    let mut sum = layer[v].clone();
    for &u in near {
        sum.iter_mut().zip(&layer[u as usize]).for_each(|(s, x)| *s += x);
    }
    for s in &mut sum {
        *s /= near.len() as f64 + 1.0;
    }
    sum
}

fn best_class(row: &[f64], w: &[Vec<f64>]) -> i32 {
    let score = |w: &Vec<f64>| row.iter().zip(w).map(|(a, b)| a * b).sum::<f64>();
    let scores: Vec<f64> = w.iter().map(score).collect();
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap() as i32
}

/// Solves `(Z'Z + I) w_c = Z'[y = c]` for every class by Cholesky's method.
fn ridge(z: &[Vec<f64>], ids: &[i32], classes: usize, train: &[u32]) -> Vec<Vec<f64>> {
    let d = z[0].len();
    let mut gram = vec![vec![0.0; d]; d];
    let mut w = vec![vec![0.0; d]; classes];
    for &v in train {
        let row = &z[v as usize];
        for (g, a) in gram.iter_mut().zip(row) {
            g.iter_mut().zip(row).for_each(|(g, b)| *g += a * b);
        }
        w[ids[v as usize] as usize].iter_mut().zip(row).for_each(|(w, a)| *w += a);
    }
    (0..d).for_each(|i| gram[i][i] += 1.0);
    cholesky(&mut gram);
    for b in &mut w {
        solve(&gram, b);
    }
    w
}

fn cholesky(a: &mut [Vec<f64>]) {
    for j in 0..a.len() {
        for i in j..a.len() {
            let dot: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let value = a[i][j] - dot;
            a[i][j] = if i == j { value.sqrt() } else { value / a[j][j] };
        }
    }
}

fn solve(l: &[Vec<f64>], b: &mut [f64]) {
    for i in 0..b.len() {
        b[i] = (b[i] - (0..i).map(|k| l[i][k] * b[k]).sum::<f64>()) / l[i][i];
    }
    for i in (0..b.len()).rev() {
        b[i] = (b[i] - (i + 1..b.len()).map(|k| l[k][i] * b[k]).sum::<f64>()) / l[i][i];
    }
}
