//! Graphs made to measure, in the shapes of well-known datasets: no download, any size, same bytes everywhere.
//!
//! A degree-corrected block model. Nodes fall into blocks; node `v` has a weight `theta_v` from a power law
//! (exponent 2.5, from 1 to 1000). An edge picks its first end with probability `theta / sum(theta)`, its second
//! end likewise inside the same block (share `inside`), inside one partner block (`related`), or anywhere.
//! A class is the union of two blocks, some of it replaced by noise; features are the block's mean plus unit
//! noise, so that a node's neighbours say more than the node. Multi-label shapes draw each label from the block.
//!
//! The result depends on name, scale and seed alone, not on threads or machine (own random numbers, own
//! logarithm). These are not the datasets whose names they bear: compare methods on them, not published scores.

mod attributes;
mod blocks;
mod random;
mod shapes;
#[cfg(test)]
mod tests;

pub use shapes::{SHAPES, Shape, Task};

use crate::nearest;
use iglu::network::ModelShape;
use iglu::run::Outline;
use iglu::{Dataset, EdgeOptions, Error, Features, Graph, Result};

/// Largest scale: ten times the original.
const LARGEST: f64 = 10.0;

/// Names of the shapes.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|s| s.name)
}

/// What to make: a shape, its scale and the seed.
///
/// ```
/// let recipe = iglu_data::synth::Recipe::parse("arxiv@0.01#7")?;
/// assert_eq!((recipe.shape.name, recipe.scale, recipe.seed), ("arxiv", 0.01, 7));
/// assert_eq!(recipe.make()?.graph.nodes(), 1_693);
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Counts, shares and difficulty.
    pub shape: &'static Shape,
    /// Factor on nodes and edges.
    pub scale: f64,
    /// Start of the random numbers.
    pub seed: u64,
}

impl Recipe {
    /// Reads `NAME[@scale][#seed]`.
    pub fn parse(text: &str) -> Result<Self> {
        let (text, seed) = text.split_once('#').map_or((text, None), |(t, s)| (t, Some(s)));
        let (name, scale) = text.split_once('@').map_or((text, None), |(n, s)| (n, Some(s)));
        let seed = seed.map_or(Ok(0), parse_seed)?;
        let scale = scale.map_or(Ok(1.0), parse_scale)?;
        match SHAPES.iter().find(|s| s.name == name) {
            Some(shape) => Ok(Self { shape, scale, seed }),
            None => Err(unknown(name)),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        ((self.shape.nodes as f64 * self.scale) as usize).max(10 * self.shape.classes)
    }

    /// Number of edges; of very small graphs at most an eighth of all pairs.
    pub fn edges(&self) -> usize {
        let n = self.nodes();
        ((self.shape.edges as f64 * self.scale) as usize).min(n * (n - 1) / 16)
    }

    /// Its counts, without making it.
    pub fn outline(&self) -> Outline {
        let (n, shape, entries) = (self.nodes(), self.shape, 2 * self.edges());
        let upto = |share: f64| (n as f64 * share) as usize;
        let label = if shape.task == Task::Labels { shape.classes } else { size_of::<i32>() };
        Outline {
            nodes: n,
            entries,
            graph_bytes: (8 * (n + 1) + 4 * entries) as u64,
            feature_bytes: (4 * n * shape.features) as u64,
            sparse: false,
            features_rest: false,
            label_bytes: (n * label) as u64,
            shape: ModelShape {
                features: shape.features,
                classes: shape.classes,
                multi_label: shape.task == Task::Labels,
                relations: 0,
                latent: 0,
            },
            train: upto(shape.train),
            val: upto(shape.train + shape.val) - upto(shape.train),
            ordered: false,
        }
    }

    /// Makes the dataset.
    pub fn make(&self) -> Result<Dataset> {
        let n = self.nodes();
        let blocks = blocks::Blocks::draw(self.shape, n, self.seed);
        let graph = {
            let edges = blocks.edges(self.shape, self.edges());
            Graph::from_edges(n, &edges, EdgeOptions::default())?
        };
        let features = Features::Dense(attributes::features(self.shape, &blocks));
        let labels = attributes::labels(self.shape, &blocks);
        let split = attributes::split(self.shape, n, self.seed);
        let data = Dataset::new(&self.name(), graph, features, labels, split);
        data.validate()?;
        Ok(data)
    }

    /// The shortest text that [`Recipe::parse`] reads as this recipe.
    pub fn name(&self) -> String {
        let scale = if self.scale == 1.0 { String::new() } else { format!("@{}", self.scale) };
        let seed = if self.seed == 0 { String::new() } else { format!("#{}", self.seed) };
        format!("{}{scale}{seed}", self.shape.name)
    }
}

fn parse_seed(text: &str) -> Result<u64> {
    let bad =
        |_| Error::usage("synth", format!("seed `{text}` is no whole number"), "write, say, synth:village#7");
    text.parse().map_err(bad)
}

fn parse_scale(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(scale) if scale > 0.0 && scale <= LARGEST => Ok(scale),
        _ => {
            let found = format!("scale `{text}`; expected a number above 0, at most {LARGEST}");
            Err(Error::usage("synth", found, "write, say, synth:arxiv@0.1 for a tenth of the nodes"))
        }
    }
}

fn unknown(name: &str) -> Error {
    let list: Vec<&str> = names().collect();
    let found = format!("no shape is called `{name}`; there are {}", list.join(", "));
    let near = nearest(name, names()).unwrap_or("village");
    Error::usage("synth", found, format!("did you mean synth:{near}?"))
}
