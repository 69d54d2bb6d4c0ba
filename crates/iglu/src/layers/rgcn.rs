//! RGCN with mean neighbours (Schlichtkrull et al. 2018): every kind of edge has weights of its own.
//!
//! `X^k = f(norm([X^{k-1} | A_1 X^{k-1} | .. | A_R X^{k-1}] W + b))`, `A_r = D_r^-1 Adj_r`: GraphSAGE with one cached
//! aggregate per relation.

use super::{Architecture, NormOrder, Takes};
use crate::operator::Norm;

pub(super) const RGCN: Architecture = Architecture {
    name: "rgcn",
    about: "own row and the mean of the neighbours of each kind of edge, with separate weights",
    takes: Takes::Relations(Norm::Mean),
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build: super::sage::build,
};
