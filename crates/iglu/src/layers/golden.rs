//! Against the formulas written down a second time, in dense NumPy (`scripts/golden_layers.py`): single attention
//! layers with the gradient at the rows heard, and a network of every architecture.

use super::*;
use crate::config::{Auto, Config, Order};
use crate::kernels::{Rows, RowsMut};
use crate::lazy::Engine;
use crate::loss::cases::{Case, cases, numbers};
use crate::loss::{LossOptions, TaskLoss};
use crate::network::{ModelShape, Network};
use crate::program::{Call, Dropping, Heard, Input, Job, Lanes, Norms, Objective, RowSet};
use crate::side::Sides;
use crate::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Pattern, Real, Relation, Split};
use serde::de::IntoDeserializer;
use serde::de::value::{Error as SerdeError, StrDeserializer};
use std::sync::Arc;

const GAT: &str = include_str!("../../tests/golden/gat.txt");
const NETWORKS: &str = include_str!("../../tests/golden/networks.txt");
const TOLERANCE: f64 = if cfg!(feature = "f64") { 1e-12 } else { 2e-5 };

/// The one whole number of a line.
fn count(case: &Case<'_>, key: &str) -> usize {
    case.numbers(key)[0] as usize
}

fn ids(case: &Case<'_>, key: &str) -> Vec<u32> {
    case.numbers(key).iter().map(|&v| v as u32).collect()
}

fn mat(case: &Case<'_>, key: &str, cols: usize) -> Mat {
    let values: Vec<Real> = case.numbers(key).into_iter().map(|v| v as Real).collect();
    Mat::from_vec(values.len() / cols, cols, values)
}

/// A word of the configuration.
fn word<'de, T: Deserialize<'de>>(case: &Case<'de>, key: &str) -> T {
    let name: StrDeserializer<'_, SerdeError> = case.text(key).into_deserializer();
    T::deserialize(name).expect("a word of the configuration")
}

fn graph(nodes: usize, edges: &str) -> Graph {
    let ends: Vec<u32> = numbers(edges).iter().map(|&v| v as u32).collect();
    let edges: Vec<[u32; 2]> = ends.chunks_exact(2).map(|e| [e[0], e[1]]).collect();
    Graph::from_edges(nodes, &edges, EdgeOptions { directed: true, ..Default::default() }).unwrap()
}

fn assert_close(name: &str, found: &[Real], expect: &[f64]) {
    assert_eq!(found.len(), expect.len(), "{name}");
    for (i, (&found, expect)) in found.iter().zip(expect).enumerate() {
        let error = (f64::from(found) - expect).abs() / (1.0 + expect.abs());
        assert!(error < TOLERANCE, "{name}, entry {i}: {found}, not {expect}");
    }
}

/// `sum_i <c_i, y_i> + |y_i|^2 / 2`.
struct Quadratic(Mat);

impl Objective for Quadratic {
    fn block(&self, _: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        let mut value = 0.0;
        for (i, &id) in ids.iter().enumerate() {
            for ((&y, d), c) in y.row(i).iter().zip(d.row(i)).zip(self.0.row(id as usize)) {
                *d = c + y;
                value += f64::from(c * y) + 0.5 * f64::from(y * y);
            }
        }
        value
    }
}

/// A layer of attention, as the case has it.
fn attention(case: &Case<'_>, x: &Mat) -> Program {
    let options = LayerOptions {
        width: case.numbers("b").len(),
        heads: count(case, "heads"),
        combine: word(case, "combine"),
        activation: word(case, "activation"),
        norm: word(case, "norm"),
        ..LayerOptions::default()
    };
    build(find("gat").unwrap(), &Site { k: 2, d_in: x.cols(), parts: 0, options: &options })
}

fn check_attention(case: &Case<'_>, pattern: &Pattern) {
    let x = mat(case, "x", 5);
    let program = attention(case, &x);
    let params: Vec<Mat> = program.params().iter().map(|p| mat(case, &p.name, p.cols)).collect();
    let params: Vec<&Mat> = params.iter().collect();
    let rows = ids(case, "rows");
    let set = if rows.len() == x.rows() { RowSet::All(x.rows()) } else { RowSet::List(&rows) };
    let job = Job::new(&program, vec![Input::Dense(&x)], Some(pattern));
    let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
    let mut y = Mat::zeros(rows.len(), program.width());
    job.forward(&call, set, &mut y);
    assert_close(&format!("{}: y", case.name), y.data(), &case.numbers("y"));
    let objective = Quadratic(mat(case, "c", program.width()));
    let (mut lanes, mut heard) = (Lanes::default(), Heard::default());
    let value = job.gradients_heard(&call, set, &objective, Some(&mut lanes), &mut [], Some(&mut heard));
    assert_close(&format!("{}: value", case.name), &[value as Real], &case.numbers("value"));
    for (p, grad) in program.params().iter().zip(lanes.gradient()) {
        assert_close(
            &format!("{}: {}", case.name, p.name),
            grad.data(),
            &case.numbers(&format!("d_{}", p.name)),
        );
    }
    let mut at_x = Mat::zeros(x.rows(), x.cols());
    let nodes = heard.ids.unwrap_or_else(|| (0..x.rows() as u32).collect());
    nodes.iter().enumerate().for_each(|(i, &v)| at_x.row_mut(v as usize).copy_from_slice(heard.d.row(i)));
    assert_close(&format!("{}: x", case.name), at_x.data(), &case.numbers("d_x"));
}

