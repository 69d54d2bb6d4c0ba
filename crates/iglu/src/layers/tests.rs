//! Every architecture with every option by finite differences: parameters and inputs, all rows and a subset,
//! dropout on and off. Differences of f32 values say little, so these two tests run in the f64 twin.

use super::*;
use crate::kernels::{Rows, RowsMut};
use crate::network::{ModelShape, Network, Sight};
use crate::program::{Call, Dropping, Heard, Input, Job, Lanes, Norms, Objective, RowSet, Wanted};
use crate::rng::Key;
use crate::{EdgeOptions, Graph, Mat, Pattern, Real, Table};

const N: usize = 9;
const D_IN: usize = 5;

/// `sum_i <c_i, y_i> + |y_i|^2 / 2`: a gradient that depends on the output.
struct Quadratic(Mat);

impl Objective for Quadratic {
    fn block(&self, _: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        let mut value = 0.0;
        for (i, &id) in ids.iter().enumerate() {
            let c = self.0.row(id as usize);
            for (j, (&y, d)) in y.row(i).iter().zip(d.row(i)).enumerate() {
                *d = c[j] + y;
                value += f64::from(c[j] * y) + 0.5 * f64::from(y * y);
            }
        }
        value
    }
}

fn noise(rows: usize, cols: usize, purpose: &str) -> Mat {
    let key = Key::new(11).with(purpose);
    Mat::from_vec(rows, cols, (0..rows * cols).map(|i| (2.0 * key.unit(i as u64) - 1.0) as Real).collect())
}

/// A directed graph with a hermit (node 8) and a hub.
fn pattern() -> Pattern {
    let edges = [[0, 1], [1, 2], [2, 0], [3, 4], [5, 4], [6, 4], [7, 4], [0, 4], [4, 7]];
    let options = EdgeOptions { directed: true, ..Default::default() };
    Pattern::new(&Graph::from_edges(N, &edges, options).unwrap())
}

struct Case {
    program: Program,
    inputs: Vec<Mat>,
    params: Vec<Mat>,
    dropping: Dropping,
    rows: Vec<u32>,
}

impl Case {
    fn new(program: Program, dropping: Dropping, rows: Vec<u32>) -> Self {
        let inputs = (0..program.inputs().count())
            .map(|i| noise(N, program.given_width(i), &format!("x{i}")))
            .collect();
        let params = program
            .params()
            .iter()
            .enumerate()
            .map(|(i, p)| noise(p.rows, p.cols, &format!("p{i}")))
            .collect();
        Self { program, inputs, params, dropping, rows }
    }

