//! GIN (Xu et al. 2019): `X^k = f(norm(g((A X^{k-1} + (1 + eps) X^{k-1}) W_1 + b_1) W_2 + b_2))`, `A = Adj`.
//!
//! `g` is the same norm and activation as `f`; `eps` is a learned scalar that starts at 0.

use super::{Architecture, NormOrder, Site, Takes};
use crate::operator::Norm;
use crate::program::{Builder, Value};

pub(super) const GIN: Architecture = Architecture {
    name: "gin",
    about: "sum of the neighbours plus a scaled own row, through two dense layers",
    takes: Takes::Operator(Norm::Sum),
    embeds: false,
    norm_order: NormOrder::Before,
    max_hops: 1,
    build,
};

fn build(b: &mut Builder, site: &Site<'_>) -> Value {
    let z = site.aggregates(b)[0];
    let own = site.own(b);
    let sum = b.add_scaled("eps", z, own);
    let h = b.linear("w1", &[sum], site.options.width);
    let h = site.finish(b, h, "1");
    let h = b.linear("w2", &[h], site.options.width);
    site.finish(b, h, "2")
}
