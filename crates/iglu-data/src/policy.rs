//! What is done with data that is legal but suspicious, whatever file it comes from: refused, mended or left alone.

use crate::LoadOptions;
use iglu::config::{Isolated, NanFeatures};
use iglu::{Dataset, Error, Features, Result};

/// Sparse features may declare columns that no entry is in; more than this are none, and a network would take memory
/// for each.
const MOST_COLUMNS: usize = 1 << 24;

/// Refuses what the options forbid, and fills in features that are not there.
pub(crate) fn apply(data: &mut Dataset, options: &LoadOptions) -> Result<()> {
    if data.features.cols() > MOST_COLUMNS {
        let found = format!("{} columns; at most {MOST_COLUMNS} are possible", data.features.cols());
        return Err(Error::data("x", found, "leave out columns that are 0 everywhere"));
    }
    if options.isolated == Isolated::Error {
        refuse_isolated(data)?;
    }
    let filled = match options.nan_features {
        NanFeatures::Error => return Ok(()),
        NanFeatures::Zero => fill(&mut data.features, |_| 0.0),
        NanFeatures::Mean => {
            let means = means(&data.features);
            fill(&mut data.features, |column| means[column])
        }
    };
    if filled > 0 {
        let by = if options.nan_features == NanFeatures::Zero { "0" } else { "the mean of their column" };
        data.notes.push(format!("{filled} features are NaN or missing and taken as {by}"));
    }
    Ok(())
}

fn refuse_isolated(data: &Dataset) -> Result<()> {
    let graph = &data.graph;
    let mut heard = vec![false; graph.nodes()];
    graph.columns().iter().for_each(|&u| heard[u as usize] = true);
    let is_alone = |v: usize| graph.neighbours(v).is_empty() && !heard[v];
    let mut alone = (0..graph.nodes() as u32).filter(|&number| is_alone(data.place(number) as usize));
    let Some(first) = alone.next() else { return Ok(()) };
    let more = alone.count();
    let others = if more > 0 { format!(" (and {more} more nodes)") } else { String::new() };
    let fix = "remove such nodes, or set data.isolated to keep";
    Err(Error::data("edges", format!("node {first} has no edge{others}"), fix))
}

/// Replaces every NaN by what `by` gives for its column; returns how many there were.
fn fill(features: &mut Features, by: impl Fn(usize) -> f32) -> usize {
    let columns = features.cols();
    let (values, column): (&mut [f32], Box<dyn Fn(usize) -> usize>) = match features {
        Features::Dense(x) => (x.data_mut(), Box::new(move |at| at % columns)),
        Features::Sparse(x) => {
            let indices = x.indices().to_vec();
            (x.values_mut(), Box::new(move |at| indices[at] as usize))
        }
    };
    let mut filled = 0;
    for (at, value) in values.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
        *value = by(column(at));
        filled += 1;
    }
    filled
}

/// Mean of the known values of each column; 0 where none is known. Absent entries of sparse features are known zeros.
fn means(features: &Features) -> Vec<f32> {
    let (mut sums, mut unknown) = (vec![0.0_f64; features.cols()], vec![0_usize; features.cols()]);
    let mut take = |column: usize, value: f32| {
        if value.is_nan() {
            unknown[column] += 1;
        } else {
            sums[column] += f64::from(value);
        }
    };
    match features {
        Features::Dense(x) => {
            (0..x.rows()).for_each(|r| x.row(r).iter().enumerate().for_each(|(c, &v)| take(c, v)));
        }
        Features::Sparse(x) => x.indices().iter().zip(x.values()).for_each(|(&c, &v)| take(c as usize, v)),
    }
    let mean = |(sum, unknown): (&f64, &usize)| (sum / (features.rows() - unknown).max(1) as f64) as f32;
    sums.iter().zip(&unknown).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Graph, Labels, Mat, SparseMat, Split};

    const NAN: f32 = f32::NAN;

    /// Three nodes, an edge between the first two.
    fn three(features: Features) -> Dataset {
        let graph = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default()).unwrap();
        let labels = Labels::Classes { ids: vec![0, 1, 0], classes: 2 };
        Dataset::new("three", graph, features, labels, Split { train: vec![0], ..Split::default() })
    }

    fn filled(features: Features, nan_features: NanFeatures) -> (Vec<f32>, Vec<String>) {
        let options = LoadOptions { nan_features, ..LoadOptions::default() };
        let data = crate::prepare(three(features), &options).unwrap();
        (data.features.values().to_vec(), data.notes)
    }

    #[test]
    fn nan_is_filled_with_zeros_or_means() {
        let dense = || Features::Dense(Mat::from_rows(&[[1.0, NAN, NAN], [NAN, 2.0, NAN], [5.0, 4.0, NAN]]));
        let (values, notes) = filled(dense(), NanFeatures::Zero);
        assert_eq!(values, [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 5.0, 4.0, 0.0]);
        assert_eq!(notes, ["5 features are NaN or missing and taken as 0"]);
        let (values, notes) = filled(dense(), NanFeatures::Mean);
        assert_eq!(values, [1.0, 3.0, 0.0, 3.0, 2.0, 0.0, 5.0, 4.0, 0.0]);
        assert_eq!(notes, ["5 features are NaN or missing and taken as the mean of their column"]);
        // Rows (6, -), (-, NaN) and (NaN, 3): the first column has a known 0, the second two of them.
        let sparse = SparseMat::from_parts(2, vec![0, 1, 2, 4], vec![0, 1, 0, 1], vec![6.0, NAN, NAN, 3.0]);
        assert_eq!(filled(Features::Sparse(sparse), NanFeatures::Mean).0, [6.0, 1.5, 3.0, 3.0]);
        let whole = Features::Dense(Mat::from_rows(&[[1.0], [2.0], [3.0]]));
        assert!(filled(whole, NanFeatures::Mean).1.is_empty());
    }

    #[test]
    fn columns_that_nothing_speaks_for_are_refused() {
        let declared = SparseMat::from_parts(1 << 32, vec![0; 4], vec![], vec![]);
        let e = crate::prepare(three(Features::Sparse(declared)), &LoadOptions::default()).unwrap_err();
        assert!(e.to_string().starts_with("x: 4294967296 columns; at most 16777216"), "{e}");
    }

    #[test]
    fn isolated_nodes_are_refused_where_nobody_wants_them() {
        let data = || three(Features::Dense(Mat::zeros(3, 1)));
        assert!(crate::prepare(data(), &LoadOptions::default()).is_ok());
        let options = LoadOptions { isolated: Isolated::Error, ..LoadOptions::default() };
        let e = crate::prepare(data(), &options).unwrap_err();
        assert!(e.to_string().starts_with("edges: node 2 has no edge\n"), "{e}");
        let directed = EdgeOptions { directed: true, ..EdgeOptions::default() };
        let path = Graph::from_edges(3, &[[0, 1], [1, 2]], directed).unwrap();
        assert!(crate::prepare(Dataset { graph: path, ..data() }, &options).is_ok());
    }
}