    fn job<T>(&self, work: impl FnOnce(&Job<'_>, &Call<'_>, RowSet<'_>) -> T) -> T {
        let pattern = pattern();
        let job = Job::new(&self.program, self.inputs.iter().map(Input::Dense).collect(), Some(&pattern));
        let params: Vec<&Mat> = self.params.iter().collect();
        let call = Call { params: &params, norms: Norms::Batch, dropping: self.dropping };
        let all = self.rows.len() == N;
        work(&job, &call, if all { RowSet::All(N) } else { RowSet::List(&self.rows) })
    }

    fn value(&self, objective: &Quadratic) -> f64 {
        self.job(|job, call, rows| job.value(call, rows, objective))
    }

    /// Central difference of the value at one number.
    fn slope(&mut self, objective: &Quadratic, pick: impl Fn(&mut Self) -> &mut Real) -> f64 {
        let h: Real = 1e-6;
        let old = *pick(self);
        *pick(self) = old + h;
        let up = self.value(objective);
        *pick(self) = old - h;
        let down = self.value(objective);
        *pick(self) = old;
        (up - down) / (2.0 * f64::from(h))
    }
}

/// Compares every gradient of a case with finite differences.
fn check(name: &str, mut case: Case) {
    let objective = Quadratic(noise(N, case.program.width(), "c"));
    let mut lanes = Lanes::default();
    let place = |i: usize| Table::Full(Mat::zeros(case.rows.len(), case.program.input_width(i)));
    let mut wanted: Vec<Table> = (0..case.inputs.len()).map(place).collect();
    let mut heard = Heard::default();
    let value = case.job(|job, call, rows| {
        let values = (0..case.inputs.len()).map(|i| case.program.input_value(i));
        let mut places: Vec<Wanted<'_>> =
            values.zip(&mut wanted).map(|(v, out)| Wanted::in_order(v, out)).collect();
        job.gradients_heard(call, rows, &objective, Some(&mut lanes), &mut places, Some(&mut heard))
    });
    let sources: Vec<Source> = case.program.inputs().collect();
    let grads = lanes.gradient().to_vec();
    let tolerance = 1e-6;
    assert!((value - case.value(&objective)).abs() < tolerance, "{name}: value");
    let close = |found: Real, expect: f64, place: String| {
        let error = (f64::from(found) - expect).abs() / (1.0 + expect.abs());
        assert!(error < tolerance, "{name}: {place}: {found}, finite difference {expect}");
    };
    for p in 0..grads.len() {
        for i in 0..grads[p].data().len() {
            let expect = case.slope(&objective, |c| &mut c.params[p].data_mut()[i]);
            close(
                grads[p].data()[i],
                expect,
                format!("parameter {} entry {i}", case.program.params()[p].name),
            );
        }
    }
    let wanted: Vec<Mat> = wanted.into_iter().map(Table::into_full).collect();
    for (x, d) in wanted.iter().enumerate() {
        // Rows of the pass, or whomever they hear; scales of degrees are constants.
        let (rows, d) = match sources[x] {
            Source::Degree(_) => continue,
            Source::Attended { .. } => {
                (heard.ids.clone().unwrap_or_else(|| (0..N as u32).collect()), &heard.d)
            }
            _ => (case.rows.clone(), d),
        };
        for (i, row) in rows.into_iter().enumerate() {
            for j in 0..d.cols() {
                let expect = case.slope(&objective, |c| &mut c.inputs[x].row_mut(row as usize)[j]);
                close(d.row(i)[j], expect, format!("input {x} row {row} column {j}"));
            }
        }
    }
}

/// All settings of the table test, by name.
fn settings(architecture: &Architecture) -> Vec<(String, LayerOptions)> {
    let base = || LayerOptions { width: 4, heads: 2, relations: (2, 1), ..LayerOptions::default() };
    let mut out = Vec::new();
    for activation in
        [Activation::Relu, Activation::Gelu, Activation::Elu, Activation::Tanh, Activation::None]
    {
        for norm in [NormKind::Layer, NormKind::Batch, NormKind::None] {
            for norm_order in [NormOrder::Before, NormOrder::After] {
                out.push((
                    format!("{activation:?} {norm:?} {norm_order:?}"),
                    LayerOptions { activation, norm, norm_order, ..base() },
                ));
            }
        }
    }
    let smooth = || LayerOptions { activation: Activation::Tanh, ..base() };
    out.push(("sum".into(), LayerOptions { combine: Combine::Sum, ..smooth() }));
    out.push(("no bias".into(), LayerOptions { bias: false, ..smooth() }));
    out.push(("residual".into(), LayerOptions { residual: true, ..smooth() }));
    out.push((
        "residual, equal width".into(),
        LayerOptions { residual: true, width: D_IN, combine: Combine::Sum, ..smooth() },
    ));
    out.push(("l2".into(), LayerOptions { l2: true, ..smooth() }));
    out.push(("dropout".into(), LayerOptions { dropout: 0.4, ..smooth() }));
    out.push((
        "dropout and batch norm".into(),
        LayerOptions { dropout: 0.4, norm: NormKind::Batch, ..smooth() },
    ));
    let first = if architecture.embeds { D_IN } else { 4 };
    out.push(("skips".into(), LayerOptions { skips: vec![(1, first), (0, 3)], ..smooth() }));
    out.push(("equal width".into(), LayerOptions { width: D_IN, heads: 1, ..smooth() }));
    let dropped = LayerOptions { attention_dropout: 0.3, said_dropout: 0.2, dropout: 0.2, ..smooth() };
    out.push(("everything dropped".into(), dropped));
    out
}

/// Aggregates an architecture takes in these tests.
fn parts(architecture: &Architecture) -> usize {
    match architecture.takes {
        Takes::Nothing | Takes::Attention => 0,
        Takes::Operator(_) => 1,
        Takes::Relations(_) => 3,
        Takes::Moments => 4,
    }
}

#[test]
#[cfg_attr(not(feature = "f64"), ignore = "runs in iglu-f64")]
fn every_architecture_and_option_has_the_gradient_of_finite_differences() {
    for architecture in ARCHITECTURES {
        for (name, options) in settings(architecture) {
            // Layer 3 of a network: skips come from below, rows of X^2 are its own.
            let parts = parts(architecture);
            let program = build(architecture, &Site { k: 3, d_in: D_IN, parts, options: &options });
            let name = format!("{} {name}", architecture.name);
            for dropping in [Dropping::Off, Dropping::AsBuilt(Key::new(5))] {
                check(&name, Case::new(program.clone(), dropping, (0..N as u32).collect()));
                check(&name, Case::new(program.clone(), dropping, vec![1, 4, 6, 7]));
            }
        }
    }
}

#[test]
#[cfg_attr(not(feature = "f64"), ignore = "runs in iglu-f64")]
fn hops_are_inputs_of_their_own() {
    for architecture in ARCHITECTURES.iter().filter(|a| a.max_hops > 1) {
        let options = LayerOptions { width: 4, activation: Activation::Tanh, ..LayerOptions::default() };
        let program = build(architecture, &Site { k: 1, d_in: D_IN, parts: 3, options: &options });
        assert!(program.inputs().filter(|s| matches!(s, Source::Aggregate { .. })).count() == 3);
        check(architecture.name, Case::new(program, Dropping::Off, (0..N as u32).collect()));
    }
}

#[test]
fn sparse_rows_give_the_same_values_and_gradients_as_dense_ones() {
    let options = LayerOptions { width: 4, dropout: 0.3, ..LayerOptions::default() };
    let program = build(find("sage").unwrap(), &Site { k: 1, d_in: D_IN, parts: 1, options: &options });
    let mut case = Case::new(program, Dropping::AsBuilt(Key::new(5)), vec![0, 2, 3, 8]);
    for x in &mut case.inputs {
        x.data_mut().iter_mut().enumerate().for_each(|(i, v)| *v = if i % 3 == 0 { *v } else { 0.0 });
    }
    let sparse: Vec<crate::SparseMat> = case.inputs.iter().map(sparse_of).collect();
    let objective = Quadratic(noise(N, case.program.width(), "c"));
    let (mut dense_lanes, mut sparse_lanes) = (Lanes::default(), Lanes::default());
    let dense = case.job(|job, call, rows| job.gradient(call, rows, &objective, &mut dense_lanes));
    let job = Job::new(&case.program, sparse.iter().map(Input::Sparse).collect(), None);
    let params: Vec<&Mat> = case.params.iter().collect();
    let call = Call { params: &params, norms: Norms::Batch, dropping: case.dropping };
    let found = job.gradient(&call, RowSet::List(&case.rows), &objective, &mut sparse_lanes);
    assert!((dense - found).abs() < 1e-4, "{dense} {found}");
    for (a, b) in dense_lanes.gradient().iter().zip(sparse_lanes.gradient()) {
        crate::kernels::reference::assert_close(a, b, 1e-4);
    }
}

fn sparse_of(m: &Mat) -> crate::SparseMat {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..m.rows() {
        for (j, &v) in m.row(i).iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        offsets.push(indices.len() as u64);
    }
    crate::SparseMat::from_parts(m.cols(), offsets, indices, values)
}

#[test]
#[cfg_attr(not(feature = "f64"), ignore = "runs in iglu-f64")]
fn chains_of_layers_have_the_gradient_of_finite_differences() {
    let mut config = crate::config::NetworkConfig {
        hidden: crate::config::Auto::Set(4),
        hops: crate::config::Auto::Set(2),
        layers: 2,
        dropout: 0.3,
        ..Default::default()
    };
    config.activation = Activation::Tanh;
    config.heads = 2;
    let shape = ModelShape { features: D_IN, classes: 3, multi_label: false, relations: 2, latent: 1 };
    for layer in ARCHITECTURES.iter().map(|a| a.name) {
        config.layer = layer.into();
        let network = Network::new(&config, &shape, 0).unwrap();
        for dropping in [Dropping::Off, Dropping::AsBuilt(Key::new(5))] {
            // Without the graph every aggregate is the row itself: repeated sources, summed weights.
            check(layer, Case::new(network.chain(1, Sight::Nothing), dropping, vec![0, 3, 5, 8]));
            if network.has_hops() {
                check(layer, Case::new(network.chain(1, Sight::Hops), dropping, vec![0, 3, 5, 8]));
            }
            check(layer, Case::new(network.chain(2, Sight::Graph), dropping, vec![0, 3, 5, 8]));
        }
    }
}
