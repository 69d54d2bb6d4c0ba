//! Cases 53 to 64: features, labels and splits.

use super::common::{bools, changed, floats, ints};
use super::{Case, look, small};
use iglu::config::NanFeatures;
use iglu_data::LoadOptions;

pub fn cases() -> Vec<Case> {
    [features(), labels(), splits(), classes()].into_iter().flatten().collect()
}

/// The path of four nodes with other arrays.
fn case(number: u8, exit: u8, name: &'static str, changes: &[(&'static str, Vec<u8>)]) -> Case {
    Case::file(number, exit, name, changed(changes))
}

fn filled(name: &'static str, nan_features: NanFeatures) -> Case {
    let file = changed(&[("x", floats("(4, 2)", &NANS))]);
    Case::new(53, 0, name, move |folder| {
        let path = folder.join("data.npz");
        std::fs::write(&path, &file).unwrap();
        look(&path, &LoadOptions { nan_features, ..small() })
    })
}

const NANS: [f64; 8] = [0.5, 1.0, 0.5, f64::NAN, 2.0, 3.0, f64::NAN, f64::NAN];

fn features() -> Vec<Case> {
    let x = |number, name, shape, values: &[f64]| case(number, 65, name, &[("x", floats(shape, values))]);
    vec![
        x(53, "features NaN", "(4, 2)", &NANS),
        filled("features NaN taken as 0", NanFeatures::Zero),
        filled("features NaN taken as means", NanFeatures::Mean),
        x(54, "features infinite", "(4, 1)", &[1.0, 1.0, f64::NEG_INFINITY, 1.0]),
        x(54, "features beyond float32", "(4, 1)", &[1.0, 1.0, 1.0, 1e300]),
        case(55, 0, "features all 0", &[("x", floats("(4, 2)", &[0.0; 8]))]),
        Case::part(56, "rows of features", ["graphsaint", "feats.npy"], floats("(3, 2)", &[0.0; 6])),
        x(57, "no columns", "(4, 0)", &[]),
    ]
}

fn labels() -> Vec<Case> {
    let y = |number, exit, name, array| case(number, exit, name, &[("y", array)]);
    vec![
        y(58, 65, "negative class", ints("(4,)", &[0, 1, -2, 0])),
        y(58, 65, "class of millions", ints("(4,)", &[0, 1, 2_000_000_000, 0])),
        y(58, 0, "gap in the classes", ints("(4,)", &[0, 2, 2, -1])),
        y(59, 65, "fraction for a class", floats("(4,)", &[0.0, 1.0, 0.5, 0.0])),
        y(59, 65, "column of classes", ints("(4, 1)", &[0, 1, 2, 3])),
        y(59, 65, "label 2 of many", ints("(4, 2)", &[0, 1, 1, 0, 0, 2, 1, 1])),
        y(60, 65, "training node without a label", ints("(4,)", &[-1, 1, 0, 0])),
    ]
}

fn splits() -> Vec<Case> {
    let part = |number, exit, name, key, array| case(number, exit, name, &[(key, array)]);
    let nobody = || ints("(0,)", &[]);
    vec![
        part(61, 65, "no training nodes", "train", nobody()),
        part(61, 0, "no validation nodes", "val", nobody()),
        part(61, 0, "no test nodes", "test", nobody()),
        part(62, 65, "parts that overlap", "val", ints("(1,)", &[1])),
        part(63, 65, "node beyond the graph", "test", ints("(1,)", &[4])),
        part(63, 65, "node twice in a part", "val", ints("(2,)", &[2, 2])),
        part(63, 65, "mask of another length", "val", bools("(3,)", &[0, 0, 1])),
    ]
}

fn classes() -> Vec<Case> {
    let y = |name, ids: [i64; 4]| case(64, 0, name, &[("y", ints("(4,)", &ids))]);
    vec![y("one class to learn", [1, 1, 0, 0]), y("class to be tested but not learned", [0, 1, 0, 2])]
}
