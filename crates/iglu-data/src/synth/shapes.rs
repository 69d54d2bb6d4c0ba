//! The table of shapes: counts and shares as in the papers' tables, and how hard the problem is.

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// One class per node.
    Classes,
    /// Any number of labels per node.
    Labels,
}

/// Counts, shares and difficulty of a synthetic graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Name after `synth:`.
    pub name: &'static str,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges.
    pub edges: usize,
    /// Features per node.
    pub features: usize,
    /// Classes or labels.
    pub classes: usize,
    /// What is predicted.
    pub task: Task,
    /// Share of training nodes.
    pub train: f64,
    /// Share of nodes for model selection; the rest is for the final score.
    pub val: f64,
    /// Share of edges inside a block.
    pub inside: f64,
    /// Share of edges to the block's partner.
    pub related: f64,
    /// Length of a block's mean against unit noise per feature, before the factor sqrt 2.
    pub signal: f64,
    /// Share of nodes whose class is drawn at random.
    pub noise: f64,
}

impl Shape {
    /// Number of blocks: two per class, or 64.
    pub(super) fn blocks(&self) -> usize {
        match self.task {
            Task::Classes => 2 * self.classes,
            Task::Labels => 64,
        }
    }
}

/// All shapes. Counts of `flickr` are undirected edges: half of the 899,756 in the papers' tables.
#[rustfmt::skip]
pub const SHAPES: &[Shape] = &[
    Shape { name: "village",  nodes: 2_000,     edges: 9_000,      features: 32,  classes: 8,   task: Task::Classes, train: 0.60, val: 0.20, inside: 0.70, related: 0.10, signal: 1.3, noise: 0.03 },
    Shape { name: "ppi",      nodes: 56_944,    edges: 818_716,    features: 50,  classes: 121, task: Task::Labels,  train: 0.79, val: 0.11, inside: 0.50, related: 0.15, signal: 2.2, noise: 0.00 },
    Shape { name: "flickr",   nodes: 89_250,    edges: 449_878,    features: 500, classes: 7,   task: Task::Classes, train: 0.50, val: 0.25, inside: 0.40, related: 0.10, signal: 1.2, noise: 0.30 },
    Shape { name: "reddit",   nodes: 232_965,   edges: 11_606_919, features: 602, classes: 41,  task: Task::Classes, train: 0.66, val: 0.10, inside: 0.50, related: 0.15, signal: 0.7, noise: 0.03 },
    Shape { name: "proteins", nodes: 132_534,   edges: 39_561_252, features: 8,   classes: 112, task: Task::Labels,  train: 0.65, val: 0.16, inside: 0.35, related: 0.10, signal: 0.7, noise: 0.00 },
    Shape { name: "arxiv",    nodes: 169_343,   edges: 1_166_243,  features: 128, classes: 40,  task: Task::Classes, train: 0.54, val: 0.18, inside: 0.50, related: 0.15, signal: 1.7, noise: 0.18 },
    Shape { name: "products", nodes: 2_449_029, edges: 61_859_140, features: 100, classes: 47,  task: Task::Classes, train: 0.08, val: 0.02, inside: 0.60, related: 0.15, signal: 0.7, noise: 0.08 },
];
