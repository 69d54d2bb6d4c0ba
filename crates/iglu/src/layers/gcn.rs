//! GCN (Kipf and Welling 2017): `X^k = f(norm(A X^{k-1} W + b))`, `A = D^-1/2 (Adj + I) D^-1/2`.
//!
//! With `hops = h` in the first layer: `[A X | .. | A^h X] W`. Shapes: `W` is `h d_{k-1} x d_k`. The norm stands
//! before the activation, as in the authors' arXiv and Reddit networks.

use super::{Architecture, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const GCN: Architecture = Architecture {
    name: "gcn",
    about: "graph convolution, neighbours and own row mixed by the symmetric operator",
    takes: Takes::Operator(Norm::Sym),
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 16,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let z = site.aggregates(b);
    let h = b.linear("w", &z, site.options.width);
    site.finish(b, h, "")
}
