//! Counts of a dataset before it is read, where headers tell them; for plans of memory.

use super::npy;
use iglu::network::ModelShape;
use iglu::run::Outline;
use std::path::Path;

/// For formats whose counts are not known before everything is read.
pub(super) fn unknown(_path: &Path, _options: &crate::LoadOptions) -> Option<Outline> {
    None
}

/// Counts of data with a dense array of features of this shape, and perhaps one of labels. Edges are not known, since
/// repeated ones are merged, nor are the splits.
pub(super) fn of_arrays(x: &[usize], y: Option<&[usize]>) -> Option<Outline> {
    let &[nodes, features] = x else { return None };
    if features == 0 || u32::try_from(nodes).is_err() {
        return None;
    }
    let (classes, multi_label) = match y {
        Some(&[_, labels]) => (labels, true),
        // How many there are is known after reading.
        _ => (1, false),
    };
    let label = if multi_label { classes } else { size_of::<i32>() };
    Some(Outline {
        nodes,
        entries: 0,
        graph_bytes: ((nodes + 1) * size_of::<u64>()) as u64,
        feature_bytes: (nodes * features * size_of::<f32>()) as u64,
        sparse: false,
        features_rest: false,
        label_bytes: (nodes * label) as u64,
        shape: ModelShape { features, classes, multi_label, relations: 0, latent: 0 },
        train: 0,
        val: 0,
        ordered: false,
    })
}

/// The shape that an .npy file declares.
pub(super) fn npy_shape(path: &Path) -> Option<Vec<usize>> {
    let file = super::open_file(path).ok()?;
    let size = file.metadata().ok()?.len();
    npy::shape(file, size)
}
