//! Features of nodes from features of their edges: `x_v = mean` or `sum` of `e` over the edges at `v`, both ends counted.
//!
//! For graphs such as ogbn-proteins, where only edges are described. A node without edges gets zeros.

use iglu::Mat;

/// How the features of a node's edges become its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gather {
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

/// Features of `n` nodes from those of their edges; row `i` of `features` belongs to `edges[i]`.
///
/// ```
/// use iglu_data::{Gather, incident_features};
/// let features = iglu::Mat::from_rows(&[[1.0], [3.0]]);
/// let path = [[0, 1], [1, 2]];
/// assert_eq!(incident_features(3, &path, &features, Gather::Mean).data(), [1.0, 2.0, 3.0]);
/// assert_eq!(incident_features(3, &path, &features, Gather::Sum).data(), [1.0, 4.0, 3.0]);
/// ```
pub fn incident_features(n: usize, edges: &[[u32; 2]], features: &Mat, how: Gather) -> Mat {
    assert_eq!(edges.len(), features.rows(), "one row of features per edge");
    let mut sums = Incident::new(n, features.cols());
    for (row, &edge) in edges.iter().enumerate() {
        sums.add(edge, features.row(row));
    }
    sums.finish(how)
}

/// Sums under construction, fed edge by edge, so that edge features need not be in memory together.
pub(crate) struct Incident {
    cols: usize,
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl Incident {
    /// No edges yet.
    pub(crate) fn new(n: usize, cols: usize) -> Self {
        Self { cols, sums: vec![0.0; n * cols], counts: vec![0; n] }
    }

    /// Adds the features of one edge to both its ends.
    pub(crate) fn add(&mut self, edge: [u32; 2], features: &[f32]) {
        for end in edge {
            let row = end as usize * self.cols..(end as usize + 1) * self.cols;
            self.counts[end as usize] += 1;
            for (sum, &value) in self.sums[row].iter_mut().zip(features) {
                *sum += f64::from(value);
            }
        }
    }

    /// The features of all nodes.
    pub(crate) fn finish(self, how: Gather) -> Mat {
        let share = |node: usize| match how {
            Gather::Mean => 1.0 / f64::from(self.counts[node].max(1)),
            Gather::Sum => 1.0,
        };
        let value = |(at, sum): (usize, &f64)| (sum * share(at / self.cols)) as f32;
        let values = self.sums.iter().enumerate().map(value).collect();
        Mat::from_vec(self.counts.len(), self.cols, values)
    }
}
