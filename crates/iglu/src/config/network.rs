//! `[network]`: the layers, and settings of single ones.

use super::Auto;
use crate::kernels::gemm::Precision;
use crate::kernels::rowwise::Activation;
use crate::layers::{Combine, Jump, NormKind, NormOrder};
use crate::operator::Norm;
use crate::table::Storage;
use serde::{Deserialize, Serialize};

/// What the last layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Head {
    /// A linear classifier on top of the graph layers.
    #[default]
    Linear,
    /// The last graph layer gives the classes.
    Conv,
}

/// What the network looks like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkConfig {
    /// Architecture of the graph layers: a name of [`crate::layers::ARCHITECTURES`].
    pub layer: String,
    /// Number of graph layers.
    pub layers: usize,
    /// Width of a hidden layer (of each branch, where branches are concatenated); auto: 256, or 192 where the first
    /// layer takes more than 1024 columns.
    pub hidden: Auto<usize>,
    /// Linear classifier, or the last graph layer.
    pub head: Head,
    /// Activation of hidden layers.
    pub activation: Activation,
    /// Normalisation of hidden layers.
    pub norm: NormKind,
    /// Norm before or after the activation; auto: as the architecture has it.
    pub norm_order: Auto<NormOrder>,
    /// Added to variances before the square root.
    pub norm_eps: f64,
    /// Share of a layer's inputs dropped, in passes that drop.
    pub dropout: f64,
    /// Share of the linear classifier's inputs dropped, in passes that drop; auto: 0, or as `dropout` where it reads
    /// all layers.
    pub head_dropout: Auto<f64>,
    /// Learned offsets.
    pub bias: bool,
    /// Adds a layer's input to its output.
    pub residual: bool,
    /// Concatenate or sum what a layer has of itself and its neighbours; auto: as the architecture has it.
    pub combine: Auto<Combine>,
    /// L2-normalise the rows of the last hidden layer.
    pub l2: bool,
    /// Normalisation of the adjacency; auto: as the architecture has it, for `sage` `mean` or `sym`, whichever has
    /// the better validation score after the first epoch.
    pub operator: Auto<Norm>,
    /// Aggregates `A X^0, .., A^hops X^0` that the first layer takes; auto: 1 for sparse features, else up to 3
    /// while `(1 + hops)` times the features stay within 2400 columns.
    pub hops: Auto<usize>,
    /// Skip connections, `"k->m"`: `X^k` is added to `X^m`.
    pub skips: Vec<String>,
    /// Attention heads (`gat`).
    pub heads: usize,
    /// Share of attention weights dropped, in passes that drop; auto: as `dropout`.
    pub attention_dropout: Auto<f64>,
    /// Share of what neighbours say (`X W`) dropped, in passes that drop (`gat`).
    pub said_dropout: f64,
    /// Share of the first embedding mixed into every layer (`gcnii`, `appnp`); auto: 0.1, less in deep networks whose
    /// classifier reads all layers.
    pub initial: Auto<f64>,
    /// Strength of the maps of `gcnii`: `beta = ln(theta / (k - 1) + 1)`.
    pub theta: f64,
    /// Mean logarithm of degrees that `pna` scales by; auto: that of the training nodes.
    pub degree_scale: Auto<f64>,
    /// Which layers the linear classifier reads: the last one, or all of them; auto: all of them side by side for four and
    /// more layers of `gcnii` with at least 4096 training nodes.
    pub jump: Auto<Jump>,
    /// How embeddings, their aggregates and gradients, and scaled dense features are kept: `f32`, or `bf16` in half the
    /// memory; auto: `bf16` where they are large, but not in the order `exact`.
    pub cache: Auto<Storage>,
    /// The numbers that dense products multiply: `f32`, or `bf16` on processors made for it.
    pub precision: Precision,
    /// Settings of single layers.
    pub each: Vec<LayerOverride>,
}

/// Share of the first embedding where nothing else is known.
pub(crate) const INITIAL: f64 = 0.1;

impl NetworkConfig {
    /// What the classifier reads.
    pub fn jumps(&self) -> Jump {
        self.jump.or(Jump::None)
    }

    /// How tables are kept.
    pub fn storage(&self) -> Storage {
        self.cache.or(Storage::F32)
    }

    /// What a line about the network adds on its tables: nothing where they are kept as computed.
    pub fn storage_note(&self) -> &'static str {
        match self.storage() {
            Storage::F32 => "",
            Storage::Bf16 => ", caches in bf16",
        }
    }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        Self {
            layer: "sage".into(),
            layers: 2,
            hidden: Auto::Auto,
            head: Head::Linear,
            activation: Activation::Relu,
            norm: NormKind::Layer,
            norm_order: Auto::Auto,
            norm_eps: 1e-5,
            dropout: 0.5,
            head_dropout: Auto::Auto,
            bias: true,
            residual: false,
            combine: Auto::Auto,
            l2: false,
            operator: Auto::Auto,
            hops: Auto::Auto,
            skips: Vec::new(),
            heads: 8,
            attention_dropout: Auto::Auto,
            said_dropout: 0.0,
            initial: Auto::Auto,
            theta: 0.5,
            degree_scale: Auto::Auto,
            jump: Auto::Auto,
            cache: Auto::Auto,
            precision: Precision::F32,
            each: Vec::new(),
        }
    }
}

/// Settings of layer `k` that differ from the others'.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayerOverride {
    /// The layer, from 1.
    pub k: usize,
    /// Architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
    /// Activation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Normalisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormKind>,
    /// Dropout of the inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f64>,
    /// Learned offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bias: Option<bool>,
    /// Adds the input to the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual: Option<bool>,
    /// Norm before or after the activation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm_order: Option<NormOrder>,
    /// Concatenate or sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine: Option<Combine>,
    /// L2-normalise the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l2: Option<bool>,
    /// Attention heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<usize>,
    /// Dropout of attention weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention_dropout: Option<f64>,
    /// Dropout of what neighbours say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_dropout: Option<f64>,
}