#[test]
fn attention_agrees_with_the_formula_in_numpy() {
    let cases = cases(GAT);
    let [head, cases @ ..] = &cases[..] else { panic!("no graph") };
    let pattern = Pattern::new(&graph(count(head, "nodes"), head.text("edges")));
    assert_eq!(cases.len(), 4);
    cases.iter().for_each(|case| check_attention(case, &pattern));
}

fn dataset(head: &Case<'_>, x: Mat) -> Dataset {
    let nodes = count(head, "nodes");
    let relation =
        |edges: &&str, latent| Relation { name: String::new(), graph: graph(nodes, edges), latent };
    let labels = Labels::Classes {
        ids: head.numbers("class").iter().map(|&c| c as i32).collect(),
        classes: count(head, "classes"),
    };
    let split = Split { train: ids(head, "train"), val: Vec::new(), test: Vec::new() };
    let mut data =
        Dataset::new("golden", graph(nodes, head.text("edges")), Features::Dense(x), labels, split);
    data.relations = head.all("relation").iter().map(|e| relation(e, false)).collect();
    data.relations.extend(head.all("latent").iter().map(|e| relation(e, true)));
    data
}

fn config(head: &Case<'_>, case: &Case<'_>) -> Config {
    let mut c = Config::default();
    let n = &mut c.network;
    n.layer = case.name.into();
    (n.layers, n.hidden, n.heads) = (count(case, "layers"), Auto::Set(count(head, "hidden")), 2);
    (n.activation, n.hops, n.dropout) = (word(case, "activation"), Auto::Set(1), 0.0);
    (n.initial, n.theta) = (Auto::Set(head.numbers("initial")[0]), head.numbers("theta")[0]);
    n.degree_scale = Auto::Set(head.numbers("degree_scale")[0]);
    c.train.order = Order::Exact;
    c
}

fn check_network(head: &Case<'_>, case: &Case<'_>) {
    let data = dataset(head, mat(case, "x", 3));
    let config = config(head, case);
    let mut network = Network::new(&config.network, &ModelShape::of(&data), 0).unwrap();
    for layer in network.layers_mut() {
        for (p, value) in layer.program.params().iter().zip(&mut layer.params) {
            *value = mat(case, &format!("p{}.{}", layer.k, p.name), p.cols);
            assert_eq!(value.rows(), p.rows, "{}: {}", case.name, p.name);
        }
    }
    let sides = Sides::new(&data, &Arc::new(data.features.clone().into()), &network, config.train.setting);
    assert_close(
        &format!("{}: logits", case.name),
        network.infer(&sides.full).data(),
        &case.numbers("logits"),
    );
    let (labels, rows) = Sides::training(&data, config.train.setting);
    let loss = TaskLoss::new(&labels, &rows, &LossOptions::default()).unwrap();
    let mut engine = Engine::new(&config, network, sides.train, loss, rows);
    let (loss, grads) = engine.exact_gradient(Dropping::Off);
    assert_close(&format!("{}: loss", case.name), &[loss as Real], &case.numbers("loss"));
    for layer in engine.network().layers() {
        for (p, grad) in layer.program.params().iter().zip(&grads[layer.k]) {
            let key = format!("g{}.{}", layer.k, p.name);
            assert_close(&format!("{}: {key}", case.name), grad.data(), &case.numbers(&key));
        }
    }
}

#[test]
fn architectures_agree_with_their_formulas_in_numpy() {
    let cases = cases(NETWORKS);
    let [head, cases @ ..] = &cases[..] else { panic!("no graph") };
    assert_eq!(cases.len(), 11, "one case for each architecture that was there when the file was made");
    cases.iter().for_each(|case| check_network(head, case));
}

#[test]
fn the_example_for_contributors_is_a_layer() {
    let page = include_str!("../../../../CONTRIBUTING.md");
    assert!(page.contains(include_str!("gcn.rs")), "CONTRIBUTING.md shows another gcn.rs");
}
