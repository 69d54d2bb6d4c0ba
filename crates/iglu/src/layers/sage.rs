//! GraphSAGE with mean neighbours (Hamilton et al. 2017): own row and neighbours have separate weights.
//!
//! `concat`: `X^k = f(norm([X^{k-1} | A X^{k-1}] W + b))`, one `W` of `(1 + hops) d_{k-1} x d_k`.
//! `sum`: `X^k = f(norm(X^{k-1} W_self + A X^{k-1} W_neigh + b))`: the same functions, each part with its own
//! Glorot range. `A = D^-1 Adj`.

use super::{Architecture, Combine, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const SAGE: Architecture = Architecture {
    name: "sage",
    about: "own row and mean of the neighbours, with separate weights",
    takes: Takes::Operator(Norm::Mean),
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 16,
    build,
};

pub(super) fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let own = site.own(b);
    let z = site.aggregates(b);
    let h = match site.options.combine {
        Combine::Concat => {
            let all: Vec<Value> = std::iter::once(own).chain(z).collect();
            b.linear("w", &all, site.options.width)
        }
        Combine::Sum => {
            let own = b.linear("w_self", &[own], site.options.width);
            let neighbours = b.linear("w_neigh", &z, site.options.width);
            b.add(own, neighbours)
        }
    };
    site.finish(b, h, "")
}
