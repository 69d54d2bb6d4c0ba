//! Against PyTorch and TensorFlow's formula (`tests/golden/optim.txt`), and what a step promises besides.

use super::{Method, OptimOptions, OptimState, Optimiser, PARALLEL_FROM, clip_norm};
use crate::Real;
use crate::loss::cases::{cases, numbers};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as SerdeError, StrDeserializer};

const TOLERANCE: f64 = if cfg!(feature = "f64") { 1e-12 } else { 1e-6 };
/// Lengths of the two parameters of the golden cases.
const SIZES: [usize; 2] = [5, 3];

fn reals(line: &str) -> Vec<Real> {
    numbers(line).into_iter().map(|x| x as Real).collect()
}

fn method(name: &str) -> Result<Method, SerdeError> {
    let name: StrDeserializer<'_, SerdeError> = name.into_deserializer();
    Method::deserialize(name)
}

fn options(text: &str) -> OptimOptions {
    let mut options = OptimOptions::default();
    for word in text.split(' ') {
        let (key, value) = word.split_once('=').expect("key=value");
        let number = || value.parse().expect("a number");
        match key {
            "method" => options.method = method(value).expect("a method"),
            "beta1" => options.beta1 = number(),
            "beta2" => options.beta2 = number(),
            "eps" => options.eps = number(),
            "momentum" => options.momentum = number(),
            "weight_decay" => options.weight_decay = number(),
            "l2" => options.l2 = number(),
            "clip" => options.clip = number(),
            _ => panic!("unknown option {key}"),
        }
    }
    options.validate().unwrap();
    options
}

#[test]
fn steps_agree_with_the_golden_file() {
    for case in cases(include_str!("../../tests/golden/optim.txt")) {
        let mut optimiser = Optimiser::new(options(case.text("options")), &SIZES);
        let mut p = reals(case.text("start"));
        for (t, (grad, expect)) in case.all("grad").into_iter().zip(case.all("expect")).enumerate() {
            let mut g = reals(grad);
            let (p0, p1) = p.split_at_mut(SIZES[0]);
            let (g0, g1) = g.split_at_mut(SIZES[0]);
            optimiser.step(0.01, &mut [p0, p1], &mut [g0, g1], &[true, true]);
            for (&found, expected) in p.iter().zip(numbers(expect)) {
                let error = (f64::from(found) - expected).abs();
                assert!(error < TOLERANCE, "{}, step {t}: {found}, not {expected}", case.name);
            }
        }
        assert_eq!(optimiser.clock(), 6, "{}", case.name);
    }
}

#[test]
fn decay_applies_where_told() {
    let options = OptimOptions { method: Method::Sgd, weight_decay: 0.5, ..Default::default() };
    let mut optimiser = Optimiser::new(options, &[1, 1]);
    let (mut a, mut b) = ([4.0], [4.0]);
    optimiser.step(0.5, &mut [&mut a, &mut b], &mut [&mut [0.0], &mut [0.0]], &[true, false]);
    assert_eq!((a[0], b[0]), (3.0, 4.0));
}

#[test]
fn clipping_leaves_small_gradients_and_shows_nan() {
    let mut g: [Real; 2] = [0.3, 0.4];
    clip_norm(&mut [&mut g], 1.0);
    assert_eq!(g, [0.3, 0.4]);
    let mut g = [0.3, Real::NAN];
    assert!(clip_norm(&mut [&mut g], 1.0).is_nan());
    assert!(g.iter().all(|x| x.is_nan()));
}

/// Some spread-out numbers, the same in every run.
fn noise(n: usize, seed: usize) -> Vec<Real> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 1009) as Real / 504.0 - 1.0).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let n = PARALLEL_FROM + 12_345;
    for method in [Method::Adam, Method::Sgd] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let options = OptimOptions { method, clip: 1.0, momentum: 0.9, ..Default::default() };
                let (mut optimiser, mut p) = (Optimiser::new(options, &[n]), noise(n, 0));
                for t in 1..4 {
                    optimiser.step(0.1, &mut [&mut p], &mut [&mut noise(n, t)], &[false]);
                }
                (p, optimiser.state)
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(8), "{method:?}");
    }
}

#[test]
fn a_long_parameter_moves_as_a_short_one() {
    let (n, m) = (PARALLEL_FROM + 1, 4096);
    let step = |n: usize| {
        let (mut optimiser, mut p) = (Optimiser::new(OptimOptions::default(), &[n]), noise(n, 0));
        optimiser.step(0.1, &mut [&mut p], &mut [&mut noise(n, 1)], &[false]);
        p
    };
    assert_eq!(step(n)[..m], step(m));
}

/// Without gradients moments come to an end, which is 0, and not the smallest number there is.
#[test]
fn moments_without_gradients_vanish() {
    for method in [Method::Adam, Method::AdamTf, Method::Sgd] {
        let options = OptimOptions { method, momentum: 0.9, beta2: 0.99, ..Default::default() };
        let (mut optimiser, mut p) = (Optimiser::new(options, &[20]), noise(20, 0));
        optimiser.step(1e-3, &mut [&mut p], &mut [&mut noise(20, 1)], &[false]);
        for _ in 0..12_000 {
            let OptimState { first, second, .. } = optimiser.state();
            let fine = |x: &Real| *x == 0.0 || x.is_normal();
            assert!(first.iter().chain(second).flatten().all(fine), "{method:?}: {first:?} {second:?}");
            optimiser.step(1e-3, &mut [&mut p], &mut [&mut [0.0; 20]], &[false]);
        }
        let OptimState { first, second, .. } = optimiser.state();
        assert!(first.iter().chain(second).flatten().all(|x| *x == 0.0), "{method:?}");
    }
}

#[test]
fn a_restored_optimiser_goes_on() {
    let mut first = Optimiser::new(OptimOptions::default(), &[2]);
    let mut p: [Real; 2] = [1.0, 2.0];
    first.step(0.1, &mut [&mut p], &mut [&mut [0.5, -0.5]], &[false]);
    let mut second = Optimiser::new(first.options().clone(), &[2]);
    second.restore(first.state().clone()).unwrap();
    assert_eq!(first, second);
    let message = second.restore(OptimState::default()).unwrap_err().to_string();
    assert!(message.contains("expected [[2], [2]]"), "{message}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let wrong = |change: fn(&mut OptimOptions)| {
        let mut options = OptimOptions::default();
        change(&mut options);
        options.validate().unwrap_err().to_string()
    };
    assert!(wrong(|o| o.beta1 = 1.0).contains("beta1: 1, expected 0 <= beta1 < 1"));
    assert!(wrong(|o| o.momentum = -0.1).contains("momentum"));
    assert!(wrong(|o| o.clip = f64::NAN).contains("clip: NaN"));
    assert!(wrong(|o| o.weight_decay = -1.0).contains("weight_decay: -1"));
    assert!(method("adam-tensorflow").is_err());
}
