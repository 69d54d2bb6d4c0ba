//! Where iglu's data comes from: files read with suspicion, and graphs made to measure.
//!
//! [`load`] turns a source, a path or `synth:NAME`, into an [`iglu::Dataset`]; [`Card`] sums one up for people.
//! Readers never allocate from a declared number: every count is checked against the bytes that are there.
//! Nothing here trains or knows networks.

pub mod card;
mod caught;
pub mod checkpoint;
pub mod columns;
mod fingerprint;
pub mod formats;
mod incident;
pub mod model;
mod nearest;
pub mod output;
mod policy;
mod splits;
pub mod synth;
mod weights;

pub use card::{Card, Inspection, problems};
pub use caught::catching_panics;
pub use fingerprint::Fingerprint;
pub use formats::npy::write_npy;
pub use formats::plain::write_plain;
pub use formats::store::write_store;
pub use incident::{Gather, incident_features};
pub use nearest::{edit_distance, nearest};
pub use splits::{choose_split, decided};

use iglu::config::{Auto, DataConfig, Duplicates, EdgeFeatures, Isolated, NanFeatures, SplitChoice};
use iglu::run::Outline;
use iglu::{Dataset, Error, Result, SelfLoops};
use std::path::Path;

/// What is loaded when nobody says otherwise: a small graph on which neighbours matter.
pub const DEFAULT_SOURCE: &str = "synth:village";

/// How a source is to be read.
///
/// ```
/// let options = iglu_data::LoadOptions { split: 3, ..Default::default() };
/// assert_eq!(options.limits.max_decompressed, 8 << 30);
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Which stored split a reader is to give, from 0; a number in [`LoadOptions::split_choice`] wins.
    pub split: usize,
    /// The split to use: the stored one, or another.
    pub split_choice: SplitChoice,
    /// Root of the random numbers of drawn splits.
    pub split_seed: u64,
    /// What to do with edges from a node to itself.
    pub self_loops: SelfLoops,
    /// What to do with edges that are there several times.
    pub duplicates: Duplicates,
    /// What to do with nodes without edges.
    pub isolated: Isolated,
    /// What to do with features that are not there.
    pub nan_features: NanFeatures,
    /// Whether files that number their nodes begin with 1.
    pub one_based: bool,
    /// Whether a first line that is no row of its table is passed over.
    pub skip_header: bool,
    /// How much a file may ask for.
    pub limits: Limits,
    /// What the data is for.
    pub purpose: Purpose,
    /// What becomes of edge features; auto: nodes without features get their mean.
    pub edge_features: Auto<EdgeFeatures>,
    /// How much of a store is read to check it.
    pub verify: Verify,
    /// Where a store has its nodes in another order than the file it was made of: in which they are wanted.
    pub layout: Layout,
}

impl From<&DataConfig> for LoadOptions {
    fn from(data: &DataConfig) -> Self {
        Self {
            split_choice: data.split.clone(),
            split_seed: data.split_seed,
            self_loops: data.self_loops,
            duplicates: data.duplicates,
            isolated: data.isolated,
            nan_features: data.nan_features,
            edge_features: data.edge_features,
            one_based: data.one_based,
            skip_header: data.skip_header,
            limits: Limits { max_decompressed: (data.max_decompressed * (1_u64 << 30) as f64) as u64 },
            ..Self::default()
        }
    }
}

/// How much of a [store](formats::store) is read before it is used; other files are read and checked whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Header, table and whatever is copied: takes no time. A damaged row may end in a panic later.
    #[default]
    Header,
    /// And that rows and features hold nothing impossible.
    Structure,
    /// And the checksums of all bytes.
    Everything,
}

/// The order of the nodes of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Numbers mean what they mean in the file that the data came from: right for whoever shows or writes something for
    /// each node.
    #[default]
    File,
    /// As they are stored, without work; [`Dataset::order`] has the numbers in the file. For training, which gives
    /// nothing for each node.
    Stored,
}

/// What data is for, and so what it must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Training: labels and splits must be there.
    #[default]
    Train,
    /// Looking at it or predicting: absent labels are unknown, absent splits empty.
    Predict,
}

/// How much a file may ask for, whatever it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that the compressed members read from one file may expand to, all together.
    pub max_decompressed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_decompressed: 8 << 30 }
    }
}

/// Reads or makes the dataset named by `source`: `synth:NAME[@scale][#seed]`, or the path of a file or folder in one of
/// the known [`formats`]; then [`prepare`]s it.
///
/// ```
/// let village = iglu_data::load(iglu_data::DEFAULT_SOURCE, &Default::default())?;
/// assert_eq!(village.graph.nodes(), 2_000);
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn load(source: &str, options: &LoadOptions) -> Result<Dataset> {
    let mut options = options.clone();
    if let SplitChoice::Stored(number) = options.split_choice {
        options.split = number;
    }
    let data = match source.strip_prefix("synth:") {
        Some(recipe) => load_synth(recipe, &options),
        None => formats::read(Path::new(source), &options),
    };
    let mut data = data?;
    data.source.get_or_insert_with(|| source.to_string());
    prepare(data, &options).map_err(|e| e.within(&format!("`{source}`")))
}

/// The counts of the dataset named by `source`, where they can be had at once: all of synthetic graphs and of stores,
/// those of the features where an .npz or .npy file has them dense. What is not known counts as nothing, so that a plan of
/// memory is a lower bound. Whatever is wrong with the source is left to [`load`].
///
/// ```
/// let counts = iglu_data::outline("synth:products", &Default::default()).unwrap();
/// assert_eq!((counts.nodes, counts.shape.classes), (2_449_029, 47));
/// ```
pub fn outline(source: &str, options: &LoadOptions) -> Option<Outline> {
    let mut options = options.clone();
    if let SplitChoice::Stored(number) = options.split_choice {
        options.split = number;
    }
    let mut outline = match source.strip_prefix("synth:") {
        Some(recipe) => synth::Recipe::parse(recipe).ok()?.outline(),
        None => formats::outline(Path::new(source), &options)?,
    };
    if !matches!(options.split_choice, SplitChoice::Auto | SplitChoice::Stored(_)) {
        (outline.train, outline.val) = (0, 0);
    }
    Some(outline)
}

/// Does to a dataset what does not depend on where it comes from: refuses or mends what the options say, and gives it
/// the split chosen.
pub fn prepare(mut data: Dataset, options: &LoadOptions) -> Result<Dataset> {
    policy::apply(&mut data, options)?;
    splits::apply(&mut data, options)?;
    Ok(data)
}

fn load_synth(recipe: &str, options: &LoadOptions) -> Result<Dataset> {
    if options.split > 0 {
        let found = format!("split {}, but a synthetic graph has one split, number 0", options.split);
        return Err(Error::usage(
            "split",
            found,
            "leave the split out, or take another seed: `synth:NAME#seed`",
        ));
    }
    synth::Recipe::parse(recipe)?.make()
}

/// A path as messages show it.
pub(crate) fn quoted(path: &Path) -> String {
    format!("`{}`", path.display())
}

#[cfg(test)]
mod testing {
    use std::path::{Path, PathBuf};

    /// An empty folder of its own for the test `name`, where builds are thrown away.
    pub fn folder(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp/unit").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}
