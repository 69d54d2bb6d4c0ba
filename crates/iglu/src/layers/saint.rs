//! GraphSAINT's order-1 layer (Zeng et al. 2020), the layer of the authors' PPI, Flickr, proteins and products
//! networks: two branches, activation then norm in each, then side by side or added.
//!
//! `X^k = [norm(f(A X^{k-1} W_neigh)) | norm(f(X^{k-1} W_self))]` (or `+`), `A = D^-1 (Adj + I)`. Concatenated
//! branches make the layer twice as wide as `hidden`. L2-normalised on top where asked.

use super::{Architecture, Combine, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const SAINT: Architecture = Architecture {
    name: "saint",
    about: "two branches (neighbours, own row), activation then norm, concatenated or summed",
    takes: Takes::Operator(Norm::MeanSelf),
    embeds: false,
    norm_order: NormOrder::After,
    max_hops: 16,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let z = site.aggregates(b);
    let neighbours = b.linear("w_neigh", &z, site.options.width);
    let neighbours = site.finish(b, neighbours, "_neigh");
    let own = site.own(b);
    let own = b.linear("w_self", &[own], site.options.width);
    let own = site.finish(b, own, "_self");
    match site.options.combine {
        Combine::Concat => b.concat(&[neighbours, own]),
        Combine::Sum => b.add(neighbours, own),
    }
}
